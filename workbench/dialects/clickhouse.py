"""ClickHouse 26.9 or newer, with the types that the migration makes and the settings of backends/clickhouse.py.

Seen on 26.9: conditions are the integers 0 and 1; x / 0 is infinite and integers wrap around; LOWER folds ASCII alone;
functions without UTF8 in their names count bytes; ROUND of a double is to the even digit; GREATEST and IN skip NULLs;
CAST of NULL is an error, toInt64(NULL) is NULL; LAG over a column without NULLs gives 0 before the first row; a
correlated COUNT of no rows is NULL; toDateTime64OrNull moves days past a month's end on, as SQLite does.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from sqlglot import exp

from workbench.core_functions import Core
from workbench.dialects.base import Dialect, Names, bracketed
from workbench.dialects.typed import TypedDialect
from workbench.errors import UnsupportedError
from workbench.lower_correlated import any_row, null_rows, one_value, partner, value_of_no_rows
from workbench.plan import Relation
from workbench.plan_expressions import (
    Aggregation,
    Column,
    Exists,
    Expression,
    InQuery,
    Literal,
    Over,
    Subquery,
)

# Those of system.keywords that are read otherwise where a column or an alias is meant
KEYWORDS = """
    all alter and any array as asc asof between by case create cross cube date desc describe distinct drop else end except
    extract false fetch final for format from full global grant group having in inner insert intersect interval into is
    join left like limit natural not null offset on or order outer over partition prewhere qualify recursive regexp revoke
    right rollback rollup row rows sample select semi settings system table then top true union using values when where
    window with
"""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DAY = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
_FORMATS = {"M": "%i"} | {code: f"%{code}" for code in "YmdHSjw%"}
_BITS = {"&": "bitAnd", "|": "bitOr", "<<": "bitShiftLeft", ">>": "bitShiftRight", "~": "bitNot"}
_CONVERSIONS = {"integer": "toInt64", "real": "toFloat64", "text": "toString"}
_JULIAN_1970 = 210866760000000  # milliseconds from the first Julian day to 1970


class ClickHouse(TypedDialect):
    name = "clickhouse"
    sqlglot = "clickhouse"
    keywords = frozenset(KEYWORDS.split())
    has_large_nulls = False
    has_values = False
    columns_hide_aliases = True
    types: ClassVar = {"integer": "Int64", "real": "Float64", "text": "String"}
    functions: ClassVar = TypedDialect.functions | {
        "char_length": "lengthUTF8", "replace": "replaceAll", "percent_rank": "percent_rank", "cume_dist": "cume_dist",
        "lower": "LOWER", "fold": "LOWER", "upper": "UPPER", "trim": "trimBoth", "ltrim": "trimLeft", "rtrim": "trimRight",
    }  # fmt: skip
    _is_exact = False

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        if isinstance(value.value, bytes):
            return self.call("unhex", [exp.Literal.string(value.value.hex())])
        return Dialect.write_literal(self, value, names)

    def cast(self, tree: exp.Expr, kind: str) -> exp.Expr:
        """CAST of NULL would be an error."""
        return self.call(_CONVERSIONS[kind], [tree])

    # conditions are numbers; inside NOT, and as values, false is not NULL

    def core_value(self, value: Core, names: Names) -> exp.Expr:
        with self._exactly(True):
            return self.write(value.args[0], names)

    def core_not(self, value: Core, names: Names) -> exp.Expr:
        inner = value.args[0]
        if isinstance(inner, InQuery) and not self._is_exact:
            return self._not_in(inner, names)
        with self._exactly(True):
            return self.write_not(value, names)

    @contextmanager
    def _exactly(self, is_exact: bool) -> Iterator[None]:
        before, self._is_exact = self._is_exact, is_exact
        yield
        self._is_exact = before

    def core_none(self, value: Core, names: Names) -> exp.Expr:
        return exp.Null()

    def core_like(self, value: Core, names: Names) -> exp.Expr:
        this, pattern, *escape = value.args
        if not isinstance(pattern, Literal):
            right = self.call("LOWER", [self.write(pattern, names)])
            if not escape:  # here a backslash always escapes
                backslash = exp.Literal.string("\\")
                right = self.call("replaceAll", [right, backslash, exp.Literal.string("\\\\")])
            has_letters = True
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

    def core_glob(self, value: Core, names: Names) -> exp.Expr:
        this, pattern = value.args
        if not isinstance(pattern, Literal):
            raise UnsupportedError("GLOB of a computed pattern", where=self.name)
        return self._matches(self.write(this, names), _regex_of_glob(pattern.value))

    def _matches(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        return self.call("match", [tree, exp.Literal.string(pattern)])

    def core_is_number(self, value: Core, names: Names) -> exp.Expr:
        return self._matches(self.write(value.args[0], names), rf"^\s*{_NUMBER}\s*$")

    # subqueries: NULLs are no members of IN's set, and those that read columns around them are joined in

    def write_subquery(self, value: Subquery, names: Names) -> exp.Expr:
        query = value.query
        if not query.outer_columns:
            return self._query(query, names)
        query = one_value(query)
        empty = value_of_no_rows(query)
        tree = self._query(query, names)
        return tree if empty is None else self.call("COALESCE", [tree, self.write(empty, Names({}))])

    def _query(self, query: Relation, names: Names) -> exp.Expr:
        if any(_key(column) not in names.here for column in query.outer_columns):
            raise UnsupportedError("a subquery that reads columns of two queries around it", where=self.name)
        with self._exactly(False):
            return exp.Subquery(this=self.write_query(query, names))

    def write_exists(self, value: Exists, names: Names) -> exp.Expr:
        query = any_row(value.query) if value.query.outer_columns else value.query
        return exp.Exists(this=self._query(query, names).this)

    def write_inquery(self, value: InQuery, names: Names) -> exp.Expr:
        if self._is_exact:
            return self._exact_in(value, names)
        if value.query.outer_columns:
            return self.write_exists(Exists(partner(value, False)), names)
        return self._plain_in(value, names)

    def _plain_in(self, value: InQuery, names: Names) -> exp.Expr:
        these = [self._within(one, names, 4) for one in value.values]
        this = these[0] if len(these) == 1 else exp.Tuple(expressions=these)
        return exp.In(this=this, query=self._query(value.query, names))

    def _unknown(self, value: InQuery, names: Names) -> tuple[exp.Expr | None, exp.Expr | None]:
        """Where a set has a NULL, and where x is NULL, as far as either can be."""
        if len(value.values) > 1:
            raise UnsupportedError("whether several values are not IN a subquery", where=self.name)
        nulls = null_rows(value)
        column = nulls.input.condition.args[0]
        in_set = None if self._is_full(column) else self.write_exists(Exists(nulls), names)
        this = value.values[0]
        return in_set, None if self._is_full(this) else self.write_is_null(Core("is null", (this,), "condition"), names)

    def _is_full(self, value: Expression) -> bool:
        if isinstance(value, Literal):
            return value.value is not None
        return isinstance(value, Column) and _key(value) in self.never_null

    def _not_in(self, value: InQuery, names: Names) -> exp.Expr:
        """NOT IN where NULL is as good as false."""
        if value.query.outer_columns:
            return exp.Not(this=self.write_exists(Exists(partner(value, True)), names))
        in_set, is_null = self._unknown(value, names)
        tree: exp.Expr = exp.Not(this=self._plain_in(value, names))
        if is_null is not None:
            nothing = exp.Not(this=self.write_exists(Exists(value.query), names))
            tree = self.call("COALESCE", [tree, nothing])
        return tree if in_set is None else exp.And(this=tree, expression=exp.Not(this=in_set))

    def _exact_in(self, value: InQuery, names: Names) -> exp.Expr:
        with self._exactly(False):
            if value.query.outer_columns:
                is_in, unknown = (self.write_exists(Exists(partner(value, one)), names) for one in (False, True))
                tests = [exp.If(this=is_in, true=exp.Literal.number(1)), exp.If(this=unknown, true=exp.Null())]
                return exp.Case(ifs=tests, default=exp.Literal.number(0))
            in_set, is_null = self._unknown(value, names)
            tree = self._plain_in(value, names)
            if is_null is not None:
                tree = self.call("COALESCE", [tree, exp.Literal.number(0)])
                some = self.write_exists(Exists(value.query), names)
                is_null = exp.And(this=is_null, expression=some)
            tests = [one for one in (in_set, is_null) if one is not None]
            if not tests:
                return exp.Paren(this=tree)
            unknown = tests[0] if len(tests) == 1 else exp.Or(this=tests[0], expression=tests[1])
            cases = [exp.If(this=tree, true=exp.Literal.number(1)), exp.If(this=unknown, true=exp.Null())]
            return exp.Case(ifs=cases, default=exp.Literal.number(0))

    def core_row(self, value: Core, names: Names) -> exp.Expr:
        return exp.Tuple(expressions=[self.write(arg, names) for arg in value.args])

    # numbers

    def core_number_of_text(self, value: Core, names: Names) -> exp.Expr:
        """A text that is no number becomes NaN, which equals nothing."""
        this = self.write(value.args[0], names)
        is_number = self._matches(this.copy(), rf"^\s*{_NUMBER}\s*$")
        nan = exp.If(this=exp.Not(this=exp.Is(this=bracketed(this.copy(), 4), expression=exp.Null())), true=self._nan())
        number = self.call("toFloat64OrNull", [self.call("trimBoth", [this])])
        return exp.Case(ifs=[exp.If(this=is_number, true=number), nan])

    def _nan(self) -> exp.Expr:
        return self.call("toFloat64", [exp.Literal.string("nan")])

    def _leading(self, value: Core, names: Names, pattern: str, convert: str) -> exp.Expr:
        part = self.call("extract", [self.write(value.args[0], names), exp.Literal.string(rf"^\s*({pattern})")])
        return self.call(convert, [part])

    def core_real_of_text(self, value: Core, names: Names) -> exp.Expr:
        return self._leading(value, names, _NUMBER, "toFloat64OrZero")

    def core_integer_of_text(self, value: Core, names: Names) -> exp.Expr:
        return self._leading(value, names, r"[+-]?\d+", "toInt64OrZero")

    def core_text_of_real(self, value: Core, names: Names) -> exp.Expr:
        digits = self.call("printf", [exp.Literal.string("%.15g"), self.write(value.args[0], names)])
        without_point = exp.Literal.string(r"^(-?\d+)(e|$)")
        return self.call("replaceRegexpOne", [digits, without_point, exp.Literal.string(r"\1.0\2")])

    def _nudged(self, value: Expression, names: Names) -> exp.Expr:
        """Two units in the last place further from zero: what is half a digit as a decimal is then surely more."""
        return exp.Mul(this=self._within(value, names, 6), expression=exp.Literal.number("1.0000000000000004"))

    def core_round(self, value: Core, names: Names) -> exp.Expr:
        return self.call("ROUND", [self._nudged(value.args[0], names), self.write(value.args[1], names)])

    def core_format(self, value: Core, names: Names) -> exp.Expr:
        this, digits = value.args
        return self.call("printf", [exp.Literal.string(f"%.{digits.value}f"), self._nudged(this, names)])

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        """intDiv by 0 is an error."""
        by = value.args[1]
        name = "intDiv" if isinstance(by, Literal) and by.value else "intDivOrNull"
        return self.call(name, [self.write(arg, names) for arg in value.args])

    def core_integer_of_real(self, value: Core, names: Names) -> exp.Expr:
        return self.call("toInt64", [self.write(value.args[0], names)])

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
        """A place before the first character shortens the length."""
        this, start, *length = value.args
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        if isinstance(start, Literal) and (start.value or 0) > 0:
            return self.call("substringUTF8", [self.write(arg, names) for arg in value.args])
        place = self.write(start, names)
        args = [self.write(this, names), self.call("GREATEST", [place, one])]
        for size in length:
            before = self.call("LEAST", [exp.Sub(this=bracketed(place.copy(), 5), expression=one.copy()), zero])
            shorter = exp.Add(this=self._within(size, names, 5), expression=before)
            args.append(self.call("GREATEST", [shorter, zero.copy()]))
        return self.call("substringUTF8", args)

    # times

    def _moment(self, value: Core, names: Names) -> exp.Expr:
        """The DateTime64 that a text and modifiers mean, NULL where the text is no time."""
        this, *modifiers = value.args
        if isinstance(this, Literal) and this.value == "now":
            tree: exp.Expr = self.call("now64", [exp.Literal.number(3), exp.Literal.string("UTC")])
        elif isinstance(this, Literal):
            tree = self._constant_moment(this.value)
        else:
            text = self.write(this, names)
            whole = self.call(
                "COALESCE", [self._parsed(text), self._parsed(text.copy(), "parseDateTime64BestEffortOrNull")]
            )
            dated = exp.DPipe(this=exp.Literal.string("2000-01-01 "), expression=bracketed(text.copy(), 7), safe=True)
            tests = [rf"^{_DAY}(?:[ T]{_TIME})?$", rf"^{_TIME}$"]
            is_whole, is_time = (self._matches(text.copy(), pattern) for pattern in tests)
            of_day = self._parsed(dated, "parseDateTime64BestEffortOrNull")
            tree = exp.Case(ifs=[exp.If(this=is_whole, true=whole), exp.If(this=is_time, true=of_day)])
        for modifier in modifiers:
            tree = self._modified(tree, modifier.value.strip().lower())
        return tree

    def _parsed(self, text: exp.Expr, name: str = "toDateTime64OrNull") -> exp.Expr:
        return self.call(name, [text, exp.Literal.number(3), exp.Literal.string("UTC")])

    def _constant_moment(self, text: str) -> exp.Expr:
        """A constant time; without a date it is of 2000-01-01, and a number would be a Julian day."""
        if re.fullmatch(r"\s*[+-]?[\d.]+\s*", text):
            raise UnsupportedError(f"the Julian day {text!r} as a text", where=self.name)
        if re.fullmatch(_TIME, text):
            text = f"2000-01-01 {text}"
        if not re.fullmatch(rf"{_DAY}(?:[ T]{_TIME})?", text):
            return exp.Null()
        text += ":00" if len(text) == 16 else ""
        return self._parsed(exp.Literal.string(text))

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
        moment, parts = self._moment(value, names), [""]
        for piece in re.findall(r"%.|[^%]+", value.word):
            if piece[0] == "%" and piece[1] not in _FORMATS:
                parts += [piece, ""]
            else:
                parts[-1] += _FORMATS[piece[1]] if piece[0] == "%" else piece
        trees = [self._piece(part, moment) for part in parts if part] or [exp.Literal.string("")]
        tree = trees[0]
        for part in trees[1:]:
            tree = exp.DPipe(this=tree, expression=part, safe=True)
        return tree

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

    def write_string_agg(self, value: Aggregation, names: Names) -> exp.Expr:
        this, *separator = value.args
        between = separator[0] if separator else Literal(",")
        if not isinstance(between, Literal):
            raise UnsupportedError("string_agg with a computed separator", where=self.name)
        written = self.write(this, names)
        written = exp.Distinct(expressions=[written]) if value.is_distinct else written
        name = f"groupConcat({self.sql(self.write(between, names))})"
        return self._filtered(self.call(name, [written]), value.where, names)

    def write_any_value(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._filtered(self.call("any_respect_nulls", [self.write(value.args[0], names)]), value.where, names)

    def _at_extreme(self, value: Aggregation, names: Names, name: str) -> exp.Expr:
        """In a tuple, so that rows are not passed over whose value is NULL."""
        this, by = (self.write(arg, names) for arg in value.args)
        found = self._filtered(self.call(name, [self.call("tuple", [this]), by]), value.where, names)
        return self.call("tupleElement", [found, exp.Literal.number(1)])

    def write_arg_max(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._at_extreme(value, names, "argMax")

    def write_arg_min(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._at_extreme(value, names, "argMin")

    def write_lag(self, value: Over, names: Names) -> exp.Expr:
        return self.write_over(value, names)


def _key(column: Column) -> tuple:
    return (column.alias.lower() if column.alias else None, column.name.lower())


def _lower(text: str) -> str:
    return text.encode().lower().decode()


def _regex_of_glob(pattern: str) -> str:
    """GLOB's *, ? and [...] as a regular expression for the whole text."""
    parts = []
    for piece in re.findall(r"\[\^?\]?[^\]]*\]|.", pattern, re.DOTALL):
        if len(piece) > 1:
            parts.append(piece.replace("\\", "\\\\"))
        else:
            parts.append({"*": ".*", "?": "."}.get(piece, re.escape(piece)))
    return f"^{''.join(parts)}$"


DIALECT = ClickHouse
