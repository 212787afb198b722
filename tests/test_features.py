"""Every feature against its worked example and hand-worked queries."""

import re

import pytest

import workbench as wb
from workbench.feature_names import REGRESSION
from workbench.features import FEATURES, features
from workbench.identifier_uses import plan_uses, sql_uses
from workbench.schema import Column, Schema, Table
from workbench.sqlite_parser import parse

SCHEMA = Schema(
    (
        Table("pet", (Column("id", "INTEGER"), Column("name", "TEXT"), Column("age", "INTEGER"), Column("owner_id", "INTEGER"))),
        Table("owner", (Column("id", "INTEGER"), Column("name", "TEXT"))),
    )
)  # fmt: skip


def of(sql: str, is_ordered: bool = False, is_row_count_fixed: bool = False) -> dict[str, float]:
    return features(sql, wb.sql_to_plan(sql, SCHEMA), is_ordered, is_row_count_fixed)


@pytest.mark.parametrize("name", FEATURES)
def test_the_worked_example_holds(name):
    sql, value = FEATURES[name].example
    assert of(sql)[name] == value


def test_there_are_the_papers_21():
    assert len(REGRESSION) == 21


# id -> SQL, features by hand
QUERIES = {
    "two joins and a subquery in IN": (
        "SELECT T1.name FROM pet AS T1 JOIN owner AS T2 ON T1.owner_id = T2.id JOIN pet AS T3 ON T3.owner_id = T2.id WHERE T1.age IN (SELECT age FROM pet WHERE name LIKE '%a%')",
        # uses before their definition: T1 of the select list alone; T3 is used behind its own
        {"qc_n_forward_refs": 1, "qc_max_alias_distance": 20, "qc_max_join_depth": 2, "sc_n_joins": 2, "sc_n_tables": 4,
         "sc_nesting_depth": 1, "sc_n_predicates": 4, "qc_has_pattern_literal": 1, "qc_literal_diversity_level": 1,
         # project, filter, join, (join, scan T3), ... of the subquery project, filter, scan
         "qc_n_reasoning_steps": 6, "ps_has_scalar_subquery": 0, "ps_max_depth": 5, "qc_dag_max_width": 3},
    ),
    "a date beside a number": (
        "SELECT name FROM pet WHERE name > '2020-01-31' AND age > 3",
        {"qc_literal_diversity_level": 3, "qc_n_literals": 2, "qc_has_pattern_literal": 0, "qc_has_implicit_coercion": 0},
    ),
    "text in a number's column": ("SELECT name FROM pet WHERE age = 'three'", {"qc_has_implicit_coercion": 1}),
    "a position": ("SELECT name FROM pet ORDER BY 1", {"qc_scope_cross_clause": 1, "qc_n_literals": 1}),
    "a column's own name": ("SELECT name FROM pet ORDER BY name", {"qc_scope_cross_clause": 0, "qc_n_forward_refs": 0}),
    "a named query": (
        "WITH old AS (SELECT name FROM pet WHERE age > 9) SELECT name FROM old",
        {"qc_n_forward_refs": 0, "sc_n_subqueries": 1, "sc_nesting_depth": 1},
    ),
    "casts and dates": (
        "SELECT CAST(age AS REAL), CAST(age AS TEXT), date(name), CURRENT_DATE FROM pet",
        {"qc_n_casts": 2, "qc_type_coercion_level": 3, "qc_has_date_functions": 1},
    ),
    "windows are no aggregates": (
        "SELECT SUM(age) OVER (PARTITION BY owner_id), CASE WHEN age > 1 THEN 2 END FROM pet",
        {"sc_n_aggregates": 0, "sc_n_windows": 1, "sc_n_cases": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_hand_worked(name):
    sql, wanted = QUERIES[name]
    found = of(sql)
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize(
    ("is_ordered", "is_fixed", "wanted"), [(True, True, (1, 0)), (True, False, (0, 1)), (False, True, (0, 0))]
)
def test_classes(is_ordered, is_fixed, wanted):
    found = of("SELECT name FROM pet", is_ordered, is_fixed)
    assert (found["qc_category_ordered_fixed"], found["qc_category_ordered_not_fixed"]) == wanted


def test_uses_stand_where_they_are():
    sql = "WITH old AS (SELECT p.name AS n FROM pet AS p) SELECT old.n FROM old ORDER BY n"
    words = [tuple(re.match(r"\w+", sql[place:])[0] for place in found) for found in sql_uses(parse(sql))]
    assert words == [("p", "p"), ("old", "old"), ("old", "old")]
    text, uses = plan_uses(wb.sql_to_plan(sql, SCHEMA))
    assert text == wb.sql_to_plan(sql, SCHEMA).to_json()
    assert all(use > at for use, at in uses)
    assert {text[at:].split('"')[0] for _, at in uses} == {"p", "old"}


def test_a_plan_is_written_again_as_it_is():
    for sql, _ in [*(feature.example for feature in FEATURES.values()), *QUERIES.values()]:
        plan = wb.sql_to_plan(sql, SCHEMA)
        assert plan_uses(plan)[0] == plan.to_json()
