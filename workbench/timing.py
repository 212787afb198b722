"""Times right predictions beside their golds, for efficiency studies (VES); formulas are elsewhere, on stored numbers.

In: a scored run. Out: rows of `timings`, every repeat of every pair, and what they come to in `scores`. One statement runs at a time (single-user);
prediction and gold take turns, so that a drift of the machine meets both; the clock holds execute and fetch; the first
rounds only warm caches up and are not kept.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from workbench.backends.base import Limits
from workbench.errors import BenchmarkError, ConfigError, ResultsError
from workbench.execute import Executor, Statement
from workbench.pair_metrics import timed_metrics
from workbench.progress import track
from workbench.results import Run, content_hash, part_name
from workbench.score import benchmark_of

TIMING_VERSION = 1  # raise when the protocol changes
WARM_UPS = 1  # rounds before the first that counts


def time_pairs(
    run: Run | str | Path, engines: Sequence[str] | None = None, repeats: int = 5, limits: Limits | None = None
) -> pl.DataFrame:
    """Time every pair judged equal whose gold runs on the prediction's own engine; returns the run's `timings`.

    repeats: rounds that count; 0 times nothing anew. A pair that has been timed is timed again only when its score is made anew or `repeats`
    changes. A pair whose gold is another engine's has no ratio and is left out. Times are seconds of wall clock.
    """
    if repeats < 0:
        raise ConfigError(f"{repeats} repeats", hint="at least 1, or 0 to time nothing")
    run, limits = Run.open(run), limits or Limits()
    if not repeats:
        return run.table("timings")
    benchmark = benchmark_of(run)
    with run.locked():
        pairs = _pairs(run, engines)
        batches = [
            (key, group)
            for key, group in pairs.group_by("model", "target", "dialect", "db_id", "engine", maintain_order=True)
        ]
        with Executor(pairs["engine"].unique(maintain_order=True), limits, sessions=1) as executor:
            for key, group in track(batches, len(batches), "timing"):
                part = part_name(*key)
                stored = dict(run.read_part("timings", part).select("question_id", "input_hash").iter_rows())
                rows = {
                    row["question_id"]: row | {"input_hash": _hash(row, repeats)} for row in group.iter_rows(named=True)
                }
                todo = [row for i, row in rows.items() if stored.get(i) != row["input_hash"]]
                try:
                    path = benchmark.database_path(group["db_id"][0])
                except BenchmarkError:
                    continue  # it was there when the pair was judged; what is stored stays
                made = {row["question_id"]: timed for row in todo if (timed := _time(executor, path, row, repeats))}
                run.merge_part("timings", part, [i for i in rows if i in stored or i in made], made)
                _add_to_scores(run, part, rows)
    return run.table("timings")


def _pairs(run: Run, engines: Sequence[str] | None) -> pl.DataFrame:
    """Right pairs with both statements and the score's hash."""
    scores = run.table("scores").filter("bird_ex", pl.col("engine") == pl.col("gold_engine"))
    if engines is not None:
        scores = scores.filter(pl.col("engine").is_in(list(engines)))
    if scores.is_empty():
        raise ResultsError("has no right pair to time", where=run.path, hint="workbench score first")
    keys = ["model", "target", "dialect", "engine", "question_id"]
    executions = run.table("executions")
    predicted = executions.filter(role="prediction").select(*keys, predicted_sql="sql")
    gold = executions.filter(role="gold").select("engine", "question_id", gold_sql="sql")
    joined = scores.join(predicted, on=keys, nulls_equal=True, maintain_order="left")
    return joined.join(gold, on=["engine", "question_id"], maintain_order="left")


def _add_to_scores(run: Run, part: str, rows: dict[str, dict]) -> None:
    """Bring the scores of a part to hold what its current times say."""
    scores = {row["question_id"]: row for row in run.read_part("scores", part).iter_rows(named=True)}
    made = {}
    for timed in run.read_part("timings", part).iter_rows(named=True):
        i = timed["question_id"]
        if i in scores and i in rows and timed["input_hash"] == rows[i]["input_hash"]:
            sides = rows[i]["predicted_sql"], rows[i]["gold_sql"]
            seconds = timed["seconds_predicted"], timed["seconds_gold"]
            made[i] = scores[i] | timed_metrics(scores[i], *sides, *seconds)
    run.merge_part("scores", part, list(scores), made)


def _hash(row: dict, repeats: int) -> str:
    return content_hash(TIMING_VERSION, WARM_UPS, repeats, row["input_hash"])


def _time(executor: Executor, path: Path, row: dict, repeats: int) -> dict | None:
    """One row of `timings`; None where a statement that was right before does not end in time now."""
    rounds = list(_rounds(executor, path, row, WARM_UPS + repeats))
    if len(rounds) < WARM_UPS + repeats:
        return None
    predicted, gold = zip(*rounds[WARM_UPS:], strict=True)
    return row | {"seconds_predicted": list(predicted), "seconds_gold": list(gold)}


def _rounds(executor: Executor, path: Path, row: dict, rounds: int) -> Iterator[tuple[float, float]]:
    sides = [Statement(row["engine"], row["db_id"], path, row[sql]) for sql in ("predicted_sql", "gold_sql")]
    for number in range(rounds):
        seconds = [0.0, 0.0]
        # who goes first changes, so that neither profits from pages the other has just read
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            execution = executor.run_now(sides[side])
            if execution is None or execution.status != "ok":
                return
            seconds[side] = execution.seconds
        yield seconds[0], seconds[1]
