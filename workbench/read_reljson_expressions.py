"""Expressions of RelJson -> a plan's expressions, columns found by their place.

In: a JSON object, the columns here and those of the queries around. Out: an Expression. Calcite's dates are days since
1970, its intervals months or milliseconds: they become the text and the modifiers that SQLite's functions take.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from workbench import reljson_names as names
from workbench.errors import PlanError
from workbench.plan import Relation
from workbench.plan_expressions import (
    Bound,
    Call,
    Case,
    Cast,
    Collate,
    Exists,
    Expression,
    Frame,
    InQuery,
    Literal,
    Over,
    Subquery,
)
from workbench.plan_functions import SCALARS
from workbench.read_plan_expressions import shown

MISSING = object()
EXTRACTS = {
    "YEAR": "%Y",
    "MONTH": "%m",
    "DAY": "%d",
    "HOUR": "%H",
    "MINUTE": "%M",
    "SECOND": "%S",
    "DOW": "%w",
    "DOY": "%j",
}
TRUTHS = {"IS TRUE": (False, 1), "IS NOT TRUE": (False, 0), "IS FALSE": (True, 1), "IS NOT FALSE": (True, 0)}


def get(about: object, key: str, kind: type, default: object = MISSING):
    """A value of an object, checked for its kind."""
    value = about.get(key, default) if isinstance(about, dict) else MISSING
    value = default if value is None and default is not MISSING else value
    if value is MISSING or (value is not default and (not isinstance(value, kind) or (kind is int and value is True))):
        raise PlanError("schema_violation", f"{key} of {shown(about)}: {kind.__name__} is wanted")
    return value


def get_all(about: object, key: str, kind: type, default: object = MISSING) -> list:
    """A list of an object, each part checked for its kind."""
    found = get(about, key, list, default)
    if not all(isinstance(one, kind) and not (kind is int and isinstance(one, bool)) for one in found):
        raise PlanError("schema_violation", f"{key} {shown(found)}: a list of {kind.__name__} is wanted")
    return found


def read_literal(about: object) -> Literal:
    """A constant. Dates and timestamps become text."""
    value, kind = get(about, "literal", object, None), get(get(about, "type", dict), "type", str)
    if value is None:
        return Literal(None)
    try:
        if kind == "DATE":
            return Literal((date(1970, 1, 1) + timedelta(days=value)).isoformat())
        if kind.startswith("TIMESTAMP"):
            return Literal(datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S"))
        if kind in ("BINARY", "VARBINARY"):
            return Literal(bytes.fromhex(value))
        if kind in ("DOUBLE", "FLOAT", "REAL"):
            return Literal(float(value))
    except (TypeError, ValueError, OverflowError) as fault:
        raise PlanError("schema_violation", f"{shown(value)} is no {kind}") from fault
    if isinstance(value, bool):
        return Literal(int(value))
    is_known = kind in ("CHAR", "VARCHAR", "DECIMAL", "NULL", "ANY") or names.READ_TYPES.get(kind) == "integer"
    if not is_known or not isinstance(value, int | float | str):
        raise PlanError("unsupported", f"a constant of type {kind}")
    return Literal(value)


class RelExpressionReader:
    """given: the columns of the input. outer: those of the queries around, nearest first."""

    def __init__(self, given: tuple, outer: tuple, read_query: Callable[[list, tuple], Relation]):
        self.given, self.outer, self.read_query = given, outer, read_query

    def read(self, about: object) -> Expression:
        if not isinstance(about, dict):
            raise PlanError("schema_violation", f"{shown(about)} is no expression")
        if "literal" in about:
            return read_literal(about)
        if "input" in about:
            place = get(about, "input", int)
            if not 0 <= place < len(self.given):
                raise PlanError("unknown_column", f"no column ${place}", hint=f"there are {len(self.given)}")
            return self.given[place].column()
        if "field" in about:
            return self._outer(about)
        if "window" in about:
            return self._over(about)
        return self._call(about)

    def _all(self, about: dict, key: str = "operands") -> list[Expression]:
        return [self.read(one) for one in get_all(about, key, dict, [])]

    def _outer(self, about: dict) -> Expression:
        """A column of a query around this one. Without an alias (Calcite's own) the name alone finds it."""
        name, plan = get(about, "field", str), get(about, "plan", dict, None)
        get(get(about, "expr", dict), "correl", str)
        for given in self.outer:
            for one in given:
                if one.name.lower() == name.lower() and (plan is None or plan.get("alias") == one.alias):
                    return one.column(is_outer=True)
        raise PlanError("unknown_column", f"no column {name!r} in the queries around")

    def _call(self, about: dict) -> Expression:
        op, plan = get(about, "op", dict), get(about, "plan", dict, {})
        name, kind, form = get(op, "name", str), get(op, "kind", str), plan.get("form")
        if kind in ("SCALAR_QUERY", "EXISTS") or (kind == "IN" and ("rels" in plan or form is None)):
            return self._query(kind, about, plan)
        if kind == "TRIM" and len(get_all(about, "operands", dict)) == 3:
            return self._trim(about)
        if kind == "EXTRACT":
            return self._extract(about)
        operands = get_all(about, "operands", dict, [])
        if kind in ("PLUS", "MINUS") and len(operands) == 2 and "INTERVAL" in _literal_type(operands[1]):
            return self._moved(operands, kind == "MINUS")
        args = tuple(map(self.read, operands))
        if form == "between" and len(args) == 2 and all(isinstance(one, Call) and len(one.args) == 2 for one in args):
            return Call("between", (args[0].args[0], args[0].args[1], args[1].args[1]))
        if form == "in":
            sides = [*args] if kind == "OR" else [Call("=", args)]
            if not sides or not all(isinstance(one, Call) and one.name == "=" for one in sides):
                raise PlanError("schema_violation", "an `in` that compares nothing")
            return Call("in", (sides[0].args[0], *(one.args[1] for one in sides)))
        if kind == "CASE":
            return _case(args, form)
        if kind == "CAST" and len(args) == 1:
            return _cast(args[0], get(get(about, "type", dict), "type", str))
        if name == "COLLATE" and len(args) == 2 and isinstance(args[1], Literal):
            return Collate(args[0], str(args[1].value))
        if name in TRUTHS and len(args) == 1:
            is_negated, then = TRUTHS[name]
            return Case(((Call("not", args) if is_negated else args[0], Literal(then)),), Literal(1 - then))
        if kind in ("AND", "OR") and len(args) == 1:
            return args[0]
        found = names.SCALAR_NAMES.get((name, kind)) or name.lower()
        if found not in SCALARS:
            raise PlanError("unknown_operator", f"the operator {name} ({kind})")
        return Call(found, args)

    def _query(self, kind: str, about: dict, plan: dict) -> Expression:
        if "rels" not in plan:
            hint = "Calcite's own writer drops it; expand subqueries to joins there"
            raise PlanError("unsupported", f"a {kind} without its query", hint=hint)
        query = self.read_query(get(plan, "rels", list), (self.given, *self.outer))
        if kind == "IN":
            return InQuery(tuple(self._all(about)), query)
        return Exists(query) if kind == "EXISTS" else Subquery(query)

    def _trim(self, about: dict) -> Expression:
        flag, chars, value = get_all(about, "operands", dict)
        word = next((name for name, side in names.TRIMS.items() if side == flag.get("literal")), None)
        if word is None:
            raise PlanError("schema_violation", f"{shown(flag)} is no side to trim")
        cut = self.read(chars)
        is_given = cut != Literal(" ") or "plan" in about
        return Call(word, (self.read(value), cut) if is_given else (self.read(value),))

    def _extract(self, about: dict) -> Expression:
        unit, value = (*get_all(about, "operands", dict), {}, {})[:2]
        if unit.get("literal") not in EXTRACTS:
            raise PlanError(
                "unsupported", f"EXTRACT of {shown(unit.get('literal'))}", hint=f"known: {', '.join(EXTRACTS)}"
            )
        text = Call("format_date", (Literal(EXTRACTS[unit["literal"]]), self.read(value)))
        return Cast(text, "integer")

    def _moved(self, operands: list[dict], is_back: bool) -> Expression:
        """A date plus or minus an interval."""
        amount, kind = get(operands[1], "literal", int), _literal_type(operands[1])
        amount = -amount if is_back else amount
        is_months = kind in ("INTERVAL_MONTH", "INTERVAL_YEAR", "INTERVAL_YEAR_MONTH")
        if not is_months and amount % 1000:
            raise PlanError("unsupported", "an interval of parts of a second")
        modifier = f"{amount:+d} months" if is_months else f"{amount // 1000:+d} seconds"
        word = "date" if is_months or amount % 86_400_000 == 0 else "datetime"
        return Call(word, (self.read(operands[0]), Literal(modifier)))

    def _over(self, about: dict) -> Over:
        window, plan = get(about, "window", dict), get(about, "plan", dict, {})
        name = names.read_aggregate(get(get(about, "op", dict), "name", str))
        if about.get("distinct") is True:
            raise PlanError("unsupported", f"{name} distinct over a window")
        order = tuple(
            names.sort_key(
                self.read(one.get("expr")), get(one, "direction", str), get(one, "null-direction", str, "UNSPECIFIED")
            )
            for one in get_all(window, "order", dict, [])
        )
        frame = self._frame(window) if name not in names.FRAMELESS or plan.get("is_framed") is True else None
        args, where = unfiltered(tuple(self._all(about)), plan, None)
        return Over(name, args, tuple(self._all(window, "partition")), order, frame, where)

    def _frame(self, window: dict) -> Frame | None:
        unit = next((word for word in ("rows", "range", "groups") if f"{word}-lower" in window), None)
        if unit is None:
            return None
        ends = [self._bound(get(window, f"{unit}-{side}", dict)) for side in ("lower", "upper")]
        word = get(get(window, "exclude", dict, {}), "type", str, None)
        exclude = next((name for name, given in names.EXCLUSIONS.items() if given == word), "no others")
        found = Frame(unit, *ends, exclude)
        return None if found == Frame() else found

    def _bound(self, end: dict) -> Bound:
        offset = self.read(end["offset"]) if "offset" in end else None
        return Bound(get(end, "type", str).lower().replace("_", " "), offset)


def unfiltered(args: tuple, plan: dict, where: Expression | None) -> tuple[tuple, Expression | None]:
    """An aggregate's arguments and condition, where plan_reljson wrote the condition as a CASE of the first argument."""
    if "is_filtered" not in plan or not args or not isinstance(args[0], Case):
        return args, where
    (condition, first), *_ = args[0].branches
    return (args[1:] if "is_of_rows" in plan else (first, *args[1:])), condition


def _literal_type(about: dict) -> str:
    kind = about.get("type") if "literal" in about else None
    return str(kind.get("type")) if isinstance(kind, dict) else ""


def _case(args: tuple[Expression, ...], form: object) -> Expression:
    if len(args) < 3 or len(args) % 2 == 0:
        raise PlanError("schema_violation", f"a CASE of {len(args)} operands")
    if form == "if":
        return Call("if", args)
    branches = list(pairwise(args))[:-1:2]
    operand = None
    if form in ("case of", "case of without else"):
        if not all(isinstance(when, Call) and len(when.args) == 2 for when, _ in branches):
            raise PlanError("schema_violation", "a case that compares nothing")
        operand = branches[0][0].args[0]
        branches = [(when.args[1], then) for when, then in branches]
    is_open = form in ("case without else", "case of without else")
    return Case(tuple(branches), None if is_open else args[-1], operand)


def _cast(value: Expression, kind: str) -> Expression:
    if kind == "BOOLEAN":
        return value  # conditions are numbers in a plan
    if kind in ("DATE", "TIMESTAMP"):
        return Call("date" if kind == "DATE" else "datetime", (value,))
    if kind not in names.READ_TYPES:
        raise PlanError("unsupported", f"a cast to {kind}")
    return Cast(value, names.READ_TYPES[kind])
