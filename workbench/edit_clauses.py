"""Edits of a query's clauses: aggregates, grouping, order, limit, DISTINCT, set operations, subqueries.

An edit takes a tree that it may change, a seeded draw and the schema; it returns the tree, or None where it does not
apply. Whether the answer changes is for verified_mutations.py to say.
"""

from random import Random

from sqlglot import exp

from workbench.mutation_names import (
    columns_in,
    is_aggregate,
    named,
    own,
    pick,
    place_of,
    places,
    selects,
)
from workbench.schema import Schema

_AGGREGATES = (exp.Max, exp.Min, exp.Avg, exp.Sum)
_RANKS = (exp.Rank, exp.DenseRank, exp.RowNumber)
_SET_OPERATIONS = (exp.Union, exp.Intersect, exp.Except)


def wrong_aggregate(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Use another aggregate, for COUNT(*) one of a number that the tables have."""
    node = pick(draw, (one for one in tree.find_all(*_AGGREGATES, exp.Count) if not isinstance(one.parent, exp.Window)))
    if node is None:
        return None
    kinds = [one for one in (*_AGGREGATES, exp.Count) if not isinstance(node, one)]
    value = node.this
    if isinstance(value, exp.Distinct):
        value, kinds = value.expressions[0], list(_AGGREGATES)
    if isinstance(value, exp.Star):
        select = node.find_ancestor(exp.Select)
        place = pick(draw, (one for one in places(select, schema) if one.column.kind in ("integer", "real")))
        if place is None:
            return None
        value, kinds = named(select, place), list(_AGGREGATES)
    node.replace(draw.choice(kinds)(this=value.copy()))
    return tree


def wrong_count(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Count values once where the query counts rows, or rows where it counts values once, or values that may be NULL."""
    node = pick(draw, tree.find_all(exp.Count))
    if node is None:
        return None
    if isinstance(node.this, exp.Distinct):
        node.set("this", node.this.expressions[0].copy())
        return tree
    value, select = node.this, node.find_ancestor(exp.Select)
    if isinstance(value, exp.Star):
        place = pick(draw, places(select, schema))
        if place is None:
            return None
        value = named(select, place)
    node.set("this", exp.Distinct(expressions=[value.copy()]) if draw.random() < 0.8 else value.copy())
    return tree


def drop_group_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget a key of GROUP BY, with the only one the clause."""
    group = pick(draw, tree.find_all(exp.Group))
    if group is None or not group.expressions:
        return None
    if len(group.expressions) > 1:
        draw.choice(group.expressions).pop()
    else:
        group.pop()
    return tree


def add_group_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Group by one more column, also where nothing is grouped."""
    select = pick(draw, (one for one in selects(tree) if one.args.get("group") or is_aggregate_query(one)))
    if select is None:
        return None
    group = select.args.get("group")
    there = {column.name.lower() for column in columns_in(group)}
    place = pick(draw, (one for one in places(select, schema) if one.column.name.lower() not in there))
    if place is None:
        return None
    keys = [one.copy() for one in group.expressions] if group is not None else []
    select.set("group", exp.Group(expressions=[*keys, named(select, place)]))
    return tree


def wrong_group_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Group by another column of the table, and show what the question asks for all the same."""
    column = pick(draw, (one for group in tree.find_all(exp.Group) for one in columns_in(group)))
    place = place_of(column, schema) if column is not None else None
    if place is None:
        return None
    select = column.find_ancestor(exp.Select)
    others = [one for one in places(select, schema) if one.alias == place.alias and one.column != place.column]
    other = pick(draw, others)
    if other is None:
        return None
    column.replace(named(select, other))
    return tree


def drop_having(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget the condition on groups."""
    having = pick(draw, tree.find_all(exp.Having))
    if having is None:
        return None
    having.pop()
    return tree


def turn_order(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Sort the other way round."""
    node = pick(draw, _order_keys(tree))
    if node is None:
        return None
    node.set("nulls_first", bool(node.args.get("desc")))  # where SQLite puts them, so that nothing is written for it
    node.set("desc", None if node.args.get("desc") else True)
    return tree


def drop_order_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget a key of ORDER BY, with the only one the clause."""
    node = pick(draw, _order_keys(tree))
    if node is None or not isinstance(node.parent, exp.Order) or isinstance(node.parent.parent, exp.Window):
        return None
    order = node.parent
    (node if len(order.expressions) > 1 else order).pop()
    return tree


def wrong_order_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Sort by another column of the tables."""
    node = pick(draw, _order_keys(tree))
    select = node.find_ancestor(exp.Select) if node is not None else None
    if select is None:
        return None
    there = {column.name.lower() for column in columns_in(node)}
    place = pick(draw, (one for one in places(select, schema) if one.column.name.lower() not in there))
    if place is None:
        return None
    node.set("this", named(select, place))
    return tree


def shift_limit(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Ask for a row more or fewer."""
    node = pick(draw, (one for one in tree.find_all(exp.Limit) if one.expression.is_int))
    if node is None:
        return None
    count = int(node.expression.this)
    node.set("expression", exp.Literal.number(count + draw.choice([1, 1, -1, 2]) if count > 1 else count + 1))
    return tree


def drop_limit(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget LIMIT."""
    node = pick(draw, tree.find_all(exp.Limit))
    if node is None:
        return None
    query = node.parent
    query.set("offset", None)
    node.pop()
    return tree


def shift_offset(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Skip one row too many, or none where some are to be skipped."""
    node = pick(draw, tree.find_all(exp.Limit))
    if node is None:
        return None
    query = node.parent
    old = query.args.get("offset")
    query.set("offset", exp.Offset(expression=exp.Literal.number(1)) if old is None else None)
    return tree


def drop_distinct(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget the DISTINCT of a SELECT."""
    select = pick(draw, (one for one in selects(tree) if one.args.get("distinct") is not None))
    if select is None:
        return None
    select.set("distinct", None)
    return tree


def add_distinct(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Take rows, or the values that an aggregate adds up, once only."""
    sums = [one for one in tree.find_all(exp.Sum, exp.Avg) if not isinstance(one.this, exp.Distinct)]
    node = pick(draw, [one for one in selects(tree) if one.args.get("distinct") is None] + sums)
    if node is None:
        return None
    if isinstance(node, exp.Select):
        node.set("distinct", exp.Distinct())
    else:
        node.set("this", exp.Distinct(expressions=[node.this.copy()]))
    return tree


def wrong_set_operation(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Join two queries by another word."""
    node = pick(draw, (one for one in tree.find_all(*_SET_OPERATIONS) if type(one) in _SET_OPERATIONS))
    if node is None:
        return None
    other = draw.choice([one for one in _SET_OPERATIONS if one is not type(node)])
    new = other(**{word: value for word, value in node.args.items() if value is not None})
    new.set("distinct", True)
    if node.parent is None:
        return new
    node.replace(new)
    return tree


def lose_set_side(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Answer with one of the two queries only."""
    node = pick(draw, (one for one in tree.find_all(*_SET_OPERATIONS) if type(one) in _SET_OPERATIONS))
    if node is None:
        return None
    kept = draw.choice([node.left, node.left, node.right]).copy()
    for word in ("with_", "order", "limit", "offset"):
        if node.args.get(word) is not None and kept.args.get(word) is None:
            kept.set(word, node.args[word].copy())
    if node.parent is None:
        return kept
    node.replace(kept)
    return tree


def swap_set_sides(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Take the first query away from the second."""
    node = pick(draw, tree.find_all(exp.Except))
    if node is None:
        return None
    left, right = node.left.copy(), node.right.copy()
    node.set("this", right)
    node.set("expression", left)
    return tree


def negate_subquery(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Ask for what is not in a subquery, or the other way round."""
    found = [one for one in tree.find_all(exp.In) if one.args.get("query") is not None]
    node = pick(draw, found + list(tree.find_all(exp.Exists)))
    if node is None:
        return None
    if isinstance(node.parent, exp.Not):
        node.parent.replace(node)
    else:
        node.replace(exp.Not(this=node.copy()))
    return tree


def unfiltered_subquery(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget what a subquery asks for: its WHERE, its HAVING or its LIMIT."""
    inner = [
        one for one in selects(tree) if one.find_ancestor(exp.Select) is not None or isinstance(one.parent, exp.CTE)
    ]
    found = [(one, word) for one in inner for word in ("where", "having", "limit") if one.args.get(word) is not None]
    if not found:
        return None
    select, word = draw.choice(found)
    select.set(word, None)
    return tree


def wrong_subquery_column(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Let a subquery give another column."""
    inner = [one.args["query"].this for one in tree.find_all(exp.In) if one.args.get("query") is not None]
    inner += [one.this for one in tree.find_all(exp.Subquery) if not isinstance(one.parent, exp.From | exp.Join)]
    found = [
        (select, column, place)
        for select in inner
        if isinstance(select, exp.Select)
        for column in (c for one in select.expressions for c in columns_in(one))
        if (place := place_of(column, schema)) is not None
    ]
    if not found:
        return None
    select, column, place = draw.choice(found)
    other = pick(draw, (one for one in places(select, schema) if one.column.name != place.column.name))
    if other is None:
        return None
    column.replace(named(select, other))
    return tree


def aggregate_for_subquery(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Compare with another aggregate of the subquery's column."""
    inner = [one.this for one in tree.find_all(exp.Subquery) if isinstance(one.this, exp.Select)]
    node = pick(draw, (one for select in inner for one in own(select, *_AGGREGATES)))
    if node is None:
        return None
    kind = draw.choice([one for one in _AGGREGATES if not isinstance(node, one)])
    node.replace(kind(this=node.this.copy()))
    return tree


def wrong_rank(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Number rows by another rule for ties."""
    node = pick(draw, tree.find_all(*_RANKS))
    if node is None:
        return None
    node.replace(draw.choice([one for one in _RANKS if not isinstance(node, one)])())
    return tree


def is_aggregate_query(select: exp.Select) -> bool:
    """Whether a SELECT without GROUP BY makes one row of all."""
    return any(is_aggregate(one) for one in select.expressions)


def _order_keys(tree: exp.Expr) -> list[exp.Ordered]:
    return list(tree.find_all(exp.Ordered))
