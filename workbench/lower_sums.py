"""Sums of what is integer or real row by row: a count of the reals beside them says whether SQLite's sum is an integer.

In: the items of a lowered Aggregate or Window. Out: the same, each open sum with its count as a further item, which only the
operators directly above see. `lower.py` keeps the counts that something asks for.
"""

from collections.abc import Collection
from dataclasses import replace

from workbench.core_functions import Core, TypedAggregation, TypedOver
from workbench.lower_values import as_choice, condition, is_integer, with_results
from workbench.number_kinds import of, results
from workbench.plan import Item, Project, Relation, walk_relations
from workbench.plan_expressions import Column, Expression, Literal, walk


def with_counts(items: tuple[Item, ...], wanted: Collection[str] | None) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The items, and the counts. wanted: names of the counts to make; None makes all."""
    sums, counts = [], []
    for item in items:
        call, name = item.value, f"{item.name}:reals"
        is_open = call.name == "sum" and of(call) == "open" and (wanted is None or name in wanted)
        where = _is_real(call.args[0]) if is_open else None
        if not isinstance(where, Expression):
            sums.append(item)
            continue
        where = where if call.where is None else Core("and", (call.where, where), "condition")
        if isinstance(call, TypedOver):
            count = replace(call, name="count", args=(), where=where, kind="integer")
        else:
            count = TypedAggregation("count", (), False, where, "integer")
        sums.append(replace(item, value=replace(call, reals=name)))
        counts.append(Item(count, name))
    return tuple(sums), tuple(counts)


def counts_asked_for(root: Relation, made: Collection[str]) -> set[str]:
    """The names, of those made, that an expression of the lowered plan reads."""
    values = (value for relation in walk_relations(root) for value in relation.expressions)
    return {part.name for value in values for part in walk(value) if isinstance(part, Column) and part.name in made}


def without_counts(node: Relation) -> Relation:
    """A relation without the columns that only count reals."""
    hidden = {one.reals for one in node.fields if one.reals}
    if not hidden:
        return node
    return Project(node, tuple(Item.keep(one.column()) for one in node.fields if one.name not in hidden))


def _is_real(value: Expression) -> Expression | bool | None:
    """Whether a value that is added makes SQLite's sum a real; None where nothing tells."""
    if isinstance(value, Core) and (value.name, value.word) == ("real_of_text", "open"):
        return Core("not", (Core("is_number", value.args, "condition", "integer"),), "condition")
    if of(value) == "real":
        return isinstance(value, Literal) or Core("is not null", (value,), "condition")
    choice = as_choice(value)
    if isinstance(choice, Core) and choice.name == "choose":
        tests = [_is_real(one) for one in results(choice.args)]
        if len(choice.args) < 4 and tests in ([True], [True, False]):
            return choice.args[0]
        return None if None in tests else with_results(choice, lambda arg: condition(_is_real(arg)), "condition")
    test = is_integer(value)
    if not isinstance(test, Core):
        return None if test is None else not test
    if of(value) == "whole":
        return replace(test, word="<>")
    known = Core("is not null", (value,), "condition")
    return Core("and", (known, Core("not", (test,), "condition")), "condition")
