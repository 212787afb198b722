"""Intervals of shares and means, and tests between models, for tables of scores.

In: verdicts or scores of pairs, with the database of each. Out: estimates with intervals, p-values. Wilson's interval
takes pairs for independent; the clustered bootstrap resamples databases, whose questions share a schema and so tend to
fail together; with few of them its interval is far too narrow, so that pairs are drawn then. Tests are statsmodels'; resampling is seeded, so the same input gives the same numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from workbench.errors import ResultsError
from workbench.metrics import wilson_interval
from workbench.portability import MIN_CLUSTERS

RESAMPLES = 2000
SEED = 20_260_103


@dataclass(frozen=True)
class Rate:
    """A share of n pairs. low, high: Wilson's. cluster_low, cluster_high: bootstrap over `clusters` databases.

    The latter are None where there are fewer than MIN_CLUSTERS databases.
    """

    successes: int
    n: int
    low: float
    high: float
    clusters: int
    cluster_low: float | None
    cluster_high: float | None

    @property
    def share(self) -> float:
        return self.successes / self.n


@dataclass(frozen=True)
class Balanced:
    """Balanced accuracy, the mean of the recalls of yes and of no. cluster_low, cluster_high: None for a single database."""

    share: float
    low: float
    high: float
    cluster_low: float | None
    cluster_high: float | None


@dataclass(frozen=True)
class McNemar:
    """Pairs that only one of two models has right, and the p-values of the hypothesis that both are as likely.

    statistic, p_corrected: chi squared with the continuity correction; p_exact: binomial.
    """

    only_first: int
    only_second: int
    statistic: float
    p_corrected: float
    p_exact: float


@dataclass(frozen=True)
class Kappa:
    """Agreement of two raters on n things. same: the share that agrees. kappa: Cohen's, None where both give one same answer
    to all. low, high: its asymptotic 95 % interval, None where that has no width."""

    n: int
    same: float
    kappa: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Difference:
    """first minus second, a 95 % paired bootstrap interval, and the share of resamples on the other side of 0, doubled."""

    difference: float
    low: float
    high: float
    p: float


def rate(verdicts: Sequence[bool], clusters: Sequence[str]) -> Rate:
    """A share with both of its intervals (95 %). clusters: the database of each verdict. ResultsError for none."""
    _check_places(verdicts, clusters)
    low, high = wilson_interval(sum(verdicts), len(verdicts))
    number = len(set(clusters))
    ends = mean_interval(verdicts, clusters) if number >= MIN_CLUSTERS else (None, None)
    return Rate(sum(verdicts), len(verdicts), low, high, number, *ends)


def mean_interval(values: Sequence[float], clusters: Sequence[str]) -> tuple[float, float]:
    """95 % percentile interval of a mean, over what `cluster_means` resamples."""
    low, high = np.percentile(cluster_means(values, clusters), [2.5, 97.5])
    return float(low), float(high)


def cluster_means(values: Sequence[float], clusters: Sequence[str], resamples: int = RESAMPLES) -> np.ndarray:
    """(resamples,): means of all values in databases drawn with replacement; in single pairs below MIN_CLUSTERS."""
    _check_places(values, clusters)
    names, index = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    if names.size < MIN_CLUSTERS:
        index = np.arange(len(values))
    sums = np.bincount(index, weights=np.asarray(values, dtype=float))
    sizes = np.bincount(index)
    drawn = np.random.default_rng(SEED).multinomial(sums.size, np.full(sums.size, 1 / sums.size), size=resamples)
    return (drawn @ sums) / (drawn @ sizes)


def balanced_accuracy(truth: Sequence[bool], said: Sequence[bool], clusters: Sequence[str]) -> Balanced:
    """Of yes-or-no answers beside the truth, with 95 % intervals. ResultsError where the truth holds only one of them.

    low, high: the sum of two Wilson intervals as independent ones (Newcombe 1998, method 10, halved), which does not shrink
    to a point where nothing was missed. cluster_low, cluster_high: bootstrap over databases; draws that lack an answer
    count for nothing.
    """
    _check_paired(truth, said)
    _check_places(truth, clusters)
    if len(set(truth)) < 2:
        raise ResultsError(
            "all true answers are the same", where="balanced accuracy", hint="recall is of yes and of no"
        )
    names, index = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    truth, right = np.asarray(truth, dtype=bool), np.equal(truth, said)
    recalls, squares, drawn_recalls = [], [], []
    weights = np.random.default_rng(SEED).multinomial(names.size, np.full(names.size, 1 / names.size), size=RESAMPLES)
    for answer in (True, False):
        is_one = truth == answer
        hits, n = int((right & is_one).sum()), int(is_one.sum())
        low, high = wilson_interval(hits, n)
        recalls.append(hits / n)
        squares.append(((hits / n - low) ** 2, (high - hits / n) ** 2))
        drawn_hits, drawn_n = (weights @ np.bincount(index, which, names.size) for which in (right & is_one, is_one))
        drawn_recalls.append(np.divide(drawn_hits, drawn_n, out=np.full(RESAMPLES, np.nan), where=drawn_n > 0))
    share = fmean(recalls)
    below, above = (math.sqrt(sum(side)) / 2 for side in zip(*squares, strict=True))
    ends = (None, None)
    if names.size > 1:
        ends = tuple(float(end) for end in np.nanpercentile(sum(drawn_recalls) / 2, [2.5, 97.5]))
    return Balanced(share, max(0.0, share - below), min(1.0, share + above), *ends)


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """McNemar's test from the two counts of discordant pairs, e.g. 99 and 4: chi squared 85.79.

    Without discordant pairs there is nothing to tell the models apart: statistic 0, both p-values 1.
    """
    from statsmodels.stats.contingency_tables import mcnemar as test  # takes a second to import

    if min(only_first, only_second) < 0:
        raise ResultsError(f"{only_first} and {only_second} discordant pairs", where="McNemar", hint="counts from 0 on")
    if only_first == only_second == 0:
        return McNemar(0, 0, 0.0, 1.0, 1.0)
    table = [[0, only_first], [only_second, 0]]
    corrected = test(table, exact=False, correction=True)
    exact = float(test(table, exact=True).pvalue)
    return McNemar(only_first, only_second, float(corrected.statistic), float(corrected.pvalue), exact)


def compare_verdicts(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """McNemar's test of two models' verdicts on the same pairs, in the same order."""
    _check_paired(first, second)
    pairs = list(zip(first, second, strict=True))
    return mcnemar(sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs))


def kappa(counts: Sequence[Sequence[int]]) -> Kappa:
    """Cohen's kappa from a square of counts: first rater's answers down, second's across. ResultsError for no counts."""
    from statsmodels.stats.inter_rater import cohens_kappa

    square = np.asarray(counts)
    n, same = int(square.sum()), int(square.trace())
    if not n:
        raise ResultsError("nothing was rated", where="kappa")
    if square.max() == n == same:
        return Kappa(n, 1.0, None, None, None)
    with np.errstate(invalid="ignore"):  # a variance of 0 may come out a little below
        found = cohens_kappa(square)
    if math.isnan(found.kappa_low):
        return Kappa(n, same / n, float(found.kappa), None, None)
    low, high = max(-1.0, float(found.kappa_low)), min(1.0, float(found.kappa_upp))
    return Kappa(n, same / n, float(found.kappa), low, high)


def paired_bootstrap(first: Sequence[float], second: Sequence[float], clusters: Sequence[str]) -> Difference:
    """Difference of two models' mean scores on the same pairs; both models are resampled together.

    p: two-sided, at least 1 / (resamples + 1).
    """
    _check_paired(first, second)
    gaps = [float(a) - float(b) for a, b in zip(first, second, strict=True)]
    means = cluster_means(gaps, clusters)
    low, high = mean_interval(gaps, clusters)
    side = min((means <= 0).sum(), (means >= 0).sum())
    return Difference(fmean(gaps), low, high, min(1.0, 2 * (int(side) + 1) / (means.size + 1)))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjustment of several tests' p-values, under their names; one is significant at 5 % if below 0.05 then."""
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        raise ResultsError("no tests to adjust", where="Holm")
    if any(math.isnan(p) or not 0 <= p <= 1 for p in p_values.values()):
        raise ResultsError("a p-value lies outside 0 to 1", where="Holm")
    adjusted = multipletests(list(p_values.values()), method="holm")[1]
    return dict(zip(p_values, map(float, adjusted), strict=True))


def _check_places(values: Sequence, clusters: Sequence) -> None:
    if not values or len(values) != len(clusters):
        raise ResultsError(f"{len(values)} scores of {len(clusters)} places", where="rates", hint="a database for each")


def _check_paired(first: Sequence, second: Sequence) -> None:
    if not first or len(first) != len(second):
        raise ResultsError(f"{len(first)} and {len(second)} scores", where="paired test", hint="the same pairs of both")
