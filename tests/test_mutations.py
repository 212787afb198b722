"""Mutations: what each kind makes of a query, that draws repeat, and that kinds are sorted into both papers' errors."""

import sqlite3

import pytest

from workbench.errors import ParseError
from workbench.labels import CATEGORIES, ERROR_TYPES
from workbench.mutation_names import read_query
from workbench.mutations import EDITS, REWRITES, changes, mutations
from workbench.schema import Column, ForeignKey, Schema, Table

SCHEMA = Schema(
    (
        Table(
            "singer",
            (Column("id", "INTEGER", False), Column("name", "TEXT"), Column("country", "TEXT"), Column("age", "INTEGER"),
             Column("order", "INTEGER")),
            ("id",),
        ),
        Table(
            "concert",
            (Column("id", "INTEGER", False), Column("singer_id", "INTEGER", False), Column("title", "TEXT"),
             Column("day", "TEXT"), Column("price", "REAL")),
            ("id",),
            (ForeignKey(("singer_id",), "singer", ("id",)),),
        ),
    )
)  # fmt: skip
JOINED = "FROM singer AS s JOIN concert AS c ON s.id = c.singer_id"
# kind -> a query, and one of the texts that the kind makes of it
CASES = {
    "wrong_column_shown": ("SELECT name FROM singer GROUP BY name", "SELECT country FROM singer GROUP BY country"),
    "wrong_column_tested": ("SELECT id FROM singer WHERE age > 3", "SELECT id FROM singer WHERE name > 3"),
    "wrong_column_aggregated": ("SELECT MAX(age) FROM singer", "SELECT MAX(name) FROM singer"),
    "wrong_owner": (
        "SELECT s.id FROM singer AS s JOIN concert AS c ON s.id = c.singer_id",
        "SELECT c.id FROM singer AS s JOIN concert AS c ON s.id = c.singer_id",
    ),
    "wrong_table": ("SELECT COUNT(*) FROM singer", "SELECT COUNT(*) FROM concert"),
    "missing_column": ("SELECT name, age FROM singer", "SELECT name FROM singer"),
    "drop_join": (
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id WHERE c.price > 5 AND s.age > 3",
        "SELECT s.name FROM singer AS s WHERE s.age > 3",
    ),
    "wrong_join_kind": (
        f"SELECT s.name {JOINED}",
        "SELECT s.name FROM singer AS s RIGHT JOIN concert AS c ON s.id = c.singer_id",
    ),
    "wrong_join_key": (
        f"SELECT s.name {JOINED}",
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.name = c.singer_id",
    ),
    "drop_join_condition": (f"SELECT s.name {JOINED}", "SELECT s.name FROM singer AS s CROSS JOIN concert AS c"),
    "drop_condition": (
        "SELECT id FROM singer WHERE age > 3 AND name = 'Ann'",
        "SELECT id FROM singer WHERE name = 'Ann'",
    ),
    "extra_condition": (
        "SELECT id FROM singer WHERE name = 'Ann'",
        'SELECT id FROM singer WHERE name = \'Ann\' AND "order" >= (SELECT AVG("order") FROM singer)',
    ),
    "negate_condition": (
        "SELECT id FROM singer WHERE name LIKE 'A%'",
        "SELECT id FROM singer WHERE NOT name LIKE 'A%'",
    ),
    "weaken_comparison": ("SELECT id FROM singer WHERE age > 3", "SELECT id FROM singer WHERE age >= 3"),
    "turn_comparison": ("SELECT id FROM singer WHERE age > 3", "SELECT id FROM singer WHERE age < 3"),
    "swap_and_or": (
        "SELECT id FROM singer WHERE age > 3 AND name = 'Ann' OR id = 1",
        "SELECT id FROM singer WHERE (age > 3 OR name = 'Ann') OR id = 1",
    ),
    "wrong_number": ("SELECT id FROM singer WHERE age > 3", "SELECT id FROM singer WHERE age > 4"),
    "wrong_text": ("SELECT id FROM singer WHERE name = 'Ann'", "SELECT id FROM singer WHERE name = 'ann'"),
    "wrong_pattern": ("SELECT id FROM singer WHERE name LIKE 'A%'", "SELECT id FROM singer WHERE name LIKE 'A'"),
    "narrow_range": ("SELECT id FROM singer WHERE age BETWEEN 3 AND 5", "SELECT id FROM singer WHERE age > 3"),
    "shorten_list": ("SELECT id FROM singer WHERE age IN (3, 5)", "SELECT id FROM singer WHERE age IN (5)"),
    "wrong_null_test": ("SELECT id FROM singer WHERE NOT name IS NULL", "SELECT id FROM singer WHERE NOT name = ''"),
    "nulls_as_zero": ("SELECT AVG(age) FROM singer", "SELECT AVG(COALESCE(age, 0)) FROM singer"),
    "swap_case": (
        "SELECT SUM(CASE WHEN age > 3 THEN 1 ELSE 0 END) FROM singer",
        "SELECT SUM(CASE WHEN age > 3 THEN 0 ELSE 1 END) FROM singer",
    ),
    "wrong_function": ("SELECT UPPER(name) FROM singer", "SELECT name FROM singer"),
    "wrong_date_part": ("SELECT STRFTIME('%Y', day) FROM concert", "SELECT STRFTIME('%m-%d', day) FROM concert"),
    "lose_cast": ("SELECT CAST(age AS REAL) / 2 FROM singer", "SELECT age / 2 FROM singer"),
    "wrong_arithmetic": ("SELECT age + id FROM singer", "SELECT id FROM singer"),
    "wrong_set_operation": (
        "SELECT id FROM singer EXCEPT SELECT singer_id FROM concert",
        "SELECT id FROM singer UNION SELECT singer_id FROM concert",
    ),
    "lose_set_side": ("SELECT id FROM singer EXCEPT SELECT singer_id FROM concert", "SELECT singer_id FROM concert"),
    "swap_set_sides": (
        "SELECT id FROM singer EXCEPT SELECT singer_id FROM concert",
        "SELECT singer_id FROM concert EXCEPT SELECT id FROM singer",
    ),
    "negate_subquery": (
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
        "SELECT name FROM singer WHERE NOT id IN (SELECT singer_id FROM concert)",
    ),
    "unfiltered_subquery": (
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert WHERE price > 5)",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
    ),
    "wrong_subquery_column": (
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
        "SELECT name FROM singer WHERE id IN (SELECT title FROM concert)",
    ),
    "aggregate_for_subquery": (
        "SELECT name FROM singer WHERE age > (SELECT AVG(age) FROM singer)",
        "SELECT name FROM singer WHERE age > (SELECT SUM(age) FROM singer)",
    ),
    "wrong_aggregate": ("SELECT MAX(age) FROM singer", "SELECT SUM(age) FROM singer"),
    "wrong_count": ("SELECT COUNT(*) FROM singer", "SELECT COUNT(DISTINCT age) FROM singer"),
    "drop_group_key": (
        "SELECT country, COUNT(*) FROM singer GROUP BY country, age",
        "SELECT country, COUNT(*) FROM singer GROUP BY country",
    ),
    "add_group_key": (
        "SELECT country, COUNT(*) FROM singer GROUP BY country",
        "SELECT country, COUNT(*) FROM singer GROUP BY country, name",
    ),
    "wrong_group_key": (
        "SELECT country, COUNT(*) FROM singer GROUP BY country",
        "SELECT country, COUNT(*) FROM singer GROUP BY name",
    ),
    "drop_having": (
        "SELECT country FROM singer GROUP BY country HAVING COUNT(*) > 2",
        "SELECT country FROM singer GROUP BY country",
    ),
    "drop_distinct": ("SELECT DISTINCT country FROM singer", "SELECT country FROM singer"),
    "add_distinct": ("SELECT SUM(age) FROM singer", "SELECT SUM(DISTINCT age) FROM singer"),
    "turn_order": ("SELECT name FROM singer ORDER BY age DESC LIMIT 3", "SELECT name FROM singer ORDER BY age LIMIT 3"),
    "drop_order_key": (
        "SELECT name FROM singer ORDER BY age DESC, name LIMIT 3",
        "SELECT name FROM singer ORDER BY name LIMIT 3",
    ),
    "wrong_order_key": (
        "SELECT name FROM singer ORDER BY age DESC LIMIT 3",
        "SELECT name FROM singer ORDER BY name DESC LIMIT 3",
    ),
    "shift_limit": (
        "SELECT name FROM singer ORDER BY age DESC LIMIT 3",
        "SELECT name FROM singer ORDER BY age DESC LIMIT 5",
    ),
    "drop_limit": ("SELECT name FROM singer ORDER BY age DESC LIMIT 3", "SELECT name FROM singer ORDER BY age DESC"),
    "shift_offset": (
        "SELECT name FROM singer ORDER BY age DESC LIMIT 3",
        "SELECT name FROM singer ORDER BY age DESC LIMIT 3 OFFSET 1",
    ),
    "wrong_rank": (
        "SELECT name, RANK() OVER (ORDER BY age) FROM singer",
        "SELECT name, ROW_NUMBER() OVER (ORDER BY age) FROM singer",
    ),
    "reorder_conditions": (
        "SELECT id FROM singer WHERE age > 3 AND (name = 'Ann' OR id = 1)",
        "SELECT id FROM singer WHERE age > 3 AND (id = 1 OR name = 'Ann')",
    ),
    "flip_comparison": ("SELECT id FROM singer WHERE age > 3", "SELECT id FROM singer WHERE 3 < age"),
    "negate_twice": ("SELECT id FROM singer WHERE age > 3", "SELECT id FROM singer WHERE (NOT (age <= 3))"),
    "apply_de_morgan": (
        "SELECT id FROM singer WHERE age > 3 AND name = 'Ann'",
        "SELECT id FROM singer WHERE NOT (NOT (age > 3) OR NOT (name = 'Ann'))",
    ),
    "split_between": (
        "SELECT id FROM singer WHERE age BETWEEN 3 AND 5",
        "SELECT id FROM singer WHERE (age >= 3 AND age <= 5)",
    ),
    "join_between": (
        "SELECT id FROM singer WHERE age >= 3 AND name = 'Ann' AND age <= 5",
        "SELECT id FROM singer WHERE age BETWEEN 3 AND 5 AND name = 'Ann'",
    ),
    "list_as_or": ("SELECT id FROM singer WHERE age IN (3, 5)", "SELECT id FROM singer WHERE (age = 3 OR age = 5)"),
    "or_as_list": ("SELECT id FROM singer WHERE age = 3 OR age = 5", "SELECT id FROM singer WHERE age IN (3, 5)"),
    "add_tautology": (
        "SELECT id FROM singer WHERE age = 3 OR age = 5",
        "SELECT id FROM singer WHERE (age = 3 OR age = 5) AND 1 = 1",
    ),
    "coalesce_itself": ("SELECT name FROM singer", "SELECT COALESCE(name, NULL) AS name FROM singer"),
    "count_rows_by_key": ("SELECT COUNT(*) FROM singer", "SELECT COUNT(id) FROM singer"),
    "count_rows": ("SELECT COUNT(id) FROM singer", "SELECT COUNT(*) FROM singer"),
    "count_values": (
        "SELECT COUNT(name) FROM singer",
        "SELECT COUNT(CASE WHEN NOT name IS NULL THEN 1 END) FROM singer",
    ),
    "rename_aliases": (
        f"SELECT s.name {JOINED}",
        "SELECT a_s.name FROM singer AS a_s JOIN concert AS c ON a_s.id = c.singer_id",
    ),
    "qualify_columns": ("SELECT name FROM singer WHERE age > 3", "SELECT singer.name FROM singer WHERE singer.age > 3"),
    "swap_joined": (
        f"SELECT s.name {JOINED}",
        "SELECT s.name FROM concert AS c JOIN singer AS s ON s.id = c.singer_id",
    ),
    "conditions_to_where": (
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id WHERE c.price > 5",
        "SELECT s.name FROM singer AS s CROSS JOIN concert AS c WHERE s.id = c.singer_id AND c.price > 5",
    ),
    "conditions_to_join": (
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id WHERE c.price > 5",
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id AND c.price > 5",
    ),
    "table_as_cte": (
        "SELECT name FROM singer",
        "WITH singer_rows AS (SELECT * FROM singer) SELECT name FROM singer_rows AS singer",
    ),
    "table_as_subquery": ("SELECT name FROM singer", "SELECT name FROM (SELECT * FROM singer) AS singer"),
    "condition_into_subquery": (
        "SELECT s.name FROM singer AS s JOIN concert AS c ON s.id = c.singer_id WHERE c.price > 5 AND s.age > 3",
        "SELECT s.name FROM singer AS s JOIN (SELECT * FROM concert AS c WHERE c.price > 5) AS c ON s.id = c.singer_id WHERE s.age > 3",
    ),
    "subquery_as_cte": (
        "SELECT name FROM singer WHERE age > (SELECT AVG(age) FROM singer)",
        "WITH inner_rows AS (SELECT AVG(age) AS v FROM singer) SELECT name FROM singer WHERE age > (SELECT v FROM inner_rows)",
    ),
    "cte_as_subquery": (
        "WITH old AS (SELECT * FROM singer WHERE age > 3) SELECT name FROM old",
        "SELECT name FROM (SELECT * FROM singer WHERE age > 3) AS old",
    ),
    "in_as_exists": (
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert WHERE price > 5)",
        "SELECT singer.name FROM singer WHERE EXISTS(SELECT 1 FROM concert WHERE concert.price > 5 AND concert.singer_id = singer.id)",
    ),
    "in_as_join": (
        "SELECT title FROM concert WHERE singer_id IN (SELECT s.id FROM singer AS s WHERE s.age > 3)",
        "SELECT concert.title FROM concert JOIN singer AS s ON concert.singer_id = s.id WHERE s.age > 3",
    ),
    "order_by_place": (
        "SELECT name, age FROM singer ORDER BY age DESC",
        "SELECT name, age FROM singer ORDER BY 2 DESC",
    ),
    "order_by_alias": (
        "SELECT country, COUNT(*) FROM singer GROUP BY country ORDER BY COUNT(*)",
        "SELECT country, COUNT(*) AS sort_key FROM singer GROUP BY country ORDER BY sort_key",
    ),
    "order_by_expression": (
        "SELECT country, COUNT(*) AS n FROM singer GROUP BY country ORDER BY n",
        "SELECT country, COUNT(*) AS n FROM singer GROUP BY country ORDER BY COUNT(*)",
    ),
    "distinct_by_key": ("SELECT id, name FROM singer", "SELECT DISTINCT id, name FROM singer"),
    "distinct_as_group": (
        "SELECT DISTINCT country, age FROM singer",
        "SELECT country, age FROM singer GROUP BY country, age",
    ),
    "group_as_distinct": ("SELECT country FROM singer GROUP BY country", "SELECT DISTINCT country FROM singer"),
    "reorder_columns": ("SELECT name, age FROM singer ORDER BY age", "SELECT age, name FROM singer ORDER BY age"),
    "extra_column": ("SELECT name FROM singer", "SELECT name, name FROM singer"),
    "wrap_query": ("SELECT name, age FROM singer", "SELECT * FROM (SELECT name, age FROM singer) AS answer"),
}


@pytest.fixture(scope="module")
def database():
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        'CREATE TABLE singer (id INTEGER PRIMARY KEY, name, country, age, "order");'
        "CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id, title, day, price);"
    )
    yield connection
    connection.close()


@pytest.mark.parametrize("kind", CASES)
def test_kind_makes_this_and_only_what_runs(kind, database):
    gold, expected = CASES[kind]
    made = {text for seed in range(6) for text in changes(read_query(gold, SCHEMA), kind, SCHEMA, seed)}
    assert expected in made
    for text in made:
        database.execute(text)


def test_every_kind_has_a_case():
    assert set(CASES) == {*EDITS, *REWRITES}
    assert len(EDITS) >= 20 and len(REWRITES) >= 14


def test_kinds_are_sorted_into_both_papers_errors():
    assert {category for category, _, _ in EDITS.values()} == set(CATEGORIES) - {"dialect_syntax", "other"}
    assert {error_type for _, error_type, _ in EDITS.values()} == set(ERROR_TYPES)


@pytest.mark.parametrize("kind", CASES)
def test_a_kind_that_does_not_apply_makes_nothing_or_another_text(kind):
    tree = read_query("SELECT 1", SCHEMA)
    assert all(text != "SELECT 1" for text in changes(tree, kind, SCHEMA))


def test_same_seed_same_mutations_another_seed_others():
    gold = f"SELECT s.name, MAX(c.price) {JOINED} WHERE s.age > 3 GROUP BY s.name ORDER BY MAX(c.price) DESC LIMIT 3"
    first, again, other = (list(mutations(gold, SCHEMA, seed)) for seed in (0, 0, 1))
    assert first == again != other
    edits, rewrites = ([one for one in first if one.is_edit == is_edit] for is_edit in (True, False))
    assert len({one.kind for one in edits}) >= 15 and len({one.kind for one in rewrites}) >= 10
    for some in (edits, rewrites):
        assert len({one.sql for one in some}) == len(some)
        assert all(sum(one.kind == kind for one in some) <= 2 for kind in {one.kind for one in some})


NO_QUERIES = {"two statements": "SELECT 1; SELECT 2", "no SQL": "SELECT FROM WHERE (", "a change": "DELETE FROM singer"}


@pytest.mark.parametrize("name", NO_QUERIES)
def test_what_is_no_query_is_refused(name):
    with pytest.raises(ParseError):
        list(mutations(NO_QUERIES[name], SCHEMA))


UNCHANGED = {
    "a count of what may be NULL is no count of rows": ("count_rows", "SELECT COUNT(name) FROM singer"),
    "an outer join makes keys NULL": (
        "count_rows_by_key",
        "SELECT COUNT(*) FROM singer AS s LEFT JOIN concert AS c ON s.id = c.singer_id",
    ),
    "a name that rows may share is no key": ("distinct_by_key", "SELECT name FROM singer"),
    "a join on what is no key repeats rows": (
        "in_as_join",
        "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
    ),
    "NOT IN passes over NULLs otherwise than NOT EXISTS": (
        "in_as_exists",
        "SELECT title FROM concert WHERE NOT title IN (SELECT name FROM singer)",
    ),
    "a subquery that reads the outer row is no CTE": (
        "subquery_as_cte",
        "SELECT name FROM singer AS s WHERE age > (SELECT AVG(price) FROM concert AS c WHERE c.singer_id = s.id)",
    ),
    "joins other than inner keep their order": (
        "swap_joined",
        "SELECT s.name FROM singer AS s LEFT JOIN concert AS c ON s.id = c.singer_id",
    ),
    "an order inside a subquery is lost": ("wrap_query", "SELECT name FROM singer ORDER BY age"),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_rewrite_stays_away(name):
    kind, gold = UNCHANGED[name]
    assert not list(changes(read_query(gold, SCHEMA), kind, SCHEMA))
