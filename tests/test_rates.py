"""Intervals and tests: outside values, properties that hold by construction, seeds."""

import math

import numpy as np
import pytest

from workbench.errors import ResultsError
from workbench.metrics import wilson_interval
from workbench.rates import (
    balanced_accuracy,
    cluster_means,
    compare_verdicts,
    holm,
    kappa,
    mcnemar,
    paired_bootstrap,
    rate,
)


def test_rate_has_both_intervals():
    verdicts, databases = [True, True, False, True, False] * 4, [str(i // 2) for i in range(20)]
    found = rate(verdicts, databases)
    assert (found.successes, found.n, found.share, found.clusters) == (12, 20, 0.6, 10)
    assert (found.low, found.high) == wilson_interval(12, 20)
    assert 0 <= found.cluster_low < found.share < found.cluster_high <= 1
    assert rate(verdicts, databases) == found


def test_few_databases_have_no_interval_of_their_own():
    found = rate([True, False] * 9, [str(i // 2) for i in range(18)])
    assert (found.clusters, found.cluster_low, found.cluster_high) == (9, None, None)


def test_clusters_widen_the_interval_where_databases_differ():
    verdicts = [True] * 50 + [False] * 50
    alike, apart = [str(i % 10) for i in range(100)], [str(i // 10) for i in range(100)]
    narrow, wide = rate(verdicts, alike), rate(verdicts, apart)
    assert narrow.cluster_low == narrow.cluster_high == 0.5  # every database has half of its questions right
    assert wide.cluster_high - wide.cluster_low > 2 * (wide.high - wide.low)


def test_cluster_means_agree_with_the_formula_of_the_ratio():
    """With databases of one size, the variance of the bootstrap mean is that of their means / number (divisor n)."""
    values = np.random.default_rng(5).normal(size=(40, 3))
    means = cluster_means(values.ravel().tolist(), [str(i // 3) for i in range(120)], resamples=20_000)
    assert means.mean() == pytest.approx(values.mean(), abs=3 * math.sqrt(values.mean(axis=1).var() / 40 / 20_000))
    assert means.var() == pytest.approx(values.mean(axis=1).var() / 40, rel=0.05)


MCNEMAR = [  # only first, only second, chi squared (|a - b| - 1)^2 / (a + b)
    (99, 4, 94**2 / 103),  # the plans paper: 85.79
    (4, 99, 94**2 / 103),
    (10, 5, 16 / 15),
    (1, 0, 0.0),
    (7, 7, 1 / 14),
]


@pytest.mark.parametrize(("first", "second", "statistic"), MCNEMAR)
def test_mcnemar(first, second, statistic):
    found = mcnemar(first, second)
    assert found.statistic == pytest.approx(statistic)
    assert found.p_corrected == pytest.approx(math.erfc(math.sqrt(statistic / 2)))  # chi squared of one degree
    n, least = first + second, min(first, second)
    tail = sum(math.comb(n, k) for k in range(least + 1)) / 2**n
    assert found.p_exact == pytest.approx(min(1.0, 2 * tail))


def test_the_paper_s_statistic():
    assert round(mcnemar(99, 4).statistic, 2) == 85.79


def test_verdicts_of_two_models():
    found = compare_verdicts([True, True, False, True, False], [True, False, True, False, False])
    assert (found.only_first, found.only_second) == (2, 1)
    same = compare_verdicts([True, False], [True, False])
    assert (same.statistic, same.p_corrected, same.p_exact) == (0.0, 1.0, 1.0)


# id -> counts, share that agrees, kappa = (share - chance) / (1 - chance)
KAPPA = {
    "two answers": ([[20, 5], [10, 15]], 0.7, 0.4),
    "three answers": ([[10, 0, 0], [0, 5, 5], [0, 5, 5]], 2 / 3, (2 / 3 - 1 / 3) / (2 / 3)),
    "perfect": ([[5, 0], [0, 3]], 1.0, 1.0),
    "as chance gives": ([[5, 0], [2, 0]], 5 / 7, 0.0),
    "worse than chance": ([[0, 5], [3, 0]], 0.0, -(30 / 64) / (1 - 30 / 64)),
}


@pytest.mark.parametrize("counts, same, value", KAPPA.values(), ids=KAPPA)
def test_kappa(counts, same, value):
    found = kappa(counts)
    assert (found.same, found.kappa) == (pytest.approx(same), pytest.approx(value))
    assert -1 <= found.low <= found.kappa + 1e-6 and found.kappa - 1e-6 <= found.high <= 1


def test_kappa_without_an_interval():
    assert kappa([[5, 0], [0, 0]]).kappa is None
    flat = kappa([[1, 1, 1], [0, 0, 0], [0, 0, 0]])  # a variance of 0
    assert flat.kappa == pytest.approx(0) and flat.low is None


def test_paired_bootstrap():
    first, second = [1.0] * 30 + [0.0] * 10, [1.0] * 10 + [0.0] * 30
    databases = [str(i % 8) for i in range(40)]
    found = paired_bootstrap(first, second, databases)
    assert found.difference == pytest.approx(0.5)
    assert found.low < 0.5 < found.high and found.p == pytest.approx(2 / 2001)
    assert paired_bootstrap(second, first, databases).difference == pytest.approx(-0.5)
    none = paired_bootstrap(first, first, databases)
    assert (none.difference, none.low, none.high, none.p) == (0.0, 0.0, 0.0, 1.0)


def test_holm():
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert adjusted == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert holm({"alone": 0.04}) == {"alone": 0.04}


@pytest.mark.parametrize(
    "call",
    [
        lambda: rate([], []),
        lambda: rate([True], []),
        lambda: mcnemar(-1, 3),
        lambda: kappa([[0, 0], [0, 0]]),
        lambda: compare_verdicts([True], []),
        lambda: paired_bootstrap([], [], []),
        lambda: holm({}),
        lambda: holm({"a": math.nan}),
    ],
    ids=["no verdicts", "no databases", "negative", "nothing rated", "not paired", "no scores", "no tests", "no p"],
)
def test_impossible_input_raises(call):
    with pytest.raises(ResultsError):
        call()


def test_balanced_accuracy_is_the_mean_of_two_recalls():
    truth = [True] * 5 + [False] * 10
    said = [True] * 4 + [False] + [False] * 9 + [True]
    found = balanced_accuracy(truth, said, ["a", "b", "c", "a", "b"] * 3)
    assert found.share == pytest.approx((4 / 5 + 9 / 10) / 2)
    (low, high), (other_low, other_high) = wilson_interval(4, 5), wilson_interval(9, 10)
    assert found.low == pytest.approx(0.85 - math.hypot(0.8 - low, 0.9 - other_low) / 2)
    assert found.high == pytest.approx(0.85 + math.hypot(high - 0.8, other_high - 0.9) / 2)
    assert found.cluster_low <= found.share <= found.cluster_high
    assert balanced_accuracy(truth, said, ["a"] * 15).cluster_low is None
    with pytest.raises(ResultsError, match="the same"):
        balanced_accuracy([True], [True], ["a"])
