"""Declared collations against SQLite itself, which tells an index's."""

import sqlite3
from contextlib import closing

import pytest

from workbench.declared_collations import declared_collations
from workbench.errors import UnsupportedError
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

TABLES = {
    "plain": "CREATE TABLE t(a TEXT, b)",
    "one": "CREATE TABLE t(a TEXT COLLATE NOCASE, b TEXT)",
    "in any case": "create table t(A TEXT collate NoCase, b collate rtrim)",
    "among other words": "CREATE TABLE t(a VARCHAR(10, 2) NOT NULL COLLATE nocase DEFAULT 'x', b INTEGER COLLATE BINARY)",
    "quoted": """CREATE TABLE "t"("a, (b" TEXT COLLATE "nocase", [c d] TEXT COLLATE [rtrim], `e``f` TEXT COLLATE 'NOCASE', 'g' TEXT)""",
    "named by other words": 'CREATE TABLE t("collate" TEXT, "check" TEXT COLLATE NOCASE, b "COLLATE" NOT NULL)',
    "in brackets": "CREATE TABLE t(a TEXT DEFAULT ('x' COLLATE NOCASE), b TEXT CHECK (b COLLATE RTRIM <> 'a,b'), c TEXT COLLATE RTRIM)",
    "in comments": "CREATE TABLE t(a TEXT /* COLLATE NOCASE */, b TEXT -- COLLATE NOCASE,\n COLLATE RTRIM, c TEXT)",
    "twice": "CREATE TABLE t(a TEXT COLLATE NOCASE COLLATE RTRIM, b TEXT COLLATE NOCASE COLLATE BINARY)",
    "in constraints": "CREATE TABLE t(a TEXT COLLATE NOCASE, b TEXT, UNIQUE (b COLLATE RTRIM), CONSTRAINT k PRIMARY KEY (a, b COLLATE NOCASE))",
    "of a computed column": "CREATE TABLE t(a TEXT COLLATE NOCASE, b TEXT AS (a || 'x') STORED COLLATE RTRIM, c TEXT AS (a))",
    "without rowid": "CREATE TABLE t(a TEXT COLLATE NOCASE PRIMARY KEY, b TEXT) WITHOUT ROWID",
}


@pytest.mark.parametrize("sql", TABLES.values(), ids=TABLES)
def test_collations_are_sqlites(sql):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(sql)
        names = [row[1] for row in connection.execute("PRAGMA table_xinfo(t)")]
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        connection.execute(f"CREATE INDEX i ON t({quoted})")
        rows = connection.execute("SELECT name, lower(coll) FROM pragma_index_xinfo('i') WHERE cid >= 0 AND key")
        expected = {name.lower(): collation for name, collation in rows if collation != "binary"}
        (kept,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 't'").fetchone()
    assert declared_collations(kept) == expected


def test_of_other_collations_only_plans_for_sqlite_are_written(tmp_path):
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.create_collation("german", lambda one, other: (one > other) - (one < other))
        connection.execute("CREATE TABLE t(a TEXT COLLATE german, b TEXT)")
    schema = Schema.from_sqlite(path)
    assert [column.collation for column in schema.table("t").columns] == ["german", None]
    plan = sql_to_plan("SELECT b FROM t WHERE a = 'x'", schema)
    assert "german" not in plan_to_sql(plan, "sqlite")
    with pytest.raises(UnsupportedError, match="the collation german"):
        plan_to_sql(plan, "postgres")


def test_a_virtual_table_declares_none():
    assert declared_collations("CREATE VIRTUAL TABLE t USING fts5(a COLLATE NOCASE)") == {}
