"""The drawn plan: its SQL is the compiler's to the letter, every operator is there, and words keep clear of each other."""

import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from figure_checks import all_words, assert_words_are_clear
from plan_probes import FIXTURE, QUERIES

from workbench.cli import main
from workbench.dialects import NAMES
from workbench.draw_plan import json_parts, plan_figure, sql_parts
from workbench.errors import UnsupportedError
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Column, Schema, Table
from workbench.sql_to_plan import sql_to_plan

SCHEMA = Schema(
    (
        Table("item", (Column("id", "INTEGER"), Column("name", "TEXT"), Column("sold_on", "TEXT"))),
        Table("sale", (Column("item_id", "INTEGER"), Column("price", "REAL"))),
    ),
)
SQL = {
    "one table": "SELECT name FROM item",
    "all clauses": "SELECT STRFTIME('%Y', i.sold_on), COUNT(*) FROM sale AS s JOIN item AS i ON i.id = s.item_id WHERE s.price > 1 "
    "GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY 2 DESC LIMIT 3",
    "left join and distinct": "SELECT DISTINCT i.name FROM item AS i LEFT JOIN sale AS s ON s.item_id = i.id",
    "queries inside": "WITH x AS (SELECT item_id FROM sale) SELECT name FROM item WHERE id IN (SELECT item_id FROM x) "
    "UNION SELECT name FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item_id = item.id)",
    "window": "SELECT name, RANK() OVER (PARTITION BY name ORDER BY id) FROM item",
    "words in texts": "SELECT 'FROM a WHERE b', name FROM item WHERE name = ' ORDER BY (SELECT '",
    "long": "SELECT name FROM item WHERE " + " OR ".join(f"name = 'a rather long name, number {i}'" for i in range(40)),
    "hostile": "SELECT name FROM item WHERE name = '$\\frac{x$ " + "漢" * 20 + "'",
}


@pytest.fixture(scope="module")
def probes(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "probes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE)
    return Schema.from_sqlite(path)


def without_blanks(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("name", SQL)
def test_the_figure_is_whole(name):
    plan = sql_to_plan(SQL[name], SCHEMA)
    figure = plan_figure(plan)
    assert_words_are_clear(figure)
    views = figure.numbers.partition_by("view", as_dict=True)
    assert without_blanks("[" + ",".join(views["json",]["text"]) + "]") == without_blanks(plan.to_json())
    operators = [line for line in plan.to_text().splitlines() if not line.strip().endswith(":")]
    assert views["tree",].height == len(operators)
    for dialect in ("sqlite", "postgres", "mysql", "clickhouse"):
        assert without_blanks("".join(views[dialect,]["text"])) == without_blanks(plan_to_sql(plan, dialect))


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES.keys())
def test_clauses_are_the_statement(probes, sql):
    plan = sql_to_plan(sql, probes)
    assert without_blanks("".join(part.text for part in json_parts(plan)))
    for dialect in NAMES:
        try:
            text = plan_to_sql(plan, dialect)
        except UnsupportedError:
            continue
        assert without_blanks("".join(part.text for part in sql_parts(text, dialect))) == without_blanks(text)


CLAUSES = [
    ("SELECT a FROM t", ["project", "scan"]),
    ("SELECT DISTINCT a FROM t", ["project set", "scan"]),
    ("SELECT SUM(a) FROM t LEFT JOIN u ON a = b WHERE c GROUP BY d HAVING e ORDER BY f LIMIT 1",
     ["project aggregate", "scan", "join scan", "filter", "aggregate", "filter", "sort", "sort"]),
    ("SELECT a FROM t UNION ALL SELECT b FROM u", ["project", "scan", "set", "project", "scan"]),
    ("SELECT RANK() OVER (ORDER BY a) FROM t", ["project window", "scan"]),
    ("SELECT a FROM (SELECT b FROM u) AS t WHERE c", ["project", "scan", "project", "scan", "filter"]),
    ("SELECT LEFT(a, 1), 'x JOIN y' FROM t", ["project", "scan"]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "kinds"), CLAUSES, ids=[sql[:40] for sql, _ in CLAUSES])
def test_kinds_of_clauses(sql, kinds):
    assert [" ".join(part.kinds) for part in sql_parts(sql, "postgres")] == kinds


def test_a_dialect_that_refuses_says_why():
    plan = sql_to_plan("SELECT name FROM item WHERE name GLOB 'a*[b'", SCHEMA)
    figure = plan_figure(plan, dialects=("sqlite", "bigquery"))
    assert_words_are_clear(figure)
    assert ("refused: " in all_words(figure)) == any(part.startswith("refused") for part in figure.numbers["text"])


def test_the_command_writes_three_files(tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.execute("CREATE TABLE item (id INTEGER, name TEXT)")
    words = [
        "plan",
        "show",
        SQL["one table"],
        "--schema",
        str(tmp_path / "shop.sqlite"),
        "--draw",
        str(tmp_path / "out.pdf"),
    ]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.glob("out.*")) == ["out.csv", "out.pdf", "out.png"]
