"""Proves that two tables hold the same rows, whatever their order: a sum of hashes over Arrow batches.

In: batches of a table, from either side of a copy, with equal types (int64, double, string, binary). Out: a Checksum;
two of them are compared by `difference`, which names the column. The sums of one column do not see two values that
changed places, so every row is hashed as a whole too. Hashes are 64 bits wide and hold within one process only: they
are never stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

_COLUMN_SEED, _ROW_SEED = 1, 2


@dataclass
class Checksum:
    """rows; per column the count of non-null values and the sum of their hashes; the sum of the rows' hashes (mod 2^64)."""

    columns: Sequence[str]
    rows: int = 0
    values: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    row_sum: int = 0

    def __post_init__(self):
        self.values = [0] * len(self.columns)
        self.sums = [0] * len(self.columns)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in more rows; columns by position."""
        hashes = []
        for position, array in enumerate(batch.columns):
            if pa.types.is_float64(array.type):  # by its bits: a hash of the number takes -0.0 for 0.0
                array = array.view(pa.int64())
            hashed = pl.Series(array).hash(_COLUMN_SEED)
            hashes.append(hashed.alias(str(position)))
            self.values[position] += len(array) - array.null_count
            self.sums[position] = (self.sums[position] + _wrapping_sum(hashed)) % 2**64
        self.rows += batch.num_rows
        self.row_sum = (self.row_sum + _wrapping_sum(pl.DataFrame(hashes).hash_rows(_ROW_SEED))) % 2**64


def difference(expected: Checksum, found: Checksum) -> str | None:
    """What differs, in words that name the column; None if the tables are equal."""
    if expected.rows != found.rows:
        return f"{found.rows} rows instead of {expected.rows}"
    for name, values, other_values, total, other_total in zip(
        expected.columns, expected.values, found.values, expected.sums, found.sums, strict=True
    ):
        if values != other_values:
            return f'column "{name}": {other_values} values instead of {values}'
        if total != other_total:
            return f'column "{name}": values differ'
    if expected.row_sum != found.row_sum:
        return "every column holds the right values, but not in the right rows"
    return None


def _wrapping_sum(hashes: pl.Series) -> int:
    return int(hashes.to_numpy().sum(dtype=np.uint64))
