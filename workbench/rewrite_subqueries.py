"""Rewrites of subqueries and CTEs that mean the same: moved, named, or said as a join.

A rewrite takes a tree that it may change, a seeded draw and the schema; it returns the tree, or None where it does not
apply. It must keep the answer on every database that keeps the schema's keys; verified_mutations.py looks at five.
"""

import re
from random import Random

from sqlglot import exp

from workbench.mutation_names import (
    Place,
    columns_in,
    conjuncts,
    cte_names,
    from_parts,
    identifier,
    is_inner,
    joined,
    outermost,
    pick,
    place_of,
    qualify,
    reads_row_numbers,
    selects,
    shows_star,
    source_name,
    sources,
)
from workbench.schema import Schema


def table_as_cte(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """FROM t -> WITH t_rows AS (SELECT * FROM t) ... FROM t_rows AS t."""
    part = _plain_table(tree, draw, schema)
    if part is None:
        return None
    table, alias = schema.table(part.name), part.alias_or_name
    name = f"{re.sub(r'[^A-Za-z0-9]', '_', table.name)}_rows"
    if schema.table(name) is not None or name.lower() in cte_names(tree):
        return None
    query = exp.select("*").from_(exp.Table(this=identifier(table.name)))
    part.replace(exp.Table(this=identifier(name), alias=exp.TableAlias(this=identifier(alias))))
    _with(tree, exp.CTE(this=query, alias=exp.TableAlias(this=identifier(name))))
    return tree


def table_as_subquery(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """FROM t -> FROM (SELECT * FROM t) AS t."""
    part = _plain_table(tree, draw, schema)
    if part is None:
        return None
    query = exp.select("*").from_(exp.Table(this=identifier(schema.table(part.name).name)))
    part.replace(exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(part.alias_or_name))))
    return tree


def condition_into_subquery(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """FROM t WHERE a AND b -> FROM (SELECT * FROM t WHERE a) AS t WHERE b, where a reads t only."""
    found = [
        (select, part)
        for select in selects(tree)
        if select.args.get("where") is not None and is_inner(select) and len(from_parts(select)) >= 1
        for part in conjuncts(select.args["where"].this)
        if not list(part.find_all(exp.Query))
        and len({_alias(c, schema) for c in columns_in(part)} - {None}) == 1
        and None not in {_alias(c, schema) for c in columns_in(part)}
    ]
    if not found or reads_row_numbers(tree):
        return None
    select, condition = draw.choice(found)
    alias = _alias(columns_in(condition)[0], schema)
    source = next((one for one in from_parts(select) if one.alias_or_name.lower() == alias), None)
    if not isinstance(source, exp.Table):
        return None
    rest = joined(one.copy() for one in conjuncts(select.args["where"].this) if one is not condition)
    inner = exp.Table(this=source.this.copy(), alias=exp.TableAlias(this=identifier(source.alias_or_name)))
    query = exp.select("*").from_(inner).where(condition.copy())
    source.replace(exp.Subquery(this=query, alias=exp.TableAlias(this=identifier(source.alias_or_name))))
    select.set("where", exp.Where(this=rest) if rest is not None else None)
    return tree


def subquery_as_cte(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """WHERE x > (SELECT AVG(x) FROM t) -> WITH one AS (SELECT AVG(x) AS v FROM t) ... WHERE x > (SELECT v FROM one)."""
    found = [
        one
        for one in tree.find_all(exp.Subquery)
        if isinstance(one.this, exp.Select)
        and len(one.this.expressions) == 1
        and not isinstance(one.parent, exp.From | exp.Join | exp.SetOperation)
        and one.find_ancestor(exp.CTE) is None
        and one.parent is not None
        and not _is_correlated(one.this, schema)
        and not one.this.expressions[0].find(exp.Star, exp.Window)
    ]
    node = pick(draw, (one for one in found if _is_bare(one.this)))
    name = "inner_rows"
    if node is None or schema.table(name) is not None or name in cte_names(tree):
        return None
    query = node.this.copy()
    query.set("expressions", [exp.Alias(this=query.expressions[0].unalias().copy(), alias=identifier("v"))])
    node.set("this", exp.select(exp.Column(this=identifier("v"))).from_(exp.Table(this=identifier(name))))
    _with(tree, exp.CTE(this=query, alias=exp.TableAlias(this=identifier(name))))
    return tree


def cte_as_subquery(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """WITH c AS (q) ... FROM c -> FROM (q) AS c, for a CTE that is read once."""
    ctes = tree.args.get("with_")
    if ctes is None or ctes.args.get("recursive"):
        return None
    read = {one.alias.lower(): [] for one in ctes.expressions}
    for table in tree.find_all(exp.Table):
        if table.name.lower() in read:
            read[table.name.lower()].append(table)
    cte = pick(
        draw, (one for one in ctes.expressions if len(read[one.alias.lower()]) == 1 and not one.args["alias"].columns)
    )
    if cte is None:
        return None
    table = read[cte.alias.lower()][0]
    alias = exp.TableAlias(this=identifier(table.alias_or_name))
    table.replace(exp.Subquery(this=cte.this.copy(), alias=alias))
    cte.pop()
    if not ctes.expressions:
        tree.set("with_", None)
    return tree


def in_as_exists(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """x IN (SELECT y FROM t WHERE c) -> EXISTS (SELECT 1 FROM t WHERE c AND y = x); NOT IN where nothing is NULL."""
    found = [one for one in tree.find_all(exp.In) if _membership(one, schema) is not None]
    node = pick(draw, found)
    if node is None:
        return None
    outer, _, select = _membership(node, schema)
    qualify(tree, schema)
    query = select.copy()
    (shown,) = (one.unalias() for one in select.expressions)
    test = exp.EQ(this=shown.copy(), expression=exp.column(identifier(node.this.name), table=source_name(node, outer)))
    where = query.args.get("where")
    parts = [part.copy() for part in conjuncts(where.this)] if where is not None else []
    query.set("where", exp.Where(this=joined([*parts, test])))
    query.set("expressions", [exp.Literal.number(1)])
    query.set("distinct", None)
    node.replace(exp.Exists(this=query))
    return tree


def in_as_join(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """x IN (SELECT key FROM t WHERE c) -> JOIN t ON x = t.key WHERE c, where key is t's primary key."""
    found = []
    for node in tree.find_all(exp.In):
        member = _membership(node, schema)
        if member is None or isinstance(node.parent, exp.Not) or len(from_parts(member[2])) != 1:
            continue
        outer_select, inner = node.find_ancestor(exp.Select), member[1]
        is_key = inner.table.primary_key == (inner.column.name,)
        where = outer_select.args.get("where")
        is_part = where is not None and any(part is node for part in conjuncts(where.this))
        is_free = inner.alias not in sources(outer_select, schema) and not shows_star(outer_select)
        if is_key and is_part and is_free and is_inner(outer_select):
            found.append((node, member, outer_select))
    if not found:
        return None
    node, (outer, _, select), outer_select = draw.choice(found)
    qualify(tree, schema)
    part = from_parts(select)[0].copy()
    (shown,) = (one.unalias() for one in select.expressions)
    on = exp.EQ(this=exp.column(identifier(node.this.name), table=source_name(node, outer)), expression=shown.copy())
    inner_where = select.args.get("where")
    more = [one.copy() for one in conjuncts(inner_where.this)] if inner_where is not None else []
    rest = [one.copy() for one in conjuncts(outer_select.args["where"].this) if one is not node]
    outer_select.append("joins", exp.Join(this=part, on=on))
    where = joined([*rest, *more])
    outer_select.set("where", exp.Where(this=where) if where is not None else None)
    return tree


def wrap_query(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """q -> SELECT * FROM (q) AS answer, where q has no ORDER BY and its columns have names of their own."""
    if tree.args.get("order") is not None or tree.args.get("with_") is not None:
        return None
    names = [one.alias_or_name.lower() for one in outermost(tree)[0].expressions]
    if len(set(names)) < len(names) or shows_star(outermost(tree)[0]):
        return None
    return exp.select("*").from_(exp.Subquery(this=tree.copy(), alias=exp.TableAlias(this=identifier("answer"))))


def _membership(node: exp.In, schema: Schema) -> tuple[Place, Place, exp.Select] | None:
    """(x, y, the subquery) of x IN (SELECT y FROM tables WHERE ...), where `y = x` tests the same."""
    query = node.args.get("query")
    select = query.this if isinstance(query, exp.Subquery) else query
    if not isinstance(select, exp.Select) or not isinstance(node.this, exp.Column) or len(select.expressions) != 1:
        return None
    shown = select.expressions[0].unalias()
    if (
        not isinstance(shown, exp.Column)
        or not _is_bare(select)
        or select.args.get("group")
        or select.args.get("having")
    ):
        return None
    outer, inner = place_of(node.this, schema), place_of(shown, schema)
    if outer is None or inner is None or outer.column.affinity != inner.column.affinity:
        return None
    if outer.alias in sources(select, schema) or None in sources(select, schema).values():
        return None
    above = node.parent
    is_negated = isinstance(above, exp.Not)
    never_null = all(one.column.name in one.table.never_null for one in (outer, inner))
    while isinstance(above, exp.Not | exp.And | exp.Or | exp.Paren):
        above = above.parent
    is_filter = isinstance(above, exp.Where)
    return (
        (outer, inner, select)
        if is_filter and (never_null or not _is_under_not(node)) and (not is_negated or never_null)
        else None
    )


def _is_under_not(node: exp.Expr) -> bool:
    return node.find_ancestor(exp.Not, exp.Where).__class__ is exp.Not


def _is_bare(select: exp.Select) -> bool:
    """Without clauses that choose among rows: no LIMIT, no ORDER BY, no CTE."""
    return not any(select.args.get(word) for word in ("limit", "offset", "order", "with_"))


def _is_correlated(select: exp.Select, schema: Schema) -> bool:
    """Whether a subquery reads, or may read, the query around it."""
    inside = {one.alias_or_name.lower() for one in select.find_all(exp.Table, exp.Subquery)}
    for column in columns_in(select):
        place = place_of(column, schema)
        if (
            place is None
            or place.alias not in inside
            or (not column.table and column.find_ancestor(exp.Select) is None)
        ):
            return True
        own_select = column.find_ancestor(exp.Select)
        if place.alias not in sources(own_select, schema):
            return True
    return False


def _plain_table(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Table | None:
    """A table in FROM that nothing asks for its row numbers."""
    if reads_row_numbers(tree):
        return None
    return pick(
        draw,
        (
            part
            for select in selects(tree)
            for part in from_parts(select)
            if isinstance(part, exp.Table) and sources(select, schema).get(part.alias_or_name.lower()) is not None
        ),
    )


def _with(tree: exp.Expr, cte: exp.CTE) -> None:
    ctes = tree.args.get("with_")
    if ctes is None:
        tree.set("with_", exp.With(expressions=[cte]))
    else:
        ctes.set("expressions", [cte, *ctes.expressions])


def _alias(column: exp.Column, schema: Schema) -> str | None:
    place = place_of(column, schema)
    return place.alias if place is not None else None
