"""ClickHouse as a server named by WORKBENCH_CLICKHOUSE_DSN, through `clickhouse-connect`.

In: a DSN like clickhouse://user:password@host:8123 or https://...; its user may make and drop databases. Each copy is a
database of that server. Statements run in readonly mode, where a server refuses table functions that reach outside, and
INTO OUTFILE is no server's business; the caller's clock closes the connection and kills the query. The same calls work
on `chdb:///folder`, which is how the tests run them; a real server has not been tried.
"""

import contextlib
import io
import os
import re
import threading
import time
import uuid
from collections.abc import Iterator

from workbench.backends import clickhouse_values
from workbench.backends.base import Execution, Limits, Session, without_paths
from workbench.backends.clickhouse_errors import status_of
from workbench.errors import EngineError
from workbench.result_table import ResultTable

DSN_VARIABLE = "WORKBENCH_CLICKHOUSE_DSN"
KILL_AFTER = 0.5  # seconds over the limit
READ_BYTES = 2**20
CODE = re.compile(r"Code: (\d+)\. ")
PREFIX = re.compile(r"^.*?DB::(?:Errno)?Exception: ", re.DOTALL)


def dsn() -> str | None:
    return os.environ.get(DSN_VARIABLE) or None


def place() -> str:
    """The server without its user and password."""
    return re.sub(r"^\w+://(?:.*@)?([^/?]*).*$", r"\1", dsn() or "") or "this process"


def client(**options):
    """A connection. EngineError in one line, without the password."""
    import clickhouse_connect

    try:
        return clickhouse_connect.get_client(dsn=dsn(), autogenerate_session_id=False, query_retries=0, **options)
    except Exception as error:  # noqa: BLE001 the driver raises its own, urllib3's and plain ones
        raise EngineError(_words(error), where=f"clickhouse at {place()}", hint=f"see {DSN_VARIABLE}") from None


def command(sql: str) -> str:
    """The owner's own statement; its answer as text."""
    from clickhouse_connect.driver.exceptions import ClickHouseError

    with contextlib.closing(client()) as connection:
        try:
            return str(connection.command(sql))
        except ClickHouseError as error:
            raise EngineError(_words(error), where=f"clickhouse at {place()}") from error


def has(database: str) -> bool:
    return command(f"SELECT count() FROM system.databases WHERE name = '{database}'") == "1"


class ServerLoad:
    """A connection that speaks as a loading worker does (clickhouse_load_worker.py), for one thread."""

    def __init__(self, database: str):
        self._client = client(database=database)
        self.turn = threading.Lock()
        self._answers: Iterator = iter(())
        self._insert: tuple[str, io.BytesIO] | None = None

    def send(self, message) -> None:
        if self._insert is not None:
            sql, data = self._insert
            if message:
                data.write(message)
                return
            self._insert = None
            table = sql.removeprefix("INSERT INTO ").partition(" (")[0]
            data.seek(0)
            self._answers = self._done(lambda: self._client.raw_insert(table, insert_block=data, fmt="ArrowStream"))
            return
        kind, sql = message
        if kind == "insert":
            self._insert = sql, io.BytesIO()
        elif kind == "read":
            self._answers = self._read(sql)
        else:
            self._answers = self._done(lambda: self._client.command(sql))

    def receive(self, deadline: float):
        return next(self._answers)

    def close(self) -> None:
        self._client.close()

    def _done(self, work) -> Iterator:
        from clickhouse_connect.driver.exceptions import ClickHouseError

        try:
            work()
        except ClickHouseError as error:
            yield ("done", _words(error))
        else:
            yield ("done", None)

    def _read(self, sql: str) -> Iterator:
        from clickhouse_connect.driver.exceptions import ClickHouseError

        settings = {"output_format_arrow_string_as_string": 0}
        try:
            data = self._client.raw_query(sql, fmt="ArrowStream", settings=settings)
        except ClickHouseError as error:
            yield ("done", _words(error))
            return
        yield ("data", data)
        yield ("done", None)


class ServerSession(Session):
    """One statement at a time, in a thread that the caller's clock does not wait for."""

    def __init__(self, semantics: dict):
        self._semantics = semantics
        self._query: str | None = None

    def run(self, database: str, sql: str, limits: Limits) -> Execution:
        connection = client(database=database, send_receive_timeout=limits.seconds + KILL_AFTER)
        self._query = str(uuid.uuid4())
        started = time.monotonic()
        found: list[Execution] = []
        work = threading.Thread(
            target=lambda: found.append(self._execute(connection, sql, limits, started)), daemon=True
        )
        work.start()
        work.join(limits.seconds + KILL_AFTER)
        if work.is_alive():
            threading.Thread(target=self.interrupt, daemon=True).start()
            return Execution("timeout", message=f"longer than {limits.seconds:g} s", seconds=time.monotonic() - started)
        connection.close()
        return found[0]

    def interrupt(self) -> None:
        if self._query is not None:
            with contextlib.suppress(EngineError):  # it has ended, or the server has
                command(f"KILL QUERY WHERE query_id = '{self._query}' ASYNC")

    def close(self) -> None:
        """Nothing is kept open."""

    def _execute(self, connection, sql: str, limits: Limits, started: float) -> Execution:
        settings = {
            **{key: str(value).strip("'") for key, value in clickhouse_values.SETTINGS.items()},
            **self._semantics,
            "max_memory_usage": limits.memory,
            "max_execution_time": limits.seconds,
            "readonly": 1,  # last: from here on no setting can be changed
        }
        try:
            body = connection.raw_stream(sql.rstrip("; \n"), fmt=clickhouse_values.FORMAT, settings=settings)
            columns, rows = _rows(body, limits)
        except _TooLarge as error:
            return Execution("too_large", message=str(error), seconds=time.monotonic() - started)
        except Exception as error:  # noqa: BLE001 the driver raises its own, urllib3's and plain ones: all are the outcome
            code = CODE.search(str(error))
            status = status_of(code[1], str(error)) if code else "crashed"
            return Execution(status, message=_words(error), seconds=time.monotonic() - started)
        return Execution("ok", table=ResultTable.from_rows(columns, rows), seconds=time.monotonic() - started)


class _TooLarge(Exception):
    pass


def _rows(body, limits: Limits) -> tuple[list[str], list[tuple]]:
    from workbench.backends.wire import size

    head, rest, rows, total = b"", b"", [], 0
    columns: list[str] = []
    while data := body.read(READ_BYTES):
        rest += data
        if not head:
            lines = rest.split(b"\n", 2)
            if len(lines) < 3:
                continue
            head, rest = b"\n".join(lines[:2]) + b"\n", lines[2]
        whole, mark, rest = rest.rpartition(b"\n")
        columns, new = clickhouse_values.read(head + whole + mark)
        rows, total = rows + new, total + size(new)
        if len(rows) > limits.rows or total > limits.bytes:
            unit = f"{limits.rows} rows" if len(rows) > limits.rows else f"{limits.bytes} bytes"
            raise _TooLarge(f"the result has more than {unit}")
    if rest or not head:
        raise ValueError(rest.decode(errors="replace")[-500:])
    return columns, rows


def _words(error: BaseException) -> str:
    words = without_paths(PREFIX.sub("", str(error), count=1))
    given = re.search(r"://[^:/@]*:([^@]+)@", dsn() or "")
    return words.replace(given[1], "***") if given else words
