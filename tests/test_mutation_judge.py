"""The judge of mutations: what is gold's answer for sure, what is wrong for sure, and what is neither."""

import sqlite3

import pytest

from workbench.mutation_judge import gold_answer, is_same, is_wrong, run, shape_of
from workbench.mutation_names import read_query
from workbench.schema import Column, Schema, Table

SCHEMA = Schema(
    (
        Table(
            "t",
            (Column("id", "INTEGER", False), Column("a", "INTEGER"), Column("b", "TEXT"), Column("r", "REAL")),
            ("id",),
        ),
    )
)
ROWS = [(1, 10, "x", 0.1), (2, 20, "y", 0.2), (3, 20, "z", 0.3), (4, 30, "x", None), (5, 30, "w", 0.5)]
TOP = "SELECT b FROM t ORDER BY a DESC LIMIT 3"  # of the tied y and z one is cut
# gold, is_ordered, is_row_count_fixed, another query, its verdict: same, wrong, or neither
CASES = {
    "itself": ("SELECT a, b FROM t", False, False, "SELECT a, b FROM t", "same"),
    "rows in another order": ("SELECT a FROM t", False, False, "SELECT a FROM t ORDER BY a DESC", "same"),
    "columns in another order": ("SELECT a, b FROM t", False, False, "SELECT b, a FROM t", "same"),
    "a column more": ("SELECT a FROM t", False, False, "SELECT b, a FROM t", "same"),
    "a column less": ("SELECT a, b FROM t", False, False, "SELECT a FROM t", "wrong"),
    "a row less": ("SELECT a FROM t", False, False, "SELECT a FROM t WHERE id > 1", "wrong"),
    "a row more": ("SELECT a FROM t WHERE id > 1", False, False, "SELECT a FROM t", "wrong"),
    "values of right columns wrongly paired": ("SELECT id, 6 - id FROM t", False, False, "SELECT id, id FROM t", "wrong"),
    "repeated rows lost by DISTINCT": ("SELECT a FROM t", False, False, "SELECT DISTINCT a FROM t", "neither"),
    "repeated rows made without it": ("SELECT id FROM t", False, False, "SELECT t.id FROM t, t AS u", "wrong"),
    "repeated rows made by grouping": ("SELECT a FROM t GROUP BY a", False, False, "SELECT a FROM t", "neither"),
    "nothing for nothing": ("SELECT a FROM t WHERE id > 9", False, False, "SELECT b FROM t WHERE id > 8", "same"),
    "something for nothing": ("SELECT a FROM t WHERE id > 9", False, False, "SELECT a FROM t", "wrong"),
    "nothing for something": ("SELECT a FROM t", False, False, "SELECT a FROM t WHERE id > 9", "wrong"),
    "NULL for a number": ("SELECT COALESCE(r, 0) FROM t", False, False, "SELECT r FROM t", "wrong"),
    "a number within the tolerance": ("SELECT 0.3", False, False, "SELECT 0.1 + 0.2", "same"),
    "a number nearly within it": ("SELECT 0.3", False, False, "SELECT 0.30000000001", "neither"),
    "a text for its number": ("SELECT 7", False, False, "SELECT '7'", "neither"),
    "an ordered answer turned": ("SELECT id FROM t ORDER BY id", True, True, "SELECT id FROM t ORDER BY id DESC", "wrong"),
    "the same where order is free": (
        "SELECT id FROM t ORDER BY id", False, False, "SELECT id FROM t ORDER BY id DESC", "same"),
    "ties in another order": ("SELECT b FROM t ORDER BY a", True, True, "SELECT b FROM t ORDER BY a, b DESC", "same"),
    "ties across groups": ("SELECT b FROM t ORDER BY a", True, True, "SELECT b FROM t ORDER BY id % 2, a", "wrong"),
    "the other tied row at the cut": (TOP, True, True, "SELECT b FROM t ORDER BY a DESC, b DESC LIMIT 3", "same"),
    "a row that could not stand at the cut": (TOP, True, True, "SELECT b FROM t WHERE a <> 20 ORDER BY a DESC LIMIT 3", "wrong"),
    "both tied rows where the count is fixed": (TOP, True, True, "SELECT b FROM t ORDER BY a DESC LIMIT 4", "wrong"),
    "both tied rows where it is not": (TOP, True, False, "SELECT b FROM t ORDER BY a DESC LIMIT 4", "neither"),
    "no LIMIT where the count is not fixed": (TOP, True, False, "SELECT b FROM t ORDER BY a DESC", "neither"),
    "no LIMIT where it is": (TOP, True, True, "SELECT b FROM t ORDER BY a DESC", "wrong"),
    "the other tied row where order is free": (
        TOP, False, False, "SELECT b FROM t ORDER BY a DESC, b DESC LIMIT 3", "same"),
    "two rows fewer": (TOP, True, False, "SELECT b FROM t ORDER BY a DESC LIMIT 1", "wrong"),
    "skipped rows": ("SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 1", True, True, "SELECT id FROM t WHERE id IN (2, 3)", "same"),
    "rows not skipped": ("SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 1", True, True, "SELECT id FROM t LIMIT 2", "wrong"),
    "a failing statement": ("SELECT a FROM t", False, False, "SELECT nothing FROM t", "neither"),
    "far too many rows": ("SELECT a FROM t", False, False, "SELECT 1 FROM t, t, t, t, t, t, t", "neither"),
}  # fmt: skip


@pytest.fixture(scope="module")
def database():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, r REAL)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
    yield connection
    connection.close()


@pytest.mark.parametrize("name", CASES)
def test_verdict(name, database):
    gold, is_ordered, is_fixed, other, expected = CASES[name]
    answer = gold_answer(database, gold, SCHEMA, is_ordered, is_fixed)
    rows = run(database, other)
    verdicts = (is_same(answer, rows), is_wrong(answer, rows, shape_of(read_query(other, SCHEMA))))
    assert verdicts == {"same": (True, False), "wrong": (False, True), "neither": (False, False)}[expected]


CLASSES = {
    "SELECT a FROM t": (False, False),
    "SELECT a FROM t ORDER BY a": (True, False),
    "SELECT a FROM t ORDER BY a LIMIT 1": (True, False),
    "SELECT a FROM t ORDER BY a LIMIT 3": (True, True),
}


@pytest.mark.parametrize("sql", CLASSES)
def test_class_of_a_gold_without_labels(sql, database):
    answer = gold_answer(database, sql, SCHEMA)
    assert (answer.is_ordered, answer.is_row_count_fixed) == CLASSES[sql]


def test_a_gold_that_fails_has_no_answer(database):
    assert gold_answer(database, "SELECT nothing FROM t", SCHEMA) is None
