"""HES-SQL's figures read back from their artists: numbers on paper are the table's, on real, odd and hostile tables."""

import polars as pl
import pytest
from figure_checks import assert_words_are_clear, bars, legend_labels, spans, words

from workbench import paths
from workbench.config import FigureName
from workbench.difficulty import CDF_POINTS
from workbench.draw_bars import accuracy, ves
from workbench.draw_difficulty import accuracy_by_difficulty, error_types, jaccard_by_difficulty, ves_by_difficulty
from workbench.draw_jaccard import TOLD_APART, jaccard
from workbench.errors import ResultsError
from workbench.figures import FIGURES
from workbench.house import save_figure
from workbench.labels import ERROR_TYPES
from workbench.results import dtypes

MODEL = {"run": "r", "benchmark": "bundled", "weights": "open", "regime": "prompted", "is_simulated": False}
MODEL |= {"target": "sql", "dialect": "sqlite", "engine": "sqlite", "params_b": None}
GRADES = {"all": 30, "simple": 14, "moderate": 10, "challenging": 6}
STRUCTURAL = ("subquery", "clause", "operator")


def _cdf(mean: float) -> list[float]:
    return [min(1.0, max(0.0, (x - 2 * mean + 1) / (2 - 2 * mean))) if mean < 1 else float(x >= 1) for x in CDF_POINTS]


def structure(*models: dict) -> pl.DataFrame:
    rows = []
    for i, model in enumerate(models):
        for grade, n in GRADES.items():
            value = 0.9 - 0.01 * i
            row = MODEL | {"model": f"m{i}", "grade": grade, "n": n, "judged": n, "ex": value, "ex_low": value - 0.1}
            row |= {"ex_high": min(1.0, value + 0.1), "jaccard": value, "jaccard_low": value - 0.05}
            row |= {"jaccard_high": min(value + 0.05, 1), "jaccard_cdf": _cdf(value)}
            rows.append(row | model)
    return pl.DataFrame(rows, schema=dtypes("structure"))


def efficiency(*models: dict) -> pl.DataFrame:
    rows = []
    for i, model in enumerate(models):
        for grade, n in GRADES.items():
            value = 0.8 + 0.01 * i
            row = MODEL | {"model": f"m{i}", "grade": grade, "n": n, "untimed": 0, "hes_ves": value}
            rows.append(row | {"hes_ves_low": value - 0.1, "hes_ves_high": value + 0.3} | model)
    return pl.DataFrame(rows, schema=dtypes("efficiency"))


def errors(*models: dict, counts: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)) -> pl.DataFrame:
    rows = []
    for i, model in enumerate(models):
        for name, n in zip(ERROR_TYPES, counts, strict=True):
            row = MODEL | {"model": f"m{i}", "metric": "df_match", "scheme": "type", "name": name}
            row |= {"is_structural": name in STRUCTURAL, "n": n, "share": n / sum(counts) if sum(counts) else None}
            rows.append(
                {k: v for k, v in row.items() if k != "dialect"} | {"errors": sum(counts) + 1, "unsorted": 1} | model
            )
    return pl.DataFrame(rows, schema=dtypes("error_counts"))


PLAN = {"target": "plan", "dialect": None}
MODELS = {  # odd sets of models that must give a whole picture
    "one": [{}],
    "one plan": [PLAN],
    "both targets": [{"model": "a"}, {"model": "a"} | PLAN, {"model": "b"}],
    "many": [{"model": f"model-{i}b", "params_b": float(i + 1)} for i in range(26)],
    "long names": [{"model": "a model with a very long name " * 3}, {"model": "W" * 60}],
    "hostile names": [{"model": "$\\frac{x^{2$"}, {"model": "a\nb $_$ <b>&amp;"}],
    "same short name": [{"model": "x" * 30 + str(i)} for i in range(2)],
    "simulated": [{"is_simulated": True}] * 2,
    "partly simulated": [{"is_simulated": True}, {}],
    "two engines": [{"model": "a"}, {"model": "a", "engine": "duckdb", "dialect": "duckdb"}],
    "only duckdb": [{"engine": "duckdb", "dialect": "duckdb"}],
    "several dialects on sqlite": [{"model": "a"}, {"model": "a", "dialect": "mysql"}],
}  # fmt: skip
EVERY = {
    "accuracy": (accuracy, structure),
    "jaccard": (jaccard, structure),
    "ves": (ves, efficiency),
    "accuracy_by_difficulty": (accuracy_by_difficulty, structure),
    "jaccard_by_difficulty": (jaccard_by_difficulty, structure),
    "ves_by_difficulty": (ves_by_difficulty, efficiency),
    "error_types": (error_types, errors),
}


def drawn(name: str, models: list[dict]):
    draw, table = EVERY[name]
    known = errors().columns if table is errors else None
    return draw(table(*({k: v for k, v in model.items() if known is None or k in known} for model in models)))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("models", MODELS)
def test_odd_tables(name, models):
    figure = drawn(name, MODELS[models])
    assert_words_are_clear(figure)
    assert ("SIMULATED" in words(figure)) == ("simulated" in models)
    assert ("Simulated: m0." in words(figure)) == (models == "partly simulated")
    assert ("On DuckDB" in words(figure) + figure.axes[0].get_title(loc="left")) == (models == "only duckdb")


@pytest.mark.parametrize(
    ("draw", "table", "column", "scale"), [(accuracy, structure, "ex", 100), (ves, efficiency, "hes_ves", 1)]
)
def test_bars_and_lines_are_the_tables(draw, table, column, scale):
    frame = table(*MODELS["both targets"])
    figure = draw(frame)
    rows = frame.filter(grade="all").to_dicts()
    found = {(model, target): width for _, model, target, _, _, width, _ in bars(figure)}
    assert found == pytest.approx({(row["model"], row["target"]): scale * row[column] for row in rows})
    lines = [(scale * row[f"{column}_low"], scale * row[f"{column}_high"]) for row in rows]
    assert [x for line in spans(figure, "x") for x in line] == pytest.approx([x for line in lines for x in line])
    assert figure.numbers.select("model", "target", column).rows() == [
        (r["model"], r["target"], r[column]) for r in rows
    ]
    assert legend_labels(figure) == ["SQL", "Query plan"]


def test_a_mean_over_engines_is_shown_alone_and_may_lack_an_interval():
    no_interval = {"hes_ves_low": None, "hes_ves_high": None, "engine": "mean", "dialect": None}
    figure = ves(
        efficiency({"model": "a"}, {"model": "a", "engine": "mysql", "dialect": "mysql"}, {"model": "a"} | no_interval)
    )
    assert "No intervals" in words(figure) and spans(figure, "x") == []
    assert figure.axes[0].get_title(loc="left").startswith("Mean over MySQL, SQLite")


def test_a_model_without_a_number_is_named():
    figure = accuracy(structure({}, {"ex": None, "ex_low": None, "ex_high": None, "judged": 0}))
    assert "No value: m1." in words(figure) and len(bars(figure)) == 1
    assert_words_are_clear(figure)


def test_lines_of_jaccard_are_the_tables():
    frame = structure({}, {})
    figure = jaccard(frame)
    lines = {line.get_gid(): list(line.get_ydata()) for line in figure.axes[0].lines if line.get_gid()}
    assert lines == {f"m{i} | sql": frame["jaccard_cdf"][4 * i].to_list() for i in range(2)}
    assert figure.numbers.height == 2 * len(CDF_POINTS)
    assert legend_labels(figure) == ["m0 (0.90)", "m1 (0.89)"]
    assert "n = 30 pairs" in words(figure)


def test_of_many_lines_three_are_in_colour():
    figure = jaccard(structure(*MODELS["many"]))
    lines = [line for line in figure.axes[0].lines if line.get_gid()]
    assert len(lines) == 26 > TOLD_APART
    assert legend_labels(figure) == ["model-0b (0.90)", "model-12b (0.78)", "model-25b (0.65)", "23 others"]


def _cells(figure) -> list[list[str]]:
    """Words of the cells, top down and from left to right: number, interval."""
    texts = [text for text in figure.axes[0].texts if text.get_transform() == figure.axes[0].transData]
    return sorted(((int(y), int(x), y % 1, text.get_text()) for text in texts for x, y in [text.get_position()]))


def test_cells_are_the_tables():
    figure = accuracy_by_difficulty(structure({}, {"ex": 0.5, "ex_low": 0.045, "ex_high": 1.0}))
    found = [word for *_, word in _cells(figure)]
    assert found == ["90.0", "80\N{EN DASH}100"] * 4 + ["50.0", "4\N{EN DASH}100"] * 4
    heads = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert heads == ["All\nn = 30", "Simple\nn = 14", "Moderate\nn = 10", "Challenging\nn = 6"]
    assert len({patch.get_facecolor() for patch in figure.axes[0].patches}) == 2


def test_darker_is_higher():
    figure = ves_by_difficulty(efficiency(*({"hes_ves": value} for value in (0.1, 0.5, 1.2, None))))
    light = [sum(patch.get_facecolor()[:3]) for patch in figure.axes[0].patches[::4]]
    assert light[0] > light[1] > light[2] and light[3] == 3.0
    assert [word for *_, word in _cells(figure)][-4:] == ["\N{EN DASH}"] * 4


def test_error_types_of_several_models_are_cells_and_of_one_are_bars():
    several, one = error_types(errors({}, {})), error_types(errors({}))
    shares = [round(100 * n / 36) for n in range(1, 9)]
    order = sorted(range(8), key=lambda i: ERROR_TYPES[i] not in STRUCTURAL)
    assert [int(word) for *_, word in _cells(several)[:16:2]] == [shares[i] for i in order]
    assert {"Structural", "Semantic"} <= {text.get_text() for text in several.axes[0].texts}
    widths = {name: width for _, _, _, name, _, _, width, _ in bars(one)}
    assert widths == pytest.approx({name: 100 * n / 36 for n, name in enumerate(ERROR_TYPES, 1)})
    assert legend_labels(one) == ["Structural", "Semantic"]
    assert "n = 37" in words(one) and "1 errors without a type" in words(one)


BROKEN = [
    ("empty", accuracy, structure().clear(), {}, "the table is empty"),
    ("a column is missing", jaccard, structure({}).drop("jaccard_cdf"), {}, "no column jaccard_cdf"),
    ("two benchmarks", ves, efficiency({}, {"benchmark": "bird-dev"}), {}, "several benchmarks and none chosen"),
    ("unknown benchmark", ves_by_difficulty, efficiency({}), {"benchmark": "x"}, "no rows of x"),
    ("no errors", error_types, errors({"errors": 0, "unsorted": 0}, counts=(0,) * 8), {}, "no prediction is wrong"),
    ("no index at all", jaccard, structure({"jaccard_cdf": [], "jaccard": None}), {}, "no model has a Jaccard index"),
]  # fmt: skip


@pytest.mark.parametrize(("draw", "frame", "options", "said"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_tables_raise(draw, frame, options, said):
    with pytest.raises(ResultsError, match=said):
        draw(frame, **options)


def test_every_figure_can_be_configured_and_stands_in_the_readme():
    assert FigureName.__args__ == tuple(FIGURES)
    readme = (paths.CHECKOUT / "figures" / "README.md").read_text()
    assert [name for name in FIGURES if f"`{name}`" not in readme] == []
    assert set(EVERY) <= set(FIGURES)


@pytest.mark.parametrize("name", EVERY)
def test_saved_numbers_can_be_read_again(name, tmp_path):
    figure = drawn(name, MODELS["both targets"])
    paths_ = save_figure(figure, figure.numbers, tmp_path, name)
    assert pl.read_csv(paths_[2], schema_overrides=figure.numbers.schema).equals(figure.numbers)
    again = drawn(name, MODELS["both targets"])
    assert [path.read_bytes() for path in save_figure(again, again.numbers, tmp_path / "b", name)] == [
        p.read_bytes() for p in paths_
    ]
