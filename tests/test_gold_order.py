"""Order keys and rows at a cut, from gold queries run by SQLite on a small database."""

import sqlite3
from contextlib import closing

import pytest

from workbench.compare import compare, tie_groups
from workbench.gold_order import GoldOrder, gold_order, order_queries
from workbench.result_table import ResultTable

DATABASE = """
CREATE TABLE client (id INTEGER, name TEXT, city TEXT, spend REAL, joined TEXT);
INSERT INTO client VALUES
  (1, 'ann', 'Bern', 90, '2020-01-01'), (2, 'bob', 'Bern', 80, '2020-01-01'), (3, 'cy', 'Oslo', 80, NULL),
  (4, 'dan', 'Oslo', 80, '2021-05-05'), (5, 'eve', 'bern', 70, NULL), (6, 'fay', 'Rome', 0.1, '2019-09-09');
CREATE TABLE bill (client INTEGER, sum REAL);
INSERT INTO bill VALUES (1, 10), (1, 20), (2, 15), (2, 15), (3, 5), (4, 0.1), (4, 0.2), (5, 0.3), (6, 0.3);
"""


def result(sql: str) -> ResultTable | str:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(DATABASE)
        try:
            cursor = database.execute(sql)
            return ResultTable.from_rows([column[0] for column in cursor.description], cursor.fetchall())
        except sqlite3.Error as error:
            return str(error)


def order_of(sql: str, columns=("id", "name", "city", "spend", "joined", "client", "sum")) -> GoldOrder:
    gold = result(sql)
    assert isinstance(gold, ResultTable), gold
    return gold_order(order_queries(sql, columns), gold, result)


# id -> gold, sizes of its groups of ties, first columns of the rows at LIMIT's cut, at OFFSET's
N = None
CASES = {
    "a key that is selected": ("SELECT spend FROM client ORDER BY spend DESC", [1, 3, 1, 1], N, N),
    "a key that is not": ("SELECT name FROM client ORDER BY spend DESC LIMIT 3", [1, 2], "bob cy dan", N),
    "a cut between keys": ("SELECT name FROM client ORDER BY spend DESC LIMIT 1", [1], "ann", N),
    "a limit that is not reached": ("SELECT name FROM client ORDER BY spend DESC LIMIT 9", [1, 3, 1, 1], N, N),
    "no limit after all": ("SELECT name FROM client ORDER BY spend LIMIT -1", [1, 1, 3, 1], N, N),
    "offset": ("SELECT name FROM client ORDER BY spend DESC LIMIT 2 OFFSET 2", [2], "bob cy dan", "bob cy dan"),
    "offset before the limit": ("SELECT name FROM client ORDER BY spend DESC LIMIT 2, 3", [2, 1], "eve", "bob cy dan"),
    "offset alone": ("SELECT name FROM client ORDER BY spend DESC LIMIT -1 OFFSET 3", [1, 1, 1], N, "bob cy dan"),
    "an expression": ("SELECT name FROM client ORDER BY length(city) + 0, spend > 75 LIMIT 4", [2, 2], "ann bob cy dan", N),
    "an alias": ("SELECT name, spend * 2 AS twice FROM client ORDER BY twice DESC LIMIT 2", [1, 1], "bob cy dan", N),
    "an alias in an expression": ("SELECT name, spend * 2 AS twice FROM client ORDER BY -twice LIMIT 2", [1, 1], "bob cy dan", N),
    "an alias that hides a column": ("SELECT name, -id AS spend FROM client ORDER BY spend LIMIT 1", [1], "fay", N),
    "a column behind an alias in an expression": ("SELECT name, -id AS spend FROM client ORDER BY spend + 0 DESC LIMIT 2", [1, 1], "bob cy dan", N),
    "a position": ("SELECT name, spend FROM client ORDER BY 2 DESC, 1 LIMIT 2", [1, 1], "bob", N),
    "a position in parentheses": ("SELECT name, spend FROM client ORDER BY (2) DESC LIMIT 2", [1, 1], "bob cy dan", N),
    "all columns": ("SELECT * FROM client ORDER BY spend DESC LIMIT 2", [1, 1], "2 3 4", N),
    "an aggregate": ("SELECT city FROM client GROUP BY city ORDER BY count(*) DESC LIMIT 1", [1], "Bern Oslo", N),
    "an aggregate's alias": ("SELECT city, count(*) AS n FROM client GROUP BY city ORDER BY n DESC LIMIT 2", [2], "Bern Oslo", N),
    "having": ("SELECT city FROM client GROUP BY city HAVING count(*) < 2 ORDER BY count(*) LIMIT 1", [1], "Rome bern", N),
    "a join": ("SELECT name FROM client AS c JOIN bill AS b ON b.client = c.id GROUP BY c.id ORDER BY sum(b.sum) DESC LIMIT 1", [1], "ann bob", N),
    "sums within the tolerance": ("SELECT client FROM bill WHERE client > 3 GROUP BY client ORDER BY sum(sum) LIMIT 1", [1], "4 5 6", N),
    "several keys": ("SELECT name FROM client ORDER BY city DESC, spend LIMIT 3", [1, 1, 1], "cy dan", N),
    "mixed directions": ("SELECT name FROM client ORDER BY spend DESC, joined ASC LIMIT 2", [1, 1], "cy", N),
    "NULLs first": ("SELECT name FROM client ORDER BY joined LIMIT 1", [1], "cy eve", N),
    "NULLs last": ("SELECT name FROM client ORDER BY joined NULLS LAST LIMIT 5", [1, 2, 1, 1], "cy eve", N),
    "NULLs last, descending": ("SELECT name FROM client ORDER BY joined DESC LIMIT 5", [1, 2, 1, 1], "cy eve", N),
    "a collation": ("SELECT name FROM client ORDER BY city COLLATE NOCASE LIMIT 1", [1], "ann bob eve", N),
    "letters count": ("SELECT name FROM client ORDER BY city LIMIT 1", [1], "ann bob", N),
    "distinct": ("SELECT DISTINCT spend FROM client ORDER BY spend DESC LIMIT 2", [1, 1], "80.0", N),
    "distinct by an expression of it": ("SELECT DISTINCT city FROM client ORDER BY length(city) LIMIT 1", [1], "Bern Oslo Rome bern", N),
    "distinct by what it does not give": ("SELECT DISTINCT city FROM client ORDER BY spend DESC LIMIT 2", [1, 1], "Oslo", N),
    "union": ("SELECT city FROM client UNION SELECT name FROM client ORDER BY city LIMIT 2", [1, 1], "Oslo", N),
    "union all by position": ("SELECT spend FROM client UNION ALL SELECT sum FROM bill ORDER BY 1 DESC LIMIT 3", [1, 2], "80.0 80.0 80.0", N),
    "union all by an alias": ("SELECT name AS n, spend AS s FROM client UNION ALL SELECT client, sum FROM bill ORDER BY s DESC LIMIT 2", [1, 1], "bob cy dan", N),
    "intersect": ("SELECT city FROM client INTERSECT SELECT city FROM client WHERE spend > 70 ORDER BY city", [1, 1], N, N),
    "an ordered query inside": ("SELECT name FROM (SELECT name, spend FROM client ORDER BY spend DESC) LIMIT 2", [1, 1], "bob cy dan", N),
    "a limit inside": ("SELECT name FROM (SELECT name, spend FROM client ORDER BY spend DESC LIMIT 2) AS t", [1, 1], "bob cy dan", N),
    "all of a query inside": ("SELECT * FROM (SELECT name FROM client ORDER BY spend DESC) LIMIT 2", [1, 1], "bob cy dan", N),
    "an ordered query in WITH": ("WITH t AS (SELECT name, spend FROM client ORDER BY spend DESC) SELECT name FROM t LIMIT 2", [1, 1], "bob cy dan", N),
    "a filter above": ("SELECT name FROM (SELECT * FROM client ORDER BY spend DESC) WHERE name > 'b' LIMIT 1", [1], "bob cy dan", N),
    "WITH below": ("WITH t AS (SELECT * FROM client) SELECT name FROM t ORDER BY spend DESC LIMIT 2", [1, 1], "bob cy dan", N),
    "a window": ("SELECT name FROM client ORDER BY rank() OVER (ORDER BY spend DESC) LIMIT 2", [1, 1], "bob cy dan", N),
    "CASE": ("SELECT name FROM client ORDER BY CASE WHEN spend > 75 THEN 0 ELSE 1 END LIMIT 3", [3], "ann bob cy dan", N),
    "a type with a length": ("SELECT CAST(spend AS VARCHAR(9)) FROM client ORDER BY CAST(spend AS INTEGER) DESC LIMIT 1", [1], "90.0", N),
    "backquotes": ("SELECT `name` FROM `client` ORDER BY `spend` DESC LIMIT 2;", [1, 1], "bob cy dan", N),
    "a constant": ("SELECT name FROM client ORDER BY 'x' LIMIT 2", [2], "ann bob cy dan eve fay", N),
    "no order": ("SELECT name FROM client", [6], N, N),
    "an order further in": ("SELECT name FROM client WHERE id = (SELECT client FROM bill ORDER BY sum DESC LIMIT 1)", [1], N, N),
    "nothing found": ("SELECT name FROM client WHERE id > 9 ORDER BY spend LIMIT 1", [], N, N),
}  # fmt: skip


@pytest.mark.parametrize(("gold", "sizes", "last", "first"), CASES.values(), ids=CASES)
def test_keys_and_cuts(gold, sizes, last, first):
    order = order_of(gold)
    assert order.reason is None
    groups = tie_groups(order.order_keys).tolist()
    assert [groups.count(group) for group in sorted(set(groups))] == sizes
    for rows, wanted in ((order.boundary, last), (order.skipped, first)):
        assert (rows is None) == (wanted is None)
        assert rows is None or sorted(str(row[0]) for row in rows) == wanted.split(), rows


DECLARED = {
    "a column": ("SELECT name FROM client ORDER BY city LIMIT 1", [1], "ann bob eve"),
    "an alias of one": ("SELECT name, city AS c FROM client ORDER BY c LIMIT 1", [1], "ann bob eve"),
    "behind a table's name": ("SELECT name FROM client AS t ORDER BY t.city LIMIT 1", [1], "ann bob eve"),
    "a part of a union": ("SELECT city FROM client UNION ALL SELECT city FROM client ORDER BY city LIMIT 3", [3], "Bern Bern Bern Bern bern bern"),
    "another column": ("SELECT name FROM client ORDER BY name LIMIT 1", [1], "ann"),
    "an expression of one": ("SELECT name FROM client ORDER BY city || '' LIMIT 1", [1], "ann bob"),
    "a term that names another": ("SELECT name FROM client ORDER BY city COLLATE RTRIM LIMIT 1", [1], "ann bob"),
}  # fmt: skip


@pytest.mark.parametrize(("gold", "sizes", "last"), DECLARED.values(), ids=DECLARED)
def test_a_column_that_is_declared_without_case_ties_without_case(gold, sizes, last, monkeypatch):
    monkeypatch.setattr("test_gold_order.DATABASE", DATABASE.replace("city TEXT", "city TEXT COLLATE NOCASE"))
    order = order_of(gold, {"name": None, "city": "nocase"})
    assert order.reason is None
    groups = tie_groups(order.order_keys).tolist()
    assert [groups.count(group) for group in sorted(set(groups))] == sizes
    assert sorted(str(row[0]) for row in order.boundary) == last.split()


REFUSED = {
    "a limit without an order": ("SELECT name FROM client LIMIT 1", "LIMIT without ORDER BY"),
    "chance": ("SELECT name FROM client ORDER BY random() LIMIT 1", "random"),
    "a limit that is computed": ("SELECT name FROM client ORDER BY spend LIMIT 1 + 1", "LIMIT that is no number"),
    "distinct groups by what they do not give": (
        "SELECT DISTINCT count(*) FROM client GROUP BY city ORDER BY max(spend)", "SELECT DISTINCT does not give",
    ),
    "two limits": (
        "SELECT name FROM (SELECT name FROM client ORDER BY spend LIMIT 3) LIMIT 2", "LIMIT of a query that has one",
    ),
    "a filter over a limit": (
        "SELECT name FROM (SELECT name FROM client ORDER BY spend LIMIT 3) WHERE name > 'b'", "WHERE over a query with a LIMIT",
    ),
    "a position behind *": ("SELECT *, 1 FROM client ORDER BY 2", "position behind"),
    "a union of *": ("SELECT * FROM bill UNION SELECT * FROM bill ORDER BY sum", "set operation of *"),
}  # fmt: skip


@pytest.mark.parametrize(("gold", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_rewritten_says_why(gold, words):
    order = order_of(gold)
    assert order.order_keys is None and order.boundary is None
    assert words in order.reason


def test_a_rewritten_query_that_means_something_else_is_not_believed():
    """Distinct rows are ranked by the largest key of each; where SQLite ranked by another, gold itself shows it."""
    sql = "SELECT DISTINCT city FROM client ORDER BY joined LIMIT 3"
    gold = ResultTable.from_rows(["city"], [("Rome",), ("Bern",), ("Oslo",)])
    assert "gives other rows" in gold_order(order_queries(sql), gold, result).reason


def test_a_query_that_fails_leaves_a_reason():
    queries = order_queries("SELECT name FROM client ORDER BY spend DESC LIMIT 3")
    gold = result("SELECT name FROM client ORDER BY spend DESC LIMIT 3")
    assert gold_order(queries, gold, lambda sql: "timeout").reason == "the query for its sort keys: timeout"
    order = gold_order(queries, gold, lambda sql: result(sql) if sql == queries.keyed else "too_large")
    assert order.boundary is None and order.order_keys == [(90.0,), (80.0,), (80.0,)]
    assert order.reason == "the query for rows tied at its LIMIT: too_large"


def test_the_papers_worked_example():
    """Plans paper, section 4.2: the top three in order, and who spent the most."""
    top = "SELECT name FROM client ORDER BY spend DESC LIMIT 3"
    order = order_of(top)
    arguments = (order.order_keys, order.boundary)
    assert compare([("ann",), ("cy",), ("bob",)], result(top), True, True, *arguments).equal
    assert compare([("ann",), ("dan",), ("bob",)], result(top), True, True, *arguments).equal
    assert not compare([("bob",), ("ann",), ("cy",)], result(top), True, True, *arguments).equal
    most = "SELECT city FROM client GROUP BY city ORDER BY count(*) DESC LIMIT 1"
    order = order_of(most)
    for city, is_right in (("Bern", True), ("Oslo", True), ("Rome", False)):
        assert compare([(city,)], result(most), True, False, order.order_keys, order.boundary).equal is is_right
