"""MySQL as an engine: copies judged value by value, outcomes on time, and nothing left by a kill."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import psutil
import pytest
from on_time import limits_for, on_time
from processes import all_end
from test_migrate import KEYS, TRAPS, Benchmark, Trap, bag, build, table_name

from workbench import migrate
from workbench.backends import Limits, debian_packages, get_backend, mysql, mysql_fetch, mysql_server, server
from workbench.errors import EngineError, MigrationError

pymysql = pytest.importorskip("pymysql")
mysql_load = pytest.importorskip("workbench.backends.mysql_load")
LIMITS = Limits(seconds=20, rows=10_000, bytes=2**20)
QUICK = replace(LIMITS, seconds=1)
LARGEST = sys.float_info.max
OWN_SOCKET = "a server of its own: no mysqld here (python -m workbench.backends.mysql_fetch)"


@pytest.fixture(scope="module")
def backend():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(mysql.DSN_VARIABLE, raising=False)
        backend = get_backend("mysql")
        if backend.find() is None:
            pytest.skip(OWN_SOCKET)
        backend.start()
        yield backend
        backend.stop()


def fetch(backend, database: str | None, sql: str, role: str = "owner") -> list[tuple]:
    with closing(backend.connect(database, role)) as connection:
        return mysql.ask(connection, sql)


# -- copies -------------------------------------------------------------------------------------------------------------

TYPES = {"double precision": "double", "text": "varchar(255)", "bytea": "blob"}
DIFFERENT = {  # traps whose outcome is not PostgreSQL's
    "reals at the limits": {
        "expected": [(1e308,), (5e-324,), (-0.0,), (0.0,), (LARGEST,), (-LARGEST,), (0.1 + 0.2,)],
        "converted": {"a": 2},
        "notes": ("2 infinities became the largest double",),
    },
    "text and blobs": {"expected": [("é",), ("abc",), ("\ufffd\0",), ("",), (None,)]},
    "NUL in text": {"expected": None, "converted": None, "notes": ()},
    "column names": {"notes": ("is named ' x' there",)},
    "names the engine has itself": {
        "columns": "(db_row_id INT, DB_TRX_ID TEXT, xmin INT)",
        "notes": ("is named 'db_row_id_", "is named 'DB_TRX_ID_"),
    },
    "long names": {"notes": (f"is named '{'x' * 64}' there", f"is named '{'x' * 55}_")},
    "without rowid": {"types": ["varchar(768)", "bigint"]},
    "a megabyte of text": {"types": ["longtext"]},
}
MORE = [
    Trap(
        "what separates rows and fields",
        "(a TEXT, b BLOB)",
        [("\\N", b"\\N"), ("\\", b"\\"), ("a\\\tb\\\n", b"\t\n\r\\0"), ("\r\n\x1a\0", b"\x1a\0"), (None, None), ("", b"")],
        ["varchar(255)", "blob"],
    ),
    Trap(
        "names that are one to MySQL",
        '(e INT, "É" INT, "ß" INT, s INT)',
        [(1, 2, 3, 4)],
        ["bigint"] * 4,
        notes=("is named 'É_", "is named 's_"),
    ),
    Trap("a name that shrinks in lower case", '("\u212a" INT, "k" INT)', [(1, 2)], ["bigint"] * 2, notes=("is named '_' there",)),
    Trap("names with what MySQL lacks", '("\U0001f600" INT, "a " INT, "a" INT)', [(1, 2, 3)], ["bigint"] * 3,
         notes=("is named '_' there", "is named 'a_"), name="spaced  "),
    Trap("names that end in white space", '("a\t" INT, "a\n " INT, "a\vb\r" INT)', [(1, 2, 3)], ["bigint"] * 3,
         notes=("is named 'a' there", "is named 'a_", "is named 'a\\x0bb' there"), name="spaced\t\f"),
    Trap("a name too long for a file", "(a INT)", [(1,)], ["bigint"], name="é" * 60, notes=(f"is named '{'é' * 50}'",)),
    Trap("blob key", "(a BLOB PRIMARY KEY)", [(b"\0",), (b"\0\0",)], ["varbinary(3072)"]),
    Trap("key with case, spaces and accents", "(a TEXT PRIMARY KEY)", [("a",), ("A",), ("a ",), ("á",), ("",)],
         ["varchar(768)"]),
    Trap("many texts", "(" + ", ".join(f"c{n} TEXT" for n in range(150)) + ")", [("é" * 5000,) * 150], ["text"] * 150),
    Trap("more texts than a row may promise", "(" + ", ".join(f"c{n} TEXT" for n in range(350)) + ")",
         [("é" * 300,) * 350, ("",) * 350, (None,) * 350], ["text"] * 350),
    Trap("more short texts than a row holds", "(" + ", ".join(f"c{n} TEXT" for n in range(190)) + ")", [("é" * 99,) * 190],
         ["varchar(255)"] * 56 + ["text"] * 134),
    Trap("texts of each length", "(a TEXT, b TEXT, c TEXT)", [("é" * 255, "é" * 256, "é" * 16_001)],
         ["varchar(255)", "text", "longtext"]),
    Trap("lengths that SQLite does not see", "(a TEXT, b TEXT, c BLOB)",
         [("", "\0" + "é" * 300, b"")] * 20_000 + [("\0" + "é" * 300, "\0" * 70_000, b"\0" * 70_000)],
         ["longtext", "longtext", "longblob"]),
    Trap("a text of more than a packet", "(a TEXT)", [("x" * 70_000_000,)], ["longtext"]),
]  # fmt: skip


def adapted(trap: Trap) -> Trap:
    return replace(replace(trap, types=[TYPES.get(kind, kind) for kind in trap.types]), **DIFFERENT.get(trap.id, {}))


MINE = [*map(adapted, TRAPS), *MORE]


@pytest.fixture(scope="module")
def nasty(tmp_path_factory) -> Path:
    statements: list = []
    for trap in MINE:
        name = table_name(trap).replace('"', '""')
        statements.append(f'CREATE TABLE "{name}" {trap.columns}')
        if trap.rows:
            target = f'"{name}"' + (" (a)" if trap.id == "generated columns" else "")
            statements.append((f"INSERT INTO {target} VALUES ({', '.join('?' * len(trap.rows[0]))})", trap.rows))
    return build(tmp_path_factory.mktemp("nasty") / "na?s%ty #1.sqlite", *statements, *KEYS)


@pytest.fixture(scope="module")
def copied(backend, nasty) -> tuple[str, pl.DataFrame]:
    prepared = migrate.prepare(Benchmark("traps", {"nasty": nasty}), ["mysql"])
    assert prepared.failed == {} and prepared.unavailable == {}
    return migrate.ensure_database(backend, nasty, "nasty"), prepared.report


@pytest.mark.parametrize("trap", MINE, ids=lambda trap: trap.id)
def test_trap_is_copied_exactly(trap, backend, copied):
    database, report = copied
    mine = report.filter(pl.col("table") == table_name(trap))
    columns = mine.filter(pl.col("column").is_not_null())
    name = mysql_load.cut_table(table_name(trap), 64)
    stored = fetch(backend, database, f"SELECT * FROM {mysql.quoted(name)}", "reader")
    assert bag(stored) == bag(trap.rows if trap.expected is None else trap.expected)
    with closing(backend.connect(database)) as connection:
        types = mysql.ask(
            connection,
            "SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = DATABASE()"
            " AND table_name = %s ORDER BY ordinal_position",
            (name,),
        )
    assert [kind for _, kind in types] == trap.types
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


def test_keys_are_kept_where_the_data_allows(backend, copied):
    database, report = copied
    names = "('keyed', 'pair', 'child', 'orphan', 'mistyped', 'null_key', 'merged_key', 'long_key')"
    keys = fetch(
        backend,
        database,
        "SELECT c.table_name, c.constraint_type, GROUP_CONCAT(k.column_name ORDER BY k.ordinal_position),"
        " MAX(k.referenced_table_name), GROUP_CONCAT(k.referenced_column_name ORDER BY k.ordinal_position)"
        " FROM information_schema.table_constraints c JOIN information_schema.key_column_usage k"
        " USING (table_schema, table_name, constraint_name) WHERE c.table_schema = DATABASE()"
        f" AND c.table_name IN {names} GROUP BY c.table_name, c.constraint_type, c.constraint_name",
    )
    assert sorted(keys, key=repr) == [
        ("child", "FOREIGN KEY", "b", "keyed", "b"),
        ("child", "FOREIGN KEY", "b,a", "pair", "b,a"),
        ("keyed", "FOREIGN KEY", "c", "keyed", "a"),
        ("keyed", "PRIMARY KEY", "a", None, None),
        ("keyed", "UNIQUE", "b", None, None),
        ("pair", "PRIMARY KEY", "b,a", None, None),
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
    (kind,) = fetch(backend, database, "SHOW COLUMNS FROM long_key")
    assert kind[1:4] == ("longtext", "YES", "")


def test_not_null_is_kept(backend, copied):
    assert [row[2] for row in fetch(backend, copied[0], "SHOW COLUMNS FROM `NOT NULL`")] == ["NO", "NO"]


def test_a_long_value_after_many_short_ones_drops_the_keys_only(backend, tmp_path):
    rows = [(f"k{n}", n) for n in range(20_000)] + [("x" * 800, 1)]
    path = build(
        tmp_path / "late.sqlite",
        "CREATE TABLE t (a TEXT NOT NULL PRIMARY KEY, b INT)",
        ("INSERT INTO t VALUES (?, ?)", rows),
        "CREATE TABLE u (a TEXT REFERENCES t (a))",
        "INSERT INTO u VALUES ('k1')",
    )
    report = migrate.prepare(Benchmark("b", {"late": path}), ["mysql"]).report
    assert report.filter(pl.col("column").is_null())["note"].to_list() == [
        "primary key (a) dropped: values too long for an index",
        "foreign key (a) to t dropped: its target is no key",
    ]
    name = migrate.ensure_database(backend, path, "late")
    assert [row[1:3] for row in fetch(backend, name, "SHOW COLUMNS FROM t")] == [("longtext", "NO"), ("bigint", "YES")]


TAMPERED = {
    "one integer": ("UPDATE t SET a = 11 WHERE a = 1", 'table "t": the copy differs: column "a"'),
    "one letter": ("UPDATE t SET b = 'X' WHERE a = 1", 'column "b"'),
    "NULL for nothing": ("UPDATE t SET b = NULL WHERE b = ''", 'column "b": 2 values instead of 3'),
    "sign of zero": ("UPDATE t SET c = 0.0 WHERE a = 1", 'column "c"'),
    "last bit": ("UPDATE t SET c = 0.3 WHERE a = 2", 'column "c"'),
    "one byte": ("UPDATE t SET d = x'01' WHERE a = 3", 'column "d"'),
    "values in other rows": ("UPDATE t SET a = 3 - a WHERE a IN (1, 2)", "not in the right rows"),
    "a row less": ("DELETE FROM t WHERE a = 3", "2 rows instead of 3"),
    "a table less": ("DROP TABLE u", 'table "u"'),
}


@pytest.mark.parametrize(("change", "message"), TAMPERED.values(), ids=TAMPERED)
def test_proof_sees_a_change_by_hand(backend, tmp_path, change, message):
    path = build(
        tmp_path / "small.sqlite",
        "CREATE TABLE t (a INT, b TEXT, c, d BLOB)",
        ("INSERT INTO t VALUES (?, ?, ?, ?)", [(1, "x", -0.0, b""), (2, "", 0.1 + 0.2, None), (3, "x", None, b"\0")]),
        "CREATE TABLE u (a INT)",
    )
    name = migrate.ensure_database(backend, path, "small")
    try:
        migrate.verify_copy(backend, name, path)
        fetch(backend, name, change)
        with pytest.raises(MigrationError) as caught:
            migrate.verify_copy(backend, name, path)
        assert message in str(caught.value)
    finally:
        backend.drop(name)


def test_real_databases_are_copied_exactly(backend, shared):
    files = sorted((shared / "data").glob("spider/database/*/*.sqlite"))
    files += sorted((shared / "data").glob("bird/dev_databases/*/*.sqlite"))
    assert len(files) == 11
    prepared = migrate.prepare(Benchmark("real", {file.stem: file for file in files}), ["mysql"])
    assert prepared.failed == {} and prepared.unavailable == {}
    convert = {"bigint": lambda v: v, "double": float, "varchar": str, "text": str, "longtext": str}
    checked = 0
    for file in files:
        name = migrate.ensure_database(backend, file, file.stem)
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            for (table,) in connection.execute(sql).fetchall():
                kinds = prepared.report.filter(
                    (pl.col("db_id") == file.stem) & (pl.col("table") == table) & pl.col("column").is_not_null()
                )["engine_type"].to_list()
                rows = [
                    tuple(
                        None if v is None else convert[kind.partition("(")[0]](v)
                        for v, kind in zip(row, kinds, strict=True)
                    )
                    for row in connection.execute(f'SELECT * FROM "{table}"')
                ]
                assert bag(rows) == bag(fetch(backend, name, f"SELECT * FROM {mysql.quoted(table)}", "reader"))
                checked += len(rows)
    assert checked > 8_000


BROKEN = {
    "more columns than the engine has": (1100, None, "Too many columns"),
    "rows wider than a page": (500, "z" * 300, "Row size too large"),
}


@pytest.mark.parametrize(("columns", "value", "message"), BROKEN.values(), ids=BROKEN)
def test_what_mysql_cannot_hold_is_one_clear_line_that_names_the_table(backend, tmp_path, columns, value, message):
    path = build(
        tmp_path / "wide.sqlite",
        f"CREATE TABLE t ({', '.join(f'c{n} TEXT' for n in range(columns))})",
        (f"INSERT INTO t VALUES ({', '.join('?' * columns)})", [(value,) * columns]),
    )
    with pytest.raises(MigrationError) as caught:
        migrate.ensure_database(backend, path, "wide")
    assert message in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert 'table "t"' in str(caught.value)
    assert loading(backend) == []


def loading(backend) -> list[tuple]:
    return fetch(backend, None, "SHOW DATABASES LIKE '%loading%'")


def test_a_killed_copy_leaves_nothing_and_comes_back_whole(backend, tmp_path):
    path = build(
        tmp_path / "k.sqlite",
        *(f"CREATE TABLE t{n} (a INT)" for n in range(5)),
        *((f"INSERT INTO t{n} VALUES (?)", [(k,) for k in range(5000)]) for n in range(5)),
    )
    code = (
        "import sys; from workbench import migrate; from workbench.backends import get_backend\n"
        "backend = get_backend('mysql'); backend.start()\n"
        "migrate.ensure_database(backend, sys.argv[1], 'killed')\n"
    )
    name = migrate.database_name(path, "killed")
    doomed = os.environ | {"WORKBENCH_KILL_POINT": "migration-half-loaded"}
    killed = subprocess.run([sys.executable, "-c", code, str(path)], env=doomed, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not backend.has(name) and len(loading(backend)) == 1
    assert migrate.ensure_database(backend, path, "killed") == name
    assert backend.has(name) and loading(backend) == []
    migrate.verify_copy(backend, name, path)


# -- outcomes -----------------------------------------------------------------------------------------------------------

CROSS = "SELECT sum(v.a * w.a * x.a * y.a * z.a) FROM t v, t w, t x, t y, t z"
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
# (name, SQL, status, part of the message)
CASES = [
    ("rows", "SELECT a, n FROM t ORDER BY a LIMIT 2", "ok", ""),
    ("no-rows", "SELECT a FROM t WHERE a < 0", "ok", ""),
    ("same-name-twice", "SELECT 1 AS a, 2 AS a", "ok", ""),
    ("percent-signs", "SELECT '%s', '%(a)s', 7 % 4", "ok", ""),
    ("text-as-number", "SELECT a + n FROM t", "ok", ""),
    ("division-by-zero", "SELECT 1 / 0", "ok", ""),
    ("syntax", "SELECT FROM WHERE", "syntax_error", "error in your SQL syntax"),
    ("empty", "", "syntax_error", "empty"),
    ("lone-surrogate", "SELECT '\ud800'", "syntax_error", "surrogates not allowed"),
    ("two-statements", "SELECT 1; SELECT 2", "syntax_error", "SELECT 2"),
    ("union-of-unlike", "SELECT 1 UNION SELECT 1, 2", "syntax_error", "different number of columns"),
    ("aggregate-in-where", "SELECT a FROM t WHERE count(*) > 1", "syntax_error", "group function"),
    ("not-grouped", "SELECT a, count(n) FROM t", "syntax_error", "nonaggregated"),
    ("limit-in-subquery", "SELECT 1 FROM t WHERE a IN (SELECT a FROM t LIMIT 1)", "syntax_error", "yet support"),
    ("no-table", "SELECT * FROM nowhere", "name_error", "nowhere"),
    ("table-in-other-case", "SELECT * FROM T", "name_error", "T"),
    ("no-column", "SELECT nope FROM t", "name_error", "nope"),
    ("no-function", "SELECT nofun(a) FROM t", "name_error", "nofun does not exist"),
    ("ambiguous", "SELECT a FROM t x, t y", "name_error", "ambiguous"),
    ("argument-count", "SELECT abs(1, 2)", "type_error", "parameter count"),
    ("no-json", "SELECT JSON_EXTRACT('{', '$')", "type_error", "Invalid JSON"),
    ("overflow", "SELECT 9223372036854775807 + 1", "runtime_error", "out of range"),
    ("many-in-scalar", "SELECT (SELECT a FROM t)", "runtime_error", "more than 1 row"),
    ("endless", ENDLESS, "runtime_error", "1001 iterations"),
    ("endless-pattern", "SELECT REGEXP_LIKE(repeat('a', 40), '(a+)+b')", "runtime_error", "regular expression"),
    ("delete", "DELETE FROM t", "refused", "denied"),
    ("create-temporary", "CREATE TEMPORARY TABLE x (a INT)", "refused", ""),
    ("set", "SET max_execution_time = 0", "refused", "not a query"),
    ("set-global", "SET GLOBAL max_connections = 1", "refused", "denied"),
    ("do", "DO RELEASE_ALL_LOCKS()", "refused", "not a query"),
    ("lock", "LOCK TABLES t WRITE", "refused", "denied"),
    ("for-update", "SELECT a FROM t FOR UPDATE", "refused", "denied"),
    ("outfile", "SELECT 1 INTO OUTFILE 'x'", "refused", "FILE privilege"),
    ("load-data", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t", "refused", "disabled"),
    ("passwords", "SELECT * FROM mysql.user", "refused", "denied"),
    ("others-databases", "SELECT * FROM wb_other.t", "refused", "denied"),
    ("too-many-rows", "SELECT x.a FROM t x, t y, t z", "too_large", "more than 10000 rows"),
    ("much-text", "SELECT repeat('x', 20000) FROM t", "too_large", "bytes"),
    ("one-huge-text", "SELECT repeat('x', 60000000)", "too_large", "bytes"),
    ("text-the-server-would-cut", "SELECT length(repeat('x', 2000000000))", "too_large", "max_allowed_packet"),
    ("huge-group", "SELECT GROUP_CONCAT(repeat('x', 1000000)) FROM t", "too_large", ""),
    ("cross-join", CROSS, "timeout", "longer than 1 s"),
    ("sleep", "SELECT SLEEP(30)", "timeout", "longer than 1 s"),
    ("sleep-by-row", "SELECT SLEEP(0.3) FROM t", "timeout", "longer than 1 s"),
    ("benchmark", "SELECT BENCHMARK(1000000000000, sha2('x', 512))", "timeout", "longer than 1 s"),
    ("sort-of-much", "SELECT count(*) FROM t x, t y, t z GROUP BY x.a ORDER BY repeat(x.n, 100000)", "timeout", "1 s"),
    ("one-long-step", "SELECT instr(repeat('a', 500000), concat(repeat('a', 250000), 'b'))", "timeout", "1 s"),
]  # fmt: skip


@pytest.fixture(scope="module")
def session(backend):
    for name in ("wb_test", "wb_other"):
        working = backend.create(name)
        fetch(backend, working, "CREATE TABLE t (a BIGINT PRIMARY KEY, n VARCHAR(9))")
        fetch(backend, working, "INSERT INTO t VALUES " + ", ".join(f"({i}, 'n{i}')" for i in range(100)))
        assert not backend.has(name)
        backend.publish(working, name)
        assert backend.has(name) and not backend.has(working)
    with closing(backend.session()) as session:
        yield session


@pytest.mark.parametrize(("sql", "status", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_outcomes(session, sql, status, words):
    session.run("wb_test", "SELECT 1", LIMITS)
    limits = limits_for(status, QUICK)
    execution = on_time(lambda: session.run("wb_test", sql, limits), limits)
    assert (execution.status, words in (execution.message or "")) == (status, True), execution
    assert (execution.table is not None) == (status == "ok") and execution.seconds is not None
    after = session.run("wb_test", "SELECT count(*) FROM t", LIMITS)
    assert after.table.rows() == [(100,)]


def test_values_are_those_of_the_official_scripts_driver(session):
    values = {
        "1": 1, "1.50": Decimal("1.50"), "1e0": 1.0, "-0e0": -0.0, "NULL": None, "TRUE": 1, "'é😀'": "é😀",
        "x'00ff'": b"\x00\xff", "CAST(1 AS JSON)": "1", "DATE '2024-02-29'": date(2024, 2, 29),
        "TIMESTAMP '2024-01-01 10:00:00.5'": datetime(2024, 1, 1, 10, 0, 0, 500000),
        "TIME '-01:00:00'": timedelta(hours=-1), "CAST('0000-00-00' AS DATE)": None,
        "18446744073709551615": 2**64 - 1, "b'101'": b"\x05", "AVG(1)": Decimal("1.0000"),
        "DATE_FORMAT('2024-01-01', '%M')": "January", "YEAR('2024-01-01')": 2024,
    }  # fmt: skip
    execution = session.run("wb_test", f"SELECT {', '.join(values)}", LIMITS)
    assert [repr(value) for value in execution.table.rows()[0]] == [repr(value) for value in values.values()]


def test_nothing_of_a_statement_reaches_the_next(session):
    assert session.run("wb_test", "SELECT @x := 5, GET_LOCK('l', 0)", LIMITS).status == "ok"
    assert session.run("wb_test", "SELECT @x, IS_FREE_LOCK('l')", LIMITS).table.rows() == [(None, 1)]


def test_the_reader_may_do_nothing_but_read(backend, session):
    databases = {name for (name,) in fetch(backend, "wb_test", "SHOW DATABASES", "reader")}
    assert databases <= {"wb_test", "information_schema", "performance_schema"}
    for sql in ("INSERT INTO t VALUES (-1, '')", "CREATE TABLE x (a INT)", "DROP TABLE t", "CREATE DATABASE x"):
        with pytest.raises(mysql.ServerError, match="denied"):
            fetch(backend, "wb_test", sql, "reader")
    assert fetch(backend, "wb_test", "SELECT LOAD_FILE('/etc/passwd')", "reader") == [(None,)]


def test_long_texts_are_sorted_and_grouped_whole(backend, session, tmp_path):
    rows = [("x" * 3000 + str(n % 50), "é" * 40_000) for n in range(200)]
    path = build(tmp_path / "l.sqlite", "CREATE TABLE t (a TEXT, b TEXT)", ("INSERT INTO t VALUES (?, ?)", rows))
    name = migrate.ensure_database(backend, path, "long")
    limits = Limits(seconds=10)
    ordered = session.run(name, "SELECT a, b FROM t ORDER BY a, b", limits)
    assert ordered.table.rows() == sorted(rows)
    assert session.run(name, "SELECT count(DISTINCT a) FROM t", limits).table.rows() == [(50,)]
    joined = session.run(name, "SELECT length(group_concat(b)) FROM t", limits)
    assert joined.table.rows() == [(200 * 80_001 - 1,)]


def test_the_minidev_gold_queries_and_predictions_run(backend, shared):
    from workbench.benchmarks import read_benchmark
    from workbench.execute import Executor, Statement
    from workbench.predictions import read_predictions

    benchmark = read_benchmark(shared / "data" / "bird_minidev")
    questions = benchmark.questions.select("question_id", "db_id", "gold_sql_mysql")
    files = sorted((shared / "data/predictions/bird_minidev").glob("*mysql*"))
    assert len(questions) == 52 and len(files) == 5
    statements = [
        Statement("mysql", db_id, benchmark.database_path(db_id), sql, ("gold", number))
        for number, db_id, sql in questions.rows()
    ]
    databases = dict(questions.select("question_id", "db_id").rows())
    for file in files:
        for number, sql in read_predictions(file, benchmark).frame.select("question_id", "sql").drop_nulls().rows():
            db_id = databases[number]
            statements.append(Statement("mysql", db_id, benchmark.database_path(db_id), sql, (file.stem, number)))
    with Executor(["mysql"]) as executor:
        found = {statement.tag: execution for statement, execution in executor.run_many(statements)}
        assert executor.unavailable == {} and executor.unprepared == {}
    assert len(found) == len(statements) > 52 + 5 * 40
    assert {execution.status for (kind, _), execution in found.items() if kind == "gold"} == {"ok"}
    assert sum(execution.status == "ok" for execution in found.values()) > 0.8 * len(found)
    assert not {"crashed", "refused", "runtime_error"} & {execution.status for execution in found.values()}


# -- servers ------------------------------------------------------------------------------------------------------------


def processes(folder: Path) -> list[psutil.Process]:
    state = server._running(folder)
    assert state is not None
    keeper = psutil.Process(state["keeper"])
    return [keeper, *keeper.children(recursive=True)]


@pytest.fixture
def own(monkeypatch):
    """A server in a cache of its own, for one test."""
    base = Path(tempfile.mkdtemp(prefix="workbench-test-"))
    base.chmod(0o711)
    monkeypatch.setenv("WORKBENCH_CACHE", str(base))
    monkeypatch.delenv(mysql.DSN_VARIABLE, raising=False)
    backend = get_backend("mysql")
    if backend.find() is None:
        pytest.skip(OWN_SOCKET)
    backend.start()
    yield backend
    family = processes(mysql_server.folder()) if backend.is_running() else []
    server.kill(mysql_server.folder())  # stopping it takes longer
    backend.stop()
    assert all_end(family, 10)
    shutil.rmtree(base, ignore_errors=True)  # as in test_keeper


def test_kills_leave_nothing_and_what_was_published_is_found_again(own):
    folder = mysql_server.folder()
    backend, published = own, []
    with closing(backend.session()) as session:
        for victim in ("server", "keeper"):
            name = f"wb_{victim}"
            working = backend.create(name)
            fetch(backend, working, "CREATE TABLE t AS SELECT 7 AS a")
            backend.publish(working, name)
            published.append(name)
            family, state = processes(folder), server._running(folder)
            threading.Timer(0.3, os.kill, (state[victim], signal.SIGKILL)).start()
            execution = session.run(name, "SELECT SLEEP(300)", Limits(seconds=60))
            assert execution.status == "crashed" and execution.seconds < 30
            assert all_end(family, 10)
            for kept in published:
                assert session.run(kept, "SELECT a FROM t", LIMITS).table.rows() == [(7,)]
    family = processes(folder)
    sockets = Path(server._running(folder)["sockets"])
    assert not [c for process in family for c in process.net_connections("inet")]
    assert sockets.stat().st_mode & 0o077 == 0 and (folder / "secret").stat().st_mode & 0o077 == 0
    if os.geteuid() == 0:
        assert {process.uids().real for process in family[1:]} == {server.UNPRIVILEGED}
    backend.stop()
    assert all_end(family, 15) and not sockets.exists()
    for path in (folder / "data").glob("#innodb_redo/*"):
        path.write_bytes(b"")
    (folder / "data/ibdata1").write_bytes(b"spoilt")
    backend.start()  # a data folder that cannot be used is made anew
    assert not backend.has("wb_server")


def test_a_step_that_cannot_be_killed_ends_with_its_server(own, monkeypatch):
    monkeypatch.setattr(mysql.server, "UNKILLABLE", 0.5)
    fetch(own, own.create("wb_x"), "CREATE TABLE t (a INT)")
    own.publish("wb_x__loading", "wb_x")
    family = processes(mysql_server.folder())
    with closing(own.session()) as session:
        endless = "SELECT instr(repeat('a', 30000000), concat(repeat('a', 15000000), 'b'))"
        execution = session.run("wb_x", endless, QUICK)
        assert execution.status == "timeout" and execution.seconds < 30
        assert all_end(family, 10)
        assert session.run("wb_x", "SELECT count(*) FROM t", LIMITS).table.rows() == [(0,)]


def test_whoever_comes_while_the_server_starts_again_waits_for_it(own):
    own.publish(own.create("wb_x"), "wb_x")
    sessions = [own.session() for _ in range(4)]
    with ThreadPoolExecutor(len(sessions)) as pool:
        for _ in range(2):
            found = list(pool.map(lambda session: session.run("wb_x", "SELECT 1", LIMITS).status, sessions))
            assert found == ["ok"] * len(sessions)
            server.kill(mysql_server.folder())
    for session in sessions:
        session.close()
    own.stop()
    with pytest.raises(EngineError, match="its server was ended and did not start again"):
        own.connect()
    own.start()


def test_a_failed_start_gives_the_servers_first_reason(own):
    own.publish(own.create("wb_kept"), "wb_kept")
    family = processes(mysql_server.folder())
    server.kill(mysql_server.folder())
    own.stop()
    assert all_end(family, 10)
    recipe = mysql_server.recipe()
    broken = replace(recipe, serve=lambda *places: [*recipe.serve(*places), "--nonsense=1"])
    with pytest.raises(EngineError, match="unknown variable 'nonsense=1'") as caught:
        server.acquire(broken)
    assert "\n" not in str(caught.value)
    own.start()
    assert own.has("wb_kept")  # the data were not to blame


DSNS = {
    "nobody-listens": ("mysql://me:s3cret@127.0.0.1:1/", "mysql at 127.0.0.1:1"),
    "no-socket": ("mysql://me:s3cret@localhost/?unix_socket=/nowhere/s", "mysql at /nowhere/s"),
    "no-dsn": ("s3cret is not a dsn", "not a MySQL address"),
    "no-port": ("mysql://me:s3cret@host:port/", "not a MySQL address"),
    "another-engine": ("postgresql://me:s3cret@host/", "not a MySQL address"),
}


@pytest.mark.parametrize(("dsn", "words"), DSNS.values(), ids=DSNS)
def test_a_wrong_dsn_is_one_line_without_the_password(monkeypatch, dsn, words):
    monkeypatch.setenv(mysql.DSN_VARIABLE, dsn)
    with pytest.raises(EngineError) as caught:
        get_backend("mysql").start()
    assert words in str(caught.value) and "s3cret" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_servers_dsn_takes_the_place_of_the_embedded_server(backend, session, tmp_path, monkeypatch):
    socket = backend._sockets() / mysql_server.SOCKET
    secret = backend._lease.secret
    monkeypatch.setenv(mysql.DSN_VARIABLE, f"mysql://root:{secret}@localhost/?unix_socket={socket}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(mysql.DSN_VARIABLE, f"mysql://root:s3cret@localhost/?unix_socket={socket}")
        with pytest.raises(EngineError, match="Access denied") as caught:
            get_backend("mysql").start()
        assert "s3cret" not in str(caught.value) and "\n" not in str(caught.value)
    remote = get_backend("mysql")
    assert remote.find() == f"server at {socket}" and secret not in remote.find()
    remote.start()
    path = build(tmp_path / "d.sqlite", "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('é')")
    with closing(remote.session()) as other:
        name = migrate.ensure_database(remote, path, "d")
        assert other.run(name, "SELECT a FROM t", LIMITS).table.rows() == [("é",)]
    remote.drop(name)
    fetch(remote, None, "SET GLOBAL local_infile = OFF")
    try:
        with pytest.raises(MigrationError, match="SET GLOBAL local_infile = 1"):
            migrate.ensure_database(remote, path, "d")
    finally:
        fetch(remote, None, "SET GLOBAL local_infile = ON")
    remote.stop()
    monkeypatch.setattr(mysql.MySQLBackend, "_ask", lambda *_: [("11.4.2-MariaDB", "Debian", 1)])
    with pytest.raises(EngineError, match=r"is MariaDB 11\.4\.2-MariaDB, not MySQL"):
        get_backend("mysql").start()


# -- programs -----------------------------------------------------------------------------------------------------------


def test_only_a_recent_mysql_on_path_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(mysql_fetch, "FOLDERS", str(tmp_path / "none"))
    monkeypatch.setattr(mysql_fetch, "_fetched", lambda: tmp_path / "none")
    said = {
        "maria": "mysqld  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)",
        "old": "mysqld  Ver 5.7.44 for Linux on x86_64 (MySQL Community Server (GPL))",
        "newer": "mysqld  Ver 9.12.1 for Linux on x86_64 (Source distribution)",
    }
    for name, words in said.items():
        (tmp_path / name).mkdir()
        script = tmp_path / name / "mysqld"
        script.write_text(f"#!/bin/sh\necho '{words}'\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/maria:{tmp_path}/old")
    assert mysql_fetch.find_program() is None
    monkeypatch.setenv("PATH", f"{tmp_path}/maria:{tmp_path}/newer:{os.environ['PATH']}")
    found = mysql_fetch.find_program()
    assert (found.version, found.path.parent.name, mysql_fetch.private_copy(found)) == ("9.12.1", "newer", None)


@pytest.mark.skipif(not shutil.which("ldd"), reason="no ldd: programs run where they lie")
def test_a_program_on_path_gets_a_private_folder_with_its_own_loader(tmp_path, monkeypatch):
    monkeypatch.setattr(mysql_fetch.paths, "programs_dir", lambda: tmp_path)
    monkeypatch.setattr(mysql_fetch, "_version", lambda *_: "9.9.9")
    for name in ("bin", "share/mysql/english", "share/mysql/charsets"):
        (tmp_path / "prefix" / name).mkdir(parents=True)
    (tmp_path / "prefix/share/mysql/english/errmsg.sys").touch()
    path = tmp_path / "prefix/bin/mysqld"
    shutil.copy(shutil.which("expr"), path)
    root = mysql_fetch.private_copy(mysql_fetch.Program(path, None, "9.9.9"))
    assert root == mysql_fetch.private_copy(mysql_fetch.Program(path, None, "9.9.9"))
    path.unlink()
    assert subprocess.run([*mysql_fetch.command(root), "6", "+", "7"], capture_output=True).stdout == b"13\n"
    assert not list(tmp_path.glob("*.new-*"))


DEB822 = """# a note
Types: deb
# more
URIs: http://mirror/debian
Suites: one one-updates
Components: main
Signed-By: /keys/debian.gpg

Types: deb
URIs: http://other
Suites: two
"""
ONE_LINE = """# deb http://no one main
deb [arch=amd64 signed-by=/keys/debian.gpg] http://mirror/debian one main contrib # more
deb http://other two main
"""
SOURCES = {"deb822": ("x.sources", DEB822), "one line": ("x.list", ONE_LINE)}


@pytest.mark.parametrize(("file", "text"), SOURCES.values(), ids=SOURCES)
def test_sources_of_the_machine_are_read(tmp_path, file, text):
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / file).write_text(text)
    first, second = debian_packages.sources(tmp_path)
    assert (first["URIs"], first["Signed-By"], first["Suites"].split()[0]) == (
        "http://mirror/debian", "/keys/debian.gpg", "one",
    )  # fmt: skip
    assert (second["URIs"], second["Suites"], "Signed-By" in second) == ("http://other", "two", False)


def test_without_apt_there_is_one_clear_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(mysql_fetch, "find_program", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert mysql_fetch.main() == 1
    assert capsys.readouterr().err == (
        "MySQL is not here: fetching MySQL: no apt-get here to fetch it with (conda install -c conda-forge mysql-server)\n"
    )


@pytest.mark.parametrize(
    ("name", "column", "table"),
    [
        ("plain name", "plain name", "plain name"),
        ("ends  ", "ends", "ends"),
        ("a\U0001f600b", "a_b", "a_b"),
        ("é" * 70, "é" * 64, "é" * 50),
        (" ", "", ""),
        ("a\tb \t\n\v\f\r", "a\tb", "a\tb"),
        ("a\u00a0", "a\u00a0", "a\u00a0"),
        ("a\u212ab", "a_b", "a\u212ab"),
    ],
    ids=["as it is", "spaces", "high", "long", "only a space", "white space", "no white space to it", "kelvin"],
)
def test_names(name, column, table):
    assert (mysql_load.cut_column(name, 64), mysql_load.cut_table(name, 64)) == (column, table)
