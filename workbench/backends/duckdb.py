"""DuckDB, from its Python package: one file for each copied database, each session in a worker process.

Copies lie in one folder of the cache and are read-only files. A worker sees that folder alone where the system allows
it (confine.py); DuckDB's own wall, which its settings lock, stands in any case.
"""

import importlib.metadata
import importlib.util
import json
import re
from pathlib import Path

from workbench import paths
from workbench.backends.base import Backend, Session
from workbench.backends.seal import is_whole, seal
from workbench.backends.worker import Worker
from workbench.backends.worker_session import WorkerSession
from workbench.errors import EngineError

SCRIPT = Path(__file__).with_name("duckdb_worker.py")
LOADING = "__loading"  # ends the name of a database that is being made
THREADS = 1  # of one statement: with more, ties and rows of no order come in another order each time

# DuckDB's exception, and the first pattern found in its message, decide; anything else is a runtime error.
ERRORS = (
    ("refused", "PermissionException|NotASelect", ""),
    ("refused", "InvalidInputException", "read-only mode|configuration has been locked"),
    ("syntax_error", "ParserException|SyntaxException|UnicodeEncodeError", ""),
    ("type_error", "CatalogException", "Type with name .* does not exist"),
    ("name_error", "CatalogException", ""),
    ("name_error", "BinderException", "not found|does not exist|Ambiguous reference|Duplicate alias|duplicate alias"),
    (
        "type_error",
        "BinderException",
        "No function matches|best candidate|Cannot compare|Cannot mix|Cannot combine|cast",
    ),
    ("syntax_error", "BinderException", ""),
    ("type_error", "ConversionException|TypeMismatchException", ""),
    ("timeout", "InterruptException", ""),
    ("too_large", "OutOfMemoryException", ""),
    ("too_large", "InternalException|FatalException", "Memory allocation failure"),
    ("crashed", "InternalException|FatalException|IOException|SerializationException", ""),
)


class DuckDBBackend(Backend):
    """One folder of DuckDB files."""

    name = "duckdb"
    dialect = "duckdb"
    how_to_get = "pip install duckdb"

    def find(self) -> str | None:
        if importlib.util.find_spec("duckdb") is None:
            return None
        return f"library (duckdb {importlib.metadata.version('duckdb')})"

    def folder(self) -> Path | None:
        return paths.cache_path("engines", self.name)

    def start(self) -> None:
        if self.find() is None:
            raise EngineError("not installed", where=self.name, hint=self.how_to_get)

    def version(self) -> str:
        import duckdb

        with duckdb.connect(":memory:") as connection:
            return connection.execute("SELECT version()").fetchone()[0].removeprefix("v")

    def has(self, database: str) -> bool:
        return is_whole(self.name, database, self.path(database))

    def create(self, database: str) -> str:
        import duckdb

        working = f"{database}{LOADING}"
        self.drop(working)
        duckdb.connect(str(self.path(working))).close()
        return working

    def publish(self, working: str, database: str) -> None:
        self.path(working).chmod(0o444)
        seal(self.name, database, self.path(working))
        self.path(working).replace(self.path(database))

    def drop(self, database: str) -> None:
        for file in (self.path(database), self.path(database).with_suffix(".duckdb.wal")):
            file.unlink(missing_ok=True)

    def path(self, database: str) -> Path:
        """The file of a copy, or of one that is being made."""
        return folder() / f"{database}.duckdb"

    def is_read_only(self, database: str) -> bool:
        return not database.endswith(LOADING)

    def session(self) -> Session:
        return WorkerSession(self.name, start_worker, Worker.kill, status_of)


def folder() -> Path:
    found = paths.cache_dir("engines", "duckdb")
    found.chmod(0o755)  # a worker is another user
    return found


def start_worker(**more) -> Worker:
    site = str(Path(importlib.util.find_spec("duckdb").origin).parents[1])
    return Worker(SCRIPT, json.dumps({"folder": str(folder()), "site": site, "threads": THREADS, **more}))


def status_of(error: str, message: str) -> str:
    """The kind of a DuckDB error by its exception's name and its message."""
    for status, kinds, pattern in ERRORS:
        if error in kinds.split("|") and re.search(pattern, message):
            return status
    return "runtime_error"
