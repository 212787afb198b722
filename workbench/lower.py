"""A plan with SQLite's meaning -> a plan for typed engines, every implicit rule written out.

In: a plan. Out: a relation of the same operators, whose expressions `lower_expressions` made; columns carry the types that
engines hold (what the migration makes of a declared type: schema.declared_kind). Between plan and dialect this is
the only place that knows SQLite's rules: a dialect only maps core functions. The same for every dialect that is not native.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench import magnitudes
from workbench.core_functions import Core, TypedAggregation
from workbench.errors import UnsupportedError
from workbench.lower_expressions import Expressions, Scope
from workbench.lower_mixed import refuse_mixed
from workbench.lower_sums import counts_asked_for, with_counts, without_counts
from workbench.lower_values import NUMBERS, beside_reals, folded, text
from workbench.plan import (
    Aggregate,
    As,
    Definition,
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
)
from workbench.plan_columns import Field, Item, renamed
from workbench.plan_expressions import Column, Expression

Rewrite = Callable[[Aggregate], Aggregate]


def lower(relation: Relation, aggregate_rewrites: tuple[Rewrite, ...] = ()) -> Relation:
    """The whole plan's root, lowered. aggregate_rewrites: what is done to each lowered grouping."""
    refuse_mixed(relation)
    lowering = Lowering(aggregate_rewrites)
    root = lowering.relation(relation, [])
    asked = counts_asked_for(root, lowering.counts) if lowering.counts else set()
    return root if asked == lowering.counts else Lowering(aggregate_rewrites, asked).relation(relation, [])


class Lowering:
    """wanted: the counts of reals to make (lower_sums.py), None for all. counts: those that were made."""

    def __init__(self, aggregate_rewrites: tuple[Rewrite, ...], wanted: set[str] | None = None):
        self.aggregate_rewrites, self.wanted = aggregate_rewrites, wanted
        self.counts: set[str] = set()
        self.definitions: dict[str, tuple[Field, ...]] = {}

    def relation(self, node: Relation, outer: Scope) -> Relation:
        made = self._counted(node, outer)
        return without_counts(made) if self.counts else made

    def _counted(self, node: Relation, outer: Scope) -> Relation:
        """Lowered, the counts of reals still there."""
        return getattr(self, f"_{type(node).__name__.lower()}")(node, outer)

    def _items_with_counts(self, items: tuple[Item, ...]) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        items, counts = with_counts(items, self.wanted)
        self.counts |= {one.name for one in counts}
        return items, counts

    def query(self, node: Relation, outer: Scope) -> Relation:
        """A subquery in an expression; as a value it gives one row at most."""
        return self.relation(node, outer)

    def _expressions(self, inputs: tuple[Relation, ...], outer: Scope) -> Expressions:
        here: dict[tuple, Field] = {}
        for one in inputs:
            for given in one.fields:
                here.setdefault(given.key, given)
        return Expressions([here, *outer], self.query)

    def _scan(self, node: Scan, outer: Scope) -> Relation:
        if node.has_rowid:
            raise UnsupportedError("the row number of a table without an integer key outside SQLite")
        return node

    def _ref(self, node: Ref, outer: Scope) -> Relation:
        fields = renamed(self.definitions[node.name.lower()], node.alias)
        return replace(node, columns=tuple(fields))

    def _values(self, node: Values, outer: Scope) -> Relation:
        lowering = self._expressions((), outer)
        rows = [[lowering.value(value) for value in row] for row in node.rows]
        columns = [_typed(lowering.unified(list(column))) for column in zip(*rows, strict=True)] if node.names else []
        return replace(node, rows=tuple(zip(*columns, strict=True)) if columns else node.rows)

    def _filter(self, node: Filter, outer: Scope) -> Relation:
        below = self._counted(node.input, outer)
        return Filter(below, self._expressions((below,), outer).condition(node.condition))

    def _project(self, node: Project, outer: Scope) -> Relation:
        below = self._counted(node.input, outer)
        return Project(below, self._items(node.items, below, outer))

    def _items(self, items: tuple[Item, ...], below: Relation, outer: Scope) -> tuple[Item, ...]:
        lowering = self._expressions((below,), outer)
        return tuple(replace(item, value=_keeping(item.value, lowering.value(item.value))) for item in items)

    def _join(self, node: Join, outer: Scope) -> Relation:
        left, right = self.relation(node.left, outer), self.relation(node.right, outer)
        on = self._expressions((left, right), outer).condition(node.on) if node.on is not None else None
        return Join(left, right, node.kind, on)

    def _aggregate(self, node: Aggregate, outer: Scope) -> Relation:
        below = self.relation(node.input, outer)
        lowering = self._expressions((below,), outer)
        made = tuple(replace(item, value=lowering.aggregation(item.value)) for item in node.items)
        items, counts = self._items_with_counts(made)
        keys = self._items(node.keys, below, outer)
        return self._grouped(below, keys, items, [key.value for key in node.keys], counts)

    def _grouped(
        self,
        below: Relation,
        keys: tuple[Item, ...],
        items: tuple[Item, ...],
        given: Sequence[Expression | Field],
        counts: tuple[Item, ...] = (),
    ) -> Relation:
        """A grouping. given: what the keys were before; in a collation that takes texts for equal, any of them is shown."""
        folds = [folded(key.value, one.collation) for key, one in zip(keys, given, strict=True)]
        shown = [
            replace(key, value=TypedAggregation("any_value", (key.value,), kind="text"))
            for key, fold in zip(keys, folds, strict=True)
            if fold != key.value
        ]
        hidden = tuple(
            key if fold == key.value else Item(fold, f"{key.name}:folded")
            for key, fold in zip(keys, folds, strict=True)
        )
        node = Aggregate(below, hidden, (*items, *counts, *shown))
        for rewrite in self.aggregate_rewrites:
            node = rewrite(node)
        return Project(node, tuple(Item.keep(one.field.column()) for one in (*keys, *items))) if shown else node

    def _window(self, node: Window, outer: Scope) -> Relation:
        below = self._counted(node.input, outer)
        lowering = self._expressions((below,), outer)
        made = tuple(replace(item, value=lowering.over(item.value)) for item in node.items)
        items, counts = self._items_with_counts(made)
        return Window(below, (*items, *counts))

    def _sort(self, node: Sort, outer: Scope) -> Relation:
        below = self._counted(node.input, outer)
        lowering = self._expressions((below,), outer)
        bounds = [lowering.value(bound) if bound is not None else None for bound in (node.limit, node.offset)]
        return Sort(below, tuple(lowering.sort_key(key) for key in node.keys), *bounds)

    def _distinct(self, node: Distinct, outer: Scope) -> Relation:
        below = self.relation(node.input, outer)
        if all(folded(one.column(), given.collation) == one.column() for one, given in _pairs(below, node.input)):
            return Distinct(below)
        return self._grouped(below, tuple(Item.keep(one.column()) for one in below.fields), (), node.input.fields)

    def _setoperation(self, node: SetOperation, outer: Scope) -> Relation:
        left, right = self.relation(node.left, outer), self.relation(node.right, outer)
        for one, given in () if node.is_all else _pairs(left, node.left):
            if folded(one.column(), given.collation) != one.column():
                raise UnsupportedError(f"{node.kind} in the collation nocase outside SQLite")
        pairs = list(zip(left.fields, right.fields, strict=True))
        mixed = [{one.type, other.type} - {"null"} for one, other in pairs]
        if any(len(kinds) > 1 and not kinds <= set(NUMBERS) for kinds in mixed):
            left, right = (_as(text, side, mixed) for side in (left, right))
        elif any(kinds == set(NUMBERS) for kinds in mixed):
            left, right = (_as(beside_reals, side, mixed) for side in (left, right))
        for one, other in () if node.is_all else pairs:
            is_exact = {one.type, other.type} != set(NUMBERS)
            if not is_exact and any(
                magnitudes.fits(f.column(), magnitudes.EXACT_END) is False for f in (one, other) if f.type == "integer"
            ):
                raise UnsupportedError("integers beyond 2**53 and reals in one column outside SQLite")
        if any("null" in (one.type, other.type) for one, other in pairs):
            known = [one.type if one.type != "null" else other.type for one, other in _pairs(left, right)]
            left, right = (_with_typed_nulls(side, known) for side in (left, right))
        return replace(node, left=left, right=right)

    def _as(self, node: As, outer: Scope) -> Relation:
        return replace(node, input=self.relation(node.input, outer))

    def _with(self, node: With, outer: Scope) -> Relation:
        found = []
        for one in node.definitions:
            query = self._recursive(one, outer) if one.is_recursive else self.relation(one.query, outer)
            self.definitions[one.name.lower()] = query.fields
            found.append(Definition(one.name, query, one.is_recursive))
        return With(tuple(found), self.relation(node.input, outer))

    def _recursive(self, one: Definition, outer: Scope) -> Relation:
        """Its columns begin as the start's; a round may give other types, which the next one reads."""
        query = one.query.input if isinstance(one.query, As) else one.query
        names = one.query.names if isinstance(one.query, As) else ()
        given, assumed = renamed(self.relation(query.left, outer).fields, one.name, names), None
        while assumed != (found := [_of_any_round(each) for each in given]):
            assumed, self.definitions[one.name.lower()] = found, tuple(found)
            lowered = self.relation(one.query, outer)
            given = renamed(lowered.fields, one.name, names)
        return lowered


def _of_any_round(given: Field) -> Field:
    """A recursive column of the first round: its numbers may grow, and become reals."""
    numbers = given.numbers if given.numbers in ("real", None) else "integer" if given.type == "integer" else "open"
    return replace(given, largest=None, numbers=numbers)


def _typed(values: list[Expression]) -> list[Expression]:
    """A column of constants: a NULL in its first row has the type of the others."""
    known = next((value.type for value in values if value.type != "null"), None)
    return [Core("null", (), known), *values[1:]] if known and values[0].type == "null" else values


def _pairs(lowered: Relation, given: Relation) -> list[tuple[Field, Field]]:
    return list(zip(lowered.fields, given.fields, strict=True))


def _keeping(before: Expression, after: Expression) -> Expression:
    """What a cast made keeps its affinity, which comparisons further out go by."""
    return replace(after, affinity=before.affinity) if isinstance(after, Core) else after


def _with_typed_nulls(side: Relation, known: list[str]) -> Relation:
    """A side's columns of nothing but NULL get the other side's type."""
    items = []
    for given, kind in zip(side.fields, known, strict=True):
        is_open = given.type == "null" != kind
        items.append(Item(Core("null", (), kind), given.name, given.alias) if is_open else Item.keep(given.column()))
    return Project(side, tuple(items)) if any(isinstance(item.value, Core) for item in items) else side


def _as(convert: Callable[[Expression], Expression], side: Relation, mixed: list[set[str]]) -> Relation:
    """One side of a set operation, its columns of several types converted."""
    items = []
    for given, kinds in zip(side.fields, mixed, strict=True):
        value = convert(given.column()) if len(kinds) > 1 else given.column()
        items.append(Item.keep(value) if isinstance(value, Column) else Item(value, given.name, given.alias))
    if isinstance(side, Project):  # no second SELECT: the projection itself gives it
        old = [
            item if isinstance(new.value, Column) else Item(convert(item.value), item.name, item.alias)
            for item, new in zip(side.items, items, strict=True)
        ]
        return Project(side.input, tuple(old))
    return Project(side, tuple(items))
