"""Typed values turned into another type, as SQLite's CAST and arithmetic do it: leniently, and never an error.

In and out: lowered expressions of type integer, real, text, blob or null. Constants are turned here and now.
"""

import re

from workbench.core_functions import Core
from workbench.errors import UnsupportedError
from workbench.plan_expressions import Expression, Literal

NUMBERS = ("integer", "real")
_INTEGER = re.compile(r"\s*[+-]?\d+")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def number(value: Expression) -> Expression:
    """A typed value as a number, leniently."""
    if value.type == "text":
        if isinstance(value, Literal):
            return numeric_literal(value.value) or Literal(float(_leading(_NUMBER, value.value) or 0))
        return Core("real_of_text", (value,), "real")
    if value.type in (*NUMBERS, "null"):
        return value
    raise UnsupportedError(f"a {value.type} as a number outside SQLite")


def real(value: Expression) -> Expression:
    value = number(value)
    if isinstance(value, Literal) and isinstance(value.value, int):
        return Literal(float(value.value))
    return Core("real_of_integer", (value,), "real") if value.type == "integer" else value


def integer(value: Expression) -> Expression:
    """Truncated; a constant beyond 64 bits is the nearest one within."""
    if isinstance(value, Literal) and value.type in ("text", "real"):
        whole = int(_leading(_INTEGER, value.value) or 0) if value.type == "text" else int(value.value)
        return Literal(max(-(2**63), min(whole, 2**63 - 1)))
    if value.type == "text":
        return Core("integer_of_text", (value,), "integer")
    if value.type == "real":
        return Core("integer_of_real", (value,), "integer")
    return number(value)


def text(value: Expression) -> Expression:
    if value.type in ("text", "null"):
        return value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return Literal(str(value.value))
    if value.type in NUMBERS:
        return Core(f"text_of_{value.type}", (value,), "text")
    raise UnsupportedError(f"a {value.type} as text outside SQLite")


def _leading(pattern: re.Pattern, constant: str) -> str:
    found = pattern.match(constant)
    return found[0] if found else ""


def numeric_literal(constant: str) -> Literal | None:
    """The number that a whole text is, or None."""
    if not _NUMBER.fullmatch(constant):
        return None
    value = float(constant)
    return Literal(int(constant)) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", constant) else Literal(value)
