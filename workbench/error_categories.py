"""What kind of error a wrong prediction is: the plans paper's six categories (appendix D), HES-SQL's eight types (table 5).

In: gold, prediction, schema and the outcome of the run. Out: an `ErrorKind` with its evidence. Only errors already found
are sorted: nothing here says whether a prediction is right. Both queries are read on SQLite's grammar, as in the paper: a
plan is compared as the SQL it compiles to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.error_rules import Gold, compare, read_gold
from workbench.errors import ParseError, UnsupportedError
from workbench.failed_predictions import RAN, fault
from workbench.query_pair import FILTERING, LINKING, ORDERING, OTHER, Finding
from workbench.schema import Schema

RULES_VERSION = 3  # raise when the same pair would be sorted otherwise
STRUCTURAL = ("subquery", "clause", "operator")  # HES-SQL's two classes; the other five types are semantic
SCHEMA_LINKING_TYPES = ("table", "attribute")  # HES-SQL, figure 1


@dataclass(frozen=True)
class ErrorKind:
    """category: of labels.CATEGORIES. error_type: of labels.ERROR_TYPES, null where none fits. evidence: a sentence.

    confidence: high (all that was found is of one category) | medium (faults of several) | low (nothing was found). The
    second ones name the first further fault of another category or type, or are null. Where one of the two cannot be
    read, all are null but the evidence, which says why.
    """

    category: str | None
    error_type: str | None
    evidence: str
    confidence: str | None
    second_category: str | None = None
    second_error_type: str | None = None


Rows = Sequence[tuple] | None


class Categoriser:
    """Sorts the wrong predictions on one database: what the texts show is found once for each gold, text and failure."""

    def __init__(self, schema: Schema):
        self.schema = schema
        self.golds: dict[str, Gold] = {}
        self.compared: dict[tuple[str, str], list[Finding] | str] = {}
        self.failed: dict[tuple, Finding | None] = {}

    def sort(
        self,
        gold_sql: str,
        predicted_sql: str | None,
        status: str | None,
        message: str | None,
        rows: Callable[[], tuple[Rows, Rows]] = lambda: (None, None),
    ) -> ErrorKind:
        """As `categorise`. rows: gives gold's and the prediction's, asked for only where the texts show no fault."""
        failure = None if status in RAN else (status, message)
        first = self._failed(predicted_sql, failure) if failure or not (predicted_sql or "").strip() else None
        compared = self._compared(gold_sql, predicted_sql) if predicted_sql else []
        if isinstance(compared, str) and first is None:
            return ErrorKind(None, None, f"the two cannot be compared: {compared}", None)
        found = [] if first is None else [first]
        found += [] if isinstance(compared, str) else compared
        if not found and status not in ("ok", None):
            found = [Finding(OTHER, None, f"no difference was found between the two queries; the run ended: {status}")]
        return _kind(found or [_by_rows(*rows())])

    def _failed(self, predicted_sql: str | None, failure: tuple | None) -> Finding | None:
        key = (predicted_sql, failure)
        if key not in self.failed:
            self.failed[key] = fault(predicted_sql, self.schema, *(failure or ("ok", None)))
        return self.failed[key]

    def _compared(self, gold_sql: str, predicted_sql: str) -> list[Finding] | str:
        """The faults that the texts show, or why they cannot be read."""
        key = (gold_sql, predicted_sql)
        if key not in self.compared:
            try:
                if gold_sql not in self.golds:
                    self.golds[gold_sql] = read_gold(gold_sql, self.schema)
                self.compared[key] = compare(self.golds[gold_sql], predicted_sql, self.schema)
            except (ParseError, UnsupportedError) as error:
                self.compared[key] = error.what
        return self.compared[key]


def categorise(
    gold_sql: str,
    predicted_sql: str | None,
    schema: Schema,
    status: str | None = None,
    message: str | None = None,
    gold_rows: Rows = None,
    predicted_rows: Rows = None,
) -> ErrorKind:
    """Sort a wrong prediction by comparing it with gold.

    status, message: of the prediction's run, as in `executions`; None where nobody ran it. The rows are looked at only
    where the texts show no fault. Never raises for what the prediction says.
    """
    return Categoriser(schema).sort(gold_sql, predicted_sql, status, message, lambda: (gold_rows, predicted_rows))


def _kind(found: list[Finding]) -> ErrorKind:
    first = found[0]
    second_category = next((one.category for one in found if one.category != first.category), None)
    second_type = next((one.error_type for one in found if one.error_type not in (first.error_type, None)), None)
    confidence = "low" if first.category == OTHER else "medium" if second_category else "high"
    return ErrorKind(first.category, first.error_type, first.evidence, confidence, second_category, second_type)


def _by_rows(gold: Rows, predicted: Rows) -> Finding:
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
