"""Compact plans: what is read, what each fault is called, and the JSON Schema that goes with them."""

import json
import sqlite3

import jsonschema
import pytest
from plan_probes import FIXTURE, QUERIES

from workbench.errors import PLAN_ERROR_KINDS, PlanError
from workbench.plan import Plan
from workbench.plan_schema import plan_schema
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

SCAN = '{"scan":"emp","as":"e"}'
VALIDATOR = jsonschema.Draft202012Validator(plan_schema())
AGGREGATE = '{"aggregate":{"n":["count"]},"by":["e.dept_id"]}'


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "probes.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(FIXTURE)
    yield connection, Schema.from_sqlite(path)
    connection.close()


# id -> steps, rows on SQLite. What models write and no SQL gives.
PLANS = {
    "the form that measured well": (
        ('[{"scan":"emp","as":"T1"},{"join":"dept","as":"T2","on":["=","T1.dept_id","T2.id"]},'
        '{"filter":[">","T1.salary",400]},{"aggregate":{"n":["count"]},"by":["T2.city"]},'
        '{"sort":["n desc"],"limit":5},{"project":["T2.city","n"]}]'),
        [("Oslo", 4)],
    ),
    "names in another case": ('[{"scan":"EMP"},{"filter":["=","NAME","\'Bob\'"]},{"project":["Emp.ID"]}]', [(3,)]),
    "unqualified names": ('[{"scan":"dept"},{"sort":["id desc"]},{"project":["dname"]}]', [("Ops",), ("Dev",), ("Sales",)]),
    "upper-case functions": (f'[{SCAN},{{"aggregate":{{"m":["MAX","e.id"]}}}}]', [(6,)]),
    "text with quotes": ('[{"values":[["\'it\'\'s\'", 1, 1.0, null, true, ["blob","6869"]]]}]', [("it's", 1, 1.0, None, 1, b"hi")]),
    "semi join": ('[{"scan":"dept","as":"d"},{"semi_join":"emp","as":"e","on":["=","e.dept_id","d.id"]},{"project":["d.id"]}]', [(1,), (2,)]),
    "anti join": ('[{"scan":"dept","as":"d"},{"anti_join":"emp","as":"e","on":["=","e.dept_id","d.id"]},{"project":["d.id"]}]', [(3,)]),
    "filter before join": (
        ('[{"scan":"dept","as":"d"},{"filter":["=","d.city","\'Rome\'"]},'
        '{"left_join":"emp","as":"e","on":["=","e.dept_id","d.id"]},{"project":["d.id","e.id"]}]'),
        [(3, None)],
    ),
    "filter after limit": (f'[{SCAN},{{"sort":["e.id"],"limit":3}},{{"filter":[">","e.id",2]}},{{"project":["e.id"]}}]', [(3,)]),
    "aggregate of an aggregate": (f'[{SCAN},{AGGREGATE},{{"aggregate":{{"m":["max","n"]}}}}]', [(3,)]),
    "project twice": (f'[{SCAN},{{"project":[{{"k":["+","e.id",1]}}]}},{{"project":[{{"k":["*","k",2]}}]}},{{"filter":["=","k",4]}}]', [(4,)]),
    "sort by what a project dropped is before it": (f'[{SCAN},{{"sort":[["desc",["-","e.id"]]],"limit":1}},{{"project":["e.name"]}}]', [("Anna",)]),
    "order of nulls": (f'[{SCAN},{{"sort":["e.salary asc nulls last","e.id"]}},{{"project":["e.id"]}}]', [(4,), (1,), (6,), (2,), (5,), (3,)]),
    "sub-pipeline used twice": (
        ('[{"with":"t","steps":[{"scan":"emp"},{"aggregate":{"s":["sum","bonus"]},"by":["dept_id"]}]},'
        '{"scan":"t","as":"a"},{"join":"t","as":"b","on":["<","a.s","b.s"]},{"project":["a.s","b.s"]},{"sort":["a.s","b.s"]}]'),
        [(0, 50), (0, 103), (50, 103)],
    ),
    "arg_max without its max": (f'[{SCAN},{{"aggregate":{{"who":["arg_max","e.name","e.salary"]}},"by":["e.dept_id"]}},{{"sort":["who"]}}]', [(None, None), (1, "anna"), (2, "Ärger")]),
    "arg_max, its max unread": (f'[{SCAN},{{"aggregate":{{"m":["max","e.salary"],"who":["arg_max","e.name","e.salary"]}}}},{{"project":["who"]}}]', [("anna",)]),
    "window, then filter": (
        f'[{SCAN},{{"window":{{"r":["row_number",{{"by":["e.dept_id"],"order":["e.id"]}}]}}}},{{"filter":["=","r",2]}},{{"project":["e.id"]}}]',
        [(2,), (4,)],
    ),
    "window over a window": (
        f'[{SCAN},{{"window":{{"r":["row_number",{{"order":["e.id desc"]}}]}}}},{{"window":{{"s":["sum","r",{{"order":["r"]}}]}}}},{{"sort":["r"]}},{{"project":["s"]}}]',
        [(1,), (3,), (6,), (10,), (15,), (21,)],
    ),
    "correlated": ('[{"scan":"dept","as":"d"},{"filter":["exists",[{"scan":"emp","as":"e"},{"filter":["=","e.dept_id","d.id"]}]]},{"project":["d.id"]}]', [(1,), (2,)]),
    "outer name that a nearer one hides": (
        '[{"scan":"dept","as":"d"},{"filter":["exists",[{"scan":"emp"},{"filter":["and",["=","dept_id",["outer","d.id"]],[">","salary",2000]]}]]},{"project":["d.id"]}]',
        [(1,)],
    ),
    "right side of a union is itself a union": (
        '[{"values":[[1]]},{"except":[{"values":[[1]]},{"except":[{"values":[[1]]}]}]}]',
        [(1,)],
    ),
    "union of cut sides": (f'[{SCAN},{{"project":["e.id"]}},{{"sort":["e.id"],"limit":1}},{{"union_all":[{{"scan":"dept"}},{{"project":["id"]}},{{"sort":["id desc"],"limit":1}}]}}]', [(1,), (3,)]),
    "semicolons in names": ('[{"values":[[1]],"names":["a;b"]},{"project":["a;b"]}]', [(1,)]),
    "group by a constant number": (f'[{SCAN},{{"aggregate":{{"n":["count"]}},"by":[{{"k":1}}]}}]', [(1, 6)]),
}  # fmt: skip


@pytest.mark.parametrize("text, rows", PLANS.values(), ids=PLANS.keys())
def test_plans_run(database, text, rows):
    connection, schema = database
    plan = Plan.from_json(text, schema)
    sql = plan_to_sql(plan)
    assert connection.execute(sql).fetchall() == rows, sql
    assert Plan.from_json(plan.to_json(), schema) == plan
    assert Plan.from_json(json.loads(plan.to_json(is_versioned=True)), schema) == plan
    if "MAX" not in text:  # names in any case are read, but the schema offers one spelling
        VALIDATOR.validate(json.loads(text))


# each joins the one before with itself
DOUBLING = ['{"with":"t0","steps":[{"scan":"emp"}]}'] + [
    f'{{"with":"t{n + 1}","steps":[{{"scan":"t{n}"}},{{"cross_join":"t{n}","as":"o"}}]}}' for n in range(39)
]
DISTINCT = ',{"distinct":true}'
# id -> text, kind, words of the message
FAULTS = {
    "prose": ("Here is the plan you asked for.", "not_json", "no JSON"),
    "empty": ("", "not_json", ""),
    "only a number": ("3 apples", "not_json", ""),
    "single quotes": ("[{'scan':'emp'}]", "not_json", ""),
    "fence": ("```json\n[]\n```", "not_json", ""),
    "cut in a text": ('[{"scan":"em', "truncated", "stops"),
    "cut after a comma": ('[{"scan":"emp"},', "truncated", "stops"),
    "cut in a word": ('[{"scan":"emp"},{"distinct":tr', "truncated", "stops"),
    "text after": (f"[{SCAN}] This counts", "trailing_text", "This counts"),
    "second plan": (f"[{SCAN}][{SCAN}]", "trailing_text", ""),
    "no list": ('{"scan":"emp"}', "schema_violation", "no list of operators"),
    "empty list": ("[]", "schema_violation", "no list of operators"),
    "operator is no object": (f'[{SCAN},"distinct"]', "schema_violation", "1 (no object)"),
    "key twice": ('[{"scan":"emp","scan":"dept"}]', "schema_violation", "twice"),
    "unknown key": (f'[{SCAN},{{"filter":["=","e.id",1],"where":2}}]', "schema_violation", "'where'"),
    "two operators in one": (f'[{SCAN},{{"filter":["=","e.id",1],"distinct":true}}]', "schema_violation", "filter and distinct"),
    "nothing to read": ('[{"filter":["=",1,1]}]', "schema_violation", "nothing to read"),
    "second scan": (f"[{SCAN},{SCAN}]", "schema_violation", "does not come first"),
    "join without condition": (f'[{SCAN},{{"join":"dept"}}]', "schema_violation", "without on"),
    "join of no columns": ('[{"values":[[]]},{"cross_join":"dept"}]', "schema_violation", "without columns"),
    "union of no columns": ('[{"values":[[]]},{"union_all":[{"values":[[]]}]}]', "type_error", "union of 0 and 0"),
    "no columns": ('[{"values":[[]]},{"filter":["=",1,1]}]', "schema_violation", "a plan without columns"),
    "alias twice": (f'[{SCAN},{{"cross_join":"dept","as":"E"}}]', "schema_violation", "'E' is taken"),
    "unnamed expression": (f'[{SCAN},{{"project":[["+","e.id",1]]}}]', "schema_violation", "has no name"),
    "open text": (f"[{SCAN},{{\"filter\":[\"=\",\"e.name\",\"'it's'\"]}}]", "schema_violation", "no text constant"),
    "a limit below 0": (f'[{SCAN},{{"sort":[],"limit":-1}}]', "type_error", "offset of -1"),
    "half a row": (f'[{SCAN},{{"sort":[],"limit":1.5}}]', "type_error", "offset of 1.5"),
    "a text as limit": (f"[{SCAN},{{\"sort\":[],\"limit\":\"'2'\"}}]", "type_error", "offset of '2'"),
    "true as version": ('{"plan":true,"steps":[{"scan":"emp"}]}', "schema_violation", "version 1"),
    "a hundred operators": (f'[{SCAN}{DISTINCT * 100}]', "unsupported", "deeper than 100"),
    "ten thousand operators": (f'[{SCAN}{DISTINCT * 10_000}]', "unsupported", "deeper than 100"),
    "version": ('{"plan":99,"steps":[]}', "schema_violation", "version 1"),
    "deep": ("[" * 5000 + "]" * 5000, "schema_violation", "deeper"),
    "deep in an object": ('{"a":' * 5000 + "1" + "}" * 5000, "schema_violation", "deeper"),
    "deep, but not too deep for Python": (f'[{SCAN},{{"filter":{chr(91) * 80}1{chr(93) * 80}}}]', "schema_violation", "deeper than 60"),
    "deep and cut": ("[" * 5000, "schema_violation", "deeper"),
    "endless": (f'[{{"values":[["\'{"x" * 1_000_001}\'"]]}}]', "schema_violation", "1000000 characters"),
    "half a character in a text": ('[{"values":[["\'\\ud800\'"]]}]', "schema_violation", "half a character"),
    "half a character in a name": (f'[{SCAN},{{"project":["e.\\udfff"]}}]', "schema_violation", "half a character"),
    "half a character in a key": (f'[{SCAN},{{"\\ud83d":1}}]', "schema_violation", "half a character"),
    "a byte order mark": ("\ufeff[]", "not_json", ""),
    "an infinite number": ('[{"values":[[-Infinity]]}]', "schema_violation", "-Infinity"),
    "a number beyond a double": ('[{"values":[[1e999]]}]', "unsupported", "infinite"),
    "key twice in a select list": (f'[{SCAN},{{"project":[{{"a":1,"a":2}}]}}]', "schema_violation", "'a' stands twice"),
    "columns that double": (
        f"[{','.join(DOUBLING)},{{\"scan\":\"t39\"}}]",
        "unsupported",
        "more than 4000 columns",
    ),
    "a name for its own query": ('[{"with":"t","steps":[{"scan":"t"}]},{"scan":"t"}]', "unknown_table", "no table 't'"),
    "not a number": ('[{"values":[[NaN]]}]', "schema_violation", "NaN"),
    "unknown operator": (f'[{SCAN},{{"select":["e.id"]}}]', "unknown_operator", "available: with, scan"),
    "unknown function": (f'[{SCAN},{{"filter":["equals","e.id",1]}}]', "unknown_operator", "'equals'"),
    "unknown aggregate": (f'[{SCAN},{{"aggregate":{{"m":["median","e.id"]}}}}]', "unknown_operator", "'median'"),
    "unknown table": ('[{"scan":"staff"}]', "unknown_table", "available: emp, dept, loose"),
    "unknown table in a join": (f'[{SCAN},{{"cross_join":"staff"}}]', "unknown_table", "1 (cross_join)"),
    "unknown column": (f'[{SCAN},{{"filter":[">","e.wage",1]}}]', "unknown_column", "1 (filter): no column 'e.wage' (available: e.id"),
    "column that a project dropped": (f'[{SCAN},{{"project":["e.id"]}},{{"sort":["e.name"]}}]', "unknown_column", "available: e.id)"),
    "text without quotes": (f'[{SCAN},{{"filter":["=","e.name","Bob"]}}]', "unknown_column", "no column 'Bob'"),
    "ambiguous": ('[{"scan":"emp"},{"cross_join":"dept"},{"project":["id"]}]', "unknown_column", "ambiguous"),
    "in a subquery": (f'[{SCAN},{{"filter":["exists",[{{"scan":"dept"}},{{"filter":["=","x.y",1]}}]]}}]', "unknown_column", "1 (filter) > 1 (filter)"),
    "sub-pipeline's column": ('[{"with":"t","steps":[{"values":[[1]],"names":["a"]}]},{"scan":"t"},{"project":["t.b"]}]', "unknown_column", "available: t.a"),
    "aggregate in a filter": (f'[{SCAN},{{"filter":[">",["count"],1]}}]', "type_error", "no scalar"),
    "too few arguments": (f'[{SCAN},{{"filter":["between","e.id",1]}}]', "type_error", "takes 3 arguments, 2 given"),
    "no aggregate": (f'[{SCAN},{{"aggregate":{{"x":["upper","e.name"]}}}}]', "unknown_operator", "aggregate 'upper'"),
    "wide subquery": (f'[{SCAN},{{"filter":["=","e.id",[{{"scan":"dept"}}]]}}]', "type_error", "its query gives 3"),
    "unequal union": (f'[{SCAN},{{"union":[{{"scan":"dept"}}]}}]', "type_error", "7 and 3 columns"),
    "large integer": ('[{"values":[[9223372036854775808]]}]', "type_error", "64 bits"),
    "endless integer": (f'[{{"values":[[{"9" * 5000}]]}}]', "type_error", "64 bits"),
    "cast": (f'[{SCAN},{{"project":[{{"x":["cast","e.id","date"]}}]}}]', "type_error", "available: integer"),
    "limit of a column": (f'[{SCAN},{{"limit":"e.id"}}]', "unknown_column", "e.id"),
    "collation": (f'[{SCAN},{{"sort":[["asc",["collate","e.name","german"]]]}}]', "unsupported", "german"),
    "row in a list": (f'[{SCAN},{{"filter":["in",["row","e.id","e.id"],1]}}]', "unsupported", "row"),
}  # fmt: skip


@pytest.mark.parametrize("text, kind, words", FAULTS.values(), ids=FAULTS.keys())
def test_faults_are_told_apart(database, text, kind, words):
    with pytest.raises(PlanError) as caught:
        Plan.from_json(text, database[1])
    assert (caught.value.kind, words in str(caught.value)) == (kind, True), str(caught.value)


def test_every_kind_of_fault_is_shown_here():
    assert {kind for _, kind, _ in FAULTS.values()} == set(PLAN_ERROR_KINDS)


def test_schema_is_valid_bounded_and_admits_every_plan(database):
    jsonschema.Draft202012Validator.check_schema(plan_schema())
    for sql in QUERIES.values():
        plan = sql_to_plan(sql, database[1])
        VALIDATOR.validate(json.loads(plan.to_json()))


@pytest.mark.parametrize(
    "text",
    ['[{"scan":"emp","filter":1}]', '[{"select":["a"]}]', '[{"scan":"emp"},{"filter":["median","a"]}]', "[]", '[{"scan":"' + "x" * 500 + '"}]'],
    ids=["two operators", "unknown operator", "unknown function", "empty", "long name"],
)  # fmt: skip
def test_schema_refuses(text):
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(json.loads(text))
