"""Moves expressions from before a grouping to after it.

In: the group keys, the aggregate calls, and expressions written in terms of the rows below. Out: the same expressions
in terms of the grouping's output columns. A column that is neither key nor inside an aggregate is a bare column: SQLite
takes it from the row of the one MIN or MAX, else from any row of the group (lang_select.html, 2.5); the plan says which.
"""

import re
from collections.abc import Iterable

from workbench.errors import UnsupportedError
from workbench.plan import Field, Item, Relation
from workbench.plan_expressions import (
    Aggregation,
    Column,
    Exists,
    Expression,
    InQuery,
    Over,
    Subquery,
    rewrite,
    walk,
)
from workbench.resolve_names import AGGREGATE


class Lift:
    """relation: the grouping, set when all bare columns are known. items: its aggregates, bare columns last."""

    relation: Relation

    def __init__(self, below: Relation, fields: tuple[Field, ...], keys: list[Item], calls: list[Item]):
        self.fields, self.keys, self.items = fields, keys, list(calls)
        self.values = {key.value: key.field.column() for key in keys}
        self.calls = {str(number): item.field.column() for number, item in enumerate(calls)}
        self.bare: dict[Column, Column] = {}
        extremes = [item.value for item in calls if item.value.name in ("min", "max")]
        self.extreme = extremes[0] if len(extremes) == 1 else None

    def find_bare_columns(self, values: Iterable[Expression]) -> None:
        """Give each bare column of these expressions an aggregate."""
        for value in values:
            self.lift(value)

    def lift(self, value: Expression) -> Expression:
        return rewrite(value, self._change)

    def _change(self, part: Expression) -> Expression | None:
        if part in self.values:
            return self.values[part]
        if isinstance(part, Column):
            if part.is_outer:
                return part
            return self.calls[part.name] if part.alias == AGGREGATE else self._bare(part)
        for query in [part.query] if isinstance(part, Subquery | InQuery | Exists) else []:
            self._correlated(query)
        return None

    def _bare(self, column: Column) -> Column:
        if column.alias == "window of the select":
            return column
        if column in self.bare:
            return self.bare[column]
        if self.extreme is not None:
            call = Aggregation(f"arg_{self.extreme.name}", (column, *self.extreme.args), where=self.extreme.where)
        else:
            call = Aggregation("any_value", (column,))
        item = Item(call, column.name, column.alias)
        taken = {one.field.key for one in self.keys} | {one.field.key for one in self.items}
        if item.field.key in taken:
            raise UnsupportedError(f"a bare column whose name {column.text!r} is taken by an aggregate")
        self.items.append(item)
        self.bare[column] = item.field.column()
        return self.bare[column]

    def _correlated(self, query: Relation) -> None:
        """A subquery beside aggregates reads the grouping's columns, under the same names."""
        here = {one.key: one for one in self.fields}
        for column in query.outer_columns:
            key = (column.alias.lower() if column.alias else None, column.name.lower())
            if key in here:
                self.lift(here[key].column())


def name_calls(
    calls: Iterable[Aggregation | Over], exact: dict[str, str], reserved: list[str], taken: set[tuple]
) -> list[Item]:
    """Aggregates or window functions under names: that of the output they are (exact: by number), else a made one."""
    used = {name.lower() for name in reserved} | {name for alias, name in taken if alias is None}
    given: set[str] = set()
    items = []
    for number, call in enumerate(calls):
        name = exact.get(str(number))
        if name is None or name.lower() in given or (None, name.lower()) in taken:
            name = base = _made_name(call)
            count = 1
            while name.lower() in used:
                count += 1
                name = f"{base}_{count}"
        used.add(name.lower())
        given.add(name.lower())
        items.append(Item(call, name))
    return items


def _made_name(call: Aggregation | Over) -> str:
    columns = [part for part in walk(call) if isinstance(part, Column)] if call.name != "count" else []
    simple = columns and len(call.args) == 1 and call.args[0] is columns[0] and re.fullmatch(r"\w+", columns[0].name)
    return f"{call.name}_{columns[0].name}".lower() if simple and isinstance(call, Aggregation) else call.name
