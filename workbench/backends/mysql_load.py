"""Fills an empty MySQL database with planned tables, and reads them back for the proof.

In: a started backend, the database's working name, PlannedTables and Arrow batches. Out: tables with their rows and the
keys that the data allows; what is not allowed is said in the tables' notes. Each batch is one LOAD DATA LOCAL whose
text is made by Arrow's own functions: doubles as the shortest text that reads back, bytes as they are but for four.

Texts and bytes have the smallest of three types, since MySQL sorts rows with a LONGTEXT by where they lie in memory, in
which ties change from run to run. A column of a key is as long as an index of the key may be. What the values turn out
not to fit (SQLite measures a text up to its first NUL) becomes the largest type, and a key on it is dropped. A primary
key is there before the rows where nothing can be against it: InnoDB keeps its tables in the order of their key.
"""

import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from workbench.backends.mysql import NAME_CHARACTERS, ServerError, ask, quoted
from workbench.backends.mysql_protocol import TimedSocket, read_rows, send_query, send_rows
from workbench.backends.mysql_server import CHARSET, COLLATION
from workbench.backends.wire import Late
from workbench.column_types import ARROW_TYPES, BATCH_BYTES, PlannedColumn, PlannedTable
from workbench.sqlite_source import ForeignKey, fold

TYPES = {"integer": "bigint", "real": "double", "text": "longtext", "blob": "longblob"}
SHORT_TYPES = {"text": "varchar", "blob": "varbinary"}
SHORT = 255  # characters; bytes of as few would all have to fit into InnoDB's page
MIDDLE_TYPES = {"text": "text", "blob": "blob"}
MIDDLE = {"text": 16_000, "blob": 65_000}  # characters or bytes; 65535 bytes is the limit
KEY_BYTES = 3072  # of an index, 4 for a character: https://dev.mysql.com/doc/refman/9.0/en/innodb-limits.html
ROW_BYTES = 60_000  # of all VARCHARs of a table; 65535 is the limit of a row
HOLDS_NUL = True
HOLDS_INFINITY = False
NAME_BYTES = NAME_CHARACTERS  # here they are characters
FILE_BYTES = 250  # a table is a file, in whose name any but plain letters takes five bytes
SPACES = " \t\n\v\f\r"  # with which no name of MySQL 9 ends; it was asked about each character
KELVIN = "\u212a"  # alone in the basic plane its small letter, k, is shorter to MySQL 9; it was asked about all
RESERVED_COLUMNS = frozenset({"DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR", "FTS_DOC_ID"})  # InnoDB's own
ERRORS = (ServerError, Late)
NOT_ALLOWED = {  # what a key meets that the data or its types do not allow; any other error is a fault
    1062: "a value occurs twice",
    1138: "NULLs",
    1071: "values too long for an index",
    1170: "values too long for an index",
    1070: "too many columns for an index",
    1069: "too many indexes",
    1060: "a column occurs twice",
    1452: "values without a match there",
    3780: "the types differ",
    1822: "its target is no key",
    6125: "its target is no key",
    1215: "MySQL does not take it",
}
ACCESS_DENIED = 1227
WAIT = 3600.0  # seconds for a single statement of the loader
ROWS = 16384  # of a batch read back
ESCAPES = ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"))  # in this order
THREADS = 2  # tables of one database that load at a time


def cut(name: str, limit: int) -> str:
    """What MySQL holds of a name: no white space at the end, only characters of the basic plane, not NUL."""
    kept = "".join(letter if "\0" < letter <= "\uffff" else "_" for letter in name)
    return kept[:limit].rstrip(SPACES)


def cut_column(name: str, limit: int) -> str:
    """The same for a column, which ANALYZE TABLE writes down in lower case, at the length that it had in capitals."""
    return cut(name.replace(KELVIN, "_"), limit)


def cut_table(name: str, limit: int) -> str:
    """The same for a table, whose file's name is limited too."""
    kept = cut(name, limit)
    while sum(1 if letter.isascii() and (letter.isalnum() or letter == "_") else 5 for letter in kept) > FILE_BYTES:
        kept = kept[:-1].rstrip(SPACES)
    return kept


def fold_column(name: str) -> str:
    """Equal for names of columns that are one to MySQL, which compares them without case and accents."""
    letters = (unicodedata.normalize("NFD", letter)[0].upper() for letter in name)
    return "".join("S" if letter == "SS" else letter for letter in letters)


TABLE_NAMES = {"cut": cut_table}
COLUMN_NAMES = {"cut": cut_column, "fold": fold_column}


class Loader:
    """Connections to one database, for one thread at a time; a context manager."""

    def __init__(self, backend, database: str):
        with ExitStack() as stack:
            self._connection = stack.enter_context(closing(backend.connect(database)))
            self._rows = stack.enter_context(closing(backend.connect(database, local_infile=True)))
            self._source = TimedSocket(self._rows)
            self._stack = stack.pop_all()
        ask(self._connection, "SET SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION foreign_key_checks = 0")
        try:  # a table of 200 texts is refused for what its rows could be; a row that does not fit is refused anyway
            ask(self._connection, "SET SESSION innodb_strict_mode = OFF")
        except ServerError as error:
            if error.number != ACCESS_DENIED:  # somebody else's server may keep that to itself
                raise
        self._wait()
        ask(self._rows, "SET SESSION sql_mode = '', SESSION foreign_key_checks = 0, SESSION time_zone = '+00:00'")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self._stack.close()

    def create_tables(self, tables: Sequence[PlannedTable]) -> None:
        """Make the tables, with NOT NULL where it is declared and no NULL is stored."""
        known = {fold(table.source.name): table for table in tables}
        key_sizes = _key_sizes(tables, known)
        for table in tables:
            parts, sizes = [], _short_sizes(table, key_sizes)
            for column in table.columns:
                is_kept = column.source.is_not_null and column.values == table.rows
                kind = _type(column, sizes.get(column.source.name))
                parts.append(f"{quoted(column.engine_name)} {kind}{' NOT NULL' if is_kept else ''}")
                if column.source.is_not_null and not is_kept:
                    column.notes.append(f"NOT NULL dropped: {table.rows - column.values} NULLs")
            if _is_sure(table):
                parts.append(f"PRIMARY KEY ({_columns(table, table.source.primary_key)})")
            try:
                ask(
                    self._connection,
                    f"CREATE TABLE {_name(table)} ({', '.join(parts)})"
                    f" ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET {CHARSET} COLLATE {COLLATION}",
                )
            except ServerError as error:
                raise ServerError(error.number, f'table "{table.source.name}": {error.words}') from error

    def load(self, table: PlannedTable, rows: pa.RecordBatchReader) -> None:
        """Append the rows to the table, as they come."""
        sql = f"LOAD DATA LOCAL INFILE 'rows' INTO TABLE {_name(table)} CHARACTER SET binary"
        sizes = self._sizes(table)
        for batch in rows:
            for column in [column for column in table.columns if column.engine_name in sizes]:
                array = batch.column(column.engine_name)
                kind, size = sizes[column.engine_name]
                lengths = pc.utf8_length(array) if kind == "varchar" else pc.binary_length(array)
                if (pc.max(lengths).as_py() or 0) > size:
                    self._widen(table, column)
                    del sizes[column.engine_name]
            self._wait()
            if batch.num_rows and self._send(sql, batch):
                number, words = ask(self._rows, "SHOW WARNINGS")[0][1:]
                raise ServerError(number, words)

    def read(self, table: PlannedTable) -> Iterator[pa.RecordBatch]:
        """The rows that the server has, in any order; columns in the plan's order."""
        columns = ", ".join(quoted(column.engine_name) for column in table.columns)
        self._wait()
        send_query(self._rows, f"SELECT {columns} FROM {_name(table)}")
        fields, size = [], 0
        for row in read_rows(self._rows):
            fields += row
            size += sum(map(len, filter(None, row))) if table.size > BATCH_BYTES else 0
            if len(fields) >= ROWS * len(row) or size > BATCH_BYTES:
                yield _batch(table, fields)
                fields, size = [], 0
                self._wait()
        yield _batch(table, fields)

    def finish(self, table: PlannedTable) -> None:
        """Add the primary key if the data allows it (else a note says why not), and the optimizer's statistics."""
        key = table.source.primary_key
        if key and not self._is_key(table, key):
            what = f"primary key ({', '.join(key)})"
            if not _has_values(table, key):
                table.notes.append(f"{what} dropped: NULLs")
            else:
                self._add(table, f"PRIMARY KEY ({_columns(table, key)})", what)
        sizes = self._sizes(table)
        for column in table.columns:
            if column.engine_name in sizes:
                kind, size = sizes[column.engine_name]
                column.engine_type = kind if kind in MIDDLE_TYPES.values() else f"{kind}({size})"
        ask(self._connection, f"ANALYZE TABLE {_name(table)}")

    def add_foreign_keys(self, tables: Sequence[PlannedTable]) -> None:
        """Add foreign keys one by one, once all tables are finished; one that the data does not allow becomes a note.

        A foreign key's target that SQLite declares UNIQUE becomes so here too, since the server asks for it. What a
        key does on update or delete is not carried over: the copies are only read. The server would copy the whole
        table to check a key's values: a query does that, and the key is added unchecked.
        """
        known = {fold(table.source.name): table for table in tables}
        for table in tables:
            for key in table.source.foreign_keys:
                what = f"foreign key ({', '.join(key.columns)}) to {key.parent}"
                reason = self._add_foreign_key(table, key, known, what)
                if reason:
                    table.notes.append(f"{what} dropped: {reason}")

    def _send(self, sql: str, batch: pa.RecordBatch) -> int:
        try:
            return send_rows(self._rows, sql, [_text(batch)])
        except ServerError as error:
            if error.number == 3948:  # the default of a server that is not ours
                raise ServerError(3948, "it does not take rows: SET GLOBAL local_infile = 1 there") from error
            raise

    def _add_foreign_key(self, table: PlannedTable, key: ForeignKey, known: dict, what: str) -> str | None:
        parent, targets, reason = _target(key, known)
        if reason:
            return reason
        pairs = dict(zip(targets, key.columns, strict=True))
        declared = next(
            (names for names in (parent.source.primary_key, *parent.source.unique_keys) if set(names) == set(targets)),
            None,
        )
        if declared is None:
            return "its target is no key"
        if any(_column(parent, a).kind != _column(table, b).kind for a, b in pairs.items()):
            return "the types differ"
        if not self._is_key(parent, declared):
            if declared == parent.source.primary_key:
                return "its target is no key"
            self._add(parent, f"UNIQUE ({_columns(parent, declared)})", f"unique ({', '.join(declared)})")
            if not self._is_key(parent, declared):
                return "its target is no key"
        columns, others = [pairs[name] for name in declared], list(declared)
        matches = " AND ".join(
            f"c.{quoted(_column(table, a).engine_name)} = p.{quoted(_column(parent, b).engine_name)}"
            for a, b in zip(columns, others, strict=True)
        )
        values = " AND ".join(f"c.{quoted(_column(table, name).engine_name)} IS NOT NULL" for name in columns)
        orphan = (
            f"SELECT 1 FROM {_name(table)} AS c LEFT JOIN {_name(parent)} AS p ON {matches}"
            f" WHERE p.{quoted(_column(parent, others[0]).engine_name)} IS NULL AND {values} LIMIT 1"
        )
        if ask(self._connection, orphan):
            return "values without a match there"
        rule = f"FOREIGN KEY ({_columns(table, columns)}) REFERENCES {_name(parent)} ({_columns(parent, others)})"
        self._add(table, rule, what)
        return None

    def _add(self, table: PlannedTable, rule: str, what: str) -> None:
        try:
            ask(self._connection, f"ALTER TABLE {_name(table)} ADD {rule}")
        except ServerError as error:
            if error.number not in NOT_ALLOWED:
                raise
            table.notes.append(f"{what} dropped: {NOT_ALLOWED[error.number]}")

    def _widen(self, table: PlannedTable, column: PlannedColumn) -> None:
        """Give a column the largest type; a primary key on it is dropped if it is there."""
        name = column.source.name
        changes = ["DROP PRIMARY KEY"] if name in table.source.primary_key and _is_sure(table) else []
        if changes and not self._is_key(table, table.source.primary_key):
            changes = []
        is_kept = column.source.is_not_null and column.values == table.rows
        changes.append(f"MODIFY {quoted(column.engine_name)} {TYPES[column.kind]}{' NOT NULL' if is_kept else ' NULL'}")
        ask(self._connection, f"ALTER TABLE {_name(table)} {', '.join(changes)}")

    def _sizes(self, table: PlannedTable) -> dict[str, tuple[str, int]]:
        """Columns that are not of the largest type -> type and characters (of a VARCHAR) or bytes it holds."""
        sql = (
            "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name = %s"
            " AND data_type IN ('varchar', 'varbinary', 'text', 'blob')"
        )
        return {name: (kind, size) for name, kind, size in ask(self._connection, sql, (table.engine_name,))}

    def _is_key(self, table: PlannedTable, names: Sequence[str]) -> bool:
        """Whether exactly these columns, in this order, are a unique index."""
        sql = (
            "SELECT index_name, column_name FROM information_schema.statistics WHERE table_schema = DATABASE()"
            " AND table_name = %s AND non_unique = 0 ORDER BY index_name, seq_in_index"
        )
        indexes: dict[str, list[str]] = {}
        for index, name in ask(self._connection, sql, (table.engine_name,)):
            indexes.setdefault(index, []).append(name)
        return [_column(table, name).engine_name for name in names] in indexes.values()

    def _wait(self) -> None:
        self._source.allow(time.monotonic() + WAIT, None)


def _key_sizes(tables: Sequence[PlannedTable], known: dict) -> dict[tuple[str, str], int]:
    """(table, column) -> how many characters or bytes a text or blob in a key may have, so that the key fits."""
    keys: list[tuple[PlannedTable, Sequence[str]]] = []
    for table in tables:
        keys.append((table, table.source.primary_key))
        for key in table.source.foreign_keys:
            parent, targets, reason = _target(key, known)
            if not reason:
                keys += [(table, key.columns), (parent, targets)]
    sizes: dict[tuple[str, str], int] = {}
    for table, names in keys:
        columns = [_column(table, name) for name in names]
        long = [column for column in columns if column.kind in ("text", "blob")]
        for column in long:
            size = (KEY_BYTES - 8 * (len(columns) - len(long))) // len(long) // (4 if column.kind == "text" else 1)
            place = (table.source.name, column.source.name)
            sizes[place] = min(size, sizes.get(place, size))
    for table in tables:
        mine = [place for place in sizes if place[0] == table.source.name]
        for place in mine:
            width = 4 if _column(table, place[1]).kind == "text" else 1
            sizes[place] = min(sizes[place], ROW_BYTES // len(mine) // width)
    return sizes


def _is_sure(table: PlannedTable) -> bool:
    """Whether SQLite's own key vouches for a primary key: no NULL, nothing that was changed."""
    key = table.source.primary_key
    return (
        bool(key)
        and len(key) <= 16
        and _has_values(table, key)
        and all(
            set(_column(table, name).stored) <= {_column(table, name).kind} and _column(table, name).kind != "real"
            for name in key
        )
    )


def _has_values(table: PlannedTable, names: Sequence[str]) -> bool:
    return all(_column(table, name).values == table.rows for name in names)


def _target(key: ForeignKey, known: dict) -> tuple[PlannedTable | None, tuple[str, ...], str | None]:
    """The table and columns that a foreign key points to, or why it points nowhere."""
    parent = known.get(fold(key.parent))
    if parent is None:
        return None, (), "there is no such table"
    spelled = {fold(column.source.name): column.source.name for column in parent.columns}
    targets = tuple(spelled.get(fold(name), name) for name in key.parent_columns) or parent.source.primary_key
    if len(targets) != len(key.columns) or not set(targets) <= set(spelled.values()):
        return parent, (), "there are no such columns"
    return parent, targets, None


def _short_sizes(table: PlannedTable, key_sizes: dict[tuple[str, str], int]) -> dict[str, int]:
    """Column -> characters or bytes, for those in keys and as many others of short values as a row has room for."""
    sizes = {name: size for (owner, name), size in key_sizes.items() if owner == table.source.name}
    room = ROW_BYTES - 12 * len(table.columns) - sum(4 * size for size in sizes.values())
    for column in table.columns:
        is_short = column.kind == "text" and column.longest <= SHORT
        if is_short and column.source.name not in sizes and room >= 4 * SHORT:
            sizes[column.source.name] = SHORT
            room -= 4 * SHORT
    return sizes


def _type(column: PlannedColumn, size: int | None) -> str:
    if size is not None:
        return f"{SHORT_TYPES[column.kind]}({size})"
    is_middle = column.kind in MIDDLE_TYPES and column.longest <= MIDDLE[column.kind]
    return (MIDDLE_TYPES if is_middle else TYPES)[column.kind]


def _text(batch: pa.RecordBatch) -> memoryview:
    """The rows as LOAD DATA reads them: tabs between fields, a line each, backslash before what would be neither."""
    fields = []
    for array in batch.columns:
        if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
            array = array.cast(pa.binary())
            content = array.buffers()[2]
            for special, escaped in ESCAPES:
                if content is not None and special in memoryview(content).tobytes():
                    array = pc.replace_substring(array, special, escaped)
        else:
            array = array.cast(pa.string()).cast(pa.binary())
        fields.append(pc.fill_null(array, b"\\N"))
    lines = pc.binary_join_element_wise(*fields, b"\t") if len(fields) > 1 else fields[0]
    lines = pc.binary_join_element_wise(lines, b"", b"\n")
    _, offsets, content = lines.buffers()
    bounds = memoryview(offsets).cast("i")
    return memoryview(content)[bounds[lines.offset] : bounds[lines.offset + len(lines)]]


def _batch(table: PlannedTable, fields: list[bytes | None]) -> pa.RecordBatch:
    """Rows as the server wrote them, field by field, in the planned types."""
    arrays = []
    for position, column in enumerate(table.columns):
        array = pa.array(fields[position :: len(table.columns)], pa.binary())
        if column.kind != "blob":
            array = array.cast(pa.string()).cast(ARROW_TYPES[column.kind])
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def _column(table: PlannedTable, name: str) -> PlannedColumn:
    return next(column for column in table.columns if column.source.name == name)


def _columns(table: PlannedTable, names: Sequence[str]) -> str:
    return ", ".join(quoted(_column(table, name).engine_name) for name in names)


def _name(table: PlannedTable) -> str:
    return quoted(table.engine_name)
