"""The pairs that DF-Match and BIRD's rule judge apart, and what people said of them.

In: a run's scores, and the table `annotations`. Out: frames; nothing is shown or stored here.
"""

import polars as pl

from workbench.errors import ResultsError
from workbench.portability import HOME
from workbench.results import Run, content_hash, dtypes

TABLE = "annotations"
VERDICTS = ("correct", "unsure", "incorrect")
FLAGS = ("gold_is_wrong", "other_issue")
EVERYBODY = "all"  # stands for all annotators in a table, so nobody can be called so
_KEYS = ["model", "target", "dialect", "engine", "question_id"]


def disagreements(run: Run) -> pl.DataFrame:
    """Every pair of a run that the two metrics judge apart, each distinct one once, sorted by its id.

    Columns: pair (a hash of question, gold, SQL and engine); engine, question_id, db_id, question, evidence, gold_sql, sql,
    written_for (the dialect of sql), df_match, bird_ex, and gold_key, key (the results in the cache).
    ResultsError where the run has no scores.
    """
    scores = run.table("scores")
    if scores.is_empty():
        raise ResultsError("has no scores yet", where=run.path, hint="workbench score first")
    executions = run.table("executions")
    predicted = executions.filter(role="prediction").select(*_KEYS, "sql", key="result_key")
    golds = executions.filter(role="gold", engine=HOME).select("question_id", gold_key="result_key")
    asked = run.table("questions").select("question_id", "question", "evidence", "gold_sql")
    found = (
        scores.filter(pl.col("df_match") != pl.col("bird_ex"))
        .join(predicted, on=_KEYS, how="left", nulls_equal=True)
        .join(golds, on="question_id", how="left")
        .join(asked, on="question_id", how="left")
    )
    about = ["db_id", "question", "evidence", "gold_sql", "sql", "engine"]
    pairs = [content_hash(*row)[:10] for row in found.select(about).iter_rows()]
    return (
        found.select(
            pl.Series("pair", pairs, dtype=pl.String),
            *("engine", "question_id", "db_id", "question", "evidence", "gold_sql", "sql"),
            pl.coalesce("dialect", "engine").alias("written_for"),
            *("df_match", "bird_ex", "gold_key", "key"),
        )
        .unique("pair", keep="first", maintain_order=True)
        .sort("pair")
    )


def stored_annotations(run: Run) -> pl.DataFrame:
    """All annotations of a run. ResultsError where a part cannot be read: what a person said cannot be made again."""
    parts = [read_annotations(run, part) for part in run.parts(TABLE)]
    return pl.concat([pl.DataFrame(schema=dtypes(TABLE)), *parts])


def read_annotations(run: Run, part: str) -> pl.DataFrame:
    """One annotator's. ResultsError as in `stored_annotations`."""
    path = run.part_path(TABLE, part)
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ResultsError(f"cannot be read: {error}", where=path, hint="put it back from a copy, or aside") from error
    if frame.schema != pl.Schema(dtypes(TABLE)):
        raise ResultsError("holds other columns than annotations have", where=path, hint="put it aside")
    return frame
