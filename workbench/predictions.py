"""Reads SQL that a system has already predicted, in the forms in which systems publish it, and pairs it with questions.

In: a prediction file and the benchmark it belongs to. Out: one row a question: its id and the SQL, null where the
system gave none. A file that does not fit the benchmark is refused whole: shifted pairs would give plausible numbers.

| form | told by | paired by |
| --- | --- | --- |
| BIRD, BIRD mini-dev | a JSON object | key "0", "1", ... = position; the db_id in a value must be the question's |
| JSON list of SQL | a list of text or null | position |
| JSON list of records, JSONL, CSV, TSV, parquet | an SQL field | question id where they have one, else position |
| Spider | anything else: one SQL a line | line; an empty line is a missing prediction |
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from workbench.benchmarks import Benchmark
from workbench.errors import PredictionError
from workbench.records import clean_text, csv_header, decode, kind_of, parse_csv, parse_json, parse_parquet, read_bytes

SQL_FIELDS = (
    "predicted_sql",
    "pred_sql",
    "prediction",
    "predicted",
    "predict_sql",
    "generated_sql",
    "sql",
    "query",
    "response",
)
ID_FIELDS = ("question_id", "qid", "instance_id", "id")
DB_FIELDS = ("db_id", "database_id", "db_name", "database")
SEPARATOR = "----- bird -----"
_ENGINES = {"sqlite": "sqlite", "mysql": "mysql", "postgresql": "postgres", "postgres": "postgres", "pg": "postgres"}
_POSITION = re.compile(r"0|[1-9][0-9]{0,8}")
_IS_SQL = re.compile(r"[\s(]*(SELECT|WITH|VALUES)\b", re.IGNORECASE)
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt", ".sql", ".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class Predictions:
    """model and engine as the file's name states them (engine: mini-dev files only, else None).

    frame: question_id, sql (null: no prediction), one row for each of the benchmark's usable questions, in their order.
    problems: what is not SQL or could not be kept as it stands, counted.
    """

    model: str
    engine: str | None
    frame: pl.DataFrame
    problems: tuple[str, ...] = ()


def read_predictions(
    file: str | Path, benchmark: Benchmark, model: str | None = None, engine: str | None = None
) -> Predictions:
    """Read a prediction file of a benchmark; model and engine replace what the file's name says.

    Raises PredictionError, in one line, for a file that is unreadable or does not fit: another number of predictions
    than questions (with both counts), keys that are no positions, unknown or repeated question ids, another db_id, no
    SQL at all.
    """
    path = Path(file)
    by_entry = _pair(path, benchmark)
    usable = benchmark.questions["question_id"].to_list()
    rows = [(question_id, _tidy(by_entry[question_id])) for question_id in usable]
    frame = pl.DataFrame(rows, schema={"question_id": pl.String, "sql": pl.String}, orient="row")
    named_model, named_engine = name_parts(path.name)
    problems = _problems([by_entry[question_id] for question_id in usable], path)
    return Predictions(model or named_model, engine or named_engine, frame, problems)


def _problems(values: list[object], path: Path) -> tuple[str, ...]:
    """What is wrong with single predictions, in words; PredictionError where none is SQL."""
    kinds = Counter("empty text" if isinstance(v, str) else kind_of(v) for v in values if _tidy(v) is None)
    counts = ", ".join(f"{count} {kind.removeprefix('a ')}" for kind, count in kinds.most_common())
    if kinds.total() == len(values):
        raise PredictionError(f"no SQL in any of its {len(values)} predictions: {counts}", where=path)
    found = [f"{kinds.total()} of {len(values)} predictions hold no SQL: {counts}"] if kinds else []
    changed = sum(isinstance(value, str) and clean_text(value) != value for value in values)
    if changed:
        found.append(f"{changed} of {len(values)} predictions hold half a surrogate pair, kept as U+FFFD")
    return tuple(found)


def name_parts(name: str) -> tuple[str, str | None]:
    """Model and engine in a file name: ("gpt-4", "postgres") of predict_mini_dev_gpt-4_postgresql.json."""
    stem = next((name[: -len(suffix)] for suffix in _SUFFIXES if name.lower().endswith(suffix)), name)
    match = re.fullmatch(r"(?:predict_)?mini_dev_(?:(.+)_)?(sqlite|mysql|postgresql|postgres|pg)", stem, re.IGNORECASE)
    if match:
        return match[1] or stem, _ENGINES[match[2].lower()]
    match = re.fullmatch(r"predict_(?:mini_dev_|dev_)?(?!(?:mini_)?dev$)(.+)", stem, re.IGNORECASE)
    return match[1] if match else stem, None


def _pair(path: Path, benchmark: Benchmark) -> dict[str, object]:
    """Question id -> whatever stands in its place in the file."""
    data = read_bytes(path, PredictionError)
    if data.startswith(b"PAR1"):
        return _pair_records(parse_parquet(data, path, PredictionError), path, benchmark)
    text = decode(data, path, PredictionError)
    start = text.lstrip()[:1]
    if start == "{" or (start == "[" and path.suffix.lower() not in (".txt", ".sql")):
        value = parse_json(text, path, PredictionError)
        if isinstance(value, dict):
            is_record = _field(value, SQL_FIELDS) is not None and not all(key.isdecimal() for key in value)
            return _pair_records([value], path, benchmark) if is_record else _pair_object(value, path, benchmark)
        if any(isinstance(item, dict) for item in value):
            return _pair_records(value, path, benchmark)
        return _pair_by_position([(item, None) for item in value], path, benchmark)
    lines = _lines(text)
    has_header = bool(lines) and not _IS_SQL.match(lines[0])
    for delimiter in ",\t;" if has_header else "":
        if _field(csv_header(text, delimiter), SQL_FIELDS) is not None:
            return _pair_records(parse_csv(text, path, PredictionError, delimiter), path, benchmark)
    if path.suffix.lower() in (".csv", ".tsv") and has_header:
        raise _no_sql_field(csv_header(text, "\t" if path.suffix.lower() == ".tsv" else ","), path)
    if path.suffix.lower() in (".json", ".jsonl", ".ndjson") and text.strip():
        kind = kind_of(parse_json(text, path, PredictionError))  # prose or SQL in a file of this name ends here
        raise PredictionError(f"holds {kind}, an object or a list is wanted", where=path)
    return _pair_by_position([(line.split("\t", 1)[0], None) for line in lines], path, benchmark)


def _lines(text: str) -> list[str]:
    """Lines as Spider counts them: the newline at the end of the file begins no further one."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _pair_object(value: dict[str, object], path: Path, benchmark: Benchmark) -> dict[str, object]:
    """BIRD's form. Keys count as positions whatever their order; failures are 0, null or anything that is no text."""
    size = len(benchmark.entries)
    wrong = next((key for key in value if not _POSITION.fullmatch(key)), None)
    if wrong is None and len(value) == size:
        wrong = next((key for key in value if int(key) >= size), None)
    if wrong is not None:
        raise PredictionError(
            f"key {wrong!r:.60} is no position", where=path, hint=f'keys are "0" to "{size - 1}", not question ids'
        )
    if len(value) != size:
        raise _other_length(len(value), path, benchmark)
    pairs: list[tuple[object, object]] = []
    for position in range(size):
        item = value[str(position)]
        sql, separator, db_id = item.rpartition(SEPARATOR) if isinstance(item, str) else (item, "", "")
        pairs.append((sql, db_id.strip() or None) if separator else (item, None))
    return _pair_by_position(pairs, path, benchmark)


def _pair_by_position(pairs: list[tuple[object, object]], path: Path, benchmark: Benchmark) -> dict[str, object]:
    """pairs: (SQL, db_id or None) in the order of the benchmark's file."""
    if len(pairs) != len(benchmark.entries):
        raise _other_length(len(pairs), path, benchmark)
    found = {}
    for position, ((sql, db_id), (question_id, expected)) in enumerate(zip(pairs, benchmark.entries, strict=True)):
        _check_db_id(db_id, expected, f"position {position}", path)
        found[question_id] = _text_or_failure(sql, f"position {position}", path)
    return found


def _pair_records(records: list[object], path: Path, benchmark: Benchmark) -> dict[str, object]:
    """Records with an SQL field; paired by question id where the first has one."""
    bad = next((index for index, record in enumerate(records) if not isinstance(record, dict)), None)
    if bad is not None:
        raise PredictionError(f"position {bad}: {kind_of(records[bad])} where an object is wanted", where=path)
    keys = list(dict.fromkeys(key for record in records for key in record))
    sql_key, id_key, db_key = (_field(keys, names) for names in (SQL_FIELDS, ID_FIELDS, DB_FIELDS))
    if records and sql_key is None:
        raise _no_sql_field(keys, path)
    if id_key is None:
        return _pair_by_position([(record.get(sql_key), record.get(db_key)) for record in records], path, benchmark)
    expected = dict(benchmark.entries)
    found: dict[str, object] = {}
    for index, record in enumerate(records):
        question_id = record.get(id_key)
        if isinstance(question_id, bool) or not isinstance(question_id, str | int):
            raise PredictionError(
                f"position {index}: {id_key} is {kind_of(question_id)}, a question id is wanted", where=path
            )
        question_id = str(question_id).strip()
        if question_id not in expected:
            raise PredictionError(
                f"position {index}: there is no question {question_id!r:.60}",
                where=path,
                hint=f"in {benchmark.name}: {_some(expected)}",
            )
        number, first = 1, question_id
        while question_id in found:  # a benchmark that repeats an id (mini-dev does) has numbered the later ones
            number += 1
            question_id = f"{first}#{number}"
        if question_id not in expected:
            raise PredictionError(f"position {index}: question {first!r:.60} stands twice", where=path)
        _check_db_id(record.get(db_key), expected[question_id], f"question {question_id}", path)
        found[question_id] = _text_or_failure(record.get(sql_key), f"question {question_id}", path)
    if len(found) != len(expected):
        missing = next(question_id for question_id in expected if question_id not in found)
        raise _other_length(len(found), path, benchmark, f"the first one missing is {missing}")
    return found


def _text_or_failure(value: object, place: str, path: Path) -> object:
    """A failure is written as null or a number; anything else that is no text is another kind of file."""
    if isinstance(value, dict | list):
        raise PredictionError(f"{place}: holds {kind_of(value)}, SQL text is wanted", where=path)
    return value


def _check_db_id(db_id: object, expected: str | None, place: str, path: Path) -> None:
    if isinstance(db_id, str) and expected is not None and db_id != expected:
        raise PredictionError(
            f"{place}: predicts for database {db_id!r:.60}, the question is about {expected!r:.60}",
            where=path,
            hint="it belongs to another question set",
        )


def _other_length(count: int, path: Path, benchmark: Benchmark, hint: str | None = None) -> PredictionError:
    return PredictionError(
        f"{count} prediction{'s' * (count != 1)} for the {len(benchmark.entries)} questions of {benchmark.name}",
        where=path,
        hint=hint,
    )


def _no_sql_field(keys: list[str], path: Path) -> PredictionError:
    return PredictionError(
        "no SQL column", where=path, hint=f"found: {', '.join(keys[:8]) or 'nothing'}; wanted: {', '.join(SQL_FIELDS)}"
    )


def _field(keys: object, names: tuple[str, ...]) -> str | None:
    """The key that goes by one of the names, in any case; the names' order decides."""
    by_name = {key.strip().lower(): key for key in keys}
    return next((by_name[name] for name in names if name in by_name), None)


def _some(ids: dict[str, object]) -> str:
    first = list(ids)[:3]
    return ", ".join(first) + (", ..." if len(ids) > 3 else "")


def _tidy(sql: object) -> str | None:
    return clean_text(sql).strip() or None if isinstance(sql, str) else None
