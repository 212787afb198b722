"""What an engine that joins subqueries in is not given: refused by name, with no engine at hand."""

import sqlite3
from contextlib import closing

import pytest
from plan_probes import FIXTURE

from workbench.errors import UnsupportedError
from workbench.lower_correlated import never_null
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

REFUSED = {
    "two levels": (
        "SELECT id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.id = (SELECT MAX(x.id) FROM emp x WHERE x.id = d.id))",
        "columns of two queries",
    ),
    "limit in IN": (
        "SELECT id FROM emp e WHERE id IN (SELECT d.id FROM dept d WHERE d.id < e.id ORDER BY d.id LIMIT 1)",
        "LIMIT in a subquery",
    ),
    "offset": (
        "SELECT (SELECT d.id FROM dept d WHERE d.id > e.id ORDER BY d.id LIMIT 1 OFFSET 1) FROM emp e",
        "other than one row",
    ),
    "distinct rows counted": (
        "SELECT (SELECT COUNT(*) FROM (SELECT DISTINCT city FROM dept WHERE dept.id > e.id)) FROM emp e",
        "DISTINCT in a subquery",
    ),
    "union": (
        "SELECT id FROM emp e WHERE EXISTS (SELECT 1 FROM dept WHERE id = e.id UNION ALL SELECT 1 FROM dept WHERE id = 1)",
        "a set operation in a subquery",
    ),
    "rows for a NULL around it": (
        "SELECT (SELECT COUNT(*) FROM emp x WHERE x.bonus IS e.bonus) FROM emp e",
        "rows where e.bonus around it is NULL",
    ),
    "alternatives": (
        "SELECT id FROM emp e WHERE EXISTS (SELECT 1 FROM emp x WHERE x.bonus = e.bonus OR x.id > 3)",
        "rows where e.bonus around it is NULL",
    ),
    "beside aggregates": (
        "SELECT (SELECT e.salary - AVG(x.salary) FROM emp x WHERE x.dept_id = e.dept_id) FROM emp e",
        "beside its aggregates",
    ),
    "text sorted both ways": (
        "SELECT (SELECT x.id FROM emp x WHERE x.dept_id = d.id ORDER BY x.salary, x.name DESC LIMIT 1) FROM dept d",
        "mixed directions",
    ),
    "in an outer join's condition": (
        "SELECT e.id FROM emp e LEFT JOIN dept d ON d.id = e.dept_id AND EXISTS (SELECT 1 FROM emp x WHERE x.id = d.id)",
        "outer join's condition",
    ),
    "recursion": ("WITH RECURSIVE c(n) AS (SELECT 1 UNION SELECT n % 3 + 1 FROM c) SELECT n FROM c", "UNION without ALL"),
    "distance in a range": (
        "SELECT SUM(id) OVER (ORDER BY salary RANGE BETWEEN 10 PRECEDING AND CURRENT ROW) FROM emp",
        "distance in a window's RANGE",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("correlated") / "probes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE)
    return Schema.from_sqlite(path)


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_why(schema, case):
    sql, reason = REFUSED[case]
    with pytest.raises(UnsupportedError, match=reason):
        plan_to_sql(sql_to_plan(sql, schema), "clickhouse")


@pytest.mark.parametrize(
    "sql, expected",
    [
        ("SELECT id, name FROM emp", {("emp", "id")}),
        ("SELECT e.id, d.id FROM emp e LEFT JOIN dept d ON d.id = e.dept_id", {("e", "id")}),
        ("SELECT e.id, d.id FROM emp e FULL JOIN dept d ON d.id = e.dept_id", set()),
        ("SELECT e.id FROM emp e WHERE e.id IN (SELECT d.id FROM dept d)", {("e", "id"), ("d", "id")}),
        ("SELECT t.id FROM (SELECT id FROM emp) t", {("emp", "id")}),
        ("WITH emp AS (SELECT bonus AS id FROM loose, emp) SELECT id FROM emp", set()),
    ],
    ids=["key", "left join", "full join", "two queries", "query in from", "name of a sub-pipeline"],
)
def test_columns_that_are_never_null(schema, sql, expected):
    assert never_null(sql_to_plan(sql, schema).root) == expected
