"""The process that statements on embedded ClickHouse run in. Run by path with one argument, JSON: `site` (where the
package chdb lies), folder, scratch (the name of its private folder in folder/scratch), ways of confine.py (all). It
talks as worker_session.py says; each request ends with the settings of the statement.

Each statement has a connection of its own, which is then thrown away (below a millisecond): chdb 4.4 puts what a failed
query had written in front of the next result of its session. Walls: confine.py, a readonly session without DDL,
limits on time and memory in the engine and on the process, and an alarm that ends the process should a statement
outlast the limit with the parent dead.
"""

import json
import os
import sys

options = json.loads(sys.argv[1])
sys.path.append(options["site"])
sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # last: files there are named like packages
import confine

SCRATCH = os.path.join("scratch", options["scratch"])
WRITABLE = os.path.join(options["folder"], SCRATCH)
LIBRARIES = confine.libraries(options["site"], "chdb", "chdb_core.libs")
WAY = confine.before_import(options["folder"], WRITABLE, LIBRARIES, options.get("ways", confine.WAYS))

import contextlib
import marshal
import re
import resource
import shutil
import signal
import time

sys.modules |= {"pyarrow": None, "pandas": None, "polars": None, "numpy": None}  # not needed, and out of sight later
import chdb.state
import clickhouse_values
import wire

MAIN = "main"  # the database in every copy's folder
ALARM_MARGIN = 2  # seconds after the limit; the parent kills at half a second
ADDRESSES = 12 * 2**30  # bytes of address space beyond the memory limit: the library, threads, allocators' reserves
FILE_BYTES = 64 * 2**20  # longest file in the private folder
CODE = re.compile(r"Code: (\d+)\. ")
PREFIX = re.compile(r"^(?:Streaming query failed: |Code: \d+\. DB::(?:Errno)?Exception: |DB::Exception: )+")
SUFFIX = re.compile(r",? (?:Stack trace|\(version ).*", re.DOTALL)
RESULT_ROWS = 8_192  # rows of a block, so about of a message
WRONG_FORMAT = "its result is not in the format asked for"
opened: dict = {}  # the last copy's key -> the connection that keeps it open


def open_copy(root: str, name: str) -> str:
    """Let the private folder be the copy, its data read where they lie; the folder's path."""
    source = os.path.join(root, "copies", name)
    key = (name, os.stat(source).st_ino)
    private = os.path.join(root, SCRATCH, "data")
    if key not in opened:
        while opened:
            opened.popitem()[1].close()
        shutil.rmtree(private, ignore_errors=True)
        os.makedirs(os.path.join(private, "store"))
        os.makedirs(os.path.join(private, "metadata"))
        shutil.copyfile(f"{source}/metadata/{MAIN}.sql", f"{private}/metadata/{MAIN}.sql")
        os.symlink(os.readlink(f"{source}/metadata/{MAIN}"), f"{private}/metadata/{MAIN}")
        for part in os.listdir(f"{source}/store"):
            os.symlink(f"../../../../copies/{name}/store/{part}", f"{private}/store/{part}")
        keeper = chdb.connect(private)
        keeper.query("SYSTEM STOP MERGES")
        opened[key] = keeper
    return private


def send(*value: object) -> None:
    data = marshal.dumps(value)
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
    sys.stdout.buffer.flush()


def answer(root, name, sql, seconds, row_limit, byte_limit, memory, settings) -> tuple:
    """Run one statement, sending its rows; the final message."""
    try:
        private = open_copy(root, name)
    except (OSError, chdb.ChdbError, RuntimeError) as error:
        return "unreadable", words(error), None, None
    resource.setrlimit(resource.RLIMIT_AS, (memory + ADDRESSES, resource.RLIM_INFINITY))
    own = {
        **clickhouse_values.SETTINGS,
        **settings,
        "max_execution_time": max(seconds, 0.001),
        "max_memory_usage": memory,
        "max_block_size": RESULT_ROWS,
        "max_threads": 1,  # with more, ties and rows of no order come in another order each time
        "use_hash_table_stats_for_join_reordering": 0,  # what ran before would decide on the order
        "max_bytes_ratio_before_external_group_by": 0,  # nothing goes to the disk
        "max_bytes_ratio_before_external_sort": 0,
        "allow_introspection_functions": 0,
        "allow_ddl": 0,
        "readonly": 1,
    }
    deadline = time.monotonic() + seconds
    rows = fetched = 0
    columns = None
    with contextlib.closing(chdb.connect(private)) as connection:
        connection.query(f"USE {MAIN}")
        connection.query("SET " + ", ".join(f"{key} = {value}" for key, value in own.items()))
        spent, started = 0.0, time.perf_counter()
        try:
            if b"\0" in sql.encode():
                return "62", "the query contains a null character", None, None
            stream = connection.send_query(sql, clickhouse_values.FORMAT)
            while (part := stream.fetch()) is not None and (chunk := part.bytes()):
                found = wire.take_over(clickhouse_values.read, chunk)
                if found is None:
                    return "refused", WRONG_FORMAT, None, None
                columns, new = columns or found[0], found[1]
                rows, fetched = rows + len(new), fetched + wire.take_over(wire.size, new)
                if rows > row_limit or fetched > byte_limit:
                    unit = f"{row_limit} rows" if rows > row_limit else f"{byte_limit} bytes"
                    return "too_large", f"the result has more than {unit}", None, None
                if time.monotonic() > deadline:
                    return "timeout", None, None, None
                spent += time.perf_counter() - started  # sending is not the engine's time
                send("rows", *wire.pack_rows(new))
                started = time.perf_counter()
            if columns is None:  # without rows a stream has no head
                head = connection.query(sql, clickhouse_values.FORMAT).bytes()
                found = clickhouse_values.read(head)
                if found is None:
                    return "refused", WRONG_FORMAT, None, None
                columns = found[0]
            return None, None, columns, spent + time.perf_counter() - started
        except MemoryError:
            return "too_large", "out of memory", None, None
        except wire.UnfitValue as error:
            return error.status, str(error), None, None
        except (chdb.ChdbError, RuntimeError, UnicodeDecodeError) as error:
            code = CODE.search(said(error))
            return code[1] if code else "", words(error), None, None
        except UnicodeEncodeError as error:  # a lone surrogate
            return "62", str(error), None, None


def said(error: Exception) -> str:
    """An error as the engine has put it: where it quotes bytes that are no UTF-8, chdb raises its decoder's complaint."""
    lost = error if isinstance(error, UnicodeDecodeError) else error.__cause__
    return lost.object.decode(errors="replace") if isinstance(lost, UnicodeDecodeError) else str(error)


def words(error: Exception) -> str:
    return PREFIX.sub("", SUFFIX.sub("", said(error)[: wire.LONGEST_MESSAGE]))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    way, root = confine.after_import(WAY, options["folder"])
    os.environ["TMPDIR"] = os.path.join(root, SCRATCH)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    send("ready", way, chdb.engine_version)
    while header := sys.stdin.buffer.read(8):
        name, *rest = marshal.loads(sys.stdin.buffer.read(int.from_bytes(header, "little")))
        signal.setitimer(signal.ITIMER_REAL, rest[1] + ALARM_MARGIN)  # its default action ends the process
        started = time.perf_counter()
        error, message, columns, seconds = answer(root, os.path.basename(name), *rest)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send("done", error, message, columns, time.perf_counter() - started if seconds is None else seconds)


if __name__ == "__main__":
    main()
