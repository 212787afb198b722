"""Timing of pairs: what is timed, every repeat kept, nothing timed twice."""

import json
import sqlite3

import pytest

from workbench.benchmarks import read_benchmark
from workbench.errors import ConfigError, ResultsError
from workbench.import_predictions import import_predictions
from workbench.results import Run
from workbench.score import score
from workbench.timing import time_pairs

SLOW = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300000) SELECT count(*) FROM n"
GOLDS = {"same": "SELECT 300000", "slow": "SELECT 300000", "wrong": "SELECT 1"}
PREDICTIONS = {"same": "SELECT 300000", "slow": SLOW, "wrong": "SELECT 2"}


@pytest.fixture
def run(root, tmp_path) -> Run:
    folder = tmp_path / "b"
    (folder / "databases" / "d").mkdir(parents=True)
    sqlite3.connect(folder / "databases" / "d" / "d.sqlite").executescript("CREATE TABLE t (a); VACUUM;").close()
    rows = [{"question_id": i, "db_id": "d", "question": "?", "SQL": sql} for i, sql in GOLDS.items()]
    (folder / "questions.json").write_text(json.dumps(rows))
    lines = [json.dumps({"question_id": i, "sql": sql}) for i, sql in PREDICTIONS.items()]
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    import_predictions("r", read_benchmark(folder), [tmp_path / "m.jsonl"])
    return Run.open("r")


def test_right_pairs_are_timed_and_every_repeat_is_kept(run):
    score(run)
    rows = {row["question_id"]: row for row in time_pairs(run, repeats=3).iter_rows(named=True)}
    assert set(rows) == {"same", "slow"}
    for row in rows.values():
        assert len(row["seconds_predicted"]) == len(row["seconds_gold"]) == 3
        assert all(second > 0 for second in row["seconds_predicted"] + row["seconds_gold"])
    assert min(rows["slow"]["seconds_predicted"]) > max(rows["slow"]["seconds_gold"])


def test_equal_statements_have_times_of_their_own(run):
    score(run)
    row = time_pairs(run, repeats=20).filter(question_id="same").row(0, named=True)
    assert row["seconds_predicted"] != row["seconds_gold"]


def test_what_is_timed_is_not_timed_again(run):
    score(run)
    first = time_pairs(run, repeats=2)
    assert time_pairs(run, repeats=2).equals(first)
    again = time_pairs(run, repeats=3)
    assert again["seconds_gold"].list.len().to_list() == [3, 3]


def test_nothing_to_time_is_said(run):
    with pytest.raises(ResultsError, match="no right pair to time"):
        time_pairs(run)
    with pytest.raises(ConfigError, match="-1 repeats"):
        time_pairs(run, repeats=-1)
    assert time_pairs(run, repeats=0).is_empty()


def test_scores_hold_what_the_times_come_to(run):
    score(run)
    times = {row["question_id"]: row for row in time_pairs(run, repeats=3).iter_rows(named=True)}
    scores = {row["question_id"]: row for row in run.table("scores").iter_rows(named=True)}
    assert [scores["same"][f"stable_speed{end}"] for end in ("", "_low", "_high")] == [1.0, 1.0, 1.0]
    slow = times["slow"]
    ratio = sum(slow["seconds_gold"]) / sum(slow["seconds_predicted"])
    assert scores["slow"]["time_ratio"] == pytest.approx(ratio) and ratio < 1
    assert scores["slow"]["hes_ves"] == pytest.approx(ratio**0.5)
    assert 0 < scores["slow"]["stable_speed"] < 1 and scores["slow"]["r_ves"] == 0.5  # the root of a quarter
    assert scores["wrong"]["time_ratio"] is None and scores["wrong"]["hes_ves"] == 0.0
    assert scores["same"]["skeleton_similarity"] == scores["same"]["soft_f1"] == 1.0
    assert scores["same"]["reward"] == pytest.approx(3 + scores["same"]["time_ratio"])
    assert scores["same"]["metrics_reason"].startswith("no Spider metrics, gold: ")  # its SQL has no FROM
    before = run.table("scores")
    score(run)  # keeps them
    time_pairs(run, repeats=3)
    assert run.table("scores").equals(before)
