"""DF-Match: whether a predicted result answers a question as the gold result does.

In: two tables, the question's class, and for ordered ones what is known of ties (`gold_order`). Out: a verdict and why.
Gold's columns are first mapped to predicted ones (`map_columns`), values compared as in `value_codes`. Then, by class:
not ordered, the rows are the same as often; ordered with a fixed row count, as many rows stand in gold's order up to
ties; ordered without, further rows may follow that tie with gold's last. Plans paper, section 4.2, appendices G and H;
where it leaves room, the choices are: a superlative's ties (boundary rows) count in both ordered classes, and rows beyond
gold's only as such ties (the paper's prefix rule is `paper`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from workbench.errors import ResultsError
from workbench.map_columns import ColumnSearch, Rule, Side, row_numbers
from workbench.result_table import ResultTable
from workbench.value_codes import encode, is_close
from workbench.value_forms import normal

Rows = pl.DataFrame | ResultTable | Sequence[Sequence]


@dataclass(frozen=True)
class Verdict:
    """equal: the verdict. reason: it in words. mapping: per gold column the predicted column's place, from 0.

    strict: the verdict if duplicates always counted. paper: by the paper's rules to the letter, where rows after gold's
    last are ignored and ties at the limit count only if the row count is not fixed.
    """

    equal: bool
    reason: str
    mapping: tuple[int, ...] | None = None
    strict: bool = False
    paper: bool = False


def compare(
    predicted: Rows,
    gold: Rows,
    is_ordered: bool = False,
    is_row_count_fixed: bool = False,
    order_keys: Sequence[Sequence] | None = None,
    boundary: Rows | None = None,
    tolerate_duplicates: bool = True,
    *,
    skipped: Rows | None = None,
) -> Verdict:
    """Whether the predicted table is the gold one under the question's class.

    order_keys: one tuple a gold row; neighbours with equal ones may change places. None: each row has its own place.
    boundary: rows of gold's columns that could stand at its end, where its LIMIT cuts rows of equal keys; skipped: the
    same at its start, where its OFFSET does. tolerate_duplicates: rows need not be as often as gold's, for queries of
    which one drops duplicates; not where the row count is fixed. ResultsError for keys or rows that do not fit gold.
    """
    if isinstance(predicted, ResultTable) and isinstance(gold, ResultTable) and predicted.holds_the_same(gold):
        reason = f"equal: the same rows{' in the same order' if is_ordered else ''}"
        return Verdict(True, reason, tuple(range(gold.width)), strict=True, paper=True)
    ours, theirs = Table(predicted), Table(gold)
    if not ours.height or not theirs.height:
        return _with_an_empty_one(ours, theirs)
    if not theirs.width:
        return Verdict(is_same := ours.height == theirs.height, "no columns", (), is_same, is_same)
    if ours.width < theirs.width:
        return _rejected(Comparison(ours, theirs, None, None, None), is_ordered, is_row_count_fixed, False)
    comparison = Comparison(ours, theirs, order_keys if is_ordered else None, boundary, skipped)
    if not is_ordered:
        return _not_ordered(comparison, tolerate_duplicates)
    return _ordered(comparison, is_row_count_fixed, tolerate_duplicates)


def tie_groups(keys: Sequence[Sequence]) -> np.ndarray:
    """A number for each row, the same for neighbours whose keys are equal within the tolerance."""
    keys = [
        tuple(map(normal, key)) if isinstance(key, Sequence) and not isinstance(key, str) else (key,) for key in keys
    ]
    starts = np.zeros(len(keys), np.int64)
    first = keys[0] if keys else ()
    for place, (_, key) in enumerate(pairwise(keys), start=1):
        if not all(map(_is_same_key, key, first)):
            starts[place], first = 1, key
    return np.cumsum(starts)


def _is_same_key(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return is_close(one, other)
    return one == other


class Table:
    """One side. columns: values, a list or series a column; names: None where rows came without; width 0: not known."""

    def __init__(self, rows: Rows):
        if isinstance(rows, pl.DataFrame):
            self.columns, self.names, self.height = rows.get_columns(), rows.columns, rows.height
        elif isinstance(rows, ResultTable):
            self.columns, self.names, self.height = rows.column_values(), list(rows.columns), rows.height
        else:
            rows = rows if isinstance(rows, Sequence) else list(rows)
            if odd := {type(row).__name__ for row in rows if isinstance(row, str | bytes | Mapping | AbstractSet)}:
                what = f"a row is a {min(odd)}"
                raise ResultsError(what, where="compare", hint="wanted: a tuple or list of its values")
            try:
                self.columns = list(zip(*rows, strict=True))
            except (TypeError, ValueError) as error:
                raise ResultsError(f"rows are not of one length: {error}", where="compare") from error
            self.names, self.height = None, len(rows)
        self.width = len(self.columns)

    def row(self, place: int, columns: Sequence[int] | None = None) -> tuple:
        """One row's values, in their forms, to be shown."""
        return tuple(
            normal(self.columns[column][place]) for column in (range(self.width) if columns is None else columns)
        )


class Comparison:
    """Both sides as codes, gold's rows in groups of ties, and the rows that could stand at its cuts."""

    def __init__(
        self, predicted: Table, gold: Table, keys: Sequence | None, boundary: Rows | None, skipped: Rows | None
    ):
        self.tables = predicted, gold
        tables = [gold, predicted, *(Table(() if rows is None else rows) for rows in (boundary, skipped))]
        for table in tables[2:]:
            if table.height and table.width != gold.width:
                raise ResultsError(f"boundary rows of {table.width} columns", where="compare", hint=f"{gold.width}")
        codes, self.n_codes = encode([column for table in tables for column in table.columns])
        sides = []
        for table in tables:
            sides.append(Side(codes[: table.width], np.zeros(table.height, np.int64)))
            codes = codes[table.width :]
        self.gold, self.predicted, self.last_rows, self.first_rows = sides
        if keys is not None and len(keys) != gold.height:
            raise ResultsError(f"{len(keys)} order keys", where="compare", hint=f"one a gold row: {gold.height}")
        self.groups = np.arange(gold.height) if keys is None else tie_groups(keys)
        if keys is None and len(self.last_rows.groups):
            self._tie_the_end()
        self.is_exhausted = False

    def _tie_the_end(self) -> None:
        """Without keys, gold's last rows are tied as far back as they are among those that could stand at its cut."""
        theirs, others = row_numbers([self.gold, self.last_rows], self.n_codes)
        known = np.isin(theirs, others)
        start = len(theirs) - 1
        while start > 0 and known[start - 1] and known[start]:
            start -= 1
        self.groups[start:] = self.groups[start]

    def same_rows(self, as_often: bool) -> tuple[int, ...] | None:
        """The mapping under which both have the same rows, in any order."""
        if as_often and len(self.predicted.groups) != len(self.gold.groups):
            return None
        return self._search(self.predicted, self.gold, Rule(as_often))

    def same_places(
        self, at_start: bool = False, at_end: bool = False, is_prefix: bool = False
    ) -> tuple[int, ...] | None:
        """The mapping under which rows stand in gold's order up to ties, and up to those at its cuts where asked.

        Further rows must tie with gold's last, or with is_prefix are not looked at.
        """
        height = len(self.groups)
        ours = self.predicted.take(slice(height)) if is_prefix else self.predicted
        theirs, cuts = self.with_cuts(at_start, at_end)
        if len(ours.groups) < height or (len(ours.groups) > height and int(self.groups[-1]) not in cuts):
            return None
        return self._search(Side(ours.codes, self.places(len(ours.groups))), theirs, Rule(open_groups=cuts))

    def places(self, height: int) -> np.ndarray:
        """The group in which each of so many predicted rows stands; all after gold's last stand in its group."""
        return self.groups[np.minimum(np.arange(height), len(self.groups) - 1)]

    def with_cuts(self, at_start: bool, at_end: bool) -> tuple[Side, frozenset[int]]:
        """Gold's rows with those that could stand at its cuts, and the groups of these."""
        cuts = []
        if at_start and len(self.first_rows.groups):
            cuts.append((0, self.first_rows))
        if at_end and len(self.last_rows.groups):
            cuts.append((int(self.groups[-1]), self.last_rows))
        gold = Side(self.gold.codes, self.groups)
        for group, others in cuts:
            gold = _with_more(gold, others, group, self.n_codes)
        return gold, frozenset(group for group, _ in cuts)

    def same_places_once(self, is_prefix: bool = False) -> tuple[int, ...] | None:
        """The mapping under which rows stand in gold's order up to ties, equal neighbours counting as one."""
        height = len(self.groups)
        ours = self.predicted.take(slice(height)) if is_prefix else self.predicted
        if len(ours.groups) < height:
            return None

        def accepts(ids: np.ndarray) -> bool:
            wanted: list[set[int]] = [set() for _ in range(int(self.groups[-1]) + 1)]
            for group, row in zip(self.groups.tolist(), ids[:height].tolist(), strict=True):
                wanted[group].add(row)
            place, rows = 0, ids[height:].tolist()
            for group in [
                wanted[0],
                *(after for before, after in pairwise(wanted) if before != after or len(after) > 1),
            ]:
                found = set()
                while place < len(rows) and rows[place] in group:
                    found.add(rows[place])
                    place += 1
                if found != group:
                    return False
            return place == len(rows)

        return self._search(ours, self.gold, Rule(as_often=False, accepts=accepts))

    def is_in_place(self, mapping: tuple[int, ...]) -> bool:
        """Whether every row stands where gold's does."""
        pairs = zip(mapping, self.gold.codes, strict=True)
        return all(np.array_equal(self.predicted.codes[place], column) for place, column in pairs)

    def _search(self, predicted: Side, gold: Side, rule: Rule) -> tuple[int, ...] | None:
        search = ColumnSearch(predicted, gold, self.n_codes, rule)
        found = search.find()
        self.is_exhausted |= search.is_exhausted
        return found


def _with_more(gold: Side, more: Side, group: int, n_codes: int) -> Side:
    """Gold with the rows that could stand in a group beside its own; those it has are not counted twice."""
    own, others = row_numbers([Side(gold.codes, np.zeros_like(gold.groups)), more], n_codes)
    there = Counter(own[gold.groups == group].tolist())
    added = []
    for place, row in enumerate(others.tolist()):
        if there[row] > 0:
            there[row] -= 1
        else:
            added.append(place)
    codes = [np.concatenate([one, other[added]]) for one, other in zip(gold.codes, more.codes, strict=True)]
    return Side(codes, np.concatenate([gold.groups, np.full(len(added), group)]))


def _with_an_empty_one(predicted: Table, gold: Table) -> Verdict:
    if predicted.height or gold.height:
        counts = [f"{table.height} row{'' if table.height == 1 else 's'}" for table in (predicted, gold)]
        return Verdict(False, f"{counts[0]}, gold has none" if predicted.height else f"no rows, gold has {counts[1]}")
    if 0 < predicted.width < gold.width:
        return Verdict(False, f"{predicted.width} columns, gold has {gold.width}; both are empty")
    return Verdict(True, "equal: both are empty", tuple(range(gold.width)), strict=True, paper=True)


def _not_ordered(comparison: Comparison, tolerate_duplicates: bool) -> Verdict:
    mapping = comparison.same_rows(as_often=True)
    if mapping is not None:
        return Verdict(True, "equal: the same rows", mapping, strict=True, paper=True)
    mapping = comparison.same_rows(as_often=False) if tolerate_duplicates else None
    if mapping is not None:
        return Verdict(True, "accepted: the same rows, not as often", mapping, strict=False, paper=True)
    return _rejected(comparison, False, False, False)


def _ordered(comparison: Comparison, is_row_count_fixed: bool, tolerate_duplicates: bool) -> Verdict:
    ours, theirs = (table.height for table in comparison.tables)
    mapping = comparison.same_places()
    if mapping is not None:
        is_same = comparison.is_in_place(mapping)
        reason = "equal: the same rows in the same order" if is_same else "accepted: tied rows in another order"
        return Verdict(True, reason, mapping, strict=True, paper=True)
    is_paper = _is_paper_match(comparison, is_row_count_fixed, tolerate_duplicates)
    if ours == theirs or (ours > theirs and not is_row_count_fixed):
        mapping = comparison.same_places(at_start=True, at_end=True)
        if mapping is not None:
            is_at_end = comparison.same_places(at_start=True) is None
            reason = f"accepted: tie at the {'limit' if is_at_end else 'offset'}"
            return Verdict(True, reason, mapping, strict=True, paper=is_paper)
        mapping = comparison.same_places_once() if tolerate_duplicates and not is_row_count_fixed else None
        if mapping is not None:
            return Verdict(True, "accepted: the same rows in order, not as often", mapping, False, is_paper)
    return _rejected(comparison, True, is_row_count_fixed, is_paper)


def _is_paper_match(comparison: Comparison, is_row_count_fixed: bool, tolerate_duplicates: bool) -> bool:
    """Appendix G's ordered branches, for pairs that are not equal row by row and tie by tie."""
    ours, theirs = (table.height for table in comparison.tables)
    if ours < theirs or (is_row_count_fixed and ours != theirs):
        return False
    found = comparison.same_places(at_end=not is_row_count_fixed, is_prefix=True)
    if found is None and tolerate_duplicates:
        found = comparison.same_places_once(is_prefix=True)
    return found is not None


def _rejected(comparison: Comparison, is_ordered: bool, is_row_count_fixed: bool, is_paper: bool) -> Verdict:
    from workbench.differences import difference_in_words

    reason = difference_in_words(comparison, is_ordered, is_row_count_fixed)
    return Verdict(False, reason, strict=False, paper=is_paper)
