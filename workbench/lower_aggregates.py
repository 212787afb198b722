"""Aggregates that depend on the order of rows, for engines that have no words for it: the order becomes a column.

In and out: an `Aggregate` that `lower.py` made. A dialect lists what it needs in `aggregate_rewrites`.
"""

from dataclasses import replace

from workbench import number_kinds
from workbench.core_functions import TypedAggregation, TypedOver
from workbench.plan import Aggregate, As, Filter, Item, Project, Relation, Sort, Window
from workbench.plan_expressions import Column, Exists, Expression, InQuery, SortKey, Subquery, walk


def with_plain_keys(node: Aggregate) -> Aggregate:
    """A key that holds a query -> a column that is computed before."""
    keys, made, taken = [], [], {one.name.lower() for one in node.input.fields}
    for key in node.keys:
        if any(isinstance(part, Subquery | InQuery | Exists) for part in walk(key.value)):
            made.append(Item(key.value, _free_name(key.name, taken)))
            key = replace(key, value=made[-1].field.column())
        keys.append(key)
    if not made:
        return node
    kept = _read(node.input, tuple(item.value for item in (*keys, *node.items)))
    return Aggregate(Project(node.input, (*kept, *made)), tuple(keys), node.items)


def without_arg_extremes(node: Aggregate) -> Aggregate:
    """arg_max(x, by) -> any value of FIRST_VALUE(x) OVER (PARTITION BY the keys ORDER BY by DESC)."""
    keys, items, windows = tuple(key.value for key in node.keys), [], []
    taken = {one.name.lower() for one in node.input.fields}
    for item in node.items:
        call = item.value
        if call.name not in ("arg_min", "arg_max") or call.where is not None:
            items.append(item)
            continue
        this, by = call.args
        name = _free_name(f"{item.name}_at_{call.name[4:]}", taken)
        order = (SortKey(by, call.name == "arg_max", False),)
        windows.append(Item(TypedOver("first_value", (this,), keys, order, kind=this.type), name, item.alias))
        column = Column(
            item.alias, name, this.type, this.affinity, this.collation, largest=this.largest,
            numbers=number_kinds.of(this),
        )  # fmt: skip
        items.append(replace(item, value=TypedAggregation("any_value", (column,), kind=this.type)))
    if not windows:
        return node
    below = Window(node.input, tuple(windows))
    kept = _read(below, (*keys, *(item.value for item in items)))
    return Aggregate(Project(below, tuple(kept)), node.keys, tuple(items))


def with_ordered_texts(node: Aggregate) -> Aggregate:
    """string_agg over sorted rows, or of distinct texts -> string_agg ordered by the rows' number."""
    calls = [item.value for item in node.items if item.value.name == "string_agg"]
    found = _numbered(node.input) if calls else None
    if found is None and not any(call.is_distinct for call in calls):
        return node
    below, column = found or _with_places(node.input, ())
    order = (SortKey(column),)
    items = tuple(
        replace(item, value=replace(item.value, order=order)) if item.value in calls else item for item in node.items
    )
    values = (*(key.value for key in node.keys), *(item.value for item in items))
    return Aggregate(below if found else Project(below, tuple(_read(below, values))), node.keys, items)


def _with_places(below: Relation, order: tuple[SortKey, ...]) -> tuple[Relation, Column]:
    name = _free_name("place", {one.name.lower() for one in below.fields})
    call = TypedOver("row_number", (), (), order, kind="integer")
    return Window(below, (Item(call, name),)), Column(None, name, "integer", None)


def _numbered(node: Relation) -> tuple[Relation, Column] | None:
    """The relation with a column more, its rows' number in the order that a sort below gave them; None without sort."""
    if isinstance(node, Sort):
        if not node.keys:
            return None
        below, column = _with_places(node.input, node.keys)
        is_cut = node.limit is not None or node.offset is not None
        return (Sort(below, (SortKey(column),), node.limit, node.offset) if is_cut else below), column
    if not isinstance(node, Filter | Project | As):
        return None
    found = _numbered(node.input)
    if found is None:
        return None
    below, column = found
    if isinstance(node, Filter):
        return replace(node, input=below), column
    if isinstance(node, Project):
        return Project(below, (*node.items, Item.keep(column))), column
    renamed = replace(node, input=below, names=(*node.names, column.name) if node.names else ())
    return renamed, renamed.fields[-1].column()


def _read(below: Relation, values: tuple[Expression, ...]) -> list[Item]:
    """The columns that these expressions read; all of them if there is a query inside, which may read any."""
    parts = [part for value in values for part in walk(value)]
    read = {(one.alias.lower() if one.alias else None, one.name.lower()) for one in parts if isinstance(one, Column)}
    is_open = any(isinstance(part, Subquery | InQuery | Exists) for part in parts)
    return [Item.keep(one.column()) for one in below.fields if is_open or one.key in read]


def _free_name(name: str, taken: set[str]) -> str:
    name = base = name.replace(".", "_")
    count = 1
    while name.lower() in taken:
        count += 1
        name = f"{base}_{count}"
    taken.add(name.lower())
    return name
