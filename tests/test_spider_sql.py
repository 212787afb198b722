"""Spider's grammar: the parses that it ships, hand-written trees, and each form that it cannot read."""

import json

import pytest
from spider_shop import ENTRY, NAMES

from workbench.errors import ParseError
from workbench.schema import Schema
from workbench.spider_sql import EMPTY, SET_OPERATORS, SpiderNames, parse_spider, spider_names, spider_tokens

ID, NAME, AGE = ((0, f"singer.{name}", False) for name in ("id", "name", "age"))


def numbered(tree: dict, entry: dict) -> dict:
    """A tree as Spider's files have it: numbers of tables and columns for names, lists for tuples."""
    owners = [name.lower() for name in entry["table_names_original"]]
    columns = {
        f"{owners[table]}.{name.lower()}" if table >= 0 else "*": index
        for index, (table, name) in reversed(list(enumerate(entry["column_names_original"])))
    }

    def column(unit):
        return unit and [unit[0], columns[unit[1]], unit[2]]

    def value_unit(unit):
        return [unit[0], column(unit[1]), column(unit[2])]

    def value(found):
        return query(found) if isinstance(found, dict) else column(found) if isinstance(found, tuple) else found

    def conditions(found):
        return [
            one if isinstance(one, str) else [one[0], one[1], value_unit(one[2]), value(one[3]), value(one[4])]
            for one in found
        ]

    def query(found):
        units = [[kind, query(x) if kind == "sql" else owners.index(x)] for kind, x in found["from"]["table_units"]]
        order = found["orderBy"]
        return {
            "from": {"table_units": units, "conds": conditions(found["from"]["conds"])},
            "select": [found["select"][0], [[aggregate, value_unit(unit)] for aggregate, unit in found["select"][1]]],
            "groupBy": [column(unit) for unit in found["groupBy"]],
            "orderBy": [order[0], [value_unit(unit) for unit in order[1]]] if order else [],
            "limit": found["limit"],
            **{name: conditions(found[name]) for name in ("where", "having")},
            **{name: found[name] and query(found[name]) for name in SET_OPERATORS},
        }

    return query(tree)


def test_every_parse_that_spider_ships(shared):
    folder = shared / "data" / "spider"
    entries = {entry["db_id"]: entry for entry in json.loads((folder / "tables.json").read_text())}
    questions = json.loads((folder / "dev.json").read_text())
    paths = {name: folder / "database" / name / f"{name}.sqlite" for name in entries}
    names = {name: spider_names(Schema.from_sqlite(paths[name]), entry) for name, entry in entries.items()}
    different = [
        question["query"]
        for question in questions
        if numbered(parse_spider(question["query"], names[question["db_id"]]), entries[question["db_id"]])
        != question["sql"]
    ]
    assert different == []
    assert len(questions) == 564


TREES = [  # id, query, what its tree has beside the empty one
    (
        "values lose nothing but their quotes' kind",
        "SELECT name FROM singer WHERE country = 'New  York' AND age > 3",
        {
            "select": (False, [(0, (0, NAME, None))]),
            "from": {"table_units": [("table_unit", "singer")], "conds": []},
            "where": [
                (False, 2, (0, (0, "singer.country", False), None), '"New  York"', None),
                "and",
                (False, 3, (0, AGE, None), 3.0, None),
            ],
        },
    ),
    (
        "aliases, arithmetic, the last direction for all keys",
        """SELECT T1.age - T2.year FROM singer AS T1 JOIN concert AS T2 ON T1.id = T2.singer_id
        ORDER BY T1.age DESC , T2.year ASC LIMIT 3""",
        {
            "select": (False, [(0, (1, AGE, (0, "concert.year", False)))]),
            "from": {
                "table_units": [("table_unit", "singer"), ("table_unit", "concert")],
                "conds": [(False, 2, (0, ID, None), (0, "concert.singer_id", False), None)],
            },
            "orderBy": ("asc", [(0, AGE, None), (0, (0, "concert.year", False), None)]),
            "limit": 3,
        },
    ),
    (
        "aggregates at the item, DISTINCT at the column",
        "SELECT DISTINCT count(DISTINCT name), max(age) FROM singer GROUP BY country HAVING avg(age) >= 20.5",
        {
            "select": (True, [(3, (0, (0, "singer.name", True), None)), (1, (0, AGE, None))]),
            "from": {"table_units": [("table_unit", "singer")], "conds": []},
            "groupBy": [(0, "singer.country", False)],
            "having": [(False, 5, (0, (5, "singer.age", False), None), 20.5, None)],
        },
    ),
    (
        "OR behind a column is passed over",
        "SELECT name FROM singer WHERE age = id OR name = 'x' AND country LIKE '%a'",
        {
            "select": (False, [(0, (0, NAME, None))]),
            "from": {"table_units": [("table_unit", "singer")], "conds": []},
            "where": [
                (False, 2, (0, AGE, None), ID, None),
                "and",
                (False, 9, (0, (0, "singer.country", False), None), '"%a"', None),
            ],
        },
    ),
    (
        "what follows LIMIT's number is passed over",
        "SELECT name FROM singer LIMIT 5 OFFSET 2",
        {
            "select": (False, [(0, (0, NAME, None))]),
            "from": {"table_units": [("table_unit", "singer")], "conds": []},
            "limit": 5,
        },
    ),
]


@pytest.mark.parametrize(("sql", "parts"), [case[1:] for case in TREES], ids=[case[0] for case in TREES])
def test_tree(sql, parts):
    assert parse_spider(sql, NAMES) == EMPTY | parts


def test_nested_and_set_operations_are_trees():
    tree = parse_spider(
        "SELECT id FROM singer WHERE id NOT IN (SELECT singer_id FROM visit) EXCEPT SELECT id FROM singer", NAMES
    )
    (condition,) = tree["where"]
    assert condition[:2] == (True, 8)
    assert condition[3]["from"]["table_units"] == [("table_unit", "visit")]
    assert tree["except"]["select"] == (False, [(0, (0, ID, None))])
    assert parse_spider("SELECT count(*) FROM (SELECT name FROM singer)", NAMES)["from"]["table_units"][0][0] == "sql"


REFUSED = {  # what the grammar has no word for: query
    "CASE": "SELECT CASE WHEN age > 1 THEN 1 ELSE 0 END FROM singer",
    "WITH": "WITH a AS (SELECT id FROM singer) SELECT id FROM a",
    "window": "SELECT rank() OVER (ORDER BY age) FROM singer",
    "CAST": "SELECT CAST(age AS REAL) FROM singer",
    "other functions": "SELECT lower(name) FROM singer",
    "LEFT JOIN": "SELECT name FROM singer LEFT JOIN concert ON id = singer_id",
    "INNER JOIN": "SELECT name FROM singer INNER JOIN concert ON id = singer_id",
    "comma join": "SELECT name FROM singer, concert",
    "alias without AS": "SELECT s.name FROM singer s",
    "alias of an item": "SELECT name AS n FROM singer",
    "alias of a subquery": "SELECT count(*) FROM (SELECT name FROM singer) AS t",
    "alias that is a table": "SELECT singer.name FROM singer AS singer",
    "IS NULL": "SELECT name FROM singer WHERE age IS NULL",
    "IS NOT NULL": "SELECT name FROM singer WHERE age IS NOT NULL",
    "quoted name": 'SELECT "name" FROM singer',
    "name in back quotes": "SELECT `name` FROM singer",
    "UNION ALL": "SELECT name FROM singer UNION ALL SELECT title FROM concert",
    "EXISTS": "SELECT name FROM singer WHERE EXISTS (SELECT * FROM concert)",
    "list after IN": "SELECT name FROM singer WHERE age IN (1, 2)",
    "column times a number": "SELECT age * 2 FROM singer",
    "arithmetic over aggregates": "SELECT max(age) - min(age) FROM singer",
    "escaped quote": "SELECT name FROM singer WHERE name = 'O''Hara'",
    "= without blanks": "SELECT name FROM singer WHERE age=3",
    ">= without blanks": "SELECT name FROM singer WHERE age>=3",
    "<>": "SELECT name FROM singer WHERE age <> 3",
    "table's star": "SELECT T1.* FROM singer AS T1",
    "HAVING without GROUP BY": "SELECT name FROM singer HAVING count(*) > 1",
    "LIMIT a, b": "SELECT name FROM singer LIMIT 1,2",
    "unknown column": "SELECT nme FROM singer",
    "unknown table": "SELECT name FROM sinner",
    "no FROM": "SELECT 1",
    "nothing": "",
    "open quote": "SELECT name FROM singer WHERE name = 'x",
    "not a query": "DROP TABLE singer",
    "a deep nest": "SELECT id FROM singer WHERE id IN "
    + "(SELECT id FROM singer WHERE id IN " * 2000
    + "(1)"
    + ")" * 2000,
}


@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED)
def test_refused(sql):
    with pytest.raises(ParseError, match="Spider's grammar"):
        parse_spider(sql, NAMES)


def test_a_fault_says_where():
    with pytest.raises(ParseError, match="word 5: a table is wanted, found 'left'"):
        parse_spider(REFUSED["LEFT JOIN"], NAMES)


TOKENS = [
    ("brackets and >= stand alone", "COUNT(*) >=3", ["count", "(", "*", ")", ">", "=3"]),
    ("torn operators are joined", "a > = 1 and b ! = 2", ["a", ">=", "1", "and", "b", "!=", "2"]),
    ("a text keeps its case and blanks", "A = 'New  York'", ["a", "=", '"New  York"']),
    ("a comma before a digit stays", "1,2 , a,b", ["1,2", ",", "a", ",", "b"]),
    ("other arithmetic stays", "a*b a+b a/b -1", ["a", "*", "b", "a+b", "a/b", "-1"]),
    ("colons", "x::real 2:30", ["x", ":", ":real", "2:30"]),
    ("full stop and semicolon", "from T1.a; .", ["from", "t1.a", ";", "."]),
]


@pytest.mark.parametrize(("sql", "tokens"), [case[1:] for case in TOKENS], ids=[case[0] for case in TOKENS])
def test_tokens(sql, tokens):
    assert spider_tokens(sql) == tokens


def test_groups_of_keys_take_their_first_column_and_never_merge():
    assert NAMES.keys == {
        "singer.id": "singer.id",
        "concert.singer_id": "singer.id",
        "visit.singer_id": "singer.id",
        "concert.cid": "concert.cid",
        "visit.concert_id": "concert.cid",
    }
    columns = [[-1, "*"], *([0, name] for name in "abcd")]
    schema = Schema.from_tables_json(
        {"db_id": "x", "table_names_original": ["t"], "column_names_original": columns, "column_types": ["text"] * 5}
    )
    entry = {"table_names_original": ["t"], "column_names_original": columns}
    # (2, 4) joins the first group it touches although it touches both; the second group is written last
    keys = spider_names(schema, entry | {"foreign_keys": [[1, 2], [3, 4], [2, 4]]}).keys
    assert keys == {"t.a": "t.a", "t.b": "t.a", "t.c": "t.c", "t.d": "t.c"}


def test_without_tables_json_the_schema_s_own_keys_serve():
    schema = Schema.from_tables_json(ENTRY)
    assert spider_names(schema).keys == NAMES.keys
    assert spider_names(schema).tables == NAMES.tables
    assert isinstance(NAMES, SpiderNames) and {"singer", "singer_id", "value"} <= NAMES.words
