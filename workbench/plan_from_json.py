"""The compact JSON of a plan -> a `Plan`, checked against a schema.

In: text as a model wrote it, or the parsed object; a schema. Out: the plan. Whatever is wrong raises PlanError with one
of errors.PLAN_ERROR_KINDS, the operator's place ("3 (filter)") and what would have been right. Nothing is guessed:
prose or code fences around the JSON are the caller's to cut off.
"""

import json
from collections.abc import Callable

from workbench.errors import PlanError
from workbench.plan import MAX_DEPTH as MOST_OPERATORS
from workbench.plan import (
    Aggregate,
    As,
    Definition,
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
    find_field,
)
from workbench.plan_json import VERSION
from workbench.read_plan_expressions import ExpressionReader, column_item_name, shown
from workbench.records import clean_text
from workbench.schema import Schema

# operator word -> the further keys that it may have
OPERATORS: dict[str, tuple[str, ...]] = {
    "with": ("steps", "recursive"), "scan": ("as", "rowid"), "values": ("names",), "filter": (), "project": (),
    "join": ("as", "on", "rowid"), "left_join": ("as", "on", "rowid"), "right_join": ("as", "on", "rowid"),
    "full_join": ("as", "on", "rowid"), "cross_join": ("as", "rowid"), "semi_join": ("as", "on", "rowid"),
    "anti_join": ("as", "on", "rowid"), "aggregate": ("by",), "window": (), "sort": ("limit", "offset"),
    "limit": ("offset",), "offset": (), "distinct": (), "union": (), "union_all": (), "intersect": (),
    "intersect_all": (), "except": (), "except_all": (), "as": ("names",),
}  # fmt: skip
MAX_DEPTH = 60  # of nested arrays and objects; the deepest gold plan has under 20
MAX_LENGTH = 1_000_000  # characters; the longest gold plan has under 3000
Definitions = dict[str, tuple[str, tuple[Field, ...]]]


def read_plan(plan: str | list | dict, schema: Schema) -> Plan:
    """The plan of a text or an object; see Plan.from_json."""
    found = parse(plan) if isinstance(plan, str) else plan
    check_shape(found)
    if isinstance(found, dict) and "plan" in found:
        if found["plan"] is True or found["plan"] != VERSION or set(found) != {"plan", "steps"}:
            raise PlanError("schema_violation", f"not a plan of version {VERSION}", hint='{"plan": 1, "steps": [...]}')
        found = found["steps"]
    return built(lambda: PlanReader(schema).pipeline(found, (), {}))


def built(root: Callable[[], Relation]) -> Plan:
    """A plan of operators that are yet to be built; those nested deeper than Python's stack are refused as others are."""
    try:
        return Plan(root())
    except RecursionError as fault:
        raise PlanError("unsupported", f"operators nested deeper than {MOST_OPERATORS}") from fault


def parse(text: str) -> object:
    """The one JSON value of a text; tells no JSON, JSON that stops short and JSON with something after it apart."""
    body = text.strip()
    if len(body) > MAX_LENGTH:
        raise PlanError("schema_violation", f"a plan of more than {MAX_LENGTH} characters")
    try:
        decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
        found, end = decoder.raw_decode(body)
    except json.JSONDecodeError as fault:
        rest = body[fault.pos :].strip()
        is_start = body[:1] in ("[", "{")
        is_cut = not rest or fault.msg.startswith("Unterminated") or any(
            word.startswith(rest) for word in ("true", "false", "null", "-")
        )  # fmt: skip
        what = f"JSON stops at character {fault.pos}" if is_start and is_cut else f"no JSON: {fault.msg}"
        raise PlanError(
            "truncated" if is_start and is_cut else "not_json", what, where=_near(body, fault.pos)
        ) from fault
    except RecursionError as fault:
        raise PlanError("schema_violation", f"nested deeper than {MAX_DEPTH} levels") from fault
    except ValueError as fault:  # Python's limit on the digits of an integer
        raise PlanError("type_error", "an integer that does not fit in 64 bits") from fault
    if body[end:].strip():
        if not isinstance(found, list | dict):
            raise PlanError("not_json", f"no JSON list: {shown(body)}")
        raise PlanError("trailing_text", f"{shown(body[end:].strip())} after the plan")
    return found


def _object(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise PlanError("schema_violation", f"the key {double!r} stands twice in one object")
    return found


def _refuse_constant(word: str) -> None:
    raise PlanError("schema_violation", f"{word} is no number of a plan")


def _near(text: str, position: int) -> str:
    return f"near {text[max(0, position - 20) : position + 20]!r}"


def check_shape(value: object, most: int = MAX_DEPTH) -> None:
    """Refuse what is nested so deep that reading it could end the process, and text that no engine can be sent."""
    stack = [(value, 1)]
    while stack:
        one, level = stack.pop()
        if level > most:
            raise PlanError("schema_violation", f"nested deeper than {most} levels")
        if isinstance(one, str) and clean_text(one) != one:
            raise PlanError("schema_violation", f"half a character in {shown(one)}", hint="a lone surrogate is no text")
        if isinstance(one, dict):
            stack += [(part, level + 1) for part in (*one, *one.values())]
        elif isinstance(one, list):
            stack += [(part, level + 1) for part in one]


class PlanReader:
    """Builds the operators of one plan. `step_<operator>`: object in, relation out."""

    def __init__(self, schema: Schema):
        self.schema = schema

    def pipeline(self, steps: object, outer: tuple[tuple[Field, ...], ...], known: Definitions) -> Relation:
        """The relation of a list of operators. outer: the columns of the queries around, nearest first."""
        if not isinstance(steps, list) or not steps:
            raise PlanError("schema_violation", f"{shown(steps)} is no list of operators")
        definitions: list[Definition] = []
        known = dict(known)
        relation: Relation | None = None
        for number, step in enumerate(steps):
            try:
                word = _operator(step)
                if word == "with":
                    if relation is not None:
                        raise PlanError("schema_violation", "a named sub-pipeline comes before the first operator")
                    definitions.append(self._definition(step, outer, known))
                    continue
                relation = self._step(word, step, relation, outer, known)
            except PlanError as fault:
                inner = f" > {fault.where}" if fault.where else ""
                raise PlanError(
                    fault.kind, fault.what, where=f"{number} ({_word(step)}){inner}", hint=fault.hint
                ) from fault
        if relation is None:
            raise PlanError("schema_violation", "nothing reads the named sub-pipelines")
        return With(tuple(definitions), relation) if definitions else relation

    def _definition(self, step: dict, outer: tuple, known: Definitions) -> Definition:
        name, steps = _text(step, "with"), step.get("steps")
        is_recursive = step.get("recursive", False) is True
        if name.lower() in known:
            raise PlanError("schema_violation", f"the sub-pipeline {name!r} is defined twice")
        if self.schema.table(name) is not None:
            raise PlanError("schema_violation", f"the sub-pipeline {name!r} has a table's name")
        if is_recursive:
            start = self._start(steps, outer, known)
            self_known = {**known, name.lower(): (name, start.fields)}
            query = self.pipeline(steps, outer, self_known)
        else:
            query = self.pipeline(steps, outer, known)
        known[name.lower()] = (name, query.fields)
        return Definition(name, query, is_recursive)

    def _start(self, steps: object, outer: tuple, known: Definitions) -> Relation:
        """What a recursive sub-pipeline reads before its union, under the names that follow it."""
        if not isinstance(steps, list):
            raise PlanError("schema_violation", f"{shown(steps)} is no list of operators")
        at = next(
            (n for n, one in enumerate(steps) if isinstance(one, dict) and {"union", "union_all"} & set(one)), None
        )
        if not at:
            raise PlanError("unsupported", "a recursive sub-pipeline without a union")
        start = self.pipeline(steps[:at], outer, known)
        rest = [one for one in steps[at + 1 :] if isinstance(one, dict) and "as" in one]
        return As(start, _text(rest[0], "as"), _names(rest[0])) if rest else start

    def _step(self, word: str, step: dict, relation: Relation | None, outer: tuple, known: Definitions) -> Relation:
        starts = word in ("scan", "values")
        if starts and relation is not None:
            raise PlanError("schema_violation", f"{word} reads nothing, but does not come first")
        if not starts and relation is None:
            raise PlanError("schema_violation", f"{word} has nothing to read", hint="begin with a scan")
        kind = word.removesuffix("_join")
        if word == "join" or word.endswith("_join"):
            return self._join("inner" if word == "join" else kind, word, step, relation, outer, known)
        base = word.removesuffix("_all")
        if base in ("union", "intersect", "except"):
            right = self.pipeline(step[word], outer, known)
            return SetOperation(relation, right, base, base != word)
        return getattr(self, f"_{word}")(step, relation, outer, known)

    def _expressions(self, given: tuple[Field, ...], outer: tuple, known: Definitions) -> ExpressionReader:
        return ExpressionReader(given, outer, lambda steps, scopes: self.pipeline(steps, scopes, known))

    def _scan(self, step: dict, relation: None, outer: tuple, known: Definitions) -> Relation:
        return self._source(_text(step, "scan"), step, known)

    def _source(self, name: str, step: dict, known: Definitions) -> Scan | Ref:
        alias = _text(step, "as") if "as" in step else None
        if name.lower() in known:
            return Ref.of(*known[name.lower()], alias)
        table = self.schema.table(name)
        if table is None:
            names = [one.name for one in self.schema.tables] + [final for final, _ in known.values()]
            raise PlanError("unknown_table", f"no table {name!r}", hint=f"available: {', '.join(names[:60])}")
        return Scan.of(table, alias, step.get("rowid", False) is True)

    def _values(self, step: dict, relation: None, outer: tuple, known: Definitions) -> Relation:
        reader = self._expressions((), outer, known)
        rows = tuple(
            tuple(reader.read(value) for value in _list(row, "a row")) for row in _list(step["values"], "values")
        )
        names = _names(step) or tuple(f"column{number + 1}" for number in range(len(rows[0]) if rows else 0))
        return Values(rows, names)

    def _filter(self, step: dict, relation: Relation, outer: tuple, known: Definitions) -> Relation:
        return Filter(relation, self._expressions(relation.fields, outer, known).read(step["filter"]))

    def _join(self, kind: str, word: str, step: dict, left: Relation, outer: tuple, known: Definitions) -> Relation:
        right = self._source(_text(step, word), step, known)
        if kind == "cross":
            return Join(left, right, kind)
        if "on" not in step:
            raise PlanError("schema_violation", f"{word} without on", hint="cross_join needs none")
        return Join(left, right, kind, self._expressions(left.fields + right.fields, outer, known).read(step["on"]))

    def _project(self, step: dict, relation: Relation, outer: tuple, known: Definitions) -> Relation:
        return Project(relation, self._items(step["project"], relation, outer, known))

    def _items(self, entries: object, relation: Relation, outer: tuple, known: Definitions) -> tuple[Item, ...]:
        reader, items = self._expressions(relation.fields, outer, known), []
        for entry in _list(entries, "columns"):
            if isinstance(entry, dict):
                items += [reader.item(name, reader.read(value)) for name, value in entry.items()]
                continue
            items.append(column_item_name(reader, entry))
        return tuple(items)

    def _aggregate(self, step: dict, relation: Relation, outer: tuple, known: Definitions) -> Relation:
        reader, calls = self._expressions(relation.fields, outer, known), step["aggregate"]
        if not isinstance(calls, dict):
            raise PlanError("schema_violation", f"{shown(calls)} is no object of aggregates")
        items = tuple(reader.item(name, reader.aggregation(call)) for name, call in calls.items())
        return Aggregate(relation, self._items(step.get("by", []), relation, outer, known), items)

    def _window(self, step: dict, relation: Relation, outer: tuple, known: Definitions) -> Relation:
        reader, calls = self._expressions(relation.fields, outer, known), step["window"]
        if not isinstance(calls, dict) or not calls:
            raise PlanError("schema_violation", f"{shown(calls)} is no object of window functions")
        return Window(relation, tuple(reader.item(name, reader.over(call)) for name, call in calls.items()))

    def _sort(self, step: dict, relation: Relation, outer: tuple, known: Definitions) -> Relation:
        reader = self._expressions(relation.fields, outer, known)
        keys = tuple(reader.sort_key(key) for key in _list(step.get("sort", []), "sort keys"))
        bounds = self._expressions((), outer, known)
        limit, offset = (bounds.read(step[word]) if word in step else None for word in ("limit", "offset"))
        return Sort(relation, keys, limit, offset)

    _limit = _offset = _sort

    def _distinct(self, step: dict, relation: Relation, outer: tuple, known: Definitions) -> Relation:
        if step["distinct"] is not True:
            raise PlanError("schema_violation", f"distinct is true, not {shown(step['distinct'])}")
        return Distinct(relation)

    def _as(self, step: dict, relation: Relation, outer: tuple, known: Definitions) -> Relation:
        return As(relation, _text(step, "as"), _names(step))


def _word(step: object) -> str:
    if not isinstance(step, dict):
        return "no object"
    return next(
        (key for key in step if key in OPERATORS and key not in ("as", "limit", "offset")), next(iter(step), "empty")
    )


def _operator(step: object) -> str:
    """The one operator word among an object's keys."""
    if not isinstance(step, dict):
        raise PlanError("schema_violation", f"{shown(step)} is no operator", hint='an object, {"filter": ...}')
    words = [key for key in step if key in OPERATORS]
    main = [key for key in words if key not in ("as", "limit", "offset")] or words[:1]
    if not main:
        raise PlanError("unknown_operator", f"no operator in {shown(step)}", hint=f"available: {', '.join(OPERATORS)}")
    if len(main) > 1:
        raise PlanError("schema_violation", f"{' and '.join(main)} in one operator")
    extra = [key for key in step if key != main[0] and key not in OPERATORS[main[0]]]
    if extra:
        hint = f"allowed beside {main[0]}: {', '.join(OPERATORS[main[0]]) or 'nothing'}"
        raise PlanError("schema_violation", f"the key {extra[0]!r}", hint=hint)
    return main[0]


def _text(step: dict, key: str) -> str:
    if not isinstance(step[key], str) or not step[key]:
        raise PlanError("schema_violation", f"{key} is {shown(step[key])}, a name is wanted")
    return step[key]


def _list(value: object, what: str) -> list:
    if not isinstance(value, list):
        raise PlanError("schema_violation", f"{shown(value)} is no list of {what}")
    return value


def _names(step: dict) -> tuple[str, ...]:
    names = _list(step.get("names", []), "names")
    if not all(isinstance(name, str) for name in names):
        raise PlanError("schema_violation", f"{shown(names)}: names are text")
    return tuple(names)


__all__ = ["OPERATORS", "find_field", "parse", "read_plan"]
