"""Expressions of the compact JSON -> a plan's expressions, names resolved.

In: a JSON value, the columns here and those of the queries around. Out: an Expression. See plan_json for the grammar.
"""

import json
from collections.abc import Callable

from workbench.errors import PlanError
from workbench.plan import Field, Item, Relation, find_field
from workbench.plan_expressions import (
    BOUNDS,
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
from workbench.plan_functions import AGGREGATES, SCALARS, WINDOWS

SPECIAL = ("col", "outer", "blob", "cast", "case", "case of", "collate", "in", "exists")
Scopes = tuple[tuple[Field, ...], ...]


class ExpressionReader:
    """given: the columns of the input. outer: those of the queries around, nearest first."""

    def __init__(self, given: tuple[Field, ...], outer: Scopes, read_query: Callable[[object, Scopes], Relation]):
        self.given, self.outer, self._read_query = given, outer, read_query

    def _query(self, steps: list) -> Relation:
        return self._read_query(steps, (self.given, *self.outer))

    def read(self, value: object) -> Expression:
        if value is None or isinstance(value, bool | int | float):
            return Literal(int(value) if isinstance(value, bool) else value)
        if isinstance(value, str):
            return self._text(value)
        if not isinstance(value, list) or not value:
            raise PlanError("schema_violation", f"{shown(value)} is no expression")
        head, *rest = value
        if isinstance(head, dict):
            return Subquery(self._query(value))
        if not isinstance(head, str):
            raise PlanError("schema_violation", f"{shown(value)} does not begin with a function's name")
        name = head.lower()
        if name in SPECIAL:
            return getattr(self, f"_{name.replace(' ', '_')}")(rest)
        if name not in SCALARS:
            self._refuse(name, value)
        return Call(name, tuple(self.read(part) for part in rest))

    def _refuse(self, name: str, value: list) -> None:
        if name.removesuffix(" distinct") in AGGREGATES or name in WINDOWS:
            hint = "compute it in an aggregate or a window operator and read its column"
            raise PlanError("type_error", f"{name} is no scalar function", hint=hint)
        names = ", ".join(sorted((*SCALARS, *SPECIAL)))
        raise PlanError("unknown_operator", f"unknown function {name!r} in {shown(value)}", hint=f"available: {names}")

    def _text(self, text: str) -> Expression:
        if not text.startswith("'"):
            return self._named(text)
        inner = text[1:-1]
        if len(text) < 2 or not text.endswith("'") or "'" in inner.replace("''", ""):
            hint = "a text stands in single quotes, quotes inside it are doubled"
            raise PlanError("schema_violation", f"{text} is no text constant", hint=hint)
        return Literal(inner.replace("''", "'"))

    def _named(self, text: str) -> Column:
        """alias.column where the alias is known, else a column whose name may hold dots."""
        alias, dot, name = text.partition(".")
        scopes = (self.given, *self.outer)
        for level, given in enumerate(scopes):
            has_alias = bool(dot) and any(_is(one.alias, alias) and _is(one.name, name) for one in given)
            if has_alias:
                return find_field(given, alias, name).column(is_outer=level > 0)
            if any(_is(one.name, text) for one in given):
                return find_field(given, None, text).column(is_outer=level > 0)
        return find_field([one for given in scopes for one in given], None, text).column()

    def _names(self, rest: list) -> tuple[str | None, str]:
        if not 1 <= len(rest) <= 2 or not all(isinstance(part, str) for part in rest):
            raise PlanError("schema_violation", f"{shown(rest)} is no name of a column")
        return (None, rest[0]) if len(rest) == 1 else (rest[0], rest[1])

    def _col(self, rest: list) -> Expression:
        alias, name = self._names(rest)
        if alias is None:
            exact = [one for one in self.given if one.alias is None and _is(one.name, name)]
            return find_field(exact or self.given, None, name).column()
        return find_field(self.given, alias, name).column()

    def _outer(self, rest: list) -> Expression:
        alias, name = self._names(rest)
        if alias is None and len(rest) == 1 and "." in name:
            head, _, tail = name.partition(".")
            if any(_is(one.alias, head) and _is(one.name, tail) for given in self.outer for one in given):
                alias, name = head, tail
        for given in self.outer:
            if any(_is(one.name, name) and (alias is None or _is(one.alias, alias)) for one in given):
                return find_field(given, alias, name).column(is_outer=True)
        return find_field([one for given in self.outer for one in given], alias, name).column(is_outer=True)

    def _blob(self, rest: list) -> Expression:
        try:
            return Literal(bytes.fromhex(rest[0]))
        except (ValueError, TypeError, IndexError) as fault:
            raise PlanError("schema_violation", f"{shown(rest)} is no blob in hexadecimal digits") from fault

    def _cast(self, rest: list) -> Expression:
        value, word = self._two(rest, "cast")
        return Cast(value, word)

    def _collate(self, rest: list) -> Expression:
        value, word = self._two(rest, "collate")
        return Collate(value, word)

    def _two(self, rest: list, what: str) -> tuple[Expression, str]:
        if len(rest) != 2 or not isinstance(rest[1], str):
            raise PlanError("schema_violation", f"{what} takes an expression and a word")
        return self.read(rest[0]), rest[1].lower()

    def _case(self, rest: list, operand: Expression | None = None) -> Expression:
        parts = [self.read(part) for part in rest]
        if len(parts) < 2:
            raise PlanError("schema_violation", "a case without branches", hint="condition, result, ..., otherwise")
        pairs = tuple(zip(parts[0 : len(parts) // 2 * 2 : 2], parts[1::2], strict=True))
        return Case(pairs, parts[-1] if len(parts) % 2 else None, operand)

    def _case_of(self, rest: list) -> Expression:
        if not rest:
            raise PlanError("schema_violation", "case of nothing")
        return self._case(rest[1:], self.read(rest[0]))

    def _in(self, rest: list) -> Expression:
        if len(rest) == 2 and isinstance(rest[1], list) and rest[1] and isinstance(rest[1][0], dict):
            row = rest[0]
            is_row = isinstance(row, list) and row and row[0] == "row"
            return InQuery(tuple(self.read(part) for part in (row[1:] if is_row else [row])), self._query(rest[1]))
        if rest and isinstance(rest[0], list) and rest[0][:1] == ["row"]:
            raise PlanError("unsupported", "a row in a list of rows", hint="compare the columns with and / or")
        return Call("in", tuple(self.read(part) for part in rest))

    def _exists(self, rest: list) -> Expression:
        if len(rest) != 1 or not isinstance(rest[0], list):
            raise PlanError("schema_violation", "exists takes one list of operators")
        return Exists(self._query(rest[0]))

    def item(self, text: str, value: Expression) -> Item:
        """An output under a name, "T1.name" where T1 is a table here."""
        alias, dot, name = text.partition(".")
        owner = next((one.alias for one in self.given if _is(one.alias, alias)), None) if dot else None
        return Item(value, name, owner) if owner is not None and name else Item(value, text)

    def _split(self, call: object, what: str, words: tuple[str, ...]) -> tuple[str, list, dict]:
        """A call's name, its arguments and the object at its end."""
        if not isinstance(call, list) or not call or not isinstance(call[0], str):
            raise PlanError("schema_violation", f"{shown(call)} is no {what}", hint='["count"], ["sum", "T1.x"]')
        name, *args = call
        options = args.pop() if args and isinstance(args[-1], dict) else {}
        unknown = [word for word in options if word not in words]
        if unknown:
            raise PlanError(
                "schema_violation", f"the key {unknown[0]!r} in a {what}", hint=f"known: {', '.join(words)}"
            )
        return name.lower(), args, options

    def aggregation(self, call: object) -> Aggregation:
        name, args, options = self._split(call, "aggregate", ("where",))
        is_distinct = name.endswith(" distinct")
        where = self.read(options["where"]) if "where" in options else None
        return Aggregation(name.removesuffix(" distinct"), tuple(self.read(arg) for arg in args), is_distinct, where)

    def over(self, call: object) -> Over:
        name, args, options = self._split(call, "window function", ("where", "by", "order", "frame"))
        for word in ("by", "order", "frame"):
            if not isinstance(options.get(word, []), list):
                raise PlanError("schema_violation", f"{word} is {shown(options[word])}, a list is wanted")
        return Over(
            name,
            tuple(self.read(arg) for arg in args),
            tuple(self.read(part) for part in options.get("by", [])),
            tuple(self.sort_key(key) for key in options.get("order", [])),
            self._frame(options["frame"]) if "frame" in options else None,
            self.read(options["where"]) if "where" in options else None,
        )

    def _frame(self, frame: list) -> Frame | None:
        if not 3 <= len(frame) <= 4 or not isinstance(frame[0], str) or not isinstance(frame[-1], str | list):
            hint = '["rows", "unbounded preceding", "current row"]'
            raise PlanError("schema_violation", f"{shown(frame)} is no frame", hint=hint)
        exclude = frame[3] if len(frame) == 4 else "no others"
        found = Frame(frame[0], self._bound(frame[1]), self._bound(frame[2]), exclude)
        return None if found == Frame() else found

    def _bound(self, bound: object) -> Bound:
        if isinstance(bound, list) and len(bound) == 2 and isinstance(bound[0], str):
            return Bound(bound[0], self.read(bound[1]))
        if not isinstance(bound, str):
            raise PlanError("schema_violation", f"{shown(bound)} is no frame bound", hint=f"known: {', '.join(BOUNDS)}")
        return Bound(bound)

    def sort_key(self, key: object) -> SortKey:
        """ "T1.n desc nulls last", or ["desc", expression]."""
        if isinstance(key, list) and key and isinstance(key[0], str) and (order := _direction(key[0].lower().split())):
            if len(key) != 2:
                raise PlanError("schema_violation", f"{shown(key)} is no sort key", hint='["desc", expression]')
            return SortKey(self.read(key[1]), *order)
        if isinstance(key, str) and not key.startswith("'"):
            words = key.split(" ")
            for length in (3, 1):
                order = _direction([word.lower() for word in words[-length:]]) if len(words) > length else None
                if order:
                    return SortKey(self._named(" ".join(words[:-length])), *order)
        return SortKey(self.read(key))


def column_item_name(reader: ExpressionReader, entry: object) -> Item:
    """An entry of a select list that gives no name: a column, under its own."""
    value = reader.read(entry)
    if not isinstance(value, Column):
        hint = 'give it a name: {"name": expression}'
        raise PlanError("schema_violation", f"{shown(entry)} has no name", hint=hint)
    return Item(value, value.name) if value.is_outer else Item.keep(value)


def shown(value: object) -> str:
    """A JSON value for a message, cut short."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _direction(words: list[str]) -> tuple[bool, bool | None] | None:
    if not words or words[0] not in ("asc", "desc"):
        return None
    is_descending = words[0] == "desc"
    if len(words) == 1:
        return is_descending, None
    if len(words) == 3 and words[1] == "nulls" and words[2] in ("first", "last"):
        return is_descending, words[2] == "first"
    return None


def _is(one: str | None, other: str) -> bool:
    return one is not None and one.lower() == other.lower()
