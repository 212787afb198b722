"""Sums of floats taken in different row orders, on real engines: last digits differ, verdicts do not."""

import random
import sqlite3

import pytest

import workbench as wb
from workbench.execute import Executor, Statement
from workbench.metrics import bird_ex

REPEATS = 50
GOLD = "SELECT shop, sum(paid) AS total, avg(paid) FROM sale GROUP BY shop ORDER BY total DESC"


def shuffled(number: int) -> str:
    """The gold, adding up its rows in another order each time."""
    order = f"(place * {2 * number + 7919}) % 10007"
    return GOLD.replace("FROM sale", f"FROM (SELECT * FROM sale ORDER BY {order}) AS one")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("sums") / "sums.sqlite"
    chance = random.Random(0)
    rows = [(place, place % 7, round(chance.lognormvariate(3, 2), 2) + 0.1) for place in range(5000)]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sale (place INTEGER, shop INTEGER, paid REAL)")
        connection.executemany("INSERT INTO sale VALUES (?, ?, ?)", rows)
    connection.close()
    return path


@pytest.mark.parametrize("engine", ["postgres", "clickhouse"])
def test_verdicts_do_not_depend_on_the_order_of_addition(engine, database):
    with Executor(["sqlite", engine]) as executor:
        if engine in executor.unavailable:
            pytest.skip(executor.unavailable[engine])
        queries = [("sqlite", GOLD), *((engine, shuffled(number)) for number in range(REPEATS))]
        statements = [Statement(name, "sums", database, sql, tag=sql) for name, sql in queries]
        results = {statement.tag: execution for statement, execution in executor.run_many(statements)}
    gold = results[GOLD].table
    predictions = [results[shuffled(number)].table for number in range(REPEATS)]
    assert len({str(sorted(table.rows())) for table in predictions}) > 1, "the order of addition changes nothing here"
    assert not all(bird_ex(table.rows(), gold.rows()) for table in predictions)
    totals = [(row[1],) for row in gold.rows()]
    changed = [(*row[:1], row[1] * (1 + 1e-8), *row[2:]) for row in gold.rows()]
    for is_ordered, is_fixed in ((False, False), (True, True), (True, False)):
        keys = totals if is_ordered else None
        verdicts = {
            wb.compare(table, gold, is_ordered, is_fixed, keys, tolerate_duplicates=False) for table in predictions
        }
        assert len(verdicts) == 1 and all(each.equal and each.strict and each.paper for each in verdicts), verdicts
        assert not wb.compare(changed, gold, is_ordered, is_fixed, keys).equal
