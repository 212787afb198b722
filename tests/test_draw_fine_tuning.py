"""The figure of fine-tuning read back from its lines: before and after are the table's, models find their base."""

import polars as pl
import pytest
from figure_checks import all_words, assert_words_are_clear, words
from test_figures import PLAN, study

from workbench import published
from workbench.draw_fine_tuning import fine_tuning, fine_tuning_numbers, spread
from workbench.errors import ResultsError
from workbench.metrics import wilson_interval

TUNED = {"regime": "fine-tuned"}


def of(model: str, sql: float | None, plan: float | None, **more) -> list[dict]:
    rows = [({}, sql), (PLAN, plan)]
    about = {"model": model, "params_b": 8, "n": 100} | more
    return [about | target | {"sqlite": x, "lower_bound": x - 0.1} for target, x in rows if x is not None]


FRAMES = {
    "same name": study(*of("m", 0.5, 0.2), *of("m", 0.6, 0.65, **TUNED)),
    "longer names": study(*of("m", 0.5, 0.2), *of("m-sql", 0.6, None, **TUNED), *of("m-plan", None, 0.65, **TUNED)),
    "without a base": study(*of("alone", 0.5, 0.6, **TUNED)),
    "plans were not asked before": study(*of("m", 0.5, None), *of("m", 0.6, 0.65, **TUNED)),
    "close numbers": study(*of("m", 0.5, 0.5), *of("m", 0.61, 0.615, **TUNED)),
    "three models": study(*[row for i in "abc" for row in (*of(i, 0.5, 0.2), *of(i + "-lora", 0.6, 0.65, **TUNED))]),
    "long names": study(
        *of("a long name of a model" * 3, 0.5, 0.2), *of("a long name of a model" * 4, 0.6, 0.65, **TUNED)
    ),
    "simulated": study(*of("m", 0.5, 0.2, is_simulated=True), *of("m", 0.6, 0.65, **TUNED, is_simulated=True)),
    "nothing and everything right": study(*of("m", 0.1, 0.1), *of("m", 1.0, 1.0, **TUNED)),
}


def drawn(figure) -> dict[tuple[str, str, str], list[float]]:
    """Heights of each line by (base, measure, target)."""
    return {
        (*axes.get_label().split(" | "), line.get_gid()): [float(y) for y in line.get_ydata()]
        for axes in figure.axes
        for line in axes.lines
        if line.get_gid()
    }


@pytest.mark.parametrize(
    ("benchmark", "sql", "plan"),
    [("bird-dev", [0.533, 0.612], [0.157, 0.645]), ("spider-dev", [0.82, 0.853], [0.338, 0.841])],
)
def test_published(benchmark, sql, plan):
    figure = fine_tuning(published.portability(), benchmark)
    assert_words_are_clear(figure)
    lines = drawn(figure)
    assert lines["Ministral 3-8B", "sqlite", "sql"] == pytest.approx(sql)
    assert lines["Ministral 3-8B", "sqlite", "plan"] == pytest.approx(plan)
    assert "as published" in words(figure) and "plans paper, table 2" in words(figure)
    for share in (*sql, *plan):
        assert f"{100 * share:.1f}" in all_words(figure)


@pytest.mark.parametrize("name", FRAMES)
def test_odd_tables(name):
    figure = fine_tuning(FRAMES[name])
    assert_words_are_clear(figure)
    expected = {
        (row["base"], row["measure"], row["target"]): [
            share for share in (row["before"], row["after"]) if share is not None
        ]
        for row in figure.numbers.to_dicts()
        if row["after"] is not None
    }
    assert drawn(figure) == {key: pytest.approx(shares) for key, shares in expected.items()}


def test_a_fine_tuned_model_finds_the_longest_name_that_its_own_begins_with():
    frame = study(*of("m", 0.5, 0.2), *of("m-large", 0.55, 0.3), *of("m-large-lora", 0.6, 0.65, **TUNED))
    numbers = fine_tuning_numbers(frame)
    assert set(numbers["base"]) == {"m-large"} and set(numbers["model_after"]) == {"m-large-lora"}
    assert "After m-large: m-large-lora." in words(fine_tuning(frame))


def test_intervals_are_wilsons():
    row = fine_tuning_numbers(FRAMES["same name"]).row(by_predicate=pl.col("after") == 0.65, named=True)
    assert (row["after_low"], row["after_high"]) == wilson_interval(65, 100)


def test_without_a_fine_tuned_model_there_is_nothing_to_draw():
    with pytest.raises(ResultsError, match="no model of this run is fine-tuned"):
        fine_tuning(study(*of("m", 0.5, 0.2)))


@pytest.mark.parametrize(
    ("values", "moved"),
    [([], []), ([1], [1]), ([1, 3], [1, 3]), ([1, 1], [0.5, 1.5]), ([0, 1.5, 2], [0, 1.25, 2.25]), ([1, 1, 1.2], [0.0667, 1.0667, 2.0667])],
    ids=["none", "one", "apart", "together", "one apart", "three"],
)  # fmt: skip
def test_spread(values, moved):
    assert spread(values, 1) == pytest.approx(moved, abs=1e-3)
