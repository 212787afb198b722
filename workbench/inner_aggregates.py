"""An aggregate that reads only columns of the queries around it belongs, in SQL, to the query that they are of.

In a plan it belongs to its own pipeline. In and out: an `Aggregate`; what its functions read of the queries around is
first made a column of its own input, which no engine can take for the other.
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


def _with_columns(node: Aggregate, found: dict[Expression, str]) -> Aggregate:
    """The grouping over an input that has these expressions as columns of these names."""
    own = tuple(Item.keep(one.column()) for one in {one.key: one for one in node.input.fields}.values())
    below = Project(node.input, (*own, *(Item(value, name) for value, name in found.items())))
    inner = {
        value: Column(None, name, value.type, value.affinity, value.collation, largest=value.largest)
        for value, name in found.items()
    }
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
