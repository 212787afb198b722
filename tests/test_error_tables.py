"""Counts of errors and kinds of failures from hand-made scores."""

import polars as pl
import pytest

from workbench.error_tables import error_counts, failure_kinds
from workbench.errors import ResultsError
from workbench.results import Run, dtypes
from workbench.study import study

ENGINES = ("sqlite", "postgres", "mysql")


def scores(rows: list[tuple]) -> pl.DataFrame:
    """(question, engine, right or an outcome, category, type), of one model's plans."""
    about = {"run": "r", "benchmark": "b", "model": "m", "target": "plan", "db_id": "d", "is_simulated": True}
    made = []
    for question, engine, verdict, category, error_type in rows:
        outcome = verdict if isinstance(verdict, str) else "judged"
        is_right = None if outcome == "not_judged" else verdict is True
        made.append(about | {"question_id": question, "engine": engine, "outcome": outcome, "bird_ex": is_right, "error_category": category, "error_type": error_type})  # fmt: skip
    return pl.DataFrame(made, schema=dtypes("scores"))


SCORES = scores(
    [
        ("q1", "sqlite", False, "schema_linking", "table"),
        ("q2", "sqlite", False, "schema_linking", "attribute"),
        ("q3", "sqlite", "prediction_failed", "dialect_syntax", "clause"),
        ("q4", "sqlite", False, "other", None),
        ("q5", "sqlite", True, None, None),
        ("q6", "sqlite", "gold_failed", None, None),
        ("q7", "sqlite", "not_judged", None, None),
    ]
)


def test_counts_and_shares():
    table = error_counts(SCORES)
    assert table.schema == pl.Schema(dtypes("error_counts"))
    found = {name: (n, share) for name, n, share in table.select("name", "n", "share").iter_rows()}
    assert found["schema_linking"] == (2, 0.5)
    assert found["filtering_logic"] == (0, 0.0)
    assert found["table"] == (1, pytest.approx(1 / 3))
    assert dict(table.group_by("scheme").agg(pl.col("errors").first()).rows()) == {"category": 4, "type": 4}
    assert table.filter(scheme="type")["unsorted"].to_list() == [1] * 8
    assert table.filter("is_schema_linking")["n"].sum() == 2
    assert table.filter("is_structural")["name"].to_list() == ["subquery", "clause", "operator"]


def test_a_model_without_errors_has_no_shares():
    table = error_counts(scores([("q", "sqlite", True, None, None)]))
    assert set(table["n"]) == {0} and set(table["judged"]) == {1} and table["share"].null_count() == table.height


@pytest.mark.parametrize(
    "frame",
    [SCORES.head(0), SCORES.drop("error_type"), SCORES.with_columns(error_category=None, error_type=None)],
    ids=["empty", "no column", "not sorted"],
)
def test_scores_that_were_not_sorted(frame):
    with pytest.raises(ResultsError):
        error_counts(frame)


def test_decoding_and_compilation_failures():
    wrong = {"q1": ENGINES, "q2": ("mysql",), "q3": ("mysql", "postgres"), "q4": (), "q5": ("mysql",)}
    rows = [(q, engine, engine not in bad, None, None) for q, bad in wrong.items() for engine in ENGINES]
    rows = [row for row in rows if row[:2] != ("q5", "sqlite")] + [
        ("q6", engine, "gold_failed", None, None) for engine in ENGINES
    ]
    table = failure_kinds(scores(rows))
    assert table.schema == pl.Schema(dtypes("failure_kinds"))
    found = {row["engine"]: row for row in table.iter_rows(named=True)}
    names = ("failures", "everywhere", "several", "only_here")
    assert [found["mysql"][name] for name in names] == [3, 1, 1, 1]
    assert [found["postgres"][name] for name in names] == [2, 1, 1, 0]
    assert [found["sqlite"][name] for name in names] == [1, 1, 0, 0]
    assert found["mysql"]["only_here_share"] == pytest.approx(1 / 3)
    assert {row["mode"] for row in found.values()} == {"compiled"}


def test_one_engine_cannot_tell_them_apart():
    with pytest.raises(ResultsError, match="one engine"):
        failure_kinds(SCORES)


def test_the_study_stores_its_table(root):
    run = Run.create("r")
    with run.locked():
        run.write_part("scores", "part", SCORES)
    table = study("errors", "r")
    assert Run.open("r").table("error_counts").equals(table)
