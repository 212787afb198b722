"""Reads a benchmark as it was downloaded: Spider, BIRD, BIRD mini-dev, KaggleDBQA, the bundled one, or a plain folder.

In: a folder or question file (`benchmark_layouts` says which files count). Out: a `Benchmark`: one row a question, the
schema and the database file of each db_id, and `problems`, what is wrong with it by name. One bad question or a
missing database never costs the rest; only a benchmark without any usable question is refused.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from workbench import paths
from workbench.benchmark_layouts import (
    SYNTHESIZED,
    Root,
    Source,
    description_files,
    find_database,
    find_source,
)
from workbench.benchmark_rows import QUESTION_COLUMNS, Problem, find_columns, number_ids, question_row
from workbench.errors import BenchmarkError
from workbench.records import kind_of, read_json, read_records
from workbench.schema import Schema, check_sqlite_file, read_descriptions
from workbench.sqlite_source import with_stored_kinds

_GOLD_DIALECTS = {"gold_sql": "sqlite", "gold_sql_postgres": "postgres", "gold_sql_mysql": "mysql"}


@dataclass
class Benchmark:
    """questions: one row each, columns as in benchmark_rows.QUESTION_COLUMNS. position counts the file's entries from 0
    and has gaps where a question without usable db_id or text is left out.

    entries: (question_id, db_id or None) of everything in the file, in order: what positions of prediction files count.
    problems: what is wrong with single questions, golds, databases; the rest is usable.
    origin: the arguments with which read_benchmark reads the same again, from any folder.
    """

    name: str
    path: Path
    questions: pl.DataFrame
    problems: list[Problem]
    entries: list[tuple[str, str | None]]
    origin: dict[str, str | None] = field(default_factory=dict)
    _roots: tuple[Root, ...] = ()
    _tables: dict[str, dict] = field(default_factory=dict)
    _schemas: dict[str, Schema] = field(default_factory=dict)

    def database_path(self, db_id: str) -> Path:
        """The SQLite file of a database. Raises BenchmarkError if it is missing, unsafe or no SQLite file."""
        path = find_database(self._roots, db_id)
        check_sqlite_file(path)
        return path

    def database_names(self) -> list[str]:
        """Every database that a question or tables.json names."""
        return list(dict.fromkeys([*self.questions["db_id"], *self._tables]))

    def stated_tables(self, db_id: str) -> dict | None:
        """The database's entry of tables.json as it stands there, whose foreign keys Spider's rules go by."""
        return self._tables.get(db_id)

    def schema(self, db_id: str) -> Schema:
        """The schema as the database file has it, with what tables.json and database_description/ say beside it.

        Columns know the kind of their stored values, which plans for typed engines rest on. Where the contents are
        absent, tables.json alone. Raises BenchmarkError where there is neither.
        """
        if db_id not in self._schemas:
            stated = Schema.from_tables_json(self._tables[db_id]) if db_id in self._tables else None
            try:
                path = self.database_path(db_id)
            except BenchmarkError:
                if stated is None:
                    raise
                schema = stated
            else:
                schema = with_stored_kinds(Schema.from_sqlite(path), path)
                schema = schema.annotated(stated) if stated else schema
            self._schemas[db_id] = schema.described(read_descriptions(description_files(self._roots, db_id)))
        return self._schemas[db_id]


def read_benchmark(path: str | Path, split: str | None = None, databases: str | Path | None = None) -> Benchmark:
    """Read a benchmark folder, a question file in one, or "bundled".

    split: dev | test | train | fewshot | a file's stem; the dev questions where there are several. databases: a folder
    with <db_id>/<db_id>.sqlite that lies elsewhere. Raises BenchmarkError where no question can be used.
    """
    is_bundled = str(path) == "bundled"
    given = {"path": "bundled" if is_bundled else str(paths.real(path)), "split": split}
    given["databases"] = str(paths.real(databases)) if databases is not None else None
    if is_bundled:
        from workbench import bundled

        path = bundled.build()
    try:
        source = find_source(Path(path), split, Path(databases) if databases is not None else None)
        benchmark = _read(source)
    except OSError as fault:
        raise BenchmarkError(f"cannot be read: {fault.strerror}", where=fault.filename or path) from fault
    benchmark.origin = given
    if is_bundled:
        benchmark.name = "bundled" if source.split == "dev" else f"bundled-{source.split}"
        benchmark.questions = benchmark.questions.with_columns(class_source=pl.lit("hand"))
    return benchmark


def _read(source: Source) -> Benchmark:
    problems: list[Problem] = []
    records, places = _records(source)
    if not records:
        raise BenchmarkError("holds no question", where=source.files[0])
    columns = find_columns(records, source.files[0])
    rows = [question_row(record, columns, place, problems) for record, place in zip(records, places, strict=True)]
    number_ids(rows, places, problems)
    if source.engine_files:
        _add_engine_golds(source, rows, problems)
    entries = [(row["question_id"], row["db_id"]) for row in rows]
    usable = [row | {"position": position} for position, row in enumerate(rows) if row["db_id"] and row["question"]]
    if not usable:
        why = f"; {problems[0]}" if problems else ""
        raise BenchmarkError(f"none of its {len(rows)} questions can be used{why}", where=source.files[0])
    where = {row["question_id"]: place for row, place in zip(rows, places, strict=True)}
    problems += _gold_problems(usable, where, source.engine_files)
    benchmark = Benchmark(
        name=_name(source, records) + ("-synthesized" if _is_synthesized(source) else ""),
        path=source.base,
        questions=pl.DataFrame(usable, schema=QUESTION_COLUMNS),
        problems=problems,
        entries=entries,
        _roots=source.roots,
        _tables=_tables(source.tables, problems),
    )
    problems += _database_problems(benchmark)
    return benchmark


def _records(source: Source) -> tuple[list[object], list[str]]:
    """The records of all question files, and in words where each stands."""
    records, places = [], []
    for file in source.files:
        found = read_records(file, BenchmarkError)
        records += found
        places += [f"{file.name}, position {index}" for index in range(len(found))]
    return records, places


def _add_engine_golds(source: Source, rows: list[dict], problems: list[Problem]) -> None:
    """Put mini-dev's gold of each engine beside the question, paired by (numbered) question id."""
    by_id = {row["question_id"]: row for row in rows}
    if "sqlite" not in source.engine_files:
        problems.append(Problem(source.files[0].name, "no mini_dev_sqlite.json beside it: no gold for SQLite"))
        for row in rows:
            row["gold_sql"] = None
    for engine, file in source.engine_files.items():
        if engine == "sqlite":
            continue
        records = read_records(file, BenchmarkError)
        columns = find_columns(records, file)
        places = [f"{file.name}, position {index}" for index in range(len(records))]
        others = [question_row(record, columns, place, problems) for record, place in zip(records, places, strict=True)]
        number_ids(others, places, [])  # said once, of the first file
        for other, place in zip(others, places, strict=True):
            row = by_id.get(other["question_id"])
            if row is None or row["db_id"] != other["db_id"]:
                problems.append(
                    Problem(place, f"question {other['question_id']!r:.60} is not that of {source.files[0].name}")
                )
            else:
                row[f"gold_sql_{engine}"] = other["gold_sql"]


def _gold_problems(rows: list[dict], where: dict[str, str], engine_files: dict[str, Path]) -> Iterable[Problem]:
    wanted = [f"gold_sql_{engine}" if engine != "sqlite" else "gold_sql" for engine in engine_files] or ["gold_sql"]
    absent = [column for column in wanted if all(row[column] is None for row in rows)]
    yield from (Problem("questions", f"none has a {column}") for column in absent)
    for row in rows:
        for column, dialect in _GOLD_DIALECTS.items():
            place = f"{where[row['question_id']]}, question {row['question_id']}"
            if row[column] is not None:
                reason = _unparsed(row[column], dialect)
                if reason:
                    yield Problem(place, f"{column} does not parse as {dialect}: {reason}")
            elif column in wanted and column not in absent:
                yield Problem(place, f"no {column}")


def _unparsed(sql: str, dialect: str) -> str | None:
    """Why a gold is not one statement of its dialect (sqlglot's reading), or None."""
    try:
        statements = [statement for statement in sqlglot.parse(sql, dialect=dialect) if statement is not None]
    except SqlglotError as fault:
        return str(fault).splitlines()[0][:160]
    except RecursionError:
        return "nested too deeply"
    if len(statements) != 1:
        return f"{len(statements)} statements"
    # sqlglot reads "no SQL" as a column with an alias
    return None if isinstance(statements[0], exp.Query | exp.Values) else "not a query"


def _tables(file: Path | None, problems: list[Problem]) -> dict[str, dict]:
    """Entries of tables.json by db_id; a broken file or entry is a problem and is left out."""
    if file is None:
        return {}
    try:
        entries = read_json(file, BenchmarkError)
        if not isinstance(entries, list):
            raise BenchmarkError(f"holds {kind_of(entries)}, a list of schemas is wanted", where=file)
    except BenchmarkError as fault:
        problems.append(Problem(file.name, str(fault).removeprefix(f"{file}: ")))
        return {}
    found = {}
    for index, entry in enumerate(entries):
        db_id = entry.get("db_id") if isinstance(entry, dict) else None
        try:
            Schema.from_tables_json(entry)
        except BenchmarkError as fault:
            problems.append(Problem(f"{file.name}, position {index}", f"{db_id or ''} {fault.what}"))
            continue
        if isinstance(db_id, str):
            found[db_id] = entry
    return found


def _database_problems(benchmark: Benchmark) -> Iterable[Problem]:
    for db_id in benchmark.questions["db_id"].unique(maintain_order=True):
        try:
            benchmark.database_path(db_id)
        except BenchmarkError as fault:
            yield Problem(f"database {db_id}", str(fault))


def _name(source: Source, records: list[object]) -> str:
    """A slug for the results: the layout and the split; a folder of one's own goes by its name."""
    if source.layout == "bird-minidev":
        return source.layout
    if source.layout == "kaggledbqa":
        return source.layout if source.split == "test" else _slug(f"kaggledbqa-{source.split}")
    keys = set().union(*(record for record in records[:1] if isinstance(record, dict)))
    if {"SQL", "evidence", "question", "db_id"} <= keys:
        return _slug(f"bird-{source.split}")
    if {"query", "question", "db_id"} <= keys and ("query_toks" in keys or source.tables is not None):
        return _slug(source.split if source.split.startswith("spider") else f"spider-{source.split}")
    folder = paths.real(source.base).name
    return _slug(folder if source.is_only_split else f"{folder}-{source.split}")


def _is_synthesized(source: Source) -> bool:
    return any((root.folder / SYNTHESIZED).exists() for root in source.roots)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "benchmark"
