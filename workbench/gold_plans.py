"""The plans of a run's gold queries, stored beside the questions, with the tokens of both forms.

In: questions, the benchmark's schemas. Out: rows of `gold_plans`; a gold that has no plan says why. Made anew only where the
gold has changed.
"""

import polars as pl

from workbench.benchmarks import Benchmark
from workbench.errors import BenchmarkError, WorkbenchError
from workbench.plan_convert import status_of
from workbench.results import Run, content_hash
from workbench.sql_to_plan import sql_to_plan
from workbench.tokens import count_tokens

VERSION = 1  # raise when the same gold would have another plan


def store_gold_plans(run: Run, benchmark: Benchmark, questions: pl.DataFrame) -> None:
    """Bring the run's one part of `gold_plans` up to date."""
    known = dict(run.read_part("gold_plans", "gold_plans").select("question_id", "input_hash").iter_rows())
    made = {}
    for row in questions.filter(pl.col("gold_sql").is_not_null()).iter_rows(named=True):
        key = content_hash(VERSION, row["db_id"], row["gold_sql"])
        if known.get(row["question_id"]) != key:
            made[row["question_id"]] = _row(benchmark, row) | {"input_hash": key}
    run.merge_part("gold_plans", "gold_plans", questions["question_id"].to_list(), made)


def _row(benchmark: Benchmark, question: dict) -> dict:
    row = {name: question[name] for name in ("benchmark", "question_id", "db_id")}
    row["sql_tokens"] = count_tokens(question["gold_sql"])
    try:
        plan = sql_to_plan(question["gold_sql"], benchmark.schema(question["db_id"])).to_json()
    except (WorkbenchError, BenchmarkError) as fault:
        return row | {"refusal": f"{status_of(fault)}: {fault}"}
    return row | {"plan": plan, "plan_tokens": count_tokens(plan)}
