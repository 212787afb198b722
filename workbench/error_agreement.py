"""How well two sources of error labels agree: rules, judge and hand labels, in either scheme.

In: the labels of two sources for the same errors. Out: raw agreement, Cohen's kappa and the confusion matrix; against hand
labels, precision. Hand labels count as follows, fixed before the held half was looked at:

- A category is right if it is the row's category or its second category; a type likewise. `strict` counts the first alone.
- Every row counts: also `gold_wrong` rows, rows labelled "other", and errors that a source gives no label for (wrong).
- Precision is right / all rows of the half, as the plans paper's 76 % is over the labels of all six categories together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from workbench.errors import ResultsError
from workbench.labels import CATEGORIES, ERROR_TYPES
from workbench.metrics import wilson_interval

NAMES = {"category": CATEGORIES, "type": ERROR_TYPES}
_COLUMNS = {"category": ("category", "second_category"), "type": ("error_type", "second_error_type")}


@dataclass(frozen=True)
class Agreement:
    """n: pairs with both labels. same: their share that agree. kappa: Cohen's, null where both give one same label alone.

    confusion: first (a label of the first source), then one column of counts for each label of the second.
    """

    n: int
    same: float
    kappa: float | None
    confusion: pl.DataFrame


def agreement(first: Sequence[str | None], second: Sequence[str | None], scheme: str = "category") -> Agreement:
    """Of two sources on the same errors, in the same order; a pair with a null does not count.

    ResultsError where there is no pair, or the lists differ in length.
    """
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    if len(first) != len(second):
        raise ResultsError(f"{len(first)} and {len(second)} labels", hint="one of each source for every error")
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    if not pairs:
        raise ResultsError("no error has a label of both sources")
    names = list(NAMES[scheme])
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    matrix = confusion_matrix(left, right, labels=names)
    is_one = len({*left, *right}) == 1
    kappa = None if is_one else float(cohen_kappa_score(left, right, labels=names))
    confusion = pl.DataFrame({"first": names} | {name: matrix[:, column] for column, name in enumerate(names)})
    return Agreement(len(pairs), sum(one == other for one, other in pairs) / len(pairs), kappa, confusion)


def precision(found: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Of labels by rules or judge against hand labels, by the rules above.

    found: key, category, error_type, one row for each row of labels. labels: as labels.errors(), of one half or both.
    Returns a row for each scheme: scheme, n, right, precision, low, high (Wilson's 95 % interval), strict (a share).
    ResultsError where a row of labels has none in `found`.
    """
    both = labels.join(found.select("key", found_category="category", found_error_type="error_type"), on="key")
    if len(both) != len(labels) or not len(labels):
        raise ResultsError(f"{len(both)} of {len(labels)} labelled errors were sorted", hint="each once")
    rows = []
    for scheme, (first, second) in _COLUMNS.items():
        given = pl.col(f"found_{first}")
        is_first = (given == pl.col(first)).fill_null(False)
        right = both.select((is_first | (given == pl.col(second)).fill_null(False)).sum()).item()
        low, high = wilson_interval(right, len(both))
        strict = both.select(is_first.mean()).item()
        rows.append((scheme, len(both), right, right / len(both), low, high, strict))
    return pl.DataFrame(rows, schema=["scheme", "n", "right", "precision", "low", "high", "strict"], orient="row")
