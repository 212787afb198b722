"""Mutations of a benchmark's golds that were run and are what they say: the material of a mutation study of a metric.

In: a benchmark whose databases are there, a seed. Out: a frame for each database, kept in the cache. An edit is kept if its
rows are wrong on the benchmark's own database, in both orders in which SQLite may read tables; a rewrite is kept if its rows
are gold's on five instances: that one, three perturbed ones and one made up for the golds. `mutation_judge` says what wrong
and the same mean. Golds with several answers are left out. Same input, same frames.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import polars as pl

from workbench.benchmarks import Benchmark
from workbench.mutation_judge import GoldAnswer, Rows, gold_answer, is_same, is_wrong, run, shape_of
from workbench.mutation_names import read_query
from workbench.mutations import mutations
from workbench.paths import cache_path
from workbench.perturb import perturbed
from workbench.progress import track
from workbench.results import content_hash, write_cached
from workbench.schema import Schema, open_read_only
from workbench.sqlite_source import database_hash
from workbench.synthesize import make_database

VERSION = "1"  # raise when the same input would give other mutations
PERTURBED = 3
MAX_SHARE = 0.15  # of a kind among the edits or rewrites of a database
COLUMNS = {
    "benchmark": pl.String,
    "db_id": pl.String,
    "gold_sql": pl.String,
    "is_ordered": pl.Boolean,
    "is_row_count_fixed": pl.Boolean,
    "kind": pl.String,
    "is_edit": pl.Boolean,
    "category": pl.String,
    "error_type": pl.String,
    "sql": pl.String,
}


def verified(benchmark: Benchmark, seed: int = 0, edits: int = 3, rewrites: int = 2) -> Iterator[pl.DataFrame]:
    """One frame a database, columns as in COLUMNS; a database that is not there raises BenchmarkError.

    edits, rewrites: how many of each kind are asked of a query at most. is_ordered and is_row_count_fixed: the
    question's labels; where it has none, what the gold itself tells. A gold stands once for each class it has.
    """
    columns = ["db_id", "gold_sql", "is_ordered", "is_row_count_fixed"]
    golds = benchmark.questions.drop_nulls("gold_sql").select(columns).unique(maintain_order=True)
    groups = golds.group_by("db_id", maintain_order=True)
    for (db_id,), rows in track(groups, golds["db_id"].n_unique(), "verifying mutations"):
        path, schema = benchmark.database_path(db_id), benchmark.schema(db_id)
        given = rows.select(columns[1:]).rows()
        stated = [[t.name, *t.primary_key, *(list(k.columns) for k in t.foreign_keys)] for t in schema.tables]
        key = content_hash(VERSION, database_hash(path), stated, given, seed, edits, rewrites)
        note = cache_path("mutations") / f"{key}.json"
        if note.is_file():
            made = json.loads(note.read_bytes())
        else:
            made = _evened(list(_verified_golds(path, schema, given, seed, edits, rewrites)), seed)
            write_cached(note, json.dumps(made).encode())
        yield pl.DataFrame([[benchmark.name, db_id, *row] for row in made], schema=COLUMNS, orient="row")


def _verified_golds(
    path: Path, schema: Schema, golds: list[tuple], seed: int, edits: int, rewrites: int
) -> Iterator[tuple]:
    """(gold, is_ordered, is_row_count_fixed, kind, is_edit, category, error type, sql) of what is kept."""
    with ExitStack() as stack:
        judged, backward = (stack.enter_context(closing(open_read_only(path))) for _ in range(2))
        backward.execute("PRAGMA reverse_unordered_selects = ON")
        others = [stack.enter_context(closing(perturbed(path, schema, seed + place))) for place in range(PERTURBED)]
        made_up = stack.enter_context(closing(sqlite3.connect(":memory:")))
        made_up.deserialize(make_database(schema, sorted({sql for sql, *_ in golds}), seed)[0])
        for sql, *label in golds:
            answer = gold_answer(judged, sql, schema, *label)
            if answer is None or not is_same(answer, run(backward, sql)):
                continue
            elsewhere = [(one, gold_answer(one, sql, schema, *label)) for one in (*others, made_up)]
            elsewhere = [(one, found) for one, found in elsewhere if found is not None]
            for mutation in mutations(sql, schema, seed, edits, rewrites):
                if mutation.is_edit:
                    found = [run(one, mutation.sql) for one in (judged, backward)]
                    is_kept = None not in found and _is_wrong_twice(answer, found, mutation.sql, schema)
                else:
                    instances = [(judged, answer), (backward, answer), *elsewhere]
                    is_kept = len(elsewhere) == PERTURBED + 1 and all(
                        is_same(found, run(one, mutation.sql)) for one, found in instances
                    )
                if is_kept:
                    about = (mutation.kind, mutation.is_edit, mutation.category, mutation.error_type, mutation.sql)
                    yield (sql, answer.is_ordered, answer.is_row_count_fixed, *about)


def _is_wrong_twice(answer: GoldAnswer, found: list[Rows], sql: str, schema: Schema) -> bool:
    shape = shape_of(read_query(sql, schema))
    return all(is_wrong(answer, rows, shape) for rows in found)


def _evened(made: list[tuple], seed: int) -> list[tuple]:
    """Less of kinds that are over MAX_SHARE of the edits, or of the rewrites; which ones stay is drawn."""
    kept = []
    for is_edit in (True, False):
        by_kind: dict[str, list[int]] = {}
        for place, row in enumerate(made):
            if row[4] == is_edit:
                by_kind.setdefault(row[3], []).append(place)
        for kind, places in by_kind.items():
            Random(content_hash("evened", seed, kind)).shuffle(places)
        while True:
            most = int(MAX_SHARE * sum(map(len, by_kind.values())))
            if all(len(places) <= most for places in by_kind.values()):
                break
            by_kind = {kind: places[:most] for kind, places in by_kind.items()}
        kept += [place for places in by_kind.values() for place in places]
    return [made[place] for place in sorted(kept)]
