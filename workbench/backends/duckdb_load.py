"""Fills an empty DuckDB file with planned tables, and reads them back for the proof.

In: a backend, the database's working name, PlannedTables and Arrow batches. Out: tables with their rows and the keys
that the data allows; what is not allowed, or what DuckDB cannot do, is said in the tables' notes. Rows go in as one
INSERT over an Arrow reader per table. Identifiers are always quoted; declared types never reach the engine.
"""

from collections.abc import Iterator, Sequence
from typing import Self

import duckdb
import pyarrow as pa

from workbench.column_types import PlannedTable
from workbench.sqlite_source import quote

TYPES = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "blob": "BLOB"}
NAME_BYTES = 255  # DuckDB has no limit
RESERVED_COLUMNS = frozenset()
HOLDS_NUL = True
ERRORS = (duckdb.Error,)
THREADS = 2  # tables of one database that load at a time
BATCH_ROWS = 65_536  # of what is read back


class Loader:
    """A connection to one file, for one thread at a time; a context manager."""

    def __init__(self, backend, database: str):
        config = {"threads": 2, "preserve_insertion_order": True}
        self._connection = duckdb.connect(
            str(backend.path(database)), read_only=backend.is_read_only(database), config=config
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self._connection.close()

    def create_tables(self, tables: Sequence[PlannedTable]) -> None:
        """Make the tables, with NOT NULL where it is declared and no NULL is stored."""
        for table in tables:
            columns = []
            for column in table.columns:
                is_kept = column.source.is_not_null and column.values == table.rows
                columns.append(f"{quote(column.engine_name)} {TYPES[column.kind]}{' NOT NULL' if is_kept else ''}")
                if column.source.is_not_null and not is_kept:
                    column.notes.append(f"NOT NULL dropped: {table.rows - column.values} NULLs")
            self._connection.execute(f"CREATE TABLE {quote(table.engine_name)} ({', '.join(columns)})")

    def load(self, table: PlannedTable, rows: pa.RecordBatchReader) -> None:
        """Append the rows to the table, as they come."""
        self._connection.register("incoming", rows)
        try:
            self._connection.execute(f"INSERT INTO {quote(table.engine_name)} SELECT * FROM temp.incoming")
        finally:
            self._connection.unregister("incoming")

    def read(self, table: PlannedTable) -> Iterator[pa.RecordBatch]:
        """The rows that the file holds, in any order; columns in the plan's order."""
        columns = ", ".join(quote(column.engine_name) for column in table.columns)
        found = self._connection.sql(f"SELECT {columns} FROM {quote(table.engine_name)}")
        for batch in found.to_arrow_reader(BATCH_ROWS):
            yield batch.cast(table.schema)

    def finish(self, table: PlannedTable) -> None:
        """Add the primary key if the data allows it; else a note says why not."""
        key = table.source.primary_key
        if not key:
            return
        given = {column.source.name: column.engine_name for column in table.columns}
        columns = ", ".join(quote(given[name]) for name in key)
        try:
            self._connection.execute(f"ALTER TABLE {quote(table.engine_name)} ADD PRIMARY KEY ({columns})")
        except duckdb.ConstraintException as error:
            reason = "NULLs" if "NOT NULL" in str(error) or "null" in str(error) else "a value occurs twice"
            table.notes.append(f"primary key ({', '.join(key)}) dropped: {reason}")

    def add_foreign_keys(self, tables: Sequence[PlannedTable]) -> None:
        """DuckDB cannot add a foreign key to a filled table: they are left out, and said."""
        for table in tables:
            if table.source.foreign_keys:
                table.notes.append(
                    f"{len(table.source.foreign_keys)} foreign keys left out: DuckDB cannot add them later"
                )
