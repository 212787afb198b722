"""A few values of every column of an SQLite database, for prompts: what a model cannot know from names and types.

In: the database file, its schema. Out: SQL constants by (table, column): the first distinct ones of the first rows, so the
same file always gives the same. Kept in the cache for as long as the file is the same.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from workbench import paths
from workbench.prompts import Samples
from workbench.results import content_hash, write_cached
from workbench.schema import Schema, open_read_only
from workbench.sqlite_source import database_hash, quote

SAMPLES = 3  # values a column
ROWS = 1000  # rows that are looked at
LENGTH = 40  # characters of a text; longer ones are no help to spell a condition


def sample_values(path: str | Path, schema: Schema) -> Samples:
    """SQL constants for each column that has any: numbers, and texts of up to LENGTH characters; never blobs."""
    version = content_hash(1, SAMPLES, ROWS, LENGTH)
    note = paths.cache_path("samples") / content_hash(version, database_hash(path), [t.name for t in schema.tables])
    if note.is_file():
        try:
            return {(table, column): values for table, column, values in json.loads(note.read_text("utf-8"))}
        except ValueError:
            pass  # damaged: it is made again
    found: Samples = {}
    with closing(open_read_only(Path(path))) as connection:
        for table in schema.tables:
            for column in table.columns:
                values = _values(connection, table.name, column.name)
                if values:
                    found[table.name, column.name] = values
    write_cached(note, json.dumps([[*key, values] for key, values in found.items()], ensure_ascii=False).encode())
    return found


def _values(connection: sqlite3.Connection, table: str, column: str) -> list[str]:
    sql = (
        f"SELECT DISTINCT v FROM (SELECT {quote(column)} AS v FROM {quote(table)} LIMIT {ROWS})"
        f" WHERE typeof(v) IN ('integer', 'real') OR (typeof(v) = 'text' AND length(v) BETWEEN 1 AND {LENGTH})"
        f" LIMIT {SAMPLES}"
    )
    try:
        rows = connection.execute(sql).fetchall()
    except (sqlite3.Error, UnicodeError):  # a text that is not UTF-8, a generated column that fails: no sample
        return []
    return [_constant(value) for (value,) in rows]


def _constant(value: object) -> str:
    if isinstance(value, str):
        return "'" + " ".join(value.split()).replace("'", "''") + "'"
    return str(value)
