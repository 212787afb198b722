"""SQL read into a plan and written back: the same rows on SQLite, an equal plan, an equal plan through JSON."""

import json
import sqlite3

import pytest
from plan_probes import FIXTURE, QUERIES

import workbench as wb
from workbench.errors import ParseError, PlanError, UnsupportedError
from workbench.plan import Plan
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "probes.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(FIXTURE)
    yield connection, Schema.from_sqlite(path)
    connection.close()


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES.keys())
def test_round_trip(database, sql):
    connection, schema = database
    plan = sql_to_plan(sql, schema)
    written = plan_to_sql(plan, "sqlite")
    assert repr(connection.execute(written).fetchall()) == repr(connection.execute(sql).fetchall()), written
    assert sql_to_plan(written, schema) == plan, written
    assert Plan.from_json(plan.to_json(), schema) == plan, plan.to_json()
    assert plan.to_text()


REFUSED = {
    "not sql": ("SELEC 1", ParseError, "line 1"),
    "no statement": ("  ", ParseError, "no statement"),
    "two statements": ("SELECT 1; SELECT 2", ParseError, "2 statements"),
    "unclosed": ("SELECT (1", ParseError, ""),
    "postgres cast": ("SELECT id::text FROM emp", ParseError, ""),
    "change": ("DELETE FROM emp", UnsupportedError, "DELETE"),
    "pragma": ("PRAGMA table_info(emp)", UnsupportedError, "PRAGMA"),
    "unknown table": ("SELECT 1 FROM nowhere", PlanError, "available: emp, dept, loose"),
    "unknown column": ("SELECT e.wage FROM emp e", PlanError, "line 1, column 10"),
    "unknown alias": ("SELECT x.id FROM emp e", PlanError, "no column 'x.id'"),
    "ambiguous": ("SELECT id FROM emp JOIN dept", PlanError, "ambiguous"),
    "misused aggregate": ("SELECT id FROM emp WHERE COUNT(*) > 1", PlanError, "misuse"),
    "nested aggregate": ("SELECT MAX(COUNT(*)) FROM emp", PlanError, "inside max"),
    "place beyond": ("SELECT id FROM emp ORDER BY 2", PlanError, "ORDER BY 2 of 1"),
    "unequal union": ("SELECT 1 UNION SELECT 1, 2", PlanError, "1 and 2 columns"),
    "function": ("SELECT soundex(name) FROM emp", UnsupportedError, "soundex"),
    "json": ("SELECT json_extract(name, '$.a') FROM emp", UnsupportedError, "json_extract"),
    "table function": ("SELECT * FROM json_each('[1]')", UnsupportedError, "json_each"),
    "wrong arguments": ("SELECT replace(name, 'a') FROM emp", PlanError, "takes 3"),
    "too long": (f"SELECT '{'x' * 100_001}'", UnsupportedError, "characters"),
    "too deep": ("SELECT " + "(" * 3000 + "1" + ")" * 3000, UnsupportedError, "deep"),
}


@pytest.mark.parametrize("sql, kind, words", REFUSED.values(), ids=REFUSED.keys())
def test_refused_by_name(database, sql, kind, words):
    with pytest.raises(kind) as caught:
        sql_to_plan(sql, database[1])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


READABLE = {
    "one select": (
        (
            "select T1.name from emp as T1 join dept as T2 on T1.dept_id = T2.id where T2.city = 'Oslo' "
            "group by T1.name having count(*) > 0 order by count(*) desc limit 1"
        ),
        (
            "SELECT T1.name FROM emp AS T1 INNER JOIN dept AS T2 ON T1.dept_id = T2.id WHERE T2.city = 'Oslo' "
            "GROUP BY T1.name HAVING COUNT(*) > 0 ORDER BY COUNT(*) DESC LIMIT 1"
        ),
    ),
    "negations": (
        "SELECT id FROM emp WHERE NOT id IN (1) AND NOT name LIKE 'a%' AND NOT salary IS NULL",
        "SELECT emp.id FROM emp WHERE emp.id NOT IN (1) AND emp.name NOT LIKE 'a%' AND emp.salary IS NOT NULL",
    ),
}


@pytest.mark.parametrize("sql, wanted", READABLE.values(), ids=READABLE.keys())
def test_written_as_a_person_would(database, sql, wanted):
    assert plan_to_sql(sql_to_plan(sql, database[1])) == wanted


def _rows(connection: sqlite3.Connection, sql: str) -> list[str]:
    return [repr(row) for row in connection.execute(sql).fetchall()]


def _connect(path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
    return connection


def test_semantics_cases(shared, tmp_path):
    path = tmp_path / "fixture.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript((shared / "semantics" / "fixture.sql").read_text())
    schema = Schema.from_sqlite(path)
    wrong = []
    for case in json.loads((shared / "semantics" / "cases.json").read_text()):
        plan = sql_to_plan(case["sql"], schema)
        rows = [list(row) for row in connection.execute(plan_to_sql(plan)).fetchall()]
        rows, expected = (r if case["ordered"] else sorted(r, key=repr) for r in (rows, case["expected"]))
        if repr(rows) != repr(expected) or Plan.from_json(plan.to_json(), schema) != plan:
            wrong.append((case["id"], rows))
    assert wrong == []


@pytest.mark.parametrize("name", ["spider", "bird", "bundled"])
def test_gold_queries_keep_their_rows(shared, name):
    benchmark = wb.read_benchmark(name if name == "bundled" else shared / "data" / name)
    golds = {(row["db_id"], row["gold_sql"]) for row in benchmark.questions.iter_rows(named=True)}
    connections, wrong = {}, []
    for db_id, sql in sorted(golds):
        schema = benchmark.schema(db_id)
        if db_id not in connections:
            connections[db_id] = _connect(benchmark.database_path(db_id))
        plan = sql_to_plan(sql, schema)
        written = plan_to_sql(plan)
        same_rows = _rows(connections[db_id], written) == _rows(connections[db_id], sql)
        if not same_rows or sql_to_plan(written, schema) != plan or Plan.from_json(plan.to_json(), schema) != plan:
            wrong.append((sql, written))
    assert len(golds) >= 30
    assert wrong == []


def test_gold_queries_without_database_convert(shared):
    folder = shared / "data" / "bird"
    entries = json.loads((folder / "dev_tables.json").read_text())
    schemas = {entry["db_id"]: Schema.from_tables_json(entry) for entry in entries}
    golds = json.loads((folder / "gold_without_database.json").read_text())
    refused = []
    for gold in golds:
        schema = schemas[gold["db_id"]]
        try:
            plan = sql_to_plan(gold["SQL"], schema)
        except UnsupportedError as fault:
            refused.append((gold["SQL"], str(fault)))
            continue
        assert sql_to_plan(plan_to_sql(plan), schema) == plan, gold["SQL"]
        assert Plan.from_json(plan.to_json(), schema) == plan, gold["SQL"]
    assert len(golds) == 815
    assert len(refused) <= 8, refused  # at most 1 %
