"""One table of statements for all engines: outcome, and never later than the limit plus a second."""

import json
import math
import os
import pkgutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import psutil
import psycopg
import pytest
from on_time import limits_for, on_time
from processes import all_end

from workbench import backends
from workbench.backends import BACKENDS, STATUSES, Limits, get_backend, postgres
from workbench.backends.base import without_paths
from workbench.backends.worker import STARTS, Worker, begin
from workbench.errors import BenchmarkError, EngineError
from workbench.migrate import ensure_database

LIMITS = Limits(seconds=20, rows=10_000, bytes=2**20)
QUICK = replace(LIMITS, seconds=1)
TABLES = ["CREATE TABLE t (a INTEGER, n VARCHAR(9))", *(f"INSERT INTO t VALUES ({i}, 'n{i}')" for i in range(100))]
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT {} FROM c"
LONG_STEP = "SELECT instr(printf('%.*c', 1000000, 'a'), printf('%.*c', 500000, 'a') || 'b')"
BOTH = ("sqlite", "postgres")

# (name, SQL, {engine: (status, part of the message)} or one pair for all)
CASES = [
    ("rows", "SELECT a, n FROM t ORDER BY a LIMIT 2", ("ok", "")),
    ("no-rows", "SELECT a FROM t WHERE a < 0", ("ok", "")),
    ("same-name-twice", "SELECT 1 AS a, 2 AS a", ("ok", "")),
    ("percent-signs", "SELECT '%s' || '%(a)s', 7 % 4", ("ok", "")),
    ("syntax", "SELECT FROM WHERE", ("syntax_error", "syntax error")),
    ("no-sql", "the answer is 42", ("syntax_error", "syntax error")),
    ("empty", "", ("syntax_error", "not a query")),
    ("null-character", "SELECT 1\0", ("syntax_error", "null character")),
    ("lone-surrogate", "SELECT '\ud800'", ("syntax_error", "surrogates not allowed")),
    ("union-of-unlike", "SELECT 1 UNION SELECT 1, 2", ("syntax_error", "same number of")),
    ("aggregate-in-where", "SELECT a FROM t WHERE count(*) > 1", ("syntax_error", "aggregate")),
    ("no-table", "SELECT * FROM nowhere", ("name_error", "nowhere")),
    ("no-column", "SELECT nope FROM t", ("name_error", "nope")),
    ("no-function", "SELECT nofun(a) FROM t", ("name_error", "nofun")),
    ("ambiguous", "SELECT a FROM t x, t y", ("name_error", "ambiguous")),
    ("types", "SELECT a + n FROM t", {"postgres": ("type_error", "operator does not exist"), "sqlite": ("ok", "")}),
    (
        "text-as-number",
        "SELECT CAST(n AS INTEGER) FROM t",
        {"postgres": ("type_error", "invalid input"), "sqlite": ("ok", "")},
    ),
    ("argument-count", "SELECT abs(1, 2)", {"postgres": ("name_error", "abs"), "sqlite": ("type_error", "arguments")}),
    ("division", "SELECT 1 / 0", {"postgres": ("runtime_error", "division by zero"), "sqlite": ("ok", "")}),
    ("overflow", "SELECT sum(9223372036854775807) FROM t", {"sqlite": ("runtime_error", "integer overflow")}),
    ("not-utf-8", "SELECT CAST(x'ff' AS TEXT)", {"sqlite": ("runtime_error", "Could not decode to UTF-8")}),
    ("delete", "DELETE FROM t", ("refused", "")),
    ("create-temporary", "CREATE TEMP TABLE x (a INT)", ("refused", "")),
    ("two-statements", "SELECT 1; SELECT 2", ("refused", "")),
    ("attach", "ATTACH 'x.db' AS x", {"sqlite": ("refused", "not authorized")}),
    ("pragma", "PRAGMA writable_schema = 1", {"sqlite": ("refused", "not authorized")}),
    ("vacuum-into", "VACUUM INTO '/tmp/x.db'", {"sqlite": ("refused", "authoriz")}),
    ("load-extension", "SELECT load_extension('x')", {"sqlite": ("refused", "not authorized")}),
    ("table-functions", "SELECT value FROM json_each('[1]')", {"sqlite": ("ok", "")}),
    ("column-list", "SELECT name FROM pragma_table_info('t')", {"sqlite": ("ok", "")}),
    ("set", "SET statement_timeout = 0", {"postgres": ("refused", "not a query")}),
    (
        "set-config",
        "SELECT set_config('statement_timeout', '0', false)",
        {"postgres": ("refused", "permission denied")},
    ),
    ("copy-out", "COPY t TO STDOUT", {"postgres": ("refused", "not a query")}),
    ("copy-program", "COPY t TO PROGRAM 'id'", {"postgres": ("refused", "permission denied")}),
    ("read-file", "SELECT pg_read_file('/etc/passwd')", {"postgres": ("refused", "permission denied")}),
    ("large-object", "SELECT lo_create(0)", {"postgres": ("refused", "permission denied")}),
    ("lock", "SELECT pg_advisory_lock(1)", {"postgres": ("refused", "permission denied")}),
    ("sql-in-text", "SELECT query_to_xml('SELECT 1', true, true, '')", {"postgres": ("refused", "permission denied")}),
    ("end-others", "SELECT pg_terminate_backend(pg_backend_pid())", {"postgres": ("refused", "permission denied")}),
    ("passwords", "SELECT rolpassword FROM pg_authid", {"postgres": ("refused", "permission denied")}),
    ("too-many-rows", "SELECT x.a FROM t x, t y, t z", ("too_large", "more than 10000 rows")),
    ("endless-rows", ENDLESS.format("x"), ("too_large", "rows")),
    ("too-many-bytes", "SELECT replace(n || '%', '%', n || n) || a FROM t", ("ok", "")),
    ("much-text", "SELECT {} FROM t", {"sqlite": ("too_large", "bytes"), "postgres": ("too_large", "bytes")}),
    ("huge-scalar", "SELECT replace(hex(zeroblob(200000000)), '0', 'abc')", {"sqlite": ("too_large", "too big")}),
    ("over-a-gigabyte", "SELECT repeat('x', 2000000000)", {"postgres": ("too_large", "too large")}),
    ("huge-rows", "SELECT repeat('x', 30000000) FROM t", {"postgres": ("too_large", "bytes")}),
    ("endless", ENDLESS.format("count(*)"), ("timeout", "longer than 1 s")),
    ("cross-join", "SELECT count(*) FROM t v, t w, t x, t y, t z", ("timeout", "longer than 1 s")),
    ("sleep", "SELECT pg_sleep(60)", {"postgres": ("timeout", "longer than 1 s")}),
    ("series", "SELECT count(*) FROM generate_series(1, 10000000000)", {"postgres": ("timeout", "longer than 1 s")}),
    (
        "one-long-step",  # nothing inside it looks at the clock: the process has to be killed
        LONG_STEP,
        {"sqlite": ("timeout", "longer than 1 s")},
    ),
]
WIDE = {"sqlite": "printf('%.*c', 20000, 'x')", "postgres": "repeat('x', 20000)"}


def rows():
    for name, sql, expected in CASES:
        for engine in BOTH:
            outcome = expected.get(engine) if isinstance(expected, dict) else expected
            if outcome:
                yield pytest.param(
                    engine, sql.format(WIDE[engine]) if name == "much-text" else sql, *outcome, id=f"{engine}-{name}"
                )


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """Each engine started, its session and the handle of a database with table t."""
    path = tmp_path_factory.mktemp("data") / "odd name?#.sqlite"
    with sqlite3.connect(path) as connection:
        for statement in TABLES:
            connection.execute(statement)
    connection.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(postgres.DSN_VARIABLE, raising=False)
        server = get_backend("postgres")
        if server.find() is None:
            pytest.skip("PostgreSQL is not installed")
        server.start()
        working = server.create("wb_test")
        with server.connect(working) as connection:
            for statement in TABLES:
                connection.execute(statement)
        assert not server.has("wb_test")
        server.publish(working, "wb_test")
        assert server.has("wb_test") and not server.has(working)
        library = get_backend("sqlite")
        used = {"sqlite": (library, library.session(), str(path)), "postgres": (server, server.session(), "wb_test")}
        yield used
        for backend, session, _ in used.values():
            session.close()
            backend.stop()


@pytest.mark.parametrize(("engine", "sql", "status", "words"), list(rows()))
def test_outcomes(engines, engine, sql, status, words):
    _, session, database = engines[engine]
    session.run(database, "SELECT 1", LIMITS)  # so that the worker is there
    limits = limits_for(status, QUICK)
    execution = on_time(lambda: session.run(database, sql, limits), limits)
    assert (execution.status, words in (execution.message or "")) == (status, True), execution
    assert (execution.table is not None) == (status == "ok") and execution.seconds is not None
    after = session.run(database, "SELECT count(*) FROM t", LIMITS)  # whatever happened, the session goes on
    assert after.table.rows() == [(100,)]


def test_every_status_is_known():
    kinds = [outcome for _, _, e in CASES for outcome in (e.values() if isinstance(e, dict) else [e])]
    assert {status for status, _ in kinds} | {"crashed"} == set(STATUSES)


def test_sqlite_values_are_the_drivers_own(engines, shared):
    _, session, _ = engines["sqlite"]
    path = shared / "data/spider/database/world_1/world_1.sqlite"
    sql = "SELECT *, NULL, 1.0, x'00ff', -0.0, 9223372036854775807 FROM country"
    execution = session.run(str(path), sql, Limits())
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as direct:
        cursor = direct.execute(sql)
        assert execution.table.rows() == cursor.fetchall()
        assert execution.table.columns == tuple(entry[0] for entry in cursor.description)


def test_postgres_values_are_those_of_the_official_scripts_driver(engines):
    _, session, database = engines["postgres"]
    values = {
        "1": 1,
        "1.50": Decimal("1.50"),
        "1e0::float8": 1.0,
        "-0.0::float8": -0.0,
        "'NaN'::float8": math.nan,
        "true": True,
        "NULL": None,
        "'\\xff'::bytea": b"\xff",
        "date '2024-02-29'": date(2024, 2, 29),
        "date 'infinity'": "infinity",
        "timestamp '0044-03-15 BC'": "0044-03-15 00:00:00 BC",
        "timestamptz '2024-01-01 00:00+02'": datetime(2023, 12, 31, 22, tzinfo=UTC),
        "interval '1 day 1 second'": timedelta(days=1, seconds=1),
        "array[[1, NULL], [2, 3]]": [[1, None], [2, 3]],
        "row(1, 'a')": "(1,a)",
        "uuid '00000000-0000-0000-0000-000000000005'": "00000000-0000-0000-0000-000000000005",
        "json '{\"a\": [1]}'": {"a": [1]},
        "int4range(1, 3)": "[1,3)",
        "inet '10.0.0.1'": "10.0.0.1",
        "12.3::money": "$12.30",
    }
    execution = session.run(database, f"SELECT {', '.join(values)}", LIMITS)
    assert [repr(value) for value in execution.table.rows()[0]] == [repr(value) for value in values.values()]


def test_files_with_a_journal_are_read_whole(engines, tmp_path):
    """Rows that are still in the write-ahead log count; without one, reading leaves no file behind."""
    path, session = tmp_path / "wal.sqlite", engines["sqlite"][1]
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("CREATE TABLE t AS SELECT 1 AS a")
    assert session.run(str(path), "SELECT a FROM t", LIMITS).table.rows() == [(1,)]
    session.run(engines["sqlite"][2], "SELECT 1", LIMITS)  # closes the file
    writer.close()
    assert session.run(str(path), "SELECT a FROM t", LIMITS).table.rows() == [(1,)]
    assert [p.name for p in tmp_path.iterdir()] == ["wal.sqlite"]


def test_a_replaced_file_is_opened_again(engines, tmp_path):
    session, path = engines["sqlite"][1], tmp_path / "a.sqlite"
    for number in (1, 2):
        with sqlite3.connect(tmp_path / "new") as connection:
            connection.execute("CREATE TABLE t AS SELECT ? AS a", (number,))
        connection.close()
        (tmp_path / "new").replace(path)
        assert session.run(str(path), "SELECT a FROM t", LIMITS).table.rows() == [(number,)]


def test_a_missing_file_is_no_outcome_of_the_statement(engines, tmp_path):
    with pytest.raises(BenchmarkError, match="nowhere"):
        engines["sqlite"][1].run(str(tmp_path / "nowhere.sqlite"), "SELECT 1", LIMITS)


def worker_process(session) -> psutil.Process:
    return psutil.Process(session._worker.pid)


@pytest.mark.parametrize("engine", BOTH)
def test_a_kill_from_outside_is_a_crash_and_the_session_goes_on(engines, engine):
    backend, session, database = engines[engine]
    session.run(database, "SELECT 1", LIMITS)
    if engine == "sqlite":
        victim = worker_process(session).pid
    else:
        victim = int(backend._ask("SELECT pg_postmaster_start_time(), pg_backend_pid()")[0][1])
        victim = psutil.Process(victim).ppid()
    threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
    execution = session.run(database, ENDLESS.format("count(*)"), Limits(seconds=60))
    assert execution.status == "crashed" and execution.seconds < 30
    assert session.run(database, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)]
    assert not psutil.pid_exists(victim) or psutil.Process(victim).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "clickhouse"])
def test_a_worker_killed_while_it_has_nothing_to_do_costs_no_statement(engine, tmp_path):
    backend = get_backend(engine)
    if backend.find() is None:
        pytest.skip(f"{engine} is not installed")
    backend.start()
    path = tmp_path / "idle.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 7 AS a")
    connection.close()
    database, session = ensure_database(backend, path, "idle"), backend.session()
    for _ in range(2):
        execution = session.run(database, "SELECT a FROM t", LIMITS)
        assert execution.status == "ok" and execution.table.rows() == [(7,)], execution
        victim = worker_process(session)
        victim.kill()
        assert all_end([victim], 5)
    session.close()
    backend.stop()


KILLS_ITSELF = """
import os, signal, sys
os.mkdir(os.path.join(sys.argv[1], str(os.getpid())))
if len(os.listdir(sys.argv[1])) <= int(sys.argv[2]):
    os.kill(os.getpid(), signal.SIGKILL) if sys.argv[3] == "killed" else sys.exit(3)
data = __import__("marshal").dumps("ready")
sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
sys.stdout.buffer.flush()
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("how", "times", "words"),
    [("killed", 2, None), ("killed", 99, "ended by signal 9"), ("broken", 99, "ended with 3")],
    ids=["twice", "always", "broken"],
)
def test_a_worker_killed_as_it_starts_is_started_again(tmp_path, how, times, words):
    script, starts = tmp_path / "script.py", tmp_path / "starts"
    script.write_text(KILLS_ITSELF)
    starts.mkdir()
    if words is None:
        worker = begin(lambda: Worker(script, str(starts), str(times), how), "e")
        assert worker.greeting == "ready"
        worker.kill()
    else:
        with pytest.raises(EngineError, match=f"^e: no worker process: the engine's process {words}$"):
            begin(lambda: Worker(script, str(starts), str(times), how), "e")
    assert len(list(starts.iterdir())) == {None: times + 1, "ended by signal 9": STARTS, "ended with 3": 1}[words]


def test_a_worker_ends_with_its_parent(engines):
    """Idle, it sees its input close; busy, it looks for its parent; in one long step an alarm ends it."""
    code = (
        "import sys; from workbench.backends.sqlite import SCRIPT, Worker; worker = Worker(SCRIPT);"
        "print(worker.pid, flush=True); sql = sys.argv[2];"
        "sql and worker.send([sys.argv[1], sql, 1, 10**6, 2**28, 2**31]); sys.stdin.read()"
    )
    parents = [
        subprocess.Popen(
            [sys.executable, "-c", code, engines["sqlite"][2], sql], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for sql in ("", ENDLESS.format("count(*)"), LONG_STEP)
    ]
    workers = [psutil.Process(int(parent.stdout.readline())) for parent in parents]
    time.sleep(0.2)
    for parent in parents:
        parent.kill()
        parent.communicate()
    assert all_end(workers, 5)


@pytest.mark.parametrize(
    ("dsn", "words"),
    [
        ("postgresql://me:s3cret@/postgres?host=/nowhere", "postgres at /nowhere"),
        ("host=127.0.0.1 port=1 user=me password=s3cret", "postgres at 127.0.0.1:1"),
        ("s3cret is not a dsn", "not a connection string"),
        ("postgresql://me:s3cret@[half", "not a connection string"),
    ],
    ids=["no-socket", "nobody-listens", "no-dsn", "half-a-url"],
)
def test_a_wrong_dsn_is_one_line_without_the_password(monkeypatch, dsn, words):
    monkeypatch.setenv(postgres.DSN_VARIABLE, dsn)
    with pytest.raises(EngineError) as caught:
        get_backend("postgres").start()
    assert words in str(caught.value) and "s3cret" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"password": "s3cret"}, "password authentication failed"), ({"dbname": "nowhere"}, '"nowhere" does not exist')],
    ids=["wrong-password", "unknown-database"],
)
def test_a_server_that_refuses_is_quoted_without_the_password(engines, monkeypatch, change, words):
    given = psycopg.conninfo.conninfo_to_dict(engines["postgres"][0].dsn("postgres")) | change
    monkeypatch.setenv(postgres.DSN_VARIABLE, psycopg.conninfo.make_conninfo(**given))
    with pytest.raises(EngineError, match=words) as caught:
        get_backend("postgres").start()
    assert given["password"] not in str(caught.value) and "\n" not in str(caught.value)


def test_a_servers_dsn_takes_the_place_of_the_embedded_server(engines, monkeypatch):
    embedded, _, database = engines["postgres"]
    monkeypatch.setenv(postgres.DSN_VARIABLE, embedded.dsn("postgres"))
    server = get_backend("postgres")
    assert server.find().startswith("server at ") and embedded._lease.secret not in server.find()
    server.start()
    session = server.session()
    try:
        assert server.has(database)
        assert session.run(database, "SELECT current_user", LIMITS).table.rows() == [(postgres.READER,)]
        server.publish(server.create("wb_other"), "wb_other")
        assert embedded.has("wb_other")
        server.drop("wb_other")
        assert not embedded.has("wb_other")
    finally:
        session.close()
        server.stop()
    assert embedded.version() == server_version(embedded)


def server_version(backend) -> str:
    with psycopg.connect(backend.dsn("postgres")) as connection:
        return connection.execute("SHOW server_version").fetchone()[0]


def test_the_reader_sees_one_schema_of_its_databases(engines):
    server, _, database = engines["postgres"]
    with psycopg.connect(server.dsn(database, "reader"), autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (100,)
        for sql in ("INSERT INTO t VALUES (1)", "CREATE TABLE x ()", "CREATE TEMP TABLE x ()", "CREATE SCHEMA x"):
            connection.execute("SET default_transaction_read_only = off")  # the role alone must hold
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql)


def test_the_registry_says_what_is_there():
    modules = {module.name for module in pkgutil.iter_modules(backends.__path__)}
    for name, kind in BACKENDS.items():
        assert name == kind.name == kind.__module__.rsplit(".", 1)[1] and name in modules
        assert kind.how_to_get and kind.dialect
    with pytest.raises(EngineError, match=", ".join(BACKENDS)):
        get_backend("oracle")


def test_messages_hold_no_path_of_this_host(root):
    assert without_paths(f'cannot open "{root}/a b": no\n') == 'cannot open "<path> b": no'
    assert without_paths(json.dumps(str(os.path.expanduser("~/x/y.db")))) == '"<path>"'
    assert without_paths('near "/": syntax error') == 'near "/": syntax error'
