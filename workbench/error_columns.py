"""What kind of error each wrong pair makes, as columns of `scores`: the categoriser put to what a run stores.

In: a pair's rows of `generations`, `scores` and `executions`, and gold. Out: COLUMNS, null where nothing is wrong. Both
texts are read on SQLite's grammar: of a plan the SQL compiled for SQLite, on whatever engine it failed; SQL of another
dialect as sqlglot writes it for SQLite, which leaves differences that are none, so that its confidence is low. Rows say
which rules sorted them, so that changed rules sort stored pairs again, and nothing is judged or timed anew for that.
"""

from dataclasses import replace
from functools import lru_cache

import sqlglot
from sqlglot.errors import ErrorLevel, SqlglotError

from workbench.backends import BACKENDS
from workbench.error_categories import RULES_VERSION, Categoriser, ErrorKind, Rows
from workbench.execute import load
from workbench.failed_predictions import RAN
from workbench.judge import VERDICTS

COLUMNS = ("error_category", "error_type", "error_evidence", "error_confidence", "error_rules")
WRONG = ("judged", "prediction_failed")  # outcomes that can be a model's error; a gold that fails is none


def is_error(scored: dict) -> bool:
    """Whether any verdict on the pair says that it is wrong."""
    return scored["outcome"] in WRONG and any(scored[name] is False for name in VERDICTS)


def is_sorted(scored: dict) -> bool:
    """Whether a stored row needs none, or has those of the rules there are."""
    return not is_error(scored) or scored["error_rules"] == RULES_VERSION


def error_columns(
    categoriser: Categoriser, generation: dict, scored: dict, executed: dict, gold: dict
) -> dict[str, object]:
    """COLUMNS of a wrong pair. scored: its row of `scores`; executed, gold: rows of `executions`. Never raises for a pair."""
    try:
        kind = _kind(categoriser, generation, scored, executed, gold)
    except Exception as fault:  # noqa: BLE001 a bad pair never stops the run: it says so in its row
        kind = ErrorKind(None, None, f"the pair could not be sorted: {type(fault).__name__}: {fault}", None)
    values = (kind.category, kind.error_type, kind.evidence, kind.confidence, RULES_VERSION)
    return dict(zip(COLUMNS, values, strict=True))


def _kind(categoriser: Categoriser, generation: dict, scored: dict, executed: dict, gold: dict) -> ErrorKind:
    status, message = executed["status"], executed["message"]
    is_plan, engine = generation["target"] == "plan", executed["engine"]
    if generation["parse_status"] != "ok":
        return categoriser.sort(gold["sql"], None, generation["parse_status"], generation["parse_message"])
    if executed["sql"] is None:
        status, message = "unsupported", scored["reason"].removeprefix("no query: unsupported: ")
    if is_plan and generation["sql_sqlite"] is None and engine != "sqlite":
        return ErrorKind(None, None, "the plan has no SQL for SQLite, on which the two are compared", None)
    dialect = "sqlite" if is_plan else BACKENDS[generation["dialect"] or engine].dialect
    sql = generation["sql_sqlite"] if is_plan else on_sqlite(executed["sql"], dialect)
    kind = categoriser.sort(gold["sql"], sql, status, message, lambda: (_rows(gold), _rows(executed)))
    is_by_foreign_text = kind.confidence is not None and dialect != "sqlite" and status in RAN
    return replace(kind, confidence="low") if is_by_foreign_text else kind


@lru_cache(maxsize=10_000)
def on_sqlite(sql: str, dialect: str) -> str:
    """SQL of another dialect as sqlglot writes it for SQLite; as it is where sqlglot cannot read it."""
    if dialect == "sqlite":
        return sql
    try:
        return sqlglot.transpile(sql, read=dialect, write="sqlite", unsupported_level=ErrorLevel.IGNORE)[0]
    except (SqlglotError, RecursionError, ValueError, IndexError):
        return sql


def _rows(executed: dict) -> Rows:
    """A stored result, looked up only where the texts are equal."""
    stored = load(executed["result_key"]) if executed["result_key"] else None
    return stored.table.rows() if stored is not None and stored.table is not None else None
