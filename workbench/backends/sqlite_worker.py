"""The process that SQLite statements run in. Run by path, standard library only: it starts in some 40 ms.

It talks as worker_session.py says, a database being a file's path and an error SQLite's own name of it. Walls: the file is opened read-only, an authorizer admits nothing but reading, lengths and memory are
limited, no file can be written, and an alarm ends the process should a single step outlast the limit with the parent
dead.
"""

import marshal
import os
import resource
import signal
import sqlite3
import sys
import time
from urllib.parse import quote

STEPS = 100_000  # virtual machine steps between two looks at the clock: about 10 ms
CACHE = 32  # which part of the memory holds pages of the file for the next statement: SQLite's own 2 MB hold few tables
CHUNK, CHUNK_BYTES = 1_000, 2**20  # most rows per message, and about how many bytes
ALARM_MARGIN = 2  # seconds after the limit; the parent kills at half a second
VALUE_BYTES = 50_000_000  # longest single value: one scalar call cannot be interrupted, so it must be short
ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
ALLOWED_PRAGMAS = {
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
}
TABLE_FUNCTIONS = ("json_each", "json_tree", *(f"pragma_{name}" for name in sorted(ALLOWED_PRAGMAS)))
DENIED_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}

parent = os.getppid()
opened: dict = {}  # the last file's key -> its connection


def authorize(action: int, first: str | None, second: str | None, database: str | None, source: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and second in DENIED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    if action in ALLOWED or (action == sqlite3.SQLITE_PRAGMA and first in ALLOWED_PRAGMAS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def connection(path: str, memory: int) -> sqlite3.Connection:
    """The file opened for reading, again if it has been replaced."""
    found = os.stat(path)
    key = (path, found.st_ino, found.st_size, found.st_mtime_ns)
    if key not in opened:
        while opened:
            opened.popitem()[1].close()
        # Immutable spares the locks and the shared-memory file; with a journal at its side the file is not complete.
        journals = (path + suffix for suffix in ("-wal", "-journal"))
        is_whole = not any(os.path.exists(journal) and os.path.getsize(journal) for journal in journals)
        uri = f"file:{quote(path)}?mode=ro" + ("&immutable=1" if is_whole else "")
        new = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        for pragma in ("query_only=1", "temp_store=2", "trusted_schema=0", f"cache_size=-{memory // CACHE // 1024}"):
            new.execute(f"PRAGMA {pragma}")
        new.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        new.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
        warm_up(new)
        new.set_authorizer(authorize)
        opened[key] = new
    return opened[key]


def warm_up(database: sqlite3.Connection) -> None:
    """Use the table functions once: SQLite declares each by writing to its own schema, which is not allowed later."""
    for name in TABLE_FUNCTIONS:
        try:
            database.execute(f"SELECT 1 FROM {name}('[]') LIMIT 0")
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):  # a SQLite built without it
                raise


def size(rows: list) -> int:
    """Bytes of the values; a number counts 8."""
    return sum(len(value) if type(value) in (str, bytes) else 8 for row in rows for value in row)


def send(*value: object) -> None:
    data = marshal.dumps(value)
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
    sys.stdout.buffer.flush()


def answer(path: str, sql: str, seconds: float, row_limit: int, byte_limit: int, memory: int) -> tuple:
    """Run one statement, sending its rows; the final message."""
    try:
        database = connection(path, memory)
    except (OSError, sqlite3.Error) as error:
        return "unreadable", str(error), None, None
    resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(byte_limit, VALUE_BYTES))
    deadline = time.monotonic() + seconds
    database.set_progress_handler(lambda: time.monotonic() > deadline or os.getppid() != parent, STEPS)
    rows = fetched = 0
    spent, started = 0.0, time.perf_counter()
    columns = cursor = None
    try:
        cursor = database.execute(sql)
        if cursor.description is None:
            return "SQLITE_EMPTY", "not a query", None, None
        columns = [entry[0] for entry in cursor.description]
        while chunk := cursor.fetchmany(min(CHUNK, max(1, CHUNK_BYTES * rows // (fetched + 1))) if rows else 1):
            rows, fetched = rows + len(chunk), fetched + size(chunk)
            if rows > row_limit or fetched > byte_limit:
                unit = f"{row_limit} rows" if rows > row_limit else f"{byte_limit} bytes"
                return "too_large", f"the result has more than {unit}", None, None
            if time.monotonic() > deadline:
                return "timeout", None, None, None
            spent += time.perf_counter() - started  # sending is not the engine's time
            send("rows", chunk, False)
            started = time.perf_counter()
        return None, None, columns, spent + time.perf_counter() - started
    except MemoryError:
        return "too_large", "out of memory", None, None
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if name == "SQLITE_INTERRUPT":
            return "timeout", None, None, None
        return name, str(error), None, None
    except (sqlite3.Warning, ValueError) as error:  # two statements (before Python 3.12); a NUL or a lone surrogate
        return type(error).__name__, str(error), None, None
    finally:
        if cursor is not None:
            cursor.close()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    send("ready")
    while header := sys.stdin.buffer.read(8):
        request = marshal.loads(sys.stdin.buffer.read(int.from_bytes(header, "little")))
        signal.setitimer(signal.ITIMER_REAL, request[2] + ALARM_MARGIN)  # its default action ends the process
        started = time.perf_counter()
        error, message, columns, seconds = answer(*request)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send("done", error, message, columns, time.perf_counter() - started if seconds is None else seconds)


if __name__ == "__main__":
    main()
