"""The executor: each statement once, results kept, nothing trusted that is damaged, no engine in the way."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from processes import all_end

from workbench import execute, paths
from workbench.backends import Limits, get_backend, postgres, server
from workbench.backends.worker_session import WorkerSession
from workbench.errors import EngineError
from workbench.execute import Executor, Statement
from workbench.sqlite_source import database_hash

SLOW = "SELECT COUNT(*) FROM c t, c u, c v, c w WHERE t.x + u.x + v.x = w.x"  # minutes

RUNS = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'WITH RECURSIVE c (x)%'",
    "mysql": "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'WITH RECURSIVE c (x)%'",
}


def statements(shared: Path, engine: str = "sqlite") -> list[Statement]:
    """All golds with their databases."""
    data = shared / "data"
    spider, bird = (json.loads((data / name).read_text()) for name in ("spider/dev.json", "bird/dev.json"))
    found = [(q["db_id"], data / f"spider/database/{q['db_id']}/{q['db_id']}.sqlite", q["query"]) for q in spider]
    found += [(q["db_id"], data / f"bird/dev_databases/{q['db_id']}/{q['db_id']}.sqlite", q["SQL"]) for q in bird]
    return [Statement(engine, *parts, tag=i) for i, parts in enumerate(found)]


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.close()
    return path


def run(executor: Executor, path: Path, *queries: str, engine: str = "sqlite") -> list:
    wanted = [Statement(engine, "a", path, sql, tag=i) for i, sql in enumerate(queries)]
    done = {statement.tag: execution for statement, execution in executor.run_many(wanted)}
    return [done[i] for i in sorted(done)]


def test_all_golds_give_what_sqlite_gives_and_are_kept(shared, own_cache):
    golds = statements(shared)
    with Executor(["sqlite"]) as executor:
        first = {s.tag: e for s, e in executor.run_many(iter(golds))}
        again = {s.tag: e for s, e in executor.run_many(golds)}
    assert {e.status for e in first.values()} == {"ok"} and len(first) == len(golds) == 693
    assert all(e.is_cached for e in again.values())
    for gold in golds:
        with sqlite3.connect(f"file:{gold.sqlite_path}?mode=ro", uri=True) as connection:
            rows = connection.execute(gold.sql).fetchall()
        assert first[gold.tag].table.rows() == rows
        assert again[gold.tag].table == first[gold.tag].table
        assert again[gold.tag].seconds == first[gold.tag].seconds


def test_equal_statements_run_once(database, own_cache, monkeypatch):
    ran = []
    real = execute.kill_point
    monkeypatch.setattr(execute, "kill_point", lambda name: (ran.append(name), real(name)))
    with Executor(["sqlite"], sessions=4) as executor:
        results = run(executor, database, *["SELECT random()"] * 20)
    assert len(ran) == 1 and len(results) == 20
    assert len({e.table.rows()[0] for e in results}) == 1


@pytest.mark.parametrize("change", ["sql", "contents", "limits", "nothing"])
def test_a_kept_result_is_used_only_for_the_same_question(database, own_cache, change):
    with Executor(["sqlite"], Limits(seconds=5)) as executor:
        (first,) = run(executor, database, "SELECT a FROM t")
    if change == "contents":
        with sqlite3.connect(database) as connection:
            connection.execute("UPDATE t SET a = 2")
        connection.close()
    sql = "SELECT a  FROM t" if change == "sql" else "SELECT a FROM t"
    with Executor(["sqlite"], Limits(seconds=6 if change == "limits" else 5)) as executor:
        (second,) = run(executor, database, sql)
    assert second.is_cached == (change == "nothing") == (first.key == second.key)
    assert second.table.rows() == [(2,) if change == "contents" else (1,)]


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "another's"])
def test_a_damaged_result_is_made_again(database, own_cache, damage):
    with Executor(["sqlite"]) as executor:
        (first,) = run(executor, database, "SELECT 'abcdefgh' FROM t")
        file = paths.cache_dir("executions", first.key[:2]) / f"{first.key}.arrow"
        data = file.read_bytes()
        assert b"abcdefgh" in data
        damaged = {
            "cut": data[:-40],
            "flipped": data.replace(b"abcdefgh", b"abcdefgX"),
            "emptied": b"",
            "another's": b"PK" + data,
        }
        file.write_bytes(damaged[damage])
        (second,) = run(executor, database, "SELECT 'abcdefgh' FROM t")
    assert second.table == first.table and not second.is_cached
    assert file.read_bytes()[:4] == data[:4] and not list(file.parent.glob("*.arrow.*"))


def test_failures_are_kept_but_for_timeouts(database, own_cache):
    queries = {
        "SELECT b FROM t": ("name_error", True),
        "SELECT x'ff' || CAST(x'ff' AS TEXT) FROM t": ("runtime_error", True),
        "SELECT zeroblob(2000)": ("too_large", True),
        "DROP TABLE t": ("refused", False),  # asked of the gate again: it costs nothing
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c": ("timeout", False),
    }
    limits = Limits(seconds=3, bytes=1000)
    with Executor(["sqlite"], limits) as executor:
        first = run(executor, database, *queries)
        same_run = run(executor, database, *queries)
    assert [e.is_cached for e in same_run] == [True, True, True, False, True]  # the timeout is not waited for twice
    with Executor(["sqlite"], limits) as executor:
        second = run(executor, database, *queries)
    assert [e.status for e in first] == [status for status, _ in queries.values()]
    assert [(e.status, e.is_cached) for e in second] == list(queries.values())
    assert [e.message for e in first] == [e.message for e in same_run] == [e.message for e in second]


def test_results_stream_and_can_be_left_early(database, own_cache):
    taken = []

    def endless():
        for i in range(100_000):
            taken.append(i)
            yield Statement("sqlite", "a", database, f"SELECT {i}", tag=i)

    with Executor(["sqlite"]) as executor:
        for _ in zip(range(10), executor.run_many(endless()), strict=False):
            pass
        assert len(taken) < 200
        assert run(executor, database, "SELECT 'more'")[0].status == "ok"


def test_leaving_the_block_ends_what_still_runs(database, own_cache):
    slow = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c"
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError), Executor(["sqlite"], Limits(seconds=60)) as executor:
        for _ in executor.run_many(Statement("sqlite", "a", database, sql) for sql in ("SELECT 1", slow)):
            time.sleep(0.5)
            raise ZeroDivisionError
    assert time.monotonic() - started < 40  # of the limit's 60


def test_an_engine_that_cannot_start_is_named_and_the_others_go_on(database, own_cache, monkeypatch):
    monkeypatch.setenv(postgres.DSN_VARIABLE, "postgresql://me:s3cret@/x?host=/nowhere")
    with Executor(["postgres", "sqlite"]) as executor:
        assert list(executor.versions) == ["sqlite"]
        assert "s3cret" not in executor.unavailable["postgres"]
        assert run(executor, database, "SELECT 1", engine="postgres") == []
        assert run(executor, database, "SELECT 1")[0].status == "ok"
        with pytest.raises(EngineError, match="oracle"):
            run(executor, database, "SELECT 1", engine="oracle")


def test_a_database_that_is_missing_is_named_and_the_others_go_on(database, own_cache):
    with Executor(["sqlite"]) as executor:
        nowhere = Statement("sqlite", "gone", database.with_name("gone.sqlite"), "SELECT 1")
        there = Statement("sqlite", "a", database, "SELECT 1")
        assert [s.db_id for s, _ in executor.run_many([nowhere, there])] == ["a"]
        assert "no such database file" in executor.unprepared["sqlite", "gone"]


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
@pytest.mark.parametrize("kills", [1, 2])
def test_what_dies_with_its_server_runs_once_more(database, engine, kills):
    if get_backend(engine).find() is None:
        pytest.skip(f"{engine} is not installed")
    slow = f"WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 900) {SLOW}"
    later = [f"SELECT a + {os.getpid() + i} FROM t" for i in range(20)]
    killed = []
    with Executor([engine], Limits(seconds=10), sessions=2) as executor:
        backend = executor._engines[engine].backend
        assert run(executor, database, "SELECT a FROM t", engine=engine)[0].table.rows() == [(1,)]

        def killed_in_between():
            yield Statement(engine, "a", database, slow, tag=0)
            for _ in range(kills):
                while backend._ask(RUNS[engine]) != [(1,)] or (state := server._running(backend.folder())) is None:
                    time.sleep(0.05)
                killed.append(psutil.Process(state["server"]))
                killed[-1].kill()
                assert all_end(killed, 60)
            yield from (Statement(engine, "a", database, sql, tag=i) for i, sql in enumerate(later, 1))

        results = {s.tag: e.status for s, e in executor.run_many(killed_in_between())}
    assert results == {0: "timeout" if kills == 1 else "crashed"} | dict.fromkeys(range(1, 21), "ok")
    assert len(killed) == kills and not executor.unavailable


@pytest.mark.parametrize(
    "sql", [f"SELECT x{'If' * 1200}(1)", "SELECT '\ud800'", f"SELECT {'(' * 50_000}"], ids=["long", "half", "deep"]
)
def test_what_the_gate_stumbles_over_ends_no_run(database, own_cache, sql):
    engines = [name for name in ("sqlite", "clickhouse") if get_backend(name).find()]
    with Executor(engines, Limits(seconds=5)) as executor:
        for engine in engines:
            first, second = run(executor, database, sql, "SELECT a FROM t", engine=engine)
            assert first.status != "ok" and second.table.rows() == [(1,)]


def test_what_a_session_stumbles_over_is_one_statements_outcome(database, own_cache, monkeypatch):
    def stumble(self, name, sql, limits):
        if "1 + 1" in sql:
            raise RecursionError("maximum recursion depth exceeded")
        return ordinary(self, name, sql, limits)

    ordinary = WorkerSession.run
    monkeypatch.setattr(WorkerSession, "run", stumble)
    with Executor(["sqlite"]) as executor:
        first, second = run(executor, database, "SELECT 1 + 1", "SELECT a FROM t")
    assert (first.status, first.message) == ("runtime_error", "RecursionError: maximum recursion depth exceeded")
    assert second.table.rows() == [(1,)]


def test_a_kill_between_answer_and_flush_loses_only_that_result(database, own_cache):
    code = (
        "import sys; from workbench.execute import *;"
        "e = Executor(['sqlite']).__enter__(); list(e.run_many([Statement('sqlite', 'a', sys.argv[1], 'SELECT 1')]))"
    )
    kill = os.environ | {"WORKBENCH_KILL_POINT": "result-before-flush"}
    killed = subprocess.run([sys.executable, "-c", code, database], env=kill, check=False)
    assert killed.returncode == -signal.SIGKILL
    with Executor(["sqlite"]) as executor:
        assert [(e.status, e.is_cached) for e in run(executor, database, "SELECT 1", "SELECT 1")] == [("ok", False)] * 2


def test_a_databases_hash_follows_its_contents(database, own_cache):
    first = database_hash(database)
    assert database_hash(database) == first and len(first) == 64
    copy = database.with_name("b.sqlite")
    copy.write_bytes(database.read_bytes())
    assert database_hash(copy) == first
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE t SET a = 2")
    connection.close()
    assert database_hash(database) != first
