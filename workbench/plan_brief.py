"""The brief specification of the plan language that a prompt shows, made from the plan language itself.

In: the registries of operators and functions. Out: about 1,200 tokens of text. Every example in it is read as a plan by a
test, and each operator, function and type of the code must stand in it; docs/plan.md is the whole specification.
"""

from functools import lru_cache
from itertools import groupby

from workbench.plan_expressions import CAST_TYPES, COLLATIONS
from workbench.plan_functions import AGGREGATES, SCALARS, UNBOUNDED, WINDOW_AGGREGATES, WINDOWS

# operator -> (example over EXAMPLE's tables, what it does); with and union: the words that work alike follow in the text
OPERATOR_FORMS: dict[str, tuple[str, str]] = {
    "scan": ('{"scan":"shop","as":"T1"}', "all rows of a table, under an alias"),
    "values": ('{"values":[[1,"\'a\'"]],"names":["n","t"]}', "rows of constants; [[]] is one empty row"),
    "filter": ('{"filter":[">","T1.size",10]}', "rows for which the condition holds"),
    "project": ('{"project":["T1.name",{"double":["*","T1.size",2]}]}', "exactly these columns, in this order"),
    "join": ('{"join":"sale","as":"T2","on":["=","T1.id","T2.shop_id"]}', "pairs of rows for which the condition holds"),
    "left_join": ("", "as join, and keeps left rows without partner"),
    "right_join": ("", "the same for the right rows"),
    "full_join": ("", "the same for both"),
    "cross_join": ('{"cross_join":"sale","as":"T2"}', "all pairs, no condition"),
    "semi_join": ("", "as join, but gives the left rows that have a partner, each once"),
    "anti_join": ("", "the left rows that have none"),
    "aggregate": (
        '{"aggregate":{"n":["count"],"m":["sum","T1.size",{"where":["=","T1.city","\'Rome\'"]}]},"by":["T1.city"]}',
        "one row a group; columns: the keys, then the functions; a filter after it is HAVING",
    ),
    "window": (
        '{"window":{"r":["rank",{"by":["T1.city"],"order":["T1.size desc"]}]}}',
        "adds a column computed over rows of the same key",
    ),
    "sort": ('{"sort":["T1.size desc","T1.name"],"limit":5,"offset":2}', "order of rows; NULLs first ascending"),
    "limit": ('{"limit":5}', "the first rows"),
    "offset": ('{"offset":2}', "without the first rows"),
    "distinct": ('{"distinct":true}', "each row once"),
    "union": (
        '{"union":[{"scan":"sale","as":"S"},{"project":["S.shop_id"]}]}',
        "rows of both pipelines, by position, without duplicates",
    ),
    "union_all": ("", "with duplicates"),
    "intersect": ("", "rows in both"),
    "intersect_all": ("", "with duplicates"),
    "except": ("", "rows of the first that are not in the second"),
    "except_all": ("", "with duplicates"),
    "as": ('{"as":"t"}', "the columns so far under a new table name; \"names\":[..] renames them"),
    "with": (
        '{"with":"big","steps":[{"scan":"shop"},{"filter":[">","size",10]}]}',
        "names a pipeline, before the first scan; later scans and joins read it like a table",
    ),
}  # fmt: skip

# (example, what it is), as expressions over T1 = shop
EXPRESSION_FORMS: tuple[tuple[str, str], ...] = (
    ('"T1.city"', "a column"),
    ("\"'Rome'\"", "a text: with single quotes inside the string; a quote in it is doubled"),
    ("10", "a number; also 1.5, null, true"),
    ('["and",[">","T1.size",10],["like","T1.name","\'A%\'"]]', "a function: its name, then its arguments"),
    ('["in","T1.city","\'Rome\'","\'Oslo\'"]', "one of a list"),
    ('["cast","T1.size","real"]', f"types: {', '.join(CAST_TYPES)}"),
    ('["case",[">","T1.size",10],"\'big\'","\'small\'"]', "condition, result, ..., otherwise"),
    ('["case of","T1.city","\'Rome\'",1,0]', "value compared, value, result, ..., otherwise"),
    ('["collate","T1.name","nocase"]', f"compares by {', '.join(COLLATIONS)}"),
    ('[{"scan":"sale","as":"S"},{"aggregate":{"m":["max","S.price"]}}]', "a subquery's one value"),
    ('["in","T1.id",[{"scan":"sale","as":"S"},{"project":["S.shop_id"]}]]', "whether it is among a subquery's rows"),
    ('["exists",[{"scan":"sale","as":"S"},{"filter":["=","S.shop_id","T1.id"]}]]', "whether there is a row"),
)


@lru_cache(maxsize=1)
def plan_brief() -> str:
    """The specification as text, the same for every question."""
    lines = [
        "A query plan is a JSON list of operators, executed in order; each reads the rows of the one before it.",
        'A column is written "alias.column"; after aggregate and project a new column is written by its name alone.',
        "The meaning of every operator and function is that of SQLite.",
        "",
        "Operators:",
        *(f"- {word}: {_said(example, text)}" for word, (example, text) in OPERATOR_FORMS.items()),
        "",
        "Expressions:",
        *(f"- {example} : {text}" for example, text in EXPRESSION_FORMS),
        "",
        "Functions, with the number of their arguments in brackets:",
        *(f"- {kind}: {names}" for kind, names in _functions()),
        "- aggregate: " + _names(AGGREGATES) + '; "count distinct" and the like for each',
        "- window: " + _names(WINDOWS) + ", and " + ", ".join(WINDOW_AGGREGATES),
    ]
    return "\n".join(lines)


def _said(example: str, text: str) -> str:
    return f"{example} {text}" if example else text


def _functions() -> list[tuple[str, str]]:
    """(result type, names with arities) of the scalar functions, in the registry's order."""

    def kind(name: str) -> str:
        function = SCALARS[name]
        return function.result(["any"] * max(function.least, 1))

    kinds = {name: kind(name) for name in SCALARS}
    grouped = groupby(sorted(SCALARS, key=lambda name: list(kinds.values()).index(kinds[name])), key=kinds.get)
    titles = {"number": "numeric", "any": "of any type"}
    return [(titles.get(kind, kind), _names({name: SCALARS[name] for name in names})) for kind, names in grouped]


def _names(functions: dict) -> str:
    return ", ".join(f"{name}({_arity(one.least, one.most)})" for name, one in functions.items())


def _arity(least: int, most: int) -> str:
    if least == most:
        return str(least)
    return f"{least}+" if most >= UNBOUNDED else f"{least}-{most}"
