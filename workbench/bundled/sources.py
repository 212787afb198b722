"""Reads the readable sources of one bundled database, so that the layout and the figures need not know their form.

In: a folder beside this file. Out: a `Source`: the schema's text, the rows of every table, descriptions, questions.
"""

import csv
import importlib
from dataclasses import dataclass
from pathlib import Path

import yaml

from workbench.bundled.difficulty import difficulty
from workbench.bundled.seeded import Seeded
from workbench.errors import BenchmarkError

HERE = Path(__file__).resolve().parent
SEEDS = {  # one line per database, in the order of the questions
    "island_ferries": 8,
    "botanical_garden": 44,
    "chess_league": 1972,
    "county_clinic": 37,
    "radio_archive": 89,
    "tool_library": 21,
}
TIES = (None, "inside", "limit")
REQUIRED = {"id", "question", "sql", "is_ordered", "is_row_count_fixed"}
OPTIONAL = {"evidence", "ties"}


@dataclass(frozen=True)
class Source:
    """One database.

    rows: table -> rows in the schema's column order; texts become numbers where the column is declared so.
    descriptions: table -> {"name": ..., "columns": {column: [readable name, meaning, values]}}.
    questions: in the form of BIRD's dev.json, with is_ordered, is_row_count_fixed and ties besides.
    train: questions to train on, in the same form; none where the folder has no train.yaml.
    """

    db_id: str
    schema: str
    rows: dict[str, list[tuple]]
    descriptions: dict[str, dict]
    questions: list[dict]
    train: list[dict]


def read_sources() -> list[Source]:
    return [read_source(db_id) for db_id in SEEDS]


def read_source(db_id: str) -> Source:
    folder = HERE / db_id
    tables = {path.stem: _read_csv(path) for path in sorted(folder.glob("*.csv"))}
    rows = {table: [tuple(value or None for value in row.values()) for row in lines] for table, lines in tables.items()}
    generator = importlib.import_module(f"workbench.bundled.{db_id}.generate")
    rows |= generator.generate(tables, Seeded(SEEDS[db_id]))
    return Source(
        db_id=db_id,
        schema=(folder / "schema.sql").read_text(encoding="utf-8"),
        rows=rows,
        descriptions=_read_yaml(folder / "descriptions.yaml"),
        questions=_read_questions(folder / "questions.yaml"),
        train=_read_questions(folder / "train.yaml") if (folder / "train.yaml").is_file() else [],
    )


def _read_questions(path: Path) -> list[dict]:
    return [question_from_yaml(entry, path.parent.name, path.name) for entry in _read_yaml(path)]


def _read_csv(path: Path) -> list[dict]:
    """Hand-written rows as texts: the column's declared type makes them numbers, an empty cell is NULL."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _read_yaml(path: Path):
    # libyaml where it is there: the pure Python parser takes about ten times as long
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def question_from_yaml(entry: dict, db_id: str, file: str = "questions.yaml") -> dict:
    """An entry of questions.yaml in the form of dev.json; BenchmarkError names keys that are misspelt or missing."""
    where = f"{db_id}/{file}, id {entry.get('id')}"
    wrong = (REQUIRED - entry.keys()) | (entry.keys() - REQUIRED - OPTIONAL)
    if wrong:
        raise BenchmarkError(f"keys missing or unknown: {', '.join(sorted(wrong))}", where=where)
    if entry.get("ties") not in TIES:
        raise BenchmarkError(f"ties is {entry['ties']!r}", where=where, hint="available: limit, inside, or left out")
    sql = " ".join(entry["sql"].split())
    return {
        "question_id": entry["id"],
        "db_id": db_id,
        "question": entry["question"],
        "evidence": entry.get("evidence", ""),
        "SQL": sql,
        "difficulty": difficulty(sql),
        "is_ordered": entry["is_ordered"],
        "is_row_count_fixed": entry["is_row_count_fixed"],
        "ties": entry.get("ties"),
    }
