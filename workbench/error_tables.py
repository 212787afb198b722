"""Study tables of errors: how many of each category and type, and whether a model or a compiler made them.

In: the scores table with its error_category and error_type, which scoring stores (error_categories.categorise). Out: counts
with shares (plans paper, figure 5; HES-SQL, figures 1 and 10), and failures by how many engines they show on (plans
paper, section 6.6). Reads stored scores only.
"""

import polars as pl

from workbench.error_categories import SCHEMA_LINKING_TYPES, STRUCTURAL
from workbench.error_columns import WRONG
from workbench.errors import ResultsError
from workbench.labels import CATEGORIES, ERROR_TYPES
from workbench.portability import KEYS, MODEL_KEYS, verdicts
from workbench.results import dtypes

SORTED_BY = {"category": ("error_category", CATEGORIES), "type": ("error_type", ERROR_TYPES)}


def error_counts(scores: pl.DataFrame, metric: str = "bird_ex") -> pl.DataFrame:
    """Errors of each model on each engine by name of both schemes; columns: results.TABLES["error_counts"].

    Every name of a scheme has a row, also with none, and so has a model without errors. share is of the errors that have a name; those without are in
    unsorted. ResultsError: no scores, or scores from before errors were sorted.
    """
    keys = [*MODEL_KEYS, "engine"]
    rows = []
    for key, judged in _judged(scores, metric).group_by(keys, maintain_order=True):
        group = judged.filter(~pl.col(metric))
        for scheme, (column, names) in SORTED_BY.items():
            counts = dict(group[column].drop_nulls().value_counts().rows())
            total = sum(counts.values())
            for name in names:
                n = counts.get(name, 0)
                about = {"scheme": scheme, "name": name, "is_structural": None, "is_schema_linking": None}
                if scheme == "type":
                    about |= {"is_structural": name in STRUCTURAL, "is_schema_linking": name in SCHEMA_LINKING_TYPES}
                about |= {"metric": metric, "n": n, "share": n / total if total else None}
                about |= {"errors": len(group), "judged": len(judged), "unsorted": len(group) - total}
                rows.append(dict(zip(keys, key, strict=True)) | about)
    return pl.DataFrame(rows, schema=dtypes("error_counts"))


def failure_kinds(scores: pl.DataFrame, metric: str = "bird_ex") -> pl.DataFrame:
    """Failures on each engine by where else they show; columns: results.TABLES["failure_kinds"].

    everywhere: wrong on every engine, which a wrong plan or query is (decoding). only_here: right on every other engine, which
    a wrong compilation is. Questions that lack a verdict on one of the run's engines are left out. ResultsError: see
    `error_counts`; or only one engine, where the two cannot be told apart.
    """
    counted = verdicts(scores.filter(pl.col("outcome").is_in(WRONG)), metric).filter("is_counted")
    engines = counted.group_by(KEYS).agg(engines=pl.col("engine").n_unique())
    if engines["engines"].max() is None or engines["engines"].max() < 2:
        raise ResultsError("scores on one engine alone", where="scores", hint="score the run on several engines")
    question = [*KEYS, "db_id", "question_id"]
    per_question = counted.group_by(question).agg(judged=pl.len(), wrong=(~pl.col("is_correct")).sum())
    whole = per_question.join(engines, on=KEYS, nulls_equal=True).filter(pl.col("judged") == pl.col("engines"))
    failures = counted.filter(~pl.col("is_correct")).join(whole, on=question, nulls_equal=True)
    table = failures.group_by([*KEYS, "engine", "engines"]).agg(
        failures=pl.len(),
        everywhere=(pl.col("wrong") == pl.col("engines")).sum(),
        several=((pl.col("wrong") > 1) & (pl.col("wrong") < pl.col("engines"))).sum(),
        only_here=((pl.col("wrong") == 1) & (pl.col("engines") > 1)).sum(),
    )
    shares = [(pl.col(name) / pl.col("failures")).alias(f"{name}_share") for name in ("everywhere", "only_here")]
    table = table.with_columns(pl.lit(metric).alias("metric"), *shares)
    return table.select(pl.col(name).cast(dtype) for name, dtype in dtypes("failure_kinds").items()).sort(
        [*KEYS, "engine"], nulls_last=True
    )


def _judged(scores: pl.DataFrame, metric: str) -> pl.DataFrame:
    columns = [column for column, _ in SORTED_BY.values()]
    missing = [name for name in (*MODEL_KEYS, "engine", "outcome", metric, *columns) if name not in scores.columns]
    if missing:
        raise ResultsError(f"no column {missing[0]}", where="scores", hint="score the run again")
    if scores.is_empty():
        raise ResultsError("no scores to summarise", where="scores", hint="score the run first")
    judged = scores.filter(pl.col(metric).is_not_null() & pl.col("outcome").is_in(WRONG))
    wrong = judged.filter(~pl.col(metric))
    if len(wrong) and wrong.select(pl.all_horizontal(pl.col(name).is_null() for name in columns).all()).item():
        raise ResultsError("its errors are not sorted yet", where="scores", hint="score the run again")
    return judged
