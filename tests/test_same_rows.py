"""The comparator of round trips: a hand-written table."""

import datetime
from decimal import Decimal

import pytest

from workbench.same_rows import difference

N = None
# id -> rows, gold, keys, words of the difference (None: the same)
CASES = {
    "nothing": ([], [], N, None),
    "the same": ([(1, "a")], [(1, "a")], N, None),
    "another order": ([(2,), (1,)], [(1,), (2,)], N, None),
    "another order, asked for": ([(2,), (1,)], [(1,), (2,)], [1, 2], "another order, from row 1"),
    "ties in another order": ([(1, "b"), (1, "a"), (2, "c")], [(1, "a"), (1, "b"), (2, "c")], [1, 1, 2], None),
    "across a tie": ([(1, "a"), (2, "c"), (1, "b")], [(1, "a"), (1, "b"), (2, "c")], [1, 1, 2], "from row 1"),
    "the end is another": ([(1,), (3,), (2,)], [(1,), (2,), (3,)], [1, 2, 3], "from row 2"),
    "a key that comes twice": ([(1,), (2,), (1,)], [(1,), (2,), (1,)], ["x", "y", "x"], None),
    "a row less": ([(1,)], [(1,), (1,)], N, "1 rows for gold's 2"),
    "as often": ([(1,), (1,), (2,)], [(1,), (2,), (2,)], N, "not as often"),
    "a column more": ([(1, 2)], [(1,)], N, "2 columns for gold's 1"),
    "int and float": ([(1.0,)], [(1,)], N, None),
    "decimal": ([(Decimal("1.50"),)], [(1.5,)], N, None),
    "truth": ([(True,)], [(1,)], N, None),
    "text of a number": ([("7",)], [(7,)], N, "'7' vs gold's 7"),
    "text of a float": ([("7.0",)], [(7.0,)], N, "vs"),
    "null and text": ([("",)], [(None,)], N, "vs gold's NULL"),
    "null and zero": ([(0,)], [(None,)], N, "vs gold's NULL"),
    "nulls": ([(None,)], [(None,)], N, None),
    "bytes and text": ([(b"a",)], [("a",)], N, "vs"),
    "bytes": ([(bytearray(b"a"),)], [(b"a",)], N, None),
    "case": ([("A",)], [("a",)], N, "'A' vs gold's 'a'"),
    "space at the end": ([("a ",)], [("a",)], N, "vs"),
    "a date": ([(datetime.date(2020, 1, 31),)], [("2020-01-31",)], N, None),
    "a date and time": ([(datetime.datetime(2020, 1, 31),)], [("2020-01-31",)], N, "vs"),
    "last digit of a float": ([(0.1 + 0.2,)], [(0.3,)], N, None),
    "last digits of many": ([(1e9 / 3 + 1e-6, "a"), (1e9 / 3, "b")], [(1e9 / 3, "a"), (1e9 / 3 + 1e-6, "b")], N, None),
    "rounded": ([(0.333,)], [(1 / 3,)], N, "vs"),
    "single precision": ([(0.10000000149011612,)], [(0.1,)], N, "vs"),
    "near integers": ([(10**15 + 1,)], [(10**15,)], N, "vs"),
    "a large integer as a float": ([(float(2**53 + 2),)], [(2**53 + 1,)], N, "vs"),
    "a whole float beside its near": ([(1e15 + 0.125,)], [(10**15,)], N, None),
    "negative zero": ([(-0.0,)], [(0,)], N, None),
    "infinity": ([(float("inf"),)], [(float("inf"),)], N, None),
    "not a number": ([(float("nan"),)], [(None,)], N, "vs"),
}  # fmt: skip


@pytest.mark.parametrize("rows, gold, keys, words", CASES.values(), ids=CASES)
def test_difference(rows, gold, keys, words):
    found = difference(rows, gold, keys)
    assert (found is None) == (words is None), found
    assert words is None or words in found


@pytest.mark.parametrize("rows, gold, keys, words", CASES.values(), ids=CASES)
def test_both_ways(rows, gold, keys, words):
    if keys is None:
        assert (difference(gold, rows) is None) == (words is None)
