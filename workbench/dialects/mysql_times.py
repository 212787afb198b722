"""Times of text in MySQL: what `dialects/mysql.py` inherits to read, move and write them."""

import re

from sqlglot import exp

from workbench.core_functions import Core
from workbench.dialects.base import Names
from workbench.dialects.typed import TIME, TIME_OF_DAY, TypedDialect
from workbench.errors import UnsupportedError
from workbench.plan_expressions import Column, Literal

_FORMATS = {"M": "i"} | {letter: letter for letter in "YmdHSjw"}
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


class MySQLTimes(TypedDialect):
    def _moment(self, value: Core, names: Names) -> exp.Expr:
        """The time that a text and modifiers mean, NULL where the text is no time: the server would read many more."""
        this, *modifiers = value.args
        if isinstance(this, Literal):  # "now": other constants are computed before
            tree: exp.Expr = self.call("UTC_TIMESTAMP", [exp.Literal.number(3)])
        else:
            text, first = self.write(this, names), exp.Literal.string("2000-01-01 ")
            whole, of_day = (
                self.call("REGEXP_SUBSTR", [text.copy(), exp.Literal.string(p)]) for p in (TIME, TIME_OF_DAY)
            )
            tree = self.call("COALESCE", [whole, self.call("CONCAT", [first, of_day])])
        for modifier in modifiers:
            tree = self._modified(tree, modifier.value.strip().lower())
        return tree

    def _formatted(self, moment: exp.Expr, form: str) -> exp.Expr:
        return self.call("DATE_FORMAT", [moment, exp.Literal.string(form)])

    def _modified(self, tree: exp.Expr, modifier: str) -> exp.Expr:
        starts = {"start of day": "%Y-%m-%d", "start of month": "%Y-%m-01", "start of year": "%Y-01-01"}
        if modifier in starts:
            return self._formatted(tree, starts[modifier])
        found = re.fullmatch(r"([+-]?\d+(?:\.\d+)?) (day|hour|minute|second|month|year)s?", modifier)
        if not found or (found[2] in ("month", "year") and "." in found[1]):
            raise UnsupportedError(f"the time modifier {modifier!r}", where=self.name)
        size, unit = found[1].lstrip("+"), found[2]
        if "." in size:
            size, unit = repr(float(size) * _SECONDS[unit]), "second"
        moved = self._later(tree, exp.Literal.number(size), unit)
        if unit not in ("month", "year"):
            return moved
        # SQLite keeps the day's number, which may run over: Jan 31 + 1 month is Mar 2 or 3
        lost = exp.Sub(this=self.call("DAYOFMONTH", [tree.copy()]), expression=self.call("DAYOFMONTH", [moved.copy()]))
        return self._later(moved, exp.Paren(this=lost), "day")

    def _later(self, tree: exp.Expr, size: exp.Expr, unit: str) -> exp.Expr:
        """DATE_ADD also of a text, from which it makes one again."""
        return exp.Add(this=tree, expression=exp.Interval(this=size, unit=exp.Var(this=unit.upper())))

    def core_day(self, value: Core, names: Names) -> exp.Expr:
        this = value.args[0]
        if isinstance(this, Column) and this.times == "days":  # of which DATE_FORMAT makes NULL
            return self.day_of_text(self.write(this, names), value.word)
        moment, parts = self._moment(value, names), []
        for run, code in re.findall(r"((?:%[YmdHMSjw%]|[^%])+)|(%.?)", value.word):
            if code == "%s":
                parts.append(self._since_1970("SECOND", moment))
            elif code == "%f":
                seconds = self._formatted(moment.copy(), "%S.%f")
                parts.append(self.call("LEFT", [seconds, exp.Literal.number(6)]))
            elif code:
                raise UnsupportedError(f"the time format {code}", where=self.name)
            else:
                form = re.sub("%([^%])", lambda found: f"%{_FORMATS[found[1]]}", run)
                parts.append(self._formatted(moment.copy(), form))
        if len(parts) == 1:
            return self.cast(parts[0], "text") if value.word == "%s" else parts[0]
        if not parts:
            is_time = exp.Not(this=exp.Is(this=moment, expression=exp.Null()))
            return exp.Case(ifs=[exp.If(this=is_time, true=exp.Literal.string(""))])
        return self.call("CONCAT", parts)

    def _since_1970(self, unit: str, moment: exp.Expr) -> exp.Expr:
        return self.call("TIMESTAMPDIFF", [exp.Var(this=unit), exp.Literal.string("1970-01-01"), moment.copy()])

    def core_julian(self, value: Core, names: Names) -> exp.Expr:
        """As SQLite does it: whole milliseconds since the first day over those of a day."""
        micro = self._since_1970("MICROSECOND", self._moment(value, names))
        milli = exp.IntDiv(this=micro, expression=exp.Literal.number(1000))
        whole = exp.Paren(this=exp.Add(this=milli, expression=exp.Literal.number(210866760000000)))
        return exp.Paren(this=exp.Div(this=whole, expression=exp.Literal.number("86400000e0"), typed=True, safe=True))
