"""Spider's rules on pairs worked out by hand: ten components, tables, hardness, the old execution, rates of components."""

import json

import pytest
from spider_shop import NAMES

from workbench.benchmarks import read_benchmark
from workbench.errors import ParseError
from workbench.schema import Schema
from workbench.spider_match import (
    COMPONENTS,
    components,
    exact_set_match,
    hardness,
    partial_matching,
    read_pair,
    spider_ex,
)
from workbench.spider_sql import parse_spider, spider_names

JOINED = "FROM singer AS T1 JOIN concert AS T2 ON T1.id = T2.singer_id"

PAIRS = [  # id, prediction, gold, the components that fail (by "tables" where all ten hold but FROM differs)
    ("the same", "SELECT name FROM singer", "SELECT name FROM singer", ""),
    ("case and blanks", "select  NAME from SINGER ;", "SELECT name FROM singer", ""),
    ("items in another order", "SELECT age, name FROM singer", "SELECT name, age FROM singer", ""),
    ("an item too many", "SELECT name, age FROM singer", "SELECT name FROM singer", "select, select(no AGG)"),
    ("another aggregate", "SELECT max(age) FROM singer", "SELECT min(age) FROM singer", "select"),
    ("an item twice is a bag", "SELECT age, age FROM singer", "SELECT age, id FROM singer", "select, select(no AGG)"),
    ("DISTINCT does not count", "SELECT DISTINCT name FROM singer", "SELECT name FROM singer", ""),
    ("nor within an aggregate", "SELECT count(DISTINCT id) FROM singer", "SELECT count(id) FROM singer", ""),
    (
        "values do not count",
        "SELECT name FROM singer WHERE age > 5",
        "SELECT name FROM singer WHERE age > 99",
        "",
    ),
    ("nor their kinds", "SELECT name FROM singer WHERE age = 'x'", "SELECT name FROM singer WHERE age = id", ""),
    (
        "another operator",
        "SELECT name FROM singer WHERE age > 5",
        "SELECT name FROM singer WHERE age < 5",
        "where",
    ),
    (
        "IN for =",
        "SELECT name FROM singer WHERE id IN (SELECT id FROM singer)",
        "SELECT name FROM singer WHERE id = (SELECT id FROM singer)",
        "where, keywords",
    ),
    (
        "NOT LIKE for LIKE",
        "SELECT name FROM singer WHERE name NOT LIKE 'a'",
        "SELECT name FROM singer WHERE name LIKE 'a'",
        "where, keywords",
    ),
    (
        "conditions in another order",
        "SELECT name FROM singer WHERE id = 1 AND age = 2",
        "SELECT name FROM singer WHERE age = 2 AND id = 1",
        "",
    ),
    (
        "OR for AND",
        "SELECT name FROM singer WHERE id = 1 OR age = 2",
        "SELECT name FROM singer WHERE id = 1 AND age = 2",
        "and/or, keywords",
    ),
    (
        "how AND and OR nest does not count",
        "SELECT name FROM singer WHERE id = 1 OR age = 2 AND name = 'x'",
        "SELECT name FROM singer WHERE id = 1 AND age = 2 OR name = 'x'",
        "",
    ),
    (
        "one AND more",
        "SELECT name FROM singer WHERE id = 1 AND age = 2",
        "SELECT name FROM singer WHERE id = 1",
        "where, where(no OP), and/or",
    ),
    ("no WHERE", "SELECT name FROM singer", "SELECT name FROM singer WHERE id = 1", "where, where(no OP), keywords"),
    (
        "a nested query's values do not count",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert WHERE year = 1)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert WHERE year = 2)",
        "",
    ),
    (
        "its DISTINCT does",
        "SELECT name FROM singer WHERE id IN (SELECT DISTINCT singer_id FROM concert)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
        "where",
    ),
    (
        "its LIMIT's number does",
        "SELECT name FROM singer WHERE id = (SELECT id FROM singer ORDER BY age LIMIT 1)",
        "SELECT name FROM singer WHERE id = (SELECT id FROM singer ORDER BY age LIMIT 2)",
        "where",
    ),
    (
        "its order of items does",
        "SELECT name FROM singer WHERE id IN (SELECT id FROM singer GROUP BY age, id)",
        "SELECT name FROM singer WHERE id IN (SELECT id FROM singer GROUP BY id, age)",
        "where",
    ),
    (
        "its equal keys are two columns",
        "SELECT name FROM singer WHERE id IN (SELECT T2.singer_id FROM concert AS T2 JOIN visit AS T3)",
        "SELECT name FROM singer WHERE id IN (SELECT T3.singer_id FROM concert AS T2 JOIN visit AS T3)",
        "where",
    ),
    (
        "a missing ON does not count",
        "SELECT T1.name FROM singer AS T1 JOIN concert AS T2",
        f"SELECT T1.name {JOINED}",
        "",
    ),
    ("a key of the same group", f"SELECT T2.singer_id {JOINED}", f"SELECT T1.id {JOINED}", ""),
    (
        "a key is made equal where its table is in FROM, whoever owns the first",
        "SELECT singer_id FROM concert",
        "SELECT id FROM singer",
        "tables",
    ),
    ("another table", "SELECT count(*) FROM singer", "SELECT count(*) FROM concert", "tables"),
    (
        "tables in another order",
        "SELECT count(*) FROM concert JOIN singer",
        "SELECT count(*) FROM singer JOIN concert",
        "",
    ),
    ("a table more", "SELECT singer.name FROM singer JOIN concert", "SELECT name FROM singer", "tables"),
    (
        "a query in FROM keeps its values",
        "SELECT count(*) FROM (SELECT id FROM singer WHERE age > 1)",
        "SELECT count(*) FROM (SELECT id FROM singer WHERE age > 2)",
        "tables",
    ),
    (
        "group columns in another order",
        "SELECT count(*) FROM singer GROUP BY age, country",
        "SELECT count(*) FROM singer GROUP BY country, age",
        "group",
    ),
    (
        "another group column",
        "SELECT count(*) FROM singer GROUP BY age",
        "SELECT count(*) FROM singer GROUP BY country",
        "group(no Having), group",
    ),
    (
        "a group column of the same name elsewhere: its table is cut off, but not in the whole clause",
        "SELECT count(*) FROM concert JOIN visit GROUP BY visit.title",
        "SELECT count(*) FROM concert JOIN visit GROUP BY concert.title",
        "group",
    ),
    (
        "no GROUP BY",
        "SELECT count(*) FROM singer",
        "SELECT count(*) FROM singer GROUP BY age",
        "group(no Having), group, keywords",
    ),
    (
        "HAVING's value does not count",
        "SELECT age FROM singer GROUP BY age HAVING count(*) > 1",
        "SELECT age FROM singer GROUP BY age HAVING count(*) > 2",
        "",
    ),
    (
        "HAVING's column does",
        "SELECT age FROM singer GROUP BY age HAVING count(id) > 1",
        "SELECT age FROM singer GROUP BY age HAVING count(*) > 1",
        "group",
    ),
    (
        "no HAVING",
        "SELECT age FROM singer GROUP BY age",
        "SELECT age FROM singer GROUP BY age HAVING count(*) > 1",
        "group, keywords",
    ),
    (
        "LIMIT's number does not count",
        "SELECT id FROM singer ORDER BY age LIMIT 3",
        "SELECT id FROM singer ORDER BY age LIMIT 7",
        "",
    ),
    (
        "no LIMIT",
        "SELECT id FROM singer ORDER BY age",
        "SELECT id FROM singer ORDER BY age LIMIT 1",
        "order, keywords",
    ),
    ("LIMIT without order", "SELECT id FROM singer LIMIT 1", "SELECT id FROM singer", "keywords"),
    (
        "another direction",
        "SELECT id FROM singer ORDER BY age DESC",
        "SELECT id FROM singer ORDER BY age ASC",
        "order, keywords",
    ),
    ("ASC is what is not said", "SELECT id FROM singer ORDER BY age", "SELECT id FROM singer ORDER BY age ASC", ""),
    (
        "the last direction stands for all",
        "SELECT id FROM singer ORDER BY age DESC, name DESC",
        "SELECT id FROM singer ORDER BY age ASC, name DESC",
        "",
    ),
    (
        "order keys in another order",
        "SELECT id FROM singer ORDER BY name, age",
        "SELECT id FROM singer ORDER BY age, name",
        "order",
    ),
    (
        "UNION's second query",
        "SELECT id FROM singer UNION SELECT cid FROM concert",
        "SELECT id FROM singer UNION SELECT year FROM concert",
        "IUEN",
    ),
    (
        "INTERSECT for EXCEPT",
        "SELECT id FROM singer INTERSECT SELECT cid FROM concert",
        "SELECT id FROM singer EXCEPT SELECT cid FROM concert",
        "IUEN, keywords",
    ),
    (
        "DISTINCT and values of a second query do not count",
        "SELECT id FROM singer EXCEPT SELECT DISTINCT cid FROM concert WHERE year = 1",
        "SELECT id FROM singer EXCEPT SELECT cid FROM concert WHERE year = 2",
        "",
    ),
    (
        "in a second query keys are made equal by the first one's tables alone",
        "SELECT id FROM singer UNION SELECT T1.singer_id FROM concert AS T1 JOIN visit AS T2",
        "SELECT id FROM singer UNION SELECT T2.singer_id FROM concert AS T1 JOIN visit AS T2",
        "IUEN",
    ),
    (
        "a prediction that cannot be read is empty",
        "SELECT name FROM singer LEFT JOIN concert",
        "SELECT name FROM singer",
        "select, select(no AGG)",
    ),
    (
        "no prediction",
        None,
        "SELECT name FROM singer WHERE id = 1 ORDER BY age",
        "select, select(no AGG), where, where(no OP), order, keywords",
    ),
]


@pytest.mark.parametrize(("predicted", "gold", "failing"), [p[1:] for p in PAIRS], ids=[p[0] for p in PAIRS])
def test_exact_set_match(predicted, gold, failing):
    pair = read_pair(predicted, gold, NAMES)
    found = [name for name, component in components(pair.predicted, pair.gold).items() if not component.is_match]
    assert found == [name for name in failing.split(", ") if name in COMPONENTS]
    assert exact_set_match(pair.predicted, pair.gold) is (failing == "")


def test_a_gold_that_cannot_be_read_raises():
    with pytest.raises(ParseError, match="Spider's grammar"):
        read_pair("SELECT name FROM singer", "SELECT name FROM singer s", NAMES)


HARDNESS = [  # c1: clauses, further tables, ORs, LIKEs; c2: nested queries; others: more than one of four kinds
    ("nothing", "SELECT name FROM singer", "easy"),
    ("one clause", "SELECT count(*) FROM singer WHERE age > 1", "easy"),  # c1 1
    ("two items", "SELECT name, age FROM singer", "medium"),  # others 1
    ("two aggregates are two items too", "SELECT max(age), min(age) FROM singer", "medium"),  # others 2, c1 0
    ("two clauses", "SELECT name FROM singer WHERE age > 1 ORDER BY age", "medium"),  # c1 2
    ("a LIKE counts beside its WHERE", "SELECT name FROM singer WHERE name LIKE 'a'", "medium"),  # c1 2
    ("an OR too", "SELECT name FROM singer WHERE id = 1 OR id = 2", "medium"),  # c1 2, others 1
    ("a join", f"SELECT T1.name {JOINED} WHERE T2.year = 1", "medium"),  # c1 2
    (
        "two clauses, two kinds",
        f"SELECT T1.name, T1.age {JOINED} WHERE T2.year = 1 AND T1.age = 2",
        "extra",
    ),  # c1 2, others 2
    ("three clauses", f"SELECT T1.name {JOINED} WHERE T2.year = 1 ORDER BY T1.age", "hard"),  # c1 3
    ("LIMIT is one", "SELECT name FROM singer WHERE id = 1 ORDER BY age LIMIT 1", "hard"),  # c1 3
    ("four", f"SELECT T1.name {JOINED} WHERE T2.year = 1 ORDER BY T1.age LIMIT 1", "extra"),  # c1 4
    (
        "three kinds, two clauses",  # c1 2; others: aggregates, items, conditions
        "SELECT max(age), min(age) FROM singer WHERE id = 1 AND age = 2 GROUP BY country",
        "hard",
    ),
    ("a nested query", "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM visit)", "hard"),  # c1 1, c2 1
    ("a set operation", "SELECT id FROM singer UNION SELECT cid FROM concert", "hard"),  # c2 1
    ("both", "SELECT id FROM singer WHERE id = (SELECT max(id) FROM singer) UNION SELECT cid FROM concert", "extra"),
    ("a nested query and two items", "SELECT id, name FROM singer WHERE id IN (SELECT singer_id FROM visit)", "extra"),
    (
        "a set operation's own clauses do not count",
        "SELECT id FROM singer EXCEPT SELECT id FROM singer WHERE id = 1 OR id = 2",
        "hard",
    ),
    (
        "a query in FROM is no nested one",
        "SELECT count(*) FROM (SELECT id FROM singer WHERE id = 1 OR id = 2 ORDER BY id LIMIT 1)",
        "easy",
    ),
    (
        "NOT counts as an aggregate",  # c1 1; others: aggregates (count, NOT), conditions = 2
        "SELECT count(*) FROM singer WHERE id NOT IN (1) AND age = 2",
        "medium",
    ),
    (
        "so does HAVING's connector, not its aggregates",  # c1 1; aggregates: `and`, count = 2; items 2
        "SELECT age, count(*) FROM singer GROUP BY age HAVING max(id) > 1 AND min(id) > 1",
        "medium",
    ),
    (
        "one aggregate less",  # the same without the connector: others 1
        "SELECT age, count(*) FROM singer GROUP BY age HAVING max(id) > 1",
        "medium",
    ),
    (
        "aggregates of order keys count",  # c1 2 (group, order), others 1 (count, max): still medium
        "SELECT count(*) FROM singer GROUP BY age ORDER BY max(id)",
        "medium",
    ),
    (
        "and tip it over",  # c1 2; others: aggregates, items = 2
        "SELECT age, count(*) FROM singer GROUP BY age ORDER BY max(id)",
        "extra",
    ),
]


@pytest.mark.parametrize(("gold", "level"), [case[1:] for case in HARDNESS], ids=[case[0] for case in HARDNESS])
def test_hardness(gold, level):
    assert hardness(parse_spider(gold, NAMES)) == level


EXECUTIONS = [  # id, prediction, its rows, gold, its rows, verdict
    ("the same", "SELECT name FROM singer", [("a",), ("b",)], "SELECT name FROM singer", [("a",), ("b",)], True),
    (
        "row order counts",
        "SELECT name FROM singer",
        [("b",), ("a",)],
        "SELECT name FROM singer",
        [("a",), ("b",)],
        False,
    ),
    ("how often counts", "SELECT name FROM singer", [("a",), ("a",)], "SELECT name FROM singer", [("a",)], False),
    (
        "columns by what they are",
        "SELECT age, name FROM singer",
        [(1, "a")],
        "SELECT name, age FROM singer",
        [("a", 1)],
        True,
    ),
    ("other columns with the same values", "SELECT age FROM singer", [(1,)], "SELECT id FROM singer", [(1,)], False),
    (
        "keys of one group are one column",
        f"SELECT T2.singer_id {JOINED}",
        [(1,)],
        f"SELECT T1.id {JOINED}",
        [(1,)],
        True,
    ),
    ("1 is 1.0", "SELECT age FROM singer", [(1.0,)], "SELECT age FROM singer", [(1,)], True),
    ("an aggregate does not tell apart", "SELECT max(age) FROM singer", [(3,)], "SELECT age FROM singer", [(3,)], True),
    (
        "the last namesake counts",
        "SELECT max(age), min(age) FROM singer",
        [(9, 1)],
        "SELECT avg(age), min(age) FROM singer",
        [(5, 1)],
        True,
    ),
    ("of * only the first column", "SELECT * FROM singer", [(1, "x")], "SELECT * FROM singer", [(1, "y")], True),
    ("a prediction that cannot be read", "SELECT s.age FROM singer s", [(1,)], "SELECT age FROM singer", [(1,)], False),
    ("one that failed", "SELECT age FROM singer", None, "SELECT age FROM singer", [], False),
    ("both empty", "SELECT age FROM singer", [], "SELECT age FROM singer", [], True),
    (
        "arithmetic is its own column",
        "SELECT age - id FROM singer",
        [(1,)],
        "SELECT age + id FROM singer",
        [(1,)],
        False,
    ),
]


@pytest.mark.parametrize(
    ("predicted", "rows", "gold", "gold_rows", "equal"), [e[1:] for e in EXECUTIONS], ids=[e[0] for e in EXECUTIONS]
)
def test_old_execution(predicted, rows, gold, gold_rows, equal):
    pair = read_pair(predicted, gold, NAMES)
    assert spider_ex(rows, gold_rows, pair.predicted, pair.gold) is equal


def test_partial_matching():
    pairs = [
        ("SELECT name FROM singer WHERE age > 1", "SELECT name FROM singer WHERE age > 2"),  # where right on both sides
        ("SELECT name FROM singer WHERE age > 1", "SELECT name FROM singer"),  # a where too much
        ("SELECT name FROM singer", "SELECT name FROM singer WHERE age > 1"),  # one too few
        ("SELECT name FROM singer WHERE id > 1", "SELECT name FROM singer WHERE age > 1"),  # another
    ]
    read = [read_pair(predicted, gold, NAMES) for predicted, gold in pairs]
    table = partial_matching([components(pair.predicted, pair.gold) for pair in read])
    assert table["select"] == (1.0, 1.0, 1.0)
    assert table["where"] == (1 / 3, 1 / 3, pytest.approx(1 / 3))
    assert table["order"] == (0.0, 0.0, 1.0)  # what nobody has prints as 1
    assert table["and/or"] == (1.0, 1.0, 1.0)  # equal sets count, empty ones too


def test_gold_against_itself_is_right(shared):
    folder = shared / "data" / "spider"
    entries = {entry["db_id"]: entry for entry in json.loads((folder / "tables.json").read_text())}
    benchmark = read_benchmark(folder)
    names = {db_id: spider_names(benchmark.schema(db_id), entry) for db_id, entry in entries.items()}
    golds = benchmark.questions.select("db_id", "gold_sql").rows()
    pairs = [read_pair(sql, sql, names[db_id]) for db_id, sql in golds]
    assert sum(exact_set_match(pair.predicted, pair.gold) for pair in pairs) == len(golds) == 564


def test_real_predictions_on_the_spider_slice(shared):
    """Measured with this implementation; a change of any of these is a change of the rule."""
    folder = shared / "data" / "spider"
    names = {
        entry["db_id"]: spider_names(Schema.from_tables_json(entry), entry)
        for entry in json.loads((folder / "tables.json").read_text())
    }
    questions = json.loads((folder / "dev.json").read_text())
    matched = {}
    for file in sorted((shared / "data" / "predictions" / "spider").glob("*.txt")):
        lines = [line.partition("\t")[0] for line in file.read_text().splitlines()]
        pairs = [
            read_pair(line, question["query"], names[question["db_id"]])
            for line, question in zip(lines, questions, strict=True)
        ]
        matched[file.stem] = sum(exact_set_match(pair.predicted, pair.gold) for pair in pairs)
    assert matched == {"CodeS-1b": 378, "CodeS-3b": 430, "CodeS-7b": 439, "CodeS-15b": 436, "DAIL-SQL+GPT-4": 381}
