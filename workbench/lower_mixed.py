"""Refuses what would need a column of numbers and texts: typed engines have none, and as text a number would be another value.

In: a plan's root, before it is lowered. Out: nothing, or UnsupportedError. COALESCE, CASE, VALUES or a union make such
values (type any). As the argument of ||, LIKE, a sum or a cast they mean the same as text, and are let through.
"""

import re
from collections.abc import Iterator

from workbench.errors import UnsupportedError
from workbench.plan import Aggregate, Distinct, Relation, SetOperation, Sort, walk_relations
from workbench.plan_expressions import Aggregation, Call, Case, Expression, InQuery, Literal, Over, walk

# what compares its arguments: 1 and '1' differ there
COMPARING = frozenset(["=", "<>", "<", "<=", ">", ">=", "is", "between", "in", "nullif", "greatest", "least"]) | {
    "is not"
}
EQUAL = frozenset(("=", "<>", "is", "is not", "in"))
KEEPING = frozenset(
    ["min", "max", "any_value", "arg_min", "arg_max", "lag", "lead", "first_value", "last_value", "nth_value"]
)


def refuse_mixed(root: Relation) -> None:
    """Raises UnsupportedError where numbers and texts of one column are shown, compared, sorted or grouped."""
    if any(one.type == "any" for one in root.fields):
        raise _refusal("in a column of the answer")
    for relation in walk_relations(root):
        compared = list(_compared(relation))
        for expression in relation.expressions:
            compared += [argument for part in walk(expression) for argument in _arguments(part)]
        if any(one.type == "any" for one in compared):
            raise _refusal("that are compared, sorted or grouped")


def _compared(relation: Relation) -> Iterator:
    match relation:
        case Sort():
            yield from (key.value for key in relation.keys)
        case Aggregate():
            yield from (key.value for key in relation.keys)
        case Distinct():
            yield from relation.fields
        case SetOperation() if not relation.is_all:
            yield from relation.fields


def _arguments(part: Expression) -> Iterator[Expression]:
    match part:
        case Call() if part.name in EQUAL and all(map(_is_word, part.args[1:])):
            pass  # no number's text equals it either
        case Call() if part.name in COMPARING:
            yield from part.args
        case Case() if part.operand is not None:
            yield part.operand
        case InQuery():
            yield from part.values
            yield from (one.column() for one in part.query.fields)
        case Aggregation() if part.is_distinct or part.name in KEEPING:
            yield from part.args
        case Over():
            yield from part.partition
            yield from (key.value for key in part.order)
            yield from part.args if part.name in KEEPING else ()


def _is_word(value: Expression) -> bool:
    """Whether it is a constant text that is no number's."""
    return (
        isinstance(value, Literal)
        and isinstance(value.value, str)
        and not re.search(r"\d|inf", value.value, re.IGNORECASE)
    )


def _refusal(where: str) -> UnsupportedError:
    return UnsupportedError(f"numbers and texts {where}, outside SQLite")
