"""Round trips of gold queries: orders, ambiguity, sqlglot beside, and that every failure can be looked at."""

import json
import sqlite3
from contextlib import closing

import polars as pl
import pytest

import workbench as wb
from workbench import plan_roundtrip
from workbench.ambiguous_gold import AmbiguityTest
from workbench.plan_roundtrip import ambiguous_golds, fidelity, order_keys, roundtrip
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan
from workbench.study import studies
from workbench.transpile import transpile_repaired

SCRIPT = """
CREATE TABLE Pet (Id INTEGER PRIMARY KEY, Name TEXT, Kind TEXT, Age INT);
INSERT INTO Pet VALUES (1, 'Rex', 'dog', 3), (2, 'Ina', 'cat', 3), (3, 'Bo', 'dog', 5), (4, 'Mo', 'cow', NULL);
CREATE TABLE Toy (Pet INT, Label TEXT);
INSERT INTO Toy VALUES (1, 'ball'), (1, 'bone'), (2, 'mouse'), (3, 'ball');
"""


@pytest.fixture
def here(root):
    (root / "bench" / "databases" / "pets").mkdir(parents=True)
    with closing(sqlite3.connect(root / "bench" / "databases" / "pets" / "pets.sqlite")) as connection:
        connection.executescript(SCRIPT)
    return root


def _benchmark(here, golds: list[str]):
    questions = [{"question_id": str(n), "db_id": "pets", "question": "?", "SQL": sql} for n, sql in enumerate(golds)]
    (here / "bench" / "questions.json").write_text(json.dumps(questions))
    return wb.read_benchmark(here / "bench")


# id -> SQL, the keys of its rows
ORDERED = {
    "none": ("SELECT Name FROM Pet", None),
    "in a subquery": ("SELECT Name FROM (SELECT Name FROM Pet ORDER BY Age LIMIT 2)", None),
    "shown": ("SELECT Age FROM Pet ORDER BY Age", [(None,), (3,), (3,), (5,)]),
    "not shown": ("SELECT Name FROM Pet ORDER BY Age DESC LIMIT 2", [(5,), (3,)]),
    "two": ("SELECT Name FROM Pet WHERE Age > 0 ORDER BY Age, Name DESC", [(3, "Rex"), (3, "Ina"), (5, "Bo")]),
    "of groups": ("SELECT Kind FROM Pet GROUP BY Kind ORDER BY COUNT(*) DESC", [(2,), (1,), (1,)]),
    "of an expression": ("SELECT Id FROM Pet ORDER BY -Id LIMIT 2", [(-4,), (-3,)]),
    "of a union": ("SELECT Id FROM Pet UNION SELECT Pet FROM Toy ORDER BY 1 LIMIT 2", [(1,), (2,)]),
    "with": ("WITH t AS (SELECT Age FROM Pet) SELECT Age FROM t ORDER BY Age DESC LIMIT 1", [(5,)]),
    "distinct": ("SELECT DISTINCT Kind FROM Pet ORDER BY Kind", [("cat",), ("cow",), ("dog",)]),
}


@pytest.mark.parametrize("sql, keys", ORDERED.values(), ids=ORDERED)
def test_keys_of_the_order(here, sql, keys):
    path = here / "bench" / "databases" / "pets" / "pets.sqlite"
    keyed = order_keys(sql_to_plan(sql, Schema.from_sqlite(path)))
    assert (keyed is None) == (keys is None)
    if keys is not None:
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(plan_to_sql(keyed)).fetchall() == keys


# id -> SQL, words of what shows that it has several answers (None: one answer)
AMBIGUOUS = {
    "one answer": ("SELECT Name FROM Pet", None),
    "a full order": ("SELECT Name FROM Pet ORDER BY Id LIMIT 2", None),
    "ties without a limit": ("SELECT Age, Name FROM Pet ORDER BY Age", None),
    "ties whose rows are the same": ("SELECT Age FROM Pet WHERE Age = 3 ORDER BY Age LIMIT 1", None),
    "ties that the limit does not cut": ("SELECT Name FROM Pet ORDER BY Age LIMIT 3", None),
    "limit without order": ("SELECT Name FROM Pet LIMIT 1", "reverse_unordered_selects"),
    "ties at the limit": ("SELECT Name FROM Pet WHERE Age = 3 ORDER BY Age LIMIT 1", "ties"),
    "ties of groups at the limit": (
        "SELECT Kind FROM Pet WHERE Id IN (3, 4) GROUP BY Kind ORDER BY COUNT(*) LIMIT 1",
        "ties",
    ),
    "ties in a subquery": (
        "SELECT COUNT(*) FROM Toy WHERE Pet = (SELECT Id FROM Pet ORDER BY Age = 3 DESC LIMIT 1)",
        "ties",
    ),
    "bare column": ("SELECT Kind, Name FROM Pet GROUP BY Kind", "table"),
    "bare column beside a maximum": ("SELECT Kind, Name, MAX(Age) FROM Pet GROUP BY Kind", None),
    "order of concatenation": ("SELECT GROUP_CONCAT(Label) FROM Toy", "reverse"),
    "row numbers": ("SELECT rowid, Label FROM Toy", None),
    "sum": ("SELECT SUM(Age / 3.0) FROM Pet", None),
}


@pytest.mark.parametrize("sql, words", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_ambiguous_golds(here, sql, words):
    path = here / "bench" / "databases" / "pets" / "pets.sqlite"
    plan = sql_to_plan(sql, Schema.from_sqlite(path))
    keyed = order_keys(plan)
    test = AmbiguityTest(path, seconds=5)
    try:
        keys = [tuple(row) for row in test.plain.execute(plan_to_sql(keyed))] if keyed is not None else None
        found = test(sql, plan, keys)
    finally:
        test.close()
    assert (found is None) == (words is None), found
    assert words is None or words in found


# id -> SQL, PostgreSQL's
REPAIRED = {
    "names": ("select name from PET", 'SELECT "pet"."Name" AS "name" FROM "Pet" AS "pet"'),
    "alias": ("SELECT T1.NAME FROM pet AS T1", 'SELECT "t1"."Name" AS "name" FROM "Pet" AS "t1"'),
    "text": (
        'SELECT id FROM pet WHERE kind = "dog" AND "name" = "Rex"',
        'SELECT "pet"."Id" AS "id" FROM "Pet" AS "pet" WHERE "pet"."Kind" = \'dog\' AND "pet"."Name" = \'Rex\'',
    ),
    "subquery": (
        "SELECT id FROM pet WHERE id IN (SELECT pet FROM toy)",
        'SELECT "pet"."Id" AS "id" FROM "Pet" AS "pet" WHERE "pet"."Id" IN (SELECT "toy"."Pet" AS "pet" FROM "Toy" AS "toy")',
    ),
}


@pytest.mark.parametrize("sql, wanted", REPAIRED.values(), ids=REPAIRED)
def test_sqlglot_at_its_strongest(here, sql, wanted):
    schema = Schema.from_sqlite(here / "bench" / "databases" / "pets" / "pets.sqlite")
    assert transpile_repaired(sql, schema, "postgres") == wanted


def test_rows_and_table(here, monkeypatch):
    golds = [
        "SELECT Name FROM Pet ORDER BY Age",
        "SELECT Name FROM Pet ORDER BY Age",  # counts once
        "SELECT Name FROM Pet LIMIT 1",  # ambiguous
        "SELECT Age / 2 FROM Pet WHERE Id = 1",
        "SELECT nonesuch(Name) FROM Pet",  # fails
        "SELECT likely(Age) FROM Pet",  # no plan
        "SELECT Name FROM Pet WHERE Age = 5 AND Kind LIKE 'DOG'",
    ]
    wrong = plan_roundtrip.plan_to_sql

    def write(plan, dialect="sqlite"):  # a compiler that loses a filter's LIKE on one engine
        sql = wrong(plan, dialect)
        return sql.replace("AND", "OR") if dialect == "duckdb" else sql

    monkeypatch.setattr(plan_roundtrip, "plan_to_sql", write)
    rows = roundtrip([_benchmark(here, golds)], ["sqlite", "duckdb"], "r")
    assert rows.height == 6 * 3 * 2
    counts = {(row["method"], row["engine"]): row for row in fidelity(rows).iter_rows(named=True)}
    named = ("golds", "n", "equal", "different", "error", "refused", "gold_failed", "ambiguous", "plan_kept")
    assert [counts["plan", "sqlite"][name] for name in named] == [6, 5, 3, 0, 0, 1, 1, 1, 4]
    assert [counts["plan", "duckdb"][name] for name in named] == [6, 5, 2, 1, 0, 1, 1, 1, 4]
    assert counts["plan", "sqlite"]["share"] == 60.0
    assert counts["transpile", "duckdb"]["plan_kept"] is None
    assert ambiguous_golds(rows)["gold_sql"].to_list() == ["SELECT Name FROM Pet LIMIT 1"]
    stored = wb.connect(here / "results").sql("from roundtrip where outcome = 'different'").pl().to_dicts()
    (failure,) = [row for row in stored if row["method"] == "plan"]
    assert failure["gold_result"] == "[('Bo',)]" and "('Bo',)" in failure["result"] and " OR " in failure["sql"]
    assert (failure["df_match"], failure["bird_ex"]) == (False, False)
    assert rows.filter(outcome="equal").select(pl.col("df_match", "bird_ex").all()).row(0) == (True, True)
    assert rows.filter(outcome="gold_failed")["df_match"].null_count() == 6
    assert failure["reason"].startswith("2 rows for gold's 1") and failure["plan"].startswith("[{")


def test_an_absent_engine_is_not_judged(here, monkeypatch):
    monkeypatch.setenv("WORKBENCH_POSTGRES_DSN", "postgresql://u@127.0.0.1:1/x")
    rows = roundtrip([_benchmark(here, ["SELECT 1"])], ["postgres"], "r")
    assert set(rows["outcome"]) == {"not_judged"} and "postgres" in rows["reason"][0]
    assert fidelity(rows)["share"].to_list() == [None] * 3


def test_the_study_reads_what_is_stored_and_says_what_a_run_lacks(here):
    rows = roundtrip([_benchmark(here, ["SELECT 1"])], ["sqlite"], "r")
    found = dict(studies("r"))
    assert found["roundtrip"].equals(fidelity(rows)) and "no scores yet" in found["portability"]
    stored = wb.connect(here / "results").sql("select method, equal from fidelity").pl()
    assert stored["equal"].to_list() == [1, 1, 1]


def test_a_database_that_is_not_there_is_not_judged(here):
    benchmark = _benchmark(here, ["SELECT 1"])
    (here / "bench" / "databases" / "pets" / "pets.sqlite").unlink()
    rows = roundtrip([benchmark], ["sqlite"], "r")
    assert set(rows["outcome"]) == {"not_judged"}
