"""How fast right predictions are beside their golds, from times measured elsewhere (timing.py) in turns, in seconds.

In: whether a pair is right, the times of its prediction and its gold, one of each a repeat. Out: BIRD's VES and R-VES,
HES-SQL's VES and time ratio, and a score that noise does not move: identical SQL gives exactly 1. All per pair and as
fractions; a set's official VES and R-VES are 100 times the mean over ALL pairs, HES-SQL's the mean per engine, averaged
over engines (hes_sql.engine_average). A pair that is not right gives 0 by the official rules.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from workbench.errors import ResultsError
from workbench.rates import mean_interval
from workbench.skeleton import sql_words

RESAMPLES = 1000
SEED = 20_260_102
R_VES_STEPS = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5), (0.0, 0.25))  # ratio from which on: reward


def bird_time_ratio(seconds_predicted: Sequence[float], seconds_gold: Sequence[float]) -> float:
    """BIRD's ratio of times: the mean of gold / predicted over repeats, without those 3 standard deviations off or more.

    The deviation is the population's and the bounds are strict: where all ratios are equal none is left, and the ratio
    is 0 (the official script divides by zero there and catches it, as it does for a time of 0).
    """
    _check(seconds_predicted, seconds_gold)
    if not all(seconds_predicted):
        return 0.0
    ratios = [gold / predicted for predicted, gold in zip(seconds_predicted, seconds_gold, strict=True)]
    centre, spread = float(np.mean(ratios)), float(np.std(ratios))  # NumPy's, to the last bit: the bounds are strict
    kept = [ratio for ratio in ratios if centre - 3 * spread < ratio < centre + 3 * spread]
    return sum(kept) / len(kept) if kept else 0.0


def ves(is_right: bool, seconds_predicted: Sequence[float], seconds_gold: Sequence[float]) -> float:
    """BIRD's valid efficiency of one pair: the square root of the ratio, not capped; 0 where the pair is wrong.

    Official repeats: 10, each timing the execution without the fetch. Rule: DAMO-ConvAI, bird, evaluation_ves.py.
    """
    return math.sqrt(bird_time_ratio(seconds_predicted, seconds_gold)) if is_right else 0.0


def r_ves(is_right: bool, seconds_predicted: Sequence[float], seconds_gold: Sequence[float]) -> float:
    """BIRD's reward-based efficiency of one pair: the square root of the ratio's step, at most sqrt(1.25).

    Official repeats: 100, each timing connect to close. Rule: bird-bench/mini_dev, evaluation_ves.py.
    """
    ratio = bird_time_ratio(seconds_predicted, seconds_gold) if is_right else 0.0
    return math.sqrt(r_ves_reward(ratio))


def r_ves_reward(ratio: float) -> float:
    """The step a ratio falls on: 1.25 from 2 on, 1 from 1, 0.75 from 0.5, 0.5 from 0.25, 0.25 above 0, 0 at 0."""
    return next((reward for bound, reward in R_VES_STEPS if ratio >= bound), 0.0) if ratio > 0 else 0.0


def hes_ves(is_right: bool, seconds_predicted: Sequence[float], seconds_gold: Sequence[float]) -> float:
    """HES-SQL's valid efficiency of one pair (appendix, equation 3): sqrt(T_gold / T_pred) of mean times, not capped."""
    if not is_right:
        return 0.0
    return math.sqrt(_mean_ratio(seconds_predicted, seconds_gold))


def time_ratio(seconds_predicted: Sequence[float], seconds_gold: Sequence[float]) -> float:
    """HES-SQL's min(1, t_gold / t_pred) of mean times, for a prediction that ran."""
    return min(1.0, _mean_ratio(seconds_predicted, seconds_gold))


@dataclass(frozen=True)
class Speed:
    """ratio: time of gold / time of prediction, over 1 where the prediction is faster. low, high: 95 % interval."""

    ratio: float
    low: float
    high: float


def stable_speed(
    predicted_sql: str, gold_sql: str, seconds_predicted: Sequence[float], seconds_gold: Sequence[float]
) -> Speed:
    """Ours, beside VES: the median of gold / predicted over repeats, its interval by resampling repeats (seeded).

    The median is that of the logarithm, so that swapping the sides gives the reciprocal. Statements of the same words
    (whatever blanks, comments, and the case of what is not quoted) are exactly 1, since all they can differ by is noise.
    """
    _check(seconds_predicted, seconds_gold)
    if predicted_sql == gold_sql or sql_words(predicted_sql) == sql_words(gold_sql) is not None:
        return Speed(1.0, 1.0, 1.0)
    if min(*seconds_predicted, *seconds_gold) <= 0:
        raise ResultsError("a time of 0 has no ratio", where="stable_speed", hint="seconds must be over 0")
    logs = np.log(np.asarray(seconds_gold) / np.asarray(seconds_predicted))
    draws = np.random.default_rng(SEED).integers(logs.size, size=(RESAMPLES, logs.size))
    low, high = np.percentile(np.median(logs[draws], axis=1), [2.5, 97.5])
    return Speed(*(math.exp(value) for value in (median(logs.tolist()), low, high)))


def stable_efficiency(ratios: Sequence[float], clusters: Sequence[str]) -> Speed:
    """The geometric mean of right pairs' stable ratios, and its 95 % bootstrap interval (rates.mean_interval).

    clusters: the database of each pair.
    """
    logs = [math.log(ratio) for ratio in ratios]
    low, high = mean_interval(logs, clusters)
    return Speed(*(math.exp(value) for value in (fmean(logs), low, high)))


def _mean_ratio(seconds_predicted: Sequence[float], seconds_gold: Sequence[float]) -> float:
    _check(seconds_predicted, seconds_gold)
    if not any(seconds_predicted):
        raise ResultsError("a time of 0 has no ratio", where="time ratio", hint="seconds must be over 0")
    return fmean(seconds_gold) / fmean(seconds_predicted)


def _check(seconds_predicted: Sequence[float], seconds_gold: Sequence[float]) -> None:
    if not seconds_predicted or len(seconds_predicted) != len(seconds_gold):
        counts = f"{len(seconds_predicted)} times of the prediction and {len(seconds_gold)} of gold"
        raise ResultsError(counts, where="time ratio", hint="one of each a repeat, at least one")
