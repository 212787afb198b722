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
from workbench.labels import CATEGORIES, ERROR_TYPES, error_key, errors
from workbench.metrics import wilson_interval
from workbench.results import dtypes

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


def sources(pairs: pl.DataFrame, judgements: pl.DataFrame, labels: pl.DataFrame | None = None) -> pl.DataFrame:
    """Agreement on categories of the rules with each judge, and of both with hand labels; columns: TABLES["error_agreement"].

    pairs: as judge_errors.wrong_pairs, with is_simulated. judgements: the table `error_judgements`. labels: as
    labels.errors(). Six rows for each two sources that name something in common. ResultsError where no two do.
    """
    keys = ["model", "target", "dialect", "question_id"]
    labels = errors() if labels is None else labels
    texts = pairs.select("db_id", "question", "gold_sql", "sql").rows()
    pairs = pairs.with_columns(key=pl.Series([error_key(*row) if row[3] else None for row in texts], dtype=pl.String))
    hand = pairs.join(labels.select("key", hand="category"), on="key", how="left", maintain_order="left")
    found = [("hand", "rules", hand.with_columns(first="hand", second="error_category"))]
    for (judge,), group in judgements.group_by("judge", maintain_order=True):
        both = hand.join(group.select(*keys, second="category"), on=keys, nulls_equal=True, maintain_order="left")
        found += [
            (first, judge, both.with_columns(first=own))
            for first, own in (("rules", "error_category"), ("hand", "hand"))
        ]
    rows = []
    for first, second, both in found:
        for (benchmark,), group in both.group_by("benchmark", maintain_order=True):
            n = group.drop_nulls(["first", "second"]).height
            if not n:
                continue
            seen = agreement(group["first"].to_list(), group["second"].to_list())
            low, high = wilson_interval(round(seen.same * seen.n), seen.n)
            about = {"benchmark": benchmark, "first": first, "second": second, "errors": len(group), "n": seen.n}
            about |= {"same": seen.same, "low": low, "high": high, "kappa": seen.kappa}
            about |= {"is_simulated": group["is_simulated"].any()}
            rows += [about | {"category": row.pop("first")} | row for row in seen.confusion.to_dicts()]
    if not rows:
        raise ResultsError("no judge was asked, and no error has a hand label", hint="workbench study errors --judge")
    return pl.DataFrame(rows, schema=dtypes("error_agreement"))


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
