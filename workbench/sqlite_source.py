"""Opens a benchmark's SQLite file for copying, and says what is in it; the file is hostile until proven otherwise.

In: the path of a .sqlite file. Out: read-only connections, a hash of the content, and the tables with their columns and
keys as SQLite itself reports them: more than a `Schema` holds, since a copy must also know what it cannot carry over
(keys that point nowhere, generated columns, views). Nothing here trusts the text of the schema: names are always quoted, declared types
are only looked at, and functions that could reach outside are off (`trusted_schema`).
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

from workbench import paths
from workbench.errors import BenchmarkError, MigrationError
from workbench.results import content_hash, write_cached
from workbench.schema import Schema, open_read_only

VALUE_BYTES = 256 * 2**20  # the largest single value read; a generated column could ask for any size
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True)
class Column:
    """key_position: place in the primary key from 1, 0 if not part of it."""

    name: str
    declared_type: str
    is_not_null: bool
    is_generated: bool
    key_position: int


@dataclass(frozen=True)
class ForeignKey:
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]  # empty: the parent's primary key


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...]
    unique_keys: tuple[tuple[str, ...], ...]  # besides the primary key

    @property
    def primary_key(self) -> tuple[str, ...]:
        return tuple(c.name for c in sorted(self.columns, key=lambda c: c.key_position) if c.key_position)


def fold(name: str) -> str:
    """A name as SQLite compares it: only ASCII letters have a case."""
    return name.translate(_ASCII_LOWER)


def quote(name: str) -> str:
    """An identifier in double quotes, for SQLite and every engine that follows the standard."""
    return '"' + name.replace('"', '""') + '"'


def uri(path: Path) -> str:
    """The address under which SQLite opens a file read-only and leaves nothing beside it.

    `immutable` takes no locks and makes no -shm file, which a read-only folder would refuse; it also ignores a -wal or
    -journal file, so it is asked for only where neither holds anything.
    """
    is_settled = not any(_size(_beside(path, suffix)) for suffix in ("-wal", "-journal"))
    return f"{paths.real(path).as_uri()}?mode=ro{'&immutable=1' if is_settled else ''}"


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection; whatever is wrong with the file becomes a MigrationError."""
    try:
        with closing(open_read_only(path)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
            yield connection
    except sqlite3.Error as error:
        raise MigrationError(f"SQLite cannot read it: {error}", where=path) from error
    except BenchmarkError as error:
        raise MigrationError(error.what, where=error.where, hint=error.hint) from error


def database_hash(path: str | Path) -> str:
    """A hash of a database's bytes, journals beside it included; kept in the cache until a size, time or file changes."""
    path = paths.real(path)
    if not path.is_file():
        raise MigrationError("there is no such database file", where=path)
    files = [file for file in (path, *(_beside(path, suffix) for suffix in ("-wal", "-journal"))) if _size(file)]
    note = paths.cache_path("hashes") / content_hash([[str(file), *_stamp(file)] for file in files])
    if note.is_file() and len(known := note.read_text()) == 64:
        return known
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    write_cached(note, digest.hexdigest().encode())  # without it the file is read again next time
    return digest.hexdigest()


def with_stored_kinds(schema: Schema, path: str | Path) -> Schema:
    """`schema.with_stored_kinds(path)`, its scan of every table kept in the cache for as long as the file is the same."""
    note = paths.cache_dir("stored_values") / content_hash(database_hash(path), [table.name for table in schema.tables])
    try:
        stored = json.loads(note.read_bytes())
    except (FileNotFoundError, ValueError):
        schema = schema.with_stored_kinds(path)
        stored = [
            [(column.stored, column.largest, column.times) for column in table.columns] for table in schema.tables
        ]
        write_cached(note, json.dumps(stored).encode())
        return schema
    tables = [
        replace(
            table,
            columns=tuple(
                replace(one, stored=kind, largest=largest, times=times)
                for one, (kind, largest, times) in zip(table.columns, found, strict=True)
            ),
        )
        for table, found in zip(schema.tables, stored, strict=True)
    ]
    return Schema(tuple(tables))


def read_tables(connection: sqlite3.Connection) -> tuple[list[Table], list[tuple[str, str]]]:
    """The tables in the file, and what is not a table of rows as (name, what it is): views, triggers, virtual tables.

    SQLite's own tables (`sqlite_sequence`, `sqlite_stat1`, ...) are in neither list.
    """
    tables, others = [], []
    entries = connection.execute("SELECT type, name, rootpage FROM sqlite_master WHERE type <> 'index' ORDER BY rowid")
    for kind, name, root_page in entries.fetchall():
        if fold(name).startswith("sqlite_"):
            continue
        if kind != "table" or not root_page:
            others.append((name, kind if kind != "table" else "virtual table"))
            continue
        tables.append(_read_table(connection, name))
    return tables, others


def _read_table(connection: sqlite3.Connection, name: str) -> Table:
    # hidden: 2 and 3 are generated columns, virtual and stored
    rows = connection.execute('SELECT name, type, "notnull", hidden, pk FROM pragma_table_xinfo(?)', (name,)).fetchall()
    columns = tuple(
        Column(column, declared or "", bool(not_null), hidden in (2, 3), position)
        for column, declared, not_null, hidden, position in rows
    )
    spelled = {fold(column.name): column.name for column in columns}
    keys: dict[int, list[tuple[str, str, str | None]]] = {}
    query = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq'
    for number, parent, column, target in connection.execute(query, (name,)).fetchall():
        keys.setdefault(number, []).append((spelled[fold(column)], parent, target))
    foreign_keys = tuple(
        ForeignKey(tuple(c for c, _, _ in parts), parts[0][1], tuple(t for _, _, t in parts if t is not None))
        for parts in keys.values()
    )
    unique = connection.execute(
        "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND NOT partial AND origin <> 'pk'", (name,)
    ).fetchall()
    indexed = [connection.execute("SELECT name FROM pragma_index_info(?)", index).fetchall() for index in unique]
    unique_keys = tuple(tuple(c for (c,) in key) for key in indexed if all(c is not None for (c,) in key))
    return Table(name, columns, foreign_keys, unique_keys)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _stamp(path: Path) -> tuple[int, int, int]:
    facts = os.stat(path)
    return facts.st_size, facts.st_mtime_ns, facts.st_ino
