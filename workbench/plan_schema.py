"""The JSON Schema of compact plans, for checking and for constrained decoding.

Out: a schema (draft 2020-12) without recursion: nesting is unrolled to a bound, since decoders compile a schema to a
finite automaton and a model can run away in an endless one. Texts, names and lists are bounded for the same reason.
Names of tables and columns are any text here: that they exist is checked when the plan is read.
"""

from workbench.plan_expressions import BOUNDS, CAST_TYPES, COLLATIONS, EXCLUSIONS, FRAME_UNITS
from workbench.plan_functions import AGGREGATES, SCALARS, WINDOW_AGGREGATES, WINDOWS
from workbench.plan_json import VERSION

EXPRESSION_DEPTH = 12  # nested calls; the deepest of the benchmarks' golds has 9
QUERY_DEPTH = 3  # queries inside queries' expressions; the golds reach 2
MAX_TEXT = 400  # characters of a name or a text constant
MAX_STEPS = 40
MAX_ITEMS = 120  # columns of a select list, values of IN
_JOINS = ("join", "left_join", "right_join", "full_join", "semi_join", "anti_join")


def plan_schema(expression_depth: int = EXPRESSION_DEPTH, query_depth: int = QUERY_DEPTH) -> dict:
    """The schema. expression_depth, query_depth: how deep calls and queries may nest."""
    definitions: dict = {
        "name": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
        "leaf": {"anyOf": [{"type": "string", "maxLength": MAX_TEXT}, {"type": ["number", "null", "boolean"]}]},
    }
    for level in range(query_depth, -1, -1):
        for depth in range(expression_depth, -1, -1):
            definitions[f"e{level}_{depth}"] = _expression(level, depth, expression_depth, query_depth)
        definitions[f"steps{level}"] = _steps(level, query_depth)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"workbench plan {VERSION}",
        "$ref": "#/$defs/steps0",
        "$defs": definitions,
    }


def _ref(name: str) -> dict:
    return {"$ref": f"#/$defs/{name}"}


def _list(item: dict, least: int = 0, most: int = MAX_ITEMS) -> dict:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def _call(heads: list[dict], rest: dict | bool, least: int = 1, most: int = MAX_ITEMS) -> dict:
    return {"type": "array", "prefixItems": heads, "items": rest, "minItems": least, "maxItems": most}


def _object(properties: dict, required: list[str]) -> dict:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _expression(level: int, depth: int, deepest: int, query_depth: int) -> dict:
    if depth == deepest:
        return _ref("leaf")
    inner = _ref(f"e{level}_{depth + 1}")
    plain = [name for name in SCALARS if name != "in"]
    choices = [
        _ref("leaf"),
        _call([{"enum": [*plain, "case", "case of"]}], inner),
        _call([{"enum": ["in"]}, inner], inner, 2),
        _call([{"enum": ["cast"]}, inner, {"enum": list(CAST_TYPES)}], False, 3, 3),
        _call([{"enum": ["collate"]}, inner, {"enum": list(COLLATIONS)}], False, 3, 3),
        _call([{"enum": ["col", "outer", "blob"]}, {"type": "string", "maxLength": MAX_TEXT}], _ref("name"), 2, 3),
    ]
    if level < query_depth:
        query = _ref(f"steps{level + 1}")
        row = _call([{"enum": ["row"]}], inner, 2)
        choices += [
            query,
            _call([{"enum": ["exists"]}, query], False, 2, 2),
            _call([{"enum": ["in"]}, {"anyOf": [row, inner]}, query], False, 3, 3),
        ]
    return {"anyOf": choices}


def _steps(level: int, query_depth: int) -> dict:
    """A pipeline: its expressions begin at depth 0 of their level; what it names or unites lies a level deeper."""
    value, name = _ref(f"e{level}_0"), _ref("name")
    aggregates = [text for one in AGGREGATES for text in (one, f"{one} distinct")]
    where = _object({"where": value}, ["where"])
    sort_key = {"anyOf": [_call([{"enum": _directions()}, value], False, 2, 2), value]}
    bound = {
        "anyOf": [
            {"enum": [b for b in BOUNDS if " " in b]},
            _call([{"enum": ["preceding", "following"]}, value], False, 2, 2),
        ]
    }
    frame = _call([{"enum": list(FRAME_UNITS)}, bound, bound, {"enum": list(EXCLUSIONS)}], False, 3, 4)
    over = _object({"where": value, "by": _list(value), "order": _list(sort_key), "frame": frame}, [])
    items = _list({"anyOf": [name, _call([{"enum": ["col", "outer"]}, name], name, 2, 3), _map(value)]}, 1)
    aggregate = _call([{"enum": aggregates}], {"anyOf": [where, value]})
    window = _call([{"enum": [*WINDOWS, *WINDOW_AGGREGATES]}], {"anyOf": [over, value]})
    flag = {"const": True}
    operators = [
        _object({"scan": name, "as": name, "rowid": flag}, ["scan"]),
        _object({"values": _list(_list(value), 1), "names": _list(name, 1)}, ["values"]),
        _object({"filter": value}, ["filter"]),
        _object({"project": items}, ["project"]),
        *(_object({word: name, "as": name, "rowid": flag, "on": value}, [word, "on"]) for word in _JOINS),
        _object({"cross_join": name, "as": name, "rowid": flag}, ["cross_join"]),
        _object({"aggregate": _map(aggregate, 0), "by": items}, ["aggregate"]),
        _object({"window": _map(window)}, ["window"]),
        _object({"sort": _list(sort_key, 1), "limit": value, "offset": value}, ["sort"]),
        _object({"limit": value, "offset": value}, ["limit"]),
        _object({"offset": value}, ["offset"]),
        _object({"distinct": flag}, ["distinct"]),
        _object({"as": name, "names": _list(name, 1)}, ["as"]),
    ]
    if level < query_depth:
        below = _ref(f"steps{level + 1}")
        words = [f"{word}{all_}" for word in ("union", "intersect", "except") for all_ in ("", "_all")]
        operators += [_object({word: below}, [word]) for word in words]
        operators.append(_object({"with": name, "steps": below, "recursive": flag}, ["with", "steps"]))
    return _list({"anyOf": operators}, 1, MAX_STEPS)


def _map(value: dict, least: int = 1) -> dict:
    names = {"minLength": 1, "maxLength": MAX_TEXT}
    return {
        "type": "object", "additionalProperties": value, "propertyNames": names,
        "minProperties": least, "maxProperties": MAX_ITEMS,
    }  # fmt: skip


def _directions() -> list[str]:
    return [f"{word}{nulls}" for word in ("asc", "desc") for nulls in ("", " nulls first", " nulls last")]
