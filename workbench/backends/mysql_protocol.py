"""What MySQL's protocol offers and pymysql does not: reading under a deadline, rows fast, a reset, rows sent by us.

The only place that uses pymysql's inner parts. In: an open connection. Out: rows of text (bytes, None for NULL) as they
arrive. https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html
"""

import io
import socket
import time
from collections.abc import Iterable, Iterator

import pymysql
from pymysql.constants import COMMAND, CR

from workbench.backends.mysql import ServerError, server_error
from workbench.backends.wire import Late

RESET_CONNECTION = 0x1F  # COM_RESET_CONNECTION, which pymysql does not name
VECTOR = 242  # a type of MySQL 9 that the driver takes for text
LONGEST_PACKET = 0xFFFFFF  # a longer one goes on in the next
PIECE = 2**20  # bytes sent at a time


class TooLarge(Exception):
    """More bytes have come than are allowed."""


class TimedSocket(io.RawIOBase):
    """A connection's incoming bytes until a deadline (time.monotonic) and up to a number of bytes, None: any."""

    def __init__(self, connection: pymysql.Connection):
        """Stand between the driver and its socket; a deadline has to be set before each statement."""
        self._source: socket.socket = connection._sock
        self.deadline, self.limit, self.arrived = time.monotonic(), None, 0
        connection._read_timeout = None  # the waiting is done here
        connection._rfile.close()
        connection._rfile = io.BufferedReader(self, 2**16)

    def allow(self, deadline: float, limit: int | None) -> None:
        self.deadline, self.limit, self.arrived = deadline, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise Late
        self._source.settimeout(remaining)
        try:
            number = self._source.recv_into(buffer)
        except TimeoutError:
            raise Late from None
        self.arrived += number
        if self.limit is not None and self.arrived > self.limit:
            raise TooLarge
        return number


def reset(connection: pymysql.Connection) -> None:
    """Let the server forget the connection's user variables, locks, temporary tables and settings. ServerError."""
    try:
        connection._execute_command(RESET_CONNECTION, b"")
        connection._read_ok_packet()
    except pymysql.Error as error:
        raise server_error(error) from error


def close(connection: pymysql.Connection) -> None:
    """Close without a word, for which the server might have to be waited for; a result still under way is dropped."""
    if connection._result is not None:
        connection._result.unbuffered_active = False
    connection._force_close()


def send_query(connection: pymysql.Connection, sql: str) -> list[tuple]:
    """Start a statement and give (name, decode) per column, none if it is no query. ServerError.

    decode: what makes the driver's Python value of a field's bytes. The rows have to be read by `read_rows`.
    """
    try:
        connection.query(sql, unbuffered=True)
    except pymysql.Error as error:
        raise server_error(error) from error
    result = connection._result
    if result.description is None:
        return []
    kinds = [field[:2] for field in result.description]
    return [(name, _decoder(kind, *how)) for (name, kind), how in zip(kinds, result.converters, strict=True)]


def _decoder(kind: int, encoding: str | None, convert):
    if encoding is None or kind == VECTOR:
        return convert or bytes
    if convert is None:
        return lambda data: data.decode(encoding)
    return lambda data: convert(data.decode(encoding))


def read_rows(connection: pymysql.Connection) -> Iterator[list[bytes | None]]:
    """The rows of a started query as they arrive, three times as fast as the driver's own way. ServerError."""
    result, read = connection._result, connection._rfile.read
    width = range(result.field_count)
    try:
        while True:
            data = _packet(read)
            first = data[0]
            if first == 0xFF:
                result.unbuffered_active = False
                pymysql.err.raise_mysql_exception(data)
            if first == 0xFE and len(data) < 9:
                result.unbuffered_active, result.connection = False, None
                result.warning_count = data[1] + (data[2] << 8)
                return
            row, position = [], 0
            for _ in width:
                length = data[position]
                position += 1
                if length > 250:
                    if length == 251:
                        row.append(None)
                        continue
                    size = {252: 2, 253: 3, 254: 8}[length]
                    length = int.from_bytes(data[position : position + size], "little")
                    position += size
                row.append(data[position : position + length])
                position += length
            yield row
    except pymysql.Error as error:
        raise server_error(error) from error
    except OSError as error:
        raise ServerError(CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({error})") from error


def _packet(read) -> bytes:
    """One packet's content, however many parts it came in."""
    data = b""
    while True:
        header = read(4)
        length = int.from_bytes(header[:3], "little")
        part = read(length)
        if len(header) < 4 or len(part) < length:
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
        data = data + part if data else part
        if length < LONGEST_PACKET:
            return data


def send_rows(connection: pymysql.Connection, sql: str, pieces: Iterable[memoryview]) -> int:
    """Run a LOAD DATA LOCAL whose file are these bytes, whatever file the server asks for; gives its warnings' number.

    ServerError. The driver's own way would open any file of this machine that a server names.
    """
    try:
        connection._execute_command(COMMAND.COM_QUERY, sql)
        if not connection._read_packet().is_load_local_packet():
            raise ServerError(0, "the server does not take rows from here")
        for piece in pieces:
            for start in range(0, len(piece), PIECE):
                connection.write_packet(piece[start : start + PIECE].tobytes())
        connection.write_packet(b"")
        return connection._read_ok_packet().warning_count
    except pymysql.Error as error:
        raise server_error(error) from error
