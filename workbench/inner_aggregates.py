"""Aggregates that SQL would read otherwise than the plan means them: what they read is first made a column of the input.

In SQL an aggregate that reads only columns of the queries around it belongs to the query that they are of; in a plan it
belongs to its own pipeline. And a bare expression beside aggregates has a value even over no rows. In and out: an
`Aggregate`.
"""

from dataclasses import replace

from workbench.plan import Aggregate, Item, Project
from workbench.plan_expressions import Column, Expression, rewrite, walk


def with_inner_aggregates(node: Aggregate) -> Aggregate:
    """The grouping, each of its functions over columns of its own."""
    found: dict[Expression, str] = {}
    taken = {one.name.lower() for one in node.input.fields}
    for item in node.items:
        columns = [part for part in walk(item.value) if isinstance(part, Column)]
        if columns and all(column.is_outer for column in columns):
            for column in columns:
                found.setdefault(column, _free_name(column.name, taken))
    if not found:
        return node
    return _with_columns(node, found)


def with_bare_columns(node: Aggregate) -> Aggregate:
    """The one group of all rows, its bare expressions columns: NULL where there is no row."""
    if node.keys:
        return node
    taken = {one.name.lower() for one in node.input.fields}
    bare = [item for item in node.items if item.value.name in ("any_value", "arg_min", "arg_max")]
    values = dict.fromkeys(item.value.args[0] for item in bare if not isinstance(item.value.args[0], Column))
    return _with_columns(node, {value: _free_name("bare", taken) for value in values}) if values else node


def _with_columns(node: Aggregate, found: dict[Expression, str]) -> Aggregate:
    """The grouping over an input that has these expressions as columns of these names."""
    own = tuple(Item.keep(one.column()) for one in {one.key: one for one in node.input.fields}.values())
    below = Project(node.input, (*own, *(Item(value, name) for value, name in found.items())))
    inner = {value: Column(None, name, value.type, value.affinity, value.collation) for value, name in found.items()}
    items = tuple(replace(item, value=rewrite(item.value, inner.get)) for item in node.items)
    return Aggregate(below, node.keys, items)


def _free_name(name: str, taken: set[str]) -> str:
    name = base = name.replace(".", "_")
    count = 1
    while name.lower() in taken:
        count += 1
        name = f"{base}_{count}"
    taken.add(name.lower())
    return name
