"""How a model's accuracy holds up across engines: per engine, worst, best, and their ratio, portability.

In: the scores table (one row per generation x engine; columns in result_columns.py). Out: study tables, one row per model x
target x engine (`accuracy_by_engine`) or per model x target (`portability`). All shares are fractions of 1.
Definitions: plans paper, section 1 (lower bound) and table 2 (portability). Reads stored scores only.
"""

from functools import lru_cache

import numpy as np
import polars as pl

from workbench.errors import ResultsError
from workbench.metrics import wilson_interval
from workbench.results import dtypes

PAPER_ENGINES = ("sqlite", "postgres", "mysql", "clickhouse")  # portability runs over these, as far as they are there
ENGINES = (*PAPER_ENGINES, "duckdb")  # DuckDB's accuracy stands beside; it never enters a bound or a ratio
HOME = "sqlite"  # the engine that the benchmarks' gold is written for

HEADLINE = "df_match"  # bird_ex and the other verdicts can be chosen in its place

MODEL_KEYS = ["run", "benchmark", "model", "params_b", "weights", "regime", "is_simulated", "target"]
KEYS = [*MODEL_KEYS, "mode"]
NEEDED = [*MODEL_KEYS, "dialect", "engine", "question_id", "db_id"]

RESAMPLES = 1000
SEED = 20_260_101
MIN_CLUSTERS = 10  # with fewer databases a percentile interval over databases is far too narrow


def accuracy_by_engine(scores: pl.DataFrame, metric: str = HEADLINE) -> pl.DataFrame:
    """Execution accuracy of every model on every engine, with Wilson's 95 % interval.

    Columns: run, benchmark, model, params_b, weights, regime, is_simulated, target, mode, engine, metric, n, correct,
    accuracy, low, high, not_judged, empty_gold. n counts the pairs that have a verdict: failed predictions are wrong, and for
    bird_ex failed golds too, by the official rule. Pairs without one are counted in not_judged, those
    of n whose gold finds nothing, which an empty answer matches, in empty_gold.
    accuracy and its interval are null where n is 0.
    mode: "native" is SQL asked for in the engine's own dialect, "as-written" is SQL asked for SQLite and run unchanged
    on every engine, "compiled" is a plan. A model that was also asked natively has its SQLite SQL in both modes.
    ResultsError: no scores, a missing column, or a metric that isn't a verdict per row.
    """
    counted = pl.col("is_counted")
    table = (
        verdicts(scores, metric)
        .group_by([*KEYS, "engine"])
        .agg(
            metric=pl.lit(metric),
            n=counted.sum().cast(pl.Int64),
            correct=pl.col("is_correct").sum().cast(pl.Int64),
            not_judged=(~counted).sum().cast(pl.Int64),
            empty_gold=(counted & pl.col("is_empty")).sum().cast(pl.Int64),
        )
        .sort([*KEYS, pl.col("engine").cast(pl.Enum(ENGINES))], nulls_last=True)
    )
    bounds = [wilson_interval(correct, n) if n else (None, None) for correct, n in table.select("correct", "n").rows()]
    return table.select(
        *KEYS,
        "engine",
        "metric",
        "n",
        "correct",
        accuracy=pl.when(pl.col("n") > 0).then(pl.col("correct") / pl.col("n")),
        low=pl.Series([low for low, _ in bounds], dtype=pl.Float64),
        high=pl.Series([high for _, high in bounds], dtype=pl.Float64),
        not_judged=pl.col("not_judged"),
        empty_gold=pl.col("empty_gold"),
    )


def portability(scores: pl.DataFrame, metric: str = HEADLINE, engines: tuple[str, ...] | None = None) -> pl.DataFrame:
    """Lower-bound, best and mean accuracy over an engine set, and portability = lower bound / best.

    engines: the set; by default, for each run and benchmark, those of PAPER_ENGINES it has scores on. One row per
    model x target x mode (see `accuracy_by_engine`), columns: KEYS; metric; engines (the set as text); n (the smallest
    denominator over the set); not_judged (over the set); empty_gold (the most on an engine); one accuracy column per engine of ENGINES, null where it
    wasn't judged; lower_bound, best, mean, delta_worst (lower bound minus SQLite's accuracy, never positive),
    portability, all null with a reason where an engine of the set was not judged or nothing is right anywhere;
    portability_low, portability_high, and the same of lower_bound: 95 % percentile bootstrap (seeded, widened to hold the
    estimate), which resamples what `interval` names: databases where there are MIN_CLUSTERS or more, else questions.
    ResultsError as in `accuracy_by_engine`, and for an unknown engine.
    """
    judged = verdicts(scores, metric)
    unknown = [name for name in engines or () if name not in ENGINES]
    if unknown:
        raise ResultsError(f"unknown engine {unknown[0]}", where="engines", hint=f"available: {', '.join(ENGINES)}")
    accuracy = accuracy_by_engine(scores, metric)
    present = accuracy.group_by("run", "benchmark").agg("engine")
    sets = {
        (run, benchmark): tuple(name for name in PAPER_ENGINES if name in names)
        for run, benchmark, names in present.rows()
    }
    rows = []
    for key, group in accuracy.group_by(KEYS, maintain_order=True):
        row = dict(zip(KEYS, key, strict=True))
        chosen = tuple(engines) if engines else sets[row["run"], row["benchmark"]]
        row |= _summary(group, chosen) | {"metric": metric, "engines": ", ".join(chosen)}
        row |= dict.fromkeys([*ENDS, "interval"])
        if row["portability"] is not None:
            same = pl.all_horizontal(
                pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(KEYS, key, strict=True)
            )
            row |= _bootstrap(judged.filter(same), chosen, row)
        rows.append(row)
    return pl.DataFrame(rows, schema=SCHEMA)


SCHEMA = pl.Schema(dtypes("portability"))
ENDS = ("lower_bound_low", "lower_bound_high", "portability_low", "portability_high")


def verdicts(scores: pl.DataFrame, metric: str) -> pl.DataFrame:
    """One row per verdict: KEYS, engine, question_id, db_id, is_counted, is_correct, is_empty. Rows of two modes stand twice."""
    missing = [name for name in (*NEEDED, metric) if name not in scores.columns]
    if missing:
        raise ResultsError(f"no column {missing[0]}", where="scores", hint=f"there are: {', '.join(scores.columns)}")
    if scores.is_empty():
        raise ResultsError("no scores to summarise", where="scores", hint="score the run first")
    if scores[metric].dtype not in (pl.Boolean, pl.Null):
        raise ResultsError(f"{metric} is no verdict per row", where="scores", hint=f"it is {scores[metric].dtype}")
    judged = pl.col(metric).is_not_null()
    dialect = pl.when(pl.col("target") == "sql").then(pl.col("dialect").fill_null(HOME))
    table = scores.select(
        *MODEL_KEYS,
        "engine",
        "question_id",
        "db_id",
        dialect=dialect,
        is_counted=judged,
        is_correct=pl.col(metric).fill_null(False),
        is_empty=(pl.col("gold_rows") == 0).fill_null(False) if "gold_rows" in scores.columns else pl.lit(False),
    )
    away = pl.col("dialect") != pl.col("engine")  # null, so neither, for plans
    stray = table.filter(away & (pl.col("dialect") != HOME))
    if stray.height:
        dialect, engine = stray.row(0, named=True)["dialect"], stray.row(0, named=True)["engine"]
        raise ResultsError(
            f"SQL written for {dialect} was run on {engine}", where="scores", hint=f"only {HOME}'s may be"
        )
    table = table.with_columns(
        travels=away.any().over(MODEL_KEYS),
        is_home_only=(pl.col("dialect") == HOME).all().over(MODEL_KEYS),
    )
    travels, home = pl.col("travels").fill_null(False), pl.col("dialect") == HOME
    return pl.concat(
        [
            table.filter(pl.col("dialect").is_null()).with_columns(mode=pl.lit("compiled")),
            table.filter(home & travels).with_columns(mode=pl.lit("as-written")),
            table.filter(~away & ~(travels & pl.col("is_home_only"))).with_columns(mode=pl.lit("native")),
        ]
    )


def _summary(group: pl.DataFrame, chosen: tuple[str, ...]) -> dict:
    """Bounds and ratio of one model x target x mode from its accuracies; nulls and a reason where they are undefined."""
    accuracy = dict(group.select("engine", "accuracy").rows())
    inside = group.filter(pl.col("engine").is_in(chosen))
    row = {engine: accuracy.get(engine) for engine in ENGINES}
    row |= {"n": inside["n"].min() or 0, "not_judged": inside["not_judged"].sum(), "reason": None}
    row["empty_gold"] = inside["empty_gold"].max() or 0
    row |= dict.fromkeys(("lower_bound", "best", "mean", "delta_worst", "portability"))
    values = [accuracy.get(engine) for engine in chosen]
    absent = [engine for engine in chosen if accuracy.get(engine) is None]
    if len(chosen) < 2:
        return row | {"reason": f"portability needs two engines, there is {chosen[0] if chosen else 'none'}"}
    if absent:
        return row | {"reason": f"not judged on {', '.join(absent)}"}
    row |= {"lower_bound": min(values), "best": max(values), "mean": sum(values) / len(values)}
    if HOME in chosen:
        row["delta_worst"] = row["lower_bound"] - accuracy[HOME]
    if row["best"] == 0:
        return row | {"reason": "nothing right on any engine: the ratio is undefined"}
    return row | {"portability": row["lower_bound"] / row["best"]}


def _bootstrap(verdicts: pl.DataFrame, chosen: tuple[str, ...], row: dict) -> dict:
    """Percentile intervals of lower bound and ratio; engines are resampled together, because their questions are the same."""
    by_database = verdicts["db_id"].n_unique() >= MIN_CLUSTERS
    cluster = ["db_id"] if by_database else ["db_id", "question_id"]
    cells = (
        verdicts.filter(pl.col("engine").is_in(chosen))
        .group_by([*cluster, "engine"])
        .agg(correct=pl.col("is_correct").sum(), n=pl.col("is_counted").sum())
        .pivot("engine", index=cluster, values=["correct", "n"])
        .sort(cluster)
        .fill_null(0)
    )
    weights = _resampling_weights(cells.height)
    correct = weights @ cells.select(f"correct_{engine}" for engine in chosen).to_numpy().astype(np.float32)
    n = weights @ cells.select(f"n_{engine}" for engine in chosen).to_numpy().astype(np.float32)
    with np.errstate(invalid="ignore", divide="ignore"):  # a resample without a judged or right answer has no ratio
        accuracy = correct / n
        drawn = {"lower_bound": accuracy.min(axis=1), "portability": accuracy.min(axis=1) / accuracy.max(axis=1)}
    ends = {}
    for name, values in drawn.items():
        values = values[np.isfinite(values)]
        low, high = np.percentile(values, [2.5, 97.5]) if values.size else (row[name], row[name])
        ends |= {f"{name}_low": min(float(low), row[name]), f"{name}_high": max(float(high), row[name])}
    kind = f"95 % bootstrap over {'databases' if by_database else 'questions'}, {RESAMPLES} resamples"
    return ends | {"interval": kind}


@lru_cache(maxsize=4)
def _resampling_weights(clusters: int) -> np.ndarray:
    """(RESAMPLES, clusters): how often each cluster was drawn. The same draws for every model, so models compare."""
    draws = np.random.default_rng(SEED).multinomial(clusters, np.full(clusters, 1 / clusters), size=RESAMPLES)
    return draws.astype(np.float32)
