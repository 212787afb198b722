"""MySQL 8.0.31 or newer, with the types that the migration makes, collation utf8mb4_0900_bin and the sessions' settings.

Seen on 9.7: conditions are the numbers 0 and 1; x / 0 is NULL; 1.5 is a decimal and 1.5e0 a double; SUM and ROUND of
exact numbers are decimals; ROUND of a double is half to even; bits are unsigned; casts of text read the leading number;
LOWER folds all letters, and a cast to ASCII makes ? of all other letters; an expression that is a group key is known
only where it stands alone; what is no aggregate is unknown in HAVING; LIMIT is not allowed directly in IN.
"""

import re
from dataclasses import replace
from functools import partialmethod
from typing import ClassVar

from sqlglot import exp

from workbench import magnitudes
from workbench.backends.mysql_hints import DEEP, UNPUSHED
from workbench.core_functions import Core, TypedAggregation, TypedOver
from workbench.dialects.base import Names, bracketed
from workbench.dialects.mysql_times import MySQLTimes
from workbench.dialects.typed import NUMBER, TypedDialect, regex_of_glob
from workbench.errors import UnsupportedError
from workbench.lower_aggregates import with_ordered_texts, with_plain_keys, without_arg_extremes
from workbench.lower_values import lower_bound, real
from workbench.plan_expressions import Aggregation, Column, Expression, Frame, Literal, Over, SortKey
from workbench.select_rewrites import (
    drop_constant_keys,
    first_select,
    group_any_values,
    name_group_keys,
    sign_ranks,
    sort_excepts,
    spell_null_order,
)

# information_schema.keywords: reserved
KEYWORDS = """
    accessible add all alter analyze and as asc asensitive before between bigint binary blob both by call cascade case
    change char character check collate column condition constraint continue convert create cross cube cume_dist
    current_date current_time current_timestamp current_user cursor database databases day_hour day_microsecond
    day_minute day_second dec decimal declare default delayed delete dense_rank desc describe deterministic distinct
    distinctrow div double drop dual each else elseif empty enclosed escaped except exists exit explain external false
    fetch first_value float float4 float8 for force foreign from full fulltext function generated get grant group
    grouping groups having high_priority hour_microsecond hour_minute hour_second if ignore in index infile inner inout
    insensitive insert int int1 int2 int3 int4 int8 integer intersect interval into io_after_gtids io_before_gtids is
    iterate join json_table key keys kill lag last_value lateral lead leading leave left library like limit linear
    lines load localtime localtimestamp lock long longblob longtext loop low_priority match maxvalue mediumblob
    mediumint mediumtext middleint minute_microsecond minute_second mod modifies natural no_write_to_binlog not
    nth_value ntile null numeric of on optimize optimizer_costs option optionally or order out outer outfile over
    partition percent_rank precision primary procedure purge qualify range rank read read_write reads real recursive
    references regexp release rename repeat replace require resignal restrict return revoke right rlike row row_number
    rows schema schemas second_microsecond select sensitive separator set show signal smallint spatial specific sql
    sql_big_result sql_calc_found_rows sql_small_result sqlexception sqlstate sqlwarning ssl starting stored
    straight_join system table tablesample terminated then tinyblob tinyint tinytext to trailing trigger true undo
    union unique unlock unsigned update usage use using utc_date utc_time utc_timestamp values varbinary varchar
    varcharacter varying virtual when where while window with write xor year_month zerofill
"""
_EXACT = "DECIMAL(65, 30)"  # the shortest digits of a double
_TRIFLE = "1.0000000000000003"  # https://sqlite.org/src/file?name=src/printf.c&ci=version-3.40.1, etFLOAT
_NO_NUMBER = "-1.7976931348623157e308"  # stands for NaN, which MySQL does not have
_WIDE = {"integer": "SIGNED", "text": "CHAR(16383)"}  # characters of the longest VARCHAR


class MySQL(MySQLTimes):
    name = "mysql"
    sqlglot = "mysql"
    keywords = frozenset(KEYWORDS.split())
    types: ClassVar = {
        "integer": "SIGNED", "real": "DOUBLE", "text": "CHAR", "boolean": "SIGNED", "numeric": _EXACT,
    }  # fmt: skip
    functions: ClassVar = TypedDialect.functions | {"any_value": "ANY_VALUE", "position": "LOCATE"}
    null_order = "small"
    has_infinity = False
    has_values = False
    has_full_join = False
    has_null_order = False
    correlates_in_having = False  # EXISTS there, or a window beside such a query, ends the server (9.7)
    aggregate_rewrites = (with_plain_keys, with_ordered_texts, without_arg_extremes)
    no_limit = 2**64 - 1

    def sql(self, tree: exp.Expr, is_pretty: bool = False) -> str:
        drop_constant_keys(tree)
        spell_null_order(tree)
        name_group_keys(tree)
        group_any_values(tree)
        sign_ranks(tree, self.types["integer"])
        sort_excepts(tree)
        hints = [DEEP] if any(clause.recursive for clause in tree.find_all(exp.With)) else []
        hints += [UNPUSHED] if _tests_casts_of_sets(tree, self.types["text"]) else []
        if hints:
            first_select(tree).set("hint", exp.Hint(expressions=[exp.Var(this=" ".join(hints))]))
        for bound in tree.find_all(exp.Limit, exp.Offset):
            if not isinstance(bound.expression, exp.Literal):
                raise UnsupportedError("a computed limit", where=self.name)
        return super().sql(tree, is_pretty)

    # constants and conditions, which are numbers

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        tree = super(TypedDialect, self).write_literal(value, names)
        if isinstance(value.value, float):
            number = tree.this if isinstance(tree, exp.Neg) else tree
            number.set("this", number.name if "e" in number.name else f"{number.name}e0")
        return tree

    def core_value(self, value: Core, names: Names) -> exp.Expr:
        return self.write(value.args[0], names)

    def core_none(self, value: Core, names: Names) -> exp.Expr:
        return exp.Null()

    def core_compare(self, value: Core, names: Names) -> exp.Expr:
        return super().core_compare(_with_comparable(value) if value.word == "=" else value, names)

    def core_in(self, value: Core, names: Names) -> exp.Expr:
        return super().core_in(_with_comparable(value), names)

    def core_same(self, value: Core, names: Names) -> exp.Expr:
        tree = self.binary(exp.NullSafeEQ, _with_comparable(value).args, names)
        return tree if value.word == "is" else exp.Not(this=exp.Paren(this=tree))

    def core_extreme(self, value: Core, names: Names) -> exp.Expr:
        return self.call(value.word.upper(), [self.write(arg, names) for arg in value.args])

    # numbers

    def nullif_zero(self, value: Expression, names: Names) -> exp.Expr:
        return self._within(value, names, 7)

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        return self.binary(exp.IntDiv, value.args, names)

    def core_divide_reals(self, value: Core, names: Names) -> exp.Expr:
        return self.binary(exp.Div, value.args, names)

    def write_core(self, value: Core, names: Names) -> exp.Expr:
        """Bits are unsigned."""
        tree = super().write_core(value, names)
        if value.name not in ("&", "|", "~", "<<", ">>"):
            return tree
        return self.cast(tree.this if isinstance(tree, exp.Paren) else tree, "integer")

    def core_shift_right(self, value: Core, names: Names) -> exp.Expr:
        """A negative number keeps its sign: ~(~x >> n)."""
        tree, this = super().core_shift_right(value, names).this, value.args[0]
        if isinstance(this, Literal) and (this.value or 0) >= 0:
            return tree
        flipped = exp.BitwiseRightShift(
            this=exp.BitwiseNot(this=self._within(this, names, 9)), expression=tree.expression.copy()
        )
        is_negative = exp.LT(this=self._within(this, names, 4), expression=exp.Literal.number(0))
        negative = exp.BitwiseNot(this=exp.Paren(this=flipped))
        return exp.Case(ifs=[exp.If(this=is_negative, true=negative)], default=tree)

    def _rounded(self, value: Core, names: Names) -> exp.Expr:
        """Half away from zero of the decimal digits; SQLite adds a trifle to what it computed, for errors of the last bit."""
        tree, digits = self.write(value.args[0], names), value.args[1]
        exact: exp.Expr = self.cast(tree, "numeric")
        if not digits.value:
            return self.call("ROUND", [exact])
        if not isinstance(tree, exp.Column | exp.Literal):
            exact = exp.Mul(this=exact, expression=exp.Literal.number(_TRIFLE))
        return self.call("ROUND", [exact, self.write(digits, names)])

    def core_round(self, value: Core, names: Names) -> exp.Expr:
        return self.cast(self._rounded(value, names), "real")

    def core_format(self, value: Core, names: Names) -> exp.Expr:
        """A decimal has no negative zero, which -0.001 is with two digits."""
        this, digits = value.args
        if isinstance(this, Literal) and this.value >= 0:
            return self.cast(self._rounded(value, names), "text")
        is_negative = self.binary(exp.LT, (this, Literal(0)), names)
        sign = exp.Case(ifs=[exp.If(this=is_negative, true=exp.Literal.string("-"))], default=exp.Literal.string(""))
        size = replace(value, args=(Core("abs", (this,), "real"), digits))
        return self.call("CONCAT", [sign, self.cast(self._rounded(size, names), "text")])

    def core_whole_part(self, value: Core, names: Names) -> exp.Expr:
        return self.call("TRUNCATE", [self.write(value.args[0], names), exp.Literal.number(0)])

    def core_integer_of_real(self, value: Core, names: Names) -> exp.Expr:
        """The cast alone would round."""
        return self.cast(self.core_whole_part(value, names), "integer")

    def core_integer_of_text(self, value: Core, names: Names) -> exp.Expr:
        """The cast makes other integers of more than 18 digits."""
        tree = self.write(value.args[0], names)
        if magnitudes.fits(value.args[0], 1e18) is False:
            digits = self.call("REGEXP_SUBSTR", [tree, exp.Literal.string(r"^\s*[+-]?\d*")])
            tree = exp.Cast(this=digits, to=exp.Var(this="DECIMAL(65)"))
        return self.cast(tree, "integer")

    def core_real_of_text(self, value: Core, names: Names) -> exp.Expr:
        return self.cast(self.write(value.args[0], names), "real")

    def core_is_number(self, value: Core, names: Names) -> exp.Expr:
        return self._matches(self.write(value.args[0], names), self.number_pattern(value))

    def core_number_of_text(self, value: Core, names: Names) -> exp.Expr:
        this = self.write(value.args[0], names)
        is_number = self._matches(this.copy(), rf"^\s*{NUMBER}\s*$")
        is_text = exp.Not(this=exp.Is(this=bracketed(this.copy(), 4), expression=exp.Null()))
        other = exp.If(this=is_text, true=exp.Literal.number(_NO_NUMBER))
        return exp.Case(ifs=[exp.If(this=is_number, true=self.cast(this, "real")), other])

    def core_text_of_real(self, value: Core, names: Names) -> exp.Expr:
        """JSON writes 1000.0, in the shortest digits; SQLite has at most 15 of them."""
        this = value.args[0]
        if magnitudes.fits(this, 1e15) is False:
            raise UnsupportedError("the text of reals from 1e15 on", where=self.name)
        tree = self.write(this, names)
        if not (isinstance(this, Core) and this.name == "round"):
            size = self.call("FLOOR", [self.call("LOG10", [self.call("ABS", [tree.copy()])])])
            digits = exp.Sub(this=exp.Literal.number(14), expression=size)
            tree = self.call("ROUND", [tree, self.call("COALESCE", [digits, exp.Literal.number(0)])])
        if self.may_be_negative_zero(this):
            tree = exp.Add(this=tree, expression=exp.Literal.number("0e0"))
        return self.cast(exp.Cast(this=tree, to=exp.Var(this="JSON")), "text")

    # texts

    def core_join_texts(self, value: Core, names: Names) -> exp.Expr:
        return self.call("CONCAT", [self._as_text(arg, names) for arg in value.args])

    def joined(self, parts: list[exp.Expr]) -> exp.Expr:
        return self.call("CONCAT", parts) if len(parts) > 1 else parts[0]

    def _as_text(self, value: Expression, names: Names) -> exp.Expr:
        """An integer needs no cast where a text is wanted."""
        is_integer = isinstance(value, Core) and value.name == "text_of_integer"
        return self.write(value.args[0] if is_integer else value, names)

    def _folded(self, value: Expression, names: Names, case: str) -> exp.Expr:
        """A text with its ASCII letters in one case: the bytes of others are no letters in tis620."""
        if isinstance(value, Literal) and isinstance(value.value, str):
            return exp.Literal.string(getattr(value.value.encode(), case.lower())().decode())
        as_bytes = exp.Cast(this=self.write(value, names), to=exp.Var(this="BINARY"))
        folded = self.call(case, [self._converted(as_bytes, "tis620")])
        return self.cast(exp.Cast(this=folded, to=exp.Var(this="BINARY")), "text")

    def core_fold(self, value: Core, names: Names) -> exp.Expr:
        return self._folded(value.args[0], names, "LOWER")

    core_lower = core_fold

    def core_upper(self, value: Core, names: Names) -> exp.Expr:
        return self._folded(value.args[0], names, "UPPER")

    def core_like(self, value: Core, names: Names) -> exp.Expr:
        this, pattern, *escape = value.args
        constants = [one.value or "" for one in (pattern, *escape) if isinstance(one, Literal)]
        is_constant = len(constants) == len(value.args) - 1
        letters = "".join(constants)
        if is_constant and letters.isascii() and not re.search("[A-Za-z]", letters):
            left, right = self._as_text(this, names), self.write(pattern, names)
        elif is_constant and letters.isascii() and "?" not in letters:
            # a collation that ignores the case of ASCII letters; all others become ?, which is not in the pattern
            left, right = self._converted(self._as_text(this, names), "ascii"), self.write(pattern, names)
        else:
            left, right = (self._folded(one, names, "LOWER") for one in (this, pattern))
        tree = exp.Like(this=bracketed(left, 4), expression=bracketed(right, 4))
        if escape:
            return exp.Escape(this=tree, expression=self._folded(escape[0], names, "LOWER"))
        is_plain = is_constant and "\\" not in letters
        return tree if is_plain else exp.Escape(this=tree, expression=exp.Literal.string(""))

    def _converted(self, tree: exp.Expr, charset: str) -> exp.Expr:
        return exp.Cast(this=tree, to=exp.Var(this=f"CHAR CHARACTER SET {charset}"))

    def core_glob(self, value: Core, names: Names) -> exp.Expr:
        this, pattern = value.args
        if not isinstance(pattern, Literal):
            raise UnsupportedError("GLOB of a computed pattern", where=self.name)
        tree = self._as_text(this, names)
        if re.search(r"[\[%_\\]", pattern.value or ""):
            return self._matches(tree, regex_of_glob(pattern.value))
        like = (pattern.value or "").replace("*", "%").replace("?", "_")
        return exp.Like(this=bracketed(tree, 4), expression=exp.Literal.string(like))

    def _matches(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        return self.call("REGEXP_LIKE", [tree, *map(exp.Literal.string, (pattern, "cn"))])

    def core_char_length(self, value: Core, names: Names) -> exp.Expr:
        return self.call("CHAR_LENGTH", [self._as_text(value.args[0], names)])

    def core_cut(self, value: Core, names: Names) -> exp.Expr:
        """A start before the first character takes of the length; a length below 0 gives no characters."""
        this, start, *length = value.args
        tree, from_end = self._as_text(this, names), _size_from_end(this, start)
        if from_end is not None and not length:
            return self.call("RIGHT", [tree, exp.Literal.number(from_end)])
        sizes = [one.args[0] if isinstance(one, Core) and one.name == "at_least_zero" else one for one in length]
        place = self.write(start, names)
        if (lower_bound(start) or 0) >= 1:
            return self.call("SUBSTRING", [tree, place, *(self.write(size, names) for size in sizes)])
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        missing = self.call("GREATEST", [exp.Sub(this=one, expression=bracketed(place.copy(), 6)), zero])
        left = [exp.Sub(this=self._within(size, names, 5), expression=missing) for size in sizes]
        return self.call("SUBSTRING", [tree, self.call("GREATEST", [place, one.copy()]), *left])

    def _trimmed(self, value: Core, names: Names, side: str) -> exp.Expr:
        tree = self._as_text(value.args[0], names)
        letters = value.args[1] if len(value.args) > 1 else Literal(" ")
        if not isinstance(letters, Literal):
            raise UnsupportedError("trim of computed characters", where=self.name)
        if letters == Literal(" ") and side == "BOTH":
            return exp.Trim(this=tree)
        if len(letters.value or "") < 2:
            return exp.Trim(this=tree, position=side, expression=self.write(letters, names))
        few = "[" + re.sub(r"([\\\]\[^&-])", r"\\\1", letters.value) + "]+"
        patterns = {"LEADING": f"^{few}", "TRAILING": rf"{few}\z", "BOTH": rf"^{few}|{few}\z"}
        return self.call("REGEXP_REPLACE", [tree, exp.Literal.string(patterns[side]), exp.Literal.string("")])

    core_trim = partialmethod(_trimmed, side="BOTH")
    core_ltrim = partialmethod(_trimmed, side="LEADING")
    core_rtrim = partialmethod(_trimmed, side="TRAILING")

    # aggregates and windows

    def write_typedaggregation(self, value: TypedAggregation, names: Names) -> exp.Expr:
        return self.write_aggregation(self._unfiltered(value), names)

    def _unfiltered(self, value: Aggregation | Over) -> Aggregation | Over:
        """There is no FILTER: the function sees NULL for the other rows."""
        if value.where is None:
            return value
        if value.name in ("any_value", "arg_min", "arg_max"):
            raise UnsupportedError(f"{value.name} of chosen rows", where=self.name)
        this = value.args[0] if value.args else Literal(1)
        chosen = Core("choose", (value.where, this), this.type)
        return replace(value, args=(chosen, *value.args[1:]), where=None)

    def write_string_agg(self, value: TypedAggregation, names: Names) -> exp.Expr:
        this, *separator = value.args
        between = separator[0] if separator else Literal(",")
        if not isinstance(between, Literal):
            raise UnsupportedError("string_agg with a computed separator", where=self.name)
        tree = self._as_text(this, names)
        tree = exp.Distinct(expressions=[tree]) if value.is_distinct else tree
        if value.order:
            tree = exp.Order(this=tree, expressions=[self.ordered(key, names) for key in value.order])
        if between == Literal(","):
            return self.call("GROUP_CONCAT", [tree])
        return exp.GroupConcat(this=tree, separator=exp.Literal.string(between.value or ""))

    def write_typedover(self, value: TypedOver, names: Names) -> exp.Expr:
        frame = value.frame
        if frame is None:
            return super().write_typedover(self._unfiltered(value), names)
        if frame.unit == "groups" or frame.exclude != "no others":
            what = frame.unit if frame.unit == "groups" else f"exclude {frame.exclude}"
            raise UnsupportedError(f"a window's frame with {what}", where=self.name)
        is_span = frame.unit == "range" and any(bound.offset is not None for bound in (frame.start, frame.end))
        order = tuple(self._span_key(key) for key in value.order) if is_span else value.order
        tree = super().write_typedover(self._unfiltered(replace(value, order=order)), names)
        return self._of_several_rows(tree, value, names) if _is_beside_its_row(frame) else tree

    def _span_key(self, key: SortKey) -> SortKey:
        """The one key of a span, the other way around where NULLs are not where MySQL has them."""
        if key.nulls_first is not key.is_descending:
            return key
        return SortKey(Core("negative", (key.value,), key.value.type), not key.is_descending, key.nulls_first)

    def _of_several_rows(self, tree: exp.Expr, value: TypedOver, names: Names) -> exp.Expr:
        """Over a lone row MySQL 9.7 takes every frame to hold it. A span beside a NULL does hold NULLs."""
        rows = exp.Window(this=self.call("COUNT", [exp.Star()]))
        has_more: exp.Expr = exp.GT(this=rows, expression=exp.Literal.number(1))
        if value.frame.unit == "range":
            is_null = self.write(Core("is null", (value.order[0].value,), "condition"), names)
            has_more = exp.Or(this=has_more, expression=is_null)
        empty = {"count": Literal(0), "total": Literal(0.0)}.get(value.name)
        return exp.Case(
            ifs=[exp.If(this=has_more, true=tree)], default=self.write_literal(empty, names) if empty else None
        )

    # queries

    def with_room(self, value: Expression) -> Expression:
        """Texts and integers get the widest type."""
        return Core("wide", (value,), value.type) if value.type in _WIDE else value

    def core_wide(self, value: Core, names: Names) -> exp.Expr:
        return exp.Cast(this=self.write(value.args[0], names), to=exp.Var(this=_WIDE[value.type]))

    def write_inquery(self, value, names: Names) -> exp.Expr:
        tree = super().write_inquery(value, names)
        inner = tree.args["query"].this
        if inner.args.get("limit"):
            source = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("limited")))
            tree.args["query"].set("this", exp.Select(expressions=[exp.Star()]).from_(source))
        return tree


def _tests_casts_of_sets(tree: exp.Expr, text_type: str) -> bool:
    """Whether a condition holds a cast to text, beside a set operation in FROM."""
    has_sets = any(isinstance(part.parent, exp.Subquery | exp.CTE) for part in tree.find_all(exp.SetOperation))
    conditions = tree.find_all(exp.Where, exp.Having) if has_sets else ()
    return any(cast.args["to"].name == text_type for one in conditions for cast in one.find_all(exp.Cast))


def _is_beside_its_row(frame: Frame) -> bool:
    """Whether a frame leaves out the row itself."""
    sides = ((frame.start, "following"), (frame.end, "preceding"))
    return any(bound.side == side and bound.offset not in (None, Literal(0)) for bound, side in sides)


def _with_comparable(value: Core) -> Core:
    """Beside computed reals a column of integers is cast: an index is searched for such a real as an integer."""
    computed = [arg for arg in value.args if arg.type == "real" and not isinstance(arg, Literal | Column)]
    is_open = [isinstance(arg, Column) and arg.type == "integer" for arg in value.args]
    args = tuple(real(arg) if computed and is_key else arg for arg, is_key in zip(value.args, is_open, strict=True))
    return replace(value, args=args)


def _size_from_end(this: Expression, start: Expression) -> int | None:
    """n where start is the place of the n-th character from the end, as `lower` writes it."""
    match start:
        case Core("+", (Core("+", (Core("char_length", (text,)), Literal(int(size)))), Literal(1))) if text == this:
            return -size
    return None


DIALECT = MySQL
