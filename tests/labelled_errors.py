"""Hand-labelled errors with their texts and what SQLite says to them, of one half: the other is never read."""

from pathlib import Path

import polars as pl

from workbench.backends.base import Limits
from workbench.benchmarks import Benchmark, read_benchmark
from workbench.error_categories import categorise
from workbench.execute import Executor, Statement
from workbench.labels import error_key, errors
from workbench.predictions import read_predictions
from workbench.schema_source import SchemaSource


def sort_labelled(shared: Path, half: str, round: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The labels of a half and round, and what the rules say: key, category, error_type, evidence."""
    labels = errors().filter(half=half, round=round)
    wanted, statements, sources, rows = set(labels["key"]), [], {}, []
    for name in ("spider", "bird", "bird_minidev"):
        benchmark = read_benchmark(shared / "data" / name)
        sources[benchmark.name] = SchemaSource(shared / "data" / name)
        for row in _predicted(benchmark, shared / "data" / "predictions" / name):
            key = error_key(row["db_id"], row["question"], row["gold_sql"], row["sql"])
            if key in wanted:
                wanted.remove(key)
                path = benchmark.database_path(row["db_id"])
                tag = (key, row["gold_sql"], benchmark.name)
                statements.append(Statement("sqlite", row["db_id"], path, row["sql"], tag=tag))
    assert not wanted
    with Executor(["sqlite"], Limits()) as executor:
        for statement, execution in executor.run_many(statements):
            key, gold_sql, benchmark_name = statement.tag
            schema = sources[benchmark_name](statement.db_id)
            kind = categorise(gold_sql, statement.sql, schema, execution.status, execution.message)
            rows.append((key, kind.category, kind.error_type, kind.evidence))
    return labels, pl.DataFrame(rows, schema=["key", "category", "error_type", "evidence"], orient="row")


def _predicted(benchmark: Benchmark, folder: Path):
    for file in sorted(folder.iterdir()):
        frame = read_predictions(file, benchmark).frame
        yield from benchmark.questions.join(frame, on="question_id").drop_nulls("sql").iter_rows(named=True)
