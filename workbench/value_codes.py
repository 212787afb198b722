"""Numbers for values: within one comparison, two values have the same code exactly if they count as equal.

In: the columns of both results, as lists of values or polars series. Out: an array of codes a column. Values take the
forms of `value_forms`; then whole numbers equal whole numbers exactly, a number equals a float within TOLERANCE, text
only text, bytes only bytes, NULL only NULL, and not-a-number itself.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl

from workbench.value_forms import normal

TOLERANCE = 1e-9  # plans paper, section 4.2: of the larger number's size, and absolute below 1
# Equality within a tolerance is not transitive. Where a chain of numbers is longer than the tolerance, it is cut at finer
# ones, at which what is noise still hangs together and what is data does not: no two equal codes are ever further apart.
_FINER = (1e-11, 1e-13, 1e-15, 0.0)
_PLAIN = {int, str, bytes, type(None)}
SMALL = 20_000  # values; up to here Python's own dictionary is faster
_TYPES = (pl.Int64, pl.Float64, pl.String)
_NAN = object()  # a key for what does not equal itself


def is_close(one: float, other: float) -> bool:
    """Whether two numbers are equal within the tolerance; two whole ones only if they are the same."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return one == other or abs(one - other) <= TOLERANCE * max(1.0, abs(one), abs(other))


def encode(columns: Sequence[Sequence | pl.Series]) -> tuple[list[np.ndarray], int]:
    """Codes (int64) of each column's values, and how many codes there are."""
    codes = _Codes()
    typed = [_as_series(column) for column in columns] if sum(map(len, columns)) > SMALL else [None] * len(columns)
    found: list = [
        codes.of_values(column) if series is None else None for column, series in zip(columns, typed, strict=True)
    ]
    for kind in _TYPES:
        places = [place for place, series in enumerate(typed) if series is not None and series.dtype == kind]
        if places:
            ids = codes.of_series(pl.concat([typed[place] for place in places]))
            ends = np.cumsum([len(typed[place]) for place in places])
            for place, part in zip(places, np.split(ids, ends[:-1]), strict=True):
                found[place] = part
    merged = codes.merged()
    return [merged[ids] for ids in found] if merged is not None else found, max(codes.count, 1)


def _as_series(column: Sequence | pl.Series) -> pl.Series | None:
    """A column of one of _TYPES; None where its values are of several kinds, or of another one."""
    if isinstance(column, pl.Series):
        if column.dtype.is_integer() or column.dtype == pl.Boolean:
            narrow = column.cast(pl.Int64, strict=False)
            return narrow if narrow.null_count() == column.null_count() else None
        if column.dtype.is_float():
            return column.cast(pl.Float64)
        return column if column.dtype == pl.String else None
    kinds = set(map(type, column)) - {type(None)}
    kind = {int: pl.Int64, float: pl.Float64, str: pl.String}.get(kinds.pop()) if len(kinds) == 1 else None
    try:
        return pl.Series(column, dtype=kind, strict=True) if kind is not None else None
    except (TypeError, OverflowError, UnicodeEncodeError, pl.exceptions.PolarsError):  # too large, or not UTF-8
        return None


class _Codes:
    """Numbers given out so far: to floats, and to all else (Python takes 1 and 1.0 for one key)."""

    def __init__(self):
        self.count = 0
        self.exact: dict[object, int] = defaultdict(self._new)
        self.floats: dict[float, int] = defaultdict(self._new)
        self.is_mixed = False  # whether values came through Python, so that others must be looked up there
        self.numbers: list[tuple[np.ndarray, np.ndarray]] = []  # values, codes: of series that were not

    def _new(self) -> int:
        self.count += 1
        return self.count - 1

    def of_values(self, values: Sequence) -> np.ndarray:
        self.is_mixed = True
        if isinstance(values, pl.Series):
            values = values.to_list()
        kinds = set(map(type, values))
        if not kinds <= _PLAIN and kinds != {float}:
            values = list(map(normal, values))
            kinds = set(map(type, values))
        if float not in kinds:
            return np.fromiter(map(self.exact.__getitem__, values), np.int64, len(values))
        if len(kinds) == 1 and not np.isnan(values).any():
            return np.fromiter(map(self.floats.__getitem__, values), np.int64, len(values))
        return np.array([self._one(value) for value in values], np.int64)

    def _one(self, value: object) -> int:
        if type(value) is not float:
            return self.exact[value]
        return self.exact[_NAN] if math.isnan(value) else self.floats[value]

    def of_series(self, series: pl.Series) -> np.ndarray:
        """The same for values of one type, of which at most the distinct ones pass through Python."""
        encoded = series.rechunk().to_arrow().dictionary_encode()
        distinct = pl.Series(encoded.dictionary)
        if self.is_mixed:
            codes = self.of_values(distinct)
        else:
            codes = np.arange(self.count, self.count + len(distinct))
            self.count += len(distinct)
            if series.dtype != pl.String:
                self.numbers.append((distinct.to_numpy(), codes))
        if encoded.indices.null_count:
            codes = np.append(codes, self.exact[None])
        return codes[pl.Series(encoded.indices).fill_null(len(codes) - 1).to_numpy()]

    def merged(self) -> np.ndarray | None:
        """Code -> the code of all that equals it; None where no two are equal."""
        wholes = {value: code for value, code in self.exact.items() if isinstance(value, int) and abs(value) < 10**308}
        parts = [*self.numbers, _numbers(wholes, np.int64 if max(map(abs, wholes), default=0) < 2**63 else object)]
        parts.append(_numbers(self.floats, np.float64))
        wholes, floats = (
            [part for part in parts if (part[0].dtype == np.float64) == is_real] for is_real in (False, True)
        )
        if not sum(len(values) for values, _ in floats):
            return None
        exact = np.concatenate([values for values, _ in wholes] or [np.empty(0, np.int64)])
        values = np.concatenate([exact.astype(float), *(values for values, _ in floats)])
        codes = np.concatenate([codes for _, codes in [*wholes, *floats]])
        order = np.argsort(values, kind="stable")
        order = order[np.isfinite(values[order])]
        values, codes, is_whole = values[order], codes[order], order < len(exact)
        merged = np.arange(self.count)
        starts, ends = _clusters(values, is_whole)
        wholes_before = np.concatenate([[0], np.cumsum(is_whole)])
        is_plain = wholes_before[ends] - wholes_before[starts] <= 1
        lengths = (ends - starts)[is_plain]
        first = np.repeat(starts[is_plain], lengths)
        within = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        merged[codes[first + within]] = codes[first]
        # whole numbers that a float cannot tell apart: it is the one that it equals exactly, if any
        for start, end in zip(starts[~is_plain].tolist(), ends[~is_plain].tolist(), strict=True):
            known = {int(exact[order[i]]): codes[i] for i in range(start, end) if is_whole[i]}
            for i in range(start, end):
                merged[codes[i]] = codes[i] if is_whole[i] else known.get(int(values[i]), codes[i])
        return merged


def _numbers(table: dict, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    return np.array(list(table), dtype), np.array(list(table.values()), np.int64)


def _clusters(values: np.ndarray, is_whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of ranges of sorted numbers that all count as equal, where there is more than one.

    Several whole ones are in one range only if a float cannot tell them apart.
    """
    found, pending = [], [(0, len(values), (TOLERANCE, *_FINER))]
    wholes = np.concatenate([[0], np.cumsum(is_whole)])
    while pending:
        first, last, (tolerance, *finer) = pending.pop()
        part = values[first:last]
        sizes = np.maximum(1.0, np.abs(part))
        with np.errstate(over="ignore"):
            gaps = np.diff(part) > tolerance * np.maximum(sizes[1:], sizes[:-1])
        edges = np.concatenate([[0], np.flatnonzero(gaps) + 1, [len(part)]])
        starts, ends = edges[:-1] + first, edges[1:] + first
        starts, ends = starts[ends - starts > 1], ends[ends - starts > 1]
        largest = np.maximum(np.abs(values[starts]), np.abs(values[ends - 1]))
        with np.errstate(over="ignore"):
            is_cut = values[ends - 1] - values[starts] > TOLERANCE * np.maximum(1.0, largest)
        is_cut |= wholes[ends] - wholes[starts] > 1
        if not finer:
            is_cut[:] = False
        pending += [(start, end, finer) for start, end in zip(starts[is_cut], ends[is_cut], strict=True)]
        found.append((starts[~is_cut], ends[~is_cut]))
    return np.concatenate([starts for starts, _ in found]), np.concatenate([ends for _, ends in found])
