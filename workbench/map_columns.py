"""Which predicted column stands for which gold column, so that the rows agree, not only the columns one by one.

In: both tables as codes (`value_codes`), and for each row the group in which it must find its like. Out: an assignment
of a distinct predicted column to every gold column, or None. A column is a candidate where its values are gold's; with
each assigned column the rows so far, as tuples, must still agree, so that re-paired rows never pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

MAX_TRIES = 3000  # of one column each; ordinary tables need one a column
MAX_CELLS = 300_000_000  # looked at in a search; large tables get fewer tries, but at least 5 a column
MANY = 5000  # keys that are numbered faster by hashing


@dataclass
class Side:
    """One table's rows to be matched. codes: an array a column. groups: a number a row."""

    codes: list[np.ndarray]
    groups: np.ndarray

    def take(self, rows: np.ndarray | slice) -> "Side":
        return Side([column[rows] for column in self.codes], self.groups[rows])


@dataclass
class Rule:
    """How rows of a group are matched.

    as_often: equal rows are as many on both sides, else only there. open_groups: in these every predicted row is one of
    gold's, but not the other way round. accepts: a last look at an assignment's rows: a number for each distinct row,
    gold's first and the predicted ones after.
    """

    as_often: bool = True
    open_groups: frozenset[int] = frozenset()
    accepts: Callable[[np.ndarray], bool] | None = None


class ColumnSearch:
    """One search; `is_exhausted` says that it ended without an answer."""

    def __init__(self, predicted: Side, gold: Side, n_codes: int, rule: Rule):
        if not rule.as_often and not rule.open_groups and len(predicted.codes) == len(gold.codes) and not rule.accepts:
            predicted, gold, rule = _distinct(predicted, n_codes), _distinct(gold, n_codes), Rule()
        self.predicted, self.gold, self.n_codes, self.rule = predicted, gold, n_codes, rule
        self.split = len(gold.groups)
        self.is_open = np.isin(np.concatenate([gold.groups, predicted.groups]), list(rule.open_groups))
        cells = len(self.is_open) or 1
        self.tries = max(5 * len(gold.codes), min(MAX_TRIES, MAX_CELLS // cells))
        self.is_exhausted = False
        same: dict[bytes, int] = {}  # equal columns stand for each other: one of them is tried
        self.kinds = [same.setdefault(column.tobytes(), len(same)) for column in predicted.codes]

    def candidates(self) -> list[list[int]]:
        """Per gold column the predicted columns with its values, the one in its own place first."""
        if self.rule.open_groups or self.rule.accepts:
            start = self._start()
            found = [
                [p for p in range(len(self.predicted.codes)) if self._joined(start, g, p) is not None]
                for g in range(len(self.gold.codes))
            ]
        else:
            weights = np.random.default_rng(0).integers(2**63, size=self.n_codes, dtype=np.uint64)
            ours, theirs = (
                [self._sketch(column, weights) for column in side.codes] for side in (self.predicted, self.gold)
            )
            found = [[p for p, sketch in enumerate(ours) if sketch == wanted] for wanted in theirs]
        return [sorted(places, key=lambda place, own=own: (place != own, place)) for own, places in enumerate(found)]

    def find(self) -> tuple[int, ...] | None:
        """Per gold column the predicted one's place."""
        start = self._start()
        if start is None or len(self.predicted.codes) < len(self.gold.codes):
            return None
        candidates = self.candidates()
        if not all(candidates):
            return None
        # few candidates first, then many values: what is decided early leaves the rest no choice
        spread = [len(np.unique(column[:1000])) for column in self.gold.codes]
        order = sorted(range(len(candidates)), key=lambda g: (len(candidates[g]), -spread[g]))
        chosen: list[int] = []
        stack = [(start, iter(self._choices(candidates, order, chosen)))]
        while stack:
            ids, choices = stack[-1]
            place = next(choices, None)
            if place is None:
                stack.pop()
                if chosen:
                    chosen.pop()
                continue
            if self.tries <= 0:
                self.is_exhausted = True
                return None
            self.tries -= 1
            joined = self._joined(ids, order[len(chosen)], place)
            if joined is None:
                continue
            chosen.append(place)
            if len(chosen) < len(order):
                stack.append((joined, iter(self._choices(candidates, order, chosen))))
            elif self.rule.accepts is None or self.rule.accepts(joined):
                return tuple(place for _, place in sorted(zip(order, chosen, strict=True)))
            else:
                chosen.pop()
        return None

    def _choices(self, candidates: list[list[int]], order: list[int], chosen: Sequence[int]) -> list[int]:
        free = [place for place in candidates[order[len(chosen)]] if place not in chosen]
        first = {self.kinds[place]: place for place in reversed(free)}
        return [place for place in free if first[self.kinds[place]] == place]

    def _start(self) -> np.ndarray | None:
        """The rows numbered by their groups alone, if these agree."""
        return self._checked(np.concatenate([self.gold.groups, self.predicted.groups]).astype(np.int64))

    def _joined(self, ids: np.ndarray, g: int, p: int) -> np.ndarray | None:
        """The rows numbered by one column more, if they still agree."""
        return self._checked(ids * self.n_codes + np.concatenate([self.gold.codes[g], self.predicted.codes[p]]))

    def _checked(self, keys: np.ndarray) -> np.ndarray | None:
        ids = numbered(keys)
        size = int(ids.max()) + 1 if len(ids) else 0
        theirs = np.bincount(ids[: self.split], minlength=size)
        ours = np.bincount(ids[self.split :], minlength=size)
        if not self.rule.as_often:
            theirs, ours = theirs > 0, ours > 0
        is_same = ours == theirs
        if self.rule.open_groups:
            is_open = np.zeros(size, bool)
            is_open[ids] = self.is_open
            is_same |= is_open & (ours <= theirs)
        return ids if is_same.all() else None

    def _sketch(self, column: np.ndarray, weights: np.ndarray) -> int:
        """A number that two columns share if they have the same values (as often)."""
        return int(weights[column if self.rule.as_often else np.unique(column)].sum())


def numbered(keys: np.ndarray) -> np.ndarray:
    """Small numbers for equal keys: by sorting, and where they are many by hashing."""
    if len(keys) < MANY:
        return np.unique(keys, return_inverse=True)[1]
    keys = np.ascontiguousarray(keys, np.int64)
    # pyarrow.array(keys) would import pandas first
    indices = pa.Array.from_buffers(pa.int64(), len(keys), [None, pa.py_buffer(keys)]).dictionary_encode().indices
    return np.frombuffer(indices.buffers()[1], np.int32, len(keys)).astype(np.int64)


def row_numbers(sides: Sequence[Side], n_codes: int) -> list[np.ndarray]:
    """A number for each distinct row (its group included) over tables of the same columns."""
    ids = np.concatenate([side.groups for side in sides]).astype(np.int64)
    for columns in zip(*(side.codes for side in sides), strict=True):
        ids = numbered(ids * n_codes + np.concatenate(columns))
    return np.split(ids, np.cumsum([len(side.groups) for side in sides])[:-1])


def _distinct(side: Side, n_codes: int) -> Side:
    (ids,) = row_numbers([side], n_codes)
    return side.take(np.unique(ids, return_index=True)[1])
