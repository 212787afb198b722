"""What a database consists of: tables, columns, keys, and what the benchmark says about them.

In: an SQLite file, or a database's entry in tables.json where its contents are absent; column descriptions as BIRD and
KaggleDBQA give them. Out: a `Schema`, the same for prompts, migration and plans. Database files are hostile input: they
are opened read-only, and only their catalogue is read.
"""

import csv
import io
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from workbench import paths
from workbench.declared_collations import declared_collations
from workbench.errors import BenchmarkError
from workbench.records import clean_text, decode_leniently, kind_of, read_bytes

_SCAN_COLUMNS = 330  # times six; SQLite gives 2000 results at most
SQLITE_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True)
class Column:
    """type: as declared, in the database's own words ("" where none). Names and descriptions are the benchmark's, or None.

    stored: the kind that holds all stored values (Schema.with_stored_kinds), None where nobody looked or nothing is stored.
    largest: the largest absolute value stored, of a text that of the number it begins with; None where nobody looked.
    collation: as declared, in lower case; None for the binary one.
    times: of texts, "forms" where some are times that are not written YYYY-MM-DD HH:MM:SS.SSS or a part of it (Julian days, time
    zones), "days" where some days are past their month's end; else None.
    """

    name: str
    type: str
    is_nullable: bool = True
    natural_name: str | None = None
    description: str | None = None
    value_description: str | None = None
    stored: str | None = None
    largest: float | None = None
    times: str | None = None
    collation: str | None = None

    @property
    def kind(self) -> str:
        """What engines with typed columns hold it as: integer, real, text or blob."""
        return self.stored or declared_kind(self.type)

    @property
    def affinity(self) -> str:
        """SQLite's affinity of the declared type (datatype3.html, 3.1): integer, text, blob, real or numeric."""
        return affinity_of(self.type)

    @property
    def numbers(self) -> str | None:
        """What SQLite stores in it where typed engines hold reals, one of number_kinds.KINDS."""
        kinds = {"real": "real", "numeric": "whole", "integer": "whole"}
        return kinds.get(self.affinity, "open") if self.kind == "real" else None


def affinity_of(declared: str) -> str:
    """The affinity of a declared type; the rules apply in this order (datatype3.html, 3.1)."""
    words = declared.upper()
    if "INT" in words:
        return "integer"
    if any(part in words for part in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if "BLOB" in words or not words.strip():
        return "blob"
    if any(part in words for part in ("REAL", "FLOA", "DOUB")):
        return "real"
    return "numeric"


def declared_kind(declared_type: str) -> str:
    """The kind that a column's declared type leads one to expect; SQLite's affinity rules, with dates as text.

    Without a type: text. Numeric affinity (DECIMAL, BOOLEAN, NUMERIC, ...): real, save BOOLEAN.
    https://www.sqlite.org/datatype3.html#determination_of_column_affinity
    """
    declared = declared_type.lower()
    if "int" in declared or "bool" in declared:
        return "integer"
    if not declared or any(part in declared for part in ("char", "clob", "text", "date", "time")):
        return "text"
    return "blob" if "blob" in declared else "real"


@dataclass(frozen=True)
class ForeignKey:
    """columns and target_columns pair up. is_declared: in the database's own DDL, not only in tables.json."""

    columns: tuple[str, ...]
    target_table: str
    target_columns: tuple[str, ...]
    is_declared: bool = True


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    natural_name: str | None = None

    @property
    def never_null(self) -> frozenset[str]:
        """Names of columns that SQLite lets hold no NULL: declared NOT NULL, or the row number's other name."""
        found = {column.name for column in self.columns if not column.is_nullable}
        if len(self.primary_key) == 1:
            found |= {
                one.name for one in self.columns if one.name in self.primary_key and one.type.upper() == "INTEGER"
            }
        return frozenset(found)

    def column(self, name: str) -> Column | None:
        """The column of a name, in any case, or None."""
        return next((column for column in self.columns if _same(column.name, name)), None)


@dataclass(frozen=True)
class Schema:
    """Tables in the order in which the database lists them."""

    tables: tuple[Table, ...]

    def table(self, name: str) -> Table | None:
        """The table of a name, in any case, or None."""
        return next((table for table in self.tables if _same(table.name, name)), None)

    @property
    def collations(self) -> dict[str, str | None]:
        """Every column's name in lower case, and the collation that all columns of this name are declared with, if any."""
        found: dict[str, set[str | None]] = {}
        for table in self.tables:
            for column in table.columns:
                found.setdefault(column.name.lower(), set()).add(column.collation)
        return {name: each.pop() if len(each) == 1 else None for name, each in found.items()}

    @classmethod
    def from_sqlite(cls, path: str | Path) -> "Schema":
        """The schema of an SQLite file; SQLite's own tables (sqlite_sequence, ...) and views are left out.

        A foreign key without target columns means the target's primary key. Keys whose target does not exist are
        left out: SQLite accepts them, nothing else does. Raises BenchmarkError for a missing, foreign or damaged file.
        """
        path = Path(path)
        try:
            with closing(open_read_only(path)) as connection:
                names = [row[0] for row in connection.execute(_TABLES)]
                columns, keys = connection.execute(_COLUMNS).fetchall(), connection.execute(_FOREIGN_KEYS).fetchall()
                collated = connection.execute(_COLLATED).fetchall()
        except sqlite3.Error as fault:
            raise BenchmarkError(f"damaged SQLite database: {fault}", where=path) from fault
        tables = {name: [row[1:] for row in columns if row[0] == name] for name in names}
        collations = {name: declared_collations(sql) for name, sql in collated}
        schema = cls(tuple(_sqlite_table(name, rows, collations.get(name, {})) for name, rows in tables.items()))
        declared: dict[tuple[str, int], list[tuple]] = {}
        for table, number, target, column, target_column in keys:
            declared.setdefault((table, number), []).append((target, column, target_column))
        found = [(table, _sqlite_key(schema, rows)) for (table, _), rows in declared.items()]
        return schema.with_foreign_keys([(table, key) for table, key in found if key])

    @classmethod
    def from_tables_json(cls, entry: dict) -> "Schema":
        """The schema as one entry of tables.json states it (Spider's form; also BIRD's and KaggleDBQA's).

        BIRD lists a key of several columns as a list of indices, Spider names only its first column. Types are
        the file's words ("number", "integer", ...). Raises BenchmarkError naming the database and the bad field.
        """
        where = (
            f"tables.json, {entry.get('db_id', 'entry without db_id')}" if isinstance(entry, dict) else "tables.json"
        )
        try:
            return _parse_tables_entry(entry)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as fault:
            what = f"no field {fault}" if isinstance(fault, KeyError) else f"not a schema: {fault}"
            raise BenchmarkError(what, where=where, hint="as Spider's tables.json") from fault

    def with_stored_kinds(self, path: str | Path) -> "Schema":
        """This schema, each column with the kind that the migration chooses from its values (column_types' table), and the largest.

        One scan of each table. Plans for typed engines need it where values are not of the declared type.
        Raises BenchmarkError for a missing or damaged database.
        """
        path = Path(path)
        try:
            with closing(open_read_only(path)) as connection:
                return Schema(tuple(_with_stored_kinds(connection, table) for table in self.tables))
        except sqlite3.Error as fault:
            raise BenchmarkError(f"damaged SQLite database: {fault}", where=path) from fault

    def with_foreign_keys(self, keys: list[tuple[str, ForeignKey]]) -> "Schema":
        """The schema with further (table name, key) pairs; repeated ones are dropped."""
        tables = []
        for table in self.tables:
            found = {_key_identity(key): key for key in table.foreign_keys}
            for owner, key in keys:
                if owner == table.name:
                    found.setdefault(_key_identity(key), key)
            tables.append(replace(table, foreign_keys=tuple(found.values())))
        return Schema(tuple(tables))

    def annotated(self, stated: "Schema") -> "Schema":
        """This schema with what tables.json adds: natural names, descriptions, and keys that the DDL lacks."""
        tables, keys = [], []
        for table in self.tables:
            other = stated.table(table.name)
            if other is None:
                tables.append(table)
                continue
            columns = tuple(_annotated_column(column, other.column(column.name)) for column in table.columns)
            stated_key = tuple(column.name for name in other.primary_key if (column := table.column(name)))
            natural = table.natural_name or other.natural_name
            primary_key = table.primary_key or stated_key
            tables.append(replace(table, columns=columns, natural_name=natural, primary_key=primary_key))
            for key in other.foreign_keys:
                resolved = _resolve_key(self, table, key.columns, key.target_table, key.target_columns)
                keys += [(table.name, replace(resolved, is_declared=False))] if resolved else []
        return Schema(tuple(tables)).with_foreign_keys(keys)

    def described(self, notes: dict[tuple[str, str], Column]) -> "Schema":
        """This schema with the descriptions that `read_descriptions` gives."""
        tables = []
        for table in self.tables:
            found = [notes.get((_loose(table.name), _loose(column.name))) for column in table.columns]
            columns = tuple(_annotated_column(column, note) for column, note in zip(table.columns, found, strict=True))
            tables.append(replace(table, columns=columns))
        return Schema(tuple(tables))


# 2 for a time in a form of its own: a number, a zone, blanks; 1 for a day that there is not, or 24:00. CASE looks no further
# than it must, AND does
_ODD_TIME = """
    CASE WHEN typeof({0}) <> 'text' THEN 0
    WHEN {0} NOT BETWEEN ' ' AND '9~' THEN 0
    WHEN {0} GLOB '????-??-??' OR {0} GLOB '????-??-?? ??:??:??' THEN
        CASE WHEN substr({0}, 9, 2) > '28' OR substr({0}, 12, 2) = '24' THEN date(julianday({0})) <> substr({0}, 1, 10) END
    WHEN julianday({0}) IS NULL THEN 0
    WHEN {0} NOT GLOB '*[0-9][-:][0-9]*' OR {0} GLOB '*[Zz+ ]' OR {0} GLOB '*+*' OR {0} GLOB '*  *' OR {0} GLOB '-*'
        OR substr({0}, 11) GLOB '*-*' THEN 2
    WHEN {0} GLOB '????-??-??*' THEN date(julianday({0})) <> substr({0}, 1, 10) END
"""
_MEASURES = ("max(abs(CAST({0} AS REAL)))", f"max({_ODD_TIME})")
_USER_TABLES = "FROM sqlite_master AS m {} WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_TABLES = f"SELECT m.name {_USER_TABLES.format('')} ORDER BY m.rowid"
_COLUMNS = (  # hidden = 1: a virtual table's argument columns; 2 and 3: generated columns, which are read like others
    'SELECT m.name, c.name, c.type, c."notnull", c.pk '
    f"{_USER_TABLES.format('JOIN pragma_table_xinfo(m.name) AS c')} AND c.hidden <> 1 ORDER BY m.rowid, c.cid"
)
_COLLATED = f"SELECT m.name, m.sql {_USER_TABLES.format('')} AND m.sql LIKE '%collate%'"
_FOREIGN_KEYS = (  # SQLite numbers a table's keys from the last declared one
    'SELECT m.name, k.id, k."table", k."from", k."to" '
    f"{_USER_TABLES.format('JOIN pragma_foreign_key_list(m.name) AS k')} ORDER BY m.rowid, k.id DESC, k.seq"
)


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot change the file, trusts nothing in its schema and decodes broken text with U+FFFD.

    Raises BenchmarkError for a file that is not there or not an SQLite database; sqlite3.Error for a damaged one.
    """
    check_sqlite_file(path)
    # immutable: no locks and no -shm file, so that a read-only folder works; a write-ahead log must be read, though
    wal = path.with_name(path.name + "-wal")
    mode = "mode=ro" if wal.exists() and wal.stat().st_size else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{paths.real(path).as_uri()}?{mode}", uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def check_sqlite_file(path: Path) -> None:
    """Raise BenchmarkError unless the file is there, begins as an SQLite database does and is as long as it says.

    SQLite itself reads NULL where a cut file's pages are missing (https://www.sqlite.org/fileformat.html, 1.3.7).
    """
    if not path.is_file():
        raise BenchmarkError("is a folder" if path.is_dir() else "there is no such database file", where=path)
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as fault:
        raise BenchmarkError(f"cannot be read: {fault.strerror}", where=path) from fault
    if not head:
        raise BenchmarkError("empty file, not an SQLite database", where=path)
    if not head.startswith(SQLITE_MAGIC):
        hint = "a Git LFS pointer: fetch the file itself" if head.startswith(b"version https://git-lfs") else None
        raise BenchmarkError("not an SQLite database", where=path, hint=hint)
    size, whole = path.stat().st_size, _stated_size(head)
    beside = [Path(f"{paths.real(path)}{end}") for end in ("-wal", "-journal")]  # they may hold what is not yet in it
    if size < whole and not any(file.is_file() and file.stat().st_size for file in beside):
        raise BenchmarkError(f"cut short: {size} of {whole} bytes", where=path, hint="copy or unpack it again")


def _stated_size(head: bytes) -> int:
    """Bytes of a database by its header, 0 where it does not say: after a writer that did not keep the page count."""
    page, changes, pages, valid_for = (
        int.from_bytes(head[at : at + n]) for at, n in ((16, 2), (24, 4), (28, 4), (92, 4))
    )
    return pages * (65536 if page == 1 else page) if changes == valid_for else 0


def read_descriptions(files: list[Path]) -> dict[tuple[str, str], Column]:
    """BIRD's column descriptions: (table, column) in `_loose` form -> a Column with natural name and descriptions.

    files: database_description/<table>.csv, in any encoding and in another case than the table's. Rows are read as far
    as they go: a file without the usual header or a short row describes nothing.
    """
    csv.field_size_limit(sys.maxsize)
    notes = {}
    for file in files:
        text = decode_leniently(read_bytes(file, BenchmarkError)).replace("\0", "")
        try:
            rows = list(csv.DictReader(io.StringIO(text, newline="")))
        except csv.Error as fault:
            raise BenchmarkError(f"not CSV: {fault}", where=file) from fault
        for row in rows:
            cells = {str(key).strip().lower(): _tidy(value) for key, value in row.items()}
            name = cells.get("original_column_name")
            if name:
                note = Column(
                    name,
                    "",
                    True,
                    cells.get("column_name"),
                    cells.get("column_description"),
                    cells.get("value_description"),
                )
                notes.setdefault((_loose(file.stem), _loose(name)), note)
    return notes


def _sqlite_table(name: str, rows: list[tuple], collations: dict[str, str]) -> Table:
    """rows: (column, declared type, notnull, place in the primary key or 0). collations: column -> what it is declared with."""
    key = tuple(column for _, column in sorted((place, column) for column, _, _, place in rows if place))
    # SQLite lets primary keys be NULL, save the one-column INTEGER one, which is the row's number
    is_rowid = len(key) == 1
    columns = tuple(
        Column(
            column,
            kind or "",
            not (notnull or (is_rowid and place and (kind or "").upper() == "INTEGER")),
            collation=collations.get(column.lower()),
        )
        for column, kind, notnull, place in rows
    )
    return Table(name, columns, key)


def _sqlite_key(schema: Schema, rows: list[tuple]) -> ForeignKey | None:
    """rows: (target table, column, target column or None) of one declared key, in order."""
    target = schema.table(rows[0][0])
    columns = tuple(column for _, column, _ in rows)
    there = tuple(column for _, _, column in rows if column is not None) or (target.primary_key if target else ())
    return _make_key(target, columns, there)


def _make_key(target: Table | None, columns: tuple[str, ...], there: tuple[str, ...]) -> ForeignKey | None:
    """The key in the tables' own spelling, or None where it points at nothing."""
    found = [target.column(name) for name in there] if target else []
    if not found or None in found or len(found) != len(columns):
        return None
    return ForeignKey(columns, target.name, tuple(column.name for column in found))


def _resolve_key(schema: Schema, table: Table, columns: tuple, target: str, there: tuple) -> ForeignKey | None:
    here = [table.column(name) for name in columns]
    return None if None in here else _make_key(schema.table(target), tuple(column.name for column in here), there)


def _key_identity(key: ForeignKey) -> tuple:
    return tuple(map(str.lower, key.columns)), key.target_table.lower(), tuple(map(str.lower, key.target_columns))


def _annotated_column(column: Column, note: Column | None) -> Column:
    if note is None:
        return column
    fields = ("natural_name", "description", "value_description")
    return replace(column, **{field: getattr(column, field) or getattr(note, field) for field in fields})


def _parse_tables_entry(entry: dict) -> Schema:
    if not isinstance(entry, dict):
        raise TypeError(f"{kind_of(entry)} where an object is wanted")
    names, natural_tables = entry["table_names_original"], entry.get("table_names") or []
    columns, kinds = entry["column_names_original"], entry["column_types"]
    for field, values in (("table_names_original", names), ("column_names_original", columns), ("column_types", kinds)):
        if not isinstance(values, list):
            raise TypeError(f"{field} is {kind_of(values)}, a list is wanted")
    if not all(isinstance(name, str) for name in names):
        raise TypeError("table_names_original holds something else than text")
    natural, notes = entry.get("column_names") or [], entry.get("column_descriptions") or []
    values = entry.get("value_enums") or []
    if len(kinds) < len(columns):
        raise ValueError(f"{len(columns)} columns and {len(kinds)} types")
    owners: list[str | None] = []  # by column index; None for "*"
    found: dict[str, list[Column]] = {name: [] for name in names}
    for index, (table, name) in enumerate(columns):
        if not isinstance(table, int) or not isinstance(name, str) or table >= len(names):
            raise ValueError(f"column {index} is {[table, name]!r:.80}")
        owners.append(names[table] if table >= 0 else None)
        if table >= 0:
            stated = natural[index][1] if index < len(natural) else None
            column = Column(
                clean_text(name),
                _tidy(kinds[index]) or "",
                True,
                _tidy(stated),
                _note(notes, index),
                _note(values, index),
            )
            found[names[table]].append(column)
    columns = [name for _, name in columns]
    keys: dict[str, tuple[str, ...]] = {}
    for item in entry.get("primary_keys") or []:
        indices = item if isinstance(item, list) else [item]
        if indices and owners[indices[0]]:
            keys.setdefault(owners[indices[0]], tuple(columns[index] for index in indices))
    tables = tuple(
        Table(
            clean_text(name),
            tuple(found[name]),
            keys.get(name, ()),
            (),
            _tidy(natural_tables[i]) if i < len(natural_tables) else None,
        )
        for i, name in enumerate(names)
        if not name.lower().startswith("sqlite_")
    )
    schema, foreign = Schema(tables), []
    for here, there in entry.get("foreign_keys") or []:
        target = schema.table(owners[there]) if owners[there] else None
        key = _make_key(target, (columns[here],), (columns[there],))
        foreign += [(owners[here], replace(key, is_declared=False))] if key else []
    return schema.with_foreign_keys(foreign)


def _note(values: object, index: int) -> str | None:
    """A parallel list's text at an index; KaggleDBQA's value_enums hold other things than text, spelled out here."""
    value = values[index] if isinstance(values, list) and index < len(values) else None
    if isinstance(value, dict):
        value = "; ".join(f"{key}: {text}" for key, text in value.items())
    elif isinstance(value, list):
        value = "; ".join(map(str, value))
    return _tidy(value)


def _tidy(value: object) -> str | None:
    return (clean_text(value).strip() or None) if isinstance(value, str) else None


def _loose(name: str) -> str:
    return " ".join(name.lower().split())


def _with_stored_kinds(connection: sqlite3.Connection, table: Table) -> Table:
    names = ['"' + column.name.replace('"', '""') + '"' for column in table.columns]
    source = '"' + table.name.replace('"', '""') + '"'
    columns = []
    for start in range(0, len(names), _SCAN_COLUMNS):
        kinds = ("text", "blob", "real", "integer")  # any text makes a text column, and so on
        tests = ", ".join(
            ", ".join(
                [*(f"max(typeof({name}) = '{kind}')" for kind in kinds), *(one.format(name) for one in _MEASURES)]
            )
            for name in names[start : start + _SCAN_COLUMNS]
        )
        found = connection.execute(f"SELECT {tests} FROM {source}").fetchone()
        for number, column in enumerate(table.columns[start : start + _SCAN_COLUMNS]):
            *is_there, largest, odd = found[number * 6 : number * 6 + 6]
            stored = [kind for kind, is_stored in zip(kinds, is_there, strict=True) if is_stored]
            times = (None, "days", "forms")[odd or 0]
            columns.append(replace(column, stored=stored[0] if stored else None, largest=largest or 0.0, times=times))
    return replace(table, columns=tuple(columns))


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()
