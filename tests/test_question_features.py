"""Features stored with a run's questions: made once, made anew where they must be, studied without any database."""

import json
import shutil
import sqlite3
from contextlib import closing

import polars as pl
import pytest

from workbench.benchmarks import read_benchmark
from workbench.errors import ResultsError
from workbench.feature_names import MEANINGS, REGRESSION
from workbench.generate import store_questions
from workbench.question_features import store_features
from workbench.results import Run, dtypes
from workbench.study import study

GOLDS = {"a": "SELECT n FROM t", "b": "SELECT n FROM t WHERE n > (SELECT avg(n) FROM t)", "c": "SELECT nom FROM t"}


def write_golds(folder, golds: dict[str, str]) -> None:
    rows = [{"question_id": i, "db_id": "d", "question": f"{i}?", "SQL": sql} for i, sql in golds.items()]
    (folder / "questions.json").write_text(json.dumps(rows))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bench" / "databases" / "d").mkdir(parents=True)
    with closing(sqlite3.connect(tmp_path / "bench" / "databases" / "d" / "d.sqlite")) as database:
        database.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2);")
    write_golds(tmp_path / "bench", GOLDS)
    return tmp_path / "bench"


def stored(folder) -> pl.DataFrame:
    run, benchmark = Run.create("r"), read_benchmark(folder)
    with run.locked():
        store_features(run, benchmark, store_questions(run, benchmark))
    return run.table("question_features")


def test_each_gold_has_its_features(root, folder):
    rows = {row["question_id"]: row for row in stored(folder).iter_rows(named=True)}
    assert [rows[i]["ps_has_scalar_subquery"] for i in "abc"] == [0, 1, None]
    assert rows["a"]["refusal"] is None and rows["c"]["refusal"].startswith("unknown_column")
    assert all(rows["c"][name] is None for name in MEANINGS)


def test_only_a_changed_gold_is_described_again(root, folder):
    before = stored(folder)
    write_golds(folder, GOLDS | {"a": "SELECT DISTINCT n FROM t"})
    after = stored(folder)
    assert after.filter(question_id="a")["sc_has_distinct"].to_list() == [1]
    assert after.filter(pl.col("question_id") != "a").equals(before.filter(pl.col("question_id") != "a"))


def test_the_study_needs_no_database(root, folder):
    stored(folder)
    shutil.rmtree(folder)
    table = study("features", "r")
    assert table.schema == pl.Schema(dtypes("features")) and table["feature"].to_list() == list(MEANINGS)
    assert Run.open("r").table("features").equals(table)
    row = table.row(by_predicate=pl.col("feature") == "ps_has_scalar_subquery", named=True)
    assert (row["n"], row["refused"], row["mean"], row["min"], row["max"], row["nonzero"]) == (2, 1, 0.5, 0, 1, 0.5)
    assert (row["meaning"], row["values"]) == MEANINGS["ps_has_scalar_subquery"]
    assert table["is_in_regression"].sum() == len(REGRESSION) == 21


def test_a_run_without_features_says_what_to_do(root):
    Run.create("r")
    with pytest.raises(ResultsError, match="no features of its questions yet"):
        study("features", "r")
