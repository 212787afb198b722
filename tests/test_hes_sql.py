"""HES-SQL's PGR, TEP, averages and reward on numbers worked out by hand."""

import pytest

from workbench.errors import ConfigError, ResultsError
from workbench.hes_sql import Measure, Reward, Tokens, engine_average, is_schema_linked, pgr, reward, tep
from workbench.skeleton import skeleton


def test_engines_weigh_the_same():
    assert engine_average({"sqlite": [1.0, 0.0], "mysql": [1.0, 1.0, 1.0, 0.0]}) == pytest.approx((0.5 + 0.75) / 2)
    for empty in ({}, {"sqlite": []}):
        with pytest.raises(ResultsError):
            engine_average(empty)


PGR = [("half way", 0.6, 0.5, 0.7, 0.5), ("all the way", 0.7, 0.5, 0.7, 1.0), ("back", 0.4, 0.5, 0.7, -0.5)]


@pytest.mark.parametrize(("ex", "weak", "strong", "value"), [case[1:] for case in PGR], ids=[case[0] for case in PGR])
def test_pgr(ex, weak, strong, value):
    assert pgr(ex, weak, strong).value == pytest.approx(value)


def test_pgr_without_a_gap():
    assert pgr(0.6, 0.5, 0.5) == Measure(None, "the strong and the weak method have the same EX")


BASE = Tokens(1000, 200, 10)  # 120 a question
TEP = [  # id, EX, baseline's, tokens, mu, value
    ("a fifth better for twice as many tokens", 0.6, 0.5, Tokens(2000, 400, 10), 1.0, 0.2),
    ("a fifth better for half as many", 0.6, 0.5, Tokens(500, 100, 10), 1.0, -0.4),
    ("answers count twice", 0.6, 0.5, Tokens(1000, 270, 10), 2.0, 0.2 / 0.1),  # 154 beside 140
    ("means, not sums", 0.6, 0.5, Tokens(4000, 800, 20), 1.0, 0.2),
]


@pytest.mark.parametrize(
    ("ex", "base", "tokens", "mu", "value"), [case[1:] for case in TEP], ids=[case[0] for case in TEP]
)
def test_tep(ex, base, tokens, mu, value):
    assert tep(ex, base, tokens, BASE, mu).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("base", "tokens", "tokens_base", "reason"),
    [
        (0.0, Tokens(1, 1, 1), BASE, "baseline's EX is 0"),
        (0.5, Tokens(100, 20, 1), BASE, "as many tokens"),
        (0.5, BASE, Tokens(0, 0, 10), "no tokens"),
    ],
)
def test_tep_is_undefined(base, tokens, tokens_base, reason):
    measure = tep(0.5, base, tokens, tokens_base)
    assert measure.value is None and reason in measure.reason


RIGHT = {
    "is_format_valid": True,
    "similarity": 0.9,
    "has_run": True,
    "is_equal": True,
    "seconds_predicted": 2.0,
    "seconds_gold": 1.0,
    "is_linked": True,
}
WRONG = RIGHT | {"is_equal": False}
FAILED = WRONG | {"has_run": False, "seconds_predicted": None}
REWARDS = [  # id, what happened, rule, parts
    ("right, half as fast", RIGHT, "algorithm", Reward(1, 2, 0, 0.5)),
    ("right, faster: no more than 1", RIGHT | {"seconds_gold": 9.0}, "algorithm", Reward(1, 2, 0, 1)),
    ("right, not timed", RIGHT | {"seconds_predicted": None}, "algorithm", Reward(1, 2, 0, 0)),
    ("right, but over 30 s", RIGHT | {"seconds_predicted": 31.0}, "algorithm", Reward(1, -2.5, 1.5, 0)),
    ("wrong, linked", WRONG, "algorithm", Reward(1, -2.5, 1.5, 0)),
    ("wrong, not linked", WRONG | {"is_linked": False}, "algorithm", Reward(1, -2.5, 0, 0)),
    ("failed, linked", FAILED, "algorithm", Reward(1, -2.5, 1.5, 0)),
    ("out of form", RIGHT | {"is_format_valid": False}, "algorithm", Reward(-2)),
    ("too little alike", RIGHT | {"similarity": 0.59}, "algorithm", Reward(-2)),
    ("just alike enough", RIGHT | {"similarity": 0.6}, "algorithm", Reward(1, 2, 0, 0.5)),
    ("another threshold", RIGHT | {"tau_s": 0.95}, "algorithm", Reward(-2)),
    ("prose: right, the process ends there", RIGHT, "prose", Reward(1, 2)),
    ("prose: to run is enough", WRONG, "prose", Reward(1, 2)),
    ("prose: failed, linked", FAILED, "prose", Reward(1, -2.5, 1.5)),
    ("prose: failed, not linked", FAILED | {"is_linked": False}, "prose", Reward(1, -2.5)),
    ("prose: out of form", FAILED | {"is_format_valid": False}, "prose", Reward(-2)),
    ("prose: likeness does not count", RIGHT | {"similarity": 0.0}, "prose", Reward(1, 2)),
]


@pytest.mark.parametrize(
    ("happened", "rule", "parts"), [case[1:] for case in REWARDS], ids=[case[0] for case in REWARDS]
)
def test_reward(happened, rule, parts):
    found = reward(**happened, rule=rule)
    assert found == parts
    assert found.total == parts.format + parts.execution + parts.schema + parts.efficiency


def test_an_unknown_rule_raises():
    with pytest.raises(ConfigError, match="algorithm, prose"):
        reward(**RIGHT, rule="verse")


LINKS = [
    ("the same names in another query", "SELECT max(T1.b) FROM t AS T1 WHERE a = 1", "SELECT a, b FROM t", True),
    ("fewer names", "SELECT a FROM t", "SELECT a, b FROM t JOIN u", True),
    ("another column", "SELECT c FROM t", "SELECT a, b FROM t", False),
    ("another table", "SELECT a FROM u", "SELECT a FROM t", False),
    (
        "a table's alias and an item's name are no elements",
        "SELECT x.a AS n FROM t AS x ORDER BY n",
        "SELECT a FROM t",
        True,
    ),
    ("a common table is none", "WITH w AS (SELECT a FROM t) SELECT a FROM w", "SELECT a FROM t", True),
    ("not SQL's words", "SELECT 'a", "SELECT a FROM t", False),
]


@pytest.mark.parametrize(("predicted", "gold", "linked"), [case[1:] for case in LINKS], ids=[case[0] for case in LINKS])
def test_schema_linking(predicted, gold, linked):
    assert is_schema_linked(skeleton(predicted), skeleton(gold)) is linked
