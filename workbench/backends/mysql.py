"""MySQL: an embedded server (a mysqld on PATH or a fetched one), or any server named by WORKBENCH_MYSQL_DSN.

The owner makes and loads databases. Each published database has a reader of its own, who may only SELECT from it; the
reader's right to do so is the last step of publishing, and so the sign that a copy is whole. A server that says it is
MariaDB is refused: it is another engine.
"""

import hashlib
import hmac
import importlib.util
import os
import re
import secrets
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from workbench import paths
from workbench.backends import server
from workbench.backends.base import Backend, Session, without_paths
from workbench.backends.mysql_server import CHARSET, COLLATION, OWNER, SOCKET, folder, recipe
from workbench.errors import EngineError

DSN_VARIABLE = "WORKBENCH_MYSQL_DSN"
NAME_CHARACTERS = 64  # https://dev.mysql.com/doc/refman/9.0/en/identifier-length.html
LOST = (0, 2006, 2013)  # error numbers of a connection that is gone


class ServerError(Exception):
    """The server's or the driver's words to our own statements. number: MySQL's error number, 0 if it has none."""

    def __init__(self, number: int, words: str):
        self.number, self.words = number, words
        super().__init__(number, words)

    def __str__(self) -> str:
        return self.words


class MySQLBackend(Backend):
    """One MySQL server. Errors: EngineError in one line, never with a password."""

    name = "mysql"
    dialect = "mysql"
    how_to_get = "python -m workbench.backends.mysql_fetch"

    def __init__(self):
        self._lease: server.Lease | None = None
        self._key: str | None = None
        self._admin = None
        self._lock = threading.RLock()

    def find(self) -> str | None:
        if importlib.util.find_spec("pymysql") is None:
            return None
        if self._dsn:
            return f"server at {self._place()}"
        from workbench.backends.mysql_fetch import find_program

        program = find_program()
        return program and f"embedded ({'fetched' if program.root else 'PATH'}: mysqld {program.version})"

    def folder(self) -> Path | None:
        return None if self._dsn else paths.cache_path("engines", self.name)

    def start(self) -> None:
        with self._lock:
            if self._key is not None:
                return
            if self.find() is None:
                raise EngineError("not installed", where=self.name, hint=self.how_to_get)
            for is_last in (False, True):
                if not self._dsn:
                    self._lease = server.acquire(recipe())
                try:
                    self._check_server()
                    break
                except EngineError:
                    self.stop()
                    if is_last or self._dsn:  # else it was killed as it came up: once more
                        raise
                except BaseException:
                    self.stop()
                    raise
            owner = self._given().get("password") if self._dsn else self._lease.secret
            self._key = owner or _own_secret()

    def stop(self) -> None:
        with self._lock:
            self._close_admin()
            if self._lease is not None:
                self._lease.release()
            self._lease = self._key = None

    def revive(self) -> None:
        """After a lost connection: start the server again if it is gone."""
        with self._lock:
            self._close_admin()
            try:
                self._admin = self.connect()
            except EngineError:
                self.stop()
                self.start()

    def pin(self, is_pinned: bool) -> None:
        if not self._dsn:
            server.pin(folder(), is_pinned)

    def is_running(self) -> bool | None:
        return None if self._dsn else server.is_running(folder())

    def version(self) -> str:
        return self._ask("SELECT VERSION()")[0][0]

    def has(self, database: str) -> bool:
        found = self._ask("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (database,))
        return bool(found) and self._is_granted(database)

    def create(self, database: str) -> str:
        working = f"{database}__loading"
        if len(working) > NAME_CHARACTERS:
            raise EngineError(f"database name {database!r} is too long", where=self.name, hint="at most 55 characters")
        self.drop(working)
        self._make(working)
        return working

    def publish(self, working: str, database: str) -> None:
        self.drop(database)
        self._make(database)
        tables = self._ask("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (working,))
        moves = [f"{quoted(working)}.{quoted(name)} TO {quoted(database)}.{quoted(name)}" for (name,) in tables]
        if moves:
            self._ask(f"RENAME TABLE {', '.join(moves)}")  # all or none, foreign keys with them
        self._ask(f"DROP DATABASE {quoted(working)}")
        user, password = self._reader(database)
        self._ask(f"CREATE USER {user} IDENTIFIED BY '{password}'")
        # with EXECUTE an unknown function is "does not exist"; there is none that it would allow
        self._ask(f"GRANT SELECT, EXECUTE ON {self._pattern(database)}.* TO {user}")

    def drop(self, database: str) -> None:
        user, _ = self._reader(database)
        self._ask(f"DROP USER IF EXISTS {user}")
        for (number,) in self._ask(
            "SELECT id FROM information_schema.processlist WHERE user = %s", (_reader_name(database),)
        ):
            self.terminate(number)  # else dropping waits until it is done with the tables
        self._ask(f"DROP DATABASE IF EXISTS {quoted(database)}")

    def connect(self, database: str | None = None, role: str = "owner", **options):
        """A connection that commits by itself. role: "owner" (may do anything) or "reader" of that database.

        EngineError with the server's words, without the password. options: more for pymysql.connect.
        """
        import pymysql

        with self._lock:  # while the server is started again there is no way to it
            given = self._given() if self._dsn else {"unix_socket": str(self._sockets() / SOCKET), "user": OWNER}
            if not self._dsn:
                given |= {"password": self._lease.secret, "ssl_disabled": True}
            if role == "reader":
                given |= {"user": _reader_name(database), "password": self._reader(database)[1]}
        password = given.get("password")
        given |= {"password": (password or "").encode()}  # of a text the driver would take Latin-1
        given |= {"database": database, "charset": CHARSET, "collation": COLLATION, "autocommit": True}
        patience = options.pop("read_timeout", None)
        try:
            connection = pymysql.connect(**({"connect_timeout": 5} | given | options), read_timeout=5)
            connection._read_timeout = patience  # the driver has one timeout for the greeting and for every answer
            return connection
        except (pymysql.Error, UnicodeError, RuntimeError) as error:  # a RuntimeError: what its way to log in needs
            words = str(error.args[-1]) if error.args else type(error).__name__
            if password:
                words = words.replace(password, "***")
            where = f"{self.name} at {self._place()}" if self._dsn else self.name
            hint = f"see {DSN_VARIABLE}" if self._dsn else None
            raise EngineError(without_paths(words), where=where, hint=hint) from None

    def terminate(self, number: int) -> None:
        """End another connection of this server, and what it is doing, by its number.

        One step of a statement (a search in a text of megabytes) does not look whether it is to end. An embedded server
        that still runs it after server.UNKILLABLE seconds is killed itself; its other users run their statements again.
        """
        with closing(self.connect(read_timeout=5)) as connection:
            try:
                ask(connection, f"KILL {int(number)}")
                deadline = time.monotonic() + server.UNKILLABLE
                while ask(connection, "SELECT 1 FROM information_schema.processlist WHERE id = %s", (number,)):
                    if self._dsn:
                        return
                    if time.monotonic() > deadline:
                        return server.kill(folder())
                    time.sleep(0.05)
            except ServerError as error:
                if error.number != 1094:  # it has ended
                    raise EngineError(without_paths(error), where=self.name) from error

    def session(self) -> Session:
        from workbench.backends.mysql_session import MySQLSession

        return MySQLSession(self)

    @property
    def _dsn(self) -> str | None:
        return os.environ.get(DSN_VARIABLE)

    def _sockets(self) -> Path:
        if self._lease is None:
            raise server.gone(self.name)
        return self._lease.sockets

    def _given(self) -> dict:
        """The user's DSN in parts, as pymysql names them. Its text is never quoted: it may hold a password."""
        try:
            parts = urlsplit(self._dsn)
            if parts.scheme not in ("mysql", "mysql+pymysql") or not (parts.hostname or parts.query):
                raise ValueError
            if parts.fragment or "@" in parts.path + parts.query:  # of a password that was not escaped
                raise ValueError
            given = {"host": parts.hostname or "localhost", "port": parts.port or 3306}
            given |= {"user": unquote(parts.username or OWNER), "password": unquote(parts.password or "")}
            query = {key: values[-1] for key, values in parse_qs(parts.query, strict_parsing=bool(parts.query)).items()}
            if not query.keys() <= {"unix_socket", "ssl_ca", "ssl_disabled"}:
                raise ValueError
        except ValueError:
            hint = "like mysql://user:password@host:3306/, also with ?ssl_ca=FILE or ?unix_socket=FILE"
            raise EngineError("not a MySQL address", where=DSN_VARIABLE, hint=hint) from None
        return given | query

    def _place(self) -> str:
        given = self._given()
        return given.get("unix_socket") or f"{given['host']}:{given['port']}"

    def _check_server(self) -> None:
        version, comment, charsets = self._ask(
            "SELECT VERSION(), @@version_comment,"
            f" (SELECT COUNT(*) FROM information_schema.collations WHERE collation_name = '{COLLATION}')"
        )[0]
        where = f"{self.name} at {self._place()}" if self._dsn else self.name
        if "mariadb" in f"{version} {comment}".lower():
            raise EngineError(f"this server is MariaDB {version}, not MySQL", where=where)
        if not charsets:
            raise EngineError(f"version {version} is too old", where=where, hint="8.0.17 or newer")

    def _make(self, database: str) -> None:
        self._ask(f"CREATE DATABASE {quoted(database)} CHARACTER SET {CHARSET} COLLATE {COLLATION}")

    def _reader(self, database: str) -> tuple[str, str]:
        """A database's reader as SQL names it, and the password, which follows from the owner's."""
        digest = hmac.new((self._key or "").encode(), database.encode(), hashlib.sha256).hexdigest()
        return f"'{_reader_name(database)}'@'{'%' if self._dsn else 'localhost'}'", f"Wb-{digest}"

    def _is_granted(self, database: str) -> bool:
        try:
            grants = self._ask(f"SHOW GRANTS FOR {self._reader(database)[0]}")
        except EngineError as error:
            if isinstance(error.__cause__, ServerError) and error.__cause__.number == 1141:  # there is no such user
                return False
            raise
        return any(grant.startswith("GRANT SELECT") for (grant,) in grants)

    def _pattern(self, database: str) -> str:
        """The database's name in a GRANT, where `_` and `%` stand for anything unless partial revokes are on."""
        if self._ask("SELECT @@partial_revokes")[0][0]:
            return quoted(database)
        return quoted(re.sub(r"([_%\\])", r"\\\1", database))

    def _ask(self, sql: str, parameters: tuple | None = None) -> list[tuple]:
        """Run the owner's own statement."""
        with self._lock:
            for is_last in (False, True):
                try:
                    if self._admin is None or not self._admin.open:
                        self._admin = self.connect()
                    return ask(self._admin, sql, parameters)
                except ServerError as error:
                    is_lost = error.number in LOST
                    failure = EngineError(without_paths(error), where=self.name)
                    failure.__cause__ = error
                except EngineError as error:
                    is_lost, failure = True, error
                if is_last or not (is_lost and self._key is not None):
                    raise failure
                self.revive()  # the server was killed: once more, on a connection of the next one
            raise AssertionError("unreachable")

    def _close_admin(self) -> None:
        if self._admin is not None and self._admin.open:
            self._admin.close()
        self._admin = None


def ask(connection, sql: str, parameters: tuple | None = None) -> list[tuple]:
    """Run one statement of our own and give its rows. ServerError in the server's words."""
    import pymysql

    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())
    except pymysql.Error as error:
        raise server_error(error) from error


def server_error(error: Exception) -> ServerError:
    """A driver's error, whose arguments are a number and words, or less than that."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    return ServerError(number, str(error.args[-1]) if error.args else type(error).__name__)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _reader_name(database: str) -> str:
    """At most 32 characters are a user's name."""
    return f"wb_{hashlib.sha256(database.encode()).hexdigest()[:24]}"


def _own_secret() -> str:
    """Stands in for the owner's password on servers that let the owner in without one."""
    path = paths.cache_dir("engines") / "mysql-reader-key"
    if not path.exists():
        working = path.with_suffix(f".{os.getpid()}")
        working.touch(mode=0o600)
        working.write_text(secrets.token_hex(24))
        working.replace(path)
    return path.read_text()
