"""Chooses one type per column from the values that are stored, and reads the rows with every value in that type.

SQLite types values, other engines type columns, so a declared type says little. In: a table of an SQLite file. Out: a
PlannedTable (what is stored, what it becomes), and its rows as Arrow batches of int64, double, string or binary.

The declared rule, per column:

| stored (besides NULL) | becomes | what changes |
| --- | --- | --- |
| integers | integer | |
| reals, or integers and reals | real | integers become the nearest double (exact up to 2^53) |
| any text | text | numbers become their text (`real_text`), blobs their bytes read as UTF-8 |
| any blob, no text | blob | numbers become the bytes of their text |
| nothing | by the declared type | |

Text that is not UTF-8, and the character NUL on an engine whose text cannot hold it, become U+FFFD. An infinite real
becomes the largest one of its sign on an engine that holds none. Every value that one of these changes is counted.
"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from workbench.schema import declared_kind
from workbench.sqlite_source import Column, Table, quote, uri

KINDS = ("integer", "real", "text", "blob")  # as typeof() names them
ARROW_TYPES = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "blob": pa.binary()}
REPLACEMENT = "\ufffd"
BATCH_ROWS = 16384
BATCH_BYTES = 16 * 2**20  # wide rows come in smaller batches
_SCAN_COLUMNS = 250  # times seven results each: SQLite gives 2000 at most
_EXACT = 2**53
_LARGEST_DOUBLE_INTEGER = 2**63 - 1024
_SENTINELS = {"integer": "0", "real": "0.0", "text": "''", "blob": "x''"}


@dataclass
class PlannedColumn:
    """stored: number of values per kind. rounded: integers that no double holds. repaired: texts, clamped: infinities changed when read.

    longest: characters of the longest text or bytes of the longest blob, as SQLite's length() sees them: up to a NUL.
    engine_type: set by a loader that has several types for one kind.
    """

    source: Column
    kind: str
    stored: dict[str, int]
    longest: int = 0
    rounded: int = 0
    repaired: int = 0
    clamped: int = 0
    engine_name: str = ""
    engine_type: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def values(self) -> int:
        return sum(self.stored.values())

    @property
    def converted(self) -> int:
        return sum(number for kind, number in self.stored.items() if kind != self.kind) + self.repaired + self.clamped


@dataclass
class PlannedTable:
    """rows as SQLite counts them; size: characters of all text and bytes of all blobs."""

    source: Table
    rows: int
    size: int
    columns: list[PlannedColumn]
    engine_name: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(column.engine_name, ARROW_TYPES[column.kind]) for column in self.columns])


def plan_table(connection: sqlite3.Connection, table: Table) -> PlannedTable:
    """Look at every stored value's type: one scan where columns hold what they declare, a second for those that don't."""
    rows, size, columns = 0, 0, []
    for start in range(0, len(table.columns), _SCAN_COLUMNS):
        group = table.columns[start : start + _SCAN_COLUMNS]
        expected = [declared_kind(column.declared_type) for column in group]
        rows, counts = _count(connection, table, group, [(kind,) for kind in expected])
        found = {
            column.name: (length, longest, {kind: values})
            for column, kind, (values, length, longest, _) in zip(group, expected, counts, strict=True)
        }
        mixed = [column for column, (values, *_, matching) in zip(group, counts, strict=True) if values != matching]
        if mixed:
            _, counts = _count(connection, table, mixed, [KINDS] * len(mixed))
            for column, (_, length, longest, *numbers) in zip(mixed, counts, strict=True):
                found[column.name] = (length, longest, dict(zip(KINDS, numbers, strict=True)))
        for column in group:
            length, longest, stored = found[column.name]
            size += length
            columns.append(_plan_column(connection, table, column, stored, longest))
    return PlannedTable(table, rows, size, columns)


def read_batches(
    path: Path, table: PlannedTable, holds_nul: bool, holds_infinity: bool = True
) -> Iterator[pa.RecordBatch]:
    """The table's rows in the planned types, under their engine names; counts repairs in the plan's columns."""
    import adbc_driver_sqlite.dbapi as sqlite_driver

    # The driver takes a column's type from its first batch: a first row made by us settles it, and is then cut off.
    parts = [_parts(column) for column in table.columns]
    flat = [(kind, expression) for column in parts for kind, expression in column]
    query = (
        f"SELECT {', '.join(f'{_SENTINELS[kind]} AS c{number}' for number, (kind, _) in enumerate(flat))} UNION ALL "
        f"SELECT {', '.join(expression for _, expression in flat)} FROM {quote(table.source.name)} AS t NOT INDEXED"
    )
    row_bytes = 8 * len(flat) + table.size // max(1, table.rows)
    options = {"adbc.sqlite.query.batch_rows": max(1, min(BATCH_ROWS, BATCH_BYTES // row_bytes))}
    for column in table.columns:
        column.repaired = column.clamped = 0
    schema, is_first = table.schema, True
    with closing(sqlite_driver.connect(uri(path))) as connection, closing(connection.cursor()) as setting:
        setting.execute("PRAGMA trusted_schema = OFF")
        with closing(connection.cursor(adbc_stmt_kwargs=options)) as cursor:
            cursor.execute(query)
            for batch in cursor.fetch_record_batch():
                batch, is_first = batch.slice(1) if is_first else batch, False
                arrays, position = [], 0
                for column, pieces in zip(table.columns, parts, strict=True):
                    found = batch.columns[position : position + len(pieces)]
                    array = _join_parts(column, [kind for kind, _ in pieces], found, holds_nul)
                    if column.kind == "real" and not holds_infinity:
                        array = _clamped(column, array)
                    arrays.append(array)
                    position += len(pieces)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def real_text(value: float) -> str:
    """A real as SQLite prints it, with 15 digits; with as many as it takes (up to 17) where 15 would lose some."""
    text = f"{value:.15g}"
    if float(text) != value:
        text = repr(value)
    if text.endswith("inf"):
        return text.replace("inf", "Inf")
    mantissa, mark, exponent = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + mark + exponent


def _count(connection, table: Table, columns, kinds) -> tuple[int, list[tuple[int, ...]]]:
    """One scan: the rows, and per column the values, the sum and maximum of text and blob lengths, the values of each kind."""
    wanted = ["count(*)"]
    for column, asked in zip(columns, kinds, strict=True):
        name = f"t.{quote(column.name)}"
        wanted.append(f"count({name})")
        has_length = not {"text", "blob"}.isdisjoint(asked)
        wanted += [f"total(length({name}))", f"coalesce(max(length({name})), 0)"] if has_length else ["0", "0"]
        wanted += [f"coalesce(sum(typeof({name}) = '{kind}'), 0)" for kind in asked]
    rows, *counts = connection.execute(
        f"SELECT {', '.join(wanted)} FROM {quote(table.name)} AS t NOT INDEXED"  # a damaged index cannot mislead
    ).fetchone()
    found = []
    for asked in kinds:
        take = 3 + len(asked)
        found.append(tuple(int(number) for number in counts[:take]))
        counts = counts[take:]
    return rows, found


def _plan_column(connection, table: Table, column: Column, stored: dict[str, int], longest: int) -> PlannedColumn:
    stored = {kind: number for kind, number in stored.items() if number}
    if not stored:
        return PlannedColumn(column, declared_kind(column.declared_type), stored)
    kind = next(kind for kind in ("text", "blob", "real", "integer") if kind in stored)
    planned = PlannedColumn(column, kind, stored, longest)
    if kind == "real" and "integer" in stored:
        name = f"t.{quote(column.name)}"
        (planned.rounded,) = connection.execute(
            f"SELECT count(*) FROM {quote(table.name)} AS t NOT INDEXED WHERE typeof({name}) = 'integer' "
            f"AND {name} NOT BETWEEN -{_EXACT} AND {_EXACT} "
            f"AND ({name} > {_LARGEST_DOUBLE_INTEGER} OR CAST(CAST({name} AS REAL) AS INTEGER) <> {name})"
        ).fetchone()
    return planned


def _parts(column: PlannedColumn) -> list[tuple[str, str]]:
    """What is selected for a column: (kind, expression); values SQL cannot convert exactly come in a part of their own."""
    name = f"t.{quote(column.source.name)}"
    others = [kind for kind in column.stored if kind in ("real", "blob") and kind != column.kind]
    if column.kind in ("integer", "real"):
        return [(column.kind, f"CAST({name} AS {column.kind.upper()})")]
    if column.kind == "text":
        text = f"CAST({name} AS TEXT)"
        if others:
            text = f"CASE WHEN typeof({name}) NOT IN ('real', 'blob') THEN {text} END"
        return [("text", text)] + [(kind, f"CASE typeof({name}) WHEN '{kind}' THEN {name} END") for kind in others]
    numbers = {
        "integer": ("text", f"CASE typeof({name}) WHEN 'integer' THEN CAST({name} AS TEXT) END"),
        "real": ("real", f"CASE typeof({name}) WHEN 'real' THEN {name} END"),
    }
    main = ("blob", f"CASE typeof({name}) WHEN 'blob' THEN {name} END")
    return [main, *(part for kind, part in numbers.items() if kind in column.stored)]


def _join_parts(column: PlannedColumn, kinds: list[str], parts: list[pa.Array], holds_nul: bool) -> pa.Array:
    """One array of the column's type from its parts, of which each row fills one at most."""
    joined = parts[0]
    if column.kind == "text":
        joined, changed = _repaired(joined, holds_nul)
        column.repaired += changed
    for kind, part in zip(kinds[1:], parts[1:], strict=True):
        is_filled = part.is_valid()
        values = part.filter(is_filled).to_pylist()
        if kind == "real":
            values = [real_text(value) for value in values]
        if column.kind == "blob":
            values = [value.encode() for value in values]
        elif kind == "blob":  # these values are counted as converted already, repaired or not
            values = [_repair(value, holds_nul) for value in values]
        joined = pc.replace_with_mask(joined, is_filled, pa.array(values, joined.type))
    return joined


def _repaired(texts: pa.Array, holds_nul: bool) -> tuple[pa.Array, int]:
    """The texts with what cannot be held replaced, and how many that changed."""
    content = texts.buffers()[2]
    is_suspect = not holds_nul and content is not None and b"\0" in memoryview(content).tobytes()
    if not is_suspect and _is_valid(texts):
        return texts, 0
    values = texts.view(pa.binary()).to_pylist()
    repaired = [None if value is None else _repair(value, holds_nul) for value in values]
    changed = sum(new is not None and new.encode() != old for new, old in zip(repaired, values, strict=True))
    return pa.array(repaired, pa.string()), changed


def _clamped(column: PlannedColumn, reals: pa.Array) -> pa.Array:
    """The reals, infinities replaced by the largest double of their sign, which keeps order and comparisons."""
    column.clamped += pc.sum(pc.is_inf(reals)).as_py() or 0
    largest = sys.float_info.max
    return pc.if_else(pc.is_inf(reals), pc.multiply(pc.sign(reals), largest), reals) if column.clamped else reals


def _repair(value: bytes, holds_nul: bool) -> str:
    text = value.decode("utf-8", errors="replace")
    return text if holds_nul else text.replace("\0", REPLACEMENT)


def _is_valid(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
