"""Fills an empty ClickHouse database with planned tables, and reads them back for the proof.

In: a backend, the database's working name, PlannedTables and Arrow batches. Out: MergeTree tables with their rows,
sorted by the primary key where it has one without NULLs; what ClickHouse does not have is said in the tables' notes.
Rows go in and come back as Arrow streams through the one process that has the folder open. Identifiers are always
quoted; declared types never reach the engine.
"""

import contextlib
import io
import itertools
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import pyarrow as pa

from workbench.backends.worker import Worker, WorkerGone
from workbench.column_types import PlannedTable

# A blob's type says that it is one (clickhouse_values.py); it behaves as String.
TYPES = {
    "integer": "Int64",
    "real": "Float64",
    "text": "String",
    "blob": "SimpleAggregateFunction(any, String)",
}
NAME_BYTES = 69  # a table's name is a file's name of 209 bytes at most, in which each may take three
RESERVED_COLUMNS = frozenset({"_row_exists", "_block_number", "_block_offset"})  # MergeTree writes these itself
HOLDS_NUL = True
THREADS = 2  # one process has the folder open and does one thing at a time; meanwhile the next table is read
AHEAD = 8  # batches that are read before it is a table's turn
ANSWER_WAIT = 3600.0  # seconds for one step: the data are our own, but for ever is no answer
MAIN = "main"


class LoadError(Exception):
    """ClickHouse's words."""


ERRORS = (LoadError, WorkerGone)
PREFIX = re.compile(r"^(?:Streaming query failed: |Code: \d+\. DB::(?:Errno)?Exception: |DB::Exception: )+")


class Loader:
    """The use of the one process, for one thread at a time; a context manager."""

    def __init__(self, backend, database: str):
        self._database = database if backend.is_server() else MAIN  # a folder holds one database
        with contextlib.ExitStack() as stack:
            self._worker: Worker = stack.enter_context(backend.loading(database))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self._stack.close()

    def create_tables(self, tables: Sequence[PlannedTable]) -> None:
        """Make the tables, without Nullable where NOT NULL is declared, or a key, and no NULL is stored."""
        if self._database == MAIN:
            self._run(f"CREATE DATABASE IF NOT EXISTS {MAIN} ENGINE = Atomic")
        for table in tables:
            self._create(table)

    def load(self, table: PlannedTable, rows: pa.RecordBatchReader) -> None:
        """Append the rows to the table, as they come."""
        columns = ", ".join(quote(column.engine_name) for column in table.columns)
        ready = list(itertools.islice(rows, AHEAD))
        with self._worker.turn:
            self._worker.send(["insert", f"INSERT INTO {self._name(table)} ({columns})"])
            sent = 0
            try:
                sent = self._send_stream(rows.schema, itertools.chain(ready, rows))
            finally:
                self._worker.send(b"")
                error = self._answer()
        if error:
            raise LoadError(error)
        arrived = self._ask(f"SELECT count() FROM {self._name(table)}")
        if arrived < sent:  # chdb 4.4 says nothing of what fails in its writing threads, but keeps count of it
            last = "SELECT last_error_message FROM system.errors ORDER BY last_error_time DESC LIMIT 1"
            raise LoadError(self._ask(last) or f"{arrived} of {sent} rows have arrived")

    def read(self, table: PlannedTable) -> Iterator[pa.RecordBatch]:
        """The rows that the folder holds, in any order; columns in the plan's order."""
        columns = ", ".join(quote(column.engine_name) for column in table.columns)
        for batch in self._read(f"SELECT {columns} FROM {self._name(table)}"):
            parts = zip(batch.columns, table.schema, strict=True)
            arrays = [array.cast(field.type) for array, field in parts]
            yield pa.RecordBatch.from_arrays(arrays, schema=table.schema)

    def finish(self, table: PlannedTable) -> None:
        """Nothing is left to do: the sorting key is part of the table from the start."""

    def add_foreign_keys(self, tables: Sequence[PlannedTable]) -> None:
        """ClickHouse has none: they are left out, and said."""
        for table in tables:
            if table.source.foreign_keys:
                table.notes.append(f"{len(table.source.foreign_keys)} foreign keys left out: ClickHouse has none")

    def _read(self, sql: str) -> Iterator[pa.RecordBatch]:
        with self._worker.turn:
            self._worker.send(["read", sql])
            while (answer := self._worker.receive(time.monotonic() + ANSWER_WAIT))[0] == "data":
                with pa.ipc.open_stream(answer[1]) as reader:
                    yield from reader
        if answer[1]:
            raise LoadError(_words(answer[1]))

    def _ask(self, sql: str) -> int | str | None:
        """The one value that a query gives, a text decoded; None if it gives no row."""
        values = [value for batch in self._read(sql) for value in batch.column(0).to_pylist()]
        return next((value.decode() if isinstance(value, bytes) else value for value in values), None)

    def _create(self, table: PlannedTable) -> None:
        key = _sorting_key(table)
        columns = []
        for column in table.columns:
            is_full = column.values == table.rows
            is_kept = is_full and (column.source.is_not_null or column.source.name in key)
            if column.source.is_not_null and not is_full:
                column.notes.append(f"NOT NULL dropped: {table.rows - column.values} NULLs")
            kind = TYPES[column.kind] if is_kept else TYPES[column.kind].replace("String", "Nullable(String)")
            if not is_kept and column.kind in ("integer", "real"):
                kind = f"Nullable({kind})"
            columns.append(f"{quote(column.engine_name)} {kind}")
        given = {column.source.name: column.engine_name for column in table.columns}
        order = ", ".join(quote(given[name]) for name in key)
        self._run(f"CREATE TABLE {self._name(table)} ({', '.join(columns)}) ENGINE = MergeTree ORDER BY ({order})")

    def _send_stream(self, schema: pa.Schema, rows: Iterable[pa.RecordBatch]) -> int:
        """Send the batches, and say how many rows they have."""
        sent, sink = 0, io.BytesIO()
        with pa.ipc.new_stream(sink, schema) as stream:
            for batch in rows:
                stream.write_batch(batch)
                sent += batch.num_rows
                self._worker.send(sink.getvalue())
                sink.seek(0)
                sink.truncate()
        self._worker.send(sink.getvalue())
        return sent

    def _name(self, table: PlannedTable) -> str:
        return f"{quote(self._database)}.{quote(table.engine_name)}"

    def _run(self, sql: str) -> None:
        with self._worker.turn:
            self._worker.send(["run", sql])
            error = self._answer()
        if error:
            raise LoadError(error)

    def _answer(self) -> str | None:
        error = self._worker.receive(time.monotonic() + ANSWER_WAIT)[1]
        return _words(error) if error else None


def quote(name: str) -> str:
    """An identifier in ClickHouse's double quotes, in which a backslash begins an escape."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sorting_key(table: PlannedTable) -> tuple[str, ...]:
    """The primary key's columns, if they can sort a table: no NULLs, no blobs; a note otherwise."""
    key = table.source.primary_key
    columns = [column for column in table.columns if column.source.name in key]
    reason = None
    if any(column.values != table.rows for column in columns):
        reason = "NULLs"
    elif any(column.kind == "blob" for column in columns):
        reason = "blobs"
    if reason:
        table.notes.append(f"primary key ({', '.join(key)}) dropped: {reason}")
    return () if reason else key


def _words(error: str) -> str:
    return PREFIX.sub("", error)
