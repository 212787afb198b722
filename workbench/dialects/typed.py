"""What engines with typed columns share: core functions whose standard SQL means the same on all of them.

In: expressions that `lower.py` made. A dialect inherits this and overrides what its engine does otherwise.
"""

import math
import re
from dataclasses import replace
from typing import ClassVar

from sqlglot import exp

from workbench import magnitudes
from workbench.core_functions import Core, TypedOver
from workbench.dialects.base import BINARY, Dialect, Names, bracketed
from workbench.errors import UnsupportedError
from workbench.lower_values import constant_real, real
from workbench.magnitudes import EXACT_END
from workbench.plan import Item, Project, SetOperation
from workbench.plan_expressions import MAX_INTEGER, Aggregation, Column, Expression, InQuery, Literal, SortKey

# regular expressions, which all engines read alike: an SQL number, times of text
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DAY = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
TIME, TIME_OF_DAY = rf"^{_DAY}(?:[ T]{_CLOCK})?$", rf"^{_CLOCK}$"
# parts of a date -> their start and length in its text
_PLACES = {"%Y-%m-%d": (1, 10), "%Y-%m": (1, 7), "%m-%d": (6, 5), "%Y": (1, 4), "%m": (6, 2), "%d": (9, 2)}
_SIGNED_ZERO = ("negative", "*", "divide_reals", "round", "choose")  # functions that give -0.0 too
_OVERFLOWING = ("+", "-", "*", "divide_reals")
_OF_64_BITS = ("modulo", "cut", "&", "|", "~", "<<", ">>")
_WIDE_END = 2.0**126  # of integers of 128 bits


class TypedDialect(Dialect):
    """`types` maps integer, real and text to the engine's types of those ranges."""

    functions: ClassVar = {
        "char_length": "CHAR_LENGTH", "replace": "REPLACE", "abs": "ABS", "count": "COUNT", "sum": "SUM", "avg": "AVG",
        "min": "MIN", "max": "MAX", "row_number": "ROW_NUMBER", "rank": "RANK", "dense_rank": "DENSE_RANK",
        "percent_rank": "PERCENT_RANK", "cume_dist": "CUME_DIST", "ntile": "NTILE", "lag": "LAG", "lead": "LEAD",
        "first_value": "FIRST_VALUE", "last_value": "LAST_VALUE", "nth_value": "NTH_VALUE", "coalesce": "COALESCE",
        "whole_part": "TRUNC",
    }  # fmt: skip

    has_infinity: ClassVar[bool] = True  # else reals that overflow are an error
    null_order: ClassVar[str] = "large"  # where NULLs are if nothing is said: large, small, or always last

    def order_by(self, tree: exp.Expr, key: SortKey) -> exp.Ordered:
        """A count is never NULL, so it needs no word on where NULLs go."""
        is_count = isinstance(tree, exp.Anonymous) and tree.name == self.functions["count"]
        if not is_count:
            return super().order_by(tree, key)
        default = exp.Ordered(this=tree, desc=key.is_descending or None)
        default.set("nulls_first", self.null_order == ("large" if key.is_descending else "small"))
        return default

    def cast(self, tree: exp.Expr, kind: str) -> exp.Expr:
        if kind not in self.types:
            what = "an integer that may need more than 64 bits" if kind == "wide" else f"a cast to {kind}"
            raise UnsupportedError(what, where=self.name)
        return exp.Cast(this=tree, to=exp.Var(this=self.types[kind]))

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        tree = super().write_literal(value, names)
        return self.cast(tree, "real") if isinstance(value.value, float) else tree

    def write_core(self, value: Core, names: Names) -> exp.Expr:
        """An integer that overflowed is a real in SQLite; as an integer again, in 64 bits, it is another number."""
        if value.name in _OF_64_BITS and "wide" in self.types and any(map(may_be_wide, value.args)):
            raise UnsupportedError(f"{value.name} of integers that may overflow", where=self.name)
        if not self.has_infinity and value.name in _OVERFLOWING and math.isinf(constant_real(value) or 0.0):
            raise UnsupportedError("an infinite number", where=self.name)
        return super().write_core(value, names)

    def core_value(self, value: Core, names: Names) -> exp.Expr:
        return self.cast(self.write(value.args[0], names), "boolean")

    def number_pattern(self, value: Core) -> str:
        """What an is_number asks for."""
        digits = r"[+-]?\d+" if value.word == "integer" else NUMBER
        return rf"^\s*{digits}\s*$"

    def core_holds(self, value: Core, names: Names) -> exp.Expr:
        return self.binary(exp.NEQ, (value.args[0], Literal(0)), names)

    def check_exact(self, one: Expression, other: Expression) -> None:
        """Refuses integers that no double holds beside reals as large: SQLite compares both exactly."""
        for whole, fraction in ((one, other), (other, one)):
            is_mixed = whole.type == "integer" and fraction.type == "real" and not isinstance(fraction, Literal)
            if is_mixed and magnitudes.fits(whole, EXACT_END) is False and not magnitudes.fits(fraction, EXACT_END):
                raise UnsupportedError("integers beyond 2**53 beside reals", where=self.name)

    def core_compare(self, value: Core, names: Names) -> exp.Expr:
        self.check_exact(*value.args)
        return exp_with_plain_numbers(self, BINARY[value.word], value.args, names)

    def core_same(self, value: Core, names: Names) -> exp.Expr:
        self.check_exact(*value.args)
        kind = exp.NullSafeEQ if value.word == "is" else exp.NullSafeNEQ
        return exp_with_plain_numbers(self, kind, value.args, names)

    def write_inquery(self, value: InQuery, names: Names) -> exp.Expr:
        for one, given in zip(value.values, value.query.fields, strict=True):
            self.check_exact(one, given.column())
        return super().write_inquery(value, names)

    def core_none(self, value: Core, names: Names) -> exp.Expr:
        return exp.Cast(this=exp.Null(), to=exp.Var(this="BOOLEAN"))

    def core_null(self, value: Core, names: Names) -> exp.Expr:
        return self.cast(exp.Null(), value.type)

    def core_and(self, value: Core, names: Names) -> exp.Expr:
        return self._chain(exp.And, value, names)

    def core_or(self, value: Core, names: Names) -> exp.Expr:
        return self._chain(exp.Or, value, names)

    def core_not(self, value: Core, names: Names) -> exp.Expr:
        return self.write_not(value, names)

    def core_is_null(self, value: Core, names: Names) -> exp.Expr:
        return self.write_is_null(value, names)

    def core_is_not_null(self, value: Core, names: Names) -> exp.Expr:
        return self.write_is_not_null(value, names)

    def core_in(self, value: Core, names: Names) -> exp.Expr:
        this, *items = value.args
        plain = [
            Dialect.write_literal(self, i, names) if isinstance(i, Literal) else self.write(i, names) for i in items
        ]
        return exp.In(this=self._within(this, names, 4), expressions=plain)

    def core_choose(self, value: Core, names: Names) -> exp.Expr:
        args = [self.write(arg, names) for arg in value.args]
        pairs = [exp.If(this=one, true=two) for one, two in zip(args[0::2], args[1::2], strict=False)]
        return exp.Case(ifs=pairs, default=args[-1] if len(args) % 2 else None)

    def needs_more_than_64_bits(self, value: Core) -> bool:
        """Whether an integer may be too large; where nothing is known the engine's own error is trusted."""
        return magnitudes.fits(value) is False

    def _arithmetic(self, kind: type, value: Core, names: Names) -> exp.Expr:
        """Integers in a type of more than 64 bits where values are stored whose sum or product can need it."""
        first, second = value.args
        if value.type != "integer" or "wide" not in self.types or not self.needs_more_than_64_bits(value):
            return self.binary(kind, value.args, names)
        if (magnitudes.of(value) or 0) >= _WIDE_END:
            return self.binary(kind, (real(first), real(second)), names)
        is_wide = any(map(may_be_wide, value.args))
        return self.binary(kind, value.args if is_wide else (Core("wide", (first,), "integer"), second), names)

    def core_wide(self, value: Core, names: Names) -> exp.Expr:
        return self.cast(self.write(value.args[0], names), "wide")

    def core_plus(self, value: Core, names: Names) -> exp.Expr:
        return self._arithmetic(exp.Add, value, names)

    def core_minus(self, value: Core, names: Names) -> exp.Expr:
        return self._arithmetic(exp.Sub, value, names)

    def core_times(self, value: Core, names: Names) -> exp.Expr:
        return self._arithmetic(exp.Mul, value, names)

    def core_bit_and(self, value: Core, names: Names) -> exp.Expr:
        return exp.Paren(this=self.binary(exp.BitwiseAnd, value.args, names))

    def core_bit_or(self, value: Core, names: Names) -> exp.Expr:
        return exp.Paren(this=self.binary(exp.BitwiseOr, value.args, names))

    def core_bit_not(self, value: Core, names: Names) -> exp.Expr:
        return exp.Paren(this=self.write_bit_not(value, names))  # elsewhere ~ binds looser than +

    def _shift(self, kind: type, value: Core, names: Names) -> exp.Expr:
        """SQLite shifts the other way by a negative number, and to nothing by a large one."""
        by = value.args[1]
        if not isinstance(by, Literal) or not 0 <= (by.value or 0) < 63:
            raise UnsupportedError("a shift by a computed number", where=self.name)
        return exp.Paren(this=self.binary(kind, value.args, names))

    def core_shift_left(self, value: Core, names: Names) -> exp.Expr:
        return self._shift(exp.BitwiseLeftShift, value, names)

    def core_shift_right(self, value: Core, names: Names) -> exp.Expr:
        return self._shift(exp.BitwiseRightShift, value, names)

    def core_negative(self, value: Core, names: Names) -> exp.Expr:
        inner = self._within(value.args[0], names, 9)
        return exp.Neg(this=exp.Paren(this=inner) if isinstance(inner, exp.Neg) else inner)

    def nullif_zero(self, value, names: Names) -> exp.Expr:
        if isinstance(value, Literal) and value.value:
            return self._within(value, names, 7)
        return self.call("NULLIF", [self.write(value, names), exp.Literal.number(0)])

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        left = self._within(value.args[0], names, 6)
        return exp.Div(this=left, expression=self.nullif_zero(value.args[1], names), typed=True, safe=False)

    core_divide_reals = core_divide_integers

    def core_modulo(self, value: Core, names: Names) -> exp.Expr:
        left = self._within(value.args[0], names, 6)
        tree = exp.Mod(this=left, expression=self.nullif_zero(value.args[1], names))
        return self.cast(tree, "real") if value.type == "real" else tree

    def core_join_texts(self, value: Core, names: Names) -> exp.Expr:
        return self._chain(exp.DPipe, value, names)

    def core_text_of_integer(self, value: Core, names: Names) -> exp.Expr:
        return self.cast(self.write(value.args[0], names), "text")

    def core_real_of_integer(self, value: Core, names: Names) -> exp.Expr:
        if isinstance(value.args[0], Literal):
            return self.write_literal(real(value.args[0]), names)
        return self.cast(self.write(value.args[0], names), "real")

    def core_real(self, value: Core, names: Names) -> exp.Expr:
        return self.write(value.args[0], names)

    def core_integer_of_real(self, value: Core, names: Names) -> exp.Expr:
        """Reals of more than 64 bits become the nearest integer that these hold."""
        arg = value.args[0]
        tree = self.truncated(self.write(arg, names))
        if not self.may_be_too_large(arg):
            return tree
        bounds = [(Literal(2.0**63), MAX_INTEGER, ">="), (Literal(-(2.0**63)), -MAX_INTEGER - 1, "<=")]
        tests = [(Core("compare", (arg, bound), "condition", word), Literal(one)) for bound, one, word in bounds]
        cases = [exp.If(this=self.write(test, names), true=self.write(one, names)) for test, one in tests]
        return exp.Case(ifs=cases, default=tree)

    def truncated(self, tree: exp.Expr) -> exp.Expr:
        """A real as an integer of 64 bits."""
        return self.cast(self.call("TRUNC", [tree]), "integer")

    def may_be_too_large(self, value: Expression) -> bool:
        """For 64 bits; where nothing is known the engine's own error is trusted."""
        return magnitudes.fits(value) is False

    def nudged(self, value: Expression, names: Names) -> exp.Expr:
        """Two units in the last place further from zero: what is half a digit as a decimal is then surely more."""
        return exp.Mul(this=self._within(value, names, 6), expression=exp.Literal.number("1.0000000000000004"))

    def may_be_negative_zero(self, value: Expression) -> bool:
        return getattr(value, "name", "") in _SIGNED_ZERO

    def without_sign_of_zero(self, value: Expression, names: Names) -> exp.Expr:
        if not self.may_be_negative_zero(value):
            return self.write(value, names)
        return exp.Add(this=self._within(value, names, 5), expression=self.write_literal(Literal(0.0), names))

    def with_point(self, function: str, digits: exp.Expr) -> exp.Expr:
        """A real's digits with the point that SQLite puts behind whole ones; function replaces a pattern."""
        return self.call(function, [digits, *map(exp.Literal.string, (r"^(-?\d+)(e|$)", r"\1.0\2"))])

    def joined(self, parts: list[exp.Expr]) -> exp.Expr:
        return joined(parts)

    def day_of_text(self, text: exp.Expr, form: str) -> exp.Expr:
        """Parts of the date stand in the text; a time of day is of 2000-01-01."""
        parts, of_time = [], ""
        for piece in re.findall("|".join(_PLACES) + "|%%|[^%]+", form):
            start, length = _PLACES.get(piece, (0, 0))
            places = [exp.Literal.number(start), exp.Literal.number(length)]
            constant = exp.Literal.string(piece.replace("%%", "%"))
            parts.append(
                self.call(self.functions.get("part", "SUBSTRING"), [text.copy(), *places]) if length else constant
            )
            of_time += "2000-01-01"[start - 1 : start - 1 + length] if length else constant.name
        is_day, is_time = (self._matches(bracketed(text.copy(), 4), pattern) for pattern in (TIME, TIME_OF_DAY))
        tests = [exp.If(this=is_day, true=self.joined(parts)), exp.If(this=is_time, true=exp.Literal.string(of_time))]
        return exp.Case(ifs=tests)

    def core_at_least_zero(self, value: Core, names: Names) -> exp.Expr:
        """GREATEST passes over NULL on some engines."""
        arg = value.args[0]
        is_below = Core("compare", (arg, Literal(0)), "condition", "<")
        return self.core_choose(Core("choose", (is_below, Literal(0), arg), "integer"), names)

    def core_extreme(self, value: Core, names: Names) -> exp.Expr:
        args = [self.write(arg, names) for arg in value.args]
        tree = self.call(value.word.upper(), args)
        unknown = [
            exp.Is(this=bracketed(arg.copy(), 4), expression=exp.Null()) for arg in args if not _is_constant(arg)
        ]
        if not unknown:
            return tree
        test = unknown[0]
        for one in unknown[1:]:
            test = exp.Or(this=test, expression=one)
        return exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Paren(this=test)), true=tree)])

    def recursion(self, node: SetOperation) -> SetOperation:
        """A recursive column is of the type that it has in the first part."""
        left = node.left
        start = left.items if isinstance(left, Project) else [Item.keep(one.column()) for one in left.fields]
        values = [self.with_room(item.value) for item in start]
        if all(value is item.value for value, item in zip(values, start, strict=True)):
            return node
        names = zip(values, left.fields, strict=True)
        items = tuple(
            Item.keep(v) if isinstance(v, Column) and v.name == f.name else Item(v, f.name, f.alias) for v, f in names
        )
        return replace(node, left=Project(left.input if isinstance(left, Project) else left, items))

    def with_room(self, value: Expression) -> Expression:
        """A value where recursion begins, in a type that holds what it grows to."""
        return value

    def write_typedover(self, value: TypedOver, names: Names) -> exp.Expr:
        if value.name != "total":
            return self.write_over(value, names)
        tree = self.write_over(replace(value, name="sum"), names)
        return self.call("COALESCE", [tree, self.write_literal(Literal(0.0), names)])

    def write_total(self, value: Aggregation, names: Names) -> exp.Expr:
        tree = self._filtered(self._aggregate_call("sum", value.args, value.is_distinct, names), value.where, names)
        return self.call("COALESCE", [tree, self.write_literal(Literal(0.0), names)])

    def write_collate(self, value, names: Names) -> exp.Expr:
        raise UnsupportedError("a collation that was not lowered", where=self.name)


def _is_constant(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal) or (isinstance(tree, exp.Cast) and isinstance(tree.this, exp.Literal))


def is_in_the_text(value: Core) -> bool:
    """Whether a `day` shows nothing but parts of the date that its text begins with."""
    this, *modifiers = value.args
    return not modifiers and not isinstance(this, Literal) and not re.search("%[^Ymd%]", value.word)


def joined(parts: list[exp.Expr]) -> exp.Expr:
    tree = parts[0] if parts else exp.Literal.string("")
    for part in parts[1:]:
        tree = exp.DPipe(this=tree, expression=part, safe=True)
    return tree


def may_be_wide(value: Expression) -> bool:
    """Whether it is an integer that needs more than 64 bits where such values are stored."""
    return value.type == "integer" and (magnitudes.of(value) or 0) > magnitudes.INTEGER_END


def exp_with_plain_numbers(dialect: Dialect, kind: type, args: tuple, names: Names) -> exp.Expr:
    """A comparison; beside a column a real constant needs no cast."""
    trees = []
    for arg, other in (args, args[::-1]):
        is_plain = isinstance(arg, Literal) and isinstance(other, Column)
        trees.append(Dialect.write_literal(dialect, arg, names) if is_plain else dialect.write(arg, names))
    return kind(this=bracketed(trees[0], 4), expression=bracketed(trees[1], 4))


def regex_of_glob(pattern: str) -> str:
    """GLOB's *, ? and [...] as a regular expression for the whole text."""
    parts = []
    for piece in re.findall(r"\[\^?\]?[^\]]*\]|.", pattern, re.DOTALL):
        if len(piece) > 1:
            parts.append(piece.replace("\\", "\\\\"))
        else:
            parts.append({"*": ".*", "?": "."}.get(piece, re.escape(piece)))
    return f"^{''.join(parts)}$"
