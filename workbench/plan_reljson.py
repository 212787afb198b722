"""A plan -> RelJson, the form in which Apache Calcite writes its relational trees.

In: a Plan. Out: {"rels": [...]}, each rel with its id, columns by place in its inputs' rows, the root last. What Calcite's
form has no room for stands under the key "plan", which Calcite passes over: aliases, which operator a Project or Aggregate
is one part of, bodies of subqueries (Calcite's own writer drops them), named sub-pipelines. With it the way back gives an
equal plan (plan_from_reljson). Raises UnsupportedError for what a rel cannot hold: recursion, row numbers, computed limits.
"""

import json
from collections.abc import Iterable

from workbench import reljson_names as names
from workbench.errors import UnsupportedError
from workbench.plan import (
    Aggregate,
    As,
    Distinct,
    Filter,
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
from workbench.plan_columns import Field, Item
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

Scopes = tuple[tuple[Field, ...], ...]  # the columns here, then those of the queries around
SET_WORDS = {kind: word for word, kind in names.SET_OPERATIONS.items()}
TRUE = {"literal": True, "type": {"type": "BOOLEAN", "nullable": False}}


def write_reljson(plan: Plan) -> str:
    """The text; see Plan.to_reljson."""
    writer = Writer()
    return json.dumps({"rels": writer.query(plan.root, ())}, ensure_ascii=False, separators=(",", ":"))


class Writer:
    """Writes the rels of one plan; ids are unique over all its queries."""

    def __init__(self):
        self.count = 0
        self.known: dict[str, str] = {}  # a named sub-pipeline -> the id of its last rel

    def query(self, root: Relation, outer: Scopes) -> list[dict]:
        rels: list[dict] = []
        self.visit(root, outer, rels)
        return rels

    def visit(self, node: Relation, outer: Scopes, rels: list[dict]) -> str:
        """Append the rels of an operator and of what it reads; gives the id of its last one."""
        inputs = [self.visit(one, outer, rels) for one in node.inputs] if not isinstance(node, With) else []
        return getattr(self, f"_{type(node).__name__.lower()}")(node, inputs, outer, rels)

    def _add(self, rels: list[dict], word: str, inputs: list[str], about: dict | None = None, **keys: object) -> str:
        rel = {"id": str(self.count), "relOp": f"Logical{word}", "inputs": inputs, **keys}
        rels.append(rel | ({"plan": about} if about else {}))
        self.count += 1
        return rel["id"]

    def _project(self, node: Project, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        return self._items(node.items, inputs, (node.input.fields, *outer), rels, {})

    def _items(self, items: tuple[Item, ...], inputs: list[str], scopes: Scopes, rels: list, about: dict) -> str:
        exprs = [self.write(item.value, scopes) for item in items]
        return self._add(rels, "Project", inputs, about | _aliases(items), fields=[i.name for i in items], exprs=exprs)

    def _same(self, fields: Iterable[Field], inputs: list[str], rels: list, about: dict) -> str:
        """A Project that only renames."""
        fields = tuple(fields)
        exprs = [_place(number) for number in range(len(fields))]
        return self._add(rels, "Project", inputs, about, fields=[one.name for one in fields], exprs=exprs)

    def _scan(self, node: Scan, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        if node.has_rowid:
            raise UnsupportedError("a row number in RelJson")
        return self._add(rels, "TableScan", [], {"alias": node.alias}, table=[node.table])

    def _ref(self, node: Ref, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        about = {"operator": "ref", "name": node.name, "alias": node.alias}
        return self._same(node.fields, [self.known[node.name.lower()]], rels, about)

    def _values(self, node: Values, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        if any(not isinstance(value, Literal) for row in node.rows for value in row):
            raise UnsupportedError("a computed value among constant rows in RelJson")
        if not node.names:  # Calcite has no row without columns
            zero = self.write(Literal(0), ())
            return self._add(rels, "Values", [], {"names": []}, type=[zero["type"] | {"name": "ZERO"}], tuples=[[zero]])
        kinds = [
            {"type": names.TYPES[one.type], "nullable": True, "name": name}
            for one, name in zip(node.fields, node.names, strict=True)
        ]
        return self._add(rels, "Values", [], type=kinds, tuples=[[self.write(v, ()) for v in row] for row in node.rows])

    def _filter(self, node: Filter, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        return self._add(rels, "Filter", inputs, condition=self.write(node.condition, (node.input.fields, *outer)))

    def _join(self, node: Join, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        scopes = (node.left.fields + node.right.fields, *outer)
        condition = TRUE if node.on is None else self.write(node.on, scopes)
        return self._add(rels, "Join", inputs, condition=condition, joinType=names.JOINS.get(node.kind, "inner"))

    def _aggregate(self, node: Aggregate, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        """Keys, arguments and conditions are computed by a Project of their own, marked as the aggregate's."""
        columns, aggs = list(node.keys), []

        def place(value: Expression) -> int:
            """The column of a value, one for all its uses."""
            at = next((number for number, item in enumerate(columns) if item.value == value), len(columns))
            if at == len(columns):
                columns.append(Item(value, f"$f{at}"))
            return at

        for item in node.items:
            call = item.value
            agg = {"agg": names.aggregate(call.name), "type": _type(call.type), "distinct": call.is_distinct}
            agg |= {"operands": [place(arg) for arg in _filtered(call)], "name": item.name}
            about = _filter_mark(call)
            aggs.append(agg | ({"plan": about} if about else {}))
        if columns:
            mark = {"operator": "inputs"}
            inputs = [self._items(tuple(columns), inputs, (node.input.fields, *outer), rels, mark)]
        about = _aliases(node.items) | ({} if columns else {"operator": "aggregate"})
        return self._add(rels, "Aggregate", inputs, about, group=list(range(len(node.keys))), aggs=aggs)

    def _distinct(self, node: Distinct, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        return self._add(rels, "Aggregate", inputs, group=list(range(len(node.fields))), aggs=[])

    def _window(self, node: Window, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        scopes = (node.input.fields, *outer)
        exprs = [_place(number) for number in range(len(node.input.fields))]
        exprs += [self.write(item.value, scopes) for item in node.items]
        about = {"operator": "window"} | _aliases(node.items)
        return self._add(rels, "Project", inputs, about, fields=[one.name for one in node.fields], exprs=exprs)

    def _sort(self, node: Sort, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        """Keys that are no columns are computed by a Project before, and dropped by one after."""
        keys = [self.write(key.value, (node.input.fields, *outer)) for key in node.keys]
        width, is_plain = len(node.fields), all(set(key) == {"input", "name"} for key in keys)
        if not is_plain:
            fields = [one.name for one in node.fields] + [f"$key{number}" for number in range(len(keys))]
            exprs = [_place(number) for number in range(width)] + keys
            inputs = [self._add(rels, "Project", inputs, {"operator": "inputs"}, fields=fields, exprs=exprs)]
        collation = [
            {"field": found["input"] if is_plain else width + number, **_direction(key), "nulls": _nulls(key)}
            for number, (key, found) in enumerate(zip(node.keys, keys, strict=True))
        ]
        bounds = {word: self._bound(b) for word, b in (("offset", node.offset), ("fetch", node.limit)) if b is not None}
        rel = self._add(rels, "Sort", inputs, collation=collation, **bounds)
        return rel if is_plain else self._same(node.fields, [rel], rels, {"operator": "sorted"})

    def _bound(self, bound: Expression) -> dict:
        if not isinstance(bound, Literal) or not isinstance(bound.value, int):
            raise UnsupportedError("a computed limit or offset in RelJson")
        return self.write(bound, ())

    def _setoperation(self, node: SetOperation, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        return self._add(rels, SET_WORDS[node.kind].removeprefix("Logical"), inputs, all=node.is_all)

    def _as(self, node: As, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        about = {"operator": "as", "alias": node.alias} | ({"names": list(node.names)} if node.names else {})
        return self._same(node.fields, inputs, rels, about)

    def _with(self, node: With, inputs: list[str], outer: Scopes, rels: list[dict]) -> str:
        kept, listed = dict(self.known), []
        for one in node.definitions:
            if one.is_recursive:
                raise UnsupportedError(f"the recursive sub-pipeline {one.name} in RelJson")
            rel = self.visit(one.query, outer, rels)
            self.known[one.name.lower()] = rel
            listed.append({"name": one.name, "rel": rel})
        rel = self.visit(node.input, outer, rels)
        rels[-1]["plan"] = rels[-1].get("plan", {}) | {"with": listed}
        self.known = kept
        return rel

    def write(self, value: Expression, scopes: Scopes) -> dict:
        return getattr(self, f"_write_{type(value).__name__.lower()}")(value, scopes)

    def _all(self, values: Iterable[Expression], scopes: Scopes) -> list[dict]:
        return [self.write(value, scopes) for value in values]

    def _op(self, op: tuple[str, str, str], operands: list[dict], kind: str, form: str | None = None) -> dict:
        made = {"op": dict(zip(("name", "kind", "syntax"), op, strict=True)), "operands": operands, "type": _type(kind)}
        return made | ({"plan": {"form": form}} if form else {})

    def _write_column(self, value: Column, scopes: Scopes) -> dict:
        wanted = (value.alias.lower() if value.alias else None, value.name.lower())
        for level, given in enumerate(scopes):
            if value.is_outer and level == 0:
                continue
            for number, one in enumerate(given):
                if one.key == wanted and level == 0:
                    return _place(number)
                if one.key == wanted:
                    correl = {"correl": f"$cor{len(scopes) - 1 - level}"}
                    return {"field": one.name, "expr": correl, "plan": {"alias": one.alias}}
        raise UnsupportedError(f"the column {value.text} in RelJson")

    def _write_literal(self, value: Literal, scopes: Scopes) -> dict:
        constant, kind = value.value, {"integer": "INTEGER"}.get(value.type, names.TYPES[value.type])
        if isinstance(constant, int) and abs(constant) >= 2**31:
            kind = "BIGINT"
        precision = {"precision": max(1, len(constant))} if isinstance(constant, str | bytes) else {}
        shown = constant.hex() if isinstance(constant, bytes) else constant
        return {"literal": shown, "type": {"type": kind, "nullable": constant is None} | precision}

    def _write_call(self, value: Call, scopes: Scopes) -> dict:
        name, args = value.name, self._all(value.args, scopes)
        if name == "between":
            pairs = (">=", args[1]), ("<=", args[2])
            sides = [self._op(names.OPERATORS[word], [args[0], side], "boolean") for word, side in pairs]
            return self._op(names.OPERATORS["and"], sides, "boolean", "between")
        if name == "in" and len(args) > 1:
            sides = [self._op(names.OPERATORS["="], [args[0], item], "boolean") for item in args[1:]]
            if len(sides) == 1:
                return sides[0] | {"plan": {"form": "in"}}
            return self._op(names.OPERATORS["or"], sides, "boolean", "in")
        if name == "if":
            return self._op(names.CASE, args, value.type, "if")
        if name in names.TRIMS:
            flag = {"literal": names.TRIMS[name], "type": {"type": "SYMBOL", "nullable": False}}
            cut = args[1] if len(args) == 2 else self.write(Literal(" "), ())
            form = "of given" if len(args) == 2 else None
            return self._op(("TRIM", "TRIM", "FUNCTION"), [flag, cut, args[0]], "text", form)
        if name == "||" and len(args) > 2:  # Calcite's takes two
            tree = args[0]
            for arg in args[1:]:
                tree = {"op": names.operator(name, 2), "operands": [tree, arg], "type": _type("text")}
            return tree
        return {"op": names.operator(name, len(args)), "operands": args, "type": _type(value.type)}

    def _write_cast(self, value: Cast, scopes: Scopes) -> dict:
        made = self._op(names.CAST, [self.write(value.value, scopes)], "any")
        return made | {"type": {"type": names.CAST_TYPES[value.to], "nullable": True}}

    def _write_collate(self, value: Collate, scopes: Scopes) -> dict:
        operands = [self.write(value.value, scopes), self.write(Literal(value.collation), ())]
        return self._op(("COLLATE", "OTHER_FUNCTION", "FUNCTION"), operands, value.type)

    def _write_case(self, value: Case, scopes: Scopes) -> dict:
        operands = []
        for when, then in value.branches:
            condition = self.write(when, scopes)
            if value.operand is not None:
                sides = [self.write(value.operand, scopes), condition]
                condition = self._op(names.OPERATORS["="], sides, "boolean")
            operands += [condition, self.write(then, scopes)]
        form = ("case" if value.operand is None else "case of") + (" without else" if value.otherwise is None else "")
        operands.append(self.write(value.otherwise or Literal(None), scopes))
        return self._op(names.CASE, operands, value.type, None if form == "case" else form)

    def _query(self, op: tuple[str, str, str], values: list[dict], query: Relation, scopes: Scopes, kind: str) -> dict:
        return self._op(op, values, kind) | {"plan": {"rels": self.query(query, scopes)}}

    def _write_subquery(self, value: Subquery, scopes: Scopes) -> dict:
        return self._query(("$SCALAR_QUERY", "SCALAR_QUERY", "INTERNAL"), [], value.query, scopes, value.type)

    def _write_inquery(self, value: InQuery, scopes: Scopes) -> dict:
        return self._query(("IN", "IN", "BINARY"), self._all(value.values, scopes), value.query, scopes, "boolean")

    def _write_exists(self, value: Exists, scopes: Scopes) -> dict:
        return self._query(("EXISTS", "EXISTS", "PREFIX"), [], value.query, scopes, "boolean")

    def _write_over(self, value: Over, scopes: Scopes) -> dict:
        order = [
            {"expr": self.write(key.value, scopes), **_direction(key), "null-direction": _nulls(key)}
            for key in value.order
        ]
        window = {"partition": self._all(value.partition, scopes), "order": order}
        window |= self._frame(value.frame or Frame(), scopes)
        made = {"op": names.aggregate(value.name), "operands": self._all(_filtered(value), scopes), "distinct": False}
        made |= {"type": _type(value.type), "window": window}
        about = _filter_mark(value)
        about |= {"is_framed": True} if value.frame is not None and value.name in names.FRAMELESS else {}
        return made | ({"plan": about} if about else {})

    def _frame(self, frame: Frame, scopes: Scopes) -> dict:
        ends = {"lower": self._frame_end(frame.start, scopes), "upper": self._frame_end(frame.end, scopes)}
        window: dict = {f"{frame.unit}-{side}": end for side, end in ends.items()}
        return window | (
            {"exclude": {"type": names.EXCLUSIONS[frame.exclude]}} if frame.exclude in names.EXCLUSIONS else {}
        )

    def _frame_end(self, bound: Bound, scopes: Scopes) -> dict:
        end: dict = {"type": bound.side.upper().replace(" ", "_")}
        return end | ({"offset": self.write(bound.offset, scopes)} if bound.offset is not None else {})


def _filter_mark(call: Aggregation | Over) -> dict:
    if call.where is None:
        return {}
    return {"is_filtered": True} | ({} if call.args else {"is_of_rows": True})


def _filtered(call: Aggregation | Over) -> tuple[Expression, ...]:
    """The arguments, NULL where the call's condition does not hold: Calcite's own writer drops an aggregate's filter."""
    if call.where is None:
        return call.args
    if call.name not in ("count", "sum", "total", "avg", "min", "max", "string_agg"):
        raise UnsupportedError(f"a condition on {call.name} in RelJson")
    first = call.args[0] if call.args else Literal(1)
    return (Case(((call.where, first),)), *call.args[1:])


def _place(number: int) -> dict:
    return {"input": number, "name": f"${number}"}


def _type(kind: str) -> dict:
    return {"type": names.TYPES[kind], "nullable": True}


def _aliases(items: Iterable[Item]) -> dict:
    """What says that names are a plan's own: where there are aliases, or a name stands twice."""
    aliases, texts = [item.alias for item in items], [item.name.lower() for item in items]
    return {"aliases": aliases} if any(aliases) or len(set(texts)) < len(texts) else {}


def _direction(key: SortKey) -> dict:
    return {"direction": "DESCENDING" if key.is_descending else "ASCENDING"}


def _nulls(key: SortKey) -> str:
    return "FIRST" if key.nulls_first else "LAST"
