"""A plan as an indented tree for people, the last operator first, as databases show their plans.

In: a Plan. Out: text, one operator a line. It is to be read, not read back: plan_json is the lossless form.
"""

from collections.abc import Iterable

from workbench.plan import (
    Aggregate,
    As,
    Distinct,
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
    walk,
)

_INFIX = {
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "is",
    "is not",
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "&",
    "|",
    "<<",
    ">>",
    "and",
    "or",
}


def draw(plan: Plan) -> str:
    """The tree's text; see Plan.to_text."""
    return "\n".join(_lines(plan.root, 0))


def _lines(relation: Relation, depth: int) -> list[str]:
    if isinstance(relation, With):
        lines = []
        for one in relation.definitions:
            lines.append("  " * depth + f"with {one.name}{' (recursive)' if one.is_recursive else ''}:")
            lines += _lines(one.query, depth + 1)
        return lines + _lines(relation.input, depth)
    lines = ["  " * depth + operator_text(relation)]
    for query in queries(relation.expressions):
        lines += ["  " * (depth + 2) + "query:", *_lines(query, depth + 3)]
    for below in relation.inputs:
        lines += _lines(below, depth + 1)
    return lines


def operator_text(relation: Relation) -> str:
    """One operator on one line."""
    match relation:
        case Scan(table=name, alias=alias) | Ref(name=name, alias=alias):
            return f"scan {name}" + (f" as {alias}" if alias != name else "")
        case Values(rows=rows):
            return "values " + ", ".join(f"({_listed(row)})" for row in rows)
        case Filter(condition=condition):
            return f"filter {text(condition)}"
        case Project(items=items):
            return f"project {_items(items)}"
        case Join(kind=kind, on=on):
            return f"{kind} join" + (f" on {text(on)}" if on is not None else "")
        case Aggregate(keys=keys, items=items):
            return f"aggregate {_items(items)}".rstrip() + (f" by {_items(keys)}" if keys else "")
        case Window(items=items):
            return f"window {_items(items)}"
        case Sort(keys=keys, limit=limit, offset=offset):
            parts = [f"sort {', '.join(map(_key, keys))}"] if keys else []
            parts += [f"limit {text(limit)}"] if limit is not None else []
            return " ".join([*parts, f"offset {text(offset)}"] if offset is not None else parts)
        case Distinct():
            return "distinct"
        case SetOperation(kind=kind, is_all=is_all):
            return f"{kind} all" if is_all else kind
        case As(alias=alias, names=names):
            return f"as {alias}" + (f" ({', '.join(names)})" if names else "")
    raise TypeError(f"no text for {type(relation).__name__}")


def text(value: Expression) -> str:
    """An expression as people write it."""
    match value:
        case Column():
            return value.text
        case Literal(value=None):
            return "null"
        case Literal(value=constant):
            return f"x'{constant.hex()}'" if isinstance(constant, bytes) else repr(constant)
        case Call(name=name, args=args) if name in _INFIX and len(args) > 1:
            return f" {name} ".join(_inner(arg) for arg in args)
        case Call(name="not", args=(arg,)):
            return f"not {_inner(arg)}"
        case Call(name="is null" | "is not null", args=(arg,)):
            return f"{_inner(arg)} {value.name}"
        case Call(name="between", args=(this, low, high)):
            return f"{_inner(this)} between {_inner(low)} and {_inner(high)}"
        case Call(name="in", args=(this, *rest)):
            return f"{_inner(this)} in ({_listed(rest)})"
        case Call(name=name, args=args):
            return f"{name}({_listed(args)})"
        case Cast():
            return f"cast({text(value.value)} as {value.to})"
        case Collate():
            return f"{_inner(value.value)} collate {value.collation}"
        case Case(branches=branches, otherwise=otherwise, operand=operand):
            parts = ["case" if operand is None else f"case {text(operand)}"]
            parts += [f"when {text(when)} then {text(then)}" for when, then in branches]
            return " ".join([*parts, *([f"else {text(otherwise)}"] if otherwise is not None else []), "end"])
        case Subquery():
            return "(query)"
        case InQuery(values=values):
            return f"{_listed(values)} in (query)"
        case Exists():
            return "exists (query)"
        case Aggregation(name=name, args=args):
            inside = ("distinct " if value.is_distinct else "") + (_listed(args) or ("*" if name == "count" else ""))
            return f"{name}({inside})" + (f" where {text(value.where)}" if value.where is not None else "")
        case Over():
            return _over(value)
    raise TypeError(f"no text for {type(value).__name__}")


def _over(call: Over) -> str:
    parts = [f"by {_listed(call.partition)}"] if call.partition else []
    parts += [f"order {', '.join(map(_key, call.order))}"] if call.order else []
    parts += [_frame(call.frame)] if call.frame is not None else []
    where = f" where {text(call.where)}" if call.where is not None else ""
    return f"{call.name}({_listed(call.args)}){where} over ({' '.join(parts)})"


def _frame(frame: Frame) -> str:
    ends = [f"{text(b.offset)} {b.side}" if b.offset is not None else b.side for b in (frame.start, frame.end)]
    return f"{frame.unit} {ends[0]} to {ends[1]}" + (
        f" exclude {frame.exclude}" if frame.exclude != "no others" else ""
    )


def _inner(value: Expression) -> str:
    is_loose = isinstance(value, Call) and (value.name in _INFIX or value.name in ("not", "between", "in"))
    return f"({text(value)})" if is_loose and len(value.args) > (value.name != "not") else text(value)


def _listed(values: Iterable[Expression]) -> str:
    return ", ".join(text(value) for value in values)


def _items(items: tuple[Item, ...]) -> str:
    return ", ".join(item.field.text if item.is_kept else f"{item.field.text} = {text(item.value)}" for item in items)


def _key(key: SortKey) -> str:
    is_default = key.nulls_first == (not key.is_descending)
    nulls = "" if is_default else f" nulls {'first' if key.nulls_first else 'last'}"
    return f"{text(key.value)}{' desc' if key.is_descending else ''}{nulls}"


def queries(expressions: Iterable[Expression]) -> Iterable[Relation]:
    """The queries inside expressions, in order."""
    for expression in expressions:
        for part in walk(expression):
            if isinstance(part, Subquery | InQuery | Exists):
                yield part.query
