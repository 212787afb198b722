"""Rewrites of conditions and expressions that mean the same: what another careful author would have written.

A rewrite takes a tree that it may change, a seeded draw and the schema; it returns the tree, or None where it does not
apply. It must keep the answer on every database that keeps the schema's keys; verified_mutations.py looks at five.
"""

from random import Random

from sqlglot import exp

from workbench.mutation_names import (
    conjuncts,
    identifier,
    joined,
    named,
    outermost,
    pick,
    place_of,
    places,
    selects,
    sources,
)
from workbench.schema import Schema

_FLIPPED = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ}
_OPPOSITE = {exp.GT: exp.LTE, exp.GTE: exp.LT, exp.LT: exp.GTE, exp.LTE: exp.GT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ}


def reorder_conditions(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a AND b -> b AND a."""
    node = pick(draw, tree.find_all(exp.And, exp.Or))
    if node is None:
        return None
    left, right = node.left.copy(), node.right.copy()
    is_and = isinstance(node, exp.And)
    right = exp.Paren(this=right) if is_and and isinstance(right, exp.Or) else right
    node.set("this", right)
    node.set("expression", exp.Paren(this=left) if isinstance(left, exp.And | exp.Or) else left)
    return tree


def flip_comparison(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a > b -> b < a."""
    node = pick(draw, (one for one in tree.find_all(*_FLIPPED) if type(one) in _FLIPPED))
    if node is None:
        return None
    node.replace(_FLIPPED[type(node)](this=node.right.copy(), expression=node.left.copy()))
    return tree


def negate_twice(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a = b -> NOT a <> b."""
    node = pick(draw, (one for one in tree.find_all(*_OPPOSITE) if type(one) in _OPPOSITE))
    if node is None:
        return None
    opposite = _OPPOSITE[type(node)](this=node.left.copy(), expression=node.right.copy())
    node.replace(exp.Paren(this=exp.Not(this=exp.Paren(this=opposite))))
    return tree


def apply_de_morgan(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """a AND b -> NOT (NOT a OR NOT b)."""
    node = pick(draw, (one for one in tree.find_all(exp.And, exp.Or) if not isinstance(one.parent, type(one))))
    if node is None:
        return None
    other = exp.Or if isinstance(node, exp.And) else exp.And
    left, right = (exp.Not(this=exp.Paren(this=side.copy())) for side in (node.left, node.right))
    node.replace(exp.Not(this=exp.Paren(this=other(this=left, expression=right))))
    return tree


def split_between(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """x BETWEEN a AND b -> x >= a AND x <= b."""
    node = pick(draw, tree.find_all(exp.Between))
    if node is None:
        return None
    above = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    below = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    node.replace(exp.Paren(this=exp.And(this=above, expression=below)))
    return tree


def join_between(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """x >= a AND x <= b -> x BETWEEN a AND b; x = a -> x BETWEEN a AND a."""
    pairs = [
        (low, high)
        for where in tree.find_all(exp.Where)
        for low in conjuncts(where.this)
        for high in conjuncts(where.this)
        if isinstance(low, exp.GTE) and isinstance(high, exp.LTE) and low.this == high.this
    ]
    if pairs:
        low, high = draw.choice(pairs)
        between = exp.Between(this=low.this.copy(), low=low.expression.copy(), high=high.expression.copy())
        low.replace(between)
        where = between.find_ancestor(exp.Where)
        where.set("this", joined(one.copy() for one in conjuncts(where.this) if one is not high))
        return tree
    node = pick(draw, (one for one in tree.find_all(exp.EQ) if isinstance(one.expression, exp.Literal)))
    if node is None:
        return None
    value = node.expression
    node.replace(exp.Between(this=node.this.copy(), low=value.copy(), high=value.copy()))
    return tree


def list_as_or(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """x IN (a, b) -> x = a OR x = b, for a column: a list's items take its affinity, so do both sides of =."""
    node = pick(draw, (one for one in tree.find_all(exp.In) if one.expressions and isinstance(one.this, exp.Column)))
    if node is None or not all(isinstance(one, exp.Literal) for one in node.expressions):
        return None
    found = None
    for value in node.expressions:
        test = exp.EQ(this=node.this.copy(), expression=value.copy())
        found = test if found is None else exp.Or(this=found, expression=test)
    node.replace(exp.Paren(this=found))
    return tree


def or_as_list(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """x = a OR x = b -> x IN (a, b); x = a -> x IN (a)."""
    found = []
    for node in tree.find_all(exp.Or, exp.EQ):
        parts = list(node.flatten()) if isinstance(node, exp.Or) else [node]
        parts = [one.unnest() for one in parts]
        tests = [one for one in parts if isinstance(one, exp.EQ) and isinstance(one.expression, exp.Literal)]
        are_alike = len(tests) == len(parts) and all(one.this == tests[0].this for one in tests)
        if are_alike and isinstance(tests[0].this, exp.Column) and not isinstance(node.parent, exp.Or):
            found.append((node, tests))
    if not found:
        return None
    longest = max(len(tests) for _, tests in found)
    node, tests = draw.choice([one for one in found if len(one[1]) == longest])
    node.replace(exp.In(this=tests[0].this.copy(), expressions=[one.expression.copy() for one in tests]))
    return tree


def add_tautology(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """WHERE a -> WHERE a AND 1 = 1."""
    select = pick(draw, (one for one in selects(tree) if one.args.get("from_") is not None))
    if select is None:
        return None
    where = select.args.get("where")
    always = exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(1))
    parts = [where.this.copy()] if where is not None else []
    select.set("where", exp.Where(this=joined([*parts, always])))
    return tree


def coalesce_itself(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """A shown column x -> COALESCE(x, NULL), under its name; not where rows are told apart by it."""
    found = [
        node
        for select in outermost(tree)
        if select.args.get("distinct") is None and not isinstance(tree, exp.SetOperation)
        for node in select.expressions
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier)
    ]
    node = pick(draw, found)
    if node is None:
        return None
    same = exp.Coalesce(this=node.copy(), expressions=[exp.Null()])
    node.replace(exp.Alias(this=same, alias=identifier(node.name)))
    return tree


def count_rows_by_key(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """COUNT(*) -> COUNT(key), for a column that holds no NULL of a table that no outer join fills with NULLs."""
    node = pick(draw, (one for one in tree.find_all(exp.Count) if isinstance(one.this, exp.Star)))
    select = node.find_ancestor(exp.Select) if node is not None else None
    place = pick(draw, _never_null(select, schema)) if select is not None else None
    if place is None:
        return None
    node.set("this", named(select, place))
    return tree


def count_rows(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """COUNT(key) -> COUNT(*), under the same conditions."""
    found = []
    for node in tree.find_all(exp.Count):
        select = node.find_ancestor(exp.Select)
        place = place_of(node.this, schema) if isinstance(node.this, exp.Column) and select is not None else None
        if place is not None and place in _never_null(select, schema):
            found.append(node)
    node = pick(draw, found)
    if node is None:
        return None
    node.set("this", exp.Star())
    return tree


def count_values(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """COUNT(x) -> COUNT(CASE WHEN x IS NOT NULL THEN 1 END); COUNT(*) -> COUNT(1)."""
    node = pick(draw, (one for one in tree.find_all(exp.Count) if not isinstance(one.this, exp.Distinct)))
    if node is None:
        return None
    one = exp.Literal.number(1)
    if not isinstance(node.this, exp.Star):
        test = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.Null()))
        one = exp.Case(ifs=[exp.If(this=test, true=one)])
    node.set("this", one)
    return tree


def _never_null(select: exp.Select, schema: Schema) -> list:
    """Places of a SELECT's tables that are never NULL; none where there is an outer join or a table is not known."""
    if any(join.side for join in select.args.get("joins") or ()) or None in sources(select, schema).values():
        return []
    return [one for one in places(select, schema) if one.column.name in one.table.never_null]
