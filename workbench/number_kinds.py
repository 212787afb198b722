"""What SQLite would say of a number where a typed engine holds one column of integers or of reals.

In: a lowered expression. Out: the kind of its numbers, one of KINDS; None for what is no number. SQLite types each value,
so that 5 in a column of reals may be the integer 5, which divides and is written otherwise than 5.0. `lower_values.is_integer`
asks row by row where the kind leaves it open.
"""

from workbench.magnitudes import of_call
from workbench.plan_expressions import Expression, Literal

KINDS = {
    "narrow": "an integer made of small constants and conditions, which some engines hold in 32 bits",
    "integer": "an integer",
    "nought": "the integer 0",
    "whole": "an integer where the value is whole, else a real: what a numeric affinity stores",
    "zero": "a real or the integer 0, which as an operand of * and / mean the same",
    "real": "a real",
    "open": "an integer or a real, which the value does not tell",
}
NARROW_END = 2.0**31
_INTEGERS = {"narrow", "integer", "nought"}
_REALS = ("round", "julian", "total", "avg", "percent_rank", "cume_dist", "real")
_OF_FIRST = (
    "min",
    "max",
    "any_value",
    "arg_min",
    "arg_max",
    "first_value",
    "last_value",
    "nth_value",
    "negative",
    "abs",
)
_OF_ALL = ("&", "|", "~", "modulo", "divide_integers", "at_least_zero")


def of(value: Expression) -> str | None:
    if isinstance(value, Literal):
        if value.type == "integer":
            return "narrow" if -NARROW_END <= value.value < NARROW_END else "integer"
        return "real" if value.type == "real" else None
    if value.type not in ("integer", "real"):
        return None
    return value.numbers or ("integer" if value.type == "integer" else "open")


def of_core(name: str, args: tuple[Expression, ...], kind: str, word: str = "") -> str | None:
    """The kind of a core function's, an aggregate's or a window function's value; kind: its type."""
    if kind not in ("integer", "real"):
        return None
    if name in ("choose", "coalesce", "extreme"):
        return together([of(arg) for arg in (results(args) if name == "choose" else args)])
    if name in ("lag", "lead"):
        return together([of(arg) for arg in args[::2]])
    kinds = {of(arg) for arg in args} - {None}
    if name in _OF_FIRST:
        return of(args[0])
    if kind == "integer":
        is_small = name in _OF_ALL or (name in ("+", "-", "*") and fits_narrow(name, args))
        return "narrow" if name == "value" or (is_small and kinds == {"narrow"}) else "integer"
    if name in _REALS:
        return "real"
    if name == "real_of_integer":  # word "kept": it only shares a column with reals
        is_nought = isinstance(args[0], Literal) and args[0].value == 0
        return ("nought" if is_nought else "integer") if word == "kept" else "real"
    if name == "whole_part":
        return "integer"
    if name in ("real_of_text", "modulo"):
        return word or "real"
    if name == "sum":
        return {"whole": "open", "nought": "zero"}.get(of(args[0]), of(args[0]))
    if name not in ("+", "-", "*", "divide_reals"):
        return "open"
    if "real" in kinds:
        return "real"
    if kinds <= {"zero", "nought"} or ("zero" in kinds and name in ("*", "divide_reals")):
        return "zero"
    if name == "divide_reals":  # integers are divided otherwise
        return "real"
    return "integer" if kinds <= _INTEGERS else "open"


def together(kinds: list[str | None]) -> str | None:
    """The kind of values that stand in one column."""
    known = set(kinds) - {None}
    if len(known) < 2:
        return known.pop() if known else None
    if known <= {"narrow", "integer"}:
        return "integer"
    if known <= {"real", "zero", "nought"}:
        return "zero"
    return "whole" if known <= _INTEGERS | {"whole"} else "open"


def fits_narrow(name: str, args: tuple[Expression, ...]) -> bool:
    """Whether a sum, difference or product of integers surely has 32 bits."""
    bound = of_call(name, args)
    return bound is not None and bound < NARROW_END


def results(args: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The values that a `choose` is between."""
    return (*args[1::2], *args[len(args) - len(args) % 2 :])
