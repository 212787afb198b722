"""What every database engine offers, and the vocabulary of outcomes.

A Backend is one engine: it can be started, told to hold a copy of a database, and opened for sessions. A Session
runs one statement at a time under limits, enforced by the caller's clock, and can always be ended from outside.
Engines that live in our process or a library (SQLite, chdb, DuckDB) run in worker processes, servers are reached by
connections used from threads; callers see no difference.
"""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from workbench import paths
from workbench.backends.wire import LONGEST_MESSAGE
from workbench.errors import ConfigError
from workbench.result_table import ResultTable

STATUSES = (
    "ok",
    "refused",
    "syntax_error",
    "name_error",
    "type_error",
    "runtime_error",
    "timeout",
    "too_large",
    "crashed",
)

LEAST_MEMORY = 2**20  # below it SELECT 1 fails on ClickHouse 26.9; who writes 512 means megabytes


@dataclass(frozen=True)
class Limits:
    """Limits of one statement. A result over `rows` or `bytes` is `too_large`, never cut."""

    seconds: float = 30.0
    rows: int = 1_000_000
    bytes: int = 256 * 2**20  # of the fetched values
    # Bytes, of the process that runs a statement on SQLite, DuckDB and ClickHouse; what an engine does not count itself is
    # held from outside, with some slack (worker.py). The servers cannot be told it for one
    # statement: the embedded ones hold to a fixed cap (PostgreSQL 3 GiB a process, MySQL 2 GiB a connection), a user's own
    # server to its settings.
    memory: int = 2 * 2**30

    def __post_init__(self) -> None:
        for name, most in {"seconds": 3600, "rows": 10**12, "bytes": 2**50, "memory": 2**50}.items():
            value = getattr(self, name)
            if not 0 < value <= most:  # which nan is not either
                raise ConfigError(f"limit of {value} {name}", hint=f"over 0, at most {most}")
        if self.memory < LEAST_MEMORY:
            raise ConfigError(f"limit of {self.memory} memory", hint=f"in bytes, at least {LEAST_MEMORY}")


@dataclass(frozen=True)
class Execution:
    """One statement's outcome. status is one of STATUSES; table is there exactly when status is "ok".

    seconds: wall time of execute and fetch as seen by the session; making a table of the values is not in it, but it is
    under the limit of time as they are. message: the engine's words, without host paths.
    key: under which the executor has stored it, None if it has not; is_cached: whether it was found there.
    """

    status: str
    table: ResultTable | None = None
    message: str | None = None
    seconds: float | None = None
    key: str | None = None
    is_cached: bool = False


class Session:
    """One place where statements run, one at a time; used by one thread."""

    def run(self, database: str, sql: str, limits: Limits) -> Execution:
        """Run one SELECT on a loaded database. Never raises for what the statement does; returns within limit + 1 s.

        EngineError when the engine itself is gone and did not come back, BenchmarkError when the database cannot be read.
        """
        raise NotImplementedError

    def interrupt(self) -> None:
        """From another thread: let the statement that runs end soon, whatever its outcome."""
        raise NotImplementedError

    def settle(self) -> None:
        """Wait until nothing goes on in the engine that an ended statement of this session has left there."""

    def close(self) -> None:
        raise NotImplementedError


class Backend:
    """One engine. name: the engine's name in every table and option; dialect: sqlglot's name for its SQL.

    A copy of a database is made in three steps, so that it is there whole or not at all: `create` gives an empty
    database under a working name, the loader fills it, `publish` makes it readable under its final name.
    """

    name: ClassVar[str]
    dialect: ClassVar[str]
    how_to_get: ClassVar[str]  # one command that brings the engine where it is absent
    reads_in_place: ClassVar[bool] = (
        False  # whether sessions read the benchmark's own SQLite file, so nothing is copied
    )

    def find(self) -> str | None:
        """How the engine would be started here ("embedded ...", "server at ..."), None if it is absent."""
        raise NotImplementedError

    def folder(self) -> Path | None:
        """The place in the cache of all its data; None where it keeps none here: in place, or a user's server."""
        return None

    def start(self) -> None:
        """Make the engine usable by this process; a running embedded server is shared. EngineError if it cannot be."""

    def stop(self) -> None:
        """This process needs the engine no longer. The last user's stop ends an embedded server."""

    def pin(self, is_pinned: bool) -> None:
        """Keep an embedded server running without users, or no longer."""

    def is_running(self) -> bool | None:
        """Whether our embedded server is up, whoever started it; None for a library and for somebody else's server."""
        return None

    def version(self) -> str:
        """The engine's own version string, from the engine itself."""
        raise NotImplementedError

    def has(self, database: str) -> bool:
        """Whether a complete, proved copy of this name is there."""
        raise NotImplementedError

    def create(self, database: str) -> str:
        """Make an empty database to load `database` into; gives its working name. Remains of earlier tries go."""
        raise NotImplementedError

    def publish(self, working: str, database: str) -> None:
        """Let the reader in and give the loaded database its final name, in one step; an older one is replaced."""
        raise NotImplementedError

    def drop(self, database: str) -> None:
        """Remove a copy or a working database; nothing happens if it is not there."""
        raise NotImplementedError

    def session(self) -> Session:
        raise NotImplementedError


def without_paths(message: str) -> str:
    """An engine's message in one line of bounded length, each path of this host replaced by "<path>"."""
    text = " ".join(str(message)[:LONGEST_MESSAGE].split())
    roots = {str(paths.CHECKOUT), str(paths.root()), str(paths.cache_path()), str(Path.home())}
    roots |= {tempfile.gettempdir(), "/tmp", "/var/tmp"}
    for root in sorted(roots - {"/"}, key=len, reverse=True):
        text = re.sub(re.escape(root) + r"""(?:/[^\s"']*)?""", "<path>", text)
    return text
