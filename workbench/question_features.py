"""The features of a run's questions: of each gold query and its plan, stored beside the questions, and summed up.

In: questions, the benchmark's schemas. Out: rows of `question_features`, made anew only where gold or class have changed; a
gold that has no plan has none, and says why. The study table `features` reads them, with what each feature means.
"""

import polars as pl

from workbench.benchmarks import Benchmark
from workbench.errors import BenchmarkError, ResultsError, WorkbenchError
from workbench.feature_names import MEANINGS, REGRESSION
from workbench.features import features
from workbench.plan_convert import status_of
from workbench.progress import track
from workbench.question_class import QuestionClass, question_class
from workbench.results import Run, content_hash, dtypes
from workbench.sql_to_plan import sql_to_plan

VERSION = 1  # raise when the same gold would have other features
PART = "question_features"


def store_features(run: Run, benchmark: Benchmark, questions: pl.DataFrame) -> None:
    """Bring the run's one part of `question_features` up to date."""
    known = dict(run.read_part(PART, PART).select("question_id", "input_hash").iter_rows())
    todo = []
    for row in questions.filter(pl.col("gold_sql").is_not_null()).iter_rows(named=True):
        found = question_class(row)
        key = content_hash(VERSION, row["db_id"], row["gold_sql"], *found)
        if known.get(row["question_id"]) != key:
            todo.append((row, found, key))
    made = {}
    for row, found, key in track(todo, len(todo), "features"):
        made[row["question_id"]] = _row(benchmark, row, found) | {"input_hash": key}
    run.merge_part(PART, PART, questions["question_id"].to_list(), made)


def _row(benchmark: Benchmark, question: dict, found: QuestionClass) -> dict:
    row = {name: question[name] for name in ("benchmark", "question_id", "db_id")}
    try:
        plan = sql_to_plan(question["gold_sql"], benchmark.schema(question["db_id"]))
        return row | features(question["gold_sql"], plan, found.is_ordered, found.is_row_count_fixed)
    except (WorkbenchError, BenchmarkError) as fault:
        return row | {"refusal": f"{status_of(fault)}: {fault}"}


def stored_features(run: Run) -> pl.DataFrame:
    """The run's `question_features`. ResultsError where it has none."""
    rows = run.table(PART)
    if rows.is_empty():
        raise ResultsError("has no features of its questions yet", where=run.path, hint="workbench score first")
    return rows


def feature_table(rows: pl.DataFrame) -> pl.DataFrame:
    """What each feature means and how it is spread over the questions; columns: results.TABLES["features"]."""
    made = []
    for (run, benchmark), group in rows.group_by("run", "benchmark", maintain_order=True):
        for name, (meaning, among) in MEANINGS.items():
            values = group[name].drop_nulls()
            about = {"run": run, "benchmark": benchmark, "feature": name, "meaning": meaning}
            about |= {"values": among, "is_in_regression": name in REGRESSION}
            about |= {"n": len(values), "refused": len(group) - len(values)}
            if len(values):
                about |= {one: getattr(values, one)() for one in ("mean", "std", "min", "median", "max")}
                about |= {"nonzero": (values != 0).mean()}
            made.append(about)
    return pl.DataFrame(made, schema=dtypes("features"))
