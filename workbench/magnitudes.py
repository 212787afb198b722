"""How large a number can become: what decides, without a look at the rows, whether 64 bits hold it.

In: a lowered expression, whose columns carry the largest absolute value stored in them (`schema.with_stored_kinds`). Out:
a bound of its absolute value, None where nothing is known. Of a text: of the number that it begins with. Tables are taken
to have fewer than 2**32 rows.
"""

import math

from workbench.plan_expressions import Expression, Literal

INTEGER_END = 2.0**63  # integers of 64 bits are below
EXACT_END = 2.0**53  # up to here every integer is a double
ROWS, _COUNT, _JULIAN_END = 2**32, 2**40, 2**23
_SAME = (
    "negative",
    "abs",
    "at_least_zero",
    "real_of_integer",
    "real_of_text",
    "real",
    "whole_part",
    "divide_integers",
    "wide",
    "signed",
    "nullable",
)
_COUNTS = ("count", "row_number", "rank", "dense_rank", "ntile", "char_length", "position")
_EXTREMES = (
    "min", "max", "avg", "any_value", "arg_min", "arg_max", "lag", "lead", "first_value", "last_value", "nth_value",
)  # fmt: skip


def of_call(name: str, args: tuple[Expression, ...], word: str = "") -> float | None:
    """The bound of a core function's, an aggregate's or a window function's value."""
    if name in _COUNTS:
        return _COUNT
    if name == "value":
        return 1
    if name == "day":
        return 10.0 ** (2 * len(word)) if "%s" not in word else 10.0**12
    if name == "julian":
        return _JULIAN_END
    if name in ("choose", "coalesce", "extreme"):
        return most(args if name != "choose" else (*args[1::2], *args[len(args) - len(args) % 2 :]))
    bounds = [of(arg) for arg in args]
    if name == "modulo":
        return min((one for one in bounds if one is not None), default=None)
    if name == "cut":
        return 10.0 ** args[2].value if _is_count(args) else None
    if not bounds or bounds[0] is None or (name == "real_of_text" and getattr(args[0], "name", "") == "cut"):
        return None
    if name in _SAME or name in _EXTREMES:
        return most(args[::2]) if name in ("lag", "lead") else bounds[0]
    if name in ("integer_of_text", "integer_of_real"):
        return min(bounds[0] + 1, INTEGER_END)
    if name == "round":
        return bounds[0] + 1
    if name in ("sum", "total"):
        return bounds[0] * ROWS
    if name == "~":
        return bounds[0] + 1
    if name == ">>":
        return bounds[0]
    if name == "divide_reals":
        return bounds[0] if _is_whole(args[1]) else None
    if name in ("+", "-", "*") and bounds[1] is not None:
        bound = bounds[0] * bounds[1] if name == "*" else bounds[0] + bounds[1]
        return bound if bound < EXACT_END else math.nextafter(bound, math.inf)
    return None


def of(value: Expression) -> float | None:
    if not isinstance(value, Literal):
        return value.largest
    constant = value.value
    return float(abs(constant)) if isinstance(constant, int | float) else 0.0 if constant is None else None


def fits(value: Expression, end: float = INTEGER_END) -> bool | None:
    """Whether all values are surely smaller; None where nothing is known."""
    bound = of(value)
    return None if bound is None else bound < end


def most(args: tuple[Expression, ...]) -> float | None:
    bounds = [of(arg) for arg in args]
    return None if None in bounds or not bounds else max(bounds)


def _is_count(args: tuple[Expression, ...]) -> bool:
    return len(args) == 3 and isinstance(args[2], Literal) and isinstance(args[2].value, int) and args[2].value < 300


def _is_whole(by: Expression) -> bool:
    """Whether a divisor is no fraction: NULL, or at least 1."""
    if isinstance(by, Literal):
        return isinstance(by.value, int | float) and abs(by.value) >= 1 and not math.isinf(by.value)
    return by.type == "integer" or getattr(by, "name", "") == "real_of_integer"
