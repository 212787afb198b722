"""The test-suite rule on results and texts worked out by hand."""

import time

import pytest

from workbench.suite_rule import is_order_judged, same_result, suite_match, suite_statement

RESULTS = [  # id, prediction, gold, whether ordered, verdict
    ("the same", [(1, "a")], [(1, "a")], False, True),
    ("both empty", [], [], True, True),
    ("one empty", [], [(1,)], False, False),
    ("columns in another order", [("a", 1), ("b", 2)], [(1, "a"), (2, "b")], False, True),
    ("also where rows are ordered", [("a", 1), ("b", 2)], [(1, "a"), (2, "b")], True, True),
    ("rows in another order", [(2,), (1,)], [(1,), (2,)], False, True),
    ("rows in another order, ordered", [(2,), (1,)], [(1,), (2,)], True, False),
    ("how often counts", [(1,), (1,), (2,)], [(1,), (2,), (2,)], False, False),
    ("rows re-paired", [("alice", "y"), ("bob", "x")], [("alice", "x"), ("bob", "y")], False, False),
    ("one order of columns for all rows", [(1, 2), (4, 3)], [(1, 2), (3, 4)], False, False),
    ("a column more", [(1, 2)], [(1,)], False, False),
    ("1 is 1.0", [(1.0,)], [(1,)], False, True),
    ("1.0 beside 10 sorts otherwise than 1 does", [(1.0, 10)], [(1, 10)], False, False),
    ("2.0 beside 10 does not", [(10, 2.0)], [(10, 2)], False, True),
    ("text is no number", [("1",)], [(1,)], False, False),
    ("NULL is no empty text", [("",)], [(None,)], False, False),
    ("the same column twice", [(1, 1), (2, 2)], [(1, 1), (2, 2)], True, True),
    ("two columns of the same values", [(1, 2, "a"), (2, 1, "b")], [(2, 1, "a"), (1, 2, "b")], False, True),
    ("where only the second choice fits", [(1, 1, 2), (2, 1, 1)], [(1, 2, 1), (1, 1, 2)], False, True),
    ("arrays", [([1],)], [([1],)], False, True),
]


@pytest.mark.parametrize(
    ("predicted", "gold", "ordered", "equal"), [r[1:] for r in RESULTS], ids=[r[0] for r in RESULTS]
)
def test_same_result(predicted, gold, ordered, equal):
    assert same_result(predicted, gold, ordered) is equal


def test_many_like_columns_end():
    """The official search tries every order of columns: 12 of them would take days."""
    gold = [tuple((row + column) % 4 // 2 for column in range(12)) for row in range(8)]
    start = time.process_time()
    assert same_result([row[::-1] for row in gold], gold, False)
    assert time.process_time() - start < 2


def test_every_instance_must_agree():
    right, wrong, failed = ([(1,)], [(1,)]), ([(1,)], [(2,)]), (None, [(1,)])
    assert suite_match([right, right], "SELECT a FROM t")
    assert not suite_match([right, wrong], "SELECT a FROM t")
    assert not suite_match([right, failed], "SELECT a FROM t")
    turned = ([(1,), (2,)], [(2,), (1,)])
    assert suite_match([turned], "SELECT a FROM t")
    assert not suite_match([turned], "SELECT a FROM t ORDER BY a")


def test_order_is_a_matter_of_text():
    assert is_order_judged("SELECT a FROM (SELECT a FROM t Order By a)")
    assert is_order_judged("SELECT 'order by'")
    assert not is_order_judged("SELECT a FROM t ORDER  BY a")


STATEMENTS = [
    ("DISTINCT goes", "SELECT DISTINCT a, count(distinct b) FROM t", {}, "SELECT  a, count( b) FROM t"),
    ("but not from a text", "SELECT 'distinct', \"DISTINCT\" FROM t", {}, "SELECT 'distinct', \"DISTINCT\" FROM t"),
    (
        "nor if it is kept",
        "SELECT DISTINCT a FROM t; SELECT 1",
        {"keeps_distinct": True},
        "SELECT DISTINCT a FROM t; SELECT 1",
    ),
    ("only the first statement", "SELECT ';' FROM t; SELECT 1", {}, "SELECT ';' FROM t"),
    ("torn operators", "SELECT a FROM t WHERE a > = 1 AND b ! = 2", {}, "SELECT a FROM t WHERE a >= 1 AND b != 2"),
    ("the year of today", "SELECT year ( curdate( ) ) FROM t", {}, "SELECT 2020FROM t"),
    (
        "a prediction's value is 1",
        "SELECT a FROM t WHERE b = value",
        {"is_prediction": True},
        "SELECT a FROM t WHERE b = 1",
    ),
    ("be it in a name", "SELECT values_ FROM t", {"is_prediction": True}, "SELECT 1s_ FROM t"),
    ("gold's is not", "SELECT value FROM t", {}, "SELECT value FROM t"),
]


@pytest.mark.parametrize(("sql", "options", "runs"), [s[1:] for s in STATEMENTS], ids=[s[0] for s in STATEMENTS])
def test_statement(sql, options, runs):
    assert suite_statement(sql, **options) == runs
