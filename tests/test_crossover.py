"""The crossover of the published table, and of made-up ones whose answer is known."""

import polars as pl
import pytest

from workbench.crossover import crossover
from workbench.errors import ResultsError
from workbench.portability import SCHEMA
from workbench.study import study


def table(sizes: dict[float, tuple[float, float]], **more) -> pl.DataFrame:
    """Size in billions -> lower bound of SQL and of plans."""
    rows = [
        {"run": "r", "benchmark": "b", "model": f"m{size}", "params_b": float(size), "weights": "open", "regime": "prompted",
         "is_simulated": True, "target": target, "mode": mode, "metric": "df_match", "engines": "sqlite, mysql",
         "lower_bound": value} | more
        for size, pair in sizes.items()
        for target, mode, value in zip(("sql", "plan"), ("native", "compiled"), pair, strict=True)
    ]  # fmt: skip
    return pl.DataFrame([dict.fromkeys(SCHEMA) | row for row in rows], schema=SCHEMA)


@pytest.mark.parametrize(("benchmark", "billions"), [("bird-dev", 68.1), ("spider-dev", 62.4)])
def test_the_published_crossings(benchmark, billions):
    row = study("crossover", is_published=True).row(by_predicate=pl.col("benchmark") == benchmark, named=True)
    assert round(row["crossing_b"], 1) == billions
    assert row["low_b"] < billions < row["high_b"] and row["sql_models"] == row["plan_models"] == 12


def test_lines_that_cross_at_ten():
    # SQL 0.5 at every size; plans 0.3 at 1B, 0.5 at 10B, 0.7 at 100B
    row = crossover(table({1: (0.5, 0.3), 10: (0.5, 0.5), 100: (0.5, 0.7), 1000: (0.5, 0.9)})).row(0, named=True)
    assert row["crossing_b"] == pytest.approx(10) and row["plan_slope"] == pytest.approx(0.2)
    assert (row["low_b"], row["high_b"]) == (pytest.approx(10), pytest.approx(10)) and row["is_simulated"]


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({1: (0.5, 0.3), 10: (0.6, 0.4), 100: (0.7, 0.5)}, "no crossing"),
        ({1: (0.5, 0.3), 10: (0.5, 0.31), 100: (0.5, 0.32)}, "no crossing"),
        ({1: (0.5, 0.3), 10: (0.5, 0.5)}, "fewer than 3 sizes"),
    ],
    ids=["parallel", "far beyond the sizes", "two models"],
)
def test_no_crossing(sizes, reason):
    row = crossover(table(sizes)).row(0, named=True)
    assert row["crossing_b"] is None and reason in row["reason"]


def test_models_that_decide_nothing_give_no_interval():
    noisy = {1: (0.5, 0.45), 3: (0.4, 0.6), 10: (0.6, 0.35), 30: (0.45, 0.62), 100: (0.55, 0.52)}
    row = crossover(table(noisy)).row(0, named=True)
    assert row["no_crossing"] > 0.1 and row["low_b"] is None and row["reason"]


@pytest.mark.parametrize("more", [{"weights": "closed"}, {"regime": "fine-tuned"}, {"params_b": None}])
def test_only_prompted_open_weight_models_of_a_size_count(more):
    row = crossover(table({1: (0.5, 0.3), 10: (0.5, 0.5), 100: (0.5, 0.7)}, **more)).row(0, named=True)
    assert (row["sql_models"], row["crossing_b"]) == (0, None)


def test_sql_as_written_stands_in_where_nothing_was_asked_natively():
    sizes = {1: (0.5, 0.3), 10: (0.5, 0.5), 100: (0.5, 0.7)}
    written = table(sizes).with_columns(mode=pl.col("mode").replace("native", "as-written"))
    both = pl.concat([table(sizes), written.filter(mode="as-written").with_columns(lower_bound=pl.lit(0.1))])
    for given in (written, both):
        assert crossover(given)["crossing_b"][0] == pytest.approx(10)


def test_simulated_models_stand_apart_from_real_ones():
    sizes = {1: (0.5, 0.3), 10: (0.5, 0.5), 100: (0.5, 0.7)}
    rows = crossover(pl.concat([table(sizes), table({0.1: (0.0, 0.0)}, is_simulated=False)]))
    found = dict(rows.select("is_simulated", "crossing_b").rows())
    assert found == {True: pytest.approx(10), False: None}


def test_an_empty_table_is_refused():
    with pytest.raises(ResultsError, match="empty"):
        crossover(table({1: (0.5, 0.3)}).clear())
