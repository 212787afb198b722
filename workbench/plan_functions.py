"""The functions of the plan language: one registry of names, arities and result types.

In: a function's name as a plan writes it, in any case. Out: its `Function`. The meaning is SQLite's; `docs/plan.md`
states it function by function, and a test holds both to the same set. A name ends in no engine's spelling: what SQLite
calls strftime is format_date here, and each dialect maps it.
"""

from collections.abc import Callable
from dataclasses import dataclass

# Value types of an expression. number: integer or real; boolean: integer 0 or 1; any: known only row by row.
TYPES = ("integer", "real", "number", "text", "blob", "boolean", "null", "any")
AFFINITIES = ("integer", "real", "numeric", "text", "blob")  # and None: an expression without one
UNBOUNDED = 127  # SQLITE_MAX_FUNCTION_ARG


@dataclass(frozen=True)
class Function:
    """kind: scalar, aggregate or window. result: argument types -> the value's type."""

    name: str
    kind: str
    least: int
    most: int
    result: Callable[[list[str]], str]


def _always(kind: str) -> Callable[[list[str]], str]:
    return lambda types: kind


def _numeric(types: list[str]) -> str:
    """+ - * and sums: integers stay integers, a real makes a real, text may turn out as either."""
    known = {"integer" if kind == "boolean" else kind for kind in types} - {"null"}
    if known <= {"integer"}:
        return "integer"
    return "real" if "real" in known else "number"


def _division(types: list[str]) -> str:
    return _numeric(types)


def _same(types: list[str]) -> str:
    return types[0] if types else "any"


def union_type(types: list[str]) -> str:
    """The type that holds values of all of these: CASE, COALESCE, set operations."""
    known = set(types) - {"null"}
    if not known:
        return "null"
    if len(known) == 1:
        return known.pop()
    if known <= {"integer", "boolean"}:
        return "integer"
    return "number" if known <= {"integer", "boolean", "real", "number"} else "any"


def _rest(types: list[str]) -> str:
    return union_type(types[1:])


def _abs(types: list[str]) -> str:
    return _numeric(types[:1])


def _lag(types: list[str]) -> str:
    return union_type([types[0], types[2]]) if len(types) > 2 else _same(types)


_SCALARS = {
    "boolean": {
        "and": (2, UNBOUNDED), "or": (2, UNBOUNDED), "not": 1,
        "=": 2, "<>": 2, "<": 2, "<=": 2, ">": 2, ">=": 2, "is": 2, "is not": 2,
        "is null": 1, "is not null": 1, "between": 3, "in": (1, 10_000), "like": (2, 3), "glob": 2,
    },
    "integer": {
        "&": 2, "|": 2, "<<": 2, ">>": 2, "~": 1,
        "char_length": 1, "position": 2, "unicode": 1, "sign": 1, "unixepoch": (0, UNBOUNDED), "random": 0,
    },
    "real": {
        "round": (1, 2), "julianday": (0, UNBOUNDED), "sqrt": 1, "power": 2, "exp": 1, "ln": 1, "log10": 1,
    },
    "text": {
        "||": (2, UNBOUNDED), "upper": 1, "lower": 1, "trim": (1, 2), "ltrim": (1, 2), "rtrim": (1, 2), "replace": 3,
        "substring": (2, 3), "format": (1, UNBOUNDED), "char": (0, UNBOUNDED), "hex": 1, "quote": 1, "typeof": 1,
        "format_date": (1, UNBOUNDED), "date": (0, UNBOUNDED), "time": (0, UNBOUNDED), "datetime": (0, UNBOUNDED),
        "current_date": 0, "current_time": 0, "current_timestamp": 0,
    },
}  # fmt: skip
_TYPED_SCALARS = (
    ("+", 1, 2, _numeric), ("-", 1, 2, _numeric), ("*", 2, 2, _numeric), ("/", 2, 2, _division),
    ("%", 2, 2, _numeric), ("abs", 1, 1, _abs), ("ceil", 1, 1, _abs), ("floor", 1, 1, _abs),
    ("coalesce", 2, UNBOUNDED, union_type), ("nullif", 2, 2, _same), ("if", 3, 3, _rest),
    ("greatest", 2, UNBOUNDED, union_type), ("least", 2, UNBOUNDED, union_type),
)  # fmt: skip
_AGGREGATES = (
    ("count", 0, 1, _always("integer")), ("sum", 1, 1, _numeric), ("total", 1, 1, _always("real")),
    ("avg", 1, 1, _always("real")), ("min", 1, 1, _same), ("max", 1, 1, _same),
    ("string_agg", 1, 2, _always("text")), ("any_value", 1, 1, _same),
    ("arg_min", 2, 2, _same), ("arg_max", 2, 2, _same),
)  # fmt: skip
_WINDOWS = (
    ("row_number", 0, 0, _always("integer")), ("rank", 0, 0, _always("integer")),
    ("dense_rank", 0, 0, _always("integer")), ("percent_rank", 0, 0, _always("real")),
    ("cume_dist", 0, 0, _always("real")), ("ntile", 1, 1, _always("integer")),
    ("lag", 1, 3, _lag), ("lead", 1, 3, _lag), ("first_value", 1, 1, _same), ("last_value", 1, 1, _same),
    ("nth_value", 2, 2, _same),
)  # fmt: skip


def _registry() -> dict[tuple[str, str], Function]:
    found = []
    for kind, names in _SCALARS.items():
        for name, arity in names.items():
            least, most = arity if isinstance(arity, tuple) else (arity, arity)
            found.append(Function(name, "scalar", least, most, _always(kind)))
    for kind, rows in (("scalar", _TYPED_SCALARS), ("aggregate", _AGGREGATES), ("window", _WINDOWS)):
        found += [Function(name, kind, least, most, result) for name, least, most, result in rows]
    return {(function.kind, function.name): function for function in found}


FUNCTIONS = _registry()  # (kind, name) -> Function
SCALARS = {name: function for (kind, name), function in FUNCTIONS.items() if kind == "scalar"}
AGGREGATES = {name: function for (kind, name), function in FUNCTIONS.items() if kind == "aggregate"}
WINDOWS = {name: function for (kind, name), function in FUNCTIONS.items() if kind == "window"}
WINDOW_AGGREGATES = ("count", "sum", "total", "avg", "min", "max", "string_agg")  # aggregates that may have OVER
