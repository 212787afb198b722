"""Why two results are not equal, in a sentence a person can read.

In: a comparison that found no match. Out: "row 3, column 2: 41 vs 42", predicted first, places counted from 1 and columns
by gold's order. The same two tables give the same words whatever order an engine gave rows in, where order is free.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np

from workbench.compare import Comparison, Table
from workbench.map_columns import MAX_TRIES, numbered
from workbench.metrics import count_rows, show_least, show_value


def difference_in_words(comparison: Comparison, is_ordered: bool, is_row_count_fixed: bool) -> str:
    """The first thing that a reader should know: columns that are missing, then the number of rows, then the rows."""
    ours, theirs = comparison.tables
    mapping, unmatched = _closest_columns(comparison)
    if ours.width < theirs.width:
        counts = f"{ours.width} column{'' if ours.width == 1 else 's'}, gold has {theirs.width}"
        return f"{_column(theirs, unmatched[0])} has no match ({counts})" if unmatched else counts
    if is_ordered and (ours.height < theirs.height or (is_row_count_fixed and ours.height != theirs.height)):
        return f"{count_rows(range(ours.height))}, gold has {theirs.height}"
    if is_ordered or (ours.height == theirs.height == 1):
        found = _first_in_order(comparison, mapping)
        if found:
            return found
    if unmatched:
        return _without_match(comparison, unmatched[0])
    if comparison.is_exhausted:
        return f"all columns have a match, but no assignment of them that fits the rows was found in {MAX_TRIES} tries"
    return _rows_in_words(comparison, mapping)


def _column(gold: Table, place: int) -> str:
    return f"gold column {gold.names[place] if gold.names and gold.names[place].strip() else place + 1}"


def _closest_columns(comparison: Comparison) -> tuple[list[int | None], list[int]]:
    """Per gold column the predicted one to show it with, and the gold columns of which no other has the values."""
    ours, theirs = (
        [_present(column, comparison.n_codes) for column in side.codes]
        for side in (comparison.predicted, comparison.gold)
    )
    mapping: list[int | None] = [None] * len(theirs)

    def give(is_match: Callable[[int, int], bool]) -> None:
        for own in range(len(theirs)):
            free = [place for place in range(len(ours)) if place not in mapping and is_match(own, place)]
            if mapping[own] is None and free:
                mapping[own] = own if own in free else free[0]

    give(lambda own, place: np.array_equal(ours[place], theirs[own]))
    unmatched = [own for own, place in enumerate(mapping) if place is None]
    give(lambda own, place: 2 * int((ours[place] & theirs[own]).sum()) > int(theirs[own].sum()))
    give(lambda own, place: own == place)
    give(lambda own, place: True)
    return mapping, unmatched


def _present(column: np.ndarray, n_codes: int) -> np.ndarray:
    """Which codes a column has."""
    found = np.zeros(n_codes, bool)
    found[column] = True
    return found


def _first_in_order(comparison: Comparison, mapping: list[int | None]) -> str | None:
    """The first predicted row that is not gold's at its place, nor one of those tied with it."""
    ours, theirs = comparison.tables
    columns = [(own, place) for own, place in enumerate(mapping) if place is not None]
    gold, cuts = comparison.with_cuts(at_start=True, at_end=True)
    ids = np.zeros(len(gold.groups) + ours.height, np.int64)
    for own, place in columns:
        ids = numbered(ids * comparison.n_codes + np.concatenate([gold.codes[own], comparison.predicted.codes[place]]))
    left: dict[tuple[int, int], int] = Counter(zip(gold.groups.tolist(), ids.tolist(), strict=False))
    strange = None
    for place, key in enumerate(
        zip(comparison.places(ours.height).tolist(), ids[len(gold.groups) :].tolist(), strict=True)
    ):
        if left[key] > 0:
            left[key] -= 1
        elif strange is None:
            strange = place
    if strange is None:
        return None
    if strange < theirs.height:
        tied = np.flatnonzero(comparison.groups == comparison.groups[strange]).tolist()
        group = int(comparison.groups[strange])
        other = next((place for place in [strange, *tied] if left[group, int(ids[place])] > 0), strange)
        return _row_difference(comparison, columns, strange, other)
    why = "not tied with gold's last row" if int(comparison.groups[-1]) in cuts else "one more than gold has"
    return f"row {strange + 1} is {why}: {show_least([ours.row(strange)])}"


def _row_difference(comparison: Comparison, columns: list[tuple[int, int]], place: int, other: int) -> str:
    ours, theirs = comparison.tables
    for own, column in columns:
        if comparison.predicted.codes[column][place] != comparison.gold.codes[own][other]:
            values = f"{show_value(*ours.row(place, [column]))} vs {show_value(*theirs.row(other, [own]))}"
            tied = int((comparison.groups == comparison.groups[other]).sum())
            among = f", or another of the {tied} rows tied there" if tied > 1 else ""
            return f"row {place + 1}, column {own + 1}: {values}{among}"
    return f"row {place + 1} is not gold's"


def _without_match(comparison: Comparison, own: int) -> str:
    """Which of its values no row has; the least, whatever order the rows came in."""
    ours, theirs = comparison.tables
    codes = comparison.gold.codes[own]
    closest = max(comparison.predicted.codes, key=lambda column: int(np.isin(codes, column).sum()))
    text = f"{_column(theirs, own)} has no match"
    lacking = np.flatnonzero(~np.isin(codes, closest))
    if len(lacking):
        return f"{text}: {_least(theirs, own, lacking)} is missing"
    extra = np.flatnonzero(~np.isin(closest, codes))
    at = next(place for place, column in enumerate(comparison.predicted.codes) if column is closest)
    return f"{text}: {_least(ours, at, extra)} is not in it" if len(extra) else text


def _least(table: Table, column: int, places: np.ndarray) -> str:
    return show_least([table.row(place, [column]) for place in places.tolist()])[1:-1]


def _rows_in_words(comparison: Comparison, mapping: list[int | None]) -> str:
    """Rows that one side lacks or has more often, when every column by itself has a match."""
    ours, theirs = comparison.tables
    columns = [place for place in mapping if place is not None]
    ids = np.zeros(theirs.height + ours.height, np.int64)
    for codes, place in zip(comparison.gold.codes, columns, strict=True):
        ids = numbered(ids * comparison.n_codes + np.concatenate([codes, comparison.predicted.codes[place]]))
    expected, found = ids[: theirs.height], ids[theirs.height :]
    missing = np.flatnonzero(~np.isin(expected, found))
    extra = np.flatnonzero(~np.isin(found, expected))
    paired = "; the columns match one by one" if theirs.width > 1 else ""
    if len(missing):
        return f"gold's row {show_least([theirs.row(place) for place in missing.tolist()])} is missing{paired}"
    if len(extra):
        shown = show_least([ours.row(place, columns) for place in extra.tolist()])
        return f"row {shown} is not in gold{paired}"
    counts = [np.bincount(side, minlength=int(ids.max()) + 1) for side in (found, expected)]
    other = np.flatnonzero((counts[0] != counts[1])[expected])
    if not len(other):
        return f"{ours.height} rows, gold has {theirs.height}"
    least = min(other.tolist(), key=lambda place: show_least([theirs.row(place)]))
    often = [int(count[expected[least]]) for count in counts]
    return f"the row {show_least([theirs.row(least)])} stands {often[0]} times, in gold {often[1]}"
