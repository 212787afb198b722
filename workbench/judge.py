"""The verdict on one pair: all columns of `scores` that say how good a prediction is.

In: two statements and their results, the question's class, and what is known of gold's order. Out: one dict of columns.
Failures are kept apart in `outcome`: a failed prediction is wrong under every rule, a failed gold leaves DF-Match without a
verdict and counts as wrong where the official rule has it so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from workbench.backends.base import Execution
from workbench.compare import Verdict, compare
from workbench.gold_order import GoldOrder
from workbench.metrics import bird_ex
from workbench.pair_metrics import pair_metrics
from workbench.spider_sql import SpiderNames
from workbench.value_forms import normalise

NO_NAMES = SpiderNames({})  # with which nothing can be read
VERDICTS = ("df_match", "df_match_strict", "df_match_paper", "bird_ex")


@dataclass(frozen=True)
class PairResults:
    """What one verdict rests on.

    gold: the gold's run on SQLite, which DF-Match compares with. own_gold: that of the gold for the prediction's engine,
    where the benchmark ships one, else the same; BIRD's rule compares with it. no_sql: why nothing was run. names: the
    database's, for Spider's grammar.
    """

    engine: str
    dialect: str
    sql: str | None
    gold_sql: str
    predicted: Execution | None
    gold: Execution
    own_gold: Execution
    is_same_engine: bool
    is_ordered: bool
    is_row_count_fixed: bool
    order: GoldOrder
    names: SpiderNames = NO_NAMES
    no_sql: str = ""


def judge(pair: PairResults) -> dict[str, object]:
    """Every metric column of the pair, `outcome` and `reason`. This is the one place where metrics are put together."""
    predicted, gold = _rows(pair)
    is_right = _is_bird_ex(predicted, gold)
    return (
        _verdict(pair)
        | {"bird_ex": is_right}
        | pair_metrics(
            pair.sql,
            pair.gold_sql,
            pair.names,
            is_right=is_right,
            predicted_rows=predicted,
            gold_rows=gold,
            dialect=pair.dialect,
        )
    )


def _verdict(pair: PairResults) -> dict[str, object]:
    if pair.gold.status != "ok":
        outcome = "gold_timeout" if pair.gold.status == "timeout" else "gold_failed"
        reason = f"the gold query: {pair.gold.status}: {pair.gold.message}"
        return unjudged(outcome, reason)
    if pair.predicted is None or pair.predicted.status != "ok":
        failure = pair.predicted and f"{pair.predicted.status}: {pair.predicted.message}"
        return dict.fromkeys(VERDICTS, False) | {
            "outcome": "prediction_failed",
            "reason": failure or f"no query: {pair.no_sql}",
        }
    verdict, reason = df_match(pair)
    if pair.own_gold.status != "ok":
        reason += f"; the gold query for {pair.engine}: {pair.own_gold.status}: {pair.own_gold.message}"
    return {
        "df_match": verdict.equal,
        "df_match_strict": verdict.strict,
        "df_match_paper": verdict.paper,
        "outcome": "judged",
        "reason": reason,
    }


def unjudged(outcome: str, reason: str) -> dict[str, object]:
    return dict.fromkeys(VERDICTS) | {"outcome": outcome, "reason": reason}


def df_match(pair: PairResults) -> tuple[Verdict, str]:
    """DF-Match's verdict on two results, and how it was reached."""
    verdict = _compared(pair, tolerate_duplicates=True)
    if verdict.equal != verdict.strict and not duplicates_may_differ(pair.sql, pair.dialect, pair.gold_sql):
        verdict = _compared(pair, tolerate_duplicates=False)
    note = f"; ties are not known: {pair.order.reason}" if pair.is_ordered and pair.order.reason else ""
    return verdict, verdict.reason + note


def both_metrics(pair: PairResults) -> dict[str, bool | None]:
    """df_match and bird_ex alone, of a pair whose failures count as in `judge`."""
    return {"df_match": _verdict(pair)["df_match"], "bird_ex": _is_bird_ex(*_rows(pair))}


def _is_bird_ex(predicted: list[tuple] | None, gold: list[tuple] | None) -> bool:
    return predicted is not None and gold is not None and bird_ex(predicted, gold)


def _compared(pair: PairResults, tolerate_duplicates: bool) -> Verdict:
    return compare(
        pair.predicted.table,
        pair.gold.table,
        pair.is_ordered,
        pair.is_row_count_fixed,
        pair.order.order_keys,
        pair.order.boundary,
        tolerate_duplicates,
        skipped=pair.order.skipped,
    )


def _rows(pair: PairResults) -> tuple[list[tuple] | None, list[tuple] | None]:
    """The rows of the prediction and of the gold for its engine, in one spelling; None for a side that failed."""
    sides = [
        side.table.rows() if side is not None and side.status == "ok" else None
        for side in (pair.predicted, pair.own_gold)
    ]
    if not pair.is_same_engine:
        sides = [rows if rows is None else normalise(rows) for rows in sides]
    return sides[0], sides[1]


def duplicates_may_differ(sql: str, dialect: str, gold_sql: str) -> bool:
    """Whether two queries drop duplicates in different places: by DISTINCT, GROUP BY or set operations.

    Only then may rows be there more or less often than gold's. False where a text cannot be read.
    """
    try:
        ours, theirs = sqlglot.parse_one(sql, read=dialect), sqlglot.parse_one(gold_sql, read="sqlite")
    except (SqlglotError, RecursionError):
        return False
    return set(_dropping(ours)) != set(_dropping(theirs))


def _dropping(tree: exp.Expr) -> Iterator[tuple[str, bool]]:
    """What drops duplicates of the query's rows, and whether it does so at the top.

    Queries inside conditions and values are left out: whether those drop theirs changes no row's count.
    """
    for node in tree.walk(prune=_is_value):
        is_top = node is tree or node.parent is tree
        if _is_value(node):
            continue
        if isinstance(node, exp.Select) and node.args.get("distinct") is not None:
            yield "DISTINCT", is_top
        elif isinstance(node, exp.Group):
            yield "GROUP BY", is_top
        elif isinstance(node, exp.SetOperation) and node.args.get("distinct"):
            yield type(node).__name__, is_top


def _is_value(node: exp.Expr) -> bool:
    """Whether a query stands where a value does, and not where rows come from."""
    rows = (exp.From, exp.Join, exp.Lateral, exp.CTE, exp.SetOperation, exp.Subquery)
    return isinstance(node, exp.Query) and node.parent is not None and not isinstance(node.parent, rows)
