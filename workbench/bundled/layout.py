"""Writes the bundled benchmark in the layout in which BIRD is downloaded, both of its parts into one folder.

In: the sources. Out: dev.json, dev.sql, dev_tables.json and, per database, dev_databases/<db>/<db>.sqlite with
database_description/<table>.csv; train.json, train_gold.sql, train_tables.json and train_databases/ likewise. The
questions to train on are about the same databases. Both files of questions have three keys that BIRD's have not:
is_ordered, is_row_count_fixed, ties.
"""

import csv
import json
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from workbench.bundled.sources import Source, read_sources
from workbench.errors import BenchmarkError

DESCRIPTION_HEADER = ("original_column_name", "column_name", "column_description", "data_format", "value_description")


def write_layout(folder: Path) -> None:
    """Writes all files into an existing empty folder; the same sources give the same contents."""
    sources = read_sources()
    schemas = []
    for source in sources:
        database = folder / "dev_databases" / source.db_id
        (database / "database_description").mkdir(parents=True)
        with closing(sqlite3.connect(database / f"{source.db_id}.sqlite")) as connection:
            _load(connection, source)
            columns = _columns(connection)
            schemas.append(_tables_entry(connection, source, columns))
        _write_descriptions(database / "database_description", source, columns)
    shutil.copytree(folder / "dev_databases", folder / "train_databases")
    golds = {"dev": "dev.sql", "train": "train_gold.sql"}  # BIRD's names
    for split, file in golds.items():
        questions = _by_id(q for source in sources for q in (source.questions if split == "dev" else source.train))
        _write_json(folder / f"{split}.json", questions)
        _write_json(folder / f"{split}_tables.json", schemas)
        lines = "".join(f"{question['SQL']}\t{question['db_id']}\n" for question in questions)
        (folder / file).write_text(lines, encoding="utf-8", newline="\n")


def _by_id(questions: Iterable[dict]) -> list[dict]:
    return sorted(questions, key=lambda question: question["question_id"])


def _load(connection: sqlite3.Connection, source: Source) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(source.schema)
    for table in _columns(connection):  # parents stand before children in schema.sql
        rows = source.rows[table]
        connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(rows[0]))})', rows)
    connection.commit()


def _columns(connection: sqlite3.Connection) -> dict[str, list[tuple]]:
    """table -> rows of PRAGMA table_info (index, name, type, not null, default, place in the primary key)."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
    return {table: connection.execute(f'PRAGMA table_info("{table}")').fetchall() for (table,) in tables}


def _described(source: Source, table: str, column: str) -> list[str]:
    """Readable name, meaning and values of a column; meaning and values may be empty."""
    texts = source.descriptions.get(table, {}).get("columns", {}).get(column)
    if not texts or len(texts) > 3:
        what = f"{table}.{column} needs a readable name, and may have a meaning and values"
        raise BenchmarkError(what, where=f"{source.db_id}/descriptions.yaml", hint="a text with a comma is quoted")
    return [*texts, "", ""][:3]


def _tables_entry(connection: sqlite3.Connection, source: Source, columns: dict[str, list[tuple]]) -> dict:
    """One database in the form of dev_tables.json: columns are numbered over all tables, number 0 is `*`."""
    tables = list(columns)
    flat = [(t, column) for t, table in enumerate(tables) for column in columns[table]]
    number = {(tables[t], column[1]): i for i, (t, column) in enumerate(flat, start=1)}
    keys = {table: [number[table, column[1]] for column in columns[table] if column[5]] for table in tables}
    foreign_keys = [
        [number[table, key[3]], number[key[2], key[4]]]
        for table in tables
        for key in sorted(connection.execute(f'PRAGMA foreign_key_list("{table}")'), key=lambda k: number[table, k[3]])
    ]
    return {
        "db_id": source.db_id,
        "table_names_original": tables,
        "table_names": [source.descriptions[table]["name"] for table in tables],
        "column_names_original": [[-1, "*"], *([t, column[1]] for t, column in flat)],
        "column_names": [[-1, "*"], *([t, _described(source, tables[t], column[1])[0]] for t, column in flat)],
        "column_types": ["text", *(column[2].lower() for _, column in flat)],
        "primary_keys": [key[0] if len(key) == 1 else key for key in keys.values() if key],
        "foreign_keys": foreign_keys,
    }


def _write_descriptions(folder: Path, source: Source, columns: dict[str, list[tuple]]) -> None:
    for table, infos in columns.items():
        with (folder / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(DESCRIPTION_HEADER)
            for _, column, kind, *_ in infos:
                name, meaning, values = _described(source, table, column)
                writer.writerow((column, name, meaning, kind.lower(), values))


def _write_json(path: Path, content: list[dict]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
