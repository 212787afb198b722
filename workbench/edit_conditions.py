"""Edits of what a query tests and computes: conditions, operators, constants, functions, NULLs.

An edit takes a tree that it may change, a seeded draw and the schema; it returns the tree, or None where it does not
apply. Whether the answer changes is for verified_mutations.py to say.
"""

from random import Random

from sqlglot import exp

from workbench.mutation_names import clause_of, columns_in, conjuncts, identifier, joined, named, pick, places, selects
from workbench.schema import Schema

_WEAKER = {exp.GT: exp.GTE, exp.GTE: exp.GT, exp.LT: exp.LTE, exp.LTE: exp.LT}
_TURNED = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.GTE, exp.NEQ: exp.LT}
_ARITHMETIC = {exp.Add: exp.Sub, exp.Sub: exp.Add, exp.Mul: exp.Add, exp.Div: exp.Mul}
_TESTS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Between, exp.In, exp.Is, exp.Glob)


def drop_condition(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget one condition of a WHERE."""
    where = pick(draw, tree.find_all(exp.Where))
    if where is None:
        return None
    parts = conjuncts(where.this)
    lost = draw.randrange(len(parts))
    kept = joined(part.copy() for place, part in enumerate(parts) if place != lost)
    if kept is None and isinstance(where.parent, exp.Filter):
        where.parent.replace(where.parent.this)
    elif kept is None:
        where.pop()
    else:
        where.set("this", kept)
    return tree


def extra_condition(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Ask for more than the question does: only rows above the mean of some number."""
    found = [
        (select, place)
        for select in selects(tree)
        for place in places(select, schema)
        if place.column.kind in ("integer", "real")
    ]
    if not found:
        return None
    select, place = draw.choice(found)
    column = named(select, place)
    mean = exp.select(exp.Avg(this=exp.Column(this=column.this.copy())))
    mean = mean.from_(exp.Table(this=identifier(place.table.name)))
    more = exp.GTE(this=column, expression=exp.Subquery(this=mean))
    where = select.args.get("where")
    parts = conjuncts(where.this) if where is not None else []
    select.set("where", exp.Where(this=joined([*(part.copy() for part in parts), more])))
    return tree


def negate_condition(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Turn one test into its opposite."""
    node = pick(draw, (one for one in _tests(tree) if not isinstance(one.expression, exp.Subquery)))
    if node is None or isinstance(node.args.get("query"), exp.Subquery):
        return None
    opposite = {exp.EQ: exp.NEQ, exp.NEQ: exp.EQ}.get(type(node))
    if opposite is not None:
        node.replace(opposite(this=node.this, expression=node.expression))
    elif isinstance(node.parent, exp.Not):
        node.parent.replace(node)
    else:
        node.replace(exp.Not(this=node.copy()))
    return tree


def weaken_comparison(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Let the bound itself in, or leave it out."""
    node = pick(draw, (one for one in tree.find_all(*_WEAKER) if type(one) in _WEAKER))
    if node is None:
        return None
    node.replace(_WEAKER[type(node)](this=node.this, expression=node.expression))
    return tree


def turn_comparison(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Compare the other way round."""
    node = pick(draw, (one for one in _tests(tree) if type(one) in _TURNED))
    if node is None:
        return None
    node.replace(_TURNED[type(node)](this=node.this, expression=node.expression))
    return tree


def swap_and_or(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Join two conditions by the other word."""
    node = pick(draw, (one for one in tree.find_all(exp.And, exp.Or) if clause_of(one) in (exp.Where, exp.Having)))
    if node is None:
        return None
    other = exp.Or if isinstance(node, exp.And) else exp.And
    new = other(this=node.left, expression=node.right)
    node.replace(exp.Paren(this=new) if isinstance(node.parent, exp.And | exp.Or) else new)
    return tree


def wrong_number(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Use a number near the right one, or of another size."""
    node = pick(draw, (one for one in tree.find_all(exp.Literal) if _is_tested_number(one)))
    if node is None:
        return None
    value = float(node.this)
    value = draw.choice([value + 1, value - 1, value * 10, value / 10])
    if value < 0:
        return None
    text = str(int(value)) if value.is_integer() and "." not in node.this else f"{value:.10g}"
    node.replace(exp.Literal.number(text))
    return tree


def wrong_text(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Spell a text as a question might: in other letters, or without its ending; or take another text of the query."""
    texts = [one for one in tree.find_all(exp.Literal) if one.is_string and len(one.this) > 1 and _is_tested(one)]
    node = pick(draw, texts)
    if node is None or isinstance(node.parent, exp.Like):
        return None
    text, others = node.this, sorted({one.this for one in texts} - {node.this})
    changed = [text.lower(), text.upper(), text[:-1], text.split()[0], *others]
    new = pick(draw, (one for one in changed if one != text))
    if new is None:
        return None
    node.replace(exp.Literal.string(new))
    return tree


def wrong_pattern(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Anchor a LIKE's pattern that floats, float one that is anchored, or compare with its text."""
    node = pick(draw, (one for one in tree.find_all(exp.Like) if one.expression.is_string))
    if node is None:
        return None
    pattern = node.expression.this
    bare = pattern.strip("%")
    new = pick(draw, sorted({f"{bare}%", f"%{bare}", f"%{bare}%", bare} - {pattern}))
    node.set("expression", exp.Literal.string(new))
    return tree


def narrow_range(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Leave the bounds of a BETWEEN out, or forget one of them."""
    node = pick(draw, tree.find_all(exp.Between))
    if node is None:
        return None
    above = exp.GT(this=node.this.copy(), expression=node.args["low"].copy())
    below = exp.LT(this=node.this.copy(), expression=node.args["high"].copy())
    node.replace(draw.choice([exp.Paren(this=exp.And(this=above, expression=below)), above, below]))
    return tree


def shorten_list(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget one value of an IN list."""
    node = pick(draw, (one for one in tree.find_all(exp.In) if len(one.expressions) > 1))
    if node is None:
        return None
    draw.choice(node.expressions).pop()
    return tree


def wrong_null_test(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Compare with NULL or '' where the query asks whether something is NULL."""
    node = pick(draw, (one for one in tree.find_all(exp.Is) if isinstance(one.expression, exp.Null)))
    if node is None:
        return None
    value = draw.choice([exp.Null(), exp.Literal.string("")])
    node.replace(exp.EQ(this=node.this, expression=value))
    return tree


def nulls_as_zero(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Count NULLs as 0 where an aggregate or a comparison passes over them."""
    found = [one for one in tree.find_all(exp.Avg, exp.Min, exp.Count, exp.LT, exp.LTE) if columns_in(one.this)]
    node = pick(draw, (one for one in found if isinstance(one.this, exp.Column)))
    if node is None:
        return None
    node.set("this", exp.Coalesce(this=node.this.copy(), expressions=[exp.Literal.number(0)]))
    return tree


def wrong_function(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Lose a function around a value, or use its neighbour."""
    swapped = {exp.Upper: exp.Lower, exp.Lower: exp.Upper, exp.Length: exp.Upper, exp.Abs: exp.Round}
    kinds = (*swapped, exp.Round, exp.Substring, exp.Trim, exp.Coalesce)
    node = pick(draw, tree.find_all(*kinds))
    if node is None:
        return None
    if isinstance(node, exp.Substring) and node.args.get("length") is not None and draw.random() < 0.7:
        start = node.args["start"]
        node.set("start", exp.Literal.number(int(start.this) + 1) if start.is_int else exp.Literal.number(1))
    elif type(node) in swapped and draw.random() < 0.5:
        node.replace(swapped[type(node)](this=node.this))
    else:
        node.replace(node.this)
    return tree


def wrong_date_part(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Take another part of a date."""
    node = pick(draw, (one for one in tree.find_all(exp.TimeToStr) if one.args["format"].is_string))
    if node is None:
        return None
    old = node.args["format"].this
    new = pick(draw, (one for one in ("%Y", "%m", "%d", "%Y-%m", "%m-%d", "%H") if one != old))
    node.set("format", exp.Literal.string(new))
    return tree


def lose_cast(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Forget a cast, or write 100.0 as 100: integers divide as integers."""
    casts = list(tree.find_all(exp.Cast))
    whole = [one for one in tree.find_all(exp.Literal) if not one.is_string and one.this.endswith(".0")]
    node = pick(draw, casts + whole)
    if node is None:
        return None
    node.replace(node.this if isinstance(node, exp.Cast) else exp.Literal.number(node.this[:-2]))
    return tree


def wrong_arithmetic(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Use another sign of arithmetic, or forget one side."""
    node = pick(draw, (one for one in tree.find_all(*_ARITHMETIC) if type(one) in _ARITHMETIC))
    if node is None:
        return None
    new = _ARITHMETIC[type(node)](this=node.left, expression=node.right)
    node.replace(draw.choice([exp.Paren(this=new), node.left, node.right]))
    return tree


def swap_case(tree: exp.Expr, draw: Random, schema: Schema) -> exp.Expr | None:
    """Give the results of a CASE or IIF the wrong way round."""
    node = pick(
        draw, (one for one in tree.find_all(exp.If) if isinstance(one.parent, exp.Case) or one.args.get("false"))
    )
    if node is None:
        return None
    holder, word = (node, "false") if node.args.get("false") is not None else (node.parent, "default")
    if holder.args.get(word) is None:
        return None
    then, otherwise = node.args["true"].copy(), holder.args[word].copy()
    node.set("true", otherwise)
    holder.set(word, then)
    return tree


def _tests(tree: exp.Expr) -> list[exp.Expr]:
    """Tests of WHERE and HAVING, and those that CASE makes."""
    return [one for one in tree.find_all(*_TESTS) if clause_of(one) in (exp.Where, exp.Having) or _in_case(one)]


def _in_case(node: exp.Expr) -> bool:
    return isinstance(node.parent, exp.If) and node.arg_key == "this"


def _is_tested(node: exp.Expr) -> bool:
    return clause_of(node) in (exp.Where, exp.Having) or node.find_ancestor(exp.If, exp.Query).__class__ is exp.If


def _is_tested_number(node: exp.Literal) -> bool:
    return not node.is_string and _is_tested(node) and isinstance(node.parent, (*_TESTS, exp.Tuple))
