"""Whether two results hold the same rows, engine differences of notation apart.

In: rows as drivers give them, and for an ordered gold one key a row. Out: None, or the difference in words. Rows count
as often as they stand; with keys, rows stand in gold's order up to ties. Values: `value_forms`, then numbers are
equal by value, whole ones exactly and others within 1e-9 of their size (sums of floats depend on the order of addition);
text only equals text ('7' is not 7), bytes only bytes, NULL only NULL.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby

from workbench.metrics import first_difference
from workbench.value_forms import normalise

TOLERANCE = 1e-9  # relative
_EXACT = 2**53  # whole numbers up to here are the same as floats


def is_informative(rows: Sequence[Sequence]) -> bool:
    """Whether equal rows say anything: there is a row, and it is not a lone NULL or 0."""
    return bool(rows) and not (len(rows) == 1 and len(rows[0]) == 1 and rows[0][0] in (None, 0))


def difference(
    rows: Iterable[Sequence], gold: Iterable[Sequence], keys: Sequence[Hashable] | None = None
) -> str | None:
    """Why rows are not gold's, or None. keys: one a gold row, equal where the order is free; None: all order is free."""
    rows, gold = normalise(rows), normalise(gold)
    if len(rows) != len(gold):
        return f"{len(rows)} rows for gold's {len(gold)}"
    if rows and len(rows[0]) != len(gold[0]):
        return f"{len(rows[0])} columns for gold's {len(gold[0])}"
    if not _is_same(rows, gold):
        return first_difference(rows, gold) or "the same rows, but not as often"
    start = 0
    for _, group in groupby(keys or ()):
        end = start + len(list(group))
        if not _is_same(rows[start:end], gold[start:end]):
            return f"the same rows in another order, from row {start + 1} on"
        start = end
    return None


def _is_same(rows: list[tuple], gold: list[tuple]) -> bool:
    """Equal as bags: by an exact notation first, else paired in order within the tolerance."""
    ours, theirs = ([tuple(map(value_key, row)) for row in side] for side in (rows, gold))
    if Counter(ours) == Counter(theirs):
        return True
    pairs = zip(
        *(sorted(zip(side, raw, strict=True), key=_by_kind) for side, raw in ((ours, rows), (theirs, gold))),
        strict=True,
    )
    return all(_is_close(one, other) for (_, a), (_, b) in pairs for one, other in zip(a, b, strict=True))


def value_key(value: object) -> tuple[str, Hashable]:
    """A value as something to count and to sort by: its kind, and what it is."""
    if value is None:
        return ("", 0)
    if isinstance(value, int):
        return ("n", value) if abs(value) <= _EXACT else ("N", value)
    if isinstance(value, float):
        if value.is_integer() and abs(value) <= _EXACT:
            return ("n", int(value))
        return ("n", float(f"{value:.12g}")) if math.isfinite(value) else ("N", value)
    if isinstance(value, str | bytes):
        return (type(value).__name__, value)
    return (type(value).__name__, repr(value))


def _by_kind(pair: tuple[tuple, tuple]) -> tuple:
    """Exact values first, so that floats that differ in their last digit cannot part rows that belong together."""
    key, row = pair
    exact = tuple(one for one, value in zip(key, row, strict=True) if not isinstance(value, float))
    return (repr([one[0] for one in key]), exact, key)


def _is_close(one: object, other: object) -> bool:
    are_numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if not are_numbers or (isinstance(one, int) and isinstance(other, int)):
        return value_key(one) == value_key(other)
    whole = next((value for value in (one, other) if isinstance(value, int)), 0)
    return abs(whole) <= _EXACT and math.isclose(one, other, rel_tol=TOLERANCE)
