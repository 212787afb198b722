"""Subqueries that read columns of the query around them, for engines that only run those that are simple joins.

In: lowered relations and expressions. Out: the same meaning without what such an engine (ClickHouse) does not join in:
first rows become aggregates, IN becomes EXISTS, orders that change nothing go. What remains is refused by name.
"""

from collections.abc import Callable
from dataclasses import fields, replace

from workbench.core_functions import Core, TypedAggregation
from workbench.errors import UnsupportedError
from workbench.plan import (
    Aggregate,
    As,
    Distinct,
    Filter,
    Join,
    Project,
    Ref,
    Relation,
    Scan,
    SetOperation,
    Sort,
    Values,
    Window,
    With,
    walk_relations,
)
from workbench.plan_columns import Item
from workbench.plan_expressions import Column, Exists, Expression, InQuery, Literal, SortKey, Subquery, rewrite, walk

ONE = (Item(Literal(1), "found"),)


def never_null(root: Relation) -> frozenset[tuple]:
    """Keys of the tables' columns that hold no NULL anywhere in a plan: declared so, and filled up by no outer join."""
    found: dict[tuple, bool] = {}
    for relation in walk_relations(root):
        if isinstance(relation, Scan):
            for field in relation.fields:
                found[field.key] = found.get(field.key, True) and field.name in relation.never_null
        elif isinstance(relation, Join) and relation.kind in ("left", "right", "full"):
            filled = [*([relation.right] * (relation.kind != "right")), *([relation.left] * (relation.kind != "left"))]
            found |= {field.key: False for one in filled for field in one.fields}
        elif isinstance(relation, As | Ref) or (isinstance(relation, Aggregate) and not relation.keys):
            found |= {field.key: False for field in relation.fields}
    return frozenset(key for key, is_full in found.items() if is_full)


def lift_queries(node: Relation) -> Relation:
    """Queries that read columns around them, from sorts, groupings and windows into a projection below."""
    node = _over_inputs(node)
    if isinstance(node, Join) and any(_reads_around(part) for part in _conjuncts(node)):
        return _filtered(node)
    if isinstance(node, Join) and node.kind in ("semi", "anti"):
        return _tested(node)
    if not isinstance(node, Sort | Aggregate | Window):
        return node
    lifted: dict[Expression, Item] = {}

    def lift(part: Expression) -> Expression | None:
        if _is_correlated(part):
            item = lifted.setdefault(part, Item(part, f"lifted{len(lifted) + 1}"))
            return item.field.column()
        return None

    parts = changed_parts(node, lambda value: rewrite(value, lift))
    if not lifted:
        return node
    kept = tuple(Item.keep(field.column()) for field in node.input.fields)
    new = replace(node, **parts | {"input": Project(node.input, (*kept, *lifted.values()))})
    return new if isinstance(new, Aggregate) else Project(new, tuple(Item.keep(one.column()) for one in node.fields))


def _is_correlated(part: Expression) -> bool:
    return isinstance(part, Subquery | InQuery | Exists) and bool(part.query.outer_columns)


def _reads_around(value: Expression) -> bool:
    return any(_is_correlated(part) for part in walk(value))


def _conjuncts(node: Join | Filter) -> tuple[Expression, ...]:
    condition = node.on if isinstance(node, Join) else node.condition
    is_and = isinstance(condition, Core) and condition.name == "and"
    return condition.args if is_and else (condition,) if condition is not None else ()


def _filtered(node: Join) -> Relation:
    """A join, what its condition asks of correlated queries asked of its rows."""
    if node.kind != "inner":
        raise UnsupportedError("a subquery that reads the joined tables' columns in an outer join's condition")
    plain_parts = [part for part in _conjuncts(node) if not _reads_around(part)]
    other_parts = [part for part in _conjuncts(node) if _reads_around(part)]
    join = replace(node, on=_all(plain_parts)) if plain_parts else Join(node.left, node.right, "cross")
    return Filter(join, _all(other_parts))


def _tested(node: Join) -> Filter:
    """A semi or anti join as the question whether there is a partner, which is asked as every other one."""
    here = {field.key for field in node.left.fields}

    def outer(part: Expression) -> Expression | None:
        is_left = isinstance(part, Column) and not part.is_outer and _key(part) in here
        return replace(part, is_outer=True) if is_left else None

    found = Exists(Project(Filter(node.right, rewrite(node.on, outer)), ONE))
    return Filter(node.left, found if node.kind == "semi" else Core("not", (found,), "condition"))


def _all(conditions: list[Expression]) -> Expression:
    return Core("and", tuple(conditions), "condition") if len(conditions) > 1 else conditions[0]


def _over_inputs(node: Relation) -> Relation:
    """The same operator over inputs and queries that were rewritten."""

    def inner(part: Expression) -> Expression | None:
        if not isinstance(part, Subquery | InQuery | Exists):
            return None
        new = replace(part, query=lift_queries(part.query))
        return (
            replace(new, values=tuple(rewrite(one, inner) for one in new.values)) if isinstance(new, InQuery) else new
        )

    node = replace(node, **changed_parts(node, lambda value: rewrite(value, inner)))
    if isinstance(node, Join | SetOperation):
        return replace(node, left=lift_queries(node.left), right=lift_queries(node.right))
    if isinstance(node, With):
        definitions = tuple(replace(one, query=lift_queries(one.query)) for one in node.definitions)
        return replace(node, definitions=definitions, input=lift_queries(node.input))
    return replace(node, input=lift_queries(node.input)) if node.inputs else node


def changed_parts(node: Relation, change: Callable[[Expression], Expression]) -> dict[str, object]:
    """The operator's parts with each of its own expressions changed."""

    def changed(value: object) -> object:
        if isinstance(value, Expression):
            return change(value)
        if isinstance(value, tuple):
            return tuple(changed(part) for part in value)
        if isinstance(value, Item | SortKey):
            return replace(value, value=change(value.value))
        return value

    return {one.name: changed(getattr(node, one.name)) for one in fields(node)}


def one_value(query: Relation) -> Relation:
    """A scalar query that gives one row at most by what it computes, not by a limit."""
    value: Expression = query.fields[0].column()
    node, order, is_cut = query, (), False
    while isinstance(node, Project | Sort | Distinct):
        if isinstance(node, Project):
            value = _read_below(value, node)
        elif isinstance(node, Sort):
            if node.offset is not None or not (node.limit is None or _is(node.limit, 1)):
                raise UnsupportedError("LIMIT of other than one row in a subquery that reads columns around it")
            order = () if is_cut and not node.keys else order or node.keys
            is_cut = True
        node = node.input
    node = plain(node)
    if isinstance(node, Aggregate) and any(isinstance(part, Column) and part.is_outer for part in walk(value)):
        raise UnsupportedError("a column around a subquery beside its aggregates")
    if isinstance(node, Aggregate) and not node.keys:
        return Project(node, (Item(value, query.fields[0].name),))
    if not is_cut:
        return Project(node, (Item(value, query.fields[0].name),)) if isinstance(query, Project) else node
    return Aggregate(node, (), (Item(_first(value, order), query.fields[0].name),))


def _first(value: Expression, order: tuple) -> Expression:
    if not order:
        return TypedAggregation("any_value", (value,), kind=value.type)
    is_descending, parts = order[0].is_descending, []
    for key in order:
        one = key.value
        if key.is_descending != is_descending:
            if one.type not in ("integer", "real"):
                raise UnsupportedError("mixed directions of ORDER BY in a subquery that reads columns around it")
            one = Core("negative", (one,), one.type)
        is_small = key.nulls_first != is_descending
        parts += [Core("is not null" if is_small else "is null", (one,), "condition"), one]
    name = "arg_max" if is_descending else "arg_min"
    return TypedAggregation(name, (value, Core("row", tuple(parts), "row")), kind=value.type)


def any_row(query: Relation) -> Relation:
    """A query of which only matters whether it has a row."""
    node, is_plain = query, True
    while isinstance(node, Project | Sort | Distinct):
        if isinstance(node, Sort) and not (node.offset is None and (node.limit is None or _is_positive(node.limit))):
            raise UnsupportedError("LIMIT or OFFSET in a subquery that reads columns around it")
        is_plain = is_plain and isinstance(node, Project)
        node = node.input
    if isinstance(node, Aggregate) and not node.keys:
        return Project(Values(((),)), ONE)
    return plain(query) if is_plain else Project(plain(node), ONE)


def partner(e: InQuery, is_null_too: bool) -> Relation:
    """The rows of IN's query that x equals; with is_null_too also those that are NULL."""
    node, found = e.query, []
    columns = [field.column() for field in e.query.fields]
    while isinstance(node, Project | Distinct) or (
        isinstance(node, Sort) and node.limit is None and node.offset is None
    ):
        if isinstance(node, Project):
            columns = [_read_below(column, node) for column in columns]
        node = node.input
    for value, column in zip(e.values, columns, strict=True):
        outer = rewrite(value, lambda part: replace(part, is_outer=True) if isinstance(part, Column) else None)
        test = Core("compare", (column, outer), "condition", "=")
        is_null = Core("is null", (column,), "condition")
        found.append(Core("or", (test, is_null), "condition") if is_null_too else test)
    return Project(Filter(plain(node), _all(found)), ONE)


def null_rows(e: InQuery) -> Relation:
    """The rows of IN's query (of one column) that are NULL."""
    node, column = e.query, e.query.fields[0].column()
    while isinstance(node, Project):
        column, node = _read_below(column, node), node.input
    return Project(Filter(node, Core("is null", (column,), "condition")), ONE)


def value_of_no_rows(query: Relation) -> Expression | None:
    """What a query of one aggregate gives over no rows, where that is not NULL; else None."""
    value: Expression = query.fields[0].column()
    node = query
    while isinstance(node, Project):
        value, node = _read_below(value, node), node.input
    if not isinstance(node, Aggregate) or node.keys:
        return None
    given = {item.field.key: item.value.name for item in node.items}
    empty = {"count": Literal(0), "total": Literal(0.0)}

    def of_nothing(part: Expression) -> Expression | None:
        is_given = isinstance(part, Column) and not part.is_outer
        return empty.get(given[_key(part)], Literal(None)) if is_given else None

    constant = _folded(rewrite(value, of_nothing))
    return None if isinstance(constant, Literal) and constant.value is None else constant


_STRICT = ("+", "-", "*", "negative", "abs", "round", "whole_part", "divide_integers", "divide_reals", "modulo", "compare", "value",
    "like", "glob", "is not null", "holds", "lower", "upper", "fold", "cut", "join_texts", "day", "julian")  # fmt: skip
_CONVERTING = ("real", "integer", "text", "number")


def _folded(value: Expression) -> Expression:
    """NULL where a NULL among the arguments makes it so."""
    if not isinstance(value, Core):
        return value
    args = tuple(_folded(arg) for arg in value.args)
    is_null = [isinstance(arg, Literal) and arg.value is None for arg in args]
    if (
        any(is_null)
        and value.name != "is not null"
        and (value.name in _STRICT or value.name.split("_")[0] in _CONVERTING)
    ):
        return Literal(None)
    if value.name == "coalesce":
        args = tuple(arg for arg, is_nothing in zip(args, is_null, strict=True) if not is_nothing) or (Literal(None),)
        return args[0] if len(args) == 1 else replace(value, args=args)
    if (
        value.name in ("divide_integers", "divide_reals", "modulo")
        and isinstance(args[1], Literal | Core)
        and _is_zero(args[1])
    ):
        return Literal(None)
    if value.name == "real_of_integer" and isinstance(args[0], Literal):
        return Literal(float(args[0].value))
    return replace(value, args=args)


def unmatched(query: Relation, is_value: bool) -> list[Column]:
    """Columns around a query that it may give rows for while they are NULL, which an engine that joins on them does not.

    is_value: the query is a scalar one, whose value may be NULL then without a row.
    """
    strict: set[Column] = set()
    node = query
    while not isinstance(node, Scan | Ref | Values | With | SetOperation):
        if node is query and is_value and isinstance(node, Project | Aggregate):
            value = node.expressions[0]
            strict |= _strictly_read(value.args[0] if isinstance(node, Aggregate) and value.name != "count" else value)
        if isinstance(node, Filter):
            strict |= {column for part in _conjuncts(node) for column in _strictly_read(part)}
        node = node.left if isinstance(node, Join) else node.input
    return [column for column in query.outer_columns if column not in strict]


def _strictly_read(value: Expression) -> set[Column]:
    """Columns around the query that make an expression NULL when they are."""
    if isinstance(value, Column):
        return {value} if value.is_outer else set()
    is_strict = isinstance(value, Core) and (value.name in _STRICT or value.name.split("_")[0] in _CONVERTING)
    return {column for arg in value.args for column in _strictly_read(arg)} if is_strict else set()


def plain(node: Relation) -> Relation:
    """A relation as it can be joined in. Orders without a limit go; what is left that reads columns around it is refused."""
    if not node.outer_columns:
        return node
    if isinstance(node, Sort) and node.limit is None and node.offset is None:
        return plain(node.input)
    for kind, word in ((Sort, "LIMIT"), (Distinct, "DISTINCT"), (Window, "a window"), (SetOperation, "a set operation"),
                       (With, "WITH"), (Values, "VALUES")):  # fmt: skip
        if isinstance(node, kind):
            raise UnsupportedError(f"{word} in a subquery that reads columns around it")
    if isinstance(node, Join):
        left = plain(node.left)
        is_outer = any(isinstance(part, Column) and part.is_outer for one in node.expressions for part in walk(one))
        if not is_outer:
            return replace(node, left=left)
        if node.kind != "inner":
            raise UnsupportedError("an outer join's condition that reads columns around its subquery")
        return Filter(Join(left, node.right, "cross"), node.on)
    if isinstance(node, Aggregate) and not node.keys and isinstance(node.input, Aggregate) and not node.input.keys:
        raise UnsupportedError("an aggregate of an aggregate in a subquery that reads columns around it")
    if isinstance(node, Aggregate) and any(item.value.name == "string_agg" for item in node.items):
        below = node.input
        while isinstance(below, Project | Filter | As):
            below = below.input
        if isinstance(below, Sort):
            raise UnsupportedError("string_agg of sorted rows in a subquery that reads columns around it")
    return replace(node, input=plain(node.input))


def _read_below(value: Expression, node: Project) -> Expression:
    """An expression over a projection's columns as one over its input's."""
    given = {item.field.key: item.value for item in node.items}

    def below(part: Expression) -> Expression | None:
        return given.get(_key(part)) if isinstance(part, Column) and not part.is_outer else None

    return rewrite(value, below)


def _key(column: Column) -> tuple:
    return (column.alias.lower() if column.alias else None, column.name.lower())


def _is(value: Expression, number: int) -> bool:
    return isinstance(value, Literal) and value.value == number


def _is_positive(value: Expression) -> bool:
    return isinstance(value, Literal) and isinstance(value.value, int) and value.value > 0


def _is_zero(value: Expression) -> bool:
    inner = value.args[0] if isinstance(value, Core) and value.name == "real_of_integer" else value
    return isinstance(inner, Literal) and inner.value == 0
