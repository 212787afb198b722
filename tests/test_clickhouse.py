"""ClickHouse: copies are exact, statements end as they should and in time, and nothing outside a copy is reached."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from embedded import LIMITS, QUICK, assert_is_exact, assert_real_databases_are_exact, copy, traps
from on_time import limits_for, on_time
from processes import all_end
from test_migrate import TAMPERED, build, nasty  # noqa: F401 a fixture

from workbench import migrate
from workbench.backends import Limits, clickhouse, get_backend
from workbench.backends.clickhouse_load import TYPES, Loader, quote
from workbench.backends.clickhouse_values import arguments, element_type, read
from workbench.backends.worker import Worker
from workbench.errors import BenchmarkError, EngineError, MigrationError

pytest.importorskip("chdb")
REPOSITORY = Path(__file__).resolve().parents[1]
KINDS = {"bigint": "integer", "double precision": "real", "text": "text", "bytea": "blob"}
CASES = traps(
    {word: TYPES[kind] for word, kind in KINDS.items()},
    names_the_engine_has_itself={"notes": ()},
    long_names={"notes": ()},
    without_rowid={"expected": [("X", 2), ("x", 1)]},
)


@pytest.fixture(scope="module")
def backend():
    found = get_backend("clickhouse")
    found.start()
    return found


@pytest.fixture(scope="module")
def session(backend):
    found = backend.session()
    yield found
    found.close()


@pytest.fixture(scope="module")
def copied(backend, nasty):  # noqa: F811
    return copy("clickhouse", nasty)


@pytest.fixture(scope="module")
def small(backend, tmp_path_factory):
    """A table t of 100 rows: the name of its copy."""
    rows = [(i, f"n{i}", bytes([i])) for i in range(100)]
    path = tmp_path_factory.mktemp("small") / "odd name?#.sqlite"
    build(path, "CREATE TABLE t (a INTEGER, n VARCHAR(9), b BLOB)", ("INSERT INTO t VALUES (?, ?, ?)", rows))
    return migrate.ensure_database(backend, path, "small")


@pytest.mark.parametrize("trap", CASES, ids=lambda trap: trap.id)
def test_trap_is_copied_exactly(trap, session, copied):
    assert_is_exact(trap, session, *copied, name_bytes=69, quote=quote)


def test_keys_are_kept_where_the_engine_has_them(session, copied):
    database, report = copied
    sql = "SELECT name, sorting_key FROM system.tables WHERE name IN ('keyed', 'long_key', 'null_key', 'pair', 'child')"
    assert sorted(session.run(database, sql, LIMITS).table.rows()) == [
        ("child", ""), ("keyed", "(a)"), ("long_key", "(a)"), ("null_key", ""), ("pair", "b, a"),
    ]  # fmt: skip
    notes = dict(report.filter(report["column"].is_null()).select("table", "note").rows())
    assert notes["null_key"] == "primary key (a) dropped: NULLs"
    assert notes["orphan"] == "4 foreign keys left out: ClickHouse has none"
    sql = "SELECT type FROM system.columns WHERE table = 'NOT NULL'"
    assert session.run(database, sql, LIMITS).table.rows() == [("Int64",), ("String",)]


NAMES = [
    "a\\b",
    "..",
    "a/b",
    ".inner.x",
    "main",
    "%",
    "€" * 23,
    "a\nb",
    "it's",
    "a`b",
    "a.null",
    "a.size0",
    "n.x",
    "_part",
    "_row_exists",
]


def test_names_the_engine_could_mistake(backend, session, tmp_path):
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    columns = ", ".join(f"{quoted(name)} TEXT" for name in ["a", *NAMES])
    tables = [f"CREATE TABLE {quoted(name)} ({columns})" for name in NAMES]
    row = [None, *NAMES]
    marks = ", ".join("?" * len(row))
    rows = [(f"INSERT INTO {quoted(name)} VALUES ({marks})", [row]) for name in NAMES]
    name = migrate.ensure_database(backend, build(tmp_path / "n.sqlite", *tables, *rows), "names")
    for table in NAMES:
        execution = session.run(name, f"SELECT * FROM {quote(table)}", LIMITS)
        assert execution.status == "ok" and execution.table.rows() == [tuple(row)]
        assert execution.table.columns[:-1] == ("a", *NAMES[:-1])
        assert execution.table.columns[-1].startswith("_row_exists_")


def test_a_rare_negative_zero_keeps_its_sign(backend, session, tmp_path):
    """Among thousands of zeros in a column without NULLs: where ClickHouse would store zeros by leaving them out."""
    rows = [(0.0,)] * 5000 + [(-0.0,)] + [(0.0,)] * 5000
    path = build(tmp_path / "z.sqlite", "CREATE TABLE t (a NOT NULL)", ("INSERT INTO t VALUES (?)", rows))
    name = migrate.ensure_database(backend, path, "zero")
    assert session.run(name, "SELECT count() FROM t WHERE 1 / a < 0", LIMITS).table.rows() == [(1,)]


def test_real_databases_are_copied_exactly(session, shared):
    assert assert_real_databases_are_exact("clickhouse", session, shared) > 8_000


CHANGES = TAMPERED | {
    "one byte": ("UPDATE t SET d = char(1) WHERE a = 3", 'column "d"'),
    "values in other rows": ("UPDATE t SET a = 3 - a WHERE a IN (1, 2)", "not in the right rows"),
    "one for another": (
        "DELETE FROM t WHERE a = 3; INSERT INTO t SELECT * FROM t WHERE a = 2", 'column "a"',
    ),
    "a table less": ("DROP TABLE u", "main.u"),
}  # fmt: skip


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
    with Loader(backend, name) as owner:
        owner._run("USE main")
        for statement in change.split("; "):
            statement = re.sub(r"^UPDATE t SET", "ALTER TABLE t UPDATE", statement)
            statement = re.sub(r"^DELETE FROM t", "ALTER TABLE t DELETE", statement)
            owner._run(statement + (" SETTINGS mutations_sync = 2" if "ALTER" in statement else ""))
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
        "backend = get_backend('clickhouse'); backend.start()\n"
        "migrate.ensure_database(backend, sys.argv[1], 'killed')\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    doomed = os.environ | {"WORKBENCH_KILL_POINT": "migration-half-loaded"}
    assert subprocess.run(command, cwd=REPOSITORY, env=doomed, timeout=300).returncode == -signal.SIGKILL
    name = migrate.database_name(path, "killed")
    folder = clickhouse.copies()
    assert not backend.has(name) and list(folder.glob("*loading*"))
    other = get_backend("clickhouse")  # whoever comes next, for whatever database, cleans up
    migrate.ensure_database(other, build(tmp_path / "o.sqlite", "CREATE TABLE t (a INT)"), "other")
    assert not list(folder.glob("*loading*"))
    migrate.verify_copy(backend, migrate.ensure_database(backend, path, "killed"), path)


def test_private_folder_of_a_killed_process_is_removed(backend, small):
    code = (
        "import sys, os, signal; from workbench.backends import Limits, get_backend\n"
        "session = get_backend('clickhouse').session()\n"
        "assert session.run(sys.argv[1], 'SELECT 1', Limits()).status == 'ok'\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    base = clickhouse.folder() / "scratch"
    before = set(base.iterdir())
    subprocess.run([sys.executable, "-c", code, small], cwd=REPOSITORY, timeout=300)
    assert set(base.iterdir()) > before
    deadline = time.monotonic() + 5  # its worker may still be ending
    while set(base.iterdir()) != before and time.monotonic() < deadline:
        get_backend("clickhouse").start()
    assert set(base.iterdir()) == before


ENDLESS = "SELECT count() FROM numbers(1000000000000) WHERE number % 7 = sipHash64(number)"
STATEMENTS = [
    ("rows", "SELECT a, n, b FROM t ORDER BY a LIMIT 2", "ok", ""),
    ("no rows", "SELECT a FROM t WHERE a < 0", "ok", ""),
    ("syntax", "SELECT FROM WHERE", "syntax_error", "Syntax error"),
    ("empty", "", "syntax_error", "Empty query"),
    ("null character", "SELECT 1\0", "syntax_error", "null character"),
    ("lone surrogate", "SELECT '\ud800'", "syntax_error", "surrogates not allowed"),
    ("union of unlike", "SELECT 1 UNION ALL SELECT 1, 2", "syntax_error", ""),
    ("aggregate in where", "SELECT a FROM t WHERE count(*) > 1", "syntax_error", "WHERE"),
    ("not grouped", "SELECT a, count(*) FROM t", "syntax_error", "GROUP BY"),
    ("no table", "SELECT * FROM nowhere", "name_error", "nowhere"),
    ("no column", "SELECT nope FROM t", "name_error", "nope"),
    ("no function", "SELECT nofun(a) FROM t", "name_error", "nofun"),
    ("bytes beside an error", "SELECT nosuch, '\\xff'", "name_error", "`nosuch`. In scope SELECT nosuch, '\ufffd'"),
    ("bytes in an error", "SELECT toInt32(unhex('FFFE41'))", "type_error", "'\ufffd\ufffdA' as Int32"),
    ("bytes as an error", "SELECT throwIf(1, '\\xff')", "runtime_error", "\ufffd: while"),
    ("bytes as a name", "SELECT '\\xff'", "ok", ""),
    ("no database", "SELECT * FROM x.y", "name_error", ""),
    ("types", "SELECT a + n FROM t", "type_error", ""),
    ("text as number", "SELECT CAST(n AS Int64) FROM t", "type_error", "parse"),
    ("argument count", "SELECT abs(1, 2)", "type_error", ""),
    ("division", "SELECT intDiv(1, a) FROM t", "runtime_error", "Division by zero"),
    ("half-written", "SELECT number, throwIf(number = 5000) FROM numbers(9000)", "runtime_error", "throwIf"),
    ("delete", "ALTER TABLE t DELETE WHERE 1", "refused", "not supported"),
    ("insert", "INSERT INTO t (a) VALUES (1)", "refused", "not supported"),
    ("temporary table", "CREATE TEMPORARY TABLE x (a Int8)", "refused", "not supported"),
    ("two statements", "SELECT 1; SELECT 2", "refused", "Multi-statements"),
    ("setting", "SET max_memory_usage = 0", "refused", "not supported"),
    ("format", "SELECT 1 FORMAT CSV", "refused", "format"),
    ("too many rows", "SELECT x.a FROM t x, t y, t z", "too_large", "more than 10000 rows"),
    ("endless rows", "SELECT number FROM numbers(100000000000)", "too_large", "rows"),
    ("too many bytes", "SELECT repeat(n, 5000) FROM t", "too_large", "bytes"),
    ("huge rows", "SELECT repeat('x', 1000000) FROM t", "too_large", ""),
    ("huge scalar", "SELECT repeat('x', 4000000000)", "too_large", "Too large"),
    ("much memory", "SELECT groupArray(number) FROM numbers(100000000)", "too_large", "memory limit"),
    ("endless", ENDLESS, "timeout", "longer than 1 s"),
    ("cross join", "SELECT count() FROM t u, t v, t w, t x, t y, t z WHERE u.n < z.n", "timeout", "longer than 1 s"),
    ("sleep", "SELECT sleep(3)", "timeout", "longer than 1 s"),
    ("sleep for each row", "SELECT sleepEachRow(1) FROM t", "timeout", ""),
    ("limit lifted by itself", ENDLESS + " SETTINGS max_execution_time = 0", "refused", "readonly"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "status", "words"), [row[1:] for row in STATEMENTS], ids=[r[0] for r in STATEMENTS])
def test_outcomes(session, small, sql, status, words):
    session.run(small, "SELECT 1", QUICK)  # so that the worker is there
    limits = limits_for(status, QUICK)
    execution = on_time(lambda: session.run(small, sql, limits), limits)
    assert (execution.status, words in (execution.message or "")) == (status, True), execution
    assert (execution.table is not None) == (status == "ok") and execution.seconds is not None
    after = session.run(small, "SELECT count(*) AS n FROM t", LIMITS).table  # nothing is left of what went before
    assert (after.columns, after.rows()) == (("n",), [(100,)])


def test_recursion_has_a_depth(session, small):
    sql = "WITH RECURSIVE c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c) SELECT count() FROM c"
    execution = session.run(small, sql, LIMITS)
    assert execution.status == "runtime_error" and "depth" in execution.message


# -- nothing outside ----------------------------------------------------------------------------------------------------

OUTSIDE = [
    "SELECT file('{file}')",
    "SELECT * FROM file('{file}', 'LineAsString')",
    "SELECT * FROM file('{file}', 'LineAsString', 'line String')",
    "SELECT * FROM fileCluster('default', '{file}', 'LineAsString', 'line String')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM default.`{file}`",
    "SELECT * FROM filesystem('{folder}')",
    "SELECT 1 INTO OUTFILE '{folder}/written'",
    "SELECT 1 INTO OUTFILE '{file}' TRUNCATE",
    "SELECT 1 INTO OUTFILE '{file}' APPEND",
    "INSERT INTO FUNCTION file('{folder}/written', 'CSV') SELECT 1",
    "SELECT * FROM url('http://127.0.0.1:{port}/', 'LineAsString', 'line String')",
    "SELECT * FROM remote('127.0.0.1:{port}', system.one)",
    "SELECT * FROM s3('http://127.0.0.1:{port}/b/k', 'CSV', 'a String')",
    "SELECT * FROM mysql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM postgresql('127.0.0.1:{port}', 'd', 't', 'u', 'p')",
    "SELECT * FROM sqlite('{file}', 't')",
    "SELECT * FROM executable('id', 'LineAsString', 'line String')",
    "SELECT * FROM Python(options)",
    "SELECT * FROM Python(sys)",
    "ATTACH TABLE x FROM '{folder}' (a Int8) ENGINE = MergeTree ORDER BY a",
    "CREATE TABLE x (a Int8) ENGINE = File('CSV', '{folder}/written')",
    "BACKUP TABLE t TO File('{folder}/written')",
    "CREATE FUNCTION f AS (x) -> x",
    "SYSTEM SHUTDOWN",
    "DROP TABLE t",
    "TRUNCATE TABLE t",
    "RENAME TABLE t TO u",
    "OPTIMIZE TABLE t FINAL",
    "DETACH TABLE t",
    "SELECT * FROM system.users",
]
HARMLESS = ("refused", "name_error", "type_error", "runtime_error", "syntax_error")


def run_outside(session, small: str, folder: Path, statements: list[str]) -> list[tuple[str, object]]:
    """What became of each statement, after a look that nothing happened."""
    import socket

    folder.chmod(0o777)
    secret = folder / "secret.csv"
    secret.write_text("4711\n")
    secret.chmod(0o666)
    found = []
    copy_before = stamps(clickhouse.copies() / small)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        for sql in statements:
            execution = session.run(small, sql.format(file=secret, folder=folder, port=port), LIMITS)
            assert execution.status in HARMLESS, (sql, execution, execution.table and execution.table.rows())
            assert "4711" not in execution.message.replace(str(port), "")
            assert [file.name for file in folder.iterdir()] == ["secret.csv"] and secret.read_text() == "4711\n"
            with pytest.raises(BlockingIOError):  # nobody has come
                listener.accept()
            assert session.run(small, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)], sql
            found.append((sql, execution))
    assert stamps(clickhouse.copies() / small) == copy_before
    return found


def stamps(folder: Path) -> dict[str, tuple]:
    return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_size) for p in [folder, *folder.rglob("*")]}


def test_nothing_outside_is_reached_without_the_gate(session, small, tmp_path):
    assert len(run_outside(session, small, tmp_path, OUTSIDE)) == len(OUTSIDE)
    assert session._worker.greeting[1] in ("chroot", "landlock", "namespace")


def test_a_copy_is_not_written_to(session, small):
    path = session.run(small, "SELECT data_paths[1] FROM system.tables WHERE name = 't'", LIMITS).table.rows()[0][0]
    for target in (f"{path}written", f"{path}format_version.txt"):
        for how in ("", " TRUNCATE", " APPEND"):
            execution = session.run(small, f"SELECT 1 INTO OUTFILE '{target}'{how}", LIMITS)
            assert execution.status == "runtime_error", (target, how, execution)


@pytest.mark.parametrize("way", ["landlock", "namespace"])
def test_the_other_ways_to_confine_hold_too(backend, small, tmp_path, monkeypatch, way):
    session = backend.session()
    with only(way, monkeypatch):
        first = session.run(small, "SELECT sum(a) FROM t", LIMITS)
    if session._worker.greeting[1] != way:
        session.close()
        pytest.skip(f"this system has no {way}")
    assert first.table.rows() == [(4950,)]
    run_outside(session, small, tmp_path, OUTSIDE)
    test_a_copy_is_not_written_to(session, small)
    session.close()


@contextmanager
def only(way: str, monkeypatch):
    """Workers that know one way only, as where the others are not to be had; their private folder is their user's."""
    start = clickhouse.start_worker

    def start_worker(scratch: Path) -> Worker:
        os.chown(scratch, os.geteuid(), os.getegid())
        return start(scratch, ways=[way])

    monkeypatch.setattr(clickhouse, "start_worker", start_worker)
    yield
    monkeypatch.setattr(clickhouse, "start_worker", start)


def test_without_any_way_statements_run_only_if_trusted(backend, small, monkeypatch):
    session = backend.session()
    with only("no such way", monkeypatch):
        with pytest.raises(EngineError, match="WORKBENCH_TRUST_SQL"):
            session.run(small, "SELECT 1", LIMITS)
        monkeypatch.setenv(clickhouse.TRUST_VARIABLE, "1")
        assert session.run(small, "SELECT sum(a) FROM t", LIMITS).table.rows() == [(4950,)]
    session.close()


# -- values -------------------------------------------------------------------------------------------------------------

VALUES = [
    ("toInt64(-9223372036854775808), 18446744073709551615, toInt256('-5')", (-(2**63), 2**64 - 1, -5)),
    ("toFloat64(3), -0.0, nan, inf, -inf, 5e-324, 1e308, 0.1 + 0.2", (3.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1e308, 0.1 + 0.2)),
    ("'é', 'a\\0b', '', NULL, true, ',-0,'", ("é", "a\0b", "", None, True, ",-0,")),
    ("unhex('ff00'), substring('é', 1, 1), 'x'", (b"\xff\0", b"\xc3", "x")),
    ("toDecimal64('1.50', 2), toDecimal256('-1', 0)", (Decimal("1.5"), Decimal(-1))),
    ("toDate('2020-02-29'), toDateTime('2020-01-01 10:00:00'), toDateTime64('1900-01-01 00:00:00.5', 3, 'UTC')", (date(2020, 2, 29), datetime(2020, 1, 1, 10), datetime(1900, 1, 1, microsecond=500000))),
    ("[1, NULL], [[1.5], []], (1, 'a', toDate('2020-01-01')), map('k', [-0.0])", ([1, None], [[1.5], []], (1, "a", date(2020, 1, 1)), {"k": [-0.0]})),
    ("map(1, 'a'), tuple(1 AS `a b`, 2.0 AS c), []", ({1: "a"}, (1, 2.0), [])),
    ("toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), toIPv4('1.2.3.4'), CAST('x', 'Enum8(\\'x\\' = 1, \\'it\\\\\\'s (\\' = 2)')", (UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), "1.2.3.4", "x")),
    ("toLowCardinality('a'), toNullable(1), toFloat32(0.5)", ("a", 1, 0.5)),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "row"), VALUES)
def test_values_keep_their_types(session, small, sql, row):
    execution = session.run(small, f"SELECT {sql}", LIMITS)
    assert execution.status == "ok", execution.message
    assert repr(execution.table.rows()) == repr([row])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT b FROM t WHERE a = 65",
        "SELECT x.b FROM t x LEFT JOIN t y ON x.b = y.b WHERE x.a = 65",
        "SELECT b FROM t WHERE a = 65 UNION ALL SELECT b FROM t WHERE a < 0",
        "WITH q AS (SELECT * FROM t) SELECT b FROM q WHERE b = 'A' GROUP BY b ORDER BY b",
        "SELECT DISTINCT b FROM (SELECT a, b FROM t) WHERE a = 65",
    ],
)
def test_a_blob_column_is_bytes_even_where_it_is_text(session, small, sql):
    assert session.run(small, sql, LIMITS).table.rows() == [(b"A",)]


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("SELECT y.a, y.n FROM t x LEFT JOIN t y ON y.a = x.a + 1000 LIMIT 1", (None, None)),
        ("SELECT sum(a), max(n), count(*) FROM t WHERE a < 0", (None, None, 0)),
        ("SELECT max(a) AS a FROM t WHERE a < 5", (4,)),
    ],
    ids=["outer join", "nothing to add", "alias like a column"],
)
def test_statements_mean_what_the_standard_says(session, small, sql, row):
    assert session.run(small, sql, LIMITS).table.rows() == [row]


def test_settings_are_part_of_the_version(backend):
    assert re.match(r"\d+\.\d+[\d.]* \(join_use_nulls=1, ", backend.version())


@pytest.mark.parametrize("chunk", [b"", b"1\n", b'["a"]\n', b'["a"]\n["Int8"]\n[1]', b"{}\n{}\n", b'["a"]\n[1]\n'])
def test_what_is_not_in_the_format_is_refused(chunk):
    assert read(chunk) is None


def test_parts_of_a_type():
    assert arguments("a Int8, Enum8('x, (' = 1), `b,c` Tuple(Int8, String)") == [
        "a Int8", "Enum8('x, (' = 1)", "`b,c` Tuple(Int8, String)",
    ]  # fmt: skip
    assert [element_type(part) for part in ("a Int8", "`b c` Array(Int8)", "Map(String, Int8)")] == [
        "Int8", "Array(Int8)", "Map(String, Int8)",
    ]  # fmt: skip


# -- processes ----------------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_a_crash_and_is_replaced(backend, small):
    session = backend.session()
    session.run(small, "SELECT 1", LIMITS)
    threading.Timer(0.3, os.kill, (session._worker.pid, signal.SIGKILL)).start()
    execution = session.run(small, ENDLESS, Limits(seconds=60))
    assert execution.status == "crashed" and execution.seconds < 30
    assert session.run(small, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)]
    session.close()


def test_interrupting_ends_a_statement(backend, small):
    session = backend.session()
    session.run(small, "SELECT 1", LIMITS)
    threading.Timer(0.3, session.interrupt).start()
    execution = session.run(small, ENDLESS, Limits(seconds=60))
    assert execution.status == "crashed" and execution.seconds < 30
    session.close()


def test_a_worker_ends_with_its_parent(backend, small):
    code = (
        "import sys; from workbench.backends import clickhouse as c\n"
        "with c.private_folder() as folder:\n"
        "    worker = c.start_worker(folder); print(worker.pid, flush=True); sql = sys.argv[2]\n"
        "    sql and worker.send([sys.argv[1], sql, 1, 10**6, 2**28, 2**31, c.SEMANTICS]); sys.stdin.read()\n"
    )
    parents = [
        subprocess.Popen([sys.executable, "-c", code, small, sql], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for sql in ("", ENDLESS)
    ]
    workers = [psutil.Process(int(parent.stdout.readline())) for parent in parents]
    time.sleep(0.3)
    for parent in parents:
        parent.kill()
        parent.communicate()
    assert all_end(workers, 5)


def test_several_sessions_read_one_copy_and_one_session_many(backend, small, copied):
    sessions = [backend.session() for _ in range(3)]
    found = []

    def work(session) -> None:
        for _ in range(3):
            found.append(session.run(small, "SELECT sum(a) FROM t", LIMITS).table.rows())
            found.append(session.run(copied[0], "SELECT count(*) FROM keyed", LIMITS).table.rows())

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [[(3,)]] * 9 + [[(4950,)]] * 9
    for session in sessions:
        session.close()


def test_a_copy_that_is_gone_or_broken_is_one_line(backend, session, small):
    with pytest.raises(BenchmarkError):
        session.run("nowhere", "SELECT 1", LIMITS)
    broken = backend.path("broken")
    shutil.copytree(backend.path(small), broken, symlinks=True)
    (broken / "metadata" / "main.sql").unlink()
    with pytest.raises(BenchmarkError):
        session.run("broken", "SELECT 1", LIMITS)
    backend.drop("broken")
    assert session.run(small, "SELECT count(*) FROM t", LIMITS).table.rows() == [(100,)]


# -- the server option, on chdb through the driver that speaks to servers ------------------------------------------------

SERVER = """
import sys
from workbench import migrate
from workbench.backends import Limits, get_backend
backend = get_backend("clickhouse")
backend.start()
name = migrate.ensure_database(backend, sys.argv[1], "served")
migrate.verify_copy(backend, name, sys.argv[1])
session = backend.session()
for sql in ("SELECT * FROM t ORDER BY a", "SELECT nope FROM t", "SELECT x.a FROM t x, t y", "DROP TABLE t"):
    execution = session.run(name, sql, Limits(seconds=10, rows=5))
    print([execution.status, execution.table and execution.table.rows()])
print([backend.find(), backend.has(name), backend.has("nowhere"), backend.version()[:2]])
backend.drop(name)
print(backend.has(name))
"""


def test_a_servers_dsn_takes_the_place_of_the_embedded_engine(tmp_path):
    pytest.importorskip("clickhouse_connect")
    path = build(tmp_path / "s.sqlite", "CREATE TABLE t (a, b BLOB)", "INSERT INTO t VALUES (1.5, x'41'), (-0.0, NULL)")
    environment = os.environ | {"WORKBENCH_CLICKHOUSE_DSN": f"chdb://{tmp_path}/data"}
    command = [sys.executable, "-c", SERVER, str(path)]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == [
        "['ok', [(-0.0, None), (1.5, b'A')]]", "['name_error', None]", "['ok', [(1.5,), (1.5,), (-0.0,), (-0.0,)]]",
        "['refused', None]", "['server at this process', True, False, '26']", "False",
    ], done.stderr  # fmt: skip


@pytest.mark.parametrize(
    ("dsn", "words"),
    [
        ("clickhouse://me:s3cret@127.0.0.1:1/d", "clickhouse at 127.0.0.1:1"),
        ("s3cret is no dsn", "WORKBENCH_CLICKHOUSE_DSN"),
    ],
    ids=["nobody listens", "no dsn"],
)
def test_a_wrong_dsn_is_one_line_without_the_password(monkeypatch, dsn, words):
    pytest.importorskip("clickhouse_connect")
    monkeypatch.setenv("WORKBENCH_CLICKHOUSE_DSN", dsn)
    with pytest.raises(EngineError) as caught:
        get_backend("clickhouse").start()
    assert words in str(caught.value) and "s3cret@" not in str(caught.value) and "\n" not in str(caught.value)
