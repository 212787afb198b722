"""Where a query uses names that it defines itself, and where it defines them: offsets in its SQL and in its compact plan.

In: SQLite's SQL, or a plan. Out: one (use, definition) per use, in characters. Names of the query's own are tables and
their aliases, named sub-queries, and columns that are given a name; a table's columns are defined in the schema, so that
of `T1.city` the use of T1 counts. Used by `features` (plans paper, appendix I, "planning horizon" and "locality").
"""

import json

from sqlglot import exp

from workbench.plan import Plan

Use = tuple[int, int]
_ENDS = (" desc", " asc", " nulls first", " nulls last")


def sql_uses(tree: exp.Expr) -> list[Use]:
    """The uses of a tree that `sqlite_parser.parse` read; what is quoted begins at its quote."""
    uses = []
    for column in tree.find_all(exp.Column):
        name = column.args.get("table") or column.this
        found = _source(column, name.name) if column.table else named_output(column)
        if found is not None and _at(name) is not None and _at(found) is not None:
            uses.append((_at(name), _at(found)))
    for table in tree.find_all(exp.Table):
        found = _named_query(table)
        if found is not None:
            uses.append((_at(table.this), _at(found)))
    return sorted(uses)


def named_output(column: exp.Column) -> exp.Expr | None:
    """The alias in the select list that a column without a table means in ORDER BY, GROUP BY or HAVING."""
    if column.table:
        return None
    part = column.find_ancestor(exp.Order, exp.Group, exp.Having, exp.Select, exp.Subquery, exp.Window)
    if not isinstance(part, exp.Order | exp.Group | exp.Having):
        return None
    select = part.parent
    while isinstance(select, exp.SetOperation):
        select = select.this
    items = select.expressions if isinstance(select, exp.Select) else []
    aliases = (item.args["alias"] for item in items if isinstance(item, exp.Alias))
    return next((alias for alias in aliases if alias.name.lower() == column.name.lower()), None)


def _source(column: exp.Column, name: str) -> exp.Expr | None:
    """The alias or table that a column is read from, in the nearest query that has it."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        parts = [select.args.get("from_"), *select.args.get("joins", ())]
        for source in (part.this for part in parts if part is not None):
            alias = source.args.get("alias")
            defined = alias.this if alias is not None else source.this
            if isinstance(defined, exp.Identifier) and defined.name.lower() == name.lower():
                return defined
        select = select.find_ancestor(exp.Select)
    return None


def _named_query(table: exp.Table) -> exp.Expr | None:
    above = table.parent
    while above is not None:
        given = above.args.get("with_")
        for one in given.expressions if given is not None else ():
            if one.alias.lower() == table.name.lower():
                return one.args["alias"].this
        above = above.parent
    return None


def _at(name: exp.Expr) -> int | None:
    return name.meta.get("start")


def plan_uses(plan: Plan) -> tuple[str, list[Use]]:
    """The plan's compact JSON, as `to_json` gives it, and the uses in it."""
    writer = _Writer()
    writer.pipeline(json.loads(plan.to_json()))
    return "".join(writer.parts), sorted(writer.uses)


class _Writer:
    """Writes compact JSON again, operator by operator, to know where each name stands."""

    def __init__(self):
        self.parts: list[str] = []
        self.length = 0
        self.defined: dict[str, int] = {}
        self.queries: dict[str, int] = {}
        self.uses: list[Use] = []

    def pipeline(self, steps: list[dict]) -> None:
        self._list(steps, self._step)

    def _step(self, step: dict) -> None:
        self._put("{")
        for number, (key, value) in enumerate(step.items()):
            self._put("," * bool(number))
            self._string(key)
            self._put(":")
            if key == "with":
                self.queries[value] = self._string(value)
            elif key == "scan" or (key.endswith("join") and isinstance(value, str)):
                at = self._string(value)
                if "as" not in step:
                    self.defined[value] = at
                if value in self.queries:
                    self.uses.append((at, self.queries[value]))
            elif key == "as":
                self.defined[value] = self._string(value)
            elif key == "steps" or key.split("_")[0] in ("union", "intersect", "except"):
                self.pipeline(value)
            elif key in ("project", "by", "aggregate", "window"):
                self._items(value)
            elif key == "sort":
                self._list(value, self._value)
            elif key == "values":
                self._list(value, lambda row: self._list(row, self._value))
            else:
                self._value(value)
        self._put("}")

    def _items(self, items: list | dict) -> None:
        if isinstance(items, list):
            self._list(items, lambda one: self._items(one) if isinstance(one, dict) else self._value(one))
            return
        self._put("{")
        for number, (name, value) in enumerate(items.items()):
            self._put("," * bool(number))
            at = self._string(name)
            self._put(":")
            self._value(value)
            self.defined[name] = at
        self._put("}")

    def _value(self, value: object) -> None:
        if isinstance(value, str):
            self._reference(value, self._string(value))
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            self.pipeline(value)
        elif isinstance(value, list):
            self._list(list(enumerate(value)), lambda one: self._argument(*one))
        elif isinstance(value, dict):  # of an aggregate or a window: where, by, order, frame
            self._put("{")
            for number, (key, part) in enumerate(value.items()):
                self._put("," * bool(number))
                self._string(key)
                self._put(":")
                self._list(part, self._value) if key in ("by", "order") else self._value(part)
            self._put("}")
        else:
            self._put(json.dumps(value))

    def _argument(self, number: int, value: object) -> None:
        """A part of a call; the first is the function's name."""
        if number == 0 and isinstance(value, str):
            self._string(value)
        else:
            self._value(value)

    def _reference(self, text: str, at: int) -> None:
        if text.startswith("'"):
            return
        for end in _ENDS:
            text = text.removesuffix(end)
        name = text if text in self.defined else text.split(".")[0]
        if name in self.defined:
            self.uses.append((at, self.defined[name]))

    def _list(self, values: list, write) -> None:
        self._put("[")
        for number, one in enumerate(values):
            self._put("," * bool(number))
            write(one)
        self._put("]")

    def _string(self, text: str) -> int:
        """Writes a string; gives where it begins, behind its quote."""
        at = self.length + 1
        self._put(json.dumps(text, ensure_ascii=False))
        return at

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)
