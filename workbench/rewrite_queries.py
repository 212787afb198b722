"""Rewrites of a query's shape that mean the same: names, joins, order, DISTINCT, the columns shown.

A rewrite takes a tree that it may change, a seeded draw and the schema; it returns the tree, or None where it does not
apply. It must keep the answer on every database that keeps the schema's keys; verified_mutations.py looks at five.
More and reordered columns count as the same answer (DF-Match maps columns by their values).
"""

import re
from random import Random

from sqlglot import exp

from workbench.mutation_names import (
    columns_in,
    conjuncts,
    from_parts,
    identifier,
    is_aggregate,
    is_inner,
    joined,
    named,
    outermost,
    own,
    pick,
    place_of,
    places,
    qualify,
    reads_row_numbers,
    selects,
    shows_star,
    sources,
)
from workbench.schema import Schema

_PREFIXES = ("a", "b", "src", "main", "x")


def rename_aliases(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """T1 -> a_T1, or a table gets an alias that has none; everywhere in one SELECT and what is nested in it."""
    found = [(one, part) for one in selects(tree) for part in from_parts(one) if isinstance(part, exp.Table)]
    if not found:
        return None
    select, part = draw.choice(found)
    old = part.alias_or_name
    everywhere = [one.alias_or_name.lower() for one in tree.find_all(exp.Table, exp.Subquery, exp.CTE)]
    new = f"{draw.choice(_PREFIXES)}_{re.sub(r'[^A-Za-z0-9]', '', old)}"
    if everywhere.count(old.lower()) > 1 and not _is_lone_name(tree, select, old):
        return None
    if new.lower() in everywhere or reads_row_numbers(tree):
        return None
    for column in select.find_all(exp.Column):
        if column.table.lower() == old.lower():
            column.set("table", identifier(new))
    part.set("alias", exp.TableAlias(this=identifier(new)))
    return tree


def qualify_columns(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """name -> singer.name, for every column of a table."""
    return tree if qualify(tree, schema) else None


def swap_joined(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a JOIN b ON c -> b JOIN a ON c, where all joins are inner and no * is shown."""
    found = [one for one in selects(tree) if one.args.get("joins") and is_inner(one) and not shows_star(one)]
    select = pick(draw, found)
    if select is None:
        return None
    start, first = select.args["from_"], select.args["joins"][0]
    left, right = start.this.copy(), first.this.copy()
    start.set("this", right)
    first.set("this", left)
    return tree


def conditions_to_where(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a JOIN b ON c WHERE d -> a CROSS JOIN b WHERE c AND d, where all joins are inner."""
    select = pick(draw, (one for one in selects(tree) if is_inner(one) and _on_conditions(one)))
    if select is None:
        return None
    moved = [part.copy() for one in _on_conditions(select) for part in conjuncts(one)]
    where = select.args.get("where")
    rest = [part.copy() for part in conjuncts(where.this)] if where is not None else []
    for join in select.args["joins"]:
        join.set("on", None)
        join.set("kind", "CROSS")
    select.set("where", exp.Where(this=joined([*moved, *rest])))
    return tree


def conditions_to_join(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a JOIN b ON c WHERE d -> a JOIN b ON c AND d, where all joins are inner."""
    found = [one for one in selects(tree) if one.args.get("where") and is_inner(one) and _on_conditions(one)]
    select = pick(draw, found)
    if select is None:
        return None
    last = select.args["joins"][-1]
    on = last.args.get("on")
    parts = [*(conjuncts(on) if on is not None else []), *conjuncts(select.args["where"].this)]
    last.set("on", joined(part.copy() for part in parts))
    last.set("kind", None)
    select.set("where", None)
    return tree


def order_by_place(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """ORDER BY x -> ORDER BY 2, where x is the second column shown."""
    found = _shown_keys(tree)
    if not found:
        return None
    key, place, _ = draw.choice(found)
    key.set("this", exp.Literal.number(place + 1))
    return tree


def order_by_alias(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """SELECT x ... ORDER BY x -> SELECT x AS sort_key ... ORDER BY sort_key."""
    found = _shown_keys(tree)
    if not found or isinstance(tree, exp.SetOperation):
        return None
    key, _, shown = draw.choice(found)
    if isinstance(shown, exp.Alias):
        key.set("this", exp.Column(this=shown.args["alias"].copy()))
        return tree if not any(one.name == shown.alias for one in columns_in(shown.this)) else None
    shown.replace(exp.Alias(this=shown.copy(), alias=identifier("sort_key")))
    key.set("this", exp.Column(this=identifier("sort_key")))
    return tree


def order_by_expression(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """ORDER BY n or 2 -> ORDER BY COUNT(*), what the alias or place stands for."""
    shown_by = outermost(tree)
    order = shown_by[0].args.get("order") if len(shown_by) == 1 else None
    if order is None or shown_by[0].args.get("distinct") is not None:
        return None
    select = shown_by[0]
    shown = {one.alias.lower(): one.this for one in select.expressions if isinstance(one, exp.Alias)}
    found = []
    for key in order.expressions:
        node = key.this
        if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.this) <= len(select.expressions):
            found.append((key, select.expressions[int(node.this) - 1].unalias()))
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in shown:
            found.append((key, shown[node.name.lower()]))
    found = [
        (key, value) for key, value in found if not value.find(exp.Window, exp.Literal, exp.Star) or _is_count(value)
    ]
    if not found:
        return None
    key, value = draw.choice(found)
    key.set("this", value.copy())
    return tree


def distinct_by_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """SELECT key, ... -> SELECT DISTINCT key, ..., where a whole primary key or all of GROUP BY is shown."""
    found = [
        one for one in outermost(tree) if not isinstance(tree, exp.SetOperation) and _has_distinct_rows(one, schema)
    ]
    select = pick(draw, found)
    if select is None:
        return None
    select.set("distinct", exp.Distinct())
    return tree


def distinct_as_group(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """SELECT DISTINCT a, b -> SELECT a, b ... GROUP BY a, b."""
    found = [
        one
        for one in selects(tree)
        if one.args.get("distinct") is not None
        and one.args.get("group") is None
        and not any(True for _ in own(one, exp.AggFunc, exp.Window))
        and all(place_of(c, schema) is not None for c in one.expressions if isinstance(c, exp.Column))
        and all(isinstance(c, exp.Column) and isinstance(c.this, exp.Identifier) for c in one.expressions)
    ]
    select = pick(draw, found)
    if select is None:
        return None
    select.set("distinct", None)
    select.set("group", exp.Group(expressions=[one.copy() for one in select.expressions]))
    return tree


def group_as_distinct(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """SELECT a, b ... GROUP BY a, b -> SELECT DISTINCT a, b, where nothing is aggregated."""
    found = []
    for select in selects(tree):
        group = select.args.get("group")
        keys = [one.sql() for one in group.expressions] if group is not None else []
        shown = [one.unalias().sql() for one in select.expressions]
        is_plain = select.args.get("having") is None and not any(True for _ in own(select, exp.AggFunc))
        if keys and is_plain and sorted(keys) == sorted(shown):
            found.append(select)
    select = pick(draw, found)
    if select is None:
        return None
    select.set("group", None)
    select.set("distinct", exp.Distinct())
    return tree


def reorder_columns(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """SELECT a, b -> SELECT b, a."""
    shown = outermost(tree)
    if len(shown) != 1 or len(shown[0].expressions) < 2 or isinstance(tree, exp.SetOperation):
        return None
    select = shown[0]
    clauses = [select.args[word] for word in ("order", "group") if select.args.get(word) is not None]
    if any(isinstance(one, exp.Literal) for clause in clauses for one in clause.find_all(exp.Literal)):
        return None
    moved = [one.copy() for one in select.expressions]
    draw.shuffle(moved)
    if moved == select.expressions:
        moved = moved[1:] + moved[:1]
    select.set("expressions", moved)
    return tree


def extra_column(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """SELECT a -> SELECT a, b, where that makes no other rows."""
    shown = outermost(tree)
    if len(shown) != 1 or isinstance(tree, exp.SetOperation) or shown[0].args.get("distinct") is not None:
        return None
    select = shown[0]
    if select.args.get("group") is not None or any(is_aggregate(one) for one in select.expressions):
        select.append("expressions", exp.Alias(this=exp.Count(this=exp.Star()), alias=identifier("rows_read")))
        return tree
    place = pick(draw, places(select, schema))
    if place is None:
        return None
    select.append("expressions", named(select, place))
    return tree


def _shown_keys(tree: exp.Expr) -> list[tuple[exp.Ordered, int, exp.Expr]]:
    """(sort key, place, what is shown there) where a key of the answer's order is shown."""
    order = tree.args.get("order")
    if order is None:
        return []
    found = []
    for key in order.expressions:
        for place, shown in enumerate(outermost(tree)[0].expressions):
            is_name = isinstance(key.this, exp.Column) and not key.this.table and shown.alias == key.this.name
            if not isinstance(key.this, exp.Literal) and (shown.unalias() == key.this or is_name):
                found.append((key, place, shown))
    return found


def _has_distinct_rows(select: exp.Select, schema: Schema) -> bool:
    if select.args.get("distinct") is not None or shows_star(select):
        return False
    group = select.args.get("group")
    shown = [one.unalias() for one in select.expressions]
    if group is not None:
        return bool(group.expressions) and all(key in shown for key in group.expressions)
    if any(is_aggregate(one) for one in select.expressions) or len(from_parts(select)) != 1:
        return False
    (table,) = sources(select, schema).values()
    names = {one.name.lower() for one in shown if isinstance(one, exp.Column)}
    keys = {name.lower() for name in table.primary_key} if table is not None else set()
    return bool(keys) and keys <= names and set(table.primary_key) <= table.never_null


def _on_conditions(select: exp.Select) -> list[exp.Expr]:
    return [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on") is not None]


def _is_count(node: exp.Expr) -> bool:
    return isinstance(node.unalias(), exp.Count)


def _is_lone_name(tree: exp.Expr, select: exp.Select, name: str) -> bool:
    """Whether an alias that other SELECTs use too is, in this one and what is nested in it, one table's only."""
    inside = [one for one in select.find_all(exp.Table, exp.Subquery) if one.alias_or_name.lower() == name.lower()]
    return len(inside) == 1
