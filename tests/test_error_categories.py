"""The categoriser: a hand-written table of faults, ways to write that are none, and the hand labels of real errors."""

import sqlite3
from pathlib import Path

import pytest
import yaml
from labelled_errors import sort_labelled

import workbench as wb
from workbench.benchmarks import read_benchmark
from workbench.error_agreement import precision
from workbench.error_categories import categorise
from workbench.error_rules import compare
from workbench.labels import CATEGORIES, ERROR_TYPES
from workbench.schema import Schema
from workbench.schema_source import SchemaSource

CASES = yaml.safe_load(Path(__file__).with_name("error_pairs.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    file = tmp_path_factory.mktemp("school") / "school.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(CASES["schema"])
    connection.close()
    return Schema.from_sqlite(file)


@pytest.mark.parametrize("case", CASES["pairs"].values(), ids=CASES["pairs"])
def test_fault(school, case):
    gold, predicted, (category, error_type, words), *run = case
    status, message = run[0] if run else (None, None)
    kind = categorise(gold, predicted, school, status, message)
    assert (kind.category, kind.error_type) == (category, error_type), kind
    assert words.lower() in kind.evidence.lower()


@pytest.mark.parametrize("case", CASES["same"].values(), ids=CASES["same"])
def test_no_fault(school, case):
    assert compare(*case, school) == []


def test_a_gold_rewritten_through_its_plan_has_no_fault():
    benchmark, schemas = read_benchmark("bundled"), SchemaSource("bundled")
    golds = benchmark.questions.select("db_id", "gold_sql").unique().rows()
    assert len(golds) >= 30
    for db_id, sql in golds:
        rewritten = wb.plan_to_sql(wb.sql_to_plan(sql, schemas(db_id)), "sqlite")
        found = compare(sql, rewritten, schemas(db_id))
        assert [one for one in found if "ties" not in one.evidence] == [], (sql, rewritten)


def test_every_kind_has_cases():
    expected = [case[2] for case in CASES["pairs"].values()]
    assert len(expected) >= 40
    assert {error_type for _, error_type, _ in expected} == set(ERROR_TYPES)
    assert {category for category, *_ in expected} == set(CATEGORIES) - {"other"}


def test_further_faults_are_named(school):
    kind = categorise("SELECT name FROM student WHERE age > 20 ORDER BY name", "SELECT city FROM student", school)
    assert (kind.category, kind.second_category, kind.second_error_type) == (
        "filtering_logic",
        "schema_linking",
        "attribute",
    )
    assert kind.confidence == "medium"


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([(1,), (2,)], [(2,), (1,)], ("ordering_ranking", "clause")),
        ([(1, 2)], [(1,)], ("schema_linking", "attribute")),
        ([(1,), (2,)], [(1,)], ("filtering_logic", "condition")),
        (None, None, ("other", None)),
    ],
    ids=["order", "columns", "rows", "nothing known"],
)
def test_rows_speak_where_the_texts_are_equal(school, gold, predicted, expected):
    sql = "SELECT name FROM student"
    kind = categorise(sql, sql, school, "ok", None, gold, predicted)
    assert (kind.category, kind.error_type) == expected
    assert kind.confidence == ("low" if expected[0] == "other" else "high")


@pytest.mark.parametrize("sql", ["DROP TABLE student", "SELECT", ")", "SELECT * FROM (" * 500, "VALUES (1)", "ok then"])
def test_no_prediction_is_too_odd(school, sql):
    assert categorise("SELECT name FROM student", sql, school, "syntax_error", "near").category == "dialect_syntax"
    assert categorise("SELECT name FROM student", sql, school).category in CATEGORIES


# measured with rules 3, by round of labels (category, type): tune 0.99, 0.97 and 0.982, 0.945, on which the rules were made; held
# 0.834, 0.783, the second scoring of round 1's, and 0.840, 0.771, the only one of round 2's. The plans paper's judge has 0.76
# on categories.
FLOORS = {
    ("tune", 1): {"category": 0.97, "type": 0.95},
    ("held", 1): {"category": 0.83, "type": 0.78},
    ("tune", 2): {"category": 0.97, "type": 0.93},
    ("held", 2): {"category": 0.83, "type": 0.77},
}
ROWS = {("tune", 1): 100, ("held", 1): 157, ("tune", 2): 110, ("held", 2): 131}


@pytest.mark.parametrize(("half", "round"), FLOORS, ids=[f"{half} {round}" for half, round in FLOORS])
def test_precision_against_hand_labels(shared, half, round):
    labels, found = sort_labelled(shared, half, round)
    for row in precision(found, labels).iter_rows(named=True):
        assert row["n"] == ROWS[half, round]
        assert row["precision"] >= FLOORS[half, round][row["scheme"]]
