"""One PostgreSQL statement under limits, its rows as the official scripts' driver would give them.

The waiting is our own, on libpq's socket, so that the caller's clock rules: the server's `statement_timeout` comes
first, then a cancel request, then the connection is closed and the owner ends the server's process. Rows arrive in
chunks and are counted as they come, so a huge result is never held. Statements go by the extended protocol, which
takes one statement only, in a read-only transaction that is rolled back.
"""

import array
import fcntl
import select
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
from psycopg.adapt import Loader, Transformer
from psycopg.pq import DiagnosticField, ExecStatus, Format, PGresult, TransactionStatus
from psycopg.types import datetime as psycopg_datetime

from workbench.backends.base import Execution, Limits, Session, without_paths
from workbench.backends.take_rows import Rows
from workbench.backends.wire import CONTAINER, LONGEST_MESSAGE, PLACE, Late, UnfitValue, size, take_over
from workbench.errors import EngineError

if TYPE_CHECKING:
    from workbench.backends.postgres import PostgresBackend

CANCEL_AFTER, CLOSE_AFTER = 0.2, 0.5  # seconds over the limit
COMMAND_WAIT = 5.0  # seconds for BEGIN and ROLLBACK
CHUNK = 200  # rows per message
CONNECTIONS = 3  # databases kept open by one session
# Seconds in which a colon, bracket or comma of a nested value is read on a busy machine, the rest of the text with it. A
# value is made in one call, which is not begun where it would not end in time; its keys take the most.
READ_COLON, READ_BRACKET, READ_COMMA = 2e-6, 1e-6, 0.15e-6
NUMERIC, TEXT = (psycopg.adapters.types[name].oid for name in ("numeric", "text"))
HAS_CHUNKS = psycopg.capabilities.has_stream_chunked()

# SQLSTATE (https://www.postgresql.org/docs/18/errcodes-appendix.html) -> status: whole codes first, then classes.
# 42883 is a name_error for "function ... does not exist" and a type_error for "operator does not exist".
STATES = {
    "42P01": "name_error",  # undefined_table
    "42703": "name_error",  # undefined_column
    "42702": "name_error",  # ambiguous_column
    "42883": "name_error",  # undefined_function
    "42725": "name_error",  # ambiguous_function
    "42704": "name_error",  # undefined_object: a type, a collation
    "42712": "name_error",  # duplicate_alias
    "42P02": "name_error",  # undefined_parameter: $1
    "42P09": "name_error",  # ambiguous_alias
    "08P01": "name_error",  # protocol_violation: the parameter is known, its value was not sent
    "3F000": "name_error",  # invalid_schema_name
    "42804": "type_error",  # datatype_mismatch
    "42846": "type_error",  # cannot_coerce
    "42809": "type_error",  # wrong_object_type
    "42P18": "type_error",  # indeterminate_datatype
    "42P21": "type_error",  # collation_mismatch
    "42P22": "type_error",  # indeterminate_collation
    "22P02": "type_error",  # invalid_text_representation: text that is no number
    "22007": "type_error",  # invalid_datetime_format
    "22018": "type_error",  # invalid_character_value_for_cast
    "25006": "refused",  # read_only_sql_transaction
    "42501": "refused",  # insufficient_privilege
    "57014": "timeout",  # query_canceled: statement_timeout
    "53200": "too_large",  # out_of_memory
    "53400": "too_large",  # configuration_limit_exceeded: temp_file_limit
    "54000": "too_large",  # program_limit_exceeded: a value over 1 GB
    "42": "syntax_error",  # syntax, grouping, aggregates, windows, column counts
    "XX001": "crashed",  # data_corrupted
    "XX002": "crashed",  # index_corrupted
    "08": "crashed",  # connection
    "53": "crashed",  # insufficient resources: a full disk, too many connections
    "57": "crashed",  # operator intervention: shutdown, crash of another session
    "58": "crashed",  # system error
}


class AsText(Loader):
    """A value as the server writes it."""

    def load(self, data: bytes) -> str:
        return bytes(data).decode()


def or_text(loader: type[Loader]) -> type[Loader]:
    """A loader that gives the server's text where Python has no such value: 'infinity', years before 1."""

    class OrText(loader):
        def load(self, data: bytes) -> object:
            if bytes(data).endswith(b"infinity"):  # which the loader of intervals takes for nothing
                return bytes(data).decode()
            try:
                return super().load(data)
            except (psycopg.DataError, OverflowError):
                return bytes(data).decode()

    return OrText


# psycopg2, which the official scripts use, has no classes for these and gives text
TEXT_TYPES = (
    "uuid", "inet", "cidr", "record", "int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange",
    "int4multirange", "int8multirange", "nummultirange", "datemultirange", "tsmultirange", "tstzmultirange",
)  # fmt: skip
DATE_TYPES = {
    "date": psycopg_datetime.DateLoader,
    "time": psycopg_datetime.TimeLoader,
    "timetz": psycopg_datetime.TimetzLoader,
    "timestamp": psycopg_datetime.TimestampLoader,
    "timestamptz": psycopg_datetime.TimestamptzLoader,
    "interval": psycopg_datetime.IntervalLoader,
}


class PostgresSession(Session):
    """Connections of the reader, one for each of the last few databases."""

    def __init__(self, backend: "PostgresBackend"):
        self._backend = backend
        self._connections: dict[str, psycopg.Connection] = {}

    def run(self, database: str, sql: str, limits: Limits) -> Execution:
        connection = self._ready(database, limits)
        started = time.monotonic()
        try:
            rows = Rows(started + limits.seconds)
            columns = _read(connection, sql, limits, started + limits.seconds + CANCEL_AFTER, rows)
            seconds = time.monotonic() - started - rows.seconds
            table = rows.table(columns)
            _command(connection, "ROLLBACK")
            return Execution("ok", table=table, seconds=seconds)
        except _Failed as error:
            seconds = time.monotonic() - started
            if error.status == "timeout":
                error.message = f"longer than {limits.seconds:g} s"
            if error.status == "crashed" or connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self._drop(database)  # active: it waits for a COPY to go on
            return Execution(error.status, message=without_paths(error.message), seconds=seconds)
        except Late:
            self._interrupt(database, started + limits.seconds + CLOSE_AFTER)
            return Execution("timeout", message=f"longer than {limits.seconds:g} s", seconds=time.monotonic() - started)
        except UnfitValue as error:
            self._interrupt(database, time.monotonic() + CLOSE_AFTER)
            return Execution(error.status, message=without_paths(error), seconds=time.monotonic() - started)
        except psycopg.Error as error:  # the connection broke
            self._drop(database)
            return Execution("crashed", message=without_paths(error), seconds=time.monotonic() - started)
        except BaseException:
            self._drop(database)
            raise

    def interrupt(self) -> None:
        for connection in list(self._connections.values()):
            try:
                connection.cancel_safe(timeout=1)
            except psycopg.Error:
                continue  # gone already

    def close(self) -> None:
        for database in list(self._connections):
            self._drop(database)

    def _ready(self, database: str, limits: Limits) -> psycopg.Connection:
        """A connection inside a fresh read-only transaction; a broken one, or a server that is gone, is replaced once."""
        milliseconds = max(1, int(limits.seconds * 1000))
        for is_last in (False, True):
            try:
                if database not in self._connections:
                    self._connections[database] = self._connect(database)
                connection = self._connections[database]
                end = "ROLLBACK; " if connection.pgconn.transaction_status else ""  # a failed statement's transaction
                _command(connection, f"{end}BEGIN READ ONLY; SET LOCAL statement_timeout = {milliseconds}")
                return connection
            except (psycopg.Error, EngineError, Late) as error:
                self._drop(database)
                if isinstance(error, EngineError) and is_last:
                    raise
                if is_last:
                    raise EngineError(without_paths(error) or "it does not answer", where="postgres") from error
                self._backend.revive()
        raise AssertionError("unreachable")

    def _connect(self, database: str) -> psycopg.Connection:
        while len(self._connections) >= CONNECTIONS:
            self._drop(next(iter(self._connections)))
        connection = self._backend.connect(database, "reader")
        for kind in TEXT_TYPES:
            connection.adapters.register_loader(kind, AsText)
        for kind, loader in DATE_TYPES.items():
            connection.adapters.register_loader(kind, or_text(loader))
        connection.execute(
            "SET timezone = 'UTC'; SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; SET bytea_output = 'hex';"
            "SET search_path = public; SET client_connection_check_interval = 1000; SET standard_conforming_strings = on"
        )
        return connection

    def _interrupt(self, database: str, deadline: float) -> None:
        """End what the connection is doing: cancel, else close and let the owner end it in the background."""
        connection = self._connections[database]
        process = connection.pgconn.backend_pid
        try:
            connection.cancel_safe(timeout=max(0.05, deadline - time.monotonic()))
            for _ in _results(connection, max(deadline, time.monotonic() + 0.05), _Count(None)):
                pass
        except (psycopg.Error, Late):
            threading.Thread(target=_terminate, args=(self._backend, process), daemon=True).start()
        self._drop(database)

    def _drop(self, database: str) -> None:
        connection = self._connections.pop(database, None)
        if connection is not None:
            connection.close()


class _Failed(Exception):
    """The server's error of a statement."""

    def __init__(self, status: str, message: str):
        self.status, self.message = status, message
        super().__init__(status, message)


class _Count:
    """Bytes that have arrived, roughly while they arrive, so that one huge row is noticed before it is whole."""

    def __init__(self, limit: int | None):
        self.limit, self.arrived = limit, 0

    def look(self, socket: int) -> None:
        waiting = array.array("i", [0])
        fcntl.ioctl(socket, termios.FIONREAD, waiting)
        self.arrived += waiting[0]
        if self.limit is not None and self.arrived > 2 * self.limit + 2**16:  # as text, with its frame: at most twice
            raise UnfitValue("too_large", f"the result has more than {self.limit} bytes")


def _terminate(backend: "PostgresBackend", process: int) -> None:
    with suppress(EngineError):  # the whole server is gone; the next statement finds out and says so
        backend.terminate(process)


def _command(connection: psycopg.Connection, sql: str) -> None:
    """Run our own statements, not waiting for ever as psycopg would."""
    connection.pgconn.send_query(sql.encode())
    for result in list(_results(connection, time.monotonic() + COMMAND_WAIT, _Count(None))):
        if result.status != ExecStatus.COMMAND_OK:
            raise psycopg.OperationalError(_failure(result).message)


def _read(connection: psycopg.Connection, sql: str, limits: Limits, deadline: float, rows: Rows) -> list[str]:
    """Run a statement and let its rows come; the columns' names."""
    pgconn = connection.pgconn
    try:
        text = sql.encode()
    except UnicodeEncodeError as error:  # a lone surrogate
        raise _Failed("syntax_error", str(error)) from None
    if b"\0" in text:  # libpq would cut it there
        raise _Failed("syntax_error", "the query contains a null character")
    pgconn.send_query_params(text, None)
    if HAS_CHUNKS:
        pgconn.set_chunked_rows_mode(CHUNK)
    else:
        pgconn.set_single_row_mode()
    load = Transformer(connection)
    columns: list[str] | None = None
    weight = 0
    nested: list[int] = []
    decimals: list[int] = []
    failure = None
    for result in _results(connection, deadline, _Count(limits.bytes)):
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.SINGLE_TUPLE, ExecStatus.TUPLES_CHUNK):
            failure = failure or _failure(result)
            if result.status in (ExecStatus.COPY_IN, ExecStatus.COPY_OUT, ExecStatus.COPY_BOTH):
                break  # nothing more comes until the copying is done
            continue
        load.set_pgresult(result, set_loaders=False)
        if columns is None:
            kinds = [result.ftype(i) for i in range(result.nfields)]
            columns = [result.fname(i).decode() for i in range(result.nfields)]
            nested = [i for i, kind in enumerate(kinds) if _is_nested(connection, kind)]
            decimals = [i for i, kind in enumerate(kinds) if kind == NUMERIC]
            load.set_loader_types([TEXT if kind == NUMERIC else kind for kind in kinds], Format.TEXT)
            rows.hold_decimals(decimals)
        about, seconds = _weight(result, nested)
        if weight + about > limits.bytes:  # before it is made: two bytes may become a hundred
            raise UnfitValue("too_large", f"the result has more than {limits.bytes} bytes")
        if time.monotonic() + seconds > deadline:
            raise Late
        new = take_over(load.load_rows, 0, result.ntuples, tuple)
        weight += take_over(size, new, rows.look)
        weight += sum(8 - len(row[i]) for i in decimals for row in new if row[i] is not None)
        if rows.height + len(new) > limits.rows:
            raise UnfitValue("too_large", f"the result has more than {limits.rows} rows")
        if weight > limits.bytes:
            raise UnfitValue("too_large", f"the result has more than {limits.bytes} bytes")
        rows.add(new)
    if failure:
        raise failure
    return columns


def _is_nested(connection: psycopg.Connection, kind: int) -> bool:
    """Whether a type's values become lists or dicts."""
    info = connection.adapters.types.get(kind)
    return info is not None and (info.name in ("json", "jsonb") or kind == info.array_oid)


def _weight(result: PGresult, columns: list[int]) -> tuple[int, float]:
    """About the bytes that these columns' values will take, and the seconds, by the marks in their texts."""
    brackets = commas = colons = 0
    for column in columns:
        for row in range(result.ntuples):
            text = result.get_value(row, column) or b""
            brackets += text.count(b"[") + text.count(b"{")
            commas += text.count(b",")
            colons += text.count(b":")
    seconds = READ_COLON * colons + READ_BRACKET * brackets + READ_COMMA * commas
    return CONTAINER * brackets + PLACE * commas, seconds


def _results(connection: psycopg.Connection, deadline: float, count: _Count) -> Iterator[PGresult]:
    """The answers to what was sent, as they come. Late at the deadline; psycopg.OperationalError if it breaks."""
    pgconn = connection.pgconn
    poll = select.poll()
    while True:
        while (is_unsent := bool(pgconn.flush())) or pgconn.is_busy():
            poll.register(pgconn.socket, select.POLLIN | (select.POLLOUT if is_unsent else 0))
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not poll.poll(remaining * 1000):
                raise Late
            count.look(pgconn.socket)
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:
            return
        yield result
        if time.monotonic() > deadline:
            raise Late


def _failure(result: PGresult) -> _Failed:
    if result.status != ExecStatus.FATAL_ERROR:
        return _Failed("syntax_error" if result.status == ExecStatus.EMPTY_QUERY else "refused", "not a query")
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    words = result.error_field(DiagnosticField.MESSAGE_PRIMARY) or result.error_message
    message = words[: 4 * LONGEST_MESSAGE].decode(errors="replace")
    return _Failed(status_of(state, message), message)


def status_of(state: str, message: str) -> str:
    """The kind of a server error by its SQLSTATE."""
    if state == "42883" and message.startswith("operator does not exist"):
        return "type_error"
    if state == "42601" and message.startswith("cannot insert multiple commands"):
        return "refused"
    return STATES.get(state) or STATES.get(state[:2], "crashed" if not state else "runtime_error")
