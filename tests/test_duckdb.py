"""DuckDB: copies are exact, statements end as they should and in time, and nothing outside a copy is reached."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import psutil
import pytest
from embedded import LIMITS, QUICK, assert_is_exact, assert_real_databases_are_exact, copy, traps
from on_time import AMPLE, limits_for, on_time
from processes import all_end
from test_migrate import TAMPERED, Benchmark, build, nasty  # noqa: F401 a fixture

from workbench import migrate
from workbench.backends import Limits, get_backend
from workbench.backends import duckdb as duckdb_backend
from workbench.backends.confine import WAYS
from workbench.backends.worker import LEAST_SLACK
from workbench.errors import BenchmarkError, MigrationError
from workbench.sqlite_source import quote

duckdb = pytest.importorskip("duckdb")
REPOSITORY = Path(__file__).resolve().parents[1]
TYPES = {"bigint": "BIGINT", "double precision": "DOUBLE", "text": "VARCHAR", "bytea": "BLOB"}
UNCHANGED = {"notes": ()}
CASES = traps(
    TYPES,
    names_the_engine_has_itself=UNCHANGED,
    long_names=UNCHANGED,
)


@pytest.fixture(scope="module")
def backend():
    found = get_backend("duckdb")
    found.start()
    return found


@pytest.fixture(scope="module")
def session(backend):
    found = backend.session()
    yield found
    found.close()


@pytest.fixture(scope="module")
def copied(backend, nasty):  # noqa: F811
    return copy("duckdb", nasty)


@pytest.fixture(scope="module")
def small(backend, tmp_path_factory):
    """A table t of 100 rows: the name of its copy."""
    rows = [(i, f"n{i}") for i in range(100)]
    path = tmp_path_factory.mktemp("small") / "odd name?#.sqlite"
    build(path, "CREATE TABLE t (a INTEGER, n VARCHAR(9))", ("INSERT INTO t VALUES (?, ?)", rows))
    return migrate.ensure_database(backend, path, "small")


@pytest.mark.parametrize("trap", CASES, ids=lambda trap: trap.id)
def test_trap_is_copied_exactly(trap, session, copied):
    assert_is_exact(trap, session, *copied, name_bytes=255, quote=quote)


def test_keys_are_kept_where_the_data_allows(session, copied):
    database, report = copied
    sql = (
        "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        " AND table_name IN ('keyed', 'pair', 'null_key', 'merged_key', 'long_key')"
    )
    found = session.run(database, sql, LIMITS).table.rows()
    assert sorted(found) == [("keyed", ["a"]), ("long_key", ["a"]), ("pair", ["b", "a"])]
    notes = dict(report.filter(report["column"].is_null()).select("table", "note").rows())
    assert notes["null_key"] == "primary key (a) dropped: NULLs"
    assert notes["merged_key"] == "primary key (a) dropped: a value occurs twice"
    assert notes["orphan"] == "4 foreign keys left out: DuckDB cannot add them later"
    sql = "SELECT count(*) FROM duckdb_columns() WHERE table_name = 'NOT NULL' AND NOT is_nullable"
    assert session.run(database, sql, LIMITS).table.rows() == [(2,)]


def test_real_databases_are_copied_exactly(session, shared):
    assert assert_real_databases_are_exact("duckdb", session, shared) > 8_000


# DuckDB's UPDATE does not write 0.0 over -0.0, which it takes for equal
CHANGES = TAMPERED | {"sign of zero": ("UPDATE t SET c = 1 WHERE a = 1; UPDATE t SET c = 0 WHERE a = 1", 'column "c"')}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_proof_sees_a_change_by_hand(backend, tmp_path, change, message):
    path = build(
        tmp_path / "small.sqlite",
        "CREATE TABLE t (a INT, b TEXT, c, d BLOB)",
        ("INSERT INTO t VALUES (?, ?, ?, ?)", [(1, "x", -0.0, b""), (2, "", 0.1 + 0.2, None), (3, "x", None, b"\0")]),
        "CREATE TABLE u (a INT)",
    )
    name = migrate.ensure_database(backend, path, "small")
    migrate.verify_copy(backend, name, path)
    file = backend.path(name)
    file.chmod(0o644)
    with duckdb.connect(str(file)) as connection:
        connection.execute(change)
    with pytest.raises(MigrationError) as caught:
        migrate.verify_copy(backend, name, path)
    assert message in str(caught.value)
    backend.drop(name)
    assert not backend.has(name)


def test_killed_copy_leaves_nothing_and_comes_back_whole(backend, tmp_path):
    path = build(
        tmp_path / "k.sqlite",
        *(f"CREATE TABLE t{n} (a INT)" for n in range(5)),
        *((f"INSERT INTO t{n} VALUES (?)", [(k,) for k in range(5000)]) for n in range(5)),
    )
    code = (
        "import sys; from workbench import migrate; from workbench.backends import get_backend\n"
        "backend = get_backend('duckdb'); backend.start()\n"
        "migrate.ensure_database(backend, sys.argv[1], 'killed')\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    doomed = os.environ | {"WORKBENCH_KILL_POINT": "migration-half-loaded"}
    assert subprocess.run(command, cwd=REPOSITORY, env=doomed, timeout=300).returncode == -signal.SIGKILL
    name = migrate.database_name(path, "killed")
    folder = backend.path(name).parent
    assert not backend.has(name) and list(folder.glob("*loading*"))
    other = get_backend("duckdb")  # whoever comes next, for whatever database, cleans up
    migrate.ensure_database(other, build(tmp_path / "o.sqlite", "CREATE TABLE t (a INT)"), "other")
    assert not list(folder.glob("*loading*"))
    migrate.verify_copy(backend, migrate.ensure_database(backend, path, "killed"), path)


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT {} FROM c"
STATEMENTS = [
    ("rows", "SELECT a, n FROM t ORDER BY a LIMIT 2", "ok", ""),
    ("same name twice", "SELECT 1 AS a, 2 AS a", "ok", ""),
    ("no rows", "SELECT a FROM t WHERE a < 0", "ok", ""),
    ("syntax", "SELECT FROM WHERE", "syntax_error", "syntax error"),
    ("empty", "", "syntax_error", "not a query"),
    ("null character", "SELECT 1\0", "syntax_error", "null character"),
    ("lone surrogate", "SELECT '\ud800'", "syntax_error", "surrogates not allowed"),
    ("union of unlike", "SELECT 1 UNION SELECT 1, 2", "syntax_error", "same number of"),
    ("aggregate in where", "SELECT a FROM t WHERE count(*) > 1", "syntax_error", "aggregates"),
    ("not grouped", "SELECT a, count(*) FROM t", "syntax_error", "GROUP BY"),
    ("no table", "SELECT * FROM nowhere", "name_error", "nowhere"),
    ("no column", "SELECT nope FROM t", "name_error", "nope"),
    ("no function", "SELECT nofun(a) FROM t", "name_error", "nofun"),
    ("ambiguous", "SELECT a FROM t x, t y", "name_error", "Ambiguous"),
    ("types", "SELECT a + n FROM t", "type_error", "No function matches"),
    ("text as number", "SELECT CAST(n AS INTEGER) FROM t", "type_error", "Could not convert"),
    ("argument count", "SELECT abs(1, 2)", "type_error", "No function matches"),
    ("overflow", "SELECT 9223372036854775807 + a FROM t", "runtime_error", "Overflow"),
    ("delete", "DELETE FROM t", "refused", "not a query"),
    ("temporary table", "CREATE TEMP TABLE x (a INT)", "refused", "not a query"),
    ("two statements", "SELECT 1; SELECT 2", "refused", "more than one"),
    ("setting", "SET threads = 1", "refused", "not a query"),
    ("pragma", "PRAGMA threads = 1", "refused", "not a query"),
    ("explain", "EXPLAIN SELECT 1", "refused", "not a query"),
    ("too many rows", "SELECT x.a FROM t x, t y, t z", "too_large", "more than 10000 rows"),
    ("endless rows", "SELECT * FROM range(100000000000)", "too_large", "rows"),
    ("too many bytes", "SELECT repeat('x', 20000) FROM t", "too_large", "bytes"),
    ("huge rows", "SELECT repeat('x', 1000000) FROM t", "too_large", "bytes"),
    ("much memory", "SELECT list(range) FROM range(1000000000)", "too_large", "Out of Memory"),
    ("memory that is not there", "SELECT reservoir_quantile(range, 0.5, 2000000000) FROM range(9)", "too_large", "failure"),
    ("huge scalar", "SELECT repeat('x', 4000000000)", "too_large", "bytes of memory"),
    ("endless", ENDLESS.format("count(*)"), "timeout", "longer than 1 s"),
    ("cross join", "SELECT count(*) FROM t u, t v, t w, t x, t y, t z WHERE u.n < z.n", "timeout", "longer than 1 s"),
    ("series", "SELECT sum(range % 7) FROM range(100000000000)", "timeout", "longer than 1 s"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "status", "words"), [row[1:] for row in STATEMENTS], ids=[r[0] for r in STATEMENTS])
def test_outcomes(session, small, sql, status, words):
    session.run(small, "SELECT 1", QUICK)  # so that the worker is there
    limits = limits_for(status, QUICK)
    execution = on_time(lambda: session.run(small, sql, limits), limits)
    assert (execution.status, words in (execution.message or "")) == (status, True), execution
    assert (execution.table is not None) == (status == "ok") and execution.seconds is not None
    assert "Stack Trace" not in (execution.message or "")
    assert session.run(small, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)]


OUTSIDE = [
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM read_csv('http://127.0.0.1:1/x')",
    "COPY (SELECT 1) TO '{folder}/written'",
    "COPY t TO '{folder}/written'",
    "EXPORT DATABASE '{folder}/written'",
    "ATTACH '{folder}/written'",
    "ATTACH '{other}' AS x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{file}'",
    "SET enable_external_access = true",
    "PRAGMA enable_external_access = true",
    "RESET enable_external_access",
    "CALL enable_logging()",
    "SELECT * FROM sqlite_scan('{file}', 't')",
    "SELECT getenv('PATH')",
    "SELECT * FROM options",
    "SELECT * FROM wire",
    "CREATE SECRET s (TYPE s3)",
    "VACUUM",
    "CHECKPOINT",
    "DROP TABLE t",
    "USE temp",
]


@pytest.mark.parametrize("sql", OUTSIDE)
def test_nothing_outside_is_reached_without_the_gate(backend, session, small, tmp_path, sql):
    tmp_path.chmod(0o777)
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n4711\n")
    before = backend.path(small).read_bytes()
    text = sql.format(file=secret, folder=tmp_path, other=backend.path(small))
    execution = session.run(small, text, LIMITS)
    assert execution.status in ("refused", "name_error", "runtime_error", "syntax_error"), execution
    assert "4711" not in execution.message
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]
    assert backend.path(small).read_bytes() == before
    assert session.run(small, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)]


@pytest.mark.parametrize("way", [*WAYS, "no such way"])
def test_each_way_to_confine_lets_the_engine_work(monkeypatch, backend, small, way):
    start = duckdb_backend.start_worker
    monkeypatch.setattr(duckdb_backend, "start_worker", lambda: start(ways=[way]))
    session = backend.session()
    sql = "SELECT sum(a), TIMESTAMPTZ '2020-01-01 00:00:00+00' FROM t"
    assert session.run(small, sql, LIMITS).table.rows() == [(4950, datetime(2020, 1, 1, tzinfo=UTC))]
    assert session._worker.greeting[1] in (way, "none")
    session.close()


VALUES = [
    ("1, -9223372036854775808, 170141183460469231731687303715884105727", (1, -(2**63), 2**127 - 1)),
    ("1.5::DOUBLE, -0.0::DOUBLE, 'inf'::DOUBLE", (1.5, -0.0, float("inf"))),
    ("'é', 'a'::BLOB, true, NULL", ("é", b"a", True, None)),
    ("[1, NULL], {'a': 1, 'b': [2]}, MAP {'k': 1}", ([1, None], {"a": 1, "b": [2]}, {"k": 1})),
    ("1.50::DECIMAL(5, 2), 'x'::ENUM ('x')", (Decimal("1.50"), "x")),
]


@pytest.mark.parametrize(("sql", "row"), VALUES)
def test_values_keep_their_types(session, small, sql, row):
    assert repr(session.run(small, f"SELECT {sql}", LIMITS).table.rows()) == repr([row])


def test_times_keep_their_types(session, small):
    sql = "SELECT DATE '2020-02-29', TIMESTAMP '2020-01-01 10:00:00.5', TIME '10:00', '1 day'::INTERVAL, TIMESTAMPTZ '2020-01-01 00:00:00+02', uuid()"
    (row,) = session.run(small, sql, LIMITS).table.rows()
    assert [str(value) for value in row[:5]] == [
        "2020-02-29", "2020-01-01 10:00:00.500000", "10:00:00", "1 day, 0:00:00", "2019-12-31 22:00:00+00:00",
    ]  # fmt: skip
    assert type(row[5]).__name__ == "UUID"


def test_a_killed_worker_is_a_crash_and_is_replaced(backend, small):
    session = backend.session()
    session.run(small, "SELECT 1", LIMITS)
    victim = session._worker.pid
    threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
    execution = session.run(small, ENDLESS.format("count(*)"), Limits(seconds=60))
    assert execution.status == "crashed" and execution.seconds < 30
    assert session.run(small, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)]
    session.close()


def test_a_worker_ends_with_its_parent(backend, small):
    code = (
        "import sys; from workbench.backends.duckdb import start_worker; worker = start_worker();"
        "print(worker.pid, flush=True); sql = sys.argv[2];"
        "sql and worker.send([sys.argv[1], sql, 1, 10**6, 2**28, 2**31]); sys.stdin.read()"
    )
    parents = [
        subprocess.Popen([sys.executable, "-c", code, small, sql], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for sql in ("", ENDLESS.format("count(*)"), "SELECT repeat('x', 4000000000)")
    ]
    workers = [psutil.Process(int(parent.stdout.readline())) for parent in parents]
    time.sleep(0.3)
    for parent in parents:
        parent.kill()
        parent.communicate()
    assert all_end(workers, 5)


def test_several_sessions_read_one_copy(backend, small):
    sessions = [backend.session() for _ in range(3)]
    found = []
    threads = [
        threading.Thread(target=lambda s=s: found.append(s.run(small, "SELECT sum(a) FROM t", LIMITS)))
        for s in sessions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [execution.table.rows() for execution in found] == [[(4950,)]] * 3
    for session in sessions:
        session.close()


def test_a_copy_that_is_gone_or_broken_is_one_line(backend, session, small):
    with pytest.raises(BenchmarkError):
        session.run("nowhere", "SELECT 1", LIMITS)
    broken = backend.path("broken")
    shutil.copy(backend.path(small), broken)
    broken.chmod(0o644)
    broken.write_bytes(b"x" * 5000)
    with pytest.raises(BenchmarkError):
        session.run("broken", "SELECT 1", LIMITS)
    backend.drop("broken")
    assert session.run(small, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)]


def test_version_is_the_engines_own(backend, session, small):
    rows = session.run(small, "SELECT version()", LIMITS).table.rows()
    assert rows == [(f"v{backend.version()}",)]


def test_prepare_says_what_was_left_out(backend, tmp_path):
    path = build(tmp_path / "f.sqlite", "CREATE TABLE p (a INTEGER PRIMARY KEY)", "CREATE TABLE c (a INT REFERENCES p)")
    report = migrate.prepare(Benchmark("b", {"f": path}), ["duckdb"]).report
    assert report["note"].drop_nulls().to_list() == ["1 foreign keys left out: DuckDB cannot add them later"]


# What DuckDB 2.0's own limit does not count; each would take two gigabytes and more.
UNCOUNTED = {
    "edit distance": "SELECT damerau_levenshtein(repeat('ab', 15000), repeat('ba', 15000))",
    "JSON": "SELECT json_array_length('[' || repeat('1,', 400000000) || '1]')",
    "doubling": "SELECT length(list_reduce(list_transform(range(34), lambda x: 'x'), lambda a, b: a || a))",
    "formats": "SELECT strptime(repeat('1', 100000000), repeat('%d', 10000000))",
}


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
@pytest.mark.parametrize("name", UNCOUNTED)
def test_memory_that_the_engine_does_not_count_is_held(name, session, small):
    limits = Limits(seconds=AMPLE, memory=2**28)
    assert session.run(small, "SELECT count(DISTINCT x) FROM range(1000000) r(x)", limits).status == "ok"
    process, most = psutil.Process(session._worker.pid), [0]
    is_over = threading.Event()

    def watch():
        while not is_over.wait(0.02):
            try:
                most.append(process.memory_info().rss)
            except psutil.NoSuchProcess:
                return

    watching = threading.Thread(target=watch)
    watching.start()
    execution = session.run(small, UNCOUNTED[name], limits)
    is_over.set()
    watching.join()
    assert execution.status == "too_large", execution
    assert max(most) < limits.memory + LEAST_SLACK + 2**28  # idle, and what comes between two looks on a busy machine
    assert session.run(small, "SELECT count(*) FROM t", limits).table.rows() == [(100,)]
