"""Typed values turned into another type, as SQLite's CAST and arithmetic do it: leniently, and never an error.

In and out: lowered expressions of type integer, real, text, blob or null. Constants are turned here and now.
"""

import operator
import re
import sqlite3
from contextlib import closing

from workbench.core_functions import Core
from workbench.errors import UnsupportedError
from workbench.plan_expressions import Expression, Literal

NUMBERS = ("integer", "real")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def number(value: Expression) -> Expression:
    """A typed value as a number, leniently."""
    if value.type == "text":
        if isinstance(value, Literal):
            return Literal(_computed("? + 0", (value.value,)))
        return Core("real_of_text", (value,), "real")
    if value.type in (*NUMBERS, "null"):
        return value
    raise UnsupportedError(f"a {value.type} as a number outside SQLite")


def numeric(value: Expression) -> Expression:
    """CAST to NUMERIC."""
    if isinstance(value, Literal) and value.value is not None:
        return Literal(_computed("CAST(? AS NUMERIC)", (value.value,)))
    return number(value)


def real(value: Expression) -> Expression:
    value = number(value)
    if isinstance(value, Literal) and isinstance(value.value, int):
        return Literal(float(value.value))
    return Core("real_of_integer", (value,), "real") if value.type == "integer" else value


def integer(value: Expression) -> Expression:
    if isinstance(value, Literal) and value.type in ("text", "real"):
        return Literal(_computed("CAST(? AS INTEGER)", (value.value,)))
    if value.type == "text":
        return Core("integer_of_text", (value,), "integer")
    if value.type == "real":
        return Core("integer_of_real", (value,), "integer")
    return number(value)


def text(value: Expression) -> Expression:
    if value.type in ("text", "null"):
        return value
    if isinstance(value, Literal) and value.type in NUMBERS:
        return Literal(_computed("CAST(? AS TEXT)", (value.value,)))
    if value.type == "integer":
        return Core("text_of_integer", (value,), "text")
    if value.type == "real":
        digits = Core("text_of_real", (value,), "text")
        if not may_be_whole(value):
            return digits
        whole = Core("text_of_integer", (integer(value),), "text")
        return Core("choose", (is_whole(value), whole, digits), "text")
    raise UnsupportedError(f"a {value.type} as text outside SQLite")


def may_be_whole(value: Expression) -> bool:
    """Whether whole numbers among these reals are SQLite's integers: a numeric affinity stores them so."""
    return value.type == "real" and value.affinity in ("numeric", "integer") and not isinstance(value, Literal)


def is_whole(value: Expression) -> Expression:
    return Core("compare", (value, real(integer(value))), "condition", "=")


def substring(this: Expression, start: Expression, length: Expression | None = None) -> Expression:
    """A start below 0 counts from the end, a length below 0 takes what is before."""
    if any(isinstance(one, Literal) and one.value is None for one in (this, start, length)):
        return Literal(None)
    place = _from_start(this, start)
    if isinstance(length, Literal) and (length.value or 0) < 0:
        is_known = isinstance(place, Literal) and place.value is not None
        place = Literal(place.value + length.value) if is_known else Core("+", (place, length), "integer")
        length = Literal(-length.value)
    if isinstance(place, Literal) and place.value is not None and place.value < 1:  # before the first character
        missing = 1 - place.value
        if isinstance(length, Literal):
            length = Literal(max(length.value - missing, 0)) if length.value is not None else length
        elif length is not None:
            length = Core("-", (length, Literal(missing)), "integer")
        place = Literal(1)
    if length is None:
        return Core("cut", (this, place), "text")
    if _may_be_negative(length) and place == Literal(1):  # there is nothing before
        length = Core("at_least_zero", (length,), "integer")
    elif _may_be_negative(length):
        is_negative = Core("compare", (length, Literal(0)), "condition", "<")
        place = Core("choose", (is_negative, Core("+", (place, length), "integer"), place), "integer")
        length = Core("abs", (length,), "integer")
    return Core("cut", (this, place, length), "text")


def _from_start(this: Expression, start: Expression) -> Expression:
    """The place counted from the first character, or before it."""
    size = Core("char_length", (this,), "integer")
    from_end = Core("+", (Core("+", (size, start), "integer"), Literal(1)), "integer")
    if isinstance(start, Literal) and start.value is not None:
        return start if start.value >= 0 else from_end
    if not _may_be_negative(start):
        return start
    is_negative = Core("compare", (start, Literal(0)), "condition", "<")
    return Core("choose", (is_negative, from_end, start), "integer")


def _may_be_negative(value: Expression) -> bool:
    bound = lower_bound(value)
    return bound is None or bound < 0


def constant_time(name: str, args: list[Literal]) -> Literal | None:
    """A time function's value for constants; None where it depends on the clock or the time zone."""
    words = {str(arg.value).strip().lower() for arg in args}
    if words & {"now", "localtime", "utc"}:
        return None
    return Literal(_computed(f"{name}({', '.join('?' * len(args))})", tuple(arg.value for arg in args)))


def constant_integer(value: Expression) -> int | None:
    """The integer, of any size, that an expression of constants is; None for all others."""
    if isinstance(value, Literal):
        return value.value if value.type == "integer" else None
    if not isinstance(value, Core) or value.name not in _INTEGER_OPERATORS:
        return None
    args = [constant_integer(arg) for arg in value.args]
    return None if None in args else _INTEGER_OPERATORS[value.name](*args)


def lower_bound(value: Expression) -> int | None:
    """A bound that an integer expression is never below, None if none is known."""
    if isinstance(value, Literal):
        return value.value if value.type == "integer" else None
    if not isinstance(value, Core):
        return None
    if value.name in ("position", "char_length", "at_least_zero"):
        return 0
    if value.name not in ("+", "-"):
        return None
    first, second = value.args
    bounds = (lower_bound(first), lower_bound(second) if value.name == "+" else _negative(second))
    return None if None in bounds else sum(bounds)


def _negative(value: Expression) -> int | None:
    return -value.value if isinstance(value, Literal) and value.type == "integer" else None


_INTEGER_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "negative": operator.neg}


def _computed(sql: str, args: tuple) -> int | float | str | None:
    """What SQLite, whose meaning is wanted, makes of constants."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute(f"SELECT {sql}", args).fetchone()[0]


def folded(value: Expression, collation: str | None) -> Expression:
    """What a text is compared, grouped and sorted by."""
    if collation == "rtrim" and value.type == "text":
        raise UnsupportedError("the collation rtrim outside SQLite")
    return Core("fold", (value,), "text") if collation == "nocase" and value.type == "text" else value


def numeric_literal(constant: str) -> Literal | None:
    """The number that a whole text is, or None."""
    if not _NUMBER.fullmatch(constant):
        return None
    value = float(constant)
    return Literal(int(constant)) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", constant) else Literal(value)
