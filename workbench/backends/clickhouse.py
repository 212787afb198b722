"""ClickHouse: embedded, from the wheel `chdb`, or a server named by WORKBENCH_CLICKHOUSE_DSN (clickhouse_server.py).

Embedded, each copied database is one data folder of the cache. A folder opens in one process at a time, so no worker
opens it: each has a folder of its own, a few kilobytes, whose data are links into the copies. MergeTree never writes
to a part that is complete, so any number of workers of any number of runs read one copy at once, and none of them
may write to it. All statements of a copy run in its database `main`.

The engine itself is no wall: in a readonly session INTO OUTFILE still writes and file() still reads. Where a worker
cannot be confined (confine.py) statements are refused, unless WORKBENCH_TRUST_SQL=1 says that all SQL is trusted.
"""

import contextlib
import fcntl
import importlib.metadata
import importlib.util
import json
import os
import secrets
import shutil
import stat
import threading
from pathlib import Path

from workbench import paths
from workbench.backends import clickhouse_server as server
from workbench.backends.base import Backend, Session
from workbench.backends.clickhouse_errors import status_of
from workbench.backends.confine import NONE, UNPRIVILEGED
from workbench.backends.seal import is_whole, seal
from workbench.backends.worker import Worker, WorkerGone, begin
from workbench.backends.worker_session import WorkerSession
from workbench.errors import EngineError

SCRIPT = Path(__file__).with_name("clickhouse_worker.py")
LOAD_SCRIPT = Path(__file__).with_name("clickhouse_load_worker.py")
TRUST_VARIABLE = "WORKBENCH_TRUST_SQL"
# What every statement runs under, predicted SQL as it is too: ClickHouse's own defaults here are no other dialect but
# other answers than the question's author, or any model that writes standard SQL, expects. Part of the version string.
SEMANTICS = {
    "join_use_nulls": 1,  # an outer join without a match gives NULL, not 0 or ''
    "aggregate_functions_null_for_empty": 1,  # SUM of nothing is NULL, not 0
    "prefer_column_name_to_alias": 1,  # in WHERE and GROUP BY a name is the column where there is one
}


class ClickHouseBackend(Backend):
    """The embedded engine, or a server."""

    name = "clickhouse"
    dialect = "clickhouse"
    how_to_get = "pip install chdb"

    def __init__(self):
        self._loading: dict[str, tuple[Worker, int]] = {}  # working name -> its one process, how many use it
        self._lock = threading.Lock()
        self._version: str | None = None

    def find(self) -> str | None:
        if server.dsn():
            is_there = importlib.util.find_spec("clickhouse_connect") is not None
            return f"server at {server.place()}" if is_there else None
        if importlib.util.find_spec("chdb") is None:
            return None
        return f"embedded (chdb {importlib.metadata.version('chdb')})"

    def folder(self) -> Path | None:
        return None if server.dsn() else paths.cache_path("engines", self.name)

    def start(self) -> None:
        if self.find() is None:
            hint = "pip install clickhouse-connect" if server.dsn() else self.how_to_get
            raise EngineError("not installed", where=self.name, hint=hint)
        if server.dsn():
            self._version = server.command("SELECT version()", server.CONNECT_WAIT)
        elif self._version is None:
            _tidy()

    def version(self) -> str:
        """The engine's version and the settings that change what a statement means."""
        if self._version is None:
            with self._lock, private_folder() as scratch:
                worker = begin(lambda: start_worker(scratch), self.name)
                self._version = worker.greeting[2]
                worker.kill()
        settings = ", ".join(f"{name}={value}" for name, value in SEMANTICS.items())
        return f"{self._version} ({settings})"

    def has(self, database: str) -> bool:
        return server.has(database) if server.dsn() else is_whole(self.name, database, self.path(database))

    def create(self, database: str) -> str:
        if server.dsn():
            working = f"{database}__loading"
            self.drop(working)
            server.command(f"CREATE DATABASE {working} ENGINE = Atomic")
            return working
        for remains in copies().glob(f"{database}.loading-*"):
            _remove(remains)
        working = f"{database}.loading-{secrets.token_hex(4)}"
        self.path(working).mkdir(mode=0o755)
        return working

    def publish(self, working: str, database: str) -> None:
        if server.dsn():
            self.drop(database)
            server.command(f"RENAME DATABASE {working} TO {database}")
            return
        _protect(self.path(working))
        seal(self.name, database, self.path(working))
        self.drop(database)
        self.path(working).rename(self.path(database))

    def drop(self, database: str) -> None:
        if server.dsn():
            server.command(f"DROP DATABASE IF EXISTS {database} SYNC")
            return
        with self._lock:
            worker, _ = self._loading.pop(database, (None, 0))
        if worker is not None:
            worker.kill()
        if self.path(database).exists():
            gone = copies() / f"gone-{secrets.token_hex(8)}"  # at once, while workers may still read it
            self.path(database).rename(gone)
            _remove(gone)

    def is_server(self) -> bool:
        return server.dsn() is not None

    def path(self, database: str) -> Path:
        """The data folder of a copy, or of one that is being made."""
        return copies() / database

    @contextlib.contextmanager
    def loading(self, database: str):
        """The one process that has a data folder open for its owner; the last user's leaving closes it.

        On a server: a connection that is asked in the same words.
        """
        if server.dsn():
            with contextlib.closing(server.ServerLoad(database)) as connection:
                yield connection
            return
        with self._lock:
            worker, users = self._loading.get(database, (None, 0))
            options = json.dumps({"site": site(), "folder": str(self.path(database))})
            worker = worker or begin(lambda: Worker(LOAD_SCRIPT, options), self.name)
            self._loading[database] = worker, users + 1
        try:
            yield worker
        finally:
            with self._lock:
                worker, users = self._loading.pop(database, (None, 0))
                if users > 1:
                    self._loading[database] = worker, users - 1
            if worker is not None and users == 1:
                with contextlib.suppress(WorkerGone, TimeoutError):
                    worker.close()
                worker.kill()

    def session(self) -> Session:
        return server.ServerSession(SEMANTICS) if server.dsn() else EmbeddedSession(self.name)


class EmbeddedSession(WorkerSession):
    """A worker with a private folder."""

    def __init__(self, engine: str):
        self._scratch: contextlib.ExitStack = contextlib.ExitStack()
        super().__init__(engine, self._begin, self._finish, status_of, [SEMANTICS])

    def _begin(self) -> Worker:
        folder = self._scratch.enter_context(private_folder())
        try:
            worker = start_worker(folder)
            if worker.greeting[1] == NONE and os.environ.get(TRUST_VARIABLE) != "1":
                worker.kill()
                raise EngineError(
                    "no process can be confined here, so SQL could read and write this account's files",
                    where=self._engine,
                    hint=f"--trust-sql or {TRUST_VARIABLE}=1 runs it all the same",
                )
        except BaseException:
            self._scratch.close()
            raise
        return worker

    def _finish(self, worker: Worker) -> None:
        worker.kill()
        self._scratch.close()


def folder() -> Path:
    """All that a worker sees: copies/ and scratch/."""
    found = paths.cache_dir("engines", "clickhouse")
    found.chmod(0o755)  # a worker is another user
    return found


def copies() -> Path:
    return paths.cache_dir("engines", "clickhouse", "copies")


def site() -> str:
    """The folder that holds the package chdb."""
    return str(Path(importlib.util.find_spec("chdb").origin).parents[1])


@contextlib.contextmanager
def private_folder():
    """A new folder that one worker may write to; its lock tells others that it is in use."""
    base = paths.cache_dir("engines", "clickhouse", "scratch")
    name = secrets.token_hex(8)
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (base / name).mkdir(mode=0o755)
        if os.geteuid() == 0:
            os.chown(base / name, UNPRIVILEGED, UNPRIVILEGED)
        try:
            yield base / name
        finally:
            _remove(base / name)
            (base / f"{name}.lock").unlink(missing_ok=True)


def start_worker(scratch: Path, **more) -> Worker:
    options = {"site": site(), "folder": str(folder()), "scratch": scratch.name, **more}
    return Worker(SCRIPT, json.dumps(options), environment={"TZ": "UTC", "TMPDIR": str(scratch)})


def _tidy() -> None:
    """Remove private folders whose owner was killed, and copies that were being removed."""
    for file in paths.cache_dir("engines", "clickhouse", "scratch").glob("*.lock"):
        try:
            with open(file) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(file.with_suffix(""))
                file.unlink(missing_ok=True)
        except (BlockingIOError, FileNotFoundError):
            continue
    for gone in copies().glob("gone-*"):
        _remove(gone)


def _remove(tree: Path) -> None:
    """Remove a folder that a dying process may still be writing to."""
    for _ in range(3):
        shutil.rmtree(tree, ignore_errors=True)
        if not tree.exists():
            return


def _protect(tree: Path) -> None:
    """Everybody may read all of it, nobody writes to its files."""
    for parent, _, files in os.walk(tree):
        os.chmod(parent, 0o755)
        for file in files:
            path = os.path.join(parent, file)
            if not stat.S_ISLNK(os.lstat(path).st_mode):
                os.chmod(path, 0o444)
