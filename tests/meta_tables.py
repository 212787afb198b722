"""Made-up coefficients of models, pooled as the study pools them, for tests of figures."""

import numpy as np
import polars as pl

from workbench.feature_names import REGRESSION
from workbench.meta_analysis import pooled
from workbench.results import dtypes


def tables(*models: dict, features: tuple[str, ...] = REGRESSION, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(pooled, coefficients): each model's own fields over a random draw; reason: it has no coefficients."""
    random = np.random.default_rng(seed)
    usual = {"run": "r", "benchmark": "bundled", "weights": "open", "regime": "prompted", "is_simulated": False}
    rows = []
    for i, model in enumerate(models):
        about = usual | {"model": f"m{i}", "metric": "df_match", "n": 40 + i, "plan_wins": 20} | model
        for place, feature in enumerate(features):
            beta, error = float(random.normal(0.15 if place == 3 else 0.0, 0.1)), float(random.uniform(0.04, 0.12))
            row = {"feature": feature, "beta": beta, "error": error, "low": beta - 2 * error, "high": beta + 2 * error}
            if "reason" in about:
                row = {"feature": feature}
            rows.append(dict.fromkeys(dtypes("coefficients")) | about | row)
    coefficients = pl.DataFrame(rows, schema=dtypes("coefficients"))
    found = pooled(coefficients).with_columns(metric=pl.lit("df_match"))
    missing = [pl.lit(None).alias(name) for name in dtypes("pooled") if name not in found.columns]
    return found.with_columns(missing).select(list(dtypes("pooled"))).cast(dtypes("pooled")), coefficients
