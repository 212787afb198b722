"""date, time, datetime, format_date and julianday of typed values: a constant where all are, else what engines compute.

In: the plan's call and its arguments as `lower_expressions` makes them. Out: a Literal or a `Core` day or julian. What no
engine can be told raises UnsupportedError; docs/plan.md, "Times", says what is a time.
"""

import re

from workbench.core_functions import Core
from workbench.errors import UnsupportedError
from workbench.lower_values import constant_time
from workbench.plan_expressions import Call, Column, Expression, Literal


def time_of(e: Call, args: list[Expression]) -> Expression:
    """A call of one of the five with its arguments as typed values; modifiers must be constants."""
    args = list(args)
    form = {"date": "%Y-%m-%d", "time": "%H:%M:%S", "datetime": "%Y-%m-%d %H:%M:%S"}.get(e.name, "")
    if e.name == "format_date":
        first = args.pop(0)
        if not isinstance(first, Literal) or not isinstance(first.value, str):
            raise UnsupportedError("format_date with a computed format outside SQLite")
        form = first.value
    this, *modifiers = args or [Literal("now")]
    if all(isinstance(one, Literal) for one in (this, *modifiers)):
        name, first = ("strftime", [Literal(form)]) if e.name == "format_date" else (e.name, [])
        constant = constant_time(name, [*first, this, *modifiers])
        if constant is not None:
            return constant
    if not all(isinstance(one, Literal) and isinstance(one.value, str) for one in modifiers):
        raise UnsupportedError(f"{e.name} with a computed modifier outside SQLite")
    if this.type == "null":
        return Literal(None)
    if this.type != "text":
        raise UnsupportedError(f"{e.name} of a number outside SQLite")
    name = "julian" if e.name == "julianday" else "day"
    times = this.times if isinstance(this, Column) else None
    if times == "forms":
        raise UnsupportedError(f"{e.name} of a column that holds times in other forms (docs/plan.md) outside SQLite")
    if times == "days" and (name == "julian" or modifiers or re.search("%[^Ymd%]", form)):
        raise UnsupportedError(f"{e.name} of a column that holds days past their month's end outside SQLite")
    kind = "real" if e.name == "julianday" else "text"
    return Core(name, (this, *modifiers), kind, form)
