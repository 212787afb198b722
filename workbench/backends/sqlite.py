"""SQLite, from Python's own library, each session in a worker process; the benchmark's file is read in place.

A database's handle is the path of its file. Kinds of errors are told from SQLite's messages: it has one code for all.
"""

import re
import sqlite3
import time
from pathlib import Path

from workbench.backends.base import Backend, Execution, Limits, Session, without_paths
from workbench.backends.worker import Worker, WorkerGone, begin
from workbench.errors import BenchmarkError
from workbench.result_table import ResultTable

SCRIPT = Path(__file__).with_name("sqlite_worker.py")
KILL_AFTER = 0.5  # seconds over the limit that a worker has to say so itself

# The first pattern found in a message decides; anything else is a runtime error.
MESSAGES = (
    ("refused", r"not authorized|authorization denied|prohibited|one statement at a time|attempt to write a readonly"),
    (
        "name_error",
        r"no such (table|column|function|module|collation|index|window)|ambiguous column|no tables specified",
    ),
    ("name_error", r"duplicate WITH table name|circular reference"),
    ("type_error", r"wrong number of arguments|datatype mismatch|row value misused|sub-select returns \d+ columns"),
    (
        "syntax_error",
        r"syntax error|incomplete input|unrecognized token|unterminated|null character|surrogates not allowed",
    ),
    (
        "syntax_error",
        r"do not have the same number of result columns|must have the same number of terms|has \d+ values for",
    ),
    (
        "syntax_error",
        r"misuse of|may not be used as a window|ORDER BY term|GROUP BY term|HAVING clause|aggregate functions are not allowed",
    ),
    ("syntax_error", r"(LIMIT|ORDER BY) clause should come|a JOIN clause is required|RIGHT and FULL|not a query"),
    ("too_large", r"string or blob too big|out of memory"),
)


class SQLiteBackend(Backend):
    """Python's own SQLite."""

    name = "sqlite"
    dialect = "sqlite"
    how_to_get = "it is part of Python"
    reads_in_place = True

    def find(self) -> str | None:
        return f"library (Python's sqlite3, SQLite {sqlite3.sqlite_version})"

    def version(self) -> str:
        return sqlite3.sqlite_version

    def has(self, database: str) -> bool:
        return Path(database).is_file()

    def session(self) -> Session:
        return SQLiteSession()


class SQLiteSession(Session):
    """One worker process, replaced when it had to be killed."""

    def __init__(self):
        self._worker: Worker | None = None

    def run(self, database: str, sql: str, limits: Limits) -> Execution:
        if self._worker is None:
            self._worker = begin(lambda: Worker(SCRIPT), "sqlite")
        started = time.monotonic()
        rows: list[tuple] = []
        try:
            self._worker.send([str(database), sql, limits.seconds, limits.rows, limits.bytes, limits.memory])
            deadline = started + limits.seconds + KILL_AFTER
            while (answer := self._worker.receive(deadline))[0] == "rows":
                rows += answer[1]
        except TimeoutError:
            self.close()
            return _timeout(limits, time.monotonic() - started)
        except WorkerGone as error:
            self.close()
            return Execution("crashed", message=str(error), seconds=time.monotonic() - started)
        except BaseException:
            self.close()  # its answer would be taken for the next statement's
            raise
        _, error, message, columns, seconds = answer
        if error is None:
            return Execution("ok", table=ResultTable.from_rows(columns, rows), seconds=seconds)
        if error == "timeout":
            return _timeout(limits, seconds)
        if error == "unreadable":
            raise BenchmarkError(without_paths(message), where=database)
        status = error if error == "too_large" else status_of(message)
        return Execution(status, message=without_paths(message), seconds=seconds)

    def interrupt(self) -> None:
        worker = self._worker
        if worker is not None:
            worker.end()

    def close(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def status_of(message: str) -> str:
    """The kind of a SQLite error message."""
    return next((status for status, pattern in MESSAGES if re.search(pattern, message)), "runtime_error")


def _timeout(limits: Limits, seconds: float) -> Execution:
    return Execution("timeout", message=f"longer than {limits.seconds:g} s", seconds=seconds)
