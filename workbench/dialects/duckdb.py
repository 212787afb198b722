"""DuckDB, with the types that the migration makes: PostgreSQL's dialect but for what is written here.

Seen on 2.0: names keep their case and compare without; / gives a double and // truncates; 7 // 0 and 7 % 0 are errors;
LOWER folds all letters, so ASCII is folded by TRANSLATE; a start of SUBSTRING below 0 counts from the end; SUM(bigint)
is a 128-bit integer; ROUND is half away from zero.
"""

import re
import string
from typing import ClassVar

from sqlglot import exp

from workbench.core_functions import Core
from workbench.dialects.base import Dialect, Names
from workbench.dialects.postgres import Postgres, in_64_bits
from workbench.dialects.typed import is_in_the_text
from workbench.errors import UnsupportedError
from workbench.plan import Join
from workbench.plan_expressions import Aggregation, Column, Expression, Literal, Subquery, walk

# duckdb_keywords(): reserved, and those that may only be types or functions
KEYWORDS = """
    all analyse analyze and any array as asc asof anti asymmetric at authorization binary both case cast check collate
    collation column concurrently constraint create cross default deferrable desc describe distinct do else end except
    false fetch for foreign freeze from full generated glob grant group having ilike in initially inner intersect into is
    isnull join lambda lateral leading left like limit map natural not notnull null offset on only or order outer overlaps
    pivot pivot_longer pivot_wider placing positional primary qualify references returning right select semi show similar
    some struct summarize symmetric table tablesample then to trailing true try_cast union unique unpack unpivot using
    variadic verbose when where window with
"""


class DuckDB(Postgres):
    name = "duckdb"
    sqlglot = "duckdb"
    plain_name = Dialect.plain_name
    keywords = frozenset(KEYWORDS.split())
    types: ClassVar = Postgres.types | {"real": "DOUBLE", "wide": "HUGEINT"}
    null_order = "last"
    has_infinity = True

    def takes_full_join(self, node: Join) -> bool:
        return True

    def write_literal(self, value: Literal, names: Names) -> exp.Expr:
        if isinstance(value.value, bytes):
            return self.call("UNHEX", [exp.Literal.string(value.value.hex())])
        return super().write_literal(value, names)

    def _text(self, value: Expression, names: Names, case: str) -> exp.Expr:
        tree = super()._text(value, names, case)
        if isinstance(tree, exp.Literal):
            return tree
        letters = (string.ascii_uppercase, string.ascii_lowercase)
        sides = letters if case == "LOWER" else letters[::-1]
        return self.call("TRANSLATE", [self.write(value, names), *map(exp.Literal.string, sides)])

    def _matches(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        return self.call("REGEXP_MATCHES", [tree, exp.Literal.string(pattern)])

    def _first_match(self, tree: exp.Expr, pattern: str) -> exp.Expr:
        found = self.call("REGEXP_EXTRACT", [tree, exp.Literal.string(pattern), exp.Literal.number(1)])
        return self.call("NULLIF", [found, exp.Literal.string("")])

    def write_string_agg(self, value: Aggregation, names: Names) -> exp.Expr:
        if not all(isinstance(one, Literal) for one in value.args[1:]):
            raise UnsupportedError("string_agg with a computed separator", where=self.name)
        return super().write_string_agg(value, names)

    def core_text_of_real(self, value: Core, names: Names) -> exp.Expr:
        this = self.without_sign_of_zero(value.args[0], names)
        return self.with_point("REGEXP_REPLACE", self.call("FORMAT", [exp.Literal.string("{:.15g}"), this]))

    def core_round(self, value: Core, names: Names) -> exp.Expr:
        this, digits = value.args
        tree = self.nudged(this, names) if digits.value else self.write(this, names)
        return self.call("ROUND", [tree, self.write(digits, names)])

    def core_format(self, value: Core, names: Names) -> exp.Expr:
        this, digits = value.args
        rounded = self.call("ROUND", [self.nudged(this, names), self.write(digits, names)])
        return self.call("FORMAT", [exp.Literal.string(f"{{:.{digits.value}f}}"), rounded])

    def core_divide_integers(self, value: Core, names: Names) -> exp.Expr:
        left = self._within(value.args[0], names, 6)
        return exp.Paren(this=exp.IntDiv(this=left, expression=self.nullif_zero(value.args[1], names)))

    def core_cut(self, value: Core, names: Names) -> exp.Expr:
        this, start, *length = value.args
        if isinstance(start, Literal):
            return self.call("SUBSTRING", [self.write(arg, names) for arg in value.args])
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        place = self.write(start, names)
        args = [self.write(this, names), self.call("GREATEST", [place, one])]
        for size in length:
            before = self.call("LEAST", [exp.Sub(this=exp.Paren(this=place.copy()), expression=one.copy()), zero])
            shorter = exp.Add(this=exp.Paren(this=self.write(size, names)), expression=before)
            args.append(self.call("GREATEST", [shorter, zero.copy()]))
        tree = self.call("SUBSTRING", args)
        # GREATEST and LEAST pass over NULL
        inside = set(walk(this))  # where these are NULL, so is SUBSTRING
        unsure = [
            one
            for one in (start, *length)
            if any(isinstance(part, Column | Subquery) and part not in inside for part in walk(one))
        ]
        tests = [Core("is not null", (one,), "condition") for one in unsure]
        if not tests:
            return tree
        known = self.write(Core("and", tuple(tests), "condition") if len(tests) > 1 else tests[0], names)
        return exp.Case(ifs=[exp.If(this=known, true=tree)])

    def core_shift_left(self, value: Core, names: Names) -> exp.Expr:
        """<< takes no negative number."""
        this, by = value.args
        if not isinstance(by, Literal) or not 0 <= (by.value or 0) < 63:
            return super().core_shift_left(value, names)
        this, _ = in_64_bits(value).args
        return self.binary(exp.Mul, (this, Literal(2**by.value)), names)

    def core_trim(self, value: Core, names: Names) -> exp.Expr:
        return self._trimmed(value, names, "TRIM")

    def core_day(self, value: Core, names: Names) -> exp.Expr:
        """STRFTIME has SQLite's codes, but for %s and %f."""
        if is_in_the_text(value) or re.search(r"%[^YmdHMSjw%]", value.word):
            return super().core_day(value, names)
        return self.call("STRFTIME", [self._moment(value, names), exp.Literal.string(value.word)])

    def _piece(self, part: str, moment: exp.Expr) -> exp.Expr:
        if re.fullmatch("%[A-Za-z]", part):
            return super()._piece(part, moment)
        codes = {
            "YYYY": "%Y",
            "HH24": "%H",
            "DDD": "%j",
            "SS.MS": "%S.%g",
            "MM": "%m",
            "DD": "%d",
            "MI": "%M",
            "SS": "%S",
        }
        form = re.sub(
            "YYYY|HH24|DDD|SS\\.MS|MM|DD|MI|SS", lambda found: codes[found[0]], part.replace("%", "%%")
        ).replace('"', "")
        return self.call("STRFTIME", [moment.copy(), exp.Literal.string(form)])

    def _first(self, tree: exp.Expr, where: Expression | None, names: Names) -> exp.Expr:
        return self._filtered(self.call("FIRST", [tree]), where, names)


DIALECT = DuckDB
