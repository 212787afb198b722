"""Rewrites of a query's shape that mean the same: names, joins, subqueries, CTEs, order, columns shown.

A rewrite takes a tree that it may change, a seeded draw and the schema; it returns the tree, or None where it does not
apply. It must keep the answer on every database that keeps the schema's keys; verified_mutations.py looks at five.
More and reordered columns count as the same answer (DF-Match maps columns by their values).
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
    is_aggregate,
    joined,
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

_ROW_NUMBERS = re.compile(r"rowid|oid|_rowid_", re.IGNORECASE)
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
    if new.lower() in everywhere or any(_ROW_NUMBERS.fullmatch(one.name) for one in columns_in(tree)):
        return None
    for column in select.find_all(exp.Column):
        if column.table.lower() == old.lower():
            column.set("table", identifier(new))
    part.set("alias", exp.TableAlias(this=identifier(new)))
    return tree


def qualify_columns(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """name -> singer.name, for every column of a table."""
    return tree if _qualify(tree, schema) else None


def swap_joined(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a JOIN b ON c -> b JOIN a ON c, where all joins are inner and no * is shown."""
    found = [one for one in selects(tree) if one.args.get("joins") and _is_inner(one) and not _shows_star(one)]
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
    select = pick(draw, (one for one in selects(tree) if _is_inner(one) and _on_conditions(one)))
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
    found = [one for one in selects(tree) if one.args.get("where") and _is_inner(one) and _on_conditions(one)]
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
        if select.args.get("where") is not None and _is_inner(select) and len(from_parts(select)) >= 1
        for part in conjuncts(select.args["where"].this)
        if not list(part.find_all(exp.Query))
        and len({_alias(c, schema) for c in columns_in(part)} - {None}) == 1
        and None not in {_alias(c, schema) for c in columns_in(part)}
    ]
    if not found or _reads_row_numbers(tree):
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
    _qualify(tree, schema)
    query = select.copy()
    (shown,) = (one.unalias() for one in select.expressions)
    test = exp.EQ(this=shown.copy(), expression=exp.column(identifier(node.this.name), table=_source_name(node, outer)))
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
        is_free = inner.alias not in sources(outer_select, schema) and not _shows_star(outer_select)
        if is_key and is_part and is_free and _is_inner(outer_select):
            found.append((node, member, outer_select))
    if not found:
        return None
    node, (outer, _, select), outer_select = draw.choice(found)
    _qualify(tree, schema)
    part = from_parts(select)[0].copy()
    (shown,) = (one.unalias() for one in select.expressions)
    on = exp.EQ(this=exp.column(identifier(node.this.name), table=_source_name(node, outer)), expression=shown.copy())
    inner_where = select.args.get("where")
    more = [one.copy() for one in conjuncts(inner_where.this)] if inner_where is not None else []
    rest = [one.copy() for one in conjuncts(outer_select.args["where"].this) if one is not node]
    outer_select.append("joins", exp.Join(this=part, on=on))
    where = joined([*rest, *more])
    outer_select.set("where", exp.Where(this=where) if where is not None else None)
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
    (select,) = selects_shown if len(selects_shown := outermost(tree)) == 1 else (None,)
    order = select.args.get("order") if select is not None else None
    if order is None or select.args.get("distinct") is not None:
        return None
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


def wrap_query(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """q -> SELECT * FROM (q) AS answer, where q has no ORDER BY and its columns have names of their own."""
    if tree.args.get("order") is not None or tree.args.get("with_") is not None:
        return None
    names = [one.alias_or_name.lower() for one in outermost(tree)[0].expressions]
    if len(set(names)) < len(names) or _shows_star(outermost(tree)[0]):
        return None
    return exp.select("*").from_(exp.Subquery(this=tree.copy(), alias=exp.TableAlias(this=identifier("answer"))))


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
    if select.args.get("distinct") is not None or _shows_star(select):
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


def _qualify(tree: exp.Expr, schema: Schema) -> bool:
    """Give columns of tables their table's name; whether there were any without. Not in ORDER BY, where aliases go first."""
    changed = False
    for select in selects(tree):
        aliases = {one.alias.lower() for one in select.expressions if isinstance(one, exp.Alias)}
        for column in own(select, exp.Column):
            if column.table or not isinstance(column.this, exp.Identifier) or column.name.lower() in aliases:
                continue
            place = place_of(column, schema)
            if place is not None:
                column.set("table", _source_name(column, place))
                changed = True
    return changed


def _source_name(node: exp.Expr, place: Place) -> exp.Identifier:
    """The alias as it is written where it is defined."""
    select = node.find_ancestor(exp.Select)
    while select is not None:
        for part in from_parts(select):
            if part.alias_or_name.lower() == place.alias:
                return identifier(part.alias_or_name)
        select = select.find_ancestor(exp.Select)
    return identifier(place.alias)


def _plain_table(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Table | None:
    """A table in FROM that nothing asks for its row numbers."""
    if _reads_row_numbers(tree):
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


def _reads_row_numbers(tree: exp.Expr) -> bool:
    return any(_ROW_NUMBERS.fullmatch(one.name) for one in columns_in(tree))


def _is_inner(select: exp.Select) -> bool:
    return not any(join.side or join.args.get("using") or join.method for join in select.args.get("joins") or ())


def _on_conditions(select: exp.Select) -> list[exp.Expr]:
    return [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on") is not None]


def _shows_star(select: exp.Select) -> bool:
    return any(one.find(exp.Star) is not None and not one.find(exp.Count) for one in select.expressions)


def _is_count(node: exp.Expr) -> bool:
    return isinstance(node.unalias(), exp.Count)


def _is_lone_name(tree: exp.Expr, select: exp.Select, name: str) -> bool:
    """Whether an alias that other SELECTs use too is, in this one and what is nested in it, one table's only."""
    inside = [one for one in select.find_all(exp.Table, exp.Subquery) if one.alias_or_name.lower() == name.lower()]
    return len(inside) == 1
