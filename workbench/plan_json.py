"""A plan -> the compact JSON that a model writes: one object per operator, in execution order.

In: a `Plan`. Out: JSON on one line that `plan_from_json` reads back to an equal plan. An operator reads the one before
it; a join's right side is a table or a named sub-pipeline ({"with": name, "steps": [...]}, before its use).

Expressions: a string is a column ("T1.city"), or a text if it begins with a single quote ("'Berlin'", quotes inside
doubled); numbers keep integer and real apart; null; an array is a call ([">", "T1.n", 3]); an array of operators is a
subquery's value. Special heads: col (a name that reads like something else), outer (a column of a query around this one
that a nearer column hides), blob, cast, case, collate, in, exists. docs/plan.md has the grammar.
"""

import json
from collections.abc import Iterable

from workbench.plan import (
    Aggregate,
    As,
    Distinct,
    Field,
    Filter,
    Item,
    Join,
    Plan,
    Project,
    Ref,
    Relation,
    Scan,
    SetOperation,
    Sort,
    Values,
    Window,
    With,
)
from workbench.plan_expressions import (
    Aggregation,
    Bound,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Exists,
    Expression,
    Frame,
    InQuery,
    Literal,
    Over,
    SortKey,
    Subquery,
)

VERSION = 1
Fields = Iterable[Field]


def write_plan(plan: Plan, is_versioned: bool = False) -> str:
    """The plan's JSON; see Plan.to_json."""
    steps = to_steps(plan.root)
    return json.dumps(
        {"plan": VERSION, "steps": steps} if is_versioned else steps, ensure_ascii=False, separators=(",", ":")
    )


def to_steps(relation: Relation) -> list[dict]:
    """The operators of a pipeline, in execution order."""
    if isinstance(relation, With):
        steps = []
        for one in relation.definitions:
            step = {"with": one.name, "steps": to_steps(one.query)}
            steps.append(step | ({"recursive": True} if one.is_recursive else {}))
        return steps + to_steps(relation.input)
    before: list[dict] = []
    if isinstance(relation, Join | SetOperation):
        before = to_steps(relation.left)
    elif not isinstance(relation, Scan | Ref | Values):
        before = to_steps(relation.input)
    return [*before, _STEPS[type(relation)](relation)]


def _scan(scan: Scan | Ref) -> dict:
    name = scan.table if isinstance(scan, Scan) else scan.name
    step: dict = {"scan": name} | _alias(name, scan.alias)
    return step | ({"rowid": True} if isinstance(scan, Scan) and scan.has_rowid else {})


def _alias(name: str, alias: str) -> dict:
    return {} if alias == name.replace(".", "_") else {"as": alias}


def _values(values: Values) -> dict:
    step: dict = {"values": [[_expression(value, ()) for value in row] for row in values.rows]}
    return step | ({"names": list(values.names)} if values.names else {})


def _filter(node: Filter) -> dict:
    return {"filter": _expression(node.condition, node.input.fields)}


def _project(node: Project) -> dict:
    return {"project": _items(node.items, node.input.fields)}


def _join(node: Join) -> dict:
    right = node.right
    word = "join" if node.kind == "inner" else f"{node.kind}_join"
    step = {word: right.table if isinstance(right, Scan) else right.name} | _alias(_scan(right)["scan"], right.alias)
    step |= {"rowid": True} if isinstance(right, Scan) and right.has_rowid else {}
    return step | ({"on": _expression(node.on, node.left.fields + right.fields)} if node.on is not None else {})


def _aggregate(node: Aggregate) -> dict:
    given = node.input.fields
    step: dict = {"aggregate": {item.field.text: _aggregation(item.value, given) for item in node.items}}
    return step | ({"by": _items(node.keys, given)} if node.keys else {})


def _aggregation(call: Aggregation, given: Fields) -> list:
    name = f"{call.name} distinct" if call.is_distinct else call.name
    where = [{"where": _expression(call.where, given)}] if call.where is not None else []
    return [name, *(_expression(arg, given) for arg in call.args), *where]


def _window(node: Window) -> dict:
    return {"window": {item.field.text: _over(item.value, node.input.fields) for item in node.items}}


def _over(call: Over, given: Fields) -> list:
    over: dict = {}
    if call.where is not None:
        over["where"] = _expression(call.where, given)
    if call.partition:
        over["by"] = [_expression(part, given) for part in call.partition]
    if call.order:
        over["order"] = [_sort_key(key, given) for key in call.order]
    if call.frame is not None:
        over["frame"] = _frame(call.frame, given)
    return [call.name, *(_expression(arg, given) for arg in call.args), over]


def _frame(frame: Frame, given: Fields) -> list:
    words = [frame.unit, _bound(frame.start, given), _bound(frame.end, given)]
    return words + ([frame.exclude] if frame.exclude != "no others" else [])


def _bound(bound: Bound, given: Fields) -> str | list:
    return bound.side if bound.offset is None else [bound.side, _expression(bound.offset, given)]


def _sort(node: Sort) -> dict:
    step: dict = {"sort": [_sort_key(key, node.input.fields) for key in node.keys]} if node.keys else {}
    for word, bound in (("limit", node.limit), ("offset", node.offset)):
        step |= {word: _expression(bound, ())} if bound is not None else {}
    return step


def _sort_key(key: SortKey, given: Fields) -> object:
    value = _expression(key.value, given)
    words = "desc" if key.is_descending else ""
    if key.nulls_first != (not key.is_descending):
        words = f"{words or 'asc'} nulls {'first' if key.nulls_first else 'last'}"
    is_name = isinstance(value, str) and not value.startswith("'") and not reads_as_direction(value)
    if is_name:
        return f"{value} {words}" if words else value
    return [words or "asc", value]


def reads_as_direction(text: str) -> bool:
    """Whether a sort key's text ends in words that say an order."""
    words = text.lower().split(" ")
    return words[-1] in ("asc", "desc") or words[-2:] in (["nulls", "first"], ["nulls", "last"])


def _distinct(node: Distinct) -> dict:
    return {"distinct": True}


def _set_operation(node: SetOperation) -> dict:
    return {f"{node.kind}_all" if node.is_all else node.kind: to_steps(node.right)}


def _as(node: As) -> dict:
    return {"as": node.alias} | ({"names": list(node.names)} if node.names else {})


def _items(items: tuple[Item, ...], given: Fields) -> list:
    """Kept columns as strings, others as {name: expression}; neighbours share an object."""
    found: list = []
    for item in items:
        value = _expression(item.value, given)
        if (item.is_kept and isinstance(value, str)) or item.is_kept:
            found.append(value)
        elif found and isinstance(found[-1], dict) and item.field.text not in found[-1]:
            found[-1][item.field.text] = value
        else:
            found.append({item.field.text: value})
    return found


def _expression(value: Expression, given: Fields) -> object:
    return _EXPRESSIONS[type(value)](value, given)


def _column(column: Column, given: Fields) -> object:
    if column.is_outer and (column.alias is None or any(one.key == _key(column) for one in given)):
        return ["outer", *([column.alias] if column.alias else []), column.name]
    if column.alias is None and ("." in column.name or column.name.startswith("'")):
        return ["col", column.name]
    return column.text


def _literal(literal: Literal, given: Fields) -> object:
    value = literal.value
    if isinstance(value, bytes):
        return ["blob", value.hex()]
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else value


def _call(call: Call, given: Fields) -> list:
    return [call.name, *(_expression(arg, given) for arg in call.args)]


def _case(case: Case, given: Fields) -> list:
    head = ["case"] if case.operand is None else ["case of", _expression(case.operand, given)]
    branches = [_expression(part, given) for branch in case.branches for part in branch]
    return head + branches + ([_expression(case.otherwise, given)] if case.otherwise is not None else [])


def _in_query(value: InQuery, given: Fields) -> list:
    parts = [_expression(one, given) for one in value.values]
    return ["in", parts[0] if len(parts) == 1 else ["row", *parts], to_steps(value.query)]


def _key(column: Column) -> tuple[str | None, str]:
    return (column.alias.lower() if column.alias else None, column.name.lower())


_STEPS = {
    Scan: _scan, Ref: _scan, Values: _values, Filter: _filter, Project: _project, Join: _join, Aggregate: _aggregate,
    Window: _window, Sort: _sort, Distinct: _distinct, SetOperation: _set_operation, As: _as,
}  # fmt: skip
_EXPRESSIONS = {
    Column: _column,
    Literal: _literal,
    Call: _call,
    Case: _case,
    Cast: lambda value, given: ["cast", _expression(value.value, given), value.to],
    Collate: lambda value, given: ["collate", _expression(value.value, given), value.collation],
    Subquery: lambda value, given: to_steps(value.query),
    InQuery: _in_query,
    Exists: lambda value, given: ["exists", to_steps(value.query)],
}
