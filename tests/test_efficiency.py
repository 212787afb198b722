"""Formulas of efficiency on fixed times."""

import math

import pytest

from workbench.efficiency import (
    Speed,
    bird_time_ratio,
    hes_ves,
    r_ves,
    r_ves_reward,
    stable_efficiency,
    stable_speed,
    time_ratio,
    ves,
)
from workbench.errors import ResultsError

OUTLIER = [0.5] * 10 + [1.5] * 9 + [1000.0]  # mean 50.9, standard deviation 217.7: only 1000 lies 3 of them off
RATIOS = [  # id, times of the prediction, of gold, BIRD's ratio
    ("mean of ratios, not ratio of means", [1.0, 2.0], [2.0, 8.0], 3.0),  # (2 + 4) / 2
    ("outliers go", [1.0] * 20, OUTLIER, 18.5 / 19),
    ("of ten ratios none can be one", [1.0] * 10, [0.5] * 5 + [1.5] * 4 + [1000.0], 100.85),
    ("all ratios equal: none is left", [1.0, 2.0], [1.0, 2.0], 0.0),
    ("one repeat has no spread", [1.0], [2.0], 0.0),
    ("no time at all", [0.0, 1.0], [1.0, 2.0], 0.0),
]


@pytest.mark.parametrize(
    ("predicted", "gold", "ratio"), [case[1:] for case in RATIOS], ids=[case[0] for case in RATIOS]
)
def test_bird_ratio(predicted, gold, ratio):
    assert bird_time_ratio(predicted, gold) == pytest.approx(ratio)
    assert ves(True, predicted, gold) == pytest.approx(math.sqrt(ratio))
    assert ves(False, predicted, gold) == r_ves(False, predicted, gold) == 0.0


STEPS = [
    (0.0, 0.0),
    (1e-9, 0.25),
    (0.2499, 0.25),
    (0.25, 0.5),
    (0.4999, 0.5),
    (0.5, 0.75),
    (0.9999, 0.75),
    (1.0, 1.0),
    (1.9999, 1.0),
    (2.0, 1.25),
    (1e9, 1.25),
]


@pytest.mark.parametrize(("ratio", "reward"), STEPS, ids=[str(ratio) for ratio, _ in STEPS])
def test_r_ves_step(ratio, reward):
    assert r_ves_reward(ratio) == reward


def test_r_ves_is_the_root_of_the_step():
    assert r_ves(True, [1.0, 1.0], [2.0, 4.0]) == pytest.approx(math.sqrt(1.25))
    assert r_ves(True, [4.0, 1.0], [1.0, 1.0]) == pytest.approx(math.sqrt(0.75))  # ratios 1/4 and 1
    assert r_ves(True, [1.0, 1.0], [1.0, 1.0]) == 0.0  # no spread: BIRD's script divides by zero and gives 0


HES = [  # id, whether right, times of the prediction, of gold, VES, time ratio
    ("four times as fast, not capped", True, [1.0, 1.0], [2.0, 6.0], 2.0, 1.0),
    ("four times as slow", True, [3.0, 5.0], [1.0, 1.0], 0.5, 0.25),
    ("the same", True, [1.0, 2.0], [1.0, 2.0], 1.0, 1.0),
    ("ratio of means, not mean of ratios", True, [1.0, 3.0], [8.0, 8.0], 2.0, 1.0),
    ("wrong", False, [1.0], [4.0], 0.0, 1.0),
]


@pytest.mark.parametrize(
    ("right", "predicted", "gold", "score", "ratio"), [h[1:] for h in HES], ids=[h[0] for h in HES]
)
def test_hes_sql(right, predicted, gold, score, ratio):
    assert hes_ves(right, predicted, gold) == pytest.approx(score)
    assert time_ratio(predicted, gold) == pytest.approx(ratio)


SAME = [
    ("the same text", "SELECT a FROM t", "SELECT a FROM t"),
    ("blanks, case, comments, semicolon", "select  a\nfrom T -- all\n;", "SELECT a FROM t"),
]


@pytest.mark.parametrize(("predicted", "gold"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_identical_statements_are_exactly_one(predicted, gold):
    assert stable_speed(predicted, gold, [0.1, 0.2, 0.9], [0.3, 0.1, 0.2]) == Speed(1.0, 1.0, 1.0)


def test_a_text_s_case_tells_statements_apart():
    assert stable_speed("SELECT 'A'", "SELECT 'a'", [1.0], [2.0]).ratio == pytest.approx(2.0)


def test_stable_speed_is_a_median_with_an_interval_and_its_own_mirror():
    fast, slow = [1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 2.2, 1.8, 2.0, 90.0]
    speed = stable_speed("SELECT 1", "SELECT 2", fast, slow)
    assert speed.ratio == pytest.approx(2.0)  # the 90 does not move it
    assert 1.8 <= speed.low <= 2.0 <= speed.high <= 90
    mirror = stable_speed("SELECT 2", "SELECT 1", slow, fast)
    assert (mirror.ratio, mirror.low, mirror.high) == pytest.approx((1 / speed.ratio, 1 / speed.high, 1 / speed.low))
    assert speed == stable_speed("SELECT 1", "SELECT 2", fast, slow)


def test_stable_efficiency():
    assert stable_efficiency([1.0] * 4, ["a", "a", "b", "c"]) == Speed(1.0, 1.0, 1.0)
    speed = stable_efficiency([4.0, 0.25, 4.0, 4.0], ["a", "a", "b", "c"])
    assert speed.ratio == pytest.approx(2.0)  # the fourth root of 16
    assert 0.25 - 1e-9 <= speed.low < 2.0 < speed.high <= 4.0 + 1e-9


@pytest.mark.parametrize(
    "call",
    [
        lambda: bird_time_ratio([], []),
        lambda: time_ratio([1.0], [1.0, 2.0]),
        lambda: time_ratio([0.0], [1.0]),
        lambda: stable_speed("SELECT 1", "SELECT 2", [0.0], [1.0]),
        lambda: stable_efficiency([], []),
    ],
    ids=["no times", "unpaired times", "no time at all", "no time for a ratio", "no pairs"],
)
def test_what_has_no_ratio_raises(call):
    with pytest.raises(ResultsError):
        call()
