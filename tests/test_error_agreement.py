"""Agreement of two sources of error labels, and precision against hand labels, by hand-worked counts."""

import polars as pl
import pytest

from workbench.error_agreement import agreement, precision
from workbench.errors import ResultsError


def test_kappa_and_confusion_by_hand():
    first = ["other", "other", "schema_linking", "schema_linking", None]
    second = ["other", "schema_linking", "schema_linking", "schema_linking", "other"]
    found = agreement(first, second)
    assert (found.n, found.same) == (4, 0.75)
    assert found.kappa == pytest.approx((0.75 - 0.5) / (1 - 0.5))  # by chance: 2/4 x 1/4 + 2/4 x 3/4
    row = found.confusion.filter(first="other").row(0, named=True)
    assert (row["other"], row["schema_linking"], row["dialect_syntax"]) == (1, 1, 0)


def test_one_label_alone_has_no_kappa():
    assert agreement(["value", "value"], ["value", "value"], "type").kappa is None


@pytest.mark.parametrize(("first", "second"), [([], []), (["other"], [None]), (["other"], [])])
def test_nothing_to_compare(first, second):
    with pytest.raises(ResultsError):
        agreement(first, second)


LABELS = pl.DataFrame(
    {
        "key": ["a", "b", "c", "d"],
        "category": ["other", "schema_linking", "filtering_logic", "filtering_logic"],
        "second_category": [None, "filtering_logic", None, None],
        "error_type": ["value", "value", "table", "table"],
        "second_error_type": [None, None, "value", None],
    }
)


def test_either_label_is_right_and_a_missing_one_is_wrong():
    found = pl.DataFrame(
        {
            "key": ["d", "c", "b", "a"],
            "category": ["other", "filtering_logic", "filtering_logic", "other"],
            "error_type": [None, "value", "value", "value"],
        }
    )
    category, error_type = precision(found, LABELS).iter_rows(named=True)
    assert (category["n"], category["right"], category["precision"], category["strict"]) == (4, 3, 0.75, 0.5)
    assert (error_type["right"], error_type["strict"]) == (3, 0.5)
    assert category["low"] < 0.75 < category["high"]


def test_every_label_must_be_answered():
    found = pl.DataFrame({"key": ["a"], "category": ["other"], "error_type": ["value"]})
    with pytest.raises(ResultsError, match="1 of 4"):
        precision(found, LABELS)
