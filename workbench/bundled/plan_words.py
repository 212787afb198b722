"""Which words of the plan language the golds use, so that none stays without questions and the README can say so.

In: plans. Out: sets of (kind, word). Words are those of docs/plan.md, in the kinds below; a function over a window counts
as a window function, whatever it is elsewhere.
"""

from collections.abc import Iterator

from workbench.plan import Join, Plan, Ref, Relation, SetOperation, Sort, With, walk_relations
from workbench.plan_expressions import (
    Aggregation,
    Call,
    Case,
    Cast,
    Collate,
    Exists,
    Expression,
    InQuery,
    Over,
    Subquery,
    walk,
)

KINDS = ("operator", "expression", "scalar function", "aggregate function", "window function", "frame")


def plan_words(plan: Plan) -> set[tuple[str, str]]:
    """(kind, word) of all that the plan holds, queries in expressions included."""
    found = set()
    for relation in walk_relations(plan.root):
        found |= {("operator", word) for word in _operators(relation)}
        for expression in relation.expressions:
            for part in walk(expression):
                found |= set(_expression_words(part))
    return found


def _operators(relation: Relation) -> Iterator[str]:
    match relation:
        case Ref():
            yield "scan"
        case Join(kind=kind):
            yield "join" if kind == "inner" else f"{kind}_join"
        case SetOperation(kind=kind, is_all=is_all):
            yield f"{kind}_all" if is_all else kind
        case Sort(keys=keys, limit=limit, offset=offset):
            parts = {"sort": keys, "limit": limit, "offset": offset}
            yield from (word for word, part in parts.items() if part)
        case With(definitions=definitions):
            yield "with"
            if any(one.is_recursive for one in definitions):
                yield "recursive with"
        case _:
            yield type(relation).__name__.lower()


def _expression_words(part: Expression) -> Iterator[tuple[str, str]]:
    match part:
        case Call(name=name):
            yield "scalar function", name
        case Aggregation(name=name, is_distinct=is_distinct, where=where):
            yield "aggregate function", name
            if is_distinct:
                yield "aggregate function", "distinct"
            if where is not None:
                yield "aggregate function", "where"
        case Over(name=name, frame=frame):
            yield "window function", name
            if frame is not None:
                yield "frame", frame.unit
            if frame is not None and frame.exclude != "no others":
                yield "frame", "exclude"
        case Case(operand=operand):
            yield "expression", "case" if operand is None else "case of"
        case Cast(to=to):
            yield "expression", f"cast {to}"
        case Collate(collation=collation):
            yield "expression", f"collate {collation}"
        case InQuery():
            yield "expression", "in query"
        case Exists():
            yield "expression", "exists"
        case Subquery():
            yield "expression", "subquery"
