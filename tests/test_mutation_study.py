"""DF-Match on every verified mutation: no wrong edit passes, hardly a rewrite that keeps the meaning is rejected.

What is wrong and what keeps the meaning was decided by `mutation_judge`, which shares nothing with the comparator.
"""

import sqlite3
from collections import Counter

import polars as pl

from workbench.backends.base import Execution
from workbench.benchmarks import Benchmark, read_benchmark
from workbench.gold_order import gold_order, order_queries
from workbench.judge import PairResults, df_match
from workbench.mutation_judge import class_of
from workbench.mutation_names import read_query
from workbench.result_table import ResultTable
from workbench.schema import open_read_only
from workbench.verified_mutations import MAX_SHARE, verified

MAX_REJECTED = 0.005  # of the rewrites


def judged(benchmark: Benchmark, frame: pl.DataFrame) -> list[tuple[str, bool, str, str, str]]:
    """(kind, DF-Match's verdict, reason, gold, mutation) of each mutation of one database."""
    db_id = frame["db_id"][0]
    schema = benchmark.schema(db_id)
    columns = schema.collations
    connection = open_read_only(benchmark.database_path(db_id))

    def run(sql: str) -> Execution:
        cursor = connection.execute(sql)
        names = [column[0] for column in cursor.description]
        return Execution("ok", table=ResultTable.from_rows(names, cursor.fetchall()))

    def asked(sql: str) -> ResultTable | str:
        try:
            return run(sql).table
        except sqlite3.Error as error:
            return str(error)

    found, golds = [], {}
    keys = ["gold_sql", "is_ordered", "is_row_count_fixed"]
    for gold, is_ordered, is_fixed, kind, sql in frame.select(*keys, "kind", "sql").rows():
        if gold not in golds:
            result = run(gold)
            order = gold_order(order_queries(gold, columns), result.table, asked)
            golds[gold] = result, order, class_of(read_query(gold, schema))
        result, order, own = golds[gold]
        pair = PairResults(
            "sqlite", "sqlite", sql, gold, run(sql), result, result, True,
            own[0] if is_ordered is None else is_ordered, own[1] if is_fixed is None else is_fixed, order,
        )  # fmt: skip
        verdict, reason = df_match(pair)
        found.append((kind, verdict.equal, reason, gold, sql))
    connection.close()
    return found


def test_no_wrong_edit_passes_and_hardly_a_rewrite_is_rejected(shared):
    edits, rewrites = [], []
    for path in ("bundled", shared / "data/spider"):
        benchmark = read_benchmark(path)
        for frame in verified(benchmark):
            edits += judged(benchmark, frame.filter(is_edit=True))
            rewrites += judged(benchmark, frame.filter(is_edit=False))
    accepted = [case for case in edits if case[1]]
    rejected = [case for case in rewrites if not case[1]]
    for case in accepted + rejected:
        print(*case, sep=" | ")
    print(f"{len(edits)} wrong edits, {len(accepted)} accepted; {len(rewrites)} rewrites, {len(rejected)} rejected")
    assert len(edits) >= 5000 and accepted == []
    assert len(rewrites) >= 3000 and len(rejected) <= MAX_REJECTED * len(rewrites)
    for cases, kinds in ((edits, 15), (rewrites, 10)):
        counts = Counter(case[0] for case in cases)
        assert len(counts) >= kinds and max(counts.values()) <= MAX_SHARE * len(cases)
