"""Comparisons of two typed values: what engines whose types are strict must be told so that they compare as SQLite does.

In: values as `lower_expressions` makes them, and the affinities that SQLite gives their sides. Out: a condition. The rules
are those of docs/plan.md, "Types and comparison".
"""

import re

from workbench.core_functions import Core
from workbench.errors import UnsupportedError
from workbench.lower_values import NUMBERS, numeric_literal, text
from workbench.magnitudes import EXACT_END, INTEGER_END
from workbench.plan_expressions import Expression, Literal

NUMERIC_AFFINITIES = ("integer", "real", "numeric")


def compared(word: str, a: Expression, b: Expression, left: str | None, right: str | None) -> Expression:
    """a <word> b; left and right are the affinities of the sides, null where they have none."""
    if "null" in (a.type, b.type):
        if word in ("is", "is not"):
            return Core("same", (a, b), "condition", word)
        return Core("none", (), "condition")
    is_number = (a.type in NUMBERS, b.type in NUMBERS)
    if a.type == b.type == "text" and (left in NUMERIC_AFFINITIES) != (right in NUMERIC_AFFINITIES):
        if left in NUMERIC_AFFINITIES:
            return _text_of_numeric(word, a, b, left)
        return _text_of_numeric(_MIRRORED[word], b, a, right)
    if is_number == (True, True):
        return _of_large_numbers(word, a, b)
    if a.type == b.type:
        return _core_comparison(word, a, b)
    if "blob" in (a.type, b.type):
        raise UnsupportedError("a comparison of blobs with other values outside SQLite")
    if is_number[0]:
        return _number_with_text(word, a, b, left, right)
    return _number_with_text(_MIRRORED[word], b, a, right, left)


def _text_of_numeric(word: str, this: Expression, other: Expression, affinity: str) -> Expression:
    """this <word> other: a text in a column of numeric affinity (a DATE, say), which turns the other into a number.

    Such a column holds numbers in their one form, so that for equality their texts do.
    """
    is_equality = word in ("=", "<>", "is", "is not")
    if isinstance(other, Literal):
        found = numeric_literal(other.value)
        if found is None or is_equality:
            return _core_comparison(word, this, other if found is None else text(found))
        return _number_with_text(_MIRRORED[word], found, this, None, affinity)
    is_time = isinstance(other, Core) and other.name == "day" and re.search("[^%YmdHMSjswf]", other.word)
    if is_equality or is_time:
        return _core_comparison(word, this, other)
    as_number = Core("real_of_text", (other,), "real")
    numbers = _number_with_text(_MIRRORED[word], as_number, this, None, affinity)
    test = Core("is_number", (other,), "condition")
    return Core("choose", (test, numbers, _core_comparison(word, this, other)), "condition")


def _number_with_text(word, number_: Expression, text_: Expression, left, right) -> Expression:
    """number <word> text: as numbers where the text is one and an affinity asks for it, else by type."""
    if left is None and right == "text":
        return _core_comparison(word, text(number_), text_)
    if left not in NUMERIC_AFFINITIES and right not in NUMERIC_AFFINITIES:
        return _by_type(word, number_, text_)
    if isinstance(text_, Literal):
        found = numeric_literal(text_.value)
        return _by_type(word, number_, text_) if found is None else _core_comparison(word, number_, found)
    as_number = _core_comparison(word, number_, Core("real_of_text", (text_,), "real"))
    test = Core("is_number", (text_,), "condition")
    return Core("choose", (test, as_number, _by_type(word, number_, text_)), "condition")


def paired(value: Expression, column: Expression, left: str | None, right: str | None) -> tuple[Expression, Expression]:
    """A value and the column of a query that it is looked for in, brought to one type as `=` would."""
    is_number = (value.type in NUMBERS, column.type in NUMBERS)
    if column.type == "null" and value.type != "null":
        return value, Core("null", (), value.type)
    if value.type == "null" or is_number == (True, True) or value.type == column.type:
        return value, column
    if "blob" not in (value.type, column.type):
        if is_number[0] and left in NUMERIC_AFFINITIES:
            return value, Core("number_of_text", (column,), "real")
        if is_number[0] and right == "text":
            return text(value), column
        if is_number[1] and right in NUMERIC_AFFINITIES:
            return Core("number_of_text", (value,), "real"), column
        if is_number[1] and left == "text":
            return value, text(column)
    raise UnsupportedError(f"IN of {value.type} among {column.type} outside SQLite")


def _core_comparison(word: str, a: Expression, b: Expression) -> Expression:
    return Core("same" if word in ("is", "is not") else "compare", (a, b), "condition", word)


def _of_large_numbers(word: str, a: Expression, b: Expression) -> Expression:
    """An integer beside a real constant from 2**53 on, where doubles are whole and engines would make a double of both."""
    for one, other in ((a, b), (b, a)):
        constant = other.value if isinstance(other, Literal) and other.type == "real" else 0.0
        if one.type != "integer" or abs(constant) < EXACT_END:
            continue
        if abs(constant) < INTEGER_END:
            whole = Literal(int(constant))
            return _core_comparison(word, *((one, whole) if one is a else (whole, one)))
        is_reversed = (one is a) != (constant > 0)
        ends = (Literal(0), one) if isinstance(one, Literal) else (one, other)
        return _by_type(_MIRRORED[word] if is_reversed else word, *ends)
    return _core_comparison(word, a, b)


def _by_type(word: str, number_: Expression, text_: Expression) -> Expression:
    """number <word> text without conversion: a number is smaller than any text."""
    if word in ("is", "is not"):
        both = Core("and", tuple(Core("is null", (x,), "condition") for x in (number_, text_)), "condition")
        return both if word == "is" else Core("not", (both,), "condition")
    holds = Core("compare", (Literal(0), Literal(1)), "condition", word)
    known = [Core("is not null", (x,), "condition") for x in (number_, text_) if not isinstance(x, Literal)]
    if not known:
        return holds
    return Core("choose", (Core("and", tuple(known), "condition") if len(known) > 1 else known[0], holds), "condition")


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "is": "is", "is not": "is not"}
