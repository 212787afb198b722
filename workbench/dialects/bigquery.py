"""BigQuery (GoogleSQL), rendered and read back by sqlglot, not executed: Snowflake's dialect but for what is written here.

From its documentation (cloud.google.com/bigquery/docs/reference/standard-sql): strings know escapes and LIKE takes a
backslash, but no ESCAPE; / gives a double, DIV truncates; a time without zone is a DATETIME; NULLs are the smallest
values; ROUND is half away from zero; ARRAY_AGG may hold NULLs that are not returned.
"""

import re
from typing import ClassVar

from sqlglot import exp

from workbench.core_functions import Core
from workbench.dialects.base import Names
from workbench.dialects.postgres import Postgres
from workbench.dialects.snowflake import Snowflake
from workbench.dialects.typed import TypedDialect
from workbench.errors import UnsupportedError
from workbench.plan_expressions import Aggregation, Literal

_CODES = {"YYYY": "%Y", "HH24": "%H", "DDD": "%j", "SS.MS": "%E3S", "MM": "%m", "DD": "%d", "MI": "%M", "SS": "%S"}


class BigQuery(Snowflake):
    name = "bigquery"
    sqlglot = "bigquery"
    types: ClassVar = {
        "integer": "INT64", "real": "FLOAT64", "text": "STRING", "boolean": "INT64", "numeric": "FLOAT64",
    }  # fmt: skip
    functions: ClassVar = TypedDialect.functions | {"string_agg": "STRING_AGG"}
    null_order = "small"
    no_limit = exp.Literal.number(2**63 - 1)

    def sql(self, tree: exp.Expr, is_pretty: bool = False) -> str:
        if tree.find(exp.Values):
            raise UnsupportedError("rows of constants", where=self.name)
        return super().sql(tree, is_pretty)

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        if isinstance(value.value, bytes):
            return self.call("FROM_HEX", [exp.Literal.string(value.value.hex())])
        return TypedDialect.write_literal(self, value, names)

    def core_like(self, value: Core, names: Names) -> exp.Expr:
        this, pattern, *escape = value.args
        mark = escape[0] if escape else None
        if not isinstance(pattern, Literal) or not (mark is None or isinstance(mark, Literal)):
            raise UnsupportedError("LIKE of a computed pattern", where=self.name)
        known = Literal(_escaped(pattern.value or "", mark.value if mark else None)) if pattern.value else pattern
        return exp.Like(this=self._text(this, names, "LOWER"), expression=self._text(known, names, "LOWER"))

    def _matches(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        return self.call("REGEXP_CONTAINS", [tree, exp.Literal.string(pattern)])

    def _first_match(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        return self.call("REGEXP_EXTRACT", [tree, exp.Literal.string(_one_group(pattern))])

    def core_text_of_real(self, value: Core, names: Names) -> exp.Expr:
        this = self.write(value.args[0], names)
        digits = self.call("FORMAT", [exp.Literal.string("%.15g"), this])
        is_whole = self.call("REGEXP_CONTAINS", [digits.copy(), exp.Literal.string(r"^-?\d+$")])
        with_point = exp.DPipe(this=digits.copy(), expression=exp.Literal.string(".0"), safe=True)
        return exp.Case(ifs=[exp.If(this=is_whole, true=with_point)], default=digits)

    def core_format(self, value: Core, names: Names) -> exp.Expr:
        this, digits = value.args
        rounded = self.call("ROUND", [self.write(this, names), self.write(digits, names)])
        return self.call("FORMAT", [exp.Literal.string(f"%.{digits.value}f"), rounded])

    def core_position(self, value: Core, names: Names) -> exp.Expr:
        return Postgres.core_position(self, value, names)

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        return self.call("DIV", [self.write(value.args[0], names), self.nullif_zero(value.args[1], names)])

    # times

    def _now(self) -> exp.Expr:
        return self.call("CURRENT_DATETIME", [exp.Literal.string("UTC")])

    def _moment(self, value: Core, names: Names) -> exp.Expr:
        tree = super()._moment(value, names)
        for cast in tree.find_all(exp.Cast):
            if cast.args["to"].sql() == "TIMESTAMP":
                cast.set("to", exp.Var(this="DATETIME"))
        return tree

    def _modified(self, tree: exp.Expr, modifier: str) -> exp.Expr:
        if modifier.startswith("start of ") and modifier[9:] in ("day", "month", "year"):
            return self._truncated(modifier[9:], tree)
        return super()._modified(tree, modifier)

    def _truncated(self, unit: str, tree: exp.Expr) -> exp.Expr:
        return self.call("DATETIME_TRUNC", [tree, exp.Var(this=unit.upper())])

    def _later(self, unit: str, amount: exp.Expr, tree: exp.Expr) -> exp.Expr:
        return self.call("DATETIME_ADD", [tree, exp.Interval(this=amount, unit=exp.Var(this=unit.upper()))])

    def _between(self, unit: str, start: exp.Expr, end: exp.Expr) -> exp.Expr:
        return self.call("DATETIME_DIFF", [end, start, exp.Var(this=unit.upper())])

    def _piece(self, part: str, moment: exp.Expr) -> exp.Expr:
        if part == "%s":
            return self.cast(self._since_1970("SECONDS", moment), "text")
        if part == "%w":
            return self.call("FORMAT_DATETIME", [exp.Literal.string("%w"), moment.copy()])
        if part.startswith("%"):
            raise UnsupportedError(f"the time format {part}", where=self.name)
        form = re.sub("|".join(map(re.escape, _CODES)), lambda found: _CODES[found[0]], part).replace('"', "")
        return self.call("FORMAT_DATETIME", [exp.Literal.string(form), moment.copy()])

    def _since_1970(self, unit: str, moment: exp.Expr) -> exp.Expr:
        return self.call(f"UNIX_{unit}", [self.call("TIMESTAMP", [moment.copy()])])

    def core_julian(self, value: Core, names: Names) -> exp.Expr:
        milliseconds = self._since_1970("MILLIS", self._moment(value, names))
        days = exp.Div(this=milliseconds, expression=exp.Literal.number("86400000.0"), typed=False, safe=False)
        return exp.Paren(this=exp.Add(this=days, expression=exp.Literal.number("2440587.5")))

    # aggregates

    def write_string_agg(self, value: Aggregation, names: Names) -> exp.Expr:
        return Postgres.write_string_agg(self, value, names)

    def _at_extreme(self, value: Aggregation, names: Names, is_descending: bool) -> exp.Expr:
        """NULLs of the key last, which an aggregate's ORDER BY has no word for."""
        this, by = (self.write(arg, names) for arg in value.args)
        if value.where is not None:
            raise UnsupportedError(f"{value.name} with a condition", where=self.name)
        order = f"{self.sql(by)} IS NULL, {self.sql(by)}{' DESC' if is_descending else ''}"
        collected = self.call("ARRAY_AGG", [exp.Var(this=f"{self.sql(this)} ORDER BY {order} LIMIT 1")])
        return exp.Bracket(this=collected, expressions=[self.call("OFFSET", [exp.Literal.number(0)])])


def _escaped(pattern: str, mark: str | None) -> str:
    """A pattern of SQLite, in which only `mark` escapes, with backslashes instead."""
    found, at = "", 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == mark and at + 1 < len(pattern):
            at += 1
            letter = "\\" + pattern[at] if pattern[at] in "%_\\" else pattern[at]
        elif letter == "\\":
            letter = "\\\\"
        found, at = found + letter, at + 1
    return found


def _one_group(pattern: str) -> str:
    """REGEXP_EXTRACT takes one counted group: the outermost; the others are made not to count."""
    head, _, rest = pattern.partition("(")
    return head + "(" + re.sub(r"(?<!\\)\((?!\?)", "(?:", rest)


DIALECT = BigQuery
