"""Sorting of stored pairs: which texts are compared, what stays null with a reason, and that texts are read once."""

import pytest

from workbench.error_categories import Categoriser
from workbench.error_columns import COLUMNS, error_columns, is_error
from workbench.schema import Column, Schema, Table

SCHEMA = Schema((Table("bird", (Column("name", "TEXT"), Column("grams", "INTEGER"))),))
GOLD = "SELECT name FROM bird WHERE grams > 10"
BY_GRAMS = "SELECT name FROM bird WHERE grams > 20"
SCORED = {"outcome": "judged", "df_match": False, "df_match_strict": False, "df_match_paper": False, "bird_ex": False, "reason": "differs"}  # fmt: skip


def columns(sql=None, engine="sqlite", dialect="sqlite", status="ok", message=None, reason="", gold=GOLD, categoriser=None, **plan):  # fmt: skip
    """COLUMNS of a pair; of a plan where `plan` gives more columns of its generation."""
    generation = {"target": "sql", "dialect": dialect, "parse_status": "ok", "parse_message": None}
    generation |= {"target": "plan", "dialect": None, **plan} if plan else {}
    executed = {"engine": engine, "sql": sql, "status": status, "message": message, "result_key": None}
    scored = SCORED | {"reason": reason}
    return error_columns(categoriser or Categoriser(SCHEMA), generation, scored, executed, executed | {"sql": gold})


@pytest.mark.parametrize(
    ("pair", "category", "words", "confidence"),
    [
        ({"sql": BY_GRAMS}, "filtering_logic", "grams > 10", "high"),
        ({"sql": BY_GRAMS, "engine": "mysql"}, "filtering_logic", "grams > 10", "high"),
        ({"sql": "SELECT `name` FROM `bird` WHERE `grams` DIV 1 > 20", "engine": "mysql", "dialect": "mysql"}, "filtering_logic", "grams", "low"),
        ({"sql": "SELECT name::text FROM bird WHERE grams > 10", "engine": "postgres", "dialect": "postgres", "status": "syntax_error"}, "dialect_syntax", "does not parse", "high"),
        ({"sql": GOLD, "status": "timeout"}, "other", "the run ended: timeout", "low"),
        ({"sql": GOLD, "gold": "SELECT SELECT"}, None, "cannot be compared", None),
        ({"sql": "SELECT RANK() OVER w FROM bird"}, None, "no window 'w'", None),
        ({"sql": "SELECT 1", "engine": "duckdb", "sql_sqlite": BY_GRAMS}, "filtering_logic", "grams > 10", "high"),
        ({"sql": "SELECT 1", "engine": "duckdb", "sql_sqlite": GOLD, "status": "runtime_error", "message": "no"}, "dialect_syntax", "fails", "high"),
        ({"engine": "duckdb", "sql_sqlite": GOLD, "status": None, "reason": "no query: unsupported: duckdb: %y"}, "dialect_syntax", "unsupported: duckdb: %y", "high"),
        ({"sql": "SELECT 1", "engine": "duckdb", "sql_sqlite": None}, None, "no SQL for SQLite", None),
        ({"sql_sqlite": None, "status": None, "reason": "no query: unsupported: x"}, "dialect_syntax", "there is no SQL: x", "high"),
        ({"parse_status": "not_json", "parse_message": "stops", "status": None}, "dialect_syntax", "stops", "high"),
        ({"parse_status": "unknown_column", "parse_message": "no column 'nom'", "status": None}, "schema_linking", "nom", "high"),
    ],
    ids=["text", "on another engine", "another dialect", "another dialect fails", "timeout", "gold unread",
         "prediction unread", "plan by its SQL for SQLite", "plan fails on an engine", "refused by a compiler",
         "plan without SQL for SQLite", "plan refused on SQLite", "no plan", "plan names nothing there"],
)  # fmt: skip
def test_pair(pair, category, words, confidence):
    found = columns(**pair)
    assert tuple(found) == COLUMNS
    assert found["error_category"] == category, found
    assert words in found["error_evidence"]
    assert found["error_confidence"] == confidence


def test_texts_are_compared_once_whatever_the_engine():
    categoriser = Categoriser(SCHEMA)
    for engine in ("sqlite", "mysql", "duckdb"):
        columns("SELECT 1", engine, categoriser=categoriser, sql_sqlite=BY_GRAMS)
    assert list(categoriser.compared) == [(GOLD, BY_GRAMS)] and list(categoriser.golds) == [GOLD]


def test_a_fault_of_ours_is_a_reason():
    found = error_columns(None, {"target": "sql", "dialect": "sqlite", "parse_status": "ok"}, SCORED, {"engine": "sqlite", "sql": GOLD, "status": "ok", "message": None}, {"sql": GOLD})  # fmt: skip
    assert found["error_category"] is None and "could not be sorted: AttributeError" in found["error_evidence"]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"df_match": True, "bird_ex": True, "df_match_strict": True, "df_match_paper": True}, False),
        ({"df_match": True}, True),
        ({"outcome": "gold_failed"}, False),
        ({"outcome": "not_judged"}, False),
    ],
    ids=["wrong", "right", "wrong by BIRD's rule", "gold failed", "not judged"],
)
def test_which_pairs_are_errors(changed, expected):
    assert is_error(SCORED | changed) == expected
