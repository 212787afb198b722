"""SQLite, from Python's own library, each session in a worker process; the benchmark's file is read in place.

A database's handle is the path of its file. Kinds of errors are told from SQLite's messages: it has one code for all.
"""

import re
import sqlite3
from pathlib import Path

from workbench.backends.base import Backend, Session
from workbench.backends.worker import Worker
from workbench.backends.worker_session import WorkerSession

SCRIPT = Path(__file__).with_name("sqlite_worker.py")

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
        return WorkerSession(self.name, lambda: Worker(SCRIPT), Worker.kill, status_of)


def status_of(error: str, message: str) -> str:
    """The kind of a SQLite error by its message."""
    return next((status for status, pattern in MESSAGES if re.search(pattern, message)), "runtime_error")
