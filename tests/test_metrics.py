"""BIRD's rule on hand-written pairs (metric definitions restated from the official code), reasons, intervals."""

import datetime
import math
from decimal import Decimal
from uuid import UUID

import pytest

from workbench.errors import ResultsError
from workbench.metrics import bird_ex, first_difference, wilson_interval
from workbench.value_forms import normalise

NAN = float("nan")

PAIRS = [  # id, predicted, gold, verdict, words of the reason
    ("same", [(1, "a")], [(1, "a")], True, None),
    ("both empty", [], [], True, None),
    ("row order ignored", [(1,), (2,)], [(2,), (1,)], True, None),
    ("duplicates ignored", [(1,), (1,), (2,)], [(1,), (2,)], True, None),
    ("column order counts", [(1, 2)], [(2, 1)], False, "column 1: 1 vs gold's 2"),
    ("1 is 1.0 and True and Decimal", [(1, 1.0)], [(True, Decimal(1))], True, None),
    ("text is no number", [("1",)], [(1,)], False, "column 1: '1' vs gold's 1"),
    ("no tolerance", [(0.1 + 0.2,)], [(0.3,)], False, "column 1: 0.30000000000000004 vs gold's 0.3"),
    ("float is no decimal", [(0.1,)], [(Decimal("0.1"),)], False, "column 1: 0.1 vs gold's Decimal('0.1')"),
    ("NULL is NULL", [(None,)], [(None,)], True, None),
    ("NULL is not 0", [(0,)], [(None,)], False, "column 1: 0 vs gold's NULL"),
    ("NULL is not empty text", [("",)], [(None,)], False, "column 1: '' vs gold's NULL"),
    ("case counts", [("A",)], [("a",)], False, "column 1: 'A' vs gold's 'a'"),
    ("bytes are no text", [(b"a",)], [("a",)], False, "column 1: b'a' vs gold's 'a'"),
    ("NaN is nothing's equal", [(float("nan"),)], [(float("nan"),)], False, "column 1: nan vs gold's nan"),
    ("not even the same object's", [(NAN,)], [(NAN,)], False, "column 1: nan vs gold's nan"),
    ("nor inside an array", [([NAN],)], [([NAN],)], False, "column 1: (nan,) vs gold's (nan,)"),
    ("signalling NaN", [(Decimal("sNaN"),)], [(1,)], False, "column 1: nan vs gold's 1"),
    ("arrays", [([1, [2]],)], [([1, [2]],)], True, None),
    ("array is its tuple", [([1, 2],)], [((1, 2),)], True, None),
    ("arrays differ", [([1, 2],)], [([2, 1],)], False, "column 1: (1, 2) vs gold's (2, 1)"),
    ("maps", [({"a": [1], "b": 2},)], [({"b": 2, "a": [1]},)], True, None),
    ("buffers", [(memoryview(b"a"),)], [(bytearray(b"a"),)], True, None),
    ("rows as lists", [[1, 2]], [(1, 2)], True, None),
    ("width", [(1, 2)], [(1, 2, 3)], False, "columns: 2 vs gold's 3"),
    ("nothing predicted", [], [(1, 2), (3, 4)], False, "no rows vs gold's 2, first: (1, 2)"),
    ("nothing expected", [(1,), (1,), (2,)], [], False, "2 rows vs gold's none, first: (1)"),
    (
        "missing",
        [(i,) for i in range(3, 12)],
        [(i,) for i in range(12)],
        False,
        "3 of gold's 12 rows are missing, first: (0)",
    ),
    ("one missing", [(1,)], [(1,), (2,)], False, "1 of gold's 2 rows is missing, first: (2)"),
    ("extra", [(1,), (9,), (8,)], [(1,)], False, "2 rows are not in gold, first: (8)"),
    (
        "the row quoted is the least of any kinds",
        [("a",), (b"b",), (math.nan,), (2,), (1.5,), (Decimal("1.75"),)],
        [(3,)],
        False,
        "gold's only row is missing, first: (3); 6 rows are not in gold, first: (1.5)",
    ),
    ("NULL is least", [(2, "a"), (None, "b")], [], False, "2 rows vs gold's none, first: (NULL, 'b')"),
    (
        "missing and extra",
        [(7,), (8,)],
        [(1,)],
        False,
        "gold's only row is missing, first: (1); 2 rows are not in gold, first: (7)",
    ),
    ("one line", [("a\nb\u202e\x00",)], [(1,)], False, "column 1: 'a\\nb\\u202e\\x00' vs gold's 1"),
]


@pytest.mark.parametrize(("predicted", "gold", "equal", "reason"), [p[1:] for p in PAIRS], ids=[p[0] for p in PAIRS])
def test_bird_rule(predicted, gold, equal, reason):
    assert bird_ex(predicted, gold) is equal
    assert first_difference(predicted, gold) == reason
    assert bird_ex(gold, predicted) is equal  # the rule is symmetric


def test_reason_stays_short():
    wide = tuple("x" * 10_000 for _ in range(100))
    reason = first_difference([wide, (1,) * 100], [(2,) * 100, (3,) * 100])
    assert len(reason) < 600
    assert "and 94 more" in reason


def test_rows_may_come_from_a_generator():
    assert bird_ex((row for row in [(1,)]), (row for row in [(1,)]))
    assert first_difference(iter([(1,)]), iter([(2,)])) == "column 1: 1 vs gold's 2"


NORMAL = [
    ("whole decimal", Decimal("3.00"), 3),
    ("decimal", Decimal("0.1"), 0.1),
    ("wide decimal keeps its digits", Decimal(12345678901234567890), 12345678901234567890),
    ("huge decimal stays itself", Decimal("1E+5000"), Decimal("1E+5000")),
    ("infinite decimal", Decimal("-Infinity"), float("-inf")),
    ("bool", True, 1),
    ("date", datetime.date(2020, 1, 31), "2020-01-31"),
    ("datetime", datetime.datetime(2020, 1, 31, 23, 59), "2020-01-31 23:59:00"),
    ("time", datetime.time(7, 5), "07:05:00"),
    ("MySQL's TIME", datetime.timedelta(hours=30, minutes=5), "30:05:00"),
    ("negative TIME", -datetime.timedelta(seconds=61), "-00:01:01"),
    ("UUID", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ("array", [Decimal(1), None], (1, None)),
    ("text stays", "3.00", "3.00"),
    ("NULL stays", None, None),
]


@pytest.mark.parametrize(("value", "normal"), [n[1:] for n in NORMAL], ids=[n[0] for n in NORMAL])
def test_normalise(value, normal):
    ((result,),) = normalise([(value,)])
    assert result == normal
    assert type(result) is type(normal)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3 (score), printed to four decimals
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),  # the mirror of 0 of 20
    ],
)
def test_wilson_interval(successes, n, low, high):
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5.1e-5)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (1, 0), (11, 10), (-1, 10)])
def test_an_impossible_share_raises(successes, n):
    with pytest.raises(ResultsError):
        wilson_interval(successes, n)
