"""How an engine writes an expression: the part of the compiler that a dialect fills in.

A dialect is one file of differences: the name of sqlglot's generator, the words it quotes, a map of cast types, a map of
function names, flags, and a method `write_<name>` for a function that needs more than another name. In: an expression
whose meaning `lower.py` has made explicit, and what each of its columns is in SQL. Out: sqlglot's tree. A function with
neither an entry nor a method raises UnsupportedError: never a plausible call with another meaning.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect

from workbench.core_functions import Core, TypedAggregation, TypedOver
from workbench.errors import PlanError, UnsupportedError
from workbench.plan import Join, SetOperation
from workbench.plan_expressions import (
    Aggregation,
    Bound,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Exists,
    Expression,
    InQuery,
    Literal,
    Over,
    SortKey,
    Subquery,
)

BINARY = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "is": exp.NullSafeEQ,
    "is not": exp.NullSafeNEQ, "+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div, "%": exp.Mod,
    "&": exp.BitwiseAnd, "|": exp.BitwiseOr, "<<": exp.BitwiseLeftShift, ">>": exp.BitwiseRightShift,
    "like": exp.Like, "glob": exp.Glob,
}  # fmt: skip
# How tightly operators bind, loosest first; what is not here is a call or a name and needs no brackets.
LEVELS: dict[type, int] = {exp.Or: 1, exp.And: 2, exp.Not: 3}
LEVELS |= dict.fromkeys((exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Like, exp.Escape), 4)
LEVELS |= dict.fromkeys((exp.Glob, exp.Between, exp.LT, exp.LTE, exp.GT, exp.GTE), 4)
LEVELS |= dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseLeftShift, exp.BitwiseRightShift), 5)
LEVELS |= {exp.Add: 6, exp.Sub: 6, exp.Mul: 7, exp.Div: 7, exp.IntDiv: 7, exp.Mod: 7, exp.DPipe: 8}
LEVELS |= {exp.Neg: 9, exp.BitwiseNot: 9, exp.Collate: 10}
_LEFT_GROUPING = (6, 7, 8)  # a - b - c needs no brackets; a = b = c gets them, engines differ


@dataclass
class Names:
    """What columns are in SQL at one place. here: key of a column -> tree. outer: the same of the query around."""

    here: dict[tuple, exp.Expr]
    outer: "Names | None" = None

    def __call__(self, column: Column) -> exp.Expr:
        if column.is_outer and self.outer is not None:
            return self.outer.find(column)
        return self.find(column)

    def find(self, column: Column) -> exp.Expr:
        """The nearest column of this name, from here outward."""
        found = self.here.get((column.alias.lower() if column.alias else None, column.name.lower()))
        if found is not None:
            return found.copy()
        if self.outer is None:
            raise PlanError("unknown_column", f"no column {column.text!r} where it is read")
        return self.outer.find(column)


class Dialect:
    """The differences of one engine. Subclasses set these and add methods `write_<function>(call, names)`."""

    name: ClassVar[str]  # also the file's name and the registry's key
    sqlglot: ClassVar[str]  # sqlglot's name of the dialect that writes the text
    plain_name: ClassVar[str] = r"[A-Za-z_][A-Za-z0-9_]*"  # what needs no quotes, if it is no keyword
    keywords: ClassVar[frozenset[str]] = frozenset()  # names that must be quoted, in lower case
    types: ClassVar[dict[str, str]] = {}  # plan_expressions.CAST_TYPES -> the engine's type
    functions: ClassVar[dict[str, str]] = {}  # plan function -> the engine's function of the same meaning and order
    is_native: ClassVar[bool] = False  # has SQLite's own semantics: nothing is lowered
    cross_join: ClassVar[str] = "CROSS"
    no_limit: ClassVar[int | None] = None  # OFFSET only after LIMIT, of which this is none
    has_full_join: ClassVar[bool] = True
    has_values: ClassVar[bool] = True  # VALUES (1, 2) stands where a query does
    has_null_order: ClassVar[bool] = True  # NULLS FIRST and NULLS LAST
    correlates_in_having: ClassVar[bool] = True  # subqueries in HAVING read columns around them
    columns_hide_aliases: ClassVar[bool] = False  # in ORDER BY a name is a table's column first
    correlates_lone_tables: ClassVar[bool] = False  # subqueries in the select list read columns of one whole table only
    has_names_behind_aliases: ClassVar[bool] = False  # FROM t AS a also finds t.x, before the t of a query around
    has_unique_names: ClassVar[bool] = (
        False  # no name twice in a select list, nor that of two tables' columns without AS
    )
    aggregate_rewrites: ClassVar[tuple] = ()  # of lower_aggregates.py, for what the engine has no words for
    rewrites: ClassVar[tuple[Callable, ...]] = ()  # relation -> relation, one after the other, after lowering
    has_bare_columns: ClassVar[bool] = False  # takes unaggregated columns from the row of the one MIN or MAX

    def __init__(self, write_query: Callable, find_never_null: Callable[[], frozenset[tuple]]):
        """write_query(relation, names): a subquery's tree, given what the columns around it are.

        find_never_null: gives the keys of the columns that hold no NULL.
        """
        self.write_query, self.find_never_null = write_query, find_never_null

    @cached_property
    def never_null(self) -> frozenset[tuple]:
        return self.find_never_null()

    def takes_full_join(self, node: Join) -> bool:
        """Whether the engine can join so; else a left join and the right rows without a partner are put together."""
        return self.has_full_join

    def recursion(self, node: SetOperation) -> SetOperation:
        """A recursive sub-pipeline's union as the engine needs it."""
        return node

    def identifier(self, name: str) -> exp.Identifier:
        return exp.Identifier(this=name, quoted=not self._is_plain(name))

    @classmethod
    @lru_cache(maxsize=10_000)
    def _is_plain(cls, name: str) -> bool:
        return bool(re.fullmatch(cls.plain_name, name)) and name.lower() not in cls.keywords

    def column(self, table: str | None, name: str) -> exp.Column:
        return exp.Column(this=self.identifier(name), table=self.identifier(table) if table else None)

    def sql(self, tree: exp.Expr, is_pretty: bool = False, **options: object) -> str:
        return _writer(self.sqlglot)(pretty=is_pretty, dialect=self.sqlglot, **options).generate(tree)

    def write(self, value: Expression, names: Names) -> exp.Expr:
        """The SQL of an expression."""
        kind = type(value).__name__.lower()
        return getattr(self, f"write_{kind}")(value, names)

    def _within(self, value: Expression, names: Names, level: int) -> exp.Expr:
        """An operand, in brackets if it binds no tighter than level."""
        return bracketed(self.write(value, names), level)

    def write_column(self, value: Column, names: Names) -> exp.Expr:
        return names(value)

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        constant = value.value
        if constant is None:
            return exp.Null()
        if isinstance(constant, bytes):
            return exp.HexString(this=constant.hex())
        if isinstance(constant, str):
            return exp.Literal.string(constant)
        tree = exp.Literal.number(repr(abs(constant)))
        is_negative = constant < 0 or repr(constant).startswith("-")
        return exp.Neg(this=tree) if is_negative else tree

    def write_on(self, node: Join, names: Names) -> exp.Expr:
        """A join's condition."""
        return self.write(node.on, names)

    def write_call(self, value: Call, names: Names) -> exp.Expr:
        name, args = value.name, value.args
        method = getattr(self, "write_" + _METHODS.get(name, name).replace(" ", "_"), None)
        if method is not None:
            return method(value, names)
        if name in BINARY and len(args) == 2:
            return self.binary(BINARY[name], args, names)
        if name not in self.functions:
            raise UnsupportedError(f"the function {name}", where=self.name)
        return self.call(self.functions[name], [self.write(arg, names) for arg in args])

    def call(self, name: str, args: list[exp.Expr]) -> exp.Expr:
        return exp.Anonymous(this=name, expressions=args)

    def binary(self, kind: type, args: tuple[Expression, ...], names: Names) -> exp.Expr:
        level = LEVELS[kind]
        left = self._within(args[0], names, level - 1 if level in _LEFT_GROUPING else level)
        flags = {"typed": True, "safe": True} if kind is exp.Div else {}
        return kind(this=left, expression=self._within(args[1], names, level), **flags)

    def _chain(self, kind: type, value: Call, names: Names) -> exp.Expr:
        level = LEVELS[kind]
        parts = [self._within(arg, names, level) for arg in value.args]
        tree = parts[0]
        for part in parts[1:]:
            tree = kind(this=tree, expression=part, **({"safe": True} if kind is exp.DPipe else {}))
        return tree

    def write_and(self, value: Call, names: Names) -> exp.Expr:
        return self._chain(exp.And, value, names)

    def write_or(self, value: Call, names: Names) -> exp.Expr:
        return self._chain(exp.Or, value, names)

    def write_concat(self, value: Call, names: Names) -> exp.Expr:
        return self._chain(exp.DPipe, value, names)

    def write_not(self, value: Call, names: Names) -> exp.Expr:
        return exp.Not(this=self._within(value.args[0], names, 2))

    def write_is_null(self, value: Call, names: Names) -> exp.Expr:
        return exp.Is(this=self._within(value.args[0], names, 4), expression=exp.Null())

    def write_is_not_null(self, value: Call, names: Names) -> exp.Expr:
        return exp.Not(this=self.write_is_null(value, names))

    def write_between(self, value: Call, names: Names) -> exp.Expr:
        this, low, high = (self._within(arg, names, 4) for arg in value.args)
        return exp.Between(this=this, low=low, high=high)

    def write_in(self, value: Call, names: Names) -> exp.Expr:
        this, *items = value.args
        return exp.In(this=self._within(this, names, 4), expressions=[self.write(item, names) for item in items])

    def write_like(self, value: Call, names: Names) -> exp.Expr:
        tree = self.binary(exp.Like, value.args[:2], names)
        return exp.Escape(this=tree, expression=self.write(value.args[2], names)) if len(value.args) == 3 else tree

    def write_plus(self, value: Call, names: Names) -> exp.Expr:
        if len(value.args) == 2:
            return self.binary(exp.Add, value.args, names)
        raise UnsupportedError("a sign +", where=self.name)

    def write_minus(self, value: Call, names: Names) -> exp.Expr:
        if len(value.args) == 2:
            return self.binary(exp.Sub, value.args, names)
        inner = self._within(value.args[0], names, 9)
        return exp.Neg(this=exp.Paren(this=inner) if isinstance(inner, exp.Literal) else inner)

    def write_bit_not(self, value: Call, names: Names) -> exp.Expr:
        return exp.BitwiseNot(this=self._within(value.args[0], names, 9))

    def write_cast(self, value: Cast, names: Names) -> exp.Expr:
        if value.to not in self.types:
            raise UnsupportedError(f"cast to {value.to}", where=self.name)
        return exp.Cast(this=self.write(value.value, names), to=exp.Var(this=self.types[value.to]))

    def write_case(self, value: Case, names: Names) -> exp.Expr:
        branches = [exp.If(this=self.write(a, names), true=self.write(b, names)) for a, b in value.branches]
        otherwise = self.write(value.otherwise, names) if value.otherwise is not None else None
        operand = self.write(value.operand, names) if value.operand is not None else None
        return exp.Case(this=operand, ifs=branches, default=otherwise)

    def write_collate(self, value: Collate, names: Names) -> exp.Expr:
        raise UnsupportedError(f"the collation {value.collation}", where=self.name)

    def write_subquery(self, value: Subquery, names: Names) -> exp.Expr:
        return exp.Subquery(this=self.write_query(value.query, names))

    def write_inquery(self, value: InQuery, names: Names) -> exp.Expr:
        if len(value.values) == 1:
            this = self._within(value.values[0], names, 4)
        else:
            this = exp.Tuple(expressions=[self.write(one, names) for one in value.values])
        return exp.In(this=this, query=exp.Subquery(this=self.write_query(value.query, names)))

    def write_exists(self, value: Exists, names: Names) -> exp.Expr:
        return exp.Exists(this=self.write_query(value.query, names))

    def write_core(self, value: Core, names: Names) -> exp.Expr:
        """A core function's call: its method, else its entry in `functions`."""
        word = _METHODS.get(value.name, value.name).replace(" ", "_")
        method = getattr(self, f"core_{word}", None)
        if method is not None:
            return method(value, names)
        if value.name not in self.functions:
            raise UnsupportedError(f"the core function {value.name}", where=self.name)
        return self.call(self.functions[value.name], [self.write(arg, names) for arg in value.args])

    def write_typedaggregation(self, value: TypedAggregation, names: Names) -> exp.Expr:
        return self.write_aggregation(value, names)

    def write_typedover(self, value: TypedOver, names: Names) -> exp.Expr:
        return self.write_over(value, names)

    def write_aggregation(self, value: Aggregation, names: Names) -> exp.Expr:
        method = getattr(self, f"write_{value.name}", None)
        if method is not None:
            return method(value, names)
        tree = self._aggregate_call(value.name, value.args, value.is_distinct, names)
        return self._filtered(tree, value.where, names)

    def _aggregate_call(self, name: str, args: tuple, is_distinct: bool, names: Names) -> exp.Expr:
        if name not in self.functions:
            raise UnsupportedError(f"the aggregate {name}", where=self.name)
        written = [
            self.write(arg, names) if number else self.argument(name, arg, names) for number, arg in enumerate(args)
        ]
        if is_distinct:
            written = [exp.Distinct(expressions=written)]
        if name == "count" and not written:
            written = [exp.Star()]
        return self.call(self.functions[name], written)

    def argument(self, name: str, value: Expression, names: Names) -> exp.Expr:
        """The first argument of an aggregate or a window function."""
        return self.write(value, names)

    def _filtered(self, tree: exp.Expr, where: Expression | None, names: Names) -> exp.Expr:
        if where is None:
            return tree
        return exp.Filter(this=tree, expression=exp.Where(this=self.write(where, names)))

    def write_over(self, value: Over, names: Names) -> exp.Expr:
        tree = self._filtered(self._aggregate_call(value.name, value.args, False, names), value.where, names)
        keys = [self.ordered(key, names) for key in value.order]
        spec = None
        if value.frame is not None:
            (start, start_side), (end, end_side) = (self._bound(b, names) for b in (value.frame.start, value.frame.end))
            exclude = value.frame.exclude.upper()
            spec = exp.WindowSpec(
                kind=value.frame.unit.upper(), start=start, start_side=start_side, end=end, end_side=end_side,
                exclude=exp.Var(this=exclude) if exclude != "NO OTHERS" else None,
            )  # fmt: skip
        return exp.Window(
            this=tree,
            partition_by=[self.write(part, names) for part in value.partition],
            order=exp.Order(expressions=keys) if keys else None,
            spec=spec,
        )

    def _bound(self, bound: Bound, names: Names) -> tuple[object, str | None]:
        if bound.offset is not None:
            return self.write(bound.offset, names), bound.side.upper()
        word, _, side = bound.side.upper().partition(" ")
        return ("CURRENT ROW", None) if word == "CURRENT" else (word, side)

    def ordered(self, key: SortKey, names: Names) -> exp.Ordered:
        """One sort key; sqlglot leaves out what is the engine's default."""
        return self.order_by(self.write(key.value, names), key)

    def order_by(self, tree: exp.Expr, key: SortKey) -> exp.Ordered:
        return exp.Ordered(this=tree, desc=key.is_descending or None, nulls_first=key.nulls_first)


# operators that are no words -> the method's name
_METHODS = {
    "||": "concat", "+": "plus", "-": "minus", "*": "times", "~": "bit_not", "&": "bit_and", "|": "bit_or",
    "<<": "shift_left", ">>": "shift_right",
}  # fmt: skip


def bracketed(tree: exp.Expr, level: int) -> exp.Expr:
    return exp.Paren(this=tree) if LEVELS.get(type(tree), 99) <= level else tree


def _not_sql(self, tree: exp.Not) -> str:
    """x NOT IN (...), x IS NOT NULL: NOT where a person writes it."""
    inner = tree.this
    if isinstance(inner, exp.Is):
        return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
    if isinstance(inner, exp.In | exp.Between | exp.Like | exp.Glob | exp.Escape):
        first = inner.this.this if isinstance(inner, exp.Escape) else inner.this
        left, text = self.sql(first), self.sql(inner)
        if text.startswith(f"{left} "):
            return f"{left} NOT {text[len(left) + 1 :]}"
    return f"NOT {self.sql(tree, 'this')}"


_WRITERS: dict[str, type] = {}


def _writer(name: str) -> type:
    if name not in _WRITERS:
        base = SqlglotDialect.get_or_raise(name).generator_class
        _WRITERS[name] = type(f"{name}Writer", (base,), {"not_sql": _not_sql})
    return _WRITERS[name]
