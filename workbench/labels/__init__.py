"""Hand labels of real questions and of real errors: what a person says, for measuring classifiers against.

In: the CSV files of this folder, which hold hashes and labels and none of the benchmarks' text. Out: polars frames, and
the keys by which a question or a prediction finds its row. README.md says who labelled what, and by which rules.
"""

from pathlib import Path

import polars as pl

from workbench.results import content_hash

HALVES = ("tune", "held")
_FLAGS = {"is_ordered": pl.Boolean, "is_row_count_fixed": pl.Boolean}


def question_key(db_id: str, question: str, gold_sql: str) -> str:
    """The key of a question, the same wherever the benchmark lies and however it counts; texts as the benchmark has them."""
    return content_hash(db_id, question, gold_sql)


def question_classes() -> pl.DataFrame:
    """key, is_ordered, is_row_count_fixed, note (null where the call was easy), benchmark, db_id, half, drawn.

    half: "tune" is for looking at, "held" for measuring; no database is in both. drawn: "random", or "sought" where the
    question was taken for its label or as a near miss: rates over all rows are not rates of a benchmark.
    """
    return _read("question_classes.csv", _FLAGS)


def _read(name: str, types: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    return pl.read_csv(Path(__file__).with_name(name), comment_prefix="#", schema_overrides=types)
