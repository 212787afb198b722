"""What the names in a query's tree mean, as far as edits and rewrites need to know: which table a column is of.

In: SQLite's SQL or a tree of sqlglot's, a schema. Out: trees, (alias, table, column) of a name. Tables that are queries
themselves (CTEs, subqueries in FROM) have no columns here: what is of them is nobody's, and is left alone.
"""

import re
from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple, TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from workbench.errors import ParseError
from workbench.schema import Column, Schema, Table
from workbench.transpile import repair_texts

T = TypeVar("T")
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED = re.compile(  # what SQLite reads as a word of its own (lang_keywords.html); most of its others may be names
    "add|all|alter|and|as|autoincrement|between|case|check|collate|commit|constraint|create|default|deferrable|delete|"
    "distinct|drop|else|escape|except|exists|foreign|from|group|having|if|in|index|insert|intersect|into|is|isnull|join|"
    "limit|not|nothing|notnull|null|on|or|order|primary|references|returning|select|set|table|then|to|transaction|union|"
    "unique|update|using|values|when|where",
    re.IGNORECASE,
)
_ROW_NUMBERS = re.compile(r"rowid|oid|_rowid_", re.IGNORECASE)
_CLAUSES = (exp.Where, exp.Having, exp.Group, exp.Order, exp.From, exp.Join, exp.Limit, exp.Select)


class Place(NamedTuple):
    """A column of a table that a SELECT reads. alias: as the query calls the table, in lower case."""

    alias: str
    table: Table
    column: Column


def read_query(sql: str, schema: Schema) -> exp.Query:
    """The tree of one query, "text" that names no column written as a text; ParseError where there is none."""
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="sqlite") if tree is not None]
    except (SqlglotError, RecursionError) as fault:
        raise ParseError(str(fault).splitlines()[0], where="sqlglot") from fault
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise ParseError("not one query", where="sqlglot")
    repair_texts(trees[0], schema)
    return trees[0]


def sources(select: exp.Expr, schema: Schema) -> dict[str, Table | None]:
    """Alias in lower case -> the table it stands for in this SELECT's FROM, None for a query."""
    found: dict[str, Table | None] = {}
    for part in from_parts(select):
        is_table = isinstance(part, exp.Table) and part.name.lower() not in cte_names(select.root())
        found[part.alias_or_name.lower()] = schema.table(part.name) if is_table else None
    return found


def from_parts(select: exp.Expr) -> list[exp.Expr]:
    """Tables and queries of FROM, in the order in which they are written."""
    start = select.args.get("from_")
    return ([start.this] if start else []) + [join.this for join in select.args.get("joins") or ()]


def cte_names(tree: exp.Expr) -> set[str]:
    return {one.alias.lower() for one in tree.find_all(exp.CTE)}


def place_of(column: exp.Column, schema: Schema) -> Place | None:
    """The table's column that a name means, also of a query around; None where it is none or cannot be known."""
    wanted, select = column.table.lower(), column.find_ancestor(exp.Select)
    while select is not None:
        for alias, table in sources(select, schema).items():
            if wanted not in ("", alias):
                continue
            if table is None:
                return None
            if (found := table.column(column.name)) is not None:
                return Place(alias, table, found)
        select = select.find_ancestor(exp.Select)
    return None


def places(select: exp.Expr, schema: Schema) -> list[Place]:
    """All columns that a SELECT's tables have."""
    return [
        Place(alias, table, column)
        for alias, table in sources(select, schema).items()
        if table is not None
        for column in table.columns
    ]


def named(select: exp.Expr, place: Place) -> exp.Column:
    """A name for a place in this SELECT: with its table where there are several."""
    parts = from_parts(select)
    table = None
    if len(parts) > 1:
        table = identifier(next(one.alias_or_name for one in parts if one.alias_or_name.lower() == place.alias))
    return exp.Column(this=identifier(place.column.name), table=table)


def identifier(name: str) -> exp.Identifier:
    """Quoted only where it must be."""
    is_plain = _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name)
    return exp.Identifier(this=name, quoted=not is_plain)


def key_columns(table: Table) -> set[str]:
    """Names, in lower case, of columns that are part of a primary or foreign key."""
    names = set(table.primary_key).union(*(key.columns for key in table.foreign_keys))
    return {name.lower() for name in names}


def columns_in(node: exp.Expr | None) -> list[exp.Column]:
    """Names of columns in a tree, without stars; nothing of subqueries is left out."""
    if node is None:
        return []
    return [one for one in node.find_all(exp.Column) if isinstance(one.this, exp.Identifier)]


def own(select: exp.Expr, *kinds: type[T]) -> Iterator[T]:
    """Nodes of a SELECT that are not a nested query's."""
    for node in select.walk(prune=lambda one: one is not select and isinstance(one, exp.Query)):
        if isinstance(node, kinds):
            yield node


def selects(tree: exp.Expr) -> list[exp.Select]:
    """All SELECTs, outer ones first."""
    return list(tree.find_all(exp.Select))


def outermost(tree: exp.Expr) -> list[exp.Select]:
    """The SELECT whose columns are the answer's; of a set operation those of all sides."""
    if isinstance(tree, exp.SetOperation):
        return outermost(tree.left) + outermost(tree.right)
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    return [tree] if isinstance(tree, exp.Select) else []


def clause_of(node: exp.Expr) -> type[exp.Expr]:
    """Where a node stands: Where, Having, Group, Order, Join, From, Limit, or Select for the select list."""
    found = node.find_ancestor(*_CLAUSES)
    return type(found) if found is not None else exp.Select


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The parts that AND joins; one for any other condition."""
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def joined(conditions: Iterable[exp.Expr]) -> exp.Expr | None:
    """Conditions under AND, None for none."""
    found = None
    for one in conditions:
        one = exp.Paren(this=one) if isinstance(one, exp.Or) else one
        found = one if found is None else exp.And(this=found, expression=one)
    return found


def is_aggregate(node: exp.Expr) -> bool:
    """Whether something in it, outside nested queries, is computed over a group."""
    return any(not isinstance(one.parent, exp.Window) for one in own(node, exp.AggFunc))


def pick(draw: Random, items: Iterable[T]) -> T | None:
    """One of them, None of none."""
    items = list(items)
    return draw.choice(items) if items else None


def text_form(tree: exp.Expr) -> str:
    """SQLite's SQL of a tree that is not used any more: writing may change it, which saves a copy."""
    return tree.sql("sqlite", copy=False)


def qualify(tree: exp.Expr, schema: Schema) -> bool:
    """Give columns of tables their table's name; whether there were any without. Not in ORDER BY, where aliases go first."""
    changed = False
    for select in selects(tree):
        aliases = {one.alias.lower() for one in select.expressions if isinstance(one, exp.Alias)}
        for column in own(select, exp.Column):
            if column.table or not isinstance(column.this, exp.Identifier) or column.name.lower() in aliases:
                continue
            place = place_of(column, schema)
            if place is not None:
                column.set("table", source_name(column, place))
                changed = True
    return changed


def source_name(node: exp.Expr, place: Place) -> exp.Identifier:
    """The alias as it is written where it is defined."""
    select = node.find_ancestor(exp.Select)
    while select is not None:
        for part in from_parts(select):
            if part.alias_or_name.lower() == place.alias:
                return identifier(part.alias_or_name)
        select = select.find_ancestor(exp.Select)
    return identifier(place.alias)


def is_inner(select: exp.Select) -> bool:
    """Whether all joins of a SELECT are inner, by ON or by nothing."""
    return not any(join.side or join.args.get("using") or join.method for join in select.args.get("joins") or ())


def shows_star(select: exp.Select) -> bool:
    """Whether * is shown; COUNT(*) is not."""
    return any(one.find(exp.Star) is not None and not one.find(exp.Count) for one in select.expressions)


def reads_row_numbers(tree: exp.Expr) -> bool:
    """Whether rowid or one of its other names is read, which only a stored table has."""
    return any(_ROW_NUMBERS.fullmatch(one.name) for one in columns_in(tree))
