"""How one prediction's result is judged against gold's, and how a share of right ones is reported.

In: two results as lists of row tuples, as the drivers returned them. Out: a verdict, a reason a person can read, an
interval. Only BIRD's execution accuracy so far. Judging one sample is kept apart from reducing many (portability.py).
"""

import math
import reprlib
from collections.abc import Iterable, Sequence, Sized
from decimal import Decimal

from workbench.errors import ResultsError

MAX_ROW_VALUES = 6  # of one row quoted in a reason
_QUOTE = reprlib.Repr()  # of one value quoted in a reason
_QUOTE.maxstring = _QUOTE.maxother = _QUOTE.maxlong = 40


def bird_ex(predicted: Iterable[Sequence], gold: Iterable[Sequence]) -> bool:
    """BIRD's execution accuracy of one pair: the two results are equal as sets of row tuples.

    Row order and repeated rows do not count, the order of columns does, column names do not. Values are equal where
    Python says so: 1 == 1.0 == True == Decimal(1), '1' != 1, NULL only equals NULL, NaN equals nothing, no tolerance.
    Rule: bird-bench/mini_dev, evaluation/evaluation_ex.py, calculate_ex. Values the official script cannot put into a
    set (arrays, maps) are compared by their contents instead of failing.
    """
    predicted, gold = hashable_rows(predicted), hashable_rows(gold)
    # Python's sets take a NaN for equal to itself if it is the same object; drivers return a new one every time.
    return set(predicted) == set(gold) and not any(map(_has_nan, gold))


def first_difference(predicted: Iterable[Sequence], gold: Iterable[Sequence]) -> str | None:
    """Why `bird_ex` refuses a pair, in one line; None where it accepts it. The same input gives the same words.

    Counts are of distinct rows; a row quoted is the first in an order of values, since an engine returns rows
    that no ORDER BY ranks in any order.
    """
    predicted, gold = _distinct(predicted), _distinct(gold)
    missing = [row for key, row in gold.items() if key not in predicted or _has_nan(key)]
    extra = [row for key, row in predicted.items() if key not in gold or _has_nan(key)]
    if not missing and not extra:
        return None
    if not predicted:
        return f"no rows vs gold's {len(gold)}, first: {show_least(missing)}"
    if not gold:
        return f"{count_rows(predicted)} vs gold's none, first: {show_least(extra)}"
    widths = [len(next(iter(rows))) for rows in (predicted, gold)]
    if widths[0] != widths[1]:
        return f"columns: {widths[0]} vs gold's {widths[1]}"
    if len(predicted) == len(gold) == 1:
        pairs = enumerate(zip(*predicted, *gold, strict=True), start=1)
        column, (ours, theirs) = next(pair for pair in pairs if pair[1][0] != pair[1][1] or _has_nan(pair[1][0]))
        return f"column {column}: {show_value(ours)} vs gold's {show_value(theirs)}"
    parts = []
    if missing:
        which = "gold's only row" if len(gold) == 1 else f"{len(missing)} of gold's {len(gold)} rows"
        parts.append(f"{which} {_be(missing)} missing, first: {show_least(missing)}")
    if extra:
        parts.append(f"{count_rows(extra)} {_be(extra)} not in gold, first: {show_least(extra)}")
    return "; ".join(parts)


def hashable_rows(rows: Iterable[Sequence]) -> list[tuple]:
    """Rows as they can stand in a set: arrays, maps and buffers by their contents."""
    rows = [tuple(row) for row in rows]
    try:
        set(rows)
    except TypeError:
        return [tuple(_hashable(value) for value in row) for row in rows]
    return rows


def distinct_rows(rows: Iterable[Sequence]) -> list[tuple]:
    """Rows as they can stand in a set, without repeats, first occurrence first."""
    return list(dict.fromkeys(hashable_rows(rows)))


def wilson_interval(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share, as fractions (low, high). ResultsError for an empty sample."""
    if n <= 0:
        raise ResultsError("a share of no samples is undefined", where="wilson_interval", hint="n must be over 0")
    if not 0 <= successes <= n:
        raise ResultsError(f"{successes} successes of {n}", where="wilson_interval", hint=f"0 to {n} are possible")
    from scipy.stats import binomtest  # takes a second to import

    interval = binomtest(successes, n).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)


def _distinct(rows: Iterable[Sequence]) -> dict[tuple, tuple]:
    """Key -> row, first occurrence first."""
    rows = [tuple(row) for row in rows]
    distinct: dict[tuple, tuple] = {}
    for key, row in zip(hashable_rows(rows), rows, strict=True):
        distinct.setdefault(key, row)
    return distinct


def _rank(row: tuple) -> list[tuple]:
    """A sort key for rows of any values: NULLs, numbers, then all else by its text."""
    return [
        (0, 0.0, "")
        if value is None
        else (1, value, "")
        if isinstance(value, int | float | Decimal) and not _has_nan(value)
        else (2, 0.0, str(value))
        for value in row
    ]


def _hashable(value: object) -> object:
    match value:
        case list() | tuple():
            return tuple(_hashable(item) for item in value)
        case dict():
            return frozenset((key, _hashable(item)) for key, item in value.items())
        case set():
            return frozenset(value)
        case bytearray() | memoryview():
            return bytes(value)
        case Decimal() if value.is_snan():  # the one number Python cannot hash
            return math.nan
        case _:
            return value


def _has_nan(value: object) -> bool:
    match value:
        case float():
            return math.isnan(value)
        case Decimal():
            return value.is_nan()
        case tuple() | list() | frozenset():
            return any(map(_has_nan, value))
        case _:
            return False


def count_rows(rows: Sized) -> str:
    return f"{len(rows)} row{'' if len(rows) == 1 else 's'}"


def _be(rows: Sized) -> str:
    return "is" if len(rows) == 1 else "are"


def show_least(rows: Sequence[tuple]) -> str:
    row = min(rows, key=_rank)
    shown = [show_value(value) for value in row[:MAX_ROW_VALUES]]
    if len(row) > MAX_ROW_VALUES:
        shown.append(f"and {len(row) - MAX_ROW_VALUES} more")
    return f"({', '.join(shown)})"


def show_value(value: object) -> str:
    """A value on one line: NULL, or its repr (which escapes what cannot be printed), cut to a readable length."""
    return "NULL" if value is None else _QUOTE.repr(value)
