"""What the stored values of a column say about a plan: how large its numbers become, whether its texts are plain times."""

import sqlite3
from contextlib import closing

import pytest

from workbench.errors import UnsupportedError
from workbench.lower import lower
from workbench.magnitudes import INTEGER_END
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

SCRIPT = """
CREATE TABLE t(small INTEGER, large INTEGER, x REAL, digits TEXT, mixed NUMERIC);
INSERT INTO t VALUES (-7, 9223372036854775807, -2.5, '12abc', 3), (3, NULL, 1.0, '-99', 'a');
"""


def schema_of(folder, script: str) -> Schema:
    path = folder / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return Schema.from_sqlite(path).with_stored_kinds(path)


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    return schema_of(tmp_path_factory.mktemp("magnitudes"), SCRIPT)


def test_largest_stored_values(schema):
    assert [column.largest for column in schema.table("t").columns] == [7, INTEGER_END, 2.5, 99, 3]


BOUNDS = {  # SQL of one column -> its bound
    "SELECT small + 5 FROM t": 12,
    "SELECT small * small - x FROM t": 51.5,
    "SELECT -ABS(small) / 2 FROM t": 7,
    "SELECT small % 3 FROM t": 3,
    "SELECT MAX(small) FROM t": 7,
    "SELECT SUM(small) FROM t": 7 * 2**32,
    "SELECT CASE WHEN x > 1 THEN small ELSE 40 END FROM t": 40,
    "SELECT COALESCE(x, 7.5) FROM t": 7.5,
    "SELECT AVG(x) / COUNT(*) FROM t": 2.5,
    "SELECT x / small FROM t": 2.5,
    "SELECT 1 / x FROM t": None,
    "SELECT CAST(digits AS INTEGER) FROM t": 100,
    "SELECT CAST(SUBSTR(digits, 1, 3) AS INTEGER) FROM t": 1001,
    "SELECT CAST(REPLACE(digits, 'a', '') AS INTEGER) FROM t": None,
    "SELECT q.y + 1 FROM (SELECT small AS y FROM t UNION SELECT 20) q": 21,
    "SELECT (SELECT MAX(small) FROM t) * 2": 14,
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 9) SELECT n FROM c": None,
}


@pytest.mark.parametrize("sql, bound", BOUNDS.items(), ids=BOUNDS)
def test_bounds(schema, sql, bound):
    (field,) = lower(sql_to_plan(sql, schema).root).fields
    assert field.largest == bound


WRITTEN = {  # SQL -> what ClickHouse and DuckDB compute
    "SELECT small + small FROM t": ("t.small + t.small", "t.small + t.small"),
    "SELECT large + small FROM t": ("toInt128(t.large) + t.small", "CAST(t.large AS HUGEINT) + t.small"),
    "SELECT large + small + 1 FROM t": ("toInt128(t.large) + t.small + 1", "CAST(t.large AS HUGEINT) + t.small + 1"),
    "SELECT SUM(small) FROM t": ("SUM(t.small)", "CAST(SUM(t.small) AS BIGINT)"),
    "SELECT SUM(large) FROM t": ("SUM(toInt128(t.large))", "CAST(SUM(t.large) AS BIGINT)"),
    "SELECT CAST(x AS INTEGER) FROM t": ("toInt64(t.x)", "CAST(TRUNC(t.x) AS BIGINT)"),
}


@pytest.mark.parametrize("sql, parts", WRITTEN.items(), ids=WRITTEN)
def test_only_what_can_need_it_is_widened(schema, sql, parts):
    plan = sql_to_plan(sql, schema)
    for name, part in zip(("clickhouse", "duckdb"), parts, strict=True):
        assert plan_to_sql(plan, name).startswith(f"SELECT {part} AS ")


def test_two_unknown_columns_do_not_wrap_around(schema):
    unknown = Schema.from_tables_json(
        {
            "table_names_original": ["t"],
            "column_names_original": [[-1, "*"], [0, "a"], [0, "b"]],
            "column_types": ["text", "integer", "integer"],
        }
    )
    plan = sql_to_plan("SELECT a + b, a + 1 FROM t", unknown)
    assert plan_to_sql(plan, "clickhouse") == "SELECT toInt128(t.a) + t.b AS c1, t.a + 1 AS c2 FROM t"
    assert plan_to_sql(plan, "postgres") == "SELECT t.a + t.b AS c1, t.a + 1 AS c2 FROM t"


TIMES = {  # a stored text beside a plain day -> what is known of the column
    "2021-02-28": None,
    "2021-02-28 12:34": None,
    "2021-02-28T12:34:56.789": None,
    "12:30": None,
    "no time": None,
    "2021-13-01": None,
    "": None,
    "2459000.5": "forms",
    "2021": "forms",
    "-5": None,
    "2021-02-28 12:34Z": "forms",
    "2021-02-28 12:34:56+02:00": "forms",
    "2021-02-28 12:34 -05:30": "forms",
    "2021-02-28 ": "forms",
    "2021-02-28  12:34": "forms",
    "2021-02-30": "days",
    "2021-04-31 10:00": "days",
    "2021-02-28 24:00:00": "days",
}


@pytest.mark.parametrize("text, known", TIMES.items(), ids=TIMES)
def test_times_of_stored_texts(tmp_path, text, known):
    schema = schema_of(tmp_path, f"CREATE TABLE t(d TEXT); INSERT INTO t VALUES ('2020-01-01'), ('{text}'), (NULL)")
    assert schema.table("t").columns[0].times == known
    plan = sql_to_plan("SELECT DATETIME(d) FROM t", schema)
    assert "strftime" not in plan_to_sql(plan, "sqlite")
    if known is None:
        assert "d" in plan_to_sql(plan, "postgres")
        return
    with pytest.raises(UnsupportedError, match="other forms" if known == "forms" else "past their month"):
        plan_to_sql(plan, "postgres")


def test_parts_of_days_past_a_months_end_are_their_text(tmp_path):
    schema = schema_of(tmp_path, "CREATE TABLE t(d DATE); INSERT INTO t VALUES ('2021-02-30')")
    assert "SUBSTRING(t.d, 1, 4)" in plan_to_sql(sql_to_plan("SELECT STRFTIME('%Y', d) FROM t", schema), "duckdb")
