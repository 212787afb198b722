"""Expressions of a plan: small frozen values that know their type, affinity and collation.

An expression names the columns it reads (`alias.column`) and never an engine. Each has `type` (plan_functions.TYPES),
`affinity` (SQLite's, None where the expression has none) and `collation`. Wrong arity, an unknown function or a wrong
type word cannot be built: PlanError. Whether the columns exist is checked by the operator that takes the expression.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from workbench.errors import PlanError
from workbench.plan_functions import AGGREGATES, SCALARS, WINDOW_AGGREGATES, WINDOWS, Function, union_type

if TYPE_CHECKING:
    from workbench.plan import Relation

COLLATIONS = ("binary", "nocase", "rtrim")
CAST_TYPES = ("integer", "real", "numeric", "text", "blob")
FRAME_UNITS = ("rows", "range", "groups")
BOUNDS = ("unbounded preceding", "preceding", "current row", "following", "unbounded following")
EXCLUSIONS = ("no others", "current row", "group", "ties")
CHAINS = ("and", "or", "||")  # of any number of arguments: one inside another is the same as one longer one
MAX_INTEGER = 2**63 - 1


class Expression:
    """Base of all expressions."""

    type: str = "any"
    affinity: str | None = None
    collation: str | None = None  # None: no rule of its own, compares as binary
    largest: float | None = None  # a bound of the absolute value (magnitudes.py), None where none is known
    numbers: str | None = None  # what SQLite says of its numbers (number_kinds.py), where a typed engine holds them


@dataclass(frozen=True)
class Column(Expression):
    """A column of the operator's input, or with is_outer of a query around this one (correlation)."""

    alias: str | None
    name: str
    type: str
    affinity: str | None
    collation: str | None = None
    is_outer: bool = False
    largest: float | None = field(default=None, compare=False, repr=False)
    times: str | None = field(default=None, compare=False, repr=False)
    numbers: str | None = field(default=None, compare=False, repr=False)
    reals: str | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        return f"{self.alias}.{self.name}" if self.alias else self.name


@dataclass(frozen=True)
class Literal(Expression):
    """A constant: None, int, float, str or bytes. type keeps 1 and 1.0 apart."""

    value: int | float | str | bytes | None
    type: str = ""

    def __post_init__(self):
        kinds = {int: "integer", float: "real", str: "text", bytes: "blob", type(None): "null"}
        kind = kinds.get(type(self.value))
        if kind is None:
            raise PlanError("type_error", f"a constant cannot be {type(self.value).__name__}")
        if kind == "integer" and not -MAX_INTEGER - 1 <= self.value <= MAX_INTEGER:
            raise PlanError("type_error", f"the integer {self.value} does not fit in 64 bits")
        if kind == "real" and self.value - self.value != 0:
            raise PlanError("unsupported", "an infinite number")
        object.__setattr__(self, "type", kind)


@dataclass(frozen=True)
class Call(Expression):
    """A scalar function or operator of plan_functions.SCALARS."""

    name: str
    args: tuple[Expression, ...]

    def __post_init__(self):
        function = _function(SCALARS, self.name, self.args, "function")
        object.__setattr__(self, "name", function.name)
        for arg in self.args:
            _check_scalar(arg, self.name)
        if self.name in CHAINS and any(isinstance(arg, Call) and arg.name == self.name for arg in self.args):
            parts = (arg.args if isinstance(arg, Call) and arg.name == self.name else (arg,) for arg in self.args)
            object.__setattr__(self, "args", tuple(part for group in parts for part in group))

    @property
    def type(self) -> str:
        return SCALARS[self.name].result([arg.type for arg in self.args])

    @property
    def collation(self) -> str | None:
        is_sign = self.name == "+" and len(self.args) == 1
        return self.args[0].collation if is_sign else stated_collation(self)


@dataclass(frozen=True)
class Cast(Expression):
    value: Expression
    to: str

    def __post_init__(self):
        if self.to not in CAST_TYPES:
            raise PlanError("type_error", f"cast to {self.to!r}", hint=f"available: {', '.join(CAST_TYPES)}")
        _check_scalar(self.value, "cast")

    @property
    def type(self) -> str:
        return "number" if self.to == "numeric" else self.to

    @property
    def affinity(self) -> str:
        return self.to

    @property
    def collation(self) -> str | None:
        return self.value.collation


@dataclass(frozen=True)
class Case(Expression):
    """CASE: branches of (condition or value, result). operand: what the branches' values are compared with, or None."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None
    operand: Expression | None = None

    def __post_init__(self):
        if not self.branches:
            raise PlanError("schema_violation", "a case without branches")
        for part in _inside(self):
            _check_scalar(part, "case")

    @property
    def type(self) -> str:
        results = [result.type for _, result in self.branches]
        return union_type([*results, self.otherwise.type if self.otherwise else "null"])

    @property
    def collation(self) -> str | None:
        return stated_collation(self)


@dataclass(frozen=True)
class Collate(Expression):
    """A value that compares and sorts by another collation."""

    value: Expression
    collation: str

    def __post_init__(self):
        if self.collation not in COLLATIONS:
            hint = f"available: {', '.join(COLLATIONS)}"
            raise PlanError("unsupported", f"the collation {self.collation!r}", hint=hint)
        _check_scalar(self.value, "collate")

    @property
    def type(self) -> str:
        return self.value.type

    @property
    def affinity(self) -> str | None:
        return self.value.affinity


@dataclass(frozen=True)
class Subquery(Expression):
    """The first column of a query's first row; NULL where there is no row."""

    query: "Relation"

    def __post_init__(self):
        _check_width(self.query, 1, "a scalar subquery")

    @property
    def type(self) -> str:
        return self.query.fields[0].type

    @property
    def affinity(self) -> str | None:
        return self.query.fields[0].affinity

    @property
    def largest(self) -> float | None:
        return self.query.fields[0].largest

    @property
    def numbers(self) -> str | None:
        return self.query.fields[0].numbers


@dataclass(frozen=True)
class InQuery(Expression):
    """values IN (query): one value for each of the query's columns."""

    values: tuple[Expression, ...]
    query: "Relation"
    type = "boolean"

    def __post_init__(self):
        for value in self.values:
            _check_scalar(value, "in")
        _check_width(self.query, len(self.values), "IN")


@dataclass(frozen=True)
class Exists(Expression):
    query: "Relation"
    type = "boolean"


@dataclass(frozen=True)
class SortKey:
    """nulls_first: SQLite's default is first when ascending, last when descending."""

    value: Expression
    is_descending: bool = False
    nulls_first: bool | None = None

    def __post_init__(self):
        _check_scalar(self.value, "sort")
        if self.nulls_first is None:
            object.__setattr__(self, "nulls_first", not self.is_descending)


@dataclass(frozen=True)
class Aggregation(Expression):
    """An aggregate function's call. where: only rows for which it holds are seen."""

    name: str
    args: tuple[Expression, ...] = ()
    is_distinct: bool = False
    where: Expression | None = None

    def __post_init__(self):
        function = _function(AGGREGATES, self.name, self.args, "aggregate")
        object.__setattr__(self, "name", function.name)
        if self.is_distinct and len(self.args) != 1:
            raise PlanError("type_error", f"{self.name} distinct takes exactly one argument")
        for part in _inside(self):
            _check_scalar(part, self.name)

    @property
    def type(self) -> str:
        return AGGREGATES[self.name].result([arg.type for arg in self.args])

    @property
    def affinity(self) -> str | None:
        """A bare column keeps its affinity, and SQLite lets nothing else through an aggregate."""
        is_bare = self.name in ("any_value", "arg_min", "arg_max")
        return self.args[0].affinity if is_bare else None

    @property
    def collation(self) -> str | None:
        is_bare = self.name in ("any_value", "arg_min", "arg_max")
        return self.args[0].collation if is_bare else stated_collation(self)


@dataclass(frozen=True)
class Bound:
    """One end of a window's frame. offset: only with preceding and following."""

    side: str
    offset: Expression | None = None

    def __post_init__(self):
        if self.side not in BOUNDS or (self.offset is not None) != (self.side in ("preceding", "following")):
            raise PlanError(
                "schema_violation", f"the frame bound {self.side!r}", hint=f"available: {', '.join(BOUNDS)}"
            )


@dataclass(frozen=True)
class Frame:
    unit: str = "range"
    start: Bound = Bound("unbounded preceding")
    end: Bound = Bound("current row")
    exclude: str = "no others"

    def __post_init__(self):
        for word, words in ((self.unit, FRAME_UNITS), (self.exclude, EXCLUSIONS)):
            if word not in words:
                raise PlanError("schema_violation", f"frame word {word!r}", hint=f"available: {', '.join(words)}")
        if BOUNDS.index(self.start.side) > min(BOUNDS.index(self.end.side), 3) or self.end.side == BOUNDS[0]:
            raise PlanError("type_error", f"a frame between {self.start.side} and {self.end.side}")


@dataclass(frozen=True)
class Over(Expression):
    """A window function's call: one value a row, from the rows of its partition and frame. frame None: the default."""

    name: str
    args: tuple[Expression, ...] = ()
    partition: tuple[Expression, ...] = ()
    order: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    where: Expression | None = None

    def __post_init__(self):
        known = WINDOWS | {name: AGGREGATES[name] for name in WINDOW_AGGREGATES}
        function = _function(known, self.name, self.args, "window function")
        object.__setattr__(self, "name", function.name)
        if self.frame == Frame():
            object.__setattr__(self, "frame", None)
        if self.where is not None and function.kind == "window":
            raise PlanError("type_error", f"{self.name} takes no filter, only aggregates do")
        for part in _inside(self):
            _check_scalar(part, self.name)

    @property
    def type(self) -> str:
        return (WINDOWS.get(self.name) or AGGREGATES[self.name]).result([arg.type for arg in self.args])


def _function(known: dict[str, Function], name: str, args: tuple, what: str) -> Function:
    function = known.get(name.lower())
    if function is None:
        raise PlanError("unknown_operator", f"unknown {what} {name!r}", hint=f"available: {', '.join(sorted(known))}")
    if not function.least <= len(args) <= function.most:
        wanted = str(function.least) if function.least == function.most else f"{function.least} to {function.most}"
        raise PlanError("type_error", f"{function.name} takes {wanted} arguments, {len(args)} given")
    return function


def _check_scalar(part: object, where: str) -> None:
    if isinstance(part, Aggregation | Over):
        kind = "an aggregate" if isinstance(part, Aggregation) else "a window function"
        hint = "compute it in an operator of its own and read its column"
        raise PlanError("type_error", f"{part.name} inside {where}: {kind} is no scalar", hint=hint)


def _check_width(query: "Relation", width: int, what: str) -> None:
    if len(query.fields) != width:
        raise PlanError("type_error", f"{what} takes {width} column(s), its query gives {len(query.fields)}")


def _inside(node: object) -> Iterator[Expression]:
    """The expressions directly inside a node, in tuples and small records too, but not those of a query in it."""
    for name in _parts(type(node)):
        value = getattr(node, name)
        if isinstance(value, Expression):
            yield value
        elif value is not None and value != ():
            yield from _flat(value)


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The fields of a node that can hold expressions."""
    plain = (str, bool, str | None, bool | None)
    return () if kind in (Column, Literal) else tuple(one.name for one in fields(kind) if one.type not in plain)


def _flat(value: object) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _flat(part)
    elif isinstance(value, SortKey | Frame | Bound):
        yield from _inside(value)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all inside it, outermost first; queries inside are given, but not entered."""
    yield expression
    for part in _inside(expression):
        yield from walk(part)


def is_constant(expression: Expression) -> bool:
    """Whether it is the same for all rows of its operator's input."""
    for part in walk(expression):
        is_own = isinstance(part, Column) and not part.is_outer
        if is_own or isinstance(part, Subquery | InQuery | Exists) or getattr(part, "name", "") == "random":
            return False
    return True


def stated_collation(expression: Expression) -> str | None:
    """That of the first COLLATE in it, which rules what is computed from its value too."""
    if isinstance(expression, Column | Literal):
        return None
    return next((part.collation for part in walk(expression) if isinstance(part, Collate)), None)


def comparison_collation(one: Expression, other: Expression) -> str | None:
    """That by which two sides compare (https://www.sqlite.org/datatype3.html, 7.1): a stated one, else a column's."""
    return stated_collation(one) or stated_collation(other) or first_collation((one, other))


def first_collation(args: tuple[Expression, ...]) -> str | None:
    """That of the first which has one, as every column does: functions that compare their arguments go by it."""
    return next((found for arg in args if (found := _own_collation(arg))), None)


def _own_collation(value: Expression) -> str | None:
    inner = value
    while isinstance(inner, Cast) or (isinstance(inner, Call) and inner.name == "+" and len(inner.args) == 1):
        inner = inner.value if isinstance(inner, Cast) else inner.args[0]
    return value.collation or ("binary" if isinstance(inner, Column) else None)


def rewrite(expression: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """A copy in which `change` replaced what it gives an answer for, outermost first; queries are not entered."""
    changed = change(expression)
    return changed if changed is not None else _rebuilt(expression, change)


def _rebuilt(node: object, change: Callable) -> object:
    new = {}
    for part in fields(node):
        old = getattr(node, part.name)
        value = _rewritten(old, change)
        if value is not old:
            new[part.name] = value
    return replace(node, **new) if new else node


def _rewritten(value: object, change: Callable) -> object:
    if isinstance(value, Expression):
        return rewrite(value, change)
    if isinstance(value, tuple):
        parts = tuple(_rewritten(part, change) for part in value)
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    if is_dataclass(value) and isinstance(value, SortKey | Frame | Bound):
        return _rebuilt(value, change)
    return value
