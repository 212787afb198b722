"""Hand labels of real questions and of real errors: what a reader says, for measuring classifiers against.

In: the CSV files of this folder, which hold hashes and labels and none of the benchmarks' text. Out: polars frames, and
the keys by which a question or a prediction finds its row. README.md says who labelled what, and by which rules.
"""

from pathlib import Path

import polars as pl

from workbench.results import content_hash

HALVES = ("tune", "held")
CATEGORIES = (  # the plans paper's, appendix D
    "schema_linking",
    "filtering_logic",
    "aggregation_grouping",
    "ordering_ranking",
    "dialect_syntax",
    "other",
)
ERROR_TYPES = ("subquery", "clause", "operator", "function", "condition", "value", "table", "attribute")  # HES-SQL's
_FLAGS = ("is_ordered", "is_row_count_fixed", "gold_wrong")


def question_key(db_id: str, question: str, gold_sql: str) -> str:
    """The key of a question, the same wherever the benchmark lies and however it counts; texts as the benchmark has them."""
    return content_hash(db_id, question, gold_sql)


def error_key(db_id: str, question: str, gold_sql: str, predicted_sql: str) -> str:
    """The key of a wrong prediction: whoever else predicts the same text for the question shares it."""
    return content_hash(db_id, question, gold_sql, predicted_sql)


def question_classes() -> pl.DataFrame:
    """key, is_ordered, is_row_count_fixed, note (null where the call was easy), benchmark, db_id, half, drawn.

    half: "tune" is for looking at, "held" for measuring; no database is in both. drawn: "random", or "sought" where the
    question was taken for its label or as a near miss: rates over all rows are not rates of a benchmark.
    """
    return _read("question_classes.csv")


def errors() -> pl.DataFrame:
    """key, system, db_id, benchmark, engine, category, second_category, error_type, second_error_type, gold_wrong, half,
    drawn, note, round.

    engine: the one the SQL was written for; it was judged on SQLite. category in CATEGORIES, error_type in ERROR_TYPES; the
    second ones, null in most rows, name another fault that would remain. gold_wrong: the prediction is arguably right.
    round: 1 or 2, two draws from the same predictions; a database is in the same half of both.
    """
    return _read("errors.csv").with_columns(pl.col("round").cast(pl.Int64))


def _read(name: str) -> pl.DataFrame:
    frame = pl.read_csv(Path(__file__).with_name(name), comment_prefix="#", infer_schema=False)
    return frame.with_columns(pl.col(flag) == "true" for flag in _FLAGS if flag in frame.columns)
