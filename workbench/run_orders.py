"""What is known of the order of many golds of one database: the queries that `gold_order` makes of them, run together.

In: gold statements of SQLite with their results. Out: a `GoldOrder` for each statement.
"""

from collections.abc import Mapping
from pathlib import Path

from workbench.execute import Executor, Statement
from workbench.gold_order import Columns, GoldOrder, gold_order, order_queries
from workbench.portability import HOME
from workbench.result_table import ResultTable


def run_orders(
    executor: Executor, db_id: str, path: Path, golds: Mapping[str, ResultTable], columns: Columns
) -> dict[str, GoldOrder]:
    """By statement. columns: `Schema.collations`. A query that two golds share runs once."""
    asked = {sql: order_queries(sql, columns) for sql in golds}
    needed = dict.fromkeys(sql for gold, queries in asked.items() for sql in queries.needed(golds[gold].height))
    statements = [Statement(HOME, db_id, path, sql) for sql in needed]
    results = {statement.sql: execution for statement, execution in executor.run_many(statements)}

    def run(sql: str) -> ResultTable | str:
        found = results.get(sql)
        if found is None:
            return "no answer"
        return found.table if found.status == "ok" else f"{found.status}: {found.message}"

    return {gold: gold_order(queries, golds[gold], run) for gold, queries in asked.items()}
