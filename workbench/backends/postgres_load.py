"""Fills an empty PostgreSQL database with planned tables, and reads them back for the proof.

In: a started backend, the database's working name, PlannedTables and Arrow batches. Out: tables with their rows and the
keys that the data allows; what is not allowed is said in the tables' notes. One COPY in binary form per table
(adbc-driver-postgresql), typed by the plan. Identifiers are always quoted; declared types never reach the server.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Self

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as postgres_driver
import psycopg
import pyarrow as pa

from workbench.column_types import PlannedTable
from workbench.sqlite_source import ForeignKey, fold, quote

TYPES = {"integer": "bigint", "real": "double precision", "text": "text", "blob": "bytea"}
NAME_BYTES = 63  # NAMEDATALEN - 1; a longer name in a query is cut there by the server itself
RESERVED_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})  # every table has these already
HOLDS_NUL = False  # https://www.postgresql.org/docs/current/datatype-character.html
ERRORS = (psycopg.Error, adbc_driver_manager.Error)
NOT_ALLOWED = {  # what a key meets that the data or its types do not allow; any other error is a fault
    psycopg.errors.ForeignKeyViolation: "values without a match there",
    psycopg.errors.UniqueViolation: "a value occurs twice",
    psycopg.errors.NotNullViolation: "NULLs",
    psycopg.errors.DatatypeMismatch: "the types differ",
    psycopg.errors.InvalidForeignKey: "its target is no key",
    psycopg.errors.DuplicateColumn: "a column occurs twice",
    psycopg.errors.ProgramLimitExceeded: "values too long for an index",
    psycopg.errors.TooManyColumns: "too many columns for an index",
}
THREADS = 2  # tables of one database that load at a time


class Loader:
    """Connections to one database, for one thread at a time; a context manager."""

    def __init__(self, backend, database: str):
        with ExitStack() as stack:
            self._connection = stack.enter_context(psycopg.connect(backend.dsn(database, "owner"), autocommit=True))
            arrow = postgres_driver.connect(
                backend.dsn(database, "owner"), autocommit=True
            )  # 50 ms: it reads all types
            self._arrow = stack.enter_context(closing(arrow))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self._stack.close()

    def create_tables(self, tables: Sequence[PlannedTable]) -> None:
        """Make the tables, with NOT NULL where it is declared and no NULL is stored."""
        for table in tables:
            columns = []
            for column in table.columns:
                is_kept = column.source.is_not_null and column.values == table.rows
                columns.append(f"{quote(column.engine_name)} {TYPES[column.kind]}{' NOT NULL' if is_kept else ''}")
                if column.source.is_not_null and not is_kept:
                    column.notes.append(f"NOT NULL dropped: {table.rows - column.values} NULLs")
            self._connection.execute(f"CREATE TABLE {_name(table)} ({', '.join(columns)})")

    def load(self, table: PlannedTable, rows: pa.RecordBatchReader) -> None:
        """Append the rows to the table, as they come."""
        with closing(self._arrow.cursor()) as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"TRUNCATE {_name(table)}")  # in the same transaction: rows then need no log
            cursor.adbc_ingest(table.engine_name, rows, mode="append", db_schema_name="public")
            cursor.execute("COMMIT")

    def read(self, table: PlannedTable) -> Iterator[pa.RecordBatch]:
        """The rows that the server has, in any order; columns in the plan's order."""
        columns = ", ".join(quote(column.engine_name) for column in table.columns)
        with closing(self._arrow.cursor()) as cursor:
            cursor.execute(f"SELECT {columns} FROM {_name(table)}")
            yield from cursor.fetch_record_batch()

    def finish(self, table: PlannedTable) -> None:
        """Add the primary key if the data allows it (else a note says why not), and the planner's statistics."""
        key = table.source.primary_key
        if key:
            _add(self._connection, table, f"PRIMARY KEY ({_columns(table, key)})", f"primary key ({', '.join(key)})")
        self._connection.execute(f"ANALYZE {_name(table)}")

    def add_foreign_keys(self, tables: Sequence[PlannedTable]) -> None:
        """Add foreign keys one by one, once all tables are finished; one that the data does not allow becomes a note.

        A foreign key's target that SQLite declares UNIQUE becomes so here too, since the server asks for it. What a
        key does on update or delete is not carried over: the copies are only read.
        """
        known = {fold(table.source.name): table for table in tables}
        unique: set[tuple] = set()
        for table in tables:
            for key in table.source.foreign_keys:
                _add_foreign_key(self._connection, table, key, known, unique)


def _add_foreign_key(connection, table: PlannedTable, key: ForeignKey, known: dict, unique: set[tuple]) -> None:
    what = f"foreign key ({', '.join(key.columns)}) to {key.parent}"
    parent = known.get(fold(key.parent))
    if parent is None:
        table.notes.append(f"{what} dropped: there is no such table")
        return
    spelled = {fold(column.source.name): column.source.name for column in parent.columns}
    targets = tuple(spelled.get(fold(name), name) for name in key.parent_columns) or parent.source.primary_key
    if len(targets) != len(key.columns) or not set(targets) <= set(spelled.values()):
        table.notes.append(f"{what} dropped: there are no such columns")
        return
    if {fold(name) for name in targets} != {fold(name) for name in parent.source.primary_key}:
        declared = next((names for names in parent.source.unique_keys if set(names) == set(targets)), None)
        if declared and (parent.engine_name, declared) not in unique:
            unique.add((parent.engine_name, declared))
            _add(connection, parent, f"UNIQUE ({_columns(parent, declared)})", f"unique ({', '.join(declared)})")
    rule = f"FOREIGN KEY ({_columns(table, key.columns)}) REFERENCES {_name(parent)} ({_columns(parent, targets)})"
    _add(connection, table, rule, what)


def _add(connection, table: PlannedTable, rule: str, what: str) -> None:
    try:
        connection.execute(f"ALTER TABLE {_name(table)} ADD {rule}")
    except tuple(NOT_ALLOWED) as error:
        reason = next(words for kind, words in NOT_ALLOWED.items() if isinstance(error, kind))
        table.notes.append(f"{what} dropped: {reason}")


def _columns(table: PlannedTable, names: Sequence[str]) -> str:
    given = {column.source.name: column.engine_name for column in table.columns}
    return ", ".join(quote(given[name]) for name in names)


def _name(table: PlannedTable) -> str:
    return f"public.{quote(table.engine_name)}"
