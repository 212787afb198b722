"""RelJson: plans come back equal, Calcite's own plans mean what their SQL means, faults are named."""

import json
import sqlite3
from contextlib import closing

import pytest
from plan_probes import FIXTURE, QUERIES

import workbench as wb
from workbench.errors import PlanError, UnsupportedError
from workbench.plan import Plan
from workbench.plan_to_sql import plan_to_sql
from workbench.same_rows import difference
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

REFUSED = {
    "rowid of a table without key": "a row number",
    "recursive": "the recursive sub-pipeline",
    "limit of a sum": "a computed limit",
}
TABLES = """
CREATE TABLE emp(id INTEGER, name VARCHAR, dept_id INTEGER, salary DOUBLE, hired DATE, mgr_id INTEGER);
CREATE TABLE dept(id INTEGER, dname VARCHAR, city VARCHAR);
CREATE TABLE sale(id INTEGER, emp_id INTEGER, amount DECIMAL, sold_at VARCHAR, qty INTEGER);
INSERT INTO emp VALUES (1, 'Anna', 1, 1000.0, '2019-05-01', NULL), (2, 'Ian', 1, 2500.5, '2020-05-15', 1),
  (3, 'Bob', 2, 4.0, '2020-12-31', 1), (4, 'Dana', 2, 7.25, '2021-01-31', 2), (5, 'Eva', 3, 3.5, '2019-11-30', 2),
  (6, 'Zoe', NULL, 12.0, '2019-12-01', 3);
INSERT INTO dept VALUES (1, 'Sales', 'Oslo'), (2, 'Dev', 'Oslo'), (3, 'Ops', 'Rome'), (4, 'Lab', 'Rome');
INSERT INTO sale VALUES (1, 1, 10, '2020-01-01', 2), (2, 1, 5.5, '2020-01-02', 3), (3, 2, 7, '2020-02-01', 1),
  (4, 3, 9, '2020-03-01', NULL);
"""
# Calcite's plan -> its SQL as SQLite takes it
IN_SQLITE = {
    "23_date_extract": "SELECT CAST(strftime('%Y', hired) AS INTEGER), COUNT(*) FROM emp GROUP BY 1",
    "25_format_date_bq": "SELECT strftime('%Y-%m', hired), COUNT(*) FROM emp GROUP BY 1",
    "27_substr_concat": "SELECT SUBSTR(name, 1, 3) || '-' || UPPER(name), LENGTH(name) FROM emp",
    "29_values": "VALUES (1, 'a'), (2, 'b')",
    "30_dateadd": "SELECT id FROM emp WHERE hired >= '2019-12-01'",
    "33_lit_types": "SELECT 1, 1.5, 1e0, 'x', 1, NULL, '2020-01-01'",
}


def _database(path, script):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return Schema.from_sqlite(path)


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    return _database(tmp_path_factory.mktemp("reljson") / "probes.sqlite", FIXTURE)


@pytest.mark.parametrize("name", QUERIES)
def test_plans_come_back_equal(schema, name):
    plan = sql_to_plan(QUERIES[name], schema)
    try:
        text = plan.to_reljson()
    except UnsupportedError as fault:
        known = [words for words in REFUSED.values() if words in str(fault)]
        assert known, fault
        return
    assert Plan.from_reljson(text, schema) == plan, text
    assert Plan.from_reljson(json.loads(text), schema) == plan


def test_few_are_refused(schema):
    refused = 0
    for sql in QUERIES.values():
        try:
            sql_to_plan(sql, schema).to_reljson()
        except UnsupportedError:
            refused += 1
    assert len(REFUSED) <= refused <= 0.04 * len(QUERIES)


@pytest.mark.parametrize("name", ["spider", "bird", "bundled"])
def test_golds_come_back_equal(shared, name):
    benchmark = wb.read_benchmark(name if name == "bundled" else shared / "data" / name)
    for db_id, sql in set(benchmark.questions.select("db_id", "gold_sql").rows()):
        plan = sql_to_plan(sql, benchmark.schema(db_id))
        if "WITH RECURSIVE" in sql:
            with pytest.raises(UnsupportedError, match="recursive sub-pipeline"):
                plan.to_reljson()
            continue
        assert Plan.from_reljson(plan.to_reljson(), benchmark.schema(db_id)) == plan, sql


def test_calcites_own_plans_mean_their_sql(shared, tmp_path):
    schema = _database(tmp_path / "calcite.sqlite", TABLES)
    found = json.loads((shared / "reference" / "calcite_plans.json").read_text())
    wrong = []
    with closing(sqlite3.connect(tmp_path / "calcite.sqlite")) as connection:
        for one in found:
            plan = Plan.from_reljson({"rels": one["rels"]}, schema)
            rows = connection.execute(plan_to_sql(plan)).fetchall()
            expected = connection.execute(IN_SQLITE.get(one["name"], one["sql"])).fetchall()
            is_back = Plan.from_reljson(plan.to_reljson(), schema) == plan == Plan.from_json(plan.to_json(), schema)
            if (what := difference(rows, expected)) is not None or not is_back:
                wrong.append((one["name"], what, plan_to_sql(plan)))
    assert len(found) == 34
    assert wrong == []


def _rel(word: str, **keys) -> dict:
    return {"id": "1", "relOp": word} | keys


SCAN = {"id": "0", "relOp": "LogicalTableScan", "table": ["dept"], "inputs": []}
ONE = {"literal": 1, "type": {"type": "INTEGER", "nullable": False}}
EQUALS = {"name": "=", "kind": "EQUALS", "syntax": "BINARY"}


def _call(name: str, kind: str, *operands: dict) -> dict:
    return {"op": {"name": name, "kind": kind, "syntax": "FUNCTION"}, "operands": list(operands)}


# id -> rels (or the whole text), kind, words
FAULTS = {
    "prose": ("Here it is", "not_json", ""),
    "cut": ('{"rels": [', "truncated", ""),
    "text after": ('{"rels": []} ok', "trailing_text", "ok"),
    "a list": ("[]", "schema_violation", "no RelJson"),
    "no rels": ([], "schema_violation", "no rels"),
    "a rel that is no object": ([5], "schema_violation", "rel 0 is no object"),
    "deep": ('{"rels": ' + "[" * 3000 + "]" * 3000 + "}", "schema_violation", "deeper"),
    "unknown rel": ([SCAN, _rel("LogicalCorrelate", inputs=["0"])], "unknown_operator", "rel 1 (LogicalCorrelate): the rel"),
    "unknown table": ([SCAN | {"table": ["staff"]}], "unknown_table", "available: emp, dept"),
    "unknown input": ([SCAN, _rel("LogicalFilter", inputs=["9"], condition=ONE)], "schema_violation", "no rel '9'"),
    "nothing before": ([_rel("LogicalFilter", condition=ONE)], "schema_violation", "0 inputs, 1 wanted"),
    "a join of one": ([SCAN, _rel("LogicalJoin", inputs=["0"], condition=ONE)], "schema_violation", "1 inputs, 2 wanted"),
    "no condition": ([SCAN, _rel("LogicalFilter")], "schema_violation", "condition of"),
    "a place beyond": ([SCAN, _rel("LogicalFilter", condition={"input": 7})], "unknown_column", "no column $7 (there are 3)"),
    "a negative place": ([SCAN, _rel("LogicalFilter", condition={"input": -1})], "unknown_column", "no column $-1"),
    "a place that is true": ([SCAN, _rel("LogicalFilter", condition={"input": True})], "schema_violation", "int is wanted"),
    "a sort beyond": ([SCAN, _rel("LogicalSort", collation=[{"field": 9, "direction": "ASCENDING"}])], "unknown_column", "$9"),
    "a key beyond": ([SCAN, _rel("LogicalAggregate", group=[3], aggs=[])], "unknown_column", "$3"),
    "unknown function": ([SCAN, _rel("LogicalFilter", condition=_call("SOUNDEX", "OTHER_FUNCTION", ONE))], "unknown_operator", "SOUNDEX"),
    "unknown aggregate": (
        [SCAN, _rel("LogicalAggregate", group=[], aggs=[{"agg": {"name": "MEDIAN"}, "operands": [0]}])],
        "unknown_operator",
        "'median'",
    ),
    "too few operands": ([SCAN, _rel("LogicalFilter", condition=_call("=", "EQUALS", ONE))], "type_error", "takes 2 arguments"),
    "an even case": ([SCAN, _rel("LogicalFilter", condition=_call("CASE", "CASE", ONE, ONE))], "schema_violation", "2 operands"),
    "a dropped subquery": ([SCAN, _rel("LogicalFilter", condition=_call("EXISTS", "EXISTS"))], "unsupported", "without its query"),
    "grouping sets": ([SCAN, _rel("LogicalAggregate", group=[0], groups=[[0], []], aggs=[])], "unsupported", "grouping sets"),
    "a cast to an array": (
        [SCAN, _rel("LogicalFilter", condition=_call("CAST", "CAST", ONE) | {"type": {"type": "ARRAY"}})],
        "unsupported",
        "cast to ARRAY",
    ),
    "a date beyond": ([SCAN, _rel("LogicalFilter", condition={"literal": 10**18, "type": {"type": "DATE"}})], "schema_violation", "no DATE"),
    "an endless integer": ([SCAN, _rel("LogicalFilter", condition={"literal": 2**63, "type": {"type": "BIGINT"}})], "type_error", "64 bits"),
    "a constant that is an object": ([SCAN, _rel("LogicalFilter", condition={"literal": {}, "type": {"type": "ANY"}})], "unsupported", "constant"),
    "an unknown direction": ([SCAN, _rel("LogicalSort", collation=[{"field": 0, "direction": "UP"}])], "schema_violation", "UP"),
    "part of another": (
        [SCAN, _rel("LogicalProject", fields=["a"], exprs=[ONE], plan={"operator": "inputs"})],
        "schema_violation",
        "part of another",
    ),
    "aliases too few": ([SCAN, _rel("LogicalProject", fields=["a"], exprs=[ONE], plan={"aliases": []})], "schema_violation", "0 aliases"),
    "unequal union": ([SCAN, SCAN | {"id": "5", "table": ["emp"]}, _rel("LogicalUnion", inputs=["0", "5"])], "type_error", "3 and 7"),
    "a nan": ('{"rels": [NaN]}', "schema_violation", "NaN"),
}  # fmt: skip


@pytest.mark.parametrize("rels, kind, words", FAULTS.values(), ids=FAULTS)
def test_faults_are_told_apart(schema, rels, kind, words):
    with pytest.raises(PlanError) as caught:
        Plan.from_reljson(rels if isinstance(rels, str) else {"rels": rels}, schema)
    assert (caught.value.kind, words in str(caught.value)) == (kind, True), str(caught.value)


def test_missing_inputs_mean_the_rel_before(schema):
    rels = [
        SCAN,
        _rel("LogicalFilter", condition=_call("=", "EQUALS", {"input": 0}, ONE)),
        _rel("LogicalProject", fields=["x"], exprs=[{"input": 1}]),
    ]
    rels[2]["id"] = "2"
    assert (
        plan_to_sql(Plan.from_reljson({"rels": rels}, schema)) == "SELECT dept.dname AS x FROM dept WHERE dept.id = 1"
    )


def test_an_open_order_of_nulls_is_calcites(schema):
    for direction, nulls_first in (("ASCENDING", False), ("DESCENDING", True)):
        rels = [SCAN, _rel("LogicalSort", collation=[{"field": 0, "direction": direction}])]
        assert Plan.from_reljson({"rels": rels}, schema).root.keys[0].nulls_first is nulls_first
