"""PostgreSQL 14 or newer, in a database of locale C, with the types that the migration makes.

Seen on 18: bigint / bigint truncates; SUM(bigint) is numeric; 1.5 is numeric; double -> numeric keeps 15 digits, as
SQLite's text of reals does; ROUND(numeric) is half away from zero; LOWER with collation "C" folds ASCII alone.
"""

import re
from dataclasses import replace
from typing import ClassVar

from sqlglot import exp

from workbench import magnitudes, number_kinds
from workbench.core_functions import Core, TypedOver
from workbench.dialects.base import Names, bracketed
from workbench.dialects.typed import NUMBER, TIME, TIME_OF_DAY, TypedDialect, is_in_the_text, regex_of_glob
from workbench.errors import UnsupportedError
from workbench.plan import Join
from workbench.plan_expressions import MAX_INTEGER, Aggregation, Column, Expression, Literal, SortKey, walk

# https://www.postgresql.org/docs/current/sql-keywords-appendix.html: reserved, also those that may be functions or types
KEYWORDS = """
    all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column
    concurrently constraint create cross current_catalog current_date current_role current_schema current_time
    current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from
    full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit
    localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references
    returning right select session_user similar some symmetric system_user table tablesample then to trailing true union
    unique user using variadic verbose when where window with
"""
_FORMATS = {"Y": "YYYY", "m": "MM", "d": "DD", "H": "HH24", "M": "MI", "S": "SS", "j": "DDD", "f": "SS.MS"}


class Postgres(TypedDialect):
    name = "postgres"
    sqlglot = "postgres"
    plain_name = r"[a-z_][a-z0-9_]*"  # names keep their case only in quotes
    keywords = frozenset(KEYWORDS.split())
    types: ClassVar = {
        "integer": "BIGINT", "real": "DOUBLE PRECISION", "text": "TEXT", "boolean": "INTEGER", "numeric": "NUMERIC",
        "wide": "NUMERIC",
    }  # fmt: skip
    functions: ClassVar = TypedDialect.functions | {"string_agg": "STRING_AGG"}
    has_infinity = False

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        if isinstance(value.value, bytes):  # x'..' is a string of bits
            return self.call("DECODE", [exp.Literal.string(value.value.hex()), exp.Literal.string("hex")])
        return super().write_literal(value, names)

    def _arithmetic(self, kind: type, value: Core, names: Names) -> exp.Expr:
        is_narrow = number_kinds.fits_narrow(value.name, value.args)
        return super()._arithmetic(kind, value if is_narrow else in_64_bits(value), names)

    def core_long(self, value: Core, names: Names) -> exp.Expr:
        return self.cast(self.write(value.args[0], names), "integer")

    def _shift(self, kind: type, value: Core, names: Names) -> exp.Expr:
        return super()._shift(kind, in_64_bits(value), names)

    def with_room(self, value: Expression) -> Expression:
        return Core("long", (value,), "integer") if number_kinds.of(value) == "narrow" else value

    def takes_full_join(self, node: Join) -> bool:
        """Only one by an equality of both sides."""
        tests = node.on.args if isinstance(node.on, Core) and node.on.name == "and" else (node.on,)
        left = {one.key for one in node.left.fields}
        for test in tests:
            if isinstance(test, Core) and (test.name, test.word) == ("compare", "="):
                sides = [{_is_in(left, part) for part in walk(arg) if isinstance(part, Column)} for arg in test.args]
                if sorted(sides, key=str) == [{False}, {True}]:
                    return True
        return False

    def argument(self, name: str, value: Expression, names: Names) -> exp.Expr:
        """A function of any type takes no constant whose type is not said."""
        tree = self.write(value, names)
        if not isinstance(tree, exp.Null) and not (isinstance(tree, exp.Literal) and tree.is_string):
            return tree
        return self.cast(tree, "real" if name in ("sum", "total", "avg") else "text")

    def _c(self, tree: exp.Expr) -> exp.Expr:
        return exp.Collate(this=tree, expression=exp.to_identifier("C", quoted=True))

    def _text(self, value: Expression, names: Names, case: str) -> exp.Expr:
        """A text with its ASCII letters in one case."""
        if isinstance(value, Literal) and isinstance(value.value, str):
            constant = value.value.encode().lower() if case == "LOWER" else value.value.encode().upper()
            return exp.Literal.string(constant.decode())
        return self.call(case, [self._c(self._within(value, names, 9))])

    def core_fold(self, value: Core, names: Names) -> exp.Expr:
        return self._text(value.args[0], names, "LOWER")

    core_lower = core_fold

    def core_upper(self, value: Core, names: Names) -> exp.Expr:
        return self._text(value.args[0], names, "UPPER")

    def core_like(self, value: Core, names: Names) -> exp.Expr:
        this, pattern, *escape = value.args
        left, right = (self._text(one, names, "LOWER") for one in (this, pattern))
        tree = exp.Like(this=left, expression=right)
        if escape:
            return exp.Escape(this=tree, expression=self._text(escape[0], names, "LOWER"))
        is_plain = isinstance(pattern, Literal) and "\\" not in (pattern.value or "")
        return tree if is_plain else exp.Escape(this=tree, expression=exp.Literal.string(""))

    def core_glob(self, value: Core, names: Names) -> exp.Expr:
        this, pattern = value.args
        if not isinstance(pattern, Literal):
            raise UnsupportedError("GLOB of a computed pattern", where=self.name)
        return self._matches(self._within(this, names, 4), regex_of_glob(pattern.value))

    def _matches(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        return exp.RegexpLike(this=tree, expression=exp.Literal.string(pattern))

    def core_is_number(self, value: Core, names: Names) -> exp.Expr:
        return self._matches(self._within(value.args[0], names, 4), self.number_pattern(value))

    def core_number_of_text(self, value: Core, names: Names) -> exp.Expr:
        this = self.write(value.args[0], names)
        is_number = self._matches(bracketed(this.copy(), 4), rf"^\s*{NUMBER}\s*$")
        nan = self.cast(exp.Literal.string("NaN"), "real")
        is_text = exp.Not(this=exp.Is(this=bracketed(this.copy(), 4), expression=exp.Null()))
        return exp.Case(ifs=[exp.If(this=is_number, true=self.cast(this, "real")), exp.If(this=is_text, true=nan)])

    def core_integer_of_text(self, value: Core, names: Names) -> exp.Expr:
        """Integers of more than 64 bits become the nearest that these hold."""
        if magnitudes.fits(value.args[0]) is not False:
            return self._leading(value, names, r"[+-]?\d+", "integer")
        tree = self._leading(value, names, r"[+-]?\d+", "wide")
        least, most = (self.write_literal(Literal(one), names) for one in (-MAX_INTEGER - 1, MAX_INTEGER))
        within = self.call("LEAST", [self.call("GREATEST", [tree.args["ifs"][0].args["true"], least]), most])
        tree.args["ifs"][0].set("true", self.cast(within, "integer"))
        return tree

    def _leading(self, value: Core, names: Names, pattern: str, kind: str) -> exp.Expr:
        """The start of a text that fits a pattern, as a number; 0 without one, NULL for NULL."""
        this = self.write(value.args[0], names)
        part = self._first_match(this, rf"^\s*({pattern})")
        zero = self.call("COALESCE", [self.cast(part, kind), exp.Literal.number(0)])
        return exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Is(this=this.copy(), expression=exp.Null())), true=zero)])

    def _first_match(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        """What the pattern's group matches, NULL if it does not."""
        return self.call("SUBSTRING", [tree, exp.Literal.string(pattern)])

    def core_real_of_text(self, value: Core, names: Names) -> exp.Expr:
        return self._leading(value, names, NUMBER, "real")

    def core_text_of_real(self, value: Core, names: Names) -> exp.Expr:
        """The shortest digits of what 15 digits are; a power of ten where SQLite writes one."""
        rounded = self.cast(self.cast(self.write(value.args[0], names), "numeric"), "real")
        return self.with_point("REGEXP_REPLACE", self.cast(rounded, "text"))

    def core_round(self, value: Core, names: Names) -> exp.Expr:
        this, digits = value.args
        tree = self.call("ROUND", [self.cast(self.write(this, names), "numeric"), self.write(digits, names)])
        return self.cast(tree, "real")

    def core_format(self, value: Core, names: Names) -> exp.Expr:
        """NUMERIC has no negative zero, which -0.001 is with two digits."""
        this, digits = value.args
        number = self.cast(self.call("ABS", [self.write(this, names)]), "numeric")
        size = self.cast(self.call("ROUND", [number, self.write(digits, names)]), "text")
        is_negative = self.binary(exp.LT, (this, Literal(0)), names)
        sign = exp.Case(ifs=[exp.If(this=is_negative, true=exp.Literal.string("-"))], default=exp.Literal.string(""))
        return exp.DPipe(this=sign, expression=size, safe=True)

    def core_position(self, value: Core, names: Names) -> exp.Expr:
        return self.call("STRPOS", [self.write(arg, names) for arg in reversed(value.args)])

    def core_cut(self, value: Core, names: Names) -> exp.Expr:
        this, *places = value.args
        whole = [
            self.write(p, names) if isinstance(p, Literal) else self.cast(self.write(p, names), "boolean")
            for p in places
        ]
        return self.call("SUBSTRING", [self.write(this, names), *whole])

    def _trimmed(self, value: Core, names: Names, name: str) -> exp.Expr:
        return self.call(name, [self.write(arg, names) for arg in value.args])

    def core_trim(self, value: Core, names: Names) -> exp.Expr:
        return self._trimmed(value, names, "BTRIM")

    def core_ltrim(self, value: Core, names: Names) -> exp.Expr:
        return self._trimmed(value, names, "LTRIM")

    def core_rtrim(self, value: Core, names: Names) -> exp.Expr:
        return self._trimmed(value, names, "RTRIM")

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        if all(magnitudes.fits(arg, 1.1 * magnitudes.INTEGER_END) is not False for arg in value.args):
            return super().core_divide_integers(value, names)
        return self.call("DIV", [self.write(value.args[0], names), self.nullif_zero(value.args[1], names)])

    # times

    def _moment(self, value: Core, names: Names) -> exp.Expr:
        """The timestamp that a text and modifiers mean, NULL where the text is no time."""
        this, *modifiers = value.args
        if isinstance(this, Literal):  # "now": other constants are computed before
            tree: exp.Expr = self._now()
        else:
            text = self.write(this, names)
            whole = exp.Cast(this=text, to=exp.Var(this="TIMESTAMP"))
            dated = exp.DPipe(this=exp.Literal.string("2000-01-01 "), expression=bracketed(text.copy(), 7), safe=True)
            of_day = exp.Cast(this=dated, to=exp.Var(this="TIMESTAMP"))
            tests = [self._matches(bracketed(text.copy(), 4), pattern) for pattern in (TIME, TIME_OF_DAY)]
            tree = exp.Case(ifs=[exp.If(this=tests[0], true=whole), exp.If(this=tests[1], true=of_day)])
        for modifier in modifiers:
            tree = self._modified(tree, modifier.value.strip().lower())
        return tree

    def _now(self) -> exp.Expr:
        return self.call("TIMEZONE", [exp.Literal.string("UTC"), self.call("NOW", [])])

    def _modified(self, tree: exp.Expr, modifier: str) -> exp.Expr:
        if modifier.startswith("start of ") and modifier[9:] in ("day", "month", "year"):
            return self.call("DATE_TRUNC", [exp.Literal.string(modifier[9:]), tree])
        found = re.fullmatch(r"([+-]?\d+(?:\.\d+)?) (day|hour|minute|second|month|year)s?", modifier)
        if not found:
            raise UnsupportedError(f"the time modifier {modifier!r}", where=self.name)
        span = exp.Cast(this=exp.Literal.string(f"{found[1].lstrip('+')} {found[2]}"), to=exp.Var(this="INTERVAL"))
        if found[2] not in ("month", "year"):
            return exp.Add(this=tree, expression=span)
        # SQLite moves the month and keeps the day's number, which may run over: Jan 31 + 1 month is Mar 2 or 3
        start = self.call("DATE_TRUNC", [exp.Literal.string("month"), tree])
        rest = exp.Paren(this=exp.Sub(this=tree.copy(), expression=start.copy()))
        return exp.Add(this=exp.Add(this=start, expression=span), expression=rest)

    def core_day(self, value: Core, names: Names) -> exp.Expr:
        if is_in_the_text(value):
            return self.day_of_text(self.write(value.args[0], names), value.word)
        moment, parts, run = self._moment(value, names), [], ""
        for piece in re.findall(r"%.|[^%]+", value.word):
            if piece == "%%":
                run += "%"
            elif piece[0] != "%" or piece[1] in _FORMATS:
                run += _FORMATS[piece[1]] if piece[0] == "%" else re.sub(r"[A-Za-z]+", lambda m: f'"{m[0]}"', piece)
            else:
                parts += [run, piece] if run else [piece]
                run = ""
        trees = [self._piece(part, moment) for part in (*parts, *([run] if run else []))]
        tree = trees[0] if trees else exp.Literal.string("")
        for part in trees[1:]:
            tree = exp.DPipe(this=tree, expression=part, safe=True)
        return tree

    def _piece(self, part: str, moment: exp.Expr) -> exp.Expr:
        if part == "%w":
            return self.cast(self._part("dow", moment), "text")
        if part == "%s":
            return self.cast(self.cast(self.call("FLOOR", [self._part("epoch", moment)]), "integer"), "text")
        if re.fullmatch("%[A-Za-z]", part):
            raise UnsupportedError(f"the time format {part}", where=self.name)
        return self.call("TO_CHAR", [moment.copy(), exp.Literal.string(part)])

    def _part(self, part: str, moment: exp.Expr) -> exp.Expr:
        return self.call("DATE_PART", [exp.Literal.string(part), moment.copy()])

    def core_julian(self, value: Core, names: Names) -> exp.Expr:
        seconds = self._part("epoch", self._moment(value, names))
        days = exp.Div(this=seconds, expression=exp.Literal.number(86400), typed=True, safe=False)
        return exp.Paren(this=exp.Add(this=days, expression=exp.Literal.number("2440587.5")))

    # aggregates

    def write_sum(self, value: Aggregation, names: Names) -> exp.Expr:
        tree = self._filtered(self._aggregate_call("sum", value.args, value.is_distinct, names), value.where, names)
        return self.cast(tree, "integer") if _is_integer_sum(value) else tree

    def write_over(self, value: TypedOver, names: Names) -> exp.Expr:
        tree = super().write_over(value, names)
        return self.cast(tree, "integer") if value.name == "sum" and _is_integer_sum(value) else tree

    def write_string_agg(self, value: Aggregation, names: Names) -> exp.Expr:
        this, *separator = value.args
        tree = self.argument(value.name, this, names)
        tree = exp.Distinct(expressions=[tree]) if value.is_distinct else tree
        between = self.write(separator[0], names) if separator else exp.Literal.string(",")
        return self._filtered(self.call("STRING_AGG", [tree, between]), value.where, names)

    def _first(self, tree: exp.Expr, where: Expression | None, names: Names) -> exp.Expr:
        collected = self._filtered(self.call("ARRAY_AGG", [tree]), where, names)
        return exp.Bracket(this=exp.Paren(this=collected), expressions=[exp.Literal.number(1)], offset=1)

    def write_any_value(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._first(self.argument(value.name, value.args[0], names), value.where, names)

    def _at_extreme(self, value: Aggregation, names: Names, is_descending: bool) -> exp.Expr:
        key = self.ordered(SortKey(value.args[1], is_descending, False), names)
        return self._first(
            exp.Order(this=self.argument(value.name, value.args[0], names), expressions=[key]), value.where, names
        )

    def write_arg_max(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._at_extreme(value, names, True)

    def write_arg_min(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._at_extreme(value, names, False)


def in_64_bits(value: Core) -> Core:
    """Integers that are made of constants have 32 bits, and so has what is computed from them."""
    if value.type != "integer" or any(number_kinds.of(arg) not in ("narrow", None) for arg in value.args):
        return value
    return replace(value, args=(Core("long", value.args[:1], "integer"), value.args[1]))


def _is_integer_sum(value: Aggregation | TypedOver) -> bool:
    """Whether a sum is cast to 64 bits, which is SQLite's error if they do not hold it; not of what needs more itself."""
    return value.type == "integer" and magnitudes.fits(value.args[0], 2 * magnitudes.INTEGER_END) is not False


def _is_in(keys: set[tuple], column: Column) -> bool:
    return ((column.alias or "").lower() or None, column.name.lower()) in keys


DIALECT = Postgres
