"""Edits of what a query reads: columns, tables, joins. Each is what a model that links question and schema wrongly writes.

An edit takes a tree that it may change, a seeded draw and the schema; it returns the tree, or None where it does not
apply. Whether the answer changes is for verified_mutations.py to say.
"""

from random import Random

from sqlglot import exp

from workbench.mutation_names import (
    Place,
    clause_of,
    columns_in,
    conjuncts,
    from_parts,
    identifier,
    joined,
    key_columns,
    named,
    outermost,
    own,
    pick,
    place_of,
    places,
    selects,
    sources,
)
from workbench.schema import Schema


def wrong_column_shown(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Show another column of the same table, and group by it where the right one was grouped by."""
    found = [
        (select, column, place)
        for select in selects(tree)
        for column in own(select, exp.Column)
        if clause_of(column) is exp.Select and (place := place_of(column, schema))
    ]
    if not found:
        return None
    select, column, place = draw.choice(found)
    other = _another(draw, place)
    if other is None:
        return None
    group = select.args.get("group")
    for twin in columns_in(group):
        if twin == column:
            twin.replace(_renamed(twin, other))
    column.replace(_renamed(column, other))
    return tree


def wrong_column_tested(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Test another column of the same table in WHERE or HAVING."""
    column = pick(draw, (one for one in columns_in(tree) if clause_of(one) in (exp.Where, exp.Having)))
    place = place_of(column, schema) if column is not None else None
    other = _another(draw, place) if place is not None else None
    if other is None:
        return None
    column.replace(_renamed(column, other))
    return tree


def wrong_column_aggregated(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Aggregate another column of the same table."""
    inside = (exp.AggFunc, exp.Query)
    found = [one for one in columns_in(tree) if isinstance(one.find_ancestor(*inside), exp.AggFunc)]
    column = pick(draw, found)
    if column is None:
        return None
    place = place_of(column, schema)
    other = _another(draw, place) if place is not None else None
    if other is None:
        return None
    column.replace(_renamed(column, other))
    return tree


def wrong_owner(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Take a column from another of the joined tables: its namesake there, else one of the same kind."""
    found = []
    for select in selects(tree):
        here = places(select, schema)
        if len({one.alias for one in here}) < 2:
            continue
        for column in own(select, exp.Column):
            place = place_of(column, schema)
            if place is None or clause_of(column) is exp.Join:
                continue
            others = [one for one in here if one.alias != place.alias]
            namesakes = [one for one in others if one.column.name.lower() == column.name.lower()]
            alike = [one for one in others if one.column.kind == place.column.kind]
            if namesakes or alike:
                found.append((select, column, namesakes or alike))
    if not found:
        return None
    select, column, others = draw.choice(found)
    column.replace(named(select, draw.choice(others)))
    return tree


def wrong_table(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Read another table, with its namesakes of the columns or, lacking one, a column of the same kind."""
    alone = [one for one in selects(tree) if len(from_parts(one)) == 1 and None not in sources(one, schema).values()]
    select = pick(draw, alone)
    if select is None:
        return None
    (part,), (table,) = from_parts(select), sources(select, schema).values()
    other = pick(draw, (one for one in schema.tables if one.name != table.name))
    if other is None:
        return None
    for column in list(own(select, exp.Column)):
        place = place_of(column, schema)
        if place is None or place.table.name != table.name or not isinstance(column.this, exp.Identifier):
            continue
        new = other.column(column.name) or pick(draw, (c for c in other.columns if c.kind == place.column.kind))
        if new is None:
            return None
        column.set("this", identifier(new.name))
        if column.table.lower() == table.name.lower():
            column.set("table", identifier(other.name))
    part.set("this", identifier(other.name))
    return tree


def missing_column(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget one of the shown columns."""
    select = outermost(tree)
    if len(select) != 1 or len(select[0].expressions) < 2:
        return None
    draw.choice(select[0].expressions).pop()
    return tree


def drop_join(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget a joined table and the conditions that read it, where nothing shown does."""
    found = []
    for select in selects(tree):
        for part in from_parts(select):
            alias = part.alias_or_name.lower()
            rest = [one for one in own(select, exp.Column) if clause_of(one) not in (exp.Where, exp.Join)]
            if len(from_parts(select)) > 1 and not any(_reads(one, alias, schema) for one in rest):
                found.append((select, part, alias))
    if not found:
        return None
    select, part, alias = draw.choice(found)
    if isinstance(part.parent, exp.From):
        first = select.args["joins"][0]
        on = first.args.get("on")
        select.set("from_", exp.From(this=first.this))
        first.pop()
        _add_conditions(select, [one.copy() for one in conjuncts(on)] if on is not None else [])
    else:
        part.parent.pop()
    for join in select.args.get("joins") or ():
        if join.args.get("on") is not None:
            join.set("on", _without(join.args["on"], alias, schema))
    where = select.args.get("where")
    if where is not None:
        kept = _without(where.this, alias, schema)
        select.set("where", exp.Where(this=kept) if kept is not None else None)
    return tree


def wrong_join_kind(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Keep rows without partner where the query drops them, or drop them where it keeps them."""
    join = pick(draw, (one for one in tree.find_all(exp.Join) if one.args.get("on") is not None))
    if join is None:
        return None
    join.set("kind", None)
    join.set("side", None if join.side else draw.choice(["LEFT", "LEFT", "RIGHT"]))
    return tree


def wrong_join_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Join on another column of one of the tables, another key where there is one."""
    column = pick(draw, (one for join in tree.find_all(exp.Join) for one in columns_in(join.args.get("on"))))
    place = place_of(column, schema) if column is not None else None
    if place is None:
        return None
    keys = key_columns(place.table)
    others = [one for one in place.table.columns if one.name != place.column.name]
    other = pick(draw, [one for one in others if one.name.lower() in keys] or others)
    if other is None:
        return None
    column.replace(_renamed(column, other.name))
    return tree


def drop_join_condition(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Join every row with every row."""
    join = pick(draw, (one for one in tree.find_all(exp.Join) if one.args.get("on") is not None))
    if join is None:
        return None
    join.set("on", None)
    join.set("side", None)
    join.set("kind", "CROSS")
    return tree


def _another(draw: Random, place: Place) -> str | None:
    """Another column of the table, three times of four one of the same kind."""
    others = [one for one in place.table.columns if one.name.lower() != place.column.name.lower()]
    alike = [one for one in others if one.kind == place.column.kind]
    found = pick(draw, alike if alike and draw.random() < 0.75 else others)
    return found.name if found is not None else None


def _renamed(column: exp.Column, name: str) -> exp.Column:
    new = column.copy()
    new.set("this", identifier(name))
    return new


def _reads(column: exp.Column, alias: str, schema: Schema) -> bool:
    """Whether a name is, or may be, of a table."""
    place = place_of(column, schema)
    return place.alias == alias if place is not None else column.table.lower() in ("", alias)


def _without(condition: exp.Expr, alias: str, schema: Schema) -> exp.Expr | None:
    kept = [one for one in conjuncts(condition) if not any(_reads(c, alias, schema) for c in columns_in(one))]
    return joined(one.copy() for one in kept)


def _add_conditions(select: exp.Select, conditions: list[exp.Expr]) -> None:
    where = select.args.get("where")
    parts = ([where.this.copy()] if where is not None else []) + conditions
    if parts:
        select.set("where", exp.Where(this=joined(parts)))
