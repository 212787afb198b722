"""Snowflake, rendered and read back by sqlglot, not executed: DuckDB's dialect but for what is written here.

From its documentation (docs.snowflake.com/en/sql-reference): names keep their case only in quotes; / of integers rounds to
a decimal; REGEXP_LIKE is of the whole text; aggregates take no FILTER; LISTAGG over nothing is an empty text; ARRAY_AGG
leaves NULLs out; ROUND is half away from zero; NULLs are the largest values.
"""

import re
from typing import ClassVar

from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError as SqlglotUnsupportedError

from workbench.core_functions import Core
from workbench.dialects.base import Names
from workbench.dialects.duckdb import DuckDB
from workbench.dialects.postgres import Postgres
from workbench.dialects.typed import TypedDialect
from workbench.errors import UnsupportedError
from workbench.plan_expressions import Aggregation, Expression, Literal, SortKey


class Snowflake(DuckDB):
    name = "snowflake"
    sqlglot = "snowflake"
    types: ClassVar = {
        "integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "boolean": "INTEGER", "numeric": "DOUBLE",
    }  # fmt: skip
    functions: ClassVar = TypedDialect.functions | {"char_length": "LENGTH", "string_agg": "LISTAGG"}
    null_order = "large"
    no_limit: ClassVar[exp.Expr] = exp.Null()  # OFFSET needs a LIMIT

    def sql(self, tree: exp.Expr, is_pretty: bool = False) -> str:
        """Nothing shows here what sqlglot leaves out where it knows no words for it, so that is refused."""
        for query in tree.find_all(exp.Query):
            if query.args.get("offset") and not query.args.get("limit"):
                query.set("limit", exp.Limit(expression=self.no_limit.copy()))
        try:
            return super().sql(tree, is_pretty, unsupported_level=ErrorLevel.RAISE)
        except SqlglotUnsupportedError as fault:
            raise UnsupportedError(str(fault).rstrip("."), where=self.name) from fault

    def identifier(self, name: str) -> exp.Identifier:
        return exp.to_identifier(name, quoted=True)

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        if isinstance(value.value, bytes):
            return self.call("TO_BINARY", [exp.Literal.string(value.value.hex()), exp.Literal.string("HEX")])
        return super().write_literal(value, names)

    def core_like(self, value: Core, names: Names) -> exp.Expr:
        this, pattern, *escape = (self._text(one, names, "LOWER") for one in value.args)
        tree = exp.Like(this=this, expression=pattern)
        return exp.Escape(this=tree, expression=escape[0]) if escape else tree

    def _matches(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        place = self.call("REGEXP_INSTR", [tree, exp.Literal.string(_pattern(pattern))])
        return exp.GT(this=place, expression=exp.Literal.number(0))

    def _first_match(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        one = exp.Literal.number(1)
        args = [tree, exp.Literal.string(_pattern(pattern)), one, one.copy(), exp.Literal.string("e"), one.copy()]
        return self.call("REGEXP_SUBSTR", args)

    def core_text_of_real(self, value: Core, names: Names) -> exp.Expr:
        raise UnsupportedError("the text of a real number", where=self.name)

    def core_format(self, value: Core, names: Names) -> exp.Expr:
        this, digits = value.args
        rounded = self.call("ROUND", [self.write(this, names), self.write(digits, names)])
        form = f"FM{'9' * 18}0" + (f".{'0' * digits.value}" if digits.value else "")
        return self.call("TO_CHAR", [rounded, exp.Literal.string(form)])

    def core_position(self, value: Core, names: Names) -> exp.Expr:
        return self.call("POSITION", [self.write(arg, names) for arg in value.args])

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        """What is left after the rest divides without rounding."""
        left, right = self._within(value.args[0], names, 6), self.nullif_zero(value.args[1], names)
        whole = exp.Sub(this=left, expression=exp.Paren(this=exp.Mod(this=left.copy(), expression=right)))
        return self.cast(
            exp.Div(this=exp.Paren(this=whole), expression=right.copy(), typed=False, safe=False), "integer"
        )

    def _now(self) -> exp.Expr:
        now = self.call("CONVERT_TIMEZONE", [exp.Literal.string("UTC"), self.call("CURRENT_TIMESTAMP", [])])
        return exp.Cast(this=now, to=exp.Var(this="TIMESTAMP_NTZ"))

    def _modified(self, tree: exp.Expr, modifier: str) -> exp.Expr:
        found = re.fullmatch(r"([+-]?\d+) (day|hour|minute|second|month|year)s?", modifier)
        if not found:
            if modifier.startswith("start of "):
                return super()._modified(tree, modifier)
            raise UnsupportedError(f"the time modifier {modifier!r}", where=self.name)
        amount = self._number(int(found[1]))
        if found[2] not in ("month", "year"):
            return self._later(found[2], amount, tree)
        start = self._truncated("month", tree)
        rest = self._between("millisecond", start.copy(), tree.copy())
        return self._later("millisecond", rest, self._later(found[2], amount, start))

    def _number(self, value: int) -> exp.Expr:
        tree = exp.Literal.number(abs(value))
        return exp.Neg(this=tree) if value < 0 else tree

    def _truncated(self, unit: str, tree: exp.Expr) -> exp.Expr:
        return self.call("DATE_TRUNC", [exp.Literal.string(unit), tree])

    def _later(self, unit: str, amount: exp.Expr, tree: exp.Expr) -> exp.Expr:
        return self.call("DATEADD", [exp.Var(this=unit.upper()), amount, tree])

    def _between(self, unit: str, start: exp.Expr, end: exp.Expr) -> exp.Expr:
        return self.call("DATEDIFF", [exp.Var(this=unit.upper()), start, end])

    def core_day(self, value: Core, names: Names) -> exp.Expr:
        return Postgres.core_day(self, value, names)

    def _piece(self, part: str, moment: exp.Expr) -> exp.Expr:
        if part == "%s":
            return self.cast(self._part("epoch_second", moment), "text")
        if "DDD" in part:
            raise UnsupportedError("the time format %j", where=self.name)
        return Postgres._piece(self, part.replace("SS.MS", "SS.FF3"), moment)

    def core_julian(self, value: Core, names: Names) -> exp.Expr:
        milliseconds = self._part("epoch_millisecond", self._moment(value, names))
        days = exp.Div(this=milliseconds, expression=exp.Literal.number("86400000.0"), typed=False, safe=False)
        return exp.Paren(this=exp.Add(this=self.cast(days, "real"), expression=exp.Literal.number("2440587.5")))

    def _filtered(self, tree: exp.Expr, where: Expression | None, names: Names) -> exp.Expr:
        """A condition as a CASE of the argument, since aggregates leave NULLs out."""
        if where is None:
            return tree
        owner = tree.expressions[0] if isinstance(tree.expressions[0], exp.Distinct) else tree
        first, *rest = owner.expressions
        then = exp.Literal.number(1) if isinstance(first, exp.Star) else first
        owner.set("expressions", [exp.Case(ifs=[exp.If(this=self.write(where, names), true=then)]), *rest])
        return tree

    def write_string_agg(self, value: Aggregation, names: Names) -> exp.Expr:
        this, *separator = value.args
        tree = self.write(this, names)
        tree = exp.Distinct(expressions=[tree]) if value.is_distinct else tree
        between = self.write(separator[0], names) if separator else exp.Literal.string(",")
        joined = self._filtered(self.call("LISTAGG", [tree, between]), value.where, names)
        count = self._filtered(self.call("COUNT", [self.write(this, names)]), value.where, names)
        some = exp.GT(this=count, expression=exp.Literal.number(0))
        return exp.Case(ifs=[exp.If(this=some, true=joined)])

    def write_any_value(self, value: Aggregation, names: Names) -> exp.Expr:
        return self._filtered(self.call("ANY_VALUE", [self.write(value.args[0], names)]), value.where, names)

    def _at_extreme(self, value: Aggregation, names: Names, is_descending: bool) -> exp.Expr:
        """The value stands in an array of its own, which is no NULL."""
        this, by = value.args
        if value.where is not None:
            raise UnsupportedError(f"{value.name} with a condition", where=self.name)
        order = exp.Order(expressions=[self.ordered(SortKey(by, is_descending, False), names)])
        boxed = self.call("ARRAY_AGG", [self.call("ARRAY_CONSTRUCT", [self.write(this, names)])])
        zero = exp.Literal.number(0)
        first = self.call("GET", [exp.WithinGroup(this=boxed, expression=order), zero])
        kind = "integer" if value.type == "boolean" else value.type
        if kind not in self.types:
            raise UnsupportedError(f"{value.name} of a value of type {kind}", where=self.name)
        return self.cast(self.call("GET", [first, zero.copy()]), kind)


def _pattern(pattern: str) -> str:
    """Snowflake's expressions know no groups that are not counted; the wanted one is the first."""
    return pattern.replace("(?:", "(")


DIALECT = Snowflake
