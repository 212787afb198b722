"""ClickHouse as a server named by WORKBENCH_CLICKHOUSE_DSN, through `clickhouse-connect`.

In: a DSN like clickhouse://user:password@host:8123/ or https://...; its user may make and drop databases. Each copy is a
database of that server. Statements run in readonly mode, where a server refuses table functions that reach outside, and
INTO OUTFILE is no server's business; the caller's clock closes the connection and kills the query. The same calls work
on `chdb:///folder`, which is how the tests run them; of real servers one of version 18.16 has been tried, which is too old
for the driver and is refused in its own words.
"""

import contextlib
import io
import logging
import math
import os
import re
import threading
import time
import uuid
from collections.abc import Iterator
from urllib.parse import parse_qs, unquote, urlsplit

from workbench.backends import clickhouse_values
from workbench.backends.base import Execution, Limits, Session, without_paths
from workbench.backends.clickhouse_errors import status_of
from workbench.backends.take_rows import Rows
from workbench.backends.wire import Late, UnfitValue, size, take_over
from workbench.errors import EngineError

DSN_VARIABLE = "WORKBENCH_CLICKHOUSE_DSN"
SCHEMES = {"clickhouse": "http", "http": "http", "clickhouses": "https", "https": "https"}
CONNECT_WAIT = 5  # seconds; also for a server's first answer
KILL_AFTER = 0.5  # seconds over the limit
READ_BYTES = 2**20
CODE = re.compile(r"Code: (\d+)\. ")
PREFIX = re.compile(r"^.*?DB::(?:Errno)?Exception: ", re.DOTALL)
SUFFIX = re.compile(r"(?:, e\.what\(\) = [\w:]+)?(?: \(for url [^)]*\))?$")


def dsn() -> str | None:
    return os.environ.get(DSN_VARIABLE) or None


def given() -> dict:
    """The user's DSN in parts, as the driver names them. Its text is never quoted: it may hold a password."""
    text = dsn() or ""
    if text.startswith("chdb:///"):
        return {"dsn": text}
    try:
        parts = urlsplit(text)
        rest = parts.path + parts.query + parts.fragment
        if parts.scheme not in SCHEMES or not parts.hostname or "@" in rest or parts.fragment:
            raise ValueError
        query = {key: values[-1] for key, values in parse_qs(parts.query, strict_parsing=bool(parts.query)).items()}
        if not query.keys() <= {"verify", "ca_cert"}:
            raise ValueError
        found = {"host": parts.hostname, "port": parts.port, "username": unquote(parts.username or "default")}
    except ValueError:
        hint = "like clickhouse://user:password@host:8123/ or https://..., also with ?verify=false or ?ca_cert=FILE"
        raise EngineError("not a ClickHouse address", where=DSN_VARIABLE, hint=hint) from None
    found |= {"password": unquote(parts.password or ""), "interface": SCHEMES[parts.scheme], **query}
    return found | ({"database": unquote(parts.path[1:])} if parts.path.strip("/") else {})


def place() -> str:
    """The server without its user and password."""
    parts = given()
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts['host']}{port}" if "host" in parts else "this process"


def client(**options):
    """A connection. EngineError in one line, without the password."""
    import clickhouse_connect

    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())  # it would print what it also raises
    fixed = {"autogenerate_session_id": False, "query_retries": 0, "connect_timeout": CONNECT_WAIT}
    try:
        return clickhouse_connect.get_client(**given() | fixed | options)
    except EngineError:
        raise
    except Exception as error:  # noqa: BLE001 the driver raises its own, urllib3's and plain ones
        words = _words(error)
        if "DB::" not in str(error) and not isinstance(_cause(error), OSError):
            words = f"no answer of a ClickHouse server: {''.join(filter(str.isprintable, words))[:100]}"
        raise EngineError(words, where=f"clickhouse at {place()}", hint=f"see {DSN_VARIABLE}") from None


def command(sql: str, seconds: int = 60) -> str:
    """The owner's own statement; its answer as text."""
    from clickhouse_connect.driver.exceptions import ClickHouseError

    with contextlib.closing(client(send_receive_timeout=seconds)) as connection:
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
        connection = client(database=database, send_receive_timeout=math.ceil(limits.seconds + KILL_AFTER))
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
            rows = Rows(started + limits.seconds)
            columns = _read(body, limits, rows)
            seconds = time.monotonic() - started - rows.seconds
            table = rows.table(columns)
        except Late:
            return Execution("timeout", message=f"longer than {limits.seconds:g} s", seconds=time.monotonic() - started)
        except UnfitValue as error:
            return Execution(error.status, message=without_paths(error), seconds=time.monotonic() - started)
        except Exception as error:  # noqa: BLE001 the driver raises its own, urllib3's and plain ones: all are the outcome
            code = CODE.search(str(error))
            status = status_of(code[1], str(error)) if code else "crashed"
            return Execution(status, message=_words(error), seconds=time.monotonic() - started)
        return Execution("ok", table=table, seconds=seconds)


def _read(body, limits: Limits, rows: Rows) -> list[str]:
    """Let the rows of an answer come; the columns' names."""
    head, rest, total = b"", b"", 0
    columns: list[str] = []
    while data := body.read(READ_BYTES):
        rest += data
        if not head:
            lines = rest.split(b"\n", 2)
            if len(lines) < 3:
                continue
            head, rest = b"\n".join(lines[:2]) + b"\n", lines[2]
        whole, mark, rest = rest.rpartition(b"\n")
        found = take_over(clickhouse_values.read, head + whole + mark)
        if found is None:  # an error that came up on the way
            raise ValueError(whole.decode(errors="replace")[-500:])
        columns, new = found
        rows.look()
        rows.add(new)
        total += take_over(size, new, rows.look)
        if rows.height > limits.rows or total > limits.bytes:
            unit = f"{limits.rows} rows" if rows.height > limits.rows else f"{limits.bytes} bytes"
            raise UnfitValue("too_large", f"the result has more than {unit}")
    if rest or not head:
        raise ValueError(rest.decode(errors="replace")[-500:])
    return columns


def _cause(error: BaseException) -> BaseException:
    """What the driver met underneath, where it was not a server's answer."""
    while "DB::" not in str(error) and (error.__cause__ or error.__context__) is not None:
        error = error.__cause__ or error.__context__
    return error


def _words(error: BaseException) -> str:
    """The server's words, or those of what the driver met underneath; without the password."""
    cause = _cause(error)
    words = without_paths(SUFFIX.sub("", PREFIX.sub("", str(cause), count=1))) or type(cause).__name__
    password = given().get("password")
    return words.replace(password, "***") if password else words
