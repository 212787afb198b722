"""Test suites: several instances of a database tell apart queries that one instance cannot.

In: a database's golds, pairs of statements on SQLite. Out: for each pair whether the prediction gives gold's result on the
database itself and on every instance, by the test-suite rule (`suite_rule`), but that "value" in a prediction stays what it
is: the official script makes it 1, which breaks every column with it in its name. Instances are made up for the golds
(`synthesize`), each with a seed of its own, and kept in the cache.
"""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from workbench.execute import Executor, Statement
from workbench.paths import cache_path
from workbench.results import content_hash, write_whole
from workbench.schema import Schema
from workbench.suite_rule import is_order_judged, same_result, suite_statement
from workbench.synthesize import make_database

VERSION = 1  # raise when the same input would give other instances
ENGINE = "sqlite"


def make_instances(path: Path, golds: Sequence[str], count: int) -> list[Path]:
    """Files of that many instances of a database."""
    schema, golds = Schema.from_sqlite(path), sorted(set(golds))
    stated = [[t.name, *((c.name, c.type) for c in t.columns), *t.primary_key] for t in schema.tables]
    folder = cache_path("instances") / content_hash(VERSION, stated, golds)
    files = [folder / f"{seed}.sqlite" for seed in range(1, count + 1)]
    for seed, file in enumerate(files, start=1):
        if not file.is_file():
            write_whole(file, make_database(schema, golds, seed)[0])
    return files


def suite_verdicts(
    executor: Executor, db_id: str, paths: Sequence[Path], pairs: Mapping[Hashable, tuple[str, str]]
) -> dict[Hashable, bool]:
    """The rule's verdict by key, of pairs of prediction and gold; none for a gold that runs nowhere.

    An instance on which gold itself fails says nothing. A prediction that fails where gold runs is wrong.
    """
    golds = {gold for _, gold in pairs.values()}
    wanted = [
        Statement(ENGINE, db_id, path, suite_statement(gold), tag=(gold, path)) for gold in golds for path in paths
    ]
    expected = {
        statement.tag: execution.table for statement, execution in executor.run_many(wanted) if execution.status == "ok"
    }
    asked = (
        Statement(ENGINE, db_id, path, suite_statement(sql), tag=(key, path))
        for key, (sql, gold) in pairs.items()
        for path in paths
        if (gold, path) in expected
    )
    found: dict[Hashable, bool] = {}
    for statement, execution in executor.run_many(asked):
        key, path = statement.tag
        gold = pairs[key][1]
        is_right = execution.status == "ok" and same_result(
            execution.table.rows(), expected[gold, path].rows(), is_order_judged(gold)
        )
        found[key] = found.get(key, True) and is_right
    return found
