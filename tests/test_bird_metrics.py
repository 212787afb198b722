"""BIRD's Soft-F1 and older execution rule on pairs worked out by hand."""

import pytest

from workbench.bird_metrics import bird_ex_two_pass, soft_f1

SOFT_F1 = [  # id, prediction, gold, F1 = 2PR / (P + R); in comments matched, predicted only, gold only
    ("the same", [(1, "a"), (2, "b")], [(1, "a"), (2, "b")], 1.0),
    ("both empty", [], [], 1.0),
    ("nothing predicted", [], [(1,)], 0.0),
    ("nothing expected", [(1,)], [], 0.0),
    ("half a row", [(1, 3)], [(1, 2)], 0.5),  # 1/2, 1/2, 1/2
    ("columns in another order", [("a", 1)], [(1, "a")], 1.0),
    ("rows are paired by place", [(2,), (1,)], [(1,), (2,)], 0.0),
    ("one place off", [(0,), (1,), (2,)], [(1,), (2,), (3,)], 0.0),
    ("repeated rows go first", [(1,), (2,)], [(1,), (1,), (2,)], 1.0),
    ("a row too many", [(1,), (2,)], [(1,)], 2 / 3),  # 1, 1, 0: P 1/2, R 1
    ("a row too few", [(1,)], [(1,), (2,)], 2 / 3),  # 1, 0, 1: P 1, R 1/2
    ("a row too many counts once, however wide", [(1, 2), (3, 4)], [(1, 2)], 2 / 3),
    ("a column too few", [(1,)], [(1, 2)], 2 / 3),  # 1/2, 0, 1/2
    ("columns too many", [(1, 2, 3)], [(1,)], 0.5),  # 1, 2, 0: P 1/3, R 1
    ("a value counts each time", [(1, 1)], [(1, 2)], 0.8),  # 1, 0, 1/2: P 1, R 2/3
    ("matches may exceed the width", [(1, 1)], [(1,)], 1.0),  # 2, 0, 0
    ("so that a wrong row is outweighed", [(1, 1), (9,)], [(1,), (2,)], 2 / 3),  # 2 + 0, 0 + 1, 0 + 1
    ("1 is 1.0", [(1.0,)], [(1,)], 1.0),
    ("text is no number", [("1",)], [(1,)], 0.0),
    ("NULL is NULL", [(None, 1)], [(None, 2)], 0.5),
    ("arrays", [([1],)], [([1],)], 1.0),
    ("no tolerance", [(0.1 + 0.2, 1)], [(0.3, 1)], 0.5),
]


@pytest.mark.parametrize(("predicted", "gold", "f1"), [case[1:] for case in SOFT_F1], ids=[case[0] for case in SOFT_F1])
def test_soft_f1(predicted, gold, f1):
    assert soft_f1(predicted, gold) == pytest.approx(f1, abs=1e-12)


TWO_PASS = [  # id, prediction, its status, gold, its status, verdict
    ("equal sets", [(1,), (1,)], "ok", [(1,)], "ok", True),
    ("different", [(1,)], "ok", [(2,)], "ok", False),
    ("both fail", None, "syntax_error", None, "name_error", True),
    ("both time out", None, "timeout", None, "timeout", True),
    ("an error is no timeout", None, "timeout", None, "crashed", False),
    ("prediction fails", None, "refused", [(1,)], "ok", False),
    ("gold fails, the prediction says the word", [("error",)], "ok", None, "runtime_error", True),
    ("gold times out, the prediction says so", [("timeout",)], "ok", None, "timeout", True),
    ("gold says the word", None, "runtime_error", [("error",)], "ok", True),
    ("rows of a failure are not looked at", [(1,)], "too_large", [(1,)], "ok", False),
]


@pytest.mark.parametrize(
    ("predicted", "status", "gold", "gold_status", "equal"), [c[1:] for c in TWO_PASS], ids=[c[0] for c in TWO_PASS]
)
def test_two_pass_rule(predicted, status, gold, gold_status, equal):
    assert bird_ex_two_pass(predicted, gold, status, gold_status) is equal
