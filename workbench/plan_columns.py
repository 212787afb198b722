"""The columns of a plan's operators: what one is, how a name finds it, which output names are allowed."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench import number_kinds
from workbench.errors import PlanError
from workbench.magnitudes import of
from workbench.plan_expressions import Aggregation, Column, Expression, Over


@dataclass(frozen=True)
class Field:
    """A column that an operator gives. alias: the table it is called by, or None. largest and times: as in schema.Column.

    numbers: of a lowered column, one of number_kinds.KINDS. reals: of a lowered sum, the column that counts its reals.
    """

    alias: str | None
    name: str
    type: str
    affinity: str | None = None
    collation: str | None = None
    largest: float | None = field(default=None, compare=False, repr=False)
    times: str | None = field(default=None, compare=False, repr=False)
    numbers: str | None = field(default=None, compare=False, repr=False)
    reals: str | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        return f"{self.alias}.{self.name}" if self.alias else self.name

    @cached_property
    def key(self) -> tuple[str | None, str]:
        return (self.alias.lower() if self.alias else None, self.name.lower())

    def column(self, is_outer: bool = False) -> Column:
        """An expression that reads this column."""
        return Column(
            self.alias, self.name, self.type, self.affinity, self.collation, is_outer, self.largest, self.times,
            self.numbers, self.reals,
        )  # fmt: skip


@dataclass(frozen=True)
class Item:
    """An output column: an expression under a name. alias: only where a column keeps the table it is called by."""

    value: Expression
    name: str
    alias: str | None = None

    @classmethod
    def keep(cls, column: Column) -> "Item":
        """A column under its own name."""
        return cls(replace(column, is_outer=False) if column.is_outer else column, column.name, column.alias)

    @property
    def is_kept(self) -> bool:
        """Whether it is a column under its own name."""
        value = self.value
        return isinstance(value, Column) and not value.is_outer and (value.alias, value.name) == (self.alias, self.name)

    @property
    def field(self) -> Field:
        value = self.value
        return Field(
            self.alias, self.name, value.type, value.affinity, value.collation, of(value), getattr(value, "times", None),
            number_kinds.of(value), getattr(value, "reals", None) if isinstance(value, Aggregation | Over) else None,
        )  # fmt: skip


def find_field(given: Iterable[Field], alias: str | None, name: str) -> Field:
    """The one field of a name. Without alias any table's column fits. Raises PlanError for none and for several."""
    given = list(given)
    wanted = name.lower()
    found = [one for one in given if one.name.lower() == wanted and _fits(one, alias)]
    if len(found) > 1:
        exact = [one for one in found if one.alias is None] if alias is None else []
        if len(exact) == 1:
            return exact[0]
    text = f"{alias}.{name}" if alias else name
    if not found:
        raise PlanError("unknown_column", f"no column {text!r}", hint=f"available: {_listed(given)}")
    if len(found) > 1:
        raise PlanError("unknown_column", f"the column {text!r} is ambiguous", hint=f"available: {_listed(found)}")
    return found[0]


def renamed(given: Iterable[Field], alias: str, names: tuple[str, ...] = ()) -> tuple[Field, ...]:
    """Fields under one alias. A name that stands twice gets ":1" on, as in SQLite's subqueries."""
    seen: dict[str, int] = {}
    found = []
    for number, one in enumerate(given):
        name = names[number] if names else one.name
        base, count = name, 0
        while name.lower() in seen:
            count += 1
            name = f"{base}:{count}"
        seen[name.lower()] = number
        found.append(Field(alias, name, one.type, one.affinity, one.collation, one.largest, one.times, one.numbers))
    return tuple(found)


def check_alias(alias: str) -> str:
    if not alias or "." in alias or alias.startswith("'"):
        raise PlanError("schema_violation", f"the alias {alias!r} is empty, holds a dot or begins with a quote")
    return alias


def _fits(one: Field, alias: str | None) -> bool:
    return alias is None or (one.alias is not None and one.alias.lower() == alias.lower())


def _listed(given: list[Field], most: int = 40) -> str:
    names = [one.text for one in given]
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "") or "none"


def check_names(names: Iterable[str]) -> None:
    for name in names:
        if not name:
            raise PlanError("schema_violation", "an empty column name")


def check_items(items: tuple[Item, ...], given: tuple[Field, ...]) -> None:
    check_names(item.name for item in items)
    aliases = {one.alias.lower() for one in given if one.alias}
    for item in items:
        head = item.name.partition(".")[0].lower()
        if item.alias is None and "." in item.name and head in aliases:
            what = f"the output name {item.name!r} reads like a column of {head!r}"
            raise PlanError("schema_violation", what)
        if item.alias is not None and item.alias.lower() not in aliases:
            raise PlanError("schema_violation", f"the output name {item.field.text!r} names no table of the input")


def check_no_aggregates(expressions: tuple[Expression, ...], where: str) -> None:
    for expression in expressions:
        if isinstance(expression, Aggregation | Over):
            raise PlanError("type_error", f"{expression.name} stands directly in {where}")
