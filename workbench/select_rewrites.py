"""What stricter engines want of a finished query: functions that change sqlglot's tree in place.

In: the tree that `plan_to_sql` made. A dialect calls those that its engine needs when it writes the text.
"""

from collections.abc import Iterator

from sqlglot import exp

_AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "ANY_VALUE", "GROUP_CONCAT")
_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.Neg)


def name_group_keys(tree: exp.Expr) -> None:
    """For engines that know a group key which is no column only where it stands alone.

    Inside another expression it becomes any of its group's values. HAVING knows nothing but columns, aggregates and
    names of the select list: there it becomes such a name, else its minimum.
    """
    for select in list(tree.find_all(exp.Select)):
        group = select.args.get("group")
        keys = [key for key in group.expressions if _is_computed(key)] if group is not None else []
        if having := select.args.get("having"):
            names = {one.this: exp.column(one.args["alias"].copy()) for one in select.expressions if _is_named(one)}
            having.set("this", having.this.transform(_in_having, keys, names))
        for place in list(_places(select)) if keys else ():
            if place not in keys:
                place.replace(place.transform(_in_select, keys, "ANY_VALUE"))


def group_any_values(tree: exp.Expr) -> None:
    """For engines that take ANY_VALUE alone for no aggregate: a HAVING that always holds makes the one group."""
    for select in list(tree.find_all(exp.Select)):
        parts = [part for part in _places(select) if not select.args.get("group") and not select.args.get("having")]
        calls = [call.name for part in parts for call in _aggregates(part)]
        if calls and set(calls) == {"ANY_VALUE"}:
            count = exp.Anonymous(this="COUNT", expressions=[exp.Star()])
            select.set("having", exp.Having(this=exp.GTE(this=count, expression=exp.Literal.number(0))))


def _aggregates(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The aggregates of this query in an expression, but not those over windows."""
    for part in tree.walk(prune=lambda part: isinstance(part, exp.Select) or _is_aggregate(part)):
        if _is_aggregate(part):
            yield part


def _is_aggregate(tree: exp.Expr) -> bool:
    is_window = isinstance(tree.parent, exp.Window) and tree.arg_key == "this"
    is_call = isinstance(tree, exp.GroupConcat) or (isinstance(tree, exp.Anonymous) and tree.name in _AGGREGATES)
    return is_call and not is_window


def _is_computed(key: exp.Expr) -> bool:
    return not isinstance(key, exp.Column) and key.find(exp.Column) is not None


def _is_named(item: exp.Expr) -> bool:
    return isinstance(item, exp.Alias)


def _places(select: exp.Select) -> Iterator[exp.Expr]:
    for item in select.expressions:
        yield item.this if _is_named(item) else item
    order = select.args.get("order")
    yield from (key.this for key in order.expressions) if order is not None else ()


def _in_select(tree: exp.Expr, keys: list[exp.Expr], name: str) -> exp.Expr:
    if tree in keys:
        return exp.Anonymous(this=name, expressions=[tree.copy()])
    # a copy ends the walk: what is inside is read row by row, or is another query's
    return tree.copy() if isinstance(tree, exp.Select) or _is_aggregate(tree) else tree


def _in_having(tree: exp.Expr, keys: list[exp.Expr], names: dict[exp.Expr, exp.Expr]) -> exp.Expr:
    is_any = isinstance(tree, exp.Anonymous) and tree.name == "ANY_VALUE"
    if (is_any or tree in keys) and tree in names:
        return names[tree].copy()
    if is_any:
        return exp.Anonymous(this="MIN", expressions=[tree.expressions[0].copy()])
    return _in_select(tree, keys, "MIN")


def sign_ranks(tree: exp.Expr, integer_type: str) -> None:
    """For engines whose ranks are unsigned, so that computing with them fails below 0."""
    if not any(not isinstance(part.this, exp.Literal) for part in tree.find_all(*_ARITHMETIC)):
        return
    for window in list(tree.find_all(exp.Window)):
        if isinstance(window.this, exp.Anonymous) and window.this.name in _RANKS:
            window.replace(exp.Cast(this=window.copy(), to=exp.Var(this=integer_type)))


def widen_recursions(tree: exp.Expr, text_type: str) -> None:
    """For engines where a recursive query's columns are as wide as its first row's: texts get a wide type there."""
    for clause in list(tree.find_all(exp.With)):
        for definition in clause.expressions if clause.recursive else ():
            if not isinstance(definition.this, exp.SetOperation):
                continue
            for item in first_select(definition.this).expressions:
                value = item.this if _is_named(item) else item
                is_text = isinstance(value, exp.Literal) and value.is_string
                if is_text or (isinstance(value, exp.Anonymous) and value.name == "CONCAT"):
                    value.replace(exp.Cast(this=value.copy(), to=exp.Var(this=text_type)))


def first_select(tree: exp.Expr) -> exp.Select:
    """The leftmost SELECT of set operations."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree
