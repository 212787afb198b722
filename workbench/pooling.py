"""Pools one coefficient over models by inverse variance, and says how much the models disagree.

In: estimates y_m with standard errors s_m, one a model. Out: the fixed effect (plans paper, appendix I, "Pooling":
w_m = 1 / s_m^2), Cochran's Q and I2, and beside it random effects with the between-model variance tau2 by DerSimonian and
Laird or by restricted maximum likelihood (REML), with the interval in which a further model's coefficient is expected.
Fixed effect, Q, I2 and DerSimonian-Laird are statsmodels'; it has no REML.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.errors import ResultsError


@dataclass(frozen=True)
class RandomEffects:
    """tau2: between-model variance. low, high: 95 % interval of the mean. further_low, further_high: of a further
    model's coefficient (t with k - 2 degrees of freedom; Higgins, Thompson, Spiegelhalter 2009); NaN for fewer than 3."""

    tau2: float
    estimate: float
    error: float
    low: float
    high: float
    further_low: float
    further_high: float


@dataclass(frozen=True)
class Pooled:
    """k: models. estimate, error, low, high: the fixed effect. q, q_p: Cochran's Q and its p-value. i2: in percent, 0 to 100."""

    k: int
    estimate: float
    error: float
    low: float
    high: float
    q: float
    q_p: float
    i2: float
    dersimonian_laird: RandomEffects
    reml: RandomEffects


def pool(estimates: Sequence[float], errors: Sequence[float]) -> Pooled:
    """Both models of one coefficient. ResultsError where there is no estimate or an error is not a positive number."""
    from scipy.stats import chi2, norm
    from statsmodels.stats.meta_analysis import combine_effects

    y, s = np.asarray(estimates, float), np.asarray(errors, float)
    if len(y) == 0 or len(y) != len(s) or not np.isfinite(y).all() or not (np.isfinite(s) & (s > 0)).all():
        raise ResultsError("pooling needs estimates, each with a positive standard error", where="pooling")
    if len(y) == 1:
        low, high = y[0] - norm.ppf(0.975) * s[0], y[0] + norm.ppf(0.975) * s[0]
        alone = RandomEffects(0.0, y[0], s[0], low, high, math.nan, math.nan)
        return Pooled(1, y[0], s[0], low, high, 0.0, 1.0, 0.0, alone, alone)
    with np.errstate(invalid="ignore", divide="ignore"):  # a tau2 below 0, which counts as 0; models that agree wholly
        found = combine_effects(y, s**2, method_re="chi2")
    low, high = found.mean_effect_fe + np.array([-1, 1]) * norm.ppf(0.975) * found.sd_eff_w_fe
    return Pooled(
        k=len(y),
        estimate=float(found.mean_effect_fe),
        error=float(found.sd_eff_w_fe),
        low=float(low),
        high=float(high),
        q=float(found.q),
        q_p=float(chi2.sf(found.q, len(y) - 1)),
        i2=100 * max(float(found.i2), 0.0),
        dersimonian_laird=_random_effects(y, s, max(float(found.tau2), 0.0)),
        reml=_random_effects(y, s, _reml(y, s)),
    )


def _random_effects(y: np.ndarray, s: np.ndarray, tau2: float) -> RandomEffects:
    from scipy.stats import norm, t

    weights = 1 / (s**2 + tau2)
    estimate, error = float((weights * y).sum() / weights.sum()), float(weights.sum() ** -0.5)
    around = norm.ppf(0.975) * error
    further = t.ppf(0.975, len(y) - 2) * math.sqrt(tau2 + error**2) if len(y) > 2 else math.nan
    return RandomEffects(
        tau2, estimate, error, estimate - around, estimate + around, estimate - further, estimate + further
    )


def _reml(y: np.ndarray, s: np.ndarray) -> float:
    """The tau2 >= 0 at which the derivative of the restricted log-likelihood vanishes, or 0 where it falls from there."""
    from scipy.optimize import brentq

    def slope(tau2: float) -> float:
        weights = 1 / (s**2 + tau2)
        mean = (weights * y).sum() / weights.sum()
        return float((weights**2 * (y - mean) ** 2).sum() - weights.sum() + (weights**2).sum() / weights.sum())

    ends = [0.0, *np.geomspace(1e-9, 1e3, 60) * (np.var(y) + float((s**2).max()))]
    signs = [slope(end) for end in ends]
    roots = [
        brentq(slope, low, high, xtol=1e-14, rtol=1e-14)
        for low, high, here, there in zip(ends, ends[1:], signs, signs[1:], strict=False)
        if here > 0 >= there
    ]
    if not roots:
        return 0.0

    def likelihood(tau2: float) -> float:
        weights = 1 / (s**2 + tau2)
        mean = (weights * y).sum() / weights.sum()
        return float(np.log(weights).sum() - np.log(weights.sum()) - (weights * (y - mean) ** 2).sum())

    return float(max([0.0, *roots], key=likelihood))
