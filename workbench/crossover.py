"""From which model size on plans do at least as well as SQL on the worst engine.

In: the study table `portability`. Out: the study table `crossover`, one row per run and benchmark, simulated models apart
from real ones: a line per target, by least squares of lower-bound accuracy on log10(parameters in billions) over prompted
open-weight models (plans paper, section 6.3 and figures 3 and 7), where they cross, and an interval from resampling models.
"""

import numpy as np
import polars as pl

from workbench.errors import ResultsError
from workbench.results import dtypes

RESAMPLES = 2000
SEED = 20_260_101
NO_CROSSING = 0.10  # share of resamples without a crossing above which there is no interval to speak of
BEYOND = 10  # times the largest or smallest size: a crossing further off is none
FEWEST = 3  # models of each target


def crossover(portability: pl.DataFrame) -> pl.DataFrame:
    """Columns as result_columns.py describes them. Null with a reason where there are too few models or no crossing.

    SQL that was asked for natively is preferred to SQLite's as written. ResultsError where the table is empty.
    """
    if portability.is_empty():
        raise ResultsError("the table portability is empty", where="crossover", hint="workbench score first")
    used = on_a_line(portability)
    keys = portability.select("run", "benchmark", "is_simulated").unique(maintain_order=True)
    rows = [key | _row(used.filter(**key)) for key in keys.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=dtypes("crossover"))


def on_a_line(portability: pl.DataFrame) -> pl.DataFrame:
    """The rows that the lines go through."""
    used = portability.filter(
        pl.col("params_b") > 0, pl.col("lower_bound").is_not_null(), weights="open", regime="prompted"
    )
    has_native = used.filter(mode="native").select("run", "benchmark").unique()
    as_written = used.filter(mode="as-written").join(has_native, on=["run", "benchmark"], how="anti")
    return pl.concat([used.filter(pl.col("mode") != "as-written"), as_written])


def published_crossover() -> pl.DataFrame:
    """The crossings of the plans paper's table 2."""
    from workbench import published

    return crossover(published.portability())


def _row(models: pl.DataFrame) -> dict:
    lines = {target: models.filter(target=target) for target in ("sql", "plan")}
    row = {f"{target}_models": part.height for target, part in lines.items()}
    row |= {"metric": models["metric"].first(), "engines": models["engines"].first()}
    few = [target for target, part in lines.items() if part["params_b"].n_unique() < FEWEST]
    if few:
        return row | {"reason": f"fewer than {FEWEST} sizes of prompted open-weight models with {' and '.join(few)}"}
    for target, part in lines.items():
        slope, intercept = _line(part, np.ones((1, part.height)))[0]
        row |= {f"{target}_slope": slope, f"{target}_intercept": intercept}
    sizes = models["params_b"]
    crossing = _crossings(
        np.array([[row["sql_slope"], row["sql_intercept"]]]),
        np.array([[row["plan_slope"], row["plan_intercept"]]]),
        sizes,
    )[0]
    drawn = _resampled(models, lines, sizes)
    missing = float(np.isnan(drawn).mean())
    row |= {"resamples": len(drawn), "no_crossing": missing}
    if np.isnan(crossing) or missing > NO_CROSSING:
        return row | {"crossing_b": None if np.isnan(crossing) else float(crossing), "reason": _why(crossing, missing)}
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return row | {"crossing_b": float(crossing), "low_b": float(low), "high_b": float(high), "reason": None}


def _why(crossing: float, missing: float) -> str:
    if np.isnan(crossing):
        return f"no crossing: the plan line does not rise faster, or crosses beyond {BEYOND} times the sizes' range"
    return f"no interval: {missing:.0%} of the resamples have no crossing"


def _line(part: pl.DataFrame, weights: np.ndarray) -> np.ndarray:
    """(resamples, 2): slope and intercept of each weighted least-squares line; NaN where one size is left."""
    x, y = np.log10(part["params_b"].to_numpy()), part["lower_bound"].to_numpy()
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_x, mean_y = weights @ x / total, weights @ y / total
        spread = weights @ x**2 / total - mean_x**2
        slope = (weights @ (x * y) / total - mean_x * mean_y) / np.where(spread > 1e-12, spread, np.nan)
    return np.column_stack([slope, mean_y - slope * mean_x])


def _crossings(sql: np.ndarray, plan: np.ndarray, sizes: pl.Series) -> np.ndarray:
    """In billions of parameters; NaN where the plan line does not rise faster or they cross too far off."""
    rises = plan[:, 0] - sql[:, 0]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = 10 ** ((sql[:, 1] - plan[:, 1]) / np.where(rises > 1e-9, rises, np.nan))
    is_near = (found >= sizes.min() / BEYOND) & (found <= sizes.max() * BEYOND)
    return np.where(is_near, found, np.nan)


def _resampled(models: pl.DataFrame, lines: dict[str, pl.DataFrame], sizes: pl.Series) -> np.ndarray:
    """Crossings of resamples: a model is drawn with both its targets."""
    names = models["model"].unique(maintain_order=True).to_list()
    draws = np.random.default_rng(SEED).multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    fitted = []
    for target in ("sql", "plan"):
        places = [names.index(name) for name in lines[target]["model"]]
        fitted.append(_line(lines[target], draws[:, places].astype(float)))
    return _crossings(*fitted, sizes)
