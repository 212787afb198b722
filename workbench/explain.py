"""One question of a scored run, laid open: statements, results, which columns stand for which, ties, verdict and reason.

In: a run and the id of a question. Out: a row for each pair, made again from stored scores and cached results. Nothing of
the predictions is run; a gold's order is, where the cache has lost it.
"""

from pathlib import Path

import polars as pl

from workbench.backends import BACKENDS
from workbench.backends.base import Execution, Limits
from workbench.compare import tie_groups
from workbench.errors import BenchmarkError, ResultsError
from workbench.execute import Executor, load
from workbench.gold_order import GoldOrder
from workbench.judge import VERDICTS, PairResults, df_match
from workbench.result_table import ResultTable
from workbench.results import Run
from workbench.run_orders import run_orders
from workbench.schema import Schema
from workbench.score import benchmark_of
from workbench.score_database import REFERENCE

SHOWN_ROWS = 20  # of a result
SHOWN_COLUMNS = 30
SHOWN_CELL = 300  # characters of a value, or a column's name
_KEYS = ["model", "target", "dialect", "engine", "question_id"]


def explain(run: Run | str | Path, question_id: str) -> pl.DataFrame:
    """Every verdict on one question, a row for each model, target, dialect and engine.

    Columns: model, target, dialect, engine, question_class, class_source; gold_sql, sql; gold_result, result (the first
    rows as text, null where a statement failed or the cache has lost it); columns (which predicted column stands for
    which of gold's); ties (what is known of gold's order); the verdicts, outcome and reason; what
    kind of error a wrong one makes, and what shows it. ResultsError for a question
    that the run does not hold, or has no scores of.
    """
    run = Run.open(run)
    this = pl.col("question_id") == question_id
    questions = run.table("questions")
    question = next(questions.filter(this).iter_rows(named=True), None)
    if question is None:
        known = ", ".join(questions["question_id"].head(5))
        raise ResultsError(f"has no question {question_id!r}", where=run.path, hint=f"there are: {known}, ...")
    executions = run.table("executions").filter(this)
    gold = next(executions.filter(role="gold", engine=REFERENCE).iter_rows(named=True), None)
    predicted = executions.filter(role="prediction").select(*_KEYS, "sql", "result_key")
    scores = run.table("scores").filter(this).join(predicted, on=_KEYS, how="left", nulls_equal=True)
    if scores.is_empty() or gold is None:
        raise ResultsError(f"has no scores of {question_id!r}", where=run.path, hint="workbench score first")
    expected = gold["result_key"] and load(gold["result_key"])
    order = GoldOrder()
    if expected is not None and expected.status == "ok" and scores["question_class"][0] != "not_ordered":
        order = _order(run, question, expected.table)
    rows = [_explained(row, question, expected, order) for row in scores.iter_rows(named=True)]
    return pl.DataFrame(rows, infer_schema_length=None).sort("model", "target", "dialect", "engine", nulls_last=False)


def _order(run: Run, question: dict, gold: ResultTable) -> GoldOrder:
    try:
        path = benchmark_of(run).database_path(question["db_id"])
    except BenchmarkError as fault:
        return GoldOrder(reason=str(fault))
    columns = Schema.from_sqlite(path).collations
    with Executor([REFERENCE], Limits(**run.header["limits"])) as executor:
        return run_orders(executor, question["db_id"], path, {question["gold_sql"]: gold}, columns)[
            question["gold_sql"]
        ]


def _explained(row: dict, question: dict, gold: Execution | None, order: GoldOrder) -> dict:
    predicted = load(row["result_key"]) if row["result_key"] else None
    tables = [side.table if side is not None else None for side in (predicted, gold)]
    about = {key: row[key] for key in ("model", "target", "dialect", "engine", "question_class", "class_source")}
    about |= {"gold_sql": question["gold_sql"], "sql": row["sql"]}
    about |= {"gold_result": shown(tables[1]), "result": shown(tables[0]), "columns": None}
    about["ties"] = None if row["question_class"] == "not_ordered" else _ties(order)
    if all(table is not None for table in tables):
        pair = PairResults(
            engine=row["engine"],
            dialect=BACKENDS[row["dialect"] or row["engine"]].dialect,
            sql=row["sql"],
            gold_sql=question["gold_sql"],
            predicted=predicted,
            gold=gold,
            own_gold=gold,
            is_same_engine=False,
            is_ordered=row["question_class"] != "not_ordered",
            is_row_count_fixed=row["question_class"] == "ordered_fixed",
            order=order,
        )
        about["columns"] = _columns(df_match(pair)[0].mapping, *tables)
    return about | {
        key: row[key]
        for key in (
            *VERDICTS,
            "outcome",
            "reason",
            "error_category",
            "error_type",
            "error_evidence",
            "error_confidence",
        )
    }


def shown(table: ResultTable | None) -> str | None:
    """A result as text: a line of column names, then the first rows as Python's values; what is cut is said."""
    if table is None:
        return None
    rows = ResultTable(table.columns, table.arrow.slice(0, SHOWN_ROWS), min(table.height, SHOWN_ROWS)).rows()
    more = ["..."] if table.width > SHOWN_COLUMNS else []
    names = [readable(name, SHOWN_CELL).replace("\n", "\\n") for name in table.columns[:SHOWN_COLUMNS]]
    lines = [" | ".join([*names, *more]), *(" | ".join([*map(_cell, row[:SHOWN_COLUMNS]), *more]) for row in rows)]
    rest = table.height - SHOWN_ROWS
    lines += [f"... and {rest} rows more"] if rest > 0 else []
    lines += [f"... and {table.width - SHOWN_COLUMNS} columns more"] if more else []
    return "\n".join([*lines, f"({table.height} rows)"])


def readable(text: str, longest: int) -> str:
    """Text of others, to be shown: line ends stay, what no screen shows is spelt out, and what is cut off is said."""
    cut = text[:longest].replace("\r\n", "\n")
    spelt = "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in cut)
    return spelt if len(text) <= longest else f"{spelt}... (cut: {len(text)} characters)"


def _cell(value: object) -> str:
    """A value as Python writes it, its beginning where it is long."""
    is_long = isinstance(value, str | bytes) and len(value) > SHOWN_CELL
    if is_long:
        unit = "bytes" if isinstance(value, bytes) else "characters"
        return f"{value[:SHOWN_CELL]!r}... (cut: {len(value)} {unit})"
    if isinstance(value, int) and abs(value) >= 10**SHOWN_CELL:  # Python refuses to print the longest
        return readable(f"{value:#x}", SHOWN_CELL)
    return readable(repr(value), SHOWN_CELL)


def _columns(mapping: tuple[int, ...] | None, predicted: ResultTable, gold: ResultTable) -> str | None:
    """gold's column <- the predicted one, by name and place."""
    if mapping is None:
        return None
    pairs = [
        f"{name} ({own + 1}) <- {predicted.columns[place]} ({place + 1})"
        for own, (name, place) in enumerate(zip(gold.columns, mapping, strict=False))
    ]
    return ", ".join(pairs)


def _ties(order: GoldOrder) -> str:
    if order.order_keys is None:
        return f"not known: {order.reason or 'the gold has no result'}"
    if not order.order_keys or not order.order_keys[0]:
        return "the gold states no order: all rows are tied"
    groups = tie_groups(order.order_keys).tolist()
    tied = [[place + 1 for place, own in enumerate(groups) if own == group] for group in sorted(set(groups))]
    parts = [f"rows {', '.join(map(str, places))}" for places in tied if len(places) > 1]
    words = [f"tied: {'; '.join(parts)}" if parts else "no rows are tied"]
    for rows, place in ((order.skipped, "start, where OFFSET cuts"), (order.boundary, "end, where LIMIT cuts")):
        if rows is not None:
            words.append(f"{len(rows)} row{'' if len(rows) == 1 else 's'} could stand at the {place}")
    return "; ".join(words + ([order.reason] if order.reason else []))
