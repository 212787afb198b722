"""Which rows of a study table a figure of many models shows, and in which order.

In: a study table with a row per model x target x dialect x engine (difficulty.py, error_tables.py). Out: a row per model and
target, of one benchmark and one engine, as dicts; what was chosen is said in words for the notes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from workbench.captions import ENGINES, name_of
from workbench.errors import ResultsError
from workbench.portability import HOME

MEAN = "mean"  # the engine of rows that average several, see difficulty.efficiency
TARGETS = {"sql": "SQL", "plan": "plan"}


class Shown(NamedTuple):
    rows: list[dict]  # by size, then name; SQL before plans
    engine: str  # where they ran, in words


def of_benchmark(frame: pl.DataFrame, benchmark: str | None, needed: Sequence[str], where: str) -> pl.DataFrame:
    """The rows of a benchmark; where none is chosen there must be a single one. ResultsError in one line else."""
    missing = [name for name in ("benchmark", *needed) if name not in frame.columns]
    if missing:
        raise ResultsError(f"no column {missing[0]}", where=where, hint="workbench study all")
    there = sorted(frame["benchmark"].drop_nulls().unique())
    if not there:
        raise ResultsError("nothing to draw: the table is empty", where=where)
    if benchmark not in there and (benchmark is not None or len(there) > 1):
        what = f"no rows of {benchmark}" if benchmark else "several benchmarks and none chosen"
        raise ResultsError(what, where=where, hint=f"available: {', '.join(there)}")
    return frame.filter(pl.col("benchmark") == (benchmark or there[0]))


def one_engine(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Rows of the mean over engines where there is one, else of SQLite, else of the first engine; and its name in words.

    SQL that was asked for in the engine's own dialect is preferred to SQLite's as written.
    """
    engines = sorted(frame["engine"].unique())
    chosen = next((name for name in (MEAN, HOME) if name in engines), engines[0])
    rows = frame.filter(engine=chosen)
    if "dialect" in frame.columns and chosen != MEAN:
        own = rows.filter((pl.col("dialect") == chosen) | (pl.col("target") != "sql"))
        keys = ["model", "target", *(["grade"] if "grade" in frame.columns else [])]
        rows = pl.concat([own, rows.join(own, on=keys, how="anti")])
    others = ", ".join(ENGINES.get(name, name) for name in engines if name != MEAN)
    return rows, f"Mean over {others}" if chosen == MEAN else f"On {ENGINES.get(chosen, chosen)}"


def by_size(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: (*place_of(row), row["target"] != "sql"))


def place_of(row: dict) -> tuple:
    """Where a model stands among others: by size, those without one last, then by name."""
    size = row["params_b"]
    return (size is None, size or 0.0, row["model"])


def labels_of(rows: list[dict]) -> list[str]:
    """A row's name: the model's, with what was asked for where the rows differ in that."""
    is_mixed = len({row["target"] for row in rows}) > 1
    return [f"{name_of(row)} · {TARGETS[row['target']]}" if is_mixed else name_of(row) for row in rows]
