"""One row a question, from the records of any benchmark's file: names, types and ids made the same.

In: records as `records.read_records` gives them. Out: dicts with the keys of QUESTION_COLUMNS. A value of the wrong
type becomes null and a `Problem` with its place; a row keeps its position even where nothing in it can be used.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from workbench.benchmark_layouts import DB_KEYS, QUESTION_KEYS, check_db_id
from workbench.errors import BenchmarkError
from workbench.records import clean_text, kind_of

QUESTION_COLUMNS = {
    "position": pl.Int64,
    "question_id": pl.String,
    "db_id": pl.String,
    "question": pl.String,
    "evidence": pl.String,
    "gold_sql": pl.String,
    "difficulty": pl.String,
    "is_ordered": pl.Boolean,
    "is_row_count_fixed": pl.Boolean,
    "class_source": pl.String,
    "gold_sql_postgres": pl.String,
    "gold_sql_mysql": pl.String,
}
# Where a column stands in a file: usual names in order of preference, in any case. Spider's `sql` is a parse, no text.
FIELDS = {
    "question_id": ("question_id", "id", "qid", "instance_id"),
    "db_id": DB_KEYS,
    "question": QUESTION_KEYS,
    "evidence": ("evidence", "external_knowledge", "knowledge", "hint"),
    "gold_sql": ("gold_sql", "gold", "gold_query", "sql", "sql_query", "query"),
    "difficulty": ("difficulty", "hardness"),
    "is_ordered": ("is_ordered",),
    "is_row_count_fixed": ("is_row_count_fixed",),
    "class_source": ("class_source",),
    "gold_sql_postgres": ("gold_sql_postgres", "gold_sql_postgresql"),
    "gold_sql_mysql": ("gold_sql_mysql",),
}


@dataclass(frozen=True)
class Problem:
    """Something wrong with a part of a benchmark that the rest does not suffer from."""

    where: str
    what: str

    def __str__(self) -> str:
        return " ".join(f"{self.where}: {self.what}".split())


def find_columns(records: list[object], file: Path) -> dict[str, str]:
    """Which key of the file holds each column. Raises BenchmarkError if questions or db_ids have no known name."""
    samples: dict[str, list[object]] = {}
    for record in records:
        for key, value in record.items() if isinstance(record, dict) else ():
            samples.setdefault(key, []).append(value)
    by_name = {key.lower(): key for key in reversed(samples)}
    columns: dict[str, str] = {}
    for name, aliases in FIELDS.items():
        for alias in aliases:
            key = alias if alias in samples else by_name.get(alias)
            is_parse = name == "gold_sql" and key and all(isinstance(value, dict) for value in samples[key])
            if key and key not in columns.values() and not is_parse:
                columns[name] = key
                break
    for name in ("question", "db_id"):
        if name not in columns:
            found = ", ".join(list(samples)[:8]) or kind_of(records[0])
            raise BenchmarkError(f"no field {name}", where=file, hint=f"found: {found}")
    return columns


def question_row(record: object, columns: dict[str, str], place: str, problems: list[Problem]) -> dict[str, object]:
    """A record's values by QUESTION_COLUMNS (position is left to the caller); what is wrong is added to `problems`."""
    row: dict[str, object] = dict.fromkeys(QUESTION_COLUMNS)
    if not isinstance(record, dict):
        problems.append(Problem(place, f"{kind_of(record)} where an object is wanted; left out"))
        return row
    for name, key in columns.items():
        value = record.get(key)
        if name == "question_id" and type(value) is int and abs(value) < 10**18:
            value = str(value)
        elif QUESTION_COLUMNS[name] is pl.Boolean:
            value = _truth(value)
        kind, wanted = (bool, "true or false") if QUESTION_COLUMNS[name] is pl.Boolean else (str, "text")
        if value is not None and not isinstance(value, kind):
            problems.append(Problem(place, f"{key} is {kind_of(value)}, {wanted} is wanted"))
        elif isinstance(value, str):
            row[name] = clean_text(value) if value.strip() else None
        else:
            row[name] = value
    changed = [
        key
        for name, key in columns.items()
        if row[name] is not None and clean_text(str(record[key])) != str(record[key])
    ]
    if changed:
        problems.append(Problem(place, f"half a surrogate pair in {', '.join(changed)}, read as U+FFFD"))
    for name in ("db_id", "question"):
        value = record.get(columns[name])
        if value is None or (isinstance(value, str) and row[name] is None):
            problems.append(Problem(place, f"no {columns[name]}; left out"))
    reason = check_db_id(row["db_id"]) if row["db_id"] else None
    if reason:
        problems.append(Problem(place, f"db_id {row['db_id']!r:.60} {reason}"))
        row["db_id"] = None
    return row


def _truth(value: object) -> object:
    """CSV spells truth values as text, some JSON as numbers; anything else stays as it is."""
    known = {"true": True, "false": False, "1": True, "0": False, "": None}
    return known.get(str(value).lower(), value) if isinstance(value, str | int) else value


def number_ids(rows: list[dict], places: list[str], problems: list[Problem]) -> None:
    """Give every row an id of its own: the file's, else the position; a repeated one becomes "137#2", "137#3", ..."""
    taken: set[str] = set()
    given = {row["question_id"] for row in rows}
    for position, (row, place) in enumerate(zip(rows, places, strict=True)):
        first = row["question_id"] if row["question_id"] is not None else str(position)
        number, unique = 1, first
        while unique in taken or (number > 1 and unique in given):
            number += 1
            unique = f"{first}#{number}"
        if unique != first:
            problems.append(Problem(place, f"question id {first!r:.60} is used before; this one is {unique!r:.60}"))
        taken.add(unique)
        row["question_id"] = unique
