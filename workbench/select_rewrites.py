"""What stricter engines want of a finished query: functions that change sqlglot's tree in place.

In: the tree that `plan_to_sql` made. A dialect calls those that its engine needs when it writes the text.
"""

from collections.abc import Iterator

from sqlglot import exp

from workbench.dialects.base import bracketed

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
        having = select.args.get("having")
        parts = [] if select.args.get("group") else [*_places(select), *([having.this] if having else ())]
        calls = [call.name for part in parts for call in _aggregates(part)]
        if calls and set(calls) == {"ANY_VALUE"}:
            count = exp.Anonymous(this="COUNT", expressions=[exp.Star()])
            holds = exp.GTE(this=count, expression=exp.Literal.number(0))
            select.set("having", exp.Having(this=exp.and_(holds, having.this) if having else holds))


def drop_constant_keys(tree: exp.Expr) -> None:
    """For engines that take a number in a window's keys for a column's place. A constant sets no row apart."""
    for window in list(tree.find_all(exp.Window)):
        window.set("partition_by", [key for key in window.args.get("partition_by") or () if not _is_number(key)])
        order = window.args.get("order")
        keys = [key for key in order.expressions if not _is_number(key.this)] if order is not None else []
        if keys or not _has_distances(window):
            window.set("order", exp.Order(expressions=keys) if keys else None)
            continue
        for key in order.expressions:
            key.set("this", exp.Add(this=key.this, expression=exp.Literal.number(0)))


def _is_number(tree: exp.Expr) -> bool:
    inner = tree.this if isinstance(tree, exp.Neg) else tree
    return isinstance(inner, exp.Literal) and not inner.is_string


def _has_distances(window: exp.Window) -> bool:
    spec = window.args.get("spec")
    ends = (spec.args["start"], spec.args["end"]) if spec is not None and spec.text("kind") == "RANGE" else ()
    return any(isinstance(end, exp.Expr) for end in ends)


def spell_null_order(tree: exp.Expr) -> None:
    """For engines where NULLs are the smallest, and no words put them elsewhere: a key of its own does."""
    for order in reversed(list(tree.find_all(exp.Order))):  # the innermost first, as keys are copied
        keys = []
        for key in order.expressions:
            nulls_first, is_descending = bool(key.args.get("nulls_first")), bool(key.args.get("desc"))
            if nulls_first is is_descending:
                place = _behind(key.this, order.parent)
                is_null = exp.Is(this=bracketed(place, 4), expression=exp.Null())
                keys.append(exp.Ordered(this=is_null, desc=nulls_first or None, nulls_first=not nulls_first))
                key.set("nulls_first", not is_descending)
            keys.append(key)
        order.set("expressions", keys)


def _behind(tree: exp.Expr, query: exp.Expr) -> exp.Expr:
    """A sort key; for a name of the select list what it stands for, as names are known only where they stand alone."""
    items = (
        query.expressions if isinstance(query, exp.Select) and isinstance(tree, exp.Column) and not tree.table else ()
    )
    found = [item.this if _is_named(item) else item for item in items if item.alias_or_name == tree.name]
    return (found[0] if len(found) == 1 else tree).copy()


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


def sort_excepts(tree: exp.Expr) -> None:
    """For engines that take an EXCEPT of one row, on the inner side of an outer join or in EXISTS, for empty: sorted it is
    not."""
    if not any(join.side for join in tree.find_all(exp.Join)) and tree.find(exp.Exists) is None:
        return
    for difference in list(tree.find_all(exp.Except)):
        is_source = isinstance(difference.parent, exp.Subquery | exp.CTE) and not difference.args.get("order")
        if is_source:
            first_column = exp.Ordered(this=exp.Literal.number(1), nulls_first=True)
            difference.set("order", exp.Order(expressions=[first_column]))


def first_select(tree: exp.Expr) -> exp.Select:
    """The leftmost SELECT of set operations."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree
