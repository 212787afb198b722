"""A benchmark of any length with one tiny table, for tests that ask a model."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path


def make_benchmark(folder: Path, questions: int) -> Path:
    """Questions "number 0?", "number 1?", ... on a table t(n)."""
    (folder / "databases" / "d").mkdir(parents=True)
    with closing(sqlite3.connect(folder / "databases" / "d" / "d.sqlite")) as database:
        database.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2); VACUUM;")
    entries = [
        {"question_id": i, "db_id": "d", "question": f"number {i}?", "SQL": "SELECT n FROM t"} for i in range(questions)
    ]
    (folder / "questions.json").write_text(json.dumps(entries))
    return folder
