"""Integers without sign beside integers with one, for engines where these have no type in common: as ClickHouse 26.9 does.

In: a lowered plan. Out: the same plan, in which counts, lengths and absolute values, which are unsigned there, are made
signed where they meet signed integers in one column, CASE or COALESCE, and under ~.
"""

from collections.abc import Iterable
from dataclasses import replace

from workbench.core_functions import Core, TypedOver
from workbench.lower_correlated import changed_parts
from workbench.plan import (
    Aggregate,
    As,
    Definition,
    Join,
    Project,
    Ref,
    Relation,
    SetOperation,
    Values,
    Window,
    With,
    walk_relations,
)
from workbench.plan_columns import Item
from workbench.plan_expressions import Column, Exists, Expression, InQuery, Literal, Subquery, rewrite

SMALL, UNSIGNED, SIGNED = range(3)  # SMALL: not negative, and of a type that both others hold
_UNSIGNED = ("char_length", "position", "abs", "count", "row_number", "rank", "dense_rank", "ntile")
_OF_ARGUMENTS = ("+", "*", "divide_integers", "modulo", "&", "|", "<<", ">>")
_OF_FIRST = (
    "nullable", "at_least_zero", "min", "max", "any_value", "arg_min", "arg_max", "lag", "lead", "first_value",
    "last_value", "nth_value",
)  # fmt: skip
_CHOICES = ("choose", "coalesce", "extreme")


def with_signed_integers(root: Relation) -> Relation:
    return _Signs(root).relation(root)


class _Signs:
    """columns: keys of the plan's columns that may be unsigned."""

    def __init__(self, root: Relation):
        self.columns: set[tuple] = set()
        relations, before = list(walk_relations(root))[::-1], -1
        definitions = {
            one.name.lower(): one.query for each in relations if isinstance(each, With) for one in each.definitions
        }
        while before != len(self.columns):
            before = len(self.columns)
            for relation in relations:
                self.columns |= self._unsigned(relation, definitions)

    def _unsigned(self, node: Relation, definitions: dict[str, Relation]) -> set[tuple]:
        if isinstance(node, As | Ref):
            below = node.input if isinstance(node, As) else definitions[node.name.lower()]
            pairs = zip(node.fields, below.fields, strict=True)
            return {one.key for one, given in pairs if given.key in self.columns}
        if isinstance(node, Values):
            columns = zip(node.fields, zip(*node.rows, strict=True), strict=True) if node.names else ()
            return {one.key for one, values in columns if max(map(self.sign, values)) == UNSIGNED}
        if isinstance(node, SetOperation):
            pairs = zip(node.fields, self._shown(node.left), self._shown(node.right), strict=True)
            return {one.key for one, *both in pairs if [self.sign(value) for value in both] == [SMALL, UNSIGNED]}
        items: Iterable[Item] = ()
        if isinstance(node, Project | Window):
            items = node.items
        elif isinstance(node, Aggregate):
            items = (*node.keys, *node.items)
        return {item.field.key for item in items if self.sign(item.value) == UNSIGNED}

    def sign(self, value: Expression) -> int:
        """What an integer expression is there."""
        if isinstance(value, Literal):
            return SMALL if value.value is None or (isinstance(value.value, int) and value.value >= 0) else SIGNED
        if isinstance(value, Column):
            key = (value.alias.lower() if value.alias else None, value.name.lower())
            return UNSIGNED if value.type == "integer" and key in self.columns else SIGNED
        if isinstance(value, Subquery):
            field = value.query.fields[0]
            return UNSIGNED if field.type == "integer" and field.key in self.columns else SIGNED
        name, args = getattr(value, "name", ""), getattr(value, "args", ())
        if value.type != "integer":
            return SIGNED
        if name in _UNSIGNED:
            return UNSIGNED
        if name == "value":
            return SMALL
        if name in ("&", "|", "<<", ">>") and isinstance(args[0], Literal):
            return SIGNED
        if name in _CHOICES or name in _OF_ARGUMENTS:
            return max(self.sign(arg) for arg in (_results(value) if name in _CHOICES else args))
        if name in _OF_FIRST:
            return self.sign(args[0])
        return min(UNSIGNED, self.sign(args[0]) + 1) if name == "sum" and self.sign(args[0]) != SIGNED else SIGNED

    def relation(self, node: Relation) -> Relation:
        node = replace(node, **changed_parts(node, self.expression))
        if isinstance(node, Join | SetOperation):
            node = replace(node, left=self.relation(node.left), right=self.relation(node.right))
        elif isinstance(node, With):
            definitions = tuple(replace(one, query=self._definition(one)) for one in node.definitions)
            node = replace(node, definitions=definitions, input=self.relation(node.input))
        elif node.inputs:
            node = replace(node, input=self.relation(node.input))
        if isinstance(node, SetOperation):
            return self._set_operation(node)
        if isinstance(node, Values) and node.names:
            columns = [self._signed(list(column)) for column in zip(*node.rows, strict=True)]
            return replace(node, rows=tuple(zip(*columns, strict=True)))
        return node

    def _definition(self, given: Definition) -> Relation:
        """A query by name; where its rounds read it, what the first one's small constants become."""
        query = given.query.input if isinstance(given.query, As) else given.query
        if given.is_recursive:
            start = query.left
            if isinstance(start, Values):
                start = replace(start, rows=tuple(tuple(map(self._wide, row)) for row in start.rows))
            else:
                start = self._side(start, [self._wide(value) for value in self._shown(start)])
            query = replace(query, left=start)
        return self.relation(replace(given.query, input=query) if isinstance(given.query, As) else query)

    def _wide(self, value: Expression) -> Expression:
        is_narrow = value.type == "integer" and not (isinstance(value, Column) and self.sign(value) == SIGNED)
        return Core("signed", (value,), "integer") if is_narrow else value

    def expression(self, value: Expression) -> Expression:
        return rewrite(value, self._changed)

    def _changed(self, part: Expression) -> Expression | None:
        if isinstance(part, Subquery | InQuery | Exists):
            new = replace(part, query=self.relation(part.query))
            if isinstance(new, InQuery):
                return replace(new, values=tuple(self.expression(one) for one in new.values))
            return new
        if isinstance(part, TypedOver) and part.name in ("lag", "lead") and len(part.args) == 3:
            this, distance, default = (self.expression(arg) for arg in part.args)
            this, default = self._wide(this), self._as_signed(default)
            partition = tuple(map(self.expression, part.partition))
            order = tuple(replace(key, value=self.expression(key.value)) for key in part.order)
            return replace(part, args=(this, distance, default), partition=partition, order=order)
        if not isinstance(part, Core) or part.type != "integer" or part.name not in (*_CHOICES, "~"):
            return None
        args = [self.expression(arg) for arg in part.args]
        if part.name == "~":
            return part if isinstance(args[0], Literal) else replace(part, args=(self._wide(args[0]),))
        places = [place for place, arg in enumerate(part.args) if any(arg is one for one in _results(part))]
        for place, arg in zip(places, self._signed([args[place] for place in places]), strict=True):
            args[place] = arg
        return replace(part, args=tuple(args))

    def _signed(self, values: list[Expression]) -> list[Expression]:
        """Values that stand in one column."""
        signs = {self.sign(value) for value in values if value.type == "integer"}
        # a column that may be unsigned may have been made signed below
        is_open = SIGNED in signs or any(isinstance(value, Column | Subquery) for value in values)
        return [self._as_signed(value) for value in values] if UNSIGNED in signs and is_open else values

    def _as_signed(self, value: Expression) -> Expression:
        is_unsigned = value.type == "integer" and self.sign(value) == UNSIGNED
        return Core("signed", (value,), "integer") if is_unsigned else value

    def _set_operation(self, node: SetOperation) -> Relation:
        rows = [self._shown(side) for side in (node.left, node.right)]
        pairs = [self._signed(list(pair)) for pair in zip(*rows, strict=True)]
        columns = list(zip(*pairs, strict=True))
        sides = [self._side(side, values) for side, values in zip((node.left, node.right), columns, strict=True)]
        return replace(node, left=sides[0], right=sides[1])

    def _shown(self, side: Relation) -> list[Expression]:
        return [item.value for item in side.items] if isinstance(side, Project) else [f.column() for f in side.fields]

    def _side(self, side: Relation, values: Iterable[Expression]) -> Relation:
        values = list(values)
        if values == self._shown(side):
            return side
        if isinstance(side, Project):
            items = zip(side.items, values, strict=True)
            return Project(side.input, tuple(replace(item, value=value) for item, value in items))
        fields = zip(side.fields, values, strict=True)
        items = (Item.keep(v) if isinstance(v, Column) else Item(v, f.name, f.alias) for f, v in fields)
        return Project(side, tuple(items))


def _results(value: Expression) -> tuple[Expression, ...]:
    """The values that a choice is between."""
    args = value.args
    return args if value.name != "choose" else (*args[1::2], *args[len(args) - len(args) % 2 :])
