"""What SQLite says of the numbers of a lowered plan's columns."""

import sqlite3
from contextlib import closing

import pytest

from workbench.lower import lower
from workbench.number_kinds import KINDS
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

OF_SQL = {  # SQL of one column -> its kind
    "SELECT i FROM t": "integer",
    "SELECT r FROM t": "real",
    "SELECT n FROM t": "whole",
    "SELECT u FROM t": "open",
    "SELECT 5": "narrow",
    "SELECT 5000000000": "integer",
    "SELECT i > 1 FROM t": "narrow",
    "SELECT 3000 * 1000": "narrow",
    "SELECT 300000 * 1000000": "integer",
    "SELECT n + 1 FROM t": "open",
    "SELECT n + r FROM t": "real",
    "SELECT -n FROM t": "whole",
    "SELECT MAX(n) FROM t": "whole",
    "SELECT SUM(n) FROM t": "open",
    "SELECT SUM(i) FROM t": "integer",
    "SELECT AVG(n) FROM t": "real",
    "SELECT COALESCE(n, 5) FROM t": "whole",
    "SELECT COALESCE(r, 5) FROM t": "open",
    "SELECT COALESCE(r, 0) FROM t": "zero",
    "SELECT SUM(CASE WHEN i > 1 THEN r ELSE 0 END) * 100 / COUNT(*) FROM t": "zero",
    "SELECT CAST(n AS REAL) FROM t": "real",
    "SELECT CAST(r AS NUMERIC) FROM t": "real",
    "SELECT CAST(s AS NUMERIC) FROM t": "whole",
    "SELECT s + 1 FROM t": "open",
    "SELECT LAG(n) OVER (ORDER BY i) FROM t": "whole",
    "SELECT x FROM (SELECT n AS x FROM t UNION ALL SELECT i FROM t)": "whole",
    "SELECT x FROM (SELECT r AS x FROM t UNION ALL SELECT i FROM t)": "open",
    "SELECT (SELECT n FROM t LIMIT 1)": "whole",
    "SELECT s FROM t": None,
}


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds") / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE t(i INTEGER, r REAL, n NUMERIC, u, s TEXT); INSERT INTO t VALUES (1, 1, 1, 1, '1'), (2, 2.5, 2.5, 2.5, 'a')"
        )
    return Schema.from_sqlite(path).with_stored_kinds(path)


@pytest.mark.parametrize("sql, kind", OF_SQL.items(), ids=OF_SQL)
def test_kinds(schema, sql, kind):
    (field,) = lower(sql_to_plan(sql, schema).root).fields
    assert field.numbers == kind


def test_each_kind_is_asked_for():
    assert set(OF_SQL.values()) - {None} == set(KINDS) - {"nought"}
