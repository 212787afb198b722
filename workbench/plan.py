"""The plan: a tree of relational operators with SQLite's meaning, the same for every engine.

In: operators built from a schema's tables upward, by hand, by `plan_json` or by `sql_to_plan`. Out: a `Plan` that every
engine can be asked to run. Each operator knows its output columns (`fields`: alias, name, type, affinity, collation).
A plan that could not run cannot be built: PlanError with a kind, the bad name and the names available. Plans are equal
by value; names compare without regard to ASCII case, as SQLite's do. docs/plan.md says what each operator means.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from workbench import number_kinds
from workbench.errors import PlanError
from workbench.magnitudes import most
from workbench.plan_columns import (
    Field,
    Item,
    check_alias,
    check_items,
    check_names,
    check_no_aggregates,
    find_field,
    renamed,
)
from workbench.plan_expressions import (
    Aggregation,
    Column,
    Exists,
    Expression,
    InQuery,
    Literal,
    Over,
    SortKey,
    Subquery,
    walk,
)
from workbench.plan_functions import union_type
from workbench.schema import Schema, Table

JOINS = ("inner", "left", "right", "full", "cross", "semi", "anti")
MAX_DEPTH = 100  # operators between the last one and a table, subqueries included; gold plans have under 20
MAX_COLUMNS = 4000  # of a join; SQLite gives 2000, and sub-pipelines joined with themselves would double without end
SET_OPERATIONS = ("union", "intersect", "except")


class Relation:
    """Base of all operators. inputs: the operators it reads; fields: its output columns."""

    @property
    def inputs(self) -> tuple["Relation", ...]:
        return (self.input,)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return ()

    @cached_property
    def outer_columns(self) -> tuple[Column, ...]:
        """Columns of queries around this one that are read somewhere inside."""
        found = [column for relation in self.inputs for column in relation.outer_columns]
        here = {given.key for relation in self.inputs for given in relation.fields}
        for column in _columns(self.expressions):
            if column.is_outer is True:
                found.append(column)
        for query in _queries(self.expressions):
            found += [column for column in query.outer_columns if _key(column) not in here]
        return tuple(dict.fromkeys(found))

    def _check(self) -> None:
        """Every column that the expressions read must be there, once."""
        given = [one for relation in self.inputs for one in relation.fields]
        for column in _columns(self.expressions):
            if not column.is_outer:
                find_field(given, column.alias, column.name)


@dataclass(frozen=True)
class Scan(Relation):
    """All rows of a table. has_rowid: its row number is given too, as the last column. never_null: names of columns."""

    table: str
    alias: str
    columns: tuple[Field, ...]
    has_rowid: bool = False
    never_null: frozenset[str] = frozenset()

    @classmethod
    def of(cls, table: Table, alias: str | None = None, has_rowid: bool = False) -> "Scan":
        alias = check_alias(alias or table.name.replace(".", "_"))
        columns = tuple(
            Field(
                alias,
                column.name,
                column.kind,
                column.affinity,
                column.collation,
                column.largest,
                column.times,
                column.numbers,
            )
            for column in table.columns
        )
        return cls(table.name, alias, columns, has_rowid, table.never_null)

    inputs = ()

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        rowid = (Field(self.alias, "rowid", "integer", "integer"),) if self.has_rowid else ()
        return self.columns + rowid


@dataclass(frozen=True)
class Ref(Relation):
    """All rows of a named sub-pipeline, under an alias."""

    name: str
    alias: str
    columns: tuple[Field, ...]
    inputs = ()

    @classmethod
    def of(cls, name: str, query_fields: Iterable[Field], alias: str | None = None) -> "Ref":
        alias = check_alias(alias or name)
        return cls(name, alias, renamed(query_fields, alias))

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.columns


@dataclass(frozen=True)
class Values(Relation):
    """Rows of constant expressions. names: one a column, at most none for the single empty row of SELECT without FROM."""

    rows: tuple[tuple[Expression, ...], ...]
    names: tuple[str, ...] = ()
    inputs = ()

    def __post_init__(self):
        if not self.rows:
            raise PlanError("schema_violation", "values without rows")
        for row in self.rows:
            if len(row) != len(self.names):
                raise PlanError("type_error", f"values: a row of {len(row)} for {len(self.names)} column(s)")
        check_names(self.names)
        self._check()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(value for row in self.rows for value in row)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        columns = zip(self.names, zip(*self.rows, strict=True), strict=True) if self.names else ()
        return tuple(
            Field(
                None, name, union_type([v.type for v in values]), largest=most(values),
                numbers=number_kinds.together([*map(number_kinds.of, values)]),
            )
            for name, values in columns
        )  # fmt: skip


@dataclass(frozen=True)
class Filter(Relation):
    """Rows for which the condition holds (is neither 0 nor NULL)."""

    input: Relation
    condition: Expression

    def __post_init__(self):
        check_no_aggregates((self.condition,), "a filter")
        self._check()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.condition,)


@dataclass(frozen=True)
class Project(Relation):
    """These columns and no others, in this order."""

    input: Relation
    items: tuple[Item, ...]

    def __post_init__(self):
        if not self.items:
            raise PlanError("schema_violation", "a project without columns")
        check_items(self.items, self.input.fields)
        check_no_aggregates(self.expressions, "a project")
        self._check()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(item.value for item in self.items)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(item.field for item in self.items)


@dataclass(frozen=True)
class Join(Relation):
    """Pairs of rows for which `on` holds (cross: all pairs, no `on`). right is a table or a named sub-pipeline."""

    left: Relation
    right: Scan | Ref
    kind: str = "inner"
    on: Expression | None = None

    def __post_init__(self):
        if self.kind not in JOINS:
            raise PlanError("unknown_operator", f"unknown join {self.kind!r}", hint=f"available: {', '.join(JOINS)}")
        if not isinstance(self.right, Scan | Ref):
            raise PlanError("schema_violation", "a join's right side is a table or a named sub-pipeline")
        if (self.on is None) != (self.kind == "cross"):
            raise PlanError(
                "schema_violation", f"{self.kind} join {'without' if self.on is None else 'with'} condition"
            )
        if not self.left.fields:
            raise PlanError(
                "schema_violation", "a join of a row without columns", hint="scan a table, or project first"
            )
        taken = {given.alias.lower() for given in self.left.fields if given.alias}
        if self.right.alias.lower() in taken:
            hint = f"taken: {', '.join(sorted(taken))}"
            raise PlanError("schema_violation", f"the alias {self.right.alias!r} is taken", hint=hint)
        if len(self.left.fields) + len(self.right.fields) > MAX_COLUMNS:
            raise PlanError("unsupported", f"a join of more than {MAX_COLUMNS} columns")
        check_no_aggregates(self.expressions, "a join's condition")
        self._check()

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.on,) if self.on is not None else ()

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.left.fields if self.kind in ("semi", "anti") else self.left.fields + self.right.fields


@dataclass(frozen=True)
class Aggregate(Relation):
    """One row for each combination of the keys' values; without keys exactly one row. Keys come first in the output."""

    input: Relation
    keys: tuple[Item, ...] = ()
    items: tuple[Item, ...] = ()

    def __post_init__(self):
        if not self.keys and not self.items:
            raise PlanError("schema_violation", "an aggregate without keys and functions")
        for item in self.items:
            if not isinstance(item.value, Aggregation):
                hint = "group by it, or take any_value, arg_min or arg_max of it"
                raise PlanError("type_error", f"{item.name} is no aggregate function", hint=hint)
        check_items(self.keys + self.items, self.input.fields)
        check_no_aggregates(tuple(key.value for key in self.keys), "a group key")
        seen = set()
        for given in self.fields:
            if given.key in seen:
                raise PlanError("schema_violation", f"the name {given.text!r} stands twice in an aggregate")
            seen.add(given.key)
        self._check()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(item.value for item in self.keys + self.items)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple(item.field for item in self.keys + self.items)


@dataclass(frozen=True)
class Window(Relation):
    """The input's columns and one more for each window function."""

    input: Relation
    items: tuple[Item, ...]

    def __post_init__(self):
        taken = {given.key for given in self.input.fields}
        for item in self.items:
            if not isinstance(item.value, Over):
                raise PlanError("type_error", f"{item.name} is no window function")
            if item.field.key in taken:
                raise PlanError("schema_violation", f"the name {item.name!r} is taken in a window")
            taken.add(item.field.key)
        check_items(self.items, self.input.fields)
        self._check()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(item.value for item in self.items)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields + tuple(item.field for item in self.items)


@dataclass(frozen=True)
class Sort(Relation):
    """Rows in order, then `offset` rows skipped and at most `limit` kept. Without keys the order is the input's."""

    input: Relation
    keys: tuple[SortKey, ...] = ()
    limit: Expression | None = None
    offset: Expression | None = None

    def __post_init__(self):
        if not self.keys and self.limit is None and self.offset is None:
            raise PlanError("schema_violation", "a sort without keys, limit and offset")
        for bound in (self.limit, self.offset):
            if bound is not None and any(not column.is_outer for column in _columns((bound,))):
                raise PlanError("type_error", "a limit or an offset reads no columns")
            if isinstance(bound, Literal) and not (bound.type == "integer" and bound.value >= 0):
                raise PlanError("type_error", f"a limit or an offset of {bound.value!r:.20}", hint="whole, from 0 on")
        check_no_aggregates(self.expressions, "a sort")
        self._check()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        bounds = [bound for bound in (self.limit, self.offset) if bound is not None]
        return (*(key.value for key in self.keys), *bounds)


@dataclass(frozen=True)
class Distinct(Relation):
    """Each row once."""

    input: Relation


@dataclass(frozen=True)
class SetOperation(Relation):
    """Rows of both queries by position, under the left one's names. is_all: duplicates stay."""

    left: Relation
    right: Relation
    kind: str = "union"
    is_all: bool = False

    def __post_init__(self):
        if self.kind not in SET_OPERATIONS:
            raise PlanError("unknown_operator", f"unknown set operation {self.kind!r}")
        left, right = len(self.left.fields), len(self.right.fields)
        if left != right or not left:
            raise PlanError("type_error", f"{self.kind} of {left} and {right} columns")

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        pairs = zip(self.left.fields, self.right.fields, strict=True)
        return tuple(_united(one, other) for one, other in pairs)


def _united(one: Field, other: Field) -> Field:
    """The column that two make."""
    both = (one.column(), other.column())
    numbers = number_kinds.together([*map(number_kinds.of, both)])
    return replace(one, type=union_type([one.type, other.type]), largest=most(both), numbers=numbers, reals=None)


@dataclass(frozen=True)
class As(Relation):
    """The input's columns under one alias, and under new names where given."""

    input: Relation
    alias: str
    names: tuple[str, ...] = ()

    def __post_init__(self):
        check_alias(self.alias)
        if self.names and len(self.names) != len(self.input.fields):
            what = f"{len(self.names)} names for {len(self.input.fields)} columns"
            raise PlanError("type_error", what)
        check_names(self.names)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return renamed(self.input.fields, self.alias, self.names)


@dataclass(frozen=True)
class Definition:
    """A named sub-pipeline. is_recursive: its query is a union whose right side reads the name itself."""

    name: str
    query: Relation
    is_recursive: bool = False


@dataclass(frozen=True)
class With(Relation):
    """A query with named sub-pipelines, each visible to the later ones."""

    definitions: tuple[Definition, ...]
    input: Relation

    def __post_init__(self):
        names = [check_alias(definition.name).lower() for definition in self.definitions]
        if len(set(names)) < len(names):
            raise PlanError("schema_violation", "a named sub-pipeline is defined twice")
        for definition in self.definitions:
            body = definition.query.input if isinstance(definition.query, As) else definition.query
            if definition.is_recursive and not (isinstance(body, SetOperation) and body.kind == "union"):
                what = f"the recursive sub-pipeline {definition.name!r} is no union of a start and a step"
                raise PlanError("unsupported", what)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (*(definition.query for definition in self.definitions), self.input)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True)
class Plan:
    """A whole plan. Raises PlanError where something reads a column of a query around it: there is none."""

    root: Relation

    def __post_init__(self):
        if not self.root.fields:
            raise PlanError("schema_violation", "a plan without columns", hint="end it with a project or an aggregate")
        level, depth = [self.root], 1
        while level := [one for node in level for one in (*node.inputs, *_queries(node.expressions))]:
            depth += 1
            if depth > MAX_DEPTH:
                raise PlanError("unsupported", f"operators nested deeper than {MAX_DEPTH}")
        for column in self.root.outer_columns:
            raise PlanError("unknown_column", f"no column {column.text!r} in this or an outer query")

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.root.fields

    @classmethod
    def from_json(cls, plan: str | list | dict, schema: Schema) -> "Plan":
        """The plan that compact JSON states; raises PlanError, of the kinds in errors.PLAN_ERROR_KINDS."""
        from workbench.plan_from_json import read_plan

        return read_plan(plan, schema)

    def to_json(self, is_versioned: bool = False) -> str:
        """Compact JSON on one line: a list of operators, or with is_versioned {"plan": version, "steps": [...]}."""
        from workbench.plan_json import write_plan

        return write_plan(self, is_versioned)

    @classmethod
    def from_reljson(cls, text: str | dict, schema: Schema) -> "Plan":
        """The plan that Apache Calcite's RelJson states; raises PlanError as from_json does."""
        from workbench.plan_from_reljson import read_reljson

        return read_reljson(text, schema)

    def to_reljson(self) -> str:
        """The plan in Apache Calcite's RelJson; raises UnsupportedError, by name, for what that cannot hold."""
        from workbench.plan_reljson import write_reljson

        return write_reljson(self)

    def to_text(self) -> str:
        """The indented tree, the last operator first."""
        from workbench.plan_text import draw

        return draw(self)

    def to_svg(self) -> str:
        """The drawn tree, as an SVG document; notebooks show it for a plan by itself."""
        from workbench.plan_svg import draw_svg

        return draw_svg(self)

    _repr_svg_ = to_svg


def walk_relations(relation: Relation) -> Iterator[Relation]:
    """The operator and all below it, also in subqueries, the last operator first."""
    yield relation
    for below in relation.inputs:
        yield from walk_relations(below)
    for query in _queries(relation.expressions):
        yield from walk_relations(query)


def _key(column: Column) -> tuple[str | None, str]:
    return (column.alias.lower() if column.alias else None, column.name.lower())


def _columns(expressions: Iterable[Expression]) -> Iterator[Column]:
    for expression in expressions:
        yield from (part for part in walk(expression) if isinstance(part, Column))


def _queries(expressions: Iterable[Expression]) -> Iterator[Relation]:
    for expression in expressions:
        yield from (part.query for part in walk(expression) if isinstance(part, Subquery | InQuery | Exists))
