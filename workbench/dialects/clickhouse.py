"""ClickHouse 26.9 or newer, with the types that the migration makes and the settings of backends/clickhouse.py.

Seen on 26.9: conditions are the integers 0 and 1; x / 0 is infinite and integers wrap around; LOWER folds ASCII alone;
functions without UTF8 in their names count bytes; ROUND of a double is to the even digit; GREATEST and IN skip NULLs;
CAST of NULL is an error, toInt64(NULL) is NULL; LAG over a column without NULLs gives 0 before the first row; a
correlated COUNT of no rows is NULL; toDateTime64OrNull moves days past a month's end on, as SQLite does.
"""

import re
from dataclasses import replace
from typing import ClassVar

from sqlglot import exp

from workbench import magnitudes
from workbench.core_functions import Core
from workbench.dialects.base import Dialect, Names, bracketed
from workbench.dialects.joined_queries import JoinedQueries, key_of
from workbench.dialects.typed import NUMBER, TIME, TIME_OF_DAY, is_in_the_text, joined, may_be_wide, regex_of_glob
from workbench.errors import UnsupportedError
from workbench.lower_correlated import lift_queries
from workbench.lower_signs import with_signed_integers
from workbench.lower_values import lower_bound, real
from workbench.plan import As, Join, Relation, With, walk_relations
from workbench.plan_expressions import (
    MAX_INTEGER,
    Aggregation,
    Column,
    Expression,
    Literal,
    Over,
    rewrite,
    walk,
)

# Those of system.keywords that are read otherwise where a column or an alias is meant
KEYWORDS = """
    all alter and any array as asc asof between by case create cross cube date desc describe distinct drop else end except
    extract false fetch final for format from full global grant group having in inner insert intersect interval into is
    join left like limit natural not null offset on or order outer over partition prewhere qualify recursive regexp revoke
    right rollback rollup row rows sample select semi settings system table then top true union using values when where
    window with
"""
_FORMATS = {"M": "%i"} | {code: f"%{code}" for code in "YmdHSjw%"}
_BITS = {"&": "bitAnd", "|": "bitOr", "<<": "bitShiftLeft", ">>": "bitShiftRight", "~": "bitNot"}
_ENDS = {"trim": "Both", "ltrim": "Left", "rtrim": "Right"}
_CONVERSIONS = {"wide": "toInt128", "integer": "toInt64", "real": "toFloat64", "text": "toString"}
_SUM_END = magnitudes.INTEGER_END / magnitudes.ROWS
_JULIAN_1970 = 210866760000000  # milliseconds from the first Julian day to 1970


def _without_recursive_union(root: Relation) -> Relation:
    for relation in walk_relations(root):
        for one in relation.definitions if isinstance(relation, With) else ():
            body = one.query.input if isinstance(one.query, As) else one.query
            if one.is_recursive and not body.is_all:
                raise UnsupportedError("a recursive query by UNION without ALL", where="clickhouse")
    return root


class ClickHouse(JoinedQueries):
    name = "clickhouse"
    sqlglot = "clickhouse"
    keywords = frozenset(KEYWORDS.split())
    null_order = "last"
    has_values = False
    has_unique_names = True
    has_names_behind_aliases = True
    rewrites = (lift_queries, with_signed_integers, _without_recursive_union)
    columns_hide_aliases = True
    types: ClassVar = {"integer": "Int64", "real": "Float64", "text": "String", "wide": "Int128"}
    functions: ClassVar = JoinedQueries.functions | {
        "char_length": "lengthUTF8", "replace": "replaceAll", "percent_rank": "percent_rank", "cume_dist": "cume_dist",
        "nullable": "toNullable", "part": "substring", "signed": "toInt64", "lower": "LOWER", "fold": "LOWER", "upper": "UPPER",
    }  # fmt: skip

    _is_place = False  # whether what is written is a place in a text, of 64 bits

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        if isinstance(value.value, bytes):
            text = self.call("unhex", [exp.Literal.string(value.value.hex())])
            return exp.Cast(this=text, to=exp.Var(this="SimpleAggregateFunction(any, String)"))  # says that it is bytes
        return Dialect.write_literal(self, value, names)

    def cast(self, tree: exp.Expr, kind: str) -> exp.Expr:
        """CAST of NULL would be an error."""
        return self.call(_CONVERSIONS[kind], [tree])

    def core_null(self, value: Core, names: Names) -> exp.Expr:
        return exp.Cast(this=exp.Null(), to=exp.Var(this=f"Nullable({self.types[value.type]})"))

    # conditions are numbers

    def check_exact(self, one: Expression, other: Expression) -> None:
        """Compared exactly here too; but see write_on."""

    def core_none(self, value: Core, names: Names) -> exp.Expr:
        return exp.Null()

    def write_on(self, node: Join, names: Names) -> exp.Expr:
        """An outer join wants a key: two columns, one of each side, that are equal; of one type everywhere."""
        left, right = ({field.key for field in side.fields} for side in (node.left, node.right))
        parts = node.on.args if isinstance(node.on, Core) and node.on.name == "and" else (node.on,)
        for part in parts:
            if _of_one_type(part) is not None:
                super().check_exact(*part.args)
        tree = self.write(rewrite(node.on, _of_one_type), names)
        if node.kind == "inner" or any(_is_key(part, left, right) for part in parts):
            return tree
        one, other = (self.call("ignore", [names(side.fields[0].column())]) for side in (node.left, node.right))
        return exp.And(this=exp.EQ(this=one, expression=other), expression=bracketed(tree, 1))

    def core_like(self, value: Core, names: Names) -> exp.Expr:
        this, pattern, *escape = value.args
        if not isinstance(pattern, Literal):
            right = self.call("LOWER", [self.write(pattern, names)])
            if not escape:  # here a backslash always escapes
                backslash = exp.Literal.string("\\")
                right = self.call("replaceAll", [right, backslash, exp.Literal.string("\\\\")])
            has_letters = True
        elif pattern.value is None:
            return exp.Null()
        else:
            text = _lower(pattern.value)
            has_letters = text.upper() != text
            right = exp.Literal.string(text if escape else text.replace("\\", "\\\\"))
        left = self.call("LOWER", [self.write(this, names)]) if has_letters else self._within(this, names, 4)
        tree = exp.Like(this=left, expression=right)
        if not escape:
            return tree
        if not isinstance(escape[0], Literal):
            raise UnsupportedError("LIKE with a computed escape", where=self.name)
        return exp.Escape(this=tree, expression=exp.Literal.string(_lower(escape[0].value)))

    def core_in(self, value: Core, names: Names) -> exp.Expr:
        """IN passes over NULLs of its list."""
        this, *items = value.args
        if all(map(self._is_full, items)):
            return super().core_in(value, names)
        return self.write(
            Core("or", tuple(Core("compare", (this, one), "condition", "=") for one in items), "condition"), names
        )

    def core_glob(self, value: Core, names: Names) -> exp.Expr:
        this, pattern = value.args
        if not isinstance(pattern, Literal):
            raise UnsupportedError("GLOB of a computed pattern", where=self.name)
        return self._matches(self.write(this, names), regex_of_glob(pattern.value))

    def _matches(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        return self.call("match", [tree, exp.Literal.string(pattern)])

    def core_is_number(self, value: Core, names: Names) -> exp.Expr:
        return self._matches(self.write(value.args[0], names), self.number_pattern(value))

    # numbers

    def core_number_of_text(self, value: Core, names: Names) -> exp.Expr:
        """A text that is no number becomes NaN, which equals nothing."""
        this = self.write(value.args[0], names)
        is_number = self._matches(this.copy(), rf"^\s*{NUMBER}\s*$")
        is_text = exp.Not(this=exp.Is(this=bracketed(this.copy(), 4), expression=exp.Null()))
        number = self.core_real_of_text(value, names)
        nan = self.call("toFloat64", [exp.Literal.string("nan")])
        return exp.Case(ifs=[exp.If(this=is_number, true=number), exp.If(this=is_text, true=nan)])

    def _leading(self, value: Core, names: Names, pattern: str, convert: str) -> exp.Expr:
        part = self.call("extract", [self.write(value.args[0], names), exp.Literal.string(rf"^\s*({pattern})")])
        return self.call(convert, [part])

    def core_real_of_text(self, value: Core, names: Names) -> exp.Expr:
        return self._leading(value, names, NUMBER, "toFloat64OrZero")

    def core_integer_of_text(self, value: Core, names: Names) -> exp.Expr:
        """Integers of more than 64 bits become the nearest that these hold."""
        if magnitudes.fits(value.args[0]):
            return self._leading(value, names, r"[+-]?\d+", "toInt64OrZero")
        bounds = [self.write_literal(Literal(one), names) for one in (-MAX_INTEGER - 1, MAX_INTEGER)]
        return self.call(
            "toInt64", [self.call("clamp", [self._leading(value, names, r"[+-]?\d+", "toInt256OrZero"), *bounds])]
        )

    def core_text_of_real(self, value: Core, names: Names) -> exp.Expr:
        this = self.without_sign_of_zero(value.args[0], names)
        return self.with_point("replaceRegexpOne", self.call("printf", [exp.Literal.string("%.15g"), this]))

    def _arithmetic(self, kind: type, value: Core, names: Names) -> exp.Expr:
        """128 bits and a double have no sum."""
        if value.type == "real":
            value = replace(value, args=tuple(real(arg) if may_be_wide(arg) else arg for arg in value.args))
        return super()._arithmetic(kind, value, names)

    def core_divide_reals(self, value: Core, names: Names) -> exp.Expr:
        args = tuple(real(arg) if may_be_wide(arg) else arg for arg in value.args)
        return super().core_divide_reals(replace(value, args=args), names)

    def needs_more_than_64_bits(self, value: Core) -> bool:
        """What overflows wraps around silently: where nothing is known, two columns or a large constant may."""
        if self._is_place:
            return magnitudes.fits(value) is False
        known = [bound for bound in map(magnitudes.of, value.args) if bound is not None]
        if len(known) != 1:
            return not known or not magnitudes.fits(value)
        is_constant = any(isinstance(arg, Literal) for arg in value.args)
        return known[0] >= 2**31 if is_constant else value.name == "*" or known[0] >= 2**41

    def core_round(self, value: Core, names: Names) -> exp.Expr:
        return self.call("ROUND", [self.nudged(value.args[0], names), self.write(value.args[1], names)])

    def core_format(self, value: Core, names: Names) -> exp.Expr:
        this, digits = value.args
        return self.call("printf", [exp.Literal.string(f"%.{digits.value}f"), self.nudged(this, names)])

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        """intDiv by 0 is an error."""
        by = value.args[1]
        name = "intDiv" if isinstance(by, Literal) and by.value else "intDivOrNull"
        return self.call(name, [self.write(arg, names) for arg in value.args])

    def truncated(self, tree: exp.Expr) -> exp.Expr:
        return self.call("toInt64", [tree])

    def may_be_too_large(self, value: Expression) -> bool:
        """What is too large becomes another number silently."""
        return not magnitudes.fits(value)

    def core_modulo(self, value: Core, names: Names) -> exp.Expr:
        if isinstance(value.args[1], Literal) and value.args[1].value:
            tree = self.binary(exp.Mod, value.args, names)
        else:
            tree = self.call("moduloOrNull", [self.write(arg, names) for arg in value.args])
        return self.call("toFloat64", [tree]) if value.type == "real" else tree

    def _bits(self, value: Core, names: Names) -> exp.Expr:
        """A constant alone would have 8 bits."""
        args = [self.write(arg, names) for arg in value.args]
        if isinstance(value.args[0], Literal):
            args[0] = self.call("toInt64", [args[0]])
        return self.call(_BITS[value.name], args)

    core_bit_and = core_bit_or = core_bit_not = _bits

    def _shift(self, kind: type, value: Core, names: Names) -> exp.Expr:
        super()._shift(kind, value, names)
        return self._bits(value, names)

    # texts

    def core_position(self, value: Core, names: Names) -> exp.Expr:
        return self.call("positionUTF8", [self.write(arg, names) for arg in reversed(value.args)])

    def core_cut(self, value: Core, names: Names) -> exp.Expr:
        before, self._is_place = self._is_place, True
        tree = self._cut(value, names)
        self._is_place = before
        return tree

    def _cut(self, value: Core, names: Names) -> exp.Expr:
        """A negative start means the same here; start 0 is before the first character, which shortens the length."""
        this, start, *length = value.args
        place = _before_lowering(start)
        bound = lower_bound(place)
        is_whole = place is not start or isinstance(place, Literal)
        if (bound is not None and bound > 0) or isinstance(place, Literal):
            return self.call("substringUTF8", [self.write(arg, names) for arg in (this, place, *length)])
        is_before = Core("compare", (place, Literal(0)), "condition", "=" if is_whole else "<=")
        first = Core("choose", (is_before, Literal(1), place), "integer")
        if length:
            shorter = _less(length[0]) if is_whole else Core("+", (length[0], _less(place)), "integer")
            shorter = Core("at_least_zero", (shorter,), "integer") if not isinstance(shorter, Literal) else shorter
            length = [Core("choose", (is_before, shorter, length[0]), "integer")]
        return self.call("substringUTF8", [self.write(arg, names) for arg in (this, first, *length)])

    def core_trim(self, value: Core, names: Names) -> exp.Expr:
        if not all(isinstance(one, Literal) for one in value.args[1:]):
            raise UnsupportedError(f"{value.name} of computed characters", where=self.name)
        return self.call(f"trim{_ENDS[value.name]}", [self.write(arg, names) for arg in value.args])

    core_ltrim = core_rtrim = core_trim

    # times

    def _moment(self, value: Core, names: Names) -> exp.Expr:
        """The DateTime64 that a text and modifiers mean, NULL where the text is no time."""
        this, *modifiers = value.args
        if isinstance(this, Literal) and this.value == "now":
            tree: exp.Expr = self.call("now64", [exp.Literal.number(3), exp.Literal.string("UTC")])
        else:
            text = self.write(this, names)
            lenient = "parseDateTime64BestEffortOrNull"  # takes HH:MM too, but no days past a month's end
            whole = self.call("COALESCE", [self._parsed(text), self._parsed(text.copy(), lenient)])
            dated = exp.DPipe(this=exp.Literal.string("2000-01-01 "), expression=bracketed(text.copy(), 7), safe=True)
            is_whole, is_time = (self._matches(text.copy(), pattern) for pattern in (TIME, TIME_OF_DAY))
            of_day = self._parsed(dated, lenient)
            tree = exp.Case(ifs=[exp.If(this=is_whole, true=whole), exp.If(this=is_time, true=of_day)])
        for modifier in modifiers:
            tree = self._modified(tree, modifier.value.strip().lower())
        return tree

    def _parsed(self, text: exp.Expr, name: str = "toDateTime64OrNull") -> exp.Expr:
        return self.call(name, [text, exp.Literal.number(3), exp.Literal.string("UTC")])

    def _modified(self, tree: exp.Expr, modifier: str) -> exp.Expr:
        starts = {"start of day": "%Y-%m-%d", "start of month": "%Y-%m-01", "start of year": "%Y-01-01"}
        if modifier in starts:
            return self._parsed(self._formatted(tree, starts[modifier]))
        found = re.fullmatch(r"([+-]?\d+(?:\.\d+)?) (day|hour|minute|second|month|year)s?", modifier)
        if not found:
            raise UnsupportedError(f"the time modifier {modifier!r}", where=self.name)
        amount, unit = float(found[1]), found[2]
        if unit not in ("month", "year"):
            if amount != int(amount):
                scale = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}[unit]
                amount, unit = round(amount * scale * 1000), "millisecond"
            return self._moved(tree, int(amount), unit)
        if amount != int(amount):
            raise UnsupportedError(f"the time modifier {modifier!r}", where=self.name)
        # SQLite moves the month and keeps the day's number, which may run over: Jan 31 + 1 month is Mar 2 or 3
        month = self._formatted(self._moved(tree, int(amount), unit), "%Y-%m-")
        rest = self._formatted(tree.copy(), "%d %H:%i:%S.%f")
        return self._parsed(exp.DPipe(this=month, expression=rest, safe=True))

    def _moved(self, tree: exp.Expr, amount: int, unit: str) -> exp.Expr:
        return self.call(f"add{unit.capitalize()}s", [tree, exp.Literal.number(amount)])

    def _formatted(self, moment: exp.Expr, form: str) -> exp.Expr:
        return self.call("formatDateTime", [moment, exp.Literal.string(form)])

    def core_day(self, value: Core, names: Names) -> exp.Expr:
        if is_in_the_text(value):
            return self.day_of_text(self.write(value.args[0], names), value.word)
        moment, parts = self._moment(value, names), [""]
        for piece in re.findall(r"%.|[^%]+", value.word):
            if piece[0] == "%" and piece[1] not in _FORMATS:
                parts += [piece, ""]
            else:
                parts[-1] += _FORMATS[piece[1]] if piece[0] == "%" else piece
        return joined([self._piece(part, moment) for part in parts if part])

    def _piece(self, part: str, moment: exp.Expr) -> exp.Expr:
        if part == "%s":
            return self.call("toString", [self.call("toUnixTimestamp64Second", [moment.copy()])])
        if part == "%f":
            seconds = self._formatted(moment.copy(), "%S.%f")
            return self.call("substring", [seconds, exp.Literal.number(1), exp.Literal.number(6)])
        if re.fullmatch("%[A-Za-z]", part) and part[1] not in "YmdHSjwi":
            raise UnsupportedError(f"the time format {part}", where=self.name)
        return self._formatted(moment.copy(), part)

    def core_julian(self, value: Core, names: Names) -> exp.Expr:
        """SQLite's own steps, so that differences are the same to the last digit."""
        milliseconds = self.call("toUnixTimestamp64Milli", [self._moment(value, names)])
        since = exp.Add(this=milliseconds, expression=exp.Literal.number(_JULIAN_1970))
        day = exp.Literal.number(86400000)
        return exp.Paren(this=exp.Div(this=exp.Paren(this=since), expression=day, typed=True, safe=True))

    # aggregates and windows

    def write_any_value(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._filtered(self.call("any_respect_nulls", [self.write(value.args[0], names)]), value.where, names)

    def _at_extreme(self, value: Aggregation, names: Names, name: str) -> exp.Expr:
        """In tuples, so that rows are not passed over whose values are NULL; in one NULL is the smallest."""
        this, by = value.args
        if this == by:
            return self.write_aggregation(replace(value, name=name[3:].lower(), args=(this,)), names)
        args = [self.write(this, names), self.write(by, names)]
        if self._is_full(this) and self._is_full(by):
            return self._filtered(self.call(name, args), value.where, names)
        if by.type != "row":
            is_null = [self.write_is_null(Core("is null", (by,), "condition"), names)] if name == "argMin" else []
            args[1] = self.call("tuple", [*is_null, args[1]])
        found = self._filtered(self.call(name, [self.call("tuple", [args[0]]), args[1]]), value.where, names)
        return exp.Dot(this=found, expression=exp.Literal.number(1))

    def write_arg_max(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._at_extreme(value, names, "argMax")

    def write_arg_min(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._at_extreme(value, names, "argMin")

    def write_over(self, value: Over, names: Names) -> exp.Expr:
        frame = value.frame
        if frame is not None and frame.exclude != "no others":
            raise UnsupportedError("a window's EXCLUDE", where=self.name)
        if frame is not None and frame.unit == "range" and (frame.start.offset or frame.end.offset):
            raise UnsupportedError("a distance in a window's RANGE", where=self.name)
        is_lost = value.name == "count" and value.args and not self._is_full(value.args[0])  # the engine's own fault
        if is_lost or value.name in ("lag", "lead", "nth_value"):
            value = replace(value, args=(Core("nullable", value.args[:1], value.args[0].type), *value.args[1:]))
        tree = super().write_over(value, names)
        if value.name != "string_agg" or (self._is_full(value.args[0]) and value.where is frame is None):
            return tree
        count = super().write_over(
            replace(value, name="count", args=value.args[:1]), names
        )  # of nothing it would be ''
        has_some = exp.GT(this=count, expression=exp.Literal.number(0))
        return exp.Case(ifs=[exp.If(this=has_some, true=tree)])

    def _aggregate_call(self, name: str, args: tuple, is_distinct: bool, names: Names) -> exp.Expr:
        if (
            name == "sum"
            and args[0].type == "integer"
            and (magnitudes.of(args[0]) or 0) >= _SUM_END
            and not may_be_wide(args[0])
        ):
            args = (Core("wide", args, "integer"),)  # a sum of 64 bits wraps around
        if name in ("first_value", "last_value") and not self._is_full(args[0]):  # plain ones pass over NULL
            return self.call(f"{name}_respect_nulls", [self.write(args[0], names)])
        if name != "string_agg":
            return super()._aggregate_call(name, args, is_distinct, names)
        this, *separator = args
        between = separator[0] if separator else Literal(",")
        if not isinstance(between, Literal):
            raise UnsupportedError("string_agg with a computed separator", where=self.name)
        written = self.write(this, names)
        written = exp.Distinct(expressions=[written]) if is_distinct else written
        return self.call(f"groupConcat({self.sql(self.write(between, names))})", [written])


def _before_lowering(start: Expression) -> Expression:
    """SUBSTR's start as it was: where it is negative it was lowered to one from the first character."""
    if not isinstance(start, Core):
        return start
    if start.name == "choose" and start.args[0].args[0] == start.args[2]:
        return start.args[2]
    size, place = start.args[0].args if start.name == getattr(start.args[0], "name", "") == "+" else (None, None)
    is_from_end = isinstance(size, Core) and size.name == "char_length" and isinstance(place, Literal)
    return place if is_from_end else start


def _less(value: Expression) -> Expression:
    """One less, of a constant not below 0."""
    if isinstance(value, Literal) and value.value is not None:
        return Literal(max(value.value - 1, 0))
    return Core("-", (value, Literal(1)), "integer")


def _of_one_type(part: Expression) -> Expression | None:
    """Equality of an integer and a real as one of reals."""
    if not isinstance(part, Core) or part.name not in ("compare", "same"):
        return None
    if {arg.type for arg in part.args} != {"integer", "real"} or any(isinstance(arg, Literal) for arg in part.args):
        return None
    return replace(part, args=tuple(real(arg) for arg in part.args))


def _is_key(part: Expression, left: set[tuple], right: set[tuple]) -> bool:
    """Whether it says that something of the left side equals something of the right."""
    if not isinstance(part, Core) or (part.name, part.word) != ("compare", "="):
        return False
    sides = [{key_of(one) for one in walk(arg) if isinstance(one, Column)} for arg in part.args]
    return all(sides) and any(one <= left and other <= right for one, other in (sides, sides[::-1]))


def _lower(text: str) -> str:
    return text.encode().lower().decode()


DIALECT = ClickHouse
