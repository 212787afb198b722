"""The process that DuckDB statements run in. Run by path with one argument, JSON: folder of the copies, `site` (where
the package duckdb lies), threads, ways of confine.py (all). It talks as worker_session.py says.

Walls: the file is opened read-only, external access is off and the configuration locked, one SELECT at a time, nothing
but the folder is seen (confine.py), memory is limited, and an alarm ends the process should a statement outlast the
limit with the parent dead.
"""

import importlib.metadata
import json
import os
import sys

options = json.loads(sys.argv[1])
sys.path.append(options["site"])
sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # last: a file there is called duckdb.py too
import confine

importlib.metadata.version("duckdb")  # DuckDB asks for it when imported; the folder is listed now, and that remembered
LIBRARIES = confine.libraries(options["site"], "duckdb*", "_duckdb*")
WAY = confine.before_import(options["folder"], None, LIBRARIES, options.get("ways", confine.WAYS))

import contextlib
import datetime  # noqa: F401 DuckDB makes values of these
import decimal  # noqa: F401
import marshal
import re
import resource
import signal
import threading
import time
import uuid  # noqa: F401
import zoneinfo

sys.modules |= {"pyarrow": None, "pandas": None, "polars": None, "numpy": None}  # not needed, and out of sight later
import duckdb
import wire

CHUNK, CHUNK_BYTES = 2_000, 2**20  # most rows per message, and about how many bytes
ALARM_MARGIN = 2  # seconds after the limit; the parent kills at half a second
ADDRESSES = 8 * 2**30  # bytes of address space beyond the memory limit: libraries, threads, allocators' reserves
MORE = re.compile(r"\n\n(?:LINE |Stack Trace)")  # what follows an error's words: the place in the SQL, addresses
SETTINGS = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "threads": options["threads"],
}
parent = os.getppid()
opened: dict = {}  # the last file's key -> its connection


def connection(path: str, memory: int) -> duckdb.DuckDBPyConnection:
    """The file opened for reading, again if it has been replaced or the limit is another."""
    found = os.stat(path)
    key = (path, found.st_ino, found.st_mtime_ns, memory)
    if key not in opened:
        while opened:
            opened.popitem()[1].close()
        new = duckdb.connect(path, read_only=True, config=SETTINGS)
        new.execute("SET TimeZone = 'UTC'")
        new.execute(f"SET memory_limit = '{memory}B'")
        new.execute("SET lock_configuration = true")
        resource.setrlimit(resource.RLIMIT_AS, (memory + ADDRESSES, resource.RLIM_INFINITY))
        opened[key] = new
    return opened[key]


def send(*value: object) -> None:
    data = marshal.dumps(value)
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
    sys.stdout.buffer.flush()


def answer(path: str, sql: str, seconds: float, row_limit: int, byte_limit: int, memory: int) -> tuple:
    """Run one statement, sending its rows; the final message."""
    try:
        database = connection(path, memory)
    except (OSError, duckdb.Error) as error:
        return "unreadable", str(error), None, None
    cursor = database.cursor()
    clock = threading.Timer(seconds, cursor.interrupt)
    clock.daemon = True
    clock.start()
    deadline = time.monotonic() + seconds
    rows = fetched = 0
    spent, started = 0.0, time.perf_counter()
    try:
        if b"\0" in sql.encode():
            return "ParserException", "the query contains a null character", None, None
        statements = cursor.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            return ("NotASelect" if statements else "ParserException"), "not a query, or more than one", None, None
        cursor.execute(statements[0])
        columns = [entry[0] for entry in cursor.description]
        while chunk := cursor.fetchmany(min(CHUNK, max(1, CHUNK_BYTES * rows // (fetched + 1))) if rows else 1):
            rows, fetched = rows + len(chunk), fetched + wire.size(chunk)
            if rows > row_limit or fetched > byte_limit:
                unit = f"{row_limit} rows" if rows > row_limit else f"{byte_limit} bytes"
                return "too_large", f"the result has more than {unit}", None, None
            if time.monotonic() > deadline:
                return "timeout", None, None, None
            spent += time.perf_counter() - started  # sending is not the engine's time
            send("rows", *wire.pack_rows(chunk))
            started = time.perf_counter()
        return None, None, columns, spent + time.perf_counter() - started
    except (duckdb.Error, UnicodeEncodeError) as error:  # a lone surrogate
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            opened.popitem()[1].close()  # it answers nothing more
        words = MORE.split(str(error)[: wire.LONGEST_MESSAGE])[0]
        return type(error).__name__, words, None, None
    except Exception as error:  # noqa: BLE001 of values that Python has no place for
        found = wire.unfit(error)
        return found.status, str(found), None, None
    finally:
        clock.cancel()
        cursor.close()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    with contextlib.suppress(zoneinfo.ZoneInfoNotFoundError):  # a system without time zones
        zoneinfo.ZoneInfo("UTC"), zoneinfo.ZoneInfo("Etc/UTC")  # read before the files are out of sight
    duckdb.connect(":memory:").execute("SELECT now(), 1.5, uuid(), DATE '2020-01-01', INTERVAL 1 DAY").fetchall()
    way, root = confine.after_import(WAY, options["folder"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    send("ready", way)
    while header := sys.stdin.buffer.read(8):
        name, *rest = marshal.loads(sys.stdin.buffer.read(int.from_bytes(header, "little")))
        signal.setitimer(signal.ITIMER_REAL, rest[1] + ALARM_MARGIN)  # its default action ends the process
        started = time.perf_counter()
        path = os.path.join(root, os.path.basename(name) + ".duckdb")
        error, message, columns, seconds = answer(path, *rest)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send("done", error, message, columns, time.perf_counter() - started if seconds is None else seconds)


if __name__ == "__main__":
    main()
