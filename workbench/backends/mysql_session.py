"""One MySQL statement under limits, its rows as the official scripts' driver (pymysql) gives them.

The waiting is our own, below the driver, so that the caller's clock rules: the server's `max_execution_time` comes
first, then the connection is closed and the owner ends it in the server. Rows are counted as they come, bytes even
before a row is whole, so a huge result is never held. Before each statement the connection is reset (user variables,
locks, settings) and made read-only; the protocol takes one statement at a time.
"""

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pymysql

from workbench.backends.base import Execution, Limits, Session, without_paths
from workbench.backends.mysql import ServerError, ask
from workbench.backends.mysql_protocol import TimedSocket, TooLarge, close, read_rows, reset, send_query
from workbench.backends.mysql_server import CHARSET, COLLATION, MEANING
from workbench.backends.take_rows import Rows
from workbench.backends.wire import Late, UnfitValue, take_over
from workbench.errors import EngineError

if TYPE_CHECKING:
    from workbench.backends.mysql import MySQLBackend

CLOSE_AFTER = 0.2  # seconds over the limit
COMMAND_WAIT = 5.0  # seconds for our own statements
CONNECTIONS = 3  # databases kept open by one session
FRAME = 3  # bytes of a number as it arrives, at most, for each that it counts

# Error number (https://dev.mysql.com/doc/mysql-errors/9.0/en/server-error-reference.html) -> status; any other is a
# runtime_error. An error with SQLSTATE 42000 may be of any kind, so numbers decide. 3699, "timeout exceeded in regular
# expression match", is none of the clock: it counts steps, and comes to the same statement on any machine.
NUMBERS = {
    "syntax_error": (
        1064, 1065, 1149,  # cannot be parsed, is empty
        1055, 1056, 1111, 1140, 3029, 3065,  # grouping, aggregates in the wrong place
        1221, 1222, 1241, 1248, 1235, 1247,  # clauses and column counts that do not fit, not supported
        3578, 3579, 3580, 3581, 3582, 3583, 3584, 3585, 3586, 3587, 3588, 3589, 3590, 3591, 3592, 3593, 3594,  # windows
        3573, 3574, 3575, 3576, 3577,  # common table expressions
    ),
    "name_error": (
        1046, 1049, 1051, 1052, 1054, 1060, 1066, 1109, 1146, 1176,  # databases, tables, columns, indexes
        1128, 1305, 1370, 1630, 1193, 1115, 1273, 1298,  # functions (1370: of which none is stored), variables, collations
    ),
    "type_error": (
        1210, 1582, 1583, 1584,  # arguments
        1253, 1267, 1270, 1271, 3995, 3854,  # collations and character sets that do not go together
        1292, 1366, 1411, 1525, 3141, 3143, 3146, 3156, 3157,  # a value that is no number, no date, no JSON
    ),
    "refused": (1044, 1045, 1142, 1143, 1148, 1227, 1290, 1410, 1419, 1792, 1836, 3948, 1698, 3118),
    "timeout": (3024, 1205),
    "too_large": (1037, 1038, 1041, 1114, 1153, 1162, 1301, 1260, 4081, 4082, 3170, 1104),
    "crashed": (1021, 1028, 1040, 1053, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1317, 2006, 2013, 2014, 0),
}  # fmt: skip
STATES = {number: status for status, numbers in NUMBERS.items() for number in numbers}
CUT = {1301, 1260}  # warnings that a value was cut, or became NULL, because it was too large


class MySQLSession(Session):
    """Connections of the readers of the last few databases."""

    def __init__(self, backend: "MySQLBackend"):
        self._backend = backend
        self._connections: dict[str, tuple[pymysql.Connection, TimedSocket]] = {}
        self._killing: list[threading.Thread] = []

    def run(self, database: str, sql: str, limits: Limits) -> Execution:
        connection, source = self._ready(database, limits)
        late = f"longer than {limits.seconds:g} s"
        started = time.monotonic()
        source.allow(started + limits.seconds + CLOSE_AFTER, FRAME * limits.bytes + 2**16)
        try:
            rows = Rows(started + limits.seconds)
            columns = _read(connection, sql, limits, rows)
            seconds = time.monotonic() - started - rows.seconds
            if (
                time.monotonic() - started >= limits.seconds
            ):  # SLEEP and BENCHMARK give a value when they are interrupted
                return Execution("timeout", message=late, seconds=seconds)
            self._look_for_cuts(connection, source)
            return Execution("ok", table=rows.table(columns), seconds=seconds)
        except ServerError as error:
            seconds = time.monotonic() - started
            status = status_of(error.number)
            if status == "crashed" or not connection.open:
                self._drop(database)
            if status == "timeout" or (seconds >= limits.seconds and error.number == 1317):  # interrupted
                return Execution("timeout", message=late, seconds=seconds)
            return Execution(status, message=without_paths(error), seconds=seconds)
        except Late:
            self._end(database)
            return Execution("timeout", message=late, seconds=time.monotonic() - started)
        except TooLarge:
            self._end(database)
            message = f"the result has more than {limits.bytes} bytes"
            return Execution("too_large", message=message, seconds=time.monotonic() - started)
        except UnfitValue as error:
            self._end(database)
            return Execution(error.status, message=without_paths(error), seconds=time.monotonic() - started)
        except BaseException:
            self._drop(database)
            raise

    def interrupt(self) -> None:
        for connection, _ in list(self._connections.values()):
            with suppress(EngineError):  # the server is gone, and the statement with it
                self._backend.terminate(connection.thread_id())

    def settle(self) -> None:
        for killing in self._killing:
            killing.join()

    def close(self) -> None:
        for database in list(self._connections):
            self._drop(database)

    def _ready(self, database: str, limits: Limits) -> tuple[pymysql.Connection, TimedSocket]:
        """A connection as if new; a broken one, or a server that is gone, is replaced once."""
        for is_last in (False, True):
            try:
                if database not in self._connections:
                    self._connections[database] = self._connect(database)
                connection, source = self._connections[database]
                source.allow(time.monotonic() + COMMAND_WAIT, None)
                _prepare(connection, limits)
                return connection, source
            except (ServerError, EngineError, Late) as error:
                self._drop(database)
                if isinstance(error, EngineError) and is_last:
                    raise
                if is_last:
                    raise EngineError(without_paths(error) or "it does not answer", where="mysql") from error
                self._backend.revive()
        raise AssertionError("unreachable")

    def _connect(self, database: str) -> tuple[pymysql.Connection, TimedSocket]:
        while len(self._connections) >= CONNECTIONS:
            self._drop(next(iter(self._connections)))
        connection = self._backend.connect(database, "reader", read_timeout=COMMAND_WAIT, write_timeout=COMMAND_WAIT)
        return connection, TimedSocket(connection)

    def _look_for_cuts(self, connection: pymysql.Connection, source: TimedSocket) -> None:
        """TooLarge if the statement's warnings say that the server has cut a value."""
        if not connection._result.warning_count:
            return
        source.allow(time.monotonic() + COMMAND_WAIT, None)
        for _, number, words in ask(connection, "SHOW WARNINGS"):
            if number in CUT:
                raise ServerError(number, words)

    def _end(self, database: str) -> None:
        """Close the connection and end what it was doing; a server that does not answer is not waited for."""
        connection, _ = self._connections[database]
        killing = threading.Thread(target=_terminate, args=(self._backend, connection.thread_id()), daemon=True)
        self._drop(database)
        killing.start()
        killing.join(CLOSE_AFTER)
        self._killing = [thread for thread in (*self._killing, killing) if thread.is_alive()]

    def _drop(self, database: str) -> None:
        connection, _ = self._connections.pop(database, (None, None))
        if connection is not None:
            close(connection)


def _terminate(backend: "MySQLBackend", number: int) -> None:
    with suppress(EngineError):  # the whole server is gone; the next statement finds out and says so
        backend.terminate(number)


def _prepare(connection: pymysql.Connection, limits: Limits) -> None:
    """Forget what earlier statements have left, and set what the next one means and may do."""
    settings = MEANING | {"max_execution_time": str(max(1, round(limits.seconds * 1000))), "transaction_read_only": "1"}
    values = ", ".join(f"SESSION {name} = {value}" for name, value in settings.items())
    reset(connection)
    ask(connection, f"SET NAMES {CHARSET} COLLATE {COLLATION}, {values}")


def _read(connection: pymysql.Connection, sql: str, limits: Limits, rows: Rows) -> list[str]:
    """Run a statement and let its rows come; the columns' names."""
    size = 0
    try:
        columns = send_query(connection, sql)
        if not columns:
            raise ServerError(1792, "not a query")
        decoders = [decode for _, decode in columns]
        for fields in read_rows(connection):
            row = take_over(_values, fields, decoders)
            rows.add([row])
            size += sum(len(value) if type(value) in (str, bytes) else 8 for value in row)
            if rows.height > limits.rows:
                raise UnfitValue("too_large", f"the result has more than {limits.rows} rows")
            if size > limits.bytes:
                raise TooLarge
    except UnicodeEncodeError as error:  # a lone surrogate
        raise ServerError(1064, str(error)) from None
    return [name for name, _ in columns]


def _values(fields: list[bytes | None], decoders: list) -> tuple:
    return tuple(None if data is None else decode(data) for data, decode in zip(fields, decoders, strict=True))


def status_of(number: int) -> str:
    """The kind of a server's error by its number."""
    return STATES.get(number, "runtime_error")
