"""Runs statements on engines: gated, under limits, each once, results cached by content.

In: statements (engine, database, SQL). Out: an Execution each, in the order they end, as they end: nothing is held but
what is in flight. A result is stored under a hash of everything it depends on (engine and version, database contents,
SQL, limits), so it is found again by any run and never out of date. Timeouts and crashes are not stored: they depend on
the machine's load.
"""

import hashlib
import json
import os
import queue
import threading
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

import pyarrow as pa

from workbench import paths
from workbench.backends import BACKENDS, disk, get_backend
from workbench.backends.base import Backend, Execution, Limits, Session, without_paths
from workbench.errors import BenchmarkError, EngineError, MigrationError
from workbench.faults import kill_point
from workbench.gate import check_select, examine
from workbench.result_table import ResultTable
from workbench.results import content_hash, write_cached
from workbench.sqlite_source import database_hash

__all__ = ["Executor", "Statement", "check_select"]

FORMAT = 3  # raise when sessions would give other values for the same statement
NOT_STORED = ("timeout", "crashed")
IN_FLIGHT = 64  # different statements taken from the input and not yet answered
# What a statement's text or values can make Python raise; all else is this machine's trouble or a fault of ours.
HOSTILE = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError, pa.ArrowException)
DESCRIPTION = b"workbench.execution"  # schema metadata of a stored result


@dataclass(frozen=True)
class Statement:
    """sqlite_path: the benchmark's file, from which engines that need a copy make it. tag: the caller's own mark."""

    engine: str
    db_id: str
    sqlite_path: Path
    sql: str
    tag: Hashable = None


@dataclass
class _Engine:
    backend: Backend
    pool: ThreadPoolExecutor
    idle: list[Session] = field(default_factory=list)
    all: list[Session] = field(default_factory=list)
    turns: threading.Condition = field(default_factory=threading.Condition)
    running: int = 0
    is_taken: bool = False  # by one statement that runs alone

    @contextmanager
    def session(self, is_alone: bool = False) -> Iterator[Session]:
        """A session for one statement; alone: while no other runs, and nothing goes on that one has left behind."""
        with self.turns:
            self.turns.wait_for(lambda: not self.is_taken)
            if is_alone:
                self.is_taken = True
                self.turns.wait_for(lambda: not self.running)
            self.running += 1
        try:
            if is_alone:
                for other in self.all:
                    other.settle()
            try:
                session = self.idle.pop()
            except IndexError:
                session = self.backend.session()
                self.all.append(session)
            try:
                yield session
            finally:
                self.idle.append(session)
        finally:
            with self.turns:
                self.running -= 1
                self.is_taken = self.is_taken and not is_alone
                self.turns.notify_all()


class Executor:
    """Engines, started and stopped with the `with` block; run_many may be called any number of times inside.

    versions: engine -> its own version string. unavailable: engine -> why it cannot be used, from the start or since it
    failed for good. unprepared: (engine, db_id) -> why the database is not in the engine. Statements for either get no
    execution. unstored: why a result could not be cached, None if all were; such results have no key.
    """

    def __init__(self, engines: Iterable[str], limits: Limits | None = None, sessions: int | None = None):
        """sessions: statements run at once on each engine; the processors available by default."""
        self.names, self.limits = tuple(dict.fromkeys(engines)), limits or Limits()
        self.sessions = sessions or os.cpu_count() or 1
        self.versions: dict[str, str] = {}
        self.unavailable: dict[str, str] = {}
        self.unprepared: dict[tuple[str, str], str] = {}
        self.unstored: str | None = None
        self._engines: dict[str, _Engine] = {}
        self._timeouts: dict[str, Execution] = {}  # not stored, but not waited for twice either
        self._is_ending = False

    def __enter__(self) -> Self:
        try:
            for name in self.names:
                self._start(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._is_ending = True
        for engine in self._engines.values():
            busy = [session for session in engine.all if session not in engine.idle]
            for session in busy:
                session.interrupt()
            engine.pool.shutdown(wait=True, cancel_futures=True)
            for session in engine.all:
                session.close()
            engine.backend.stop()
        self._engines.clear()

    def run_many(self, statements: Iterable[Statement]) -> Iterator[tuple[Statement, Execution]]:
        """Run statements, yielding each with its outcome as it ends. Equal ones (but for their tags) run once."""
        stream = iter(statements)
        contents: dict[tuple, str] = {}  # a database's files are looked at once a call
        is_more = True
        waiting: dict[str, list[Statement]] = {}
        results: queue.Queue = queue.Queue(maxsize=2 * self.sessions)
        stop = threading.Event()
        try:
            while True:
                while is_more and len(waiting) < IN_FLIGHT:
                    statement = next(stream, None)
                    if statement is None:
                        is_more = False
                    elif (key := self._key(statement, contents)) in waiting:
                        waiting[key].append(statement)
                    elif key is not None:
                        waiting[key] = [statement]
                        self._engines[statement.engine].pool.submit(self._work, key, statement, results, stop)
                if not waiting:
                    return
                key, execution, error = results.get()
                if error is not None:
                    raise error
                for statement in waiting.pop(key):
                    if execution is not None:
                        yield statement, execution
        finally:
            stop.set()

    def _start(self, name: str) -> None:
        backend = get_backend(name)
        try:
            with disk.explained(name, backend.folder(), EngineError):
                backend.start()
                self.versions[name] = backend.version()
        except EngineError as error:
            self.unavailable[name] = str(error)
            return
        self._engines[name] = _Engine(backend, ThreadPoolExecutor(self.sessions, thread_name_prefix=name))

    def _key(self, statement: Statement, known: dict[tuple, str]) -> str | None:
        """What the outcome depends on, hashed; None if there can be none. known: contents of databases so far."""
        name = statement.engine
        if name in self.unavailable or (name, statement.db_id) in self.unprepared:
            return None
        if name not in self._engines:
            raise EngineError(f"not among the started engines: {', '.join(self._engines)}", where=name)
        database = name, statement.db_id, statement.sqlite_path
        try:
            if database not in known:
                known[database] = self._contents(statement)
        except (MigrationError, BenchmarkError) as error:
            self.unprepared[name, statement.db_id] = str(error)
            return None
        return content_hash(FORMAT, name, self.versions[name], known[database], statement.sql, asdict(self.limits))

    def _contents(self, statement: Statement) -> str:
        from workbench import migrate

        if self._engines[statement.engine].backend.reads_in_place:
            return database_hash(statement.sqlite_path)
        return migrate.database_name(paths.real(statement.sqlite_path), statement.db_id)

    def _work(self, key: str, statement: Statement, results: queue.Queue, stop: threading.Event) -> None:
        """One statement's way in its thread: exactly one answer into the queue, unless nobody waits any more."""
        execution = failure = None
        if not (stop.is_set() or self._is_ending):
            try:
                execution = self._execute(key, statement)
            except Exception as error:  # noqa: BLE001 raised again by run_many, in the caller's thread
                failure = error
        while not (stop.is_set() or self._is_ending):
            try:
                return results.put((key, execution, failure), timeout=0.1)
            except queue.Full:
                continue

    def _execute(self, key: str, statement: Statement) -> Execution | None:
        stopped = self._stopped(statement)  # before what is stored, which another gate may have let through
        if stopped is not None:
            return stopped
        stored = load(key) or self._timeouts.get(key)
        if stored is not None:
            return stored
        execution = self._run(statement)
        if execution is None:
            return None
        kill_point("result-before-flush")
        if execution.status == "timeout" and not self._is_ending:
            self._timeouts[key] = replace(execution, is_cached=True)
        if execution.status in NOT_STORED:
            return execution
        reason = _store(key, execution)
        if reason is not None:
            self.unstored = self.unstored or reason
            return execution
        return replace(execution, key=key)

    def run_now(self, statement: Statement) -> Execution | None:
        """Run one statement in this thread, whatever is stored, and store nothing; None where it cannot be run."""
        return self._stopped(statement) or self._run(statement)

    def _stopped(self, statement: Statement) -> Execution | None:
        """The outcome of a statement that the gate does not let through."""
        verdict = examine(statement.sql, BACKENDS[statement.engine].dialect)
        return Execution(verdict[0], message=verdict[1]) if verdict is not None else None

    def _run(self, statement: Statement) -> Execution | None:
        from workbench.migrate import ensure_database

        name = statement.engine
        if name in self.unavailable:
            return None
        engine = self._engines[name]
        try:
            with disk.explained(name, engine.backend.folder(), EngineError, statement.db_id):
                database = ensure_database(engine.backend, statement.sqlite_path, statement.db_id)
                execution = self._run_in(engine, database, statement.sql)
                # A shared server may have died of another's statement: once more, and nothing else at the same time.
                if execution is not None and execution.status == "crashed" and engine.backend.is_running() is not None:
                    execution = self._run_in(engine, database, statement.sql, is_alone=True)
                return execution
        except EngineError as error:
            self.unavailable.setdefault(name, str(error))
        except (MigrationError, BenchmarkError) as error:
            self.unprepared[name, statement.db_id] = str(error)
        return None

    def _run_in(self, engine: _Engine, database: str, sql: str, is_alone: bool = False) -> Execution | None:
        """One statement in a session of its engine; what Python stumbles over on the way is the statement's outcome."""
        with engine.session(is_alone) as session:
            if self._is_ending:
                return None
            try:
                return session.run(database, sql, self.limits)
            except HOSTILE as error:
                session.close()  # nobody knows how far it was
                return Execution("runtime_error", message=without_paths(f"{type(error).__name__}: {error}"))


def _file(key: str) -> Path:
    return paths.cache_path("executions", key[:2], f"{key}.arrow")


def load(key: str) -> Execution | None:
    """A stored outcome; None if there is none or it is damaged."""
    try:
        data = _file(key).read_bytes()
    except FileNotFoundError:
        return None
    body, digest = data[:-32], data[-32:]
    if hashlib.sha256(body).digest() != digest:
        return None
    with pa.ipc.open_stream(body) as reader:
        about = json.loads(reader.schema.metadata[DESCRIPTION])
    table = ResultTable.from_bytes(body) if about["status"] == "ok" else None
    return Execution(**about, table=table, key=key, is_cached=True)


def _store(key: str, execution: Execution) -> str | None:
    """Keep an outcome: an Arrow stream that says in its metadata what happened, and its SHA-256 behind it.

    Why it could not be kept, None if it was.
    """
    about = {name: getattr(execution, name) for name in ("status", "message", "seconds")}
    table = execution.table or ResultTable.from_rows((), ())
    body = table.to_bytes({DESCRIPTION: json.dumps(about).encode()})
    return write_cached(_file(key), body + hashlib.sha256(body).digest())
