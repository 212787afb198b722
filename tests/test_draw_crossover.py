"""The crossover figure read back from its artists: marks, lines, the crossing and its words are the tables'."""

import math

import polars as pl
import pytest
from figure_checks import all_words, assert_words_are_clear, marked, spans, words
from test_figures import PLAN, study

from workbench import published
from workbench.crossover import crossover as crossings
from workbench.draw_crossover import billions, crossover, crossover_numbers
from workbench.errors import ResultsError


def pair(size: float | None, sql: float, plan: float, **more) -> list[dict]:
    """A model's rows, with bars of 0.1 on either side."""
    return [
        {"model": f"model of {size}B", "params_b": size, "lower_bound": value, "interval": "95 % bootstrap"}
        | {"lower_bound_low": value - 0.1, "lower_bound_high": value + 0.1}
        | target
        | more
        for value, target in ((sql, {}), (plan, PLAN))
    ]


def many(count: int, **more) -> list[dict]:
    return [
        row
        for i in range(count)
        for row in pair(1 + 3.1 * i, 0.5 + 0.1 * math.sin(i), 0.2 + 0.01 * i + 0.05 * math.cos(3 * i), **more)
    ]


CROSSING = [row for size, plan in ((1, 0.3), (10, 0.5), (100, 0.7)) for row in pair(size, 0.5, plan)]
PARALLEL = [row for i in range(3) for row in pair(10**i, 0.5 + 0.1 * i, 0.3 + 0.1 * i)]
CLOSED = {"weights": "closed", "model": "a closed model with a long name"}
SIMULATED = {"is_simulated": True}
FRAMES = {
    "crossing": study(*CROSSING),
    "parallel": study(*PARALLEL),
    "beyond the sizes": study(*pair(1, 0.5, 0.3), *pair(10, 0.5, 0.4), *pair(30, 0.5, 0.45)),
    "one model": study(*pair(7, 0.5, 0.4)),
    "one closed": study(*pair(None, 0.6, 0.7, **CLOSED)),
    "forty models": study(*many(40)),
    "simulated beside one real": study(*many(12, **SIMULATED), *pair(0.1, 0.2, 0.15)),
    "both": study(*many(9), *many(12, **SIMULATED), *pair(None, 0.6, 0.7, **CLOSED, **SIMULATED)),
    "other regimes": study(*CROSSING, *pair(8, 0.6, 0.65, regime="fine-tuned"), *pair(None, 0.6, 0.7, **CLOSED)),
    "nothing": study({"params_b": 7, "lower_bound": None, "reason": "not judged on postgres"}),
    "as written beside native": study(*CROSSING, *[row | {"mode": "as-written"} for row in CROSSING[::2]]),
    "as written alone": study(*[row | ({"mode": "as-written"} if "mode" not in row else {}) for row in CROSSING]),
    "nothing right": study(*[row | {"lower_bound": 0.0, "lower_bound_low": None} for row in CROSSING]),
    "hostile names": study(*CROSSING, *pair(None, 0.5, 0.6, weights="closed", model="a\nb $_$" * 9)),
}


def figure_of(frame: pl.DataFrame, *more):
    return crossover(frame, crossings(frame), *more)


def lines(figure) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Ends of the fitted lines by (panel, target)."""
    return {
        (axes.get_label(), line.get_label().removeprefix("_line ")): [
            tuple(map(float, end)) for end in line.get_xydata()
        ]
        for axes in figure.axes
        for line in axes.lines
        if line.get_label().startswith("_line ")
    }


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize(
    ("benchmark", "crossing"),
    [("bird-dev", "cross at 68.1B (32.1 to 141B)"), ("spider-dev", "cross at 62.4B (24.5 to 130B)")],
)
def test_published(benchmark, crossing, width):
    frame = published.portability()
    figure = figure_of(frame, benchmark, width)
    assert_words_are_clear(figure)
    assert crossing in all_words(figure)
    for said in (
        "Lower-bound accuracy",
        "as published",
        "Lines through 12 prompted open-weight",
        "From: plans paper, table 2.",
    ):
        assert said in words(figure)
    assert len(marked(figure)) == 34 and "SIMULATED" not in words(figure)
    for row in crossings(frame).filter(benchmark=benchmark).iter_rows(named=True):
        for target in ("sql", "plan"):
            (x, y), (end, high) = lines(figure)["open", target]
            assert (x, end) == (3, 128)
            assert y == pytest.approx(row[f"{target}_intercept"] + row[f"{target}_slope"] * math.log10(3))
            assert (high - y) / math.log10(128 / 3) == pytest.approx(row[f"{target}_slope"])


@pytest.mark.parametrize("name", FRAMES)
def test_odd_tables(name):
    figure = figure_of(FRAMES[name])
    assert_words_are_clear(figure)
    rows = [row for row in figure.numbers.to_dicts() if row["panel"]]
    drawn = sorted((model, target, mode, y) for _, model, target, mode, _, y in marked(figure))
    assert drawn == sorted((row["model"], row["target"], row["mode"], row["lower_bound"]) for row in rows)
    panels = {(row["panel"] + (" simulated" if row["is_simulated"] and name in TWO else "")) for row in rows}
    assert {axes.get_label() for axes in figure.axes} == (panels or {"empty"})
    bars = sorted(
        (row["lower_bound_low"], row["lower_bound_high"]) for row in rows if row["lower_bound_low"] is not None
    )
    assert [span for span in sorted(spans(figure)) if span[0] not in (0, 1)] == bars  # the crossing's has axes' units


TWO = ("simulated beside one real", "both")
SAID = [
    ("crossing", "cross at 10B"),
    ("parallel", "no crossing", "the plan line does not rise faster"),
    ("beyond the sizes", "crossing"),
    ("one model", "too few models for lines", "Fewer than 3 sizes"),
    (
        "simulated beside one real",
        "Partly SIMULATED",
        "Real: open weights",
        "Simulated: open weights",
        "Simulated: lines",
    ),
    ("other regimes", "On no line: closed, fine-tuned models."),
    ("nothing", "no model has a lower bound", "Not drawn: m0 (not judged on postgres)."),
    ("as written beside native", "SQL, asked per dialect"),
    ("as written alone", "SQLite's SQL as written", "cross at 10B"),
]


@pytest.mark.parametrize(("name", "said"), [(s[0], s[1:]) for s in SAID], ids=[s[0] for s in SAID])
def test_words(name, said):
    text = all_words(figure_of(FRAMES[name]))
    assert all(part in text for part in said), text


def test_the_crossing_stands_where_the_table_has_it():
    figure = figure_of(FRAMES["crossing"])
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "_crossing"]
    assert line.get_xdata() == pytest.approx([10, 10])
    assert figure.numbers["crossing_b"].unique().to_list() == [pytest.approx(10)]


def test_sql_as_written_gives_way_to_native():
    numbers = crossover_numbers(FRAMES["as written beside native"], crossings(FRAMES["as written beside native"]))
    assert set(numbers["mode"]) == {"native", "compiled"} and numbers["is_on_line"].all()


def test_a_crossing_of_other_data_is_refused():
    with pytest.raises(ResultsError, match="no crossing of bundled"):
        crossover(FRAMES["crossing"], crossings(FRAMES["both"].filter(is_simulated=True)))


@pytest.mark.parametrize(("size", "text"), [(0.1354, "0.135"), (68.14, "68.1"), (141.4, "141"), (12345, "12,345")])
def test_billions(size, text):
    assert billions(size) == text
