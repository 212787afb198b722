"""Small benchmark folders for tests: records of each layout, and a writer of files."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

SPIDER = {
    "db_id": "pets",
    "query": "SELECT count(*) FROM pet",
    "query_toks": [],
    "sql": {"from": {}},
    "question": "How many?",
}
BIRD = {"question_id": 7, "db_id": "pets", "question": "How many?", "evidence": "", "SQL": "SELECT count(*) FROM pet"}
GOOD = {"question_id": 1, "db_id": "pets", "question": "good", "SQL": "SELECT 1"}
TABLES = {
    "db_id": "pets",
    "table_names_original": ["pet"],
    "table_names": ["house pet"],
    "column_names_original": [[-1, "*"], [0, "id"]],
    "column_names": [[-1, "*"], [0, "number"]],
    "column_types": ["text", "number"],
    "primary_keys": [1],
    "foreign_keys": [],
}
MINI = {engine: [BIRD | {"SQL": f"SELECT '{engine}'"}] for engine in ("sqlite", "mysql", "postgresql")}
CSV = 'ID,Database,Question,SQL\n1,pets,How many?,SELECT count(*) FROM pet\n2,pets,"Which,\nall?",\n'


def make_database(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE pet (id INTEGER, name TEXT); INSERT INTO pet VALUES (1, 'Rex')")


def make_files(folder: Path, files: dict[str, object]) -> Path:
    """Files by relative path: JSON values, text, bytes, or None for a small database (kept if it is there)."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None and not path.exists():
            make_database(path)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif content is not None:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def problems(benchmark) -> str:
    return "\n".join(map(str, benchmark.problems))
