"""Scoring on a small benchmark of our own: outcomes kept apart, rows made again exactly when they must be."""

import json
import sqlite3
from types import SimpleNamespace

import polars as pl
import pytest

from workbench import error_columns, judge
from workbench.backends.base import Execution, Limits
from workbench.benchmarks import read_benchmark
from workbench.error_categories import RULES_VERSION
from workbench.errors import ConfigError, ResultsError
from workbench.execute import Executor
from workbench.explain import explain
from workbench.import_predictions import import_predictions, size_in_name
from workbench.results import Run
from workbench.score import dialect_for, score
from workbench.study import study

GOLDS = {
    "equal": "SELECT name FROM bird WHERE grams > 10",
    "wrong": "SELECT count(*) FROM bird",
    "failed": "SELECT name FROM bird ORDER BY name",
    "none": "SELECT max(grams) FROM bird",
    "gold_failed": "SELECT wingspan FROM bird",
    "order": "SELECT name FROM bird ORDER BY grams",
}
QUESTIONS = {"order": "What are the birds' names, sorted?"}
PREDICTIONS = {
    "equal": "SELECT name FROM bird WHERE grams >= 11",
    "wrong": "SELECT 1 + count(*) FROM bird",
    "failed": "SELECT nom FROM bird",
    "none": None,
    "gold_failed": "SELECT grams FROM bird",
    "order": "SELECT name FROM bird ORDER BY grams DESC",
}
EXPECTED = {  # df_match, bird_ex, outcome, reason
    "equal": (True, True, "judged", "equal: the same rows"),
    "wrong": (False, False, "judged", "row 1, column 1: 4 vs 3"),
    "failed": (False, False, "prediction_failed", "name_error: no such column: nom"),
    "none": (False, False, "prediction_failed", "no query: empty"),
    "gold_failed": (None, False, "gold_failed", "the gold query: name_error: no such column: wingspan"),
    "order": (False, True, "judged", "row 1, column 1: 'owl' vs 'wren'"),
}


@pytest.fixture
def folder(tmp_path):
    """A benchmark folder of one database, and a prediction file for it."""
    database = tmp_path / "birds" / "databases" / "birds" / "birds.sqlite"
    database.parent.mkdir(parents=True)
    with sqlite3.connect(database) as db:
        db.executescript(
            "CREATE TABLE bird (name TEXT, grams INTEGER); INSERT INTO bird VALUES ('wren', 9), ('robin', 18), ('owl', 400);"
        )
    db.close()
    _write_golds(tmp_path / "birds", GOLDS)
    lines = [json.dumps({"question_id": name, "sql": sql}) for name, sql in PREDICTIONS.items()]
    (tmp_path / "birds-7b.jsonl").write_text("\n".join(lines))
    return tmp_path / "birds"


def _write_golds(folder, golds: dict[str, str]) -> None:
    rows = [
        {"question_id": name, "db_id": "birds", "question": QUESTIONS.get(name, f"{name}?"), "SQL": sql}
        for name, sql in golds.items()
    ]
    (folder / "questions.json").write_text(json.dumps(rows))


@pytest.fixture
def run(root, folder) -> Run:
    import_predictions("r", read_benchmark(folder), [folder.parent / "birds-7b.jsonl"])
    return Run.open("r")


def _rows(run: Run) -> pl.DataFrame:
    return run.table("scores").sort("engine", "question_id")


def test_each_outcome_is_kept_apart(run):
    done = score(run, ["sqlite"])
    assert (done.judged, done.kept) == (6, 0)
    found = {
        row["question_id"]: tuple(row[name] for name in ("df_match", "bird_ex", "outcome", "reason"))
        for row in _rows(run).iter_rows(named=True)
    }
    assert found == EXPECTED
    executions = run.table("executions")
    assert executions.filter(role="gold").height == 6
    assert executions.filter(role="prediction", question_id="none")["status"].to_list() == [None]
    row = _rows(run).filter(question_id="equal").row(0, named=True)
    assert (row["model"], row["params_b"], row["engine_version"], row["gold_engine"]) == (
        "birds-7b",
        7.0,
        sqlite3.sqlite_version,
        "sqlite",
    )
    assert Run.open("r").header["engines"] == {"sqlite": sqlite3.sqlite_version}


def test_a_second_scoring_changes_nothing(run):
    score(run, ["sqlite"])
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*.parquet")}
    done = score(run, ["sqlite"])
    assert (done.judged, done.kept) == (0, 6)
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*.parquet")} == before


@pytest.mark.parametrize("table", ["scores", "executions"])
def test_a_deleted_part_comes_back_the_same(run, table):
    score(run, ["sqlite"])
    before = {name: run.table(name).drop("seconds", strict=False).sort(pl.all()) for name in ("scores", "executions")}
    for part in run.parts(table):
        run.drop_part(table, part)
    assert score(run, ["sqlite"]).judged == 6
    for name, frame in before.items():
        assert run.table(name).drop("seconds", strict=False).sort(pl.all()).equals(frame)


def test_an_altered_gold_is_judged_again_alone(run, folder):
    score(run, ["sqlite"])
    before = _rows(run).filter(pl.col("question_id") != "wrong")
    _write_golds(folder, GOLDS | {"wrong": "SELECT 4"})
    done = score(run, ["sqlite"])
    assert (done.judged, done.kept) == (1, 5)
    assert _rows(run).filter(pl.col("question_id") != "wrong").equals(before)
    assert _rows(run).filter(question_id="wrong")["bird_ex"].to_list() == [True]


def test_altered_data_is_judged_again(run, folder):
    score(run, ["sqlite"])
    with sqlite3.connect(folder / "databases" / "birds" / "birds.sqlite") as db:
        db.execute("INSERT INTO bird VALUES ('heron', 1500)")
    db.close()
    assert score(run, ["sqlite"]).judged == 6


def test_a_question_that_is_gone_leaves_the_scores(run, folder):
    score(run, ["sqlite"])
    lines = {name: sql for name, sql in GOLDS.items() if name != "order"}
    _write_golds(folder, lines)
    score(run, ["sqlite"])
    assert _rows(run)["question_id"].to_list() == sorted(lines)


def test_a_missing_database_is_not_judged_by_name(run, folder):
    (folder / "databases" / "birds" / "birds.sqlite").unlink()
    score(run, ["sqlite"])
    assert set(_rows(run)["outcome"]) == {"not_judged"}
    assert set(_rows(run)["bird_ex"]) == {None}
    assert "birds" in _rows(run)["reason"][0]


def test_an_engine_that_is_away_is_named_and_its_rows_stay(run, monkeypatch):
    monkeypatch.setenv("WORKBENCH_POSTGRES_DSN", "postgresql://nobody:s3cret@127.0.0.1:1/none")
    done = score(run, ["sqlite", "postgres"])
    assert list(done.unavailable) == ["postgres"]
    rows = _rows(run).filter(engine="postgres")
    assert rows["outcome"].unique().to_list() == ["not_judged"]
    assert rows["bird_ex"].null_count() == 6
    assert "s3cret" not in str(rows.rows())
    assert score(run, ["sqlite"]).kept == 6


def test_a_slow_prediction_and_a_slow_gold_are_two_outcomes(root, folder):
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    _write_golds(folder, {"a": "SELECT 1", "b": endless})
    (folder.parent / "slow.jsonl").write_text(
        json.dumps({"question_id": "a", "sql": endless}) + "\n" + json.dumps({"question_id": "b", "sql": "SELECT 1"})
    )
    import_predictions("slow", read_benchmark(folder), [folder.parent / "slow.jsonl"])
    score("slow", ["sqlite"], Limits(seconds=2))
    found = {
        row["question_id"]: (row["outcome"], row["predicted_status"], row["gold_status"])
        for row in _rows(Run.open("slow")).iter_rows(named=True)
    }
    assert found["a"] == ("prediction_failed", "timeout", "ok")
    assert found["b"][0] == "gold_timeout" and found["b"][2] == "timeout"


ERRORS = {  # error_category, error_type, words of error_evidence
    "equal": (None, None, None),
    "wrong": ("aggregation_grouping", "operator", "gold shows count(*)"),
    "failed": ("schema_linking", "attribute", "the prediction names nom"),
    "none": ("dialect_syntax", "clause", "there is no SQL"),
    "gold_failed": (None, None, None),
    "order": ("ordering_ranking", "clause", "desc"),
}


def test_what_is_wrong_is_sorted(run):
    score(run, ["sqlite"])
    for row in _rows(run).iter_rows(named=True):
        category, error_type, words = ERRORS[row["question_id"]]
        assert (row["error_category"], row["error_type"]) == (category, error_type)
        assert words is None if row["error_evidence"] is None else words in row["error_evidence"]
        assert row["error_rules"] == (category and RULES_VERSION)
    assert study("errors", run).filter(name="schema_linking")["n"].to_list() == [1]


def test_changed_rules_sort_again_and_judge_nothing(run, monkeypatch):
    score(run, ["sqlite"])
    before, executions = _rows(run), run.path / "executions"
    stamps = {path: path.stat().st_mtime_ns for path in executions.iterdir()}
    monkeypatch.setattr(error_columns, "RULES_VERSION", RULES_VERSION + 1)
    assert (done := score(run, ["sqlite"])).judged == 0 and done.kept == 6
    assert set(_rows(run)["error_rules"]) == {None, RULES_VERSION + 1}
    assert _rows(run).drop("error_rules").equals(before.drop("error_rules"))
    assert {path: path.stat().st_mtime_ns for path in executions.iterdir()} == stamps


def test_explain_lays_a_pair_open(run):
    score(run, ["sqlite"])
    (row,) = explain(run, "order").iter_rows(named=True)
    assert (row["error_category"], row["error_type"]) == ERRORS["order"][:2] and "desc" in row["error_evidence"]
    assert (row["model"], row["gold_sql"], row["sql"]) == ("birds-7b", GOLDS["order"], PREDICTIONS["order"])
    assert row["gold_result"].splitlines() == ["name", "'wren'", "'robin'", "'owl'", "(3 rows)"]
    assert row["result"].splitlines()[1] == "'owl'"
    assert (row["question_class"], row["class_source"], row["ties"]) == (
        "ordered_not_fixed",
        "rules",
        "no rows are tied",
    )
    assert (row["df_match"], row["bird_ex"], row["reason"]) == (False, True, EXPECTED["order"][3])
    (row,) = explain(run, "equal").iter_rows(named=True)
    assert (row["columns"], row["ties"]) == ("name (1) <- name (1)", None)
    with pytest.raises(ResultsError, match="has no question 'x'"):
        explain(run, "x")


def test_a_bad_pair_does_not_stop_the_run(run, monkeypatch):
    def judge_or_fail(pair):
        if pair.gold_sql == GOLDS["wrong"]:
            raise ZeroDivisionError("a fault of ours")
        return judge.judge(pair)

    monkeypatch.setattr("workbench.score_database.judge", SimpleNamespace(**vars(judge) | {"judge": judge_or_fail}))
    assert score(run, ["sqlite"]).not_judged == 1
    row = _rows(run).filter(question_id="wrong").row(0, named=True)
    assert (row["outcome"], row["df_match"], row["bird_ex"]) == ("not_judged", None, None)
    assert row["reason"] == "the pair could not be compared: ZeroDivisionError: a fault of ours"
    monkeypatch.setattr("workbench.score_database.judge", judge)
    assert score(run, ["sqlite"]).judged == 1


def test_a_run_without_generations_says_what_to_do(root, folder):
    from workbench.generate import store_questions

    run = Run.create("r")
    with pytest.raises(ResultsError, match="workbench import"):
        score(run)
    store_questions(run, read_benchmark(folder))
    with pytest.raises(ResultsError, match="no generations"):
        score(run)


def test_another_benchmark_does_not_enter_a_run(run, tmp_path, folder):
    other = folder.rename(tmp_path / "others")
    with pytest.raises(ResultsError, match="holds results of"):
        import_predictions("r", read_benchmark(other), [tmp_path / "birds-7b.jsonl"])


def test_importing_again_replaces(run, folder):
    score(run)
    lines = [
        json.dumps({"question_id": name, "sql": "SELECT 2 + 2" if name == "wrong" else sql})
        for name, sql in PREDICTIONS.items()
    ]
    (folder.parent / "birds-7b.jsonl").write_text("\n".join(lines))
    import_predictions("r", read_benchmark(folder), [folder.parent / "birds-7b.jsonl"])
    done = score(run)
    assert (done.judged, done.kept) == (1, 5)


@pytest.mark.parametrize(
    ("engine", "written", "chosen"),
    [
        ("postgres", ["sqlite", "postgres"], "postgres"),
        ("postgres", ["sqlite"], "sqlite"),
        ("sqlite", ["mysql"], None),
        ("duckdb", ["mysql", "sqlite"], "sqlite"),
    ],
)
def test_which_dialect_runs_on_an_engine(engine, written, chosen):
    assert dialect_for(engine, written) == chosen


def test_an_engine_without_predictions_is_refused(root, folder):
    import_predictions("r", read_benchmark(folder), [folder.parent / "birds-7b.jsonl"], engine="postgres")
    with pytest.raises(ConfigError, match="nothing in the run can be scored on sqlite"):
        score("r", ["sqlite"])


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("CodeS-7b", 7),
        ("meta-llama-3-70b-instruct-2", 70),
        ("Qwen2.5-0.5B", 0.5),
        ("gpt-4", None),
        ("gpt-35-turbo", None),
        ("model-8x7b", None),
        ("v2b2", None),
    ],
)
def test_sizes_in_names(name, size):
    assert size_in_name(name) == size


@pytest.mark.parametrize(
    "answer", [None, Execution("crashed", message="the server went away", seconds=0.1)], ids=["silence", "crash"]
)
def test_what_an_engine_did_not_answer_is_asked_again(run, monkeypatch, tmp_path, answer):
    """An engine that goes away in the middle, golds included, costs rows of this scoring and of no later one."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as patch:
        patch.setattr(Executor, "_run", lambda self, statement: answer)
        score(run, ["sqlite"])
    assert set(_rows(run)["outcome"]) == {"not_judged"}
    score(run, ["sqlite"])
    found = {
        row["question_id"]: tuple(row[name] for name in ("df_match", "bird_ex", "outcome", "reason"))
        for row in _rows(run).iter_rows(named=True)
    }
    assert found == EXPECTED
