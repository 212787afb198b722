"""Every attack of attacks.yaml on every engine it makes sense on: its outcome, on time, and nothing has happened.

Twice: the usual way, and with the gate left out, since either wall must hold alone. What must be as before is listed in
`Arena`: files, tables, settings, another session, and nothing left running.
"""

import hashlib
import re
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import yaml
from on_time import on_time

from workbench import paths
from workbench.backends import BACKENDS, STATUSES, Limits, get_backend
from workbench.backends.base import Execution, Session
from workbench.execute import Executor, Statement
from workbench.gate import DIALECTS, examine
from workbench.migrate import ensure_database

ATTACKS = yaml.safe_load(Path(__file__).with_name("attacks.yaml").read_text())
ENGINES = DIALECTS  # an engine's name is its dialect's
LIMITS = Limits(seconds=1, rows=10_000, bytes=4 * 2**20, memory=2**30)
SHORT = Limits(seconds=0.5, rows=10_000, bytes=4 * 2**20, memory=2**30)
MARK = "wbattack"  # part of the name of everything an attack would make
SECRET = "the-canary-sings"
ENDED_BY_FORCE = ("timeout", "crashed", "too_large")
# Settings as the session that was attacked sees them, without those that change by themselves.
SETTINGS = {
    "postgres": "SELECT name, setting FROM pg_settings WHERE name NOT LIKE 'plpgsql.%'"
    " AND name NOT IN ('statement_timeout', 'transaction_read_only') ORDER BY 1",
    "mysql": "SELECT @@sql_mode, @@autocommit, @@global.general_log, @@foreign_key_checks, @wbattack",
    "clickhouse": "SELECT name, value FROM system.settings ORDER BY 1",
    "duckdb": "SELECT name, value FROM duckdb_settings() ORDER BY 1",
    "sqlite": "SELECT name, type FROM pragma_table_list ORDER BY 1",
}
# How many statements of the reader run beside this one.
RUNNING = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND state = 'active'"
    " AND pid <> pg_backend_pid()",
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE command NOT IN ('Sleep', 'Daemon')"
    " AND id <> connection_id() AND user = substring_index(current_user(), '@', 1)",
    "clickhouse": "SELECT count() - 1 FROM system.processes",
}
# Named locks as another session sees them.
LOCKS = {
    "postgres": "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
    "mysql": "SELECT is_free_lock('wbattack')",
}
WHO = {"postgres": "SELECT pg_backend_pid()", "mysql": "SELECT connection_id()"}


def cases(wanted=lambda engine, attack: True):
    """One row for each engine and attack."""
    for attack in ATTACKS:
        for engine in ENGINES:
            outcomes = attack["expect"].get(engine, attack["expect"].get("all"))
            if outcomes is not None and wanted(engine, attack):
                sql = attack["sql"] if isinstance(attack["sql"], str) else attack["sql"][engine]
                outcomes = (outcomes,) if isinstance(outcomes, str) else tuple(outcomes)
                yield pytest.param(engine, sql, outcomes, id=f"{engine}-{attack['id']}")


def written(sql: str, folder: Path = Path("/nowhere")) -> str:
    """An attack's SQL with its files named and its repetitions written out."""
    sql = sql.replace("{secret}", str(folder / "secret.csv")).replace("{target}", str(folder / MARK))
    return re.sub(r"<<(\d+)\*(.*?)>>", lambda found: int(found[1]) * found[2], sql)


@dataclass
class Arena:
    """One engine with a database, sessions, and what must stay as it is."""

    engine: str
    folder: Path
    path: Path
    executor: Executor
    database: str = ""
    attacked: Session = None  # the gate left out
    other: Session = None
    before: dict = field(default_factory=dict)

    def ask(self, session: Session, sql: str) -> list[tuple]:
        execution = session.run(self.database, sql, Limits(seconds=20))
        assert execution.status == "ok", execution
        return execution.table.rows()

    def through_the_gate(self, sql: str) -> Execution:
        (answer,) = self.executor.run_many([Statement(self.engine, "arena", self.path, sql)])
        return answer[1]

    def state(self) -> dict:
        """All that no attack may change."""
        files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in self.folder.iterdir() if p.is_file()}
        state = {"files": files, "made": sorted(made(self.folder))}
        state["t"] = self.ask(self.other, "SELECT a, n FROM t ORDER BY a")
        state["u"] = self.ask(self.other, "SELECT count(*) FROM u")
        state["settings"] = [
            self.ask(session, SETTINGS[self.engine]) for session in (self.attacked, *self.used()) if session
        ]
        if self.engine in WHO:
            state["locks"] = self.ask(self.other, LOCKS[self.engine])
            state["who"] = self.ask(self.other, WHO[self.engine])
        return state

    def used(self) -> list[Session]:
        return self.executor._engines[self.engine].all[:1]

    def is_quiet(self) -> bool:
        """Whether nothing of ours still works: no statement in the server, no busy worker."""
        if self.engine in RUNNING:
            return self.ask(self.other, RUNNING[self.engine]) == [(0,)]
        return processor_time() < 0.05


def differences(before: object, after: object) -> list:
    """What is in one state and not in the other, for a message that can be read."""
    flat = [
        {
            repr(item)
            for part in (value if isinstance(value, list) else [value])
            for item in (part if isinstance(part, list) else [part])
        }
        for value in (before, after)
    ]
    return sorted(flat[0] ^ flat[1])


def made(folder: Path) -> set[str]:
    """Files with the mark in the places that a relative or temporary name would lead to."""
    places = {Path.cwd(), Path("/"), Path.home(), Path(tempfile.gettempdir()), folder}
    found = {str(p) for place in places for p in place.glob(f"{MARK}*")}
    return found | {str(p) for p in paths.cache_dir("engines").rglob(f"*{MARK}*")}


def processor_time() -> float:
    """Seconds of processor time that this process's children use in a tenth of a second."""

    def used() -> float:
        total = 0.0
        for child in psutil.Process().children(recursive=True):
            try:
                times = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        return total

    start = used()
    time.sleep(0.1)
    return used() - start


@pytest.fixture(scope="module")
def arenas(tmp_path_factory):
    """Engine -> its arena, started when first asked for."""
    started: dict[str, Arena] = {}

    def arena(engine: str) -> Arena:
        if engine not in started:
            if engine not in BACKENDS:
                pytest.skip(f"{engine} is not among the backends")
            if get_backend(engine).find() is None:
                pytest.skip(f"{engine} is not installed")
            started[engine] = open_arena(engine, tmp_path_factory.mktemp(engine))
        return started[engine]

    yield arena
    for opened in started.values():
        for session in (opened.attacked, opened.other):
            session.close()
        opened.executor.__exit__()


def open_arena(engine: str, folder: Path) -> Arena:
    path = folder / "arena.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER, n VARCHAR(9))")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"n{i}") for i in range(100)])
        connection.execute("CREATE TABLE u AS SELECT a * 2 AS b FROM t")
    connection.close()
    (folder / "secret.csv").write_text(f"word\n{SECRET}\n")
    folder.chmod(0o777)  # that nothing is made here must not be for want of a permission
    (folder / "secret.csv").chmod(0o666)
    executor = Executor([engine], LIMITS, sessions=1).__enter__()
    arena = Arena(engine, folder, path, executor)
    assert not executor.unavailable
    backend = executor._engines[engine].backend
    arena.database = ensure_database(backend, path, "arena")
    arena.attacked, arena.other = backend.session(), backend.session()
    arena.through_the_gate("SELECT 1")
    arena.before = arena.state()
    return arena


def check(arena: Arena, run, limits: Limits) -> Execution:
    """Run one attack: on time, telling nothing, and with no effect."""
    execution = on_time(run, limits)
    told = f"{execution.message} {execution.table.rows() if execution.table else ''}"
    assert SECRET not in told and str(arena.folder) not in told.replace(str(arena.path), "")
    if execution.status in ENDED_BY_FORCE:
        deadline = time.monotonic() + 2
        while not arena.is_quiet():
            assert time.monotonic() < deadline, "something still runs"
    after = arena.state()
    for part, value in arena.before.items():
        assert after[part] == value, (part, differences(value, after[part]))
    return execution


@pytest.mark.parametrize(("engine", "sql", "outcomes"), list(cases()))
def test_an_attack_ends_as_expected_and_has_no_effect(arenas, engine, sql, outcomes):
    arena = arenas(engine)
    sql = written(sql, arena.folder)
    execution = check(arena, lambda: arena.through_the_gate(sql), LIMITS)
    assert execution.status in outcomes, execution


def is_stopped_by_the_gate(engine: str, attack: dict) -> bool:
    sql = attack["sql"] if isinstance(attack["sql"], str) else attack["sql"][engine]
    return examine(written(sql), engine) is not None


@pytest.mark.parametrize(("engine", "sql", "outcomes"), list(cases(is_stopped_by_the_gate)))
def test_without_the_gate_an_attack_has_no_effect_either(arenas, engine, sql, outcomes):
    arena = arenas(engine)
    sql = written(sql, arena.folder)
    check(arena, lambda: arena.attacked.run(arena.database, sql, SHORT), SHORT)


@pytest.mark.parametrize(("engine", "sql", "outcomes"), list(cases()))
def test_the_gate_itself_refuses_what_is_to_be_refused(engine, sql, outcomes):
    """Where the engine is absent too."""
    verdict = examine(written(sql), engine)
    if outcomes == ("refused",):
        assert verdict is not None and verdict[0] == "refused"
    else:
        assert verdict is None or verdict[0] in outcomes


def test_the_table_is_sound():
    assert len(ATTACKS) == len({attack["id"] for attack in ATTACKS}) > 60
    for attack in ATTACKS:
        assert set(attack) <= {"id", "sql", "expect", "note"}
        assert set(attack["expect"]) <= {"all", *ENGINES}
    for case in cases():
        assert set(case.values[2]) <= set(STATUSES)


def test_an_effect_would_be_seen(arenas):
    """The checks themselves: each kind of change is noticed."""
    arena = arenas("sqlite")
    mark = arena.folder / f"{MARK}.txt"
    mark.write_text("x")
    assert arena.state()["made"] != arena.before["made"] and arena.state()["files"] != arena.before["files"]
    mark.unlink()
    data = arena.path.read_bytes()
    with sqlite3.connect(arena.path) as connection:
        connection.execute("DELETE FROM t WHERE a = 1")
    connection.close()
    assert arena.state()["t"] != arena.before["t"]
    arena.path.write_bytes(data)
    assert arena.state() == arena.before
    spin = psutil.Popen([sys.executable, "-c", "while True: pass"])
    try:
        until = time.monotonic() + 10  # a busy machine lets it work but rarely
        while arena.is_quiet():
            assert time.monotonic() < until
    finally:
        spin.kill()
        spin.wait()
