"""What kind of error a wrong prediction is: the plans paper's six categories (appendix D), HES-SQL's eight types (table 5).

In: gold, prediction, schema and the outcome of the run. Out: an `ErrorKind` with its evidence. Only errors already found are sorted: nothing here says whether a prediction is right. Both queries are read on
SQLite's grammar, as in the paper: a plan is compared as the SQL it compiles to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.error_rules import compare
from workbench.errors import ParseError, UnsupportedError
from workbench.failed_predictions import fault
from workbench.query_pair import FILTERING, LINKING, ORDERING, OTHER, Finding
from workbench.schema import Schema

RULES_VERSION = 1  # raise when the same pair would be sorted otherwise
STRUCTURAL = ("subquery", "clause", "operator")  # HES-SQL's two classes; the other five types are semantic
SCHEMA_LINKING_TYPES = ("table", "attribute")  # HES-SQL, figure 1


@dataclass(frozen=True)
class ErrorKind:
    """category: of labels.CATEGORIES. error_type: of labels.ERROR_TYPES, null where none fits. evidence: a sentence.

    confidence: high (all that was found is of one category) | medium (faults of several) | low (nothing was found). The
    second ones name the first further fault of another category or type, or are null.
    """

    category: str
    error_type: str | None
    evidence: str
    confidence: str
    second_category: str | None = None
    second_error_type: str | None = None


def categorise(
    gold_sql: str,
    predicted_sql: str | None,
    schema: Schema,
    status: str | None = None,
    message: str | None = None,
    gold_rows: Sequence[tuple] | None = None,
    predicted_rows: Sequence[tuple] | None = None,
) -> ErrorKind:
    """Sort a wrong prediction by comparing it with gold.

    status, message: of the prediction's run, as in `executions`; None where nobody ran it. The rows are looked at only
    where the texts show no fault. Never raises for what the prediction says.
    """
    failed = fault(predicted_sql, schema, status, message)
    found = [failed] if failed is not None else []
    if predicted_sql:
        try:
            found += compare(gold_sql, predicted_sql, schema)
        except (ParseError, UnsupportedError) as error:
            found += [] if found else [Finding(OTHER, None, f"the two cannot be compared: {error.what}")]
    if not found:
        found = [_by_rows(gold_rows, predicted_rows)]
    first = found[0]
    second_category = next((one.category for one in found if one.category != first.category), None)
    second_type = next((one.error_type for one in found if one.error_type not in (first.error_type, None)), None)
    confidence = "low" if first.category == OTHER else "medium" if second_category else "high"
    return ErrorKind(first.category, first.error_type, first.evidence, confidence, second_category, second_type)


def _by_rows(gold: Sequence[tuple] | None, predicted: Sequence[tuple] | None) -> Finding:
    """What the results say where the texts say nothing."""
    if gold and predicted:
        if len(predicted[0]) < len(gold[0]):
            return Finding(
                LINKING, "attribute", f"gold shows {len(gold[0])} columns, the prediction {len(predicted[0])}"
            )
        if sorted(map(repr, gold)) == sorted(map(repr, predicted)):
            return Finding(ORDERING, "clause", "the same rows come in another order")
    if gold is not None and predicted is not None and len(gold) != len(predicted):
        return Finding(FILTERING, "condition", f"gold gives {len(gold)} rows, the prediction {len(predicted)}")
    return Finding(OTHER, None, "no difference was found between the two queries")
