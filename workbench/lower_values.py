"""Typed values turned into another type, as SQLite's CAST and arithmetic do it: leniently, and never an error.

In and out: lowered expressions of type integer, real, text, blob or null. Constants are turned here and now.
"""

import math
import operator
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from workbench import number_kinds
from workbench.core_functions import Core
from workbench.errors import UnsupportedError
from workbench.magnitudes import fits
from workbench.number_kinds import results
from workbench.plan_expressions import Column, Expression, Literal

NUMBERS = ("integer", "real")
MOST_COMPARED = 4
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def number(value: Expression) -> Expression:
    """A typed value as a number, leniently."""
    if value.type == "text":
        if isinstance(value, Literal):
            return Literal(_computed("? + 0", (value.value,)))
        return Core("real_of_text", (value,), "real", "open")  # as its digits are
    if value.type in (*NUMBERS, "null"):
        return value
    raise UnsupportedError(f"a {value.type} as a number outside SQLite")


def numeric(value: Expression) -> Expression:
    """CAST to NUMERIC; what is a number stays as it is, also a real that is whole."""
    if isinstance(value, Literal) and value.value is not None:
        return Literal(_computed("CAST(? AS NUMERIC)", (value.value,)))
    return Core("real_of_text", (value,), "real", "whole") if value.type == "text" else number(value)


def real(value: Expression) -> Expression:
    """CAST to REAL."""
    if value.type == "text" and not isinstance(value, Literal):
        return Core("real_of_text", (value,), "real")
    value = number(value)
    if isinstance(value, Literal) and isinstance(value.value, int):
        return Literal(float(value.value))
    if value.type == "integer":
        return Core("real_of_integer", (value,), "real")
    if value.type == "null" or number_kinds.of(value) == "real":
        return value
    return replace(value, numbers="real") if isinstance(value, Column) else Core("real", (value,), "real")


def beside_reals(value: Expression) -> Expression:
    """An integer as it stands in a column of reals, where SQLite still has an integer."""
    return Core("real_of_integer", (value,), "real", "kept") if value.type == "integer" else value


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
        return _text_of_number(value)
    raise UnsupportedError(f"a {value.type} as text outside SQLite")


def _text_of_number(value: Expression) -> Expression:
    """Of a real, or of what is an integer to SQLite row by row."""
    if _is_kept(value):
        return text(value.args[0])
    if isinstance(value, Core) and value.name == "coalesce":
        return Core("coalesce", tuple(map(text, value.args)), "text")
    value = as_choice(value)
    if isinstance(value, Core) and value.name == "choose":
        return with_results(value, text, "text")
    digits, test = Core("text_of_real", (value,), "text"), is_integer(value)
    if test is None:
        raise UnsupportedError("the text of numbers that are integers or reals row by row outside SQLite")
    if isinstance(test, bool):
        return Core("text_of_integer", (integer(value),), "text") if test else digits
    return Core("choose", (test, Core("text_of_integer", (integer(value),), "text"), digits), "text")


def divided(args: tuple[Expression, ...]) -> Expression:
    """a / b: integers truncate, also those that stand among reals."""
    if all(arg.type == "integer" for arg in args):
        return Core("divide_integers", args, "integer")
    as_reals, test = Core("divide_reals", args, "real"), False
    if not {"real", "zero"} & {number_kinds.of(arg) for arg in args}:
        one, other = (as_choice(arg) for arg in args)
        if isinstance(one, Core) and (one.name, one.numbers) == ("choose", "open"):
            return with_results(one, lambda arg: beside_reals(divided((_own(arg), other))), "real")
        if isinstance(other, Core) and (other.name, other.numbers) == ("choose", "open"):
            return with_results(other, lambda arg: beside_reals(divided((one, _own(arg)))), "real")
        test = _all(tuple(map(is_integer, args)))
    if test is None:
        raise UnsupportedError("the division of numbers that are integers or reals row by row outside SQLite")
    if test is False:
        return as_reals
    if all(fits(arg) is not False for arg in args):  # up to 2**53 the same, and shorter
        whole = Core("whole_part", (as_reals,), "real")
    else:
        whole = beside_reals(Core("divide_integers", tuple(integer(arg) for arg in args), "integer"))
    return whole if test is True else Core("choose", (test, whole, as_reals), "real")


def is_integer(value: Expression) -> Expression | bool | None:
    """Whether a number is an integer to SQLite: always, never, by a condition, or None where nothing tells."""
    kind = number_kinds.of(value)
    if kind is None or value.type == "integer" or kind in ("integer", "nought"):
        return True
    if kind == "real":
        return False
    if kind == "whole":  # a real from 2**63 on is no integer
        whole = real(integer(value)) if fits(value) is False else Core("whole_part", (value,), "real")
        return Core("compare", (value, whole), "condition", "=")
    if isinstance(value, Column) and value.reals:
        return Core("compare", (Column(None, value.reals, "integer", None), Literal(0)), "condition", "=")
    value = as_choice(value)
    if not isinstance(value, Core):
        return None
    if value.name in ("+", "-", "*", "negative", "abs"):
        return _all(tuple(map(is_integer, value.args)))
    if value.name == "modulo":  # of what was turned into integers
        given = (arg.args[0] if getattr(arg, "name", "") == "integer_of_real" else arg for arg in value.args)
        return _all(tuple(map(is_integer, given)))
    if value.name != "choose":
        return None
    tests = [is_integer(one) for one in results(value.args)]
    if None in tests:
        return None
    is_alike = all(test is tests[0] for test in tests)
    return tests[0] if is_alike else with_results(value, lambda arg: condition(is_integer(arg)), "condition")


def with_results(choice: Core, convert: Callable[[Expression], Expression], kind: str) -> Core:
    """A choice between other values."""
    given = results(choice.args)
    parts = (convert(arg) if any(arg is one for one in given) else arg for arg in choice.args)
    return Core("choose", tuple(parts), kind)


def condition(test: Expression | bool) -> Expression:
    return Core("compare", (Literal(int(test)), Literal(1)), "condition", "=") if isinstance(test, bool) else test


def _all(tests: tuple[Expression | bool | None, ...]) -> Expression | bool | None:
    if False in tests or None in tests:
        return False if False in tests else None
    parts = (test.args if getattr(test, "name", "") == "and" else (test,) for test in tests if test is not True)
    known = tuple(dict.fromkeys(one for part in parts for one in part))
    return True if not known else known[0] if len(known) == 1 else Core("and", known, "condition")


def as_choice(value: Expression, keys: tuple[Expression, ...] = ()) -> Expression:
    """coalesce of what is integer or real row by row as a CASE; greatest and least of such, or of what compares by other keys.

    Of equal ones SQLite's MAX takes the first, MIN the last. keys: what the arguments are compared by, if not by themselves.
    """
    if not isinstance(value, Core) or (not keys and value.numbers not in ("open", "zero")):
        return value
    if value.name == "coalesce":
        pairs = ((Core("is not null", (arg,), "condition"), arg) for arg in value.args[:-1])
        return Core("choose", (*(part for pair in pairs for part in pair), value.args[-1]), value.type)
    if value.name != "extreme":
        return value
    if len(value.args) > MOST_COMPARED:  # the CASE grows by powers of two
        raise UnsupportedError(f"the {value.word} of more than {MOST_COMPARED} such values outside SQLite")
    words = (">=", "<") if value.word == "greatest" else ("<", ">=")
    found, key = value.args[0], (keys or value.args)[0]
    for arg, other in zip(value.args[1:], (keys or value.args)[1:], strict=True):
        first, second = (Core("compare", (key, other), "condition", word) for word in words)
        key = Core("choose", (first, key, second, other), key.type)
        found = Core("choose", (first, found, second, arg), value.type)
    return found


def _own(value: Expression) -> Expression:
    """The integer itself that shares a column with reals."""
    return value.args[0] if _is_kept(value) else value


def _is_kept(value: Expression) -> bool:
    return isinstance(value, Core) and (value.name, value.word) == ("real_of_integer", "kept")


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


def constant_real(value: Expression) -> float | None:
    """The real that arithmetic on constants gives, infinite ones included; None for all others."""
    if isinstance(value, Literal):
        return float(value.value) if value.type in NUMBERS else None
    operate = _REAL_OPERATORS.get(value.name) if isinstance(value, Core) else None
    args = [constant_real(arg) for arg in value.args] if operate else [None]
    return None if None in args or (value.name == "divide_reals" and not args[1]) else operate(*args)


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
_REAL_OPERATORS = _INTEGER_OPERATORS | {
    "divide_reals": operator.truediv, "real_of_integer": float, "real": float, "abs": abs,
}  # fmt: skip


def _computed(sql: str, args: tuple) -> int | float | str | None:
    """What SQLite, whose meaning is wanted, makes of constants."""
    with closing(sqlite3.connect(":memory:")) as connection:
        value = connection.execute(f"SELECT {sql}", args).fetchone()[0]
    if isinstance(value, float) and math.isinf(value):
        raise UnsupportedError("an infinite number outside SQLite")
    return value


def folded(value: Expression, collation: str | None) -> Expression:
    """What a text is compared, grouped and sorted by."""
    if collation not in (None, "binary", "nocase") and value.type == "text":
        raise UnsupportedError(f"the collation {collation} outside SQLite")
    return Core("fold", (value,), "text") if collation == "nocase" and value.type == "text" else value


def numeric_literal(constant: str) -> Literal | None:
    """The number that a whole text is, or None."""
    if not _NUMBER.fullmatch(constant):
        return None
    value = float(constant)
    return Literal(int(constant)) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", constant) else Literal(value)
