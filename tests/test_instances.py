"""Test suites: what one instance cannot tell apart, several can."""

import json
import sqlite3

import pytest

from workbench.benchmarks import read_benchmark
from workbench.import_predictions import import_predictions
from workbench.instances import make_instances
from workbench.results import Run
from workbench.score import score

PAIRS = {  # gold, prediction, DF-Match on the database alone, the suite
    "right": ("SELECT name FROM bird WHERE grams > 10", "SELECT b.name FROM bird AS b WHERE 10 < b.grams", True, True),
    "right by chance": ("SELECT count(*) FROM bird WHERE grams > 10", "SELECT 2", True, False),
    "another column with these values": ("SELECT grams FROM bird", "SELECT weight FROM bird", True, False),
    "value in a name": ("SELECT value FROM bird", "SELECT value AS v FROM bird", True, True),
    "wrong": ("SELECT max(grams) FROM bird", "SELECT min(grams) FROM bird", False, False),
    "failed": ("SELECT min(grams) FROM bird", "SELECT least FROM bird", False, False),
    "no query": ("SELECT sum(grams) FROM bird", None, False, False),
    "gold failed": ("SELECT wings FROM bird", "SELECT 1", None, None),
}


@pytest.fixture
def run(root, tmp_path):
    database = tmp_path / "birds" / "databases" / "birds" / "birds.sqlite"
    database.parent.mkdir(parents=True)
    with sqlite3.connect(database) as connection:
        connection.executescript(
            "CREATE TABLE bird (name TEXT, grams INTEGER, weight INTEGER, value REAL);"
            "INSERT INTO bird VALUES ('wren', 9, 9, 1.5), ('robin', 18, 18, 2), ('owl', 400, 400, 0);"
        )
    connection.close()
    golds = [
        {"question_id": name, "db_id": "birds", "question": "?", "SQL": gold} for name, (gold, *_) in PAIRS.items()
    ]
    (tmp_path / "birds" / "questions.json").write_text(json.dumps(golds))
    lines = [json.dumps({"question_id": name, "sql": sql}) for name, (_, sql, *_) in PAIRS.items()]
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    import_predictions("r", read_benchmark(tmp_path / "birds"), [tmp_path / "m.jsonl"])
    return Run.open("r")


def verdicts(run: Run) -> dict[str, tuple]:
    rows = run.table("scores").select("question_id", "df_match", "test_suite").rows()
    return {question_id: tuple(found) for question_id, *found in rows}


def test_the_suite_is_a_column_of_its_own(run):
    score(run, ["sqlite"])
    assert verdicts(run) == {name: (df_match, None) for name, (*_, df_match, _) in PAIRS.items()}
    done = score(run, ["sqlite"], instances=2)
    assert (done.judged, done.kept) == (len(PAIRS), 0)
    assert verdicts(run) == {name: (df_match, suite) for name, (*_, df_match, suite) in PAIRS.items()}
    assert score(run, ["sqlite"], instances=2).kept == len(PAIRS)


def test_instances_are_made_once_and_differ(run, tmp_path):
    path = tmp_path / "birds" / "databases" / "birds" / "birds.sqlite"
    golds = [gold for gold, *_ in PAIRS.values()]
    files = make_instances(path, golds, 2)
    before = [file.stat().st_mtime_ns for file in files]
    assert files[0].read_bytes() != files[1].read_bytes()
    assert make_instances(path, golds[::-1], 2) == files
    assert [file.stat().st_mtime_ns for file in files] == before
