"""Made-up databases: keys hold, gold queries find something, the same seed gives the same bytes."""

import json
import random
import sqlite3
from collections import defaultdict

import pytest
from click.testing import CliRunner

from workbench.benchmarks import read_benchmark
from workbench.cli import main
from workbench.errors import BenchmarkError
from workbench.schema import Column, ForeignKey, Schema, Table
from workbench.synthesize import finds_something, make_database, synthesize
from workbench.witness_values import FREE, value_for

SCHEMA = Schema(
    (
        Table("club", (Column("id", "integer"), Column("name", "text"), Column("founded", "date")), ("id",)),
        Table(
            "member",
            (Column("id", "integer"), Column("club id", "integer"), Column("nick", "text"), Column("age", "integer"),
             Column("paid", "real"), Column("joined", "text")),
            ("id",),
            (ForeignKey(("club id",), "club", ("id",)),),
        ),
    )
)  # fmt: skip
JOINED = 'FROM club c JOIN member m ON m."club id" = c.id'
QUERIES = {
    "equal": "SELECT name FROM club WHERE name = 'Rot-Weiß' AND founded = '1902-03-04'",
    "join": f"SELECT m.nick {JOINED} WHERE c.name = 'Ajax' AND m.age BETWEEN 77 AND 79 AND m.paid > 1234.5",
    "like": "SELECT COUNT(*) FROM member WHERE nick LIKE 'qx_%z' AND age IN (131, 132)",
    "parts of a date": "SELECT id FROM club WHERE strftime('%Y', founded) = '1811' AND strftime('%m', founded) = '07'",
    "part of a text": "SELECT id FROM member WHERE substr(joined, 1, 4) = '2044' AND substr(joined, 5, 2) = '11'",
    "cast": "SELECT id FROM member WHERE CAST(nick AS REAL) > 8000",
    "having": f"SELECT c.name {JOINED} WHERE m.age > 900 GROUP BY c.id HAVING COUNT(*) > 4",
    "in query": "SELECT nick FROM member WHERE \"club id\" IN (SELECT id FROM club WHERE name = 'Hidden')",
    "exists": 'SELECT name FROM club c WHERE EXISTS (SELECT 1 FROM member m WHERE m."club id" = c.id AND m.age = 555)',
    "scalar query": "SELECT nick FROM member WHERE age = (SELECT MAX(age) FROM member) AND paid = 0.125",
    "ratio": "SELECT CAST(SUM(CASE WHEN nick = 'never' THEN 1 ELSE 0 END) AS REAL) * 100 / COUNT(*) FROM member",
    "null": "SELECT id FROM member WHERE paid IS NULL AND age = 333 AND nick IS NOT NULL",
    "arithmetic": "SELECT id FROM member WHERE age * 2 - 10 > 5000",
    "recursion": "WITH RECURSIVE r(i) AS (SELECT age FROM member WHERE nick = 'Root' AND age = 4242 UNION ALL SELECT i + 1 FROM r "
    "WHERE i < 4250) SELECT COUNT(*) FROM r GROUP BY i % 2 HAVING COUNT(*) > 3",
    "union": "SELECT nick FROM member WHERE age = 71717 INTERSECT SELECT nick FROM member WHERE age = 81818",
}


@pytest.fixture(scope="module")
def made():
    data, coverage = make_database(SCHEMA, list(QUERIES.values()))
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data)
    yield connection, coverage
    connection.close()


@pytest.mark.parametrize("name", QUERIES)
def test_query_finds_something(name, made):
    assert finds_something(made[0], QUERIES[name])


def test_an_empty_database_would_not_do(made):
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        'CREATE TABLE club(id, name, founded); CREATE TABLE member(id, nick, age, joined, paid, "club id")'
    )
    assert not any(finds_something(connection, sql) for sql in QUERIES.values())
    connection.close()


def test_keys_hold(made):
    connection, coverage = made
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute('SELECT COUNT(*) FROM member WHERE "club id" IS NOT NULL').fetchone()[0] > 20
    assert coverage.informative == coverage.planned == coverage.queries == len(QUERIES)


def test_the_seed_decides():
    queries = list(QUERIES.values())
    assert make_database(SCHEMA, queries, 7) == make_database(SCHEMA, queries, 7)
    assert make_database(SCHEMA, queries, 7)[0] != make_database(SCHEMA, queries, 8)[0]


FACTS = {
    "equal": ("integer", [("=", "12")], 12),
    "text that is no number": ("integer", [("=", "12a")], "12a"),
    "number in a text": ("text", [("=", 12)], "12"),
    "null": ("text", [("null", None)], None),
    "between": ("integer", [(">=", 5), ("<=", 7)], 6),
    "after a day": ("text", [(">", "2020-02-28"), ("<", "2020-03-01")], "2020-02-29"),
    "pieces": ("text", [("at", (0, "2001")), ("at", (5, "09")), ("at", (8, "30"))], "2001-09-30"),
    "nothing": ("text", [("not null", None)], FREE),
}


@pytest.mark.parametrize(("kind", "facts", "value"), FACTS.values(), ids=FACTS)
def test_value_meets_facts(kind, facts, value):
    assert value_for(kind, facts, random.Random(0)) == value


def test_real_golds_without_their_databases(shared):
    schemas = {
        entry["db_id"]: Schema.from_tables_json(entry)
        for entry in json.loads((shared / "data/bird/dev_tables.json").read_text())
    }
    golds = defaultdict(set)
    for entry in json.loads((shared / "data/bird/gold_without_database.json").read_text()):
        golds[entry["db_id"]].add(entry["SQL"])
    covered = [make_database(schemas[db_id], sorted(queries))[1] for db_id, queries in golds.items()]
    assert sum(one.queries for one in covered) == 814  # one of the 815 stands there twice
    assert sum(one.informative for one in covered) >= 0.97 * 814


def test_prepare_makes_what_a_benchmark_lacks(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "pets"
    folder.mkdir()
    entry = {
        "db_id": "d", "table_names_original": ["t"], "column_names_original": [[-1, "*"], [0, "id"], [0, "name"]],
        "column_types": ["text", "integer", "text"], "primary_keys": [1], "foreign_keys": [],
    }  # fmt: skip
    (folder / "dev_tables.json").write_text(json.dumps([entry]))
    question = {"db_id": "d", "question": "?", "evidence": "", "SQL": "SELECT id FROM t WHERE name = 'Rex'"}
    (folder / "dev.json").write_text(json.dumps([question]))
    done = CliRunner().invoke(main, ["prepare", "--benchmark", str(folder), "--engines", "sqlite", "--synthesize"])
    assert done.exit_code == 0, done.output
    assert "d: made up; 1 of 1 gold queries" in done.output
    databases = next(line for line in done.output.splitlines() if line.startswith("made-up")).split()[-1]
    benchmark = read_benchmark(folder, databases=databases)
    assert benchmark.name.endswith("-synthesized") and not benchmark.problems
    with pytest.raises(BenchmarkError, match="nothing to synthesize"):
        synthesize(benchmark)
