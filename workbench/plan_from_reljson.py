"""RelJson, as Apache Calcite or plan_reljson wrote it -> a Plan.

In: text or the parsed object; a schema. Out: the plan. Rels read what `inputs` names, or the rel before them where it is
missing; columns are places in their rows. What plan_reljson adds under "plan" leads to an equal plan; without it, each
scan gets an alias of its own and a join's right side that is no table becomes a named sub-pipeline. Operators keep a
plan's meaning (docs/plan.md), whatever Calcite's types say. Raises PlanError with the rel's id; its kinds are from_json's.
"""

from dataclasses import dataclass, field

from workbench import reljson_names as names
from workbench.errors import PlanError
from workbench.plan import (
    Aggregate,
    As,
    Definition,
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
from workbench.plan_columns import Item
from workbench.plan_expressions import Aggregation, Expression, Literal, Over
from workbench.plan_from_json import built, check_shape, parse
from workbench.plan_text import queries
from workbench.read_reljson_expressions import RelExpressionReader, get, get_all, read_literal, unfiltered
from workbench.schema import Schema

MAX_DEPTH = 400  # of nested arrays and objects: a call takes two levels and more
RELS = ("TableScan", "Values", "Filter", "Project", "Join", "Aggregate", "Sort", "Union", "Intersect", "Minus")


def read_reljson(text: str | dict, schema: Schema) -> Plan:
    """The plan; see Plan.from_reljson."""
    found = parse(text) if isinstance(text, str) else text
    check_shape(found, MAX_DEPTH)
    if not isinstance(found, dict):
        raise PlanError("schema_violation", "no RelJson", hint='{"rels": [...]}')

    def root() -> Relation:
        read = RelReader(schema).query(get(found, "rels", list), ())
        _check_refs(read, {})
        return read

    return built(root)


def _check_refs(node: Relation, known: dict[str, tuple]) -> None:
    """Every named sub-pipeline that is read must be named around the place, and hold the columns that are read."""
    if isinstance(node, With):
        for one in node.definitions:
            _check_refs(one.query, known)
            known = {**known, one.name.lower(): one.query.fields}
    elif isinstance(node, Ref) and Ref.of(node.name, known.get(node.name.lower(), ()), node.alias) != node:
        raise PlanError("schema_violation", f"the sub-pipeline {node.name!r} is not named around its use")
    for below in (node.input,) if isinstance(node, With) else node.inputs:
        _check_refs(below, known)
    for query in queries(node.expressions):
        _check_refs(query, known)


@dataclass
class _Inputs:
    """A Project that is one part of the aggregate or sort after it."""

    relation: Relation
    items: list[Item]


@dataclass
class RelReader:
    """Builds the relations of one document. built: rel id -> what it gives."""

    schema: Schema
    built: dict[str, Relation | _Inputs] = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    named: list[Definition] = field(default_factory=list)  # made here, for joins with what is no table

    def query(self, rels: list, outer: tuple) -> Relation:
        kept, self.named = self.named, []
        last = None
        for number, rel in enumerate(rels):
            if not isinstance(rel, dict):
                raise PlanError("schema_violation", f"rel {number} is no object")
            name = rel.get("id", number)
            try:
                relation = self._rel(rel, last, outer)
            except PlanError as fault:
                inner = f" > {fault.where}" if fault.where else ""
                where = f"rel {name} ({rel.get('relOp')}){inner}"
                raise PlanError(fault.kind, fault.what, where=where, hint=fault.hint) from fault
            last = str(name)
            self.built[last] = relation
        if last is None:
            raise PlanError("schema_violation", "no rels")
        root = self._whole(last)
        named, self.named = tuple(self.named), kept
        return _with(named, root)

    def _whole(self, name: object) -> Relation:
        found = self.built.get(str(name))
        if not isinstance(found, Relation):
            what = f"no rel {name!r} before this one" if found is None else f"rel {name} is part of another"
            raise PlanError("schema_violation", what)
        return found

    def _rel(self, rel: dict, last: str | None, outer: tuple) -> Relation | _Inputs:
        word = get(rel, "relOp", str).rpartition(".")[2]
        kind = word.removeprefix("Logical")
        if kind not in RELS:
            raise PlanError("unknown_operator", f"the rel {word!r}", hint=f"available: Logical{', Logical'.join(RELS)}")
        about = get(rel, "plan", dict, {})
        wanted = {"TableScan": 0, "Values": 0, "Join": 2}.get(kind, 2 if kind in ("Union", "Intersect", "Minus") else 1)
        listed = get(rel, "inputs", list, [last] if last is not None else [])
        if wanted and (len(listed) < wanted or (len(listed) > wanted and wanted == 1)):
            raise PlanError("schema_violation", f"{len(listed)} inputs, {wanted} wanted")
        found = getattr(self, f"_{kind.lower()}")(rel, about, listed, outer)
        if "with" in about:
            pairs = [(get(one, "name", str), get(one, "rel", str)) for one in get_all(about, "with", dict)]
            found = _with(tuple(Definition(name, self._whole(of)) for name, of in pairs), found)
        return found

    def _expressions(self, given: tuple, outer: tuple) -> RelExpressionReader:
        return RelExpressionReader(given, outer, self.query)

    def _tablescan(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation:
        name = get_all(rel, "table", str)[-1:]
        table = self.schema.table(name[0]) if name else None
        if table is None:
            hint = f"available: {', '.join(one.name for one in self.schema.tables[:60])}"
            raise PlanError("unknown_table", f"no table {'.'.join(name)!r}", hint=hint)
        return Scan.of(table, get(about, "alias", str, None) or self._free(table.name.replace(".", "_")))

    def _free(self, name: str) -> str:
        found, number = name, 1
        while found.lower() in self.aliases:
            number += 1
            found = f"{name}_{number}"
        self.aliases.add(found.lower())
        return found

    def _values(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation:
        if about.get("names") == []:
            return Values(((),))
        columns = [get(one, "name", str) for one in get_all(rel, "type", dict)]
        return Values(tuple(tuple(map(read_literal, row)) for row in get_all(rel, "tuples", list)), tuple(columns))

    def _filter(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation:
        relation = self._whole(inputs[0])
        return Filter(relation, self._expressions(relation.fields, outer).read(get(rel, "condition", dict)))

    def _project(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation | _Inputs:
        relation, word = self._whole(inputs[0]), about.get("operator")
        if word == "sorted":
            return relation
        if word == "ref":
            return Ref.of(get(about, "name", str), relation.fields, get(about, "alias", str))
        if word == "as":
            return As(relation, get(about, "alias", str), tuple(get_all(about, "names", str, [])))
        reader, columns = self._expressions(relation.fields, outer), get_all(rel, "fields", str)
        values = [reader.read(one) for one in get_all(rel, "exprs", dict)]
        if len(columns) != len(values):
            raise PlanError("schema_violation", f"{len(columns)} fields and {len(values)} exprs")
        kept = len(relation.fields) if word == "window" else 0
        if not about:  # Calcite finds columns by their place, whatever their names
            taken: set[str] = set()
            columns = [_unused(name, taken) for name in columns]
        items = _items(values[kept:], columns[kept:], about)
        if word == "inputs":
            return _Inputs(relation, items)
        if word == "window":
            return Window(relation, tuple(items))
        return self._projected(relation, items)

    def _projected(self, relation: Relation, items: list[Item]) -> Relation:
        """Calcite computes windows in projects; a plan in an operator before."""
        windows = {item.value: f"w{number}" for number, item in enumerate(items) if isinstance(item.value, Over)}
        if windows:
            taken = {one.name.lower() for one in relation.fields}
            windows = {value: _unused(name, taken) for value, name in windows.items()}
            relation = Window(relation, tuple(Item(value, name) for value, name in windows.items()))
            made = {one.name: one.column() for one in relation.fields[-len(windows) :]}
            items = [Item(made[windows[i.value]], i.name) if i.value in windows else i for i in items]
        return Project(relation, tuple(items))

    def _join(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation:
        left, right = self._whole(inputs[0]), self._whole(inputs[1])
        taken = {one.alias.lower() for one in left.fields if one.alias}
        if not isinstance(right, Scan | Ref) or right.alias.lower() in taken:
            name = self._free("q")
            self.named.append(Definition(name, right))
            right = Ref.of(name, right.fields)
        kind, condition = get(rel, "joinType", str, "inner").lower(), get(rel, "condition", dict)
        is_all = condition.get("literal") is True
        if is_all and kind == "inner":
            return Join(left, right, "cross")
        given = left.fields + right.fields
        return Join(left, right, kind, Literal(1) if is_all else self._expressions(given, outer).read(condition))

    def _aggregate(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation:
        source, group, aggs = self.built.get(str(inputs[0])), get_all(rel, "group", int), get_all(rel, "aggs", dict)
        if len(get(rel, "groups", list, [group])) > 1:
            raise PlanError("unsupported", "grouping sets")
        relation = source.relation if isinstance(source, _Inputs) else self._whole(inputs[0])
        is_all = group == list(range(len(relation.fields)))
        if not isinstance(source, _Inputs) and is_all and not aggs and "operator" not in about:
            return Distinct(relation)
        columns = source.items if isinstance(source, _Inputs) else [Item.keep(f.column()) for f in relation.fields]

        def at(place: object) -> Item:
            if not isinstance(place, int) or not 0 <= place < len(columns):
                raise PlanError("unknown_column", f"no column ${place}", hint=f"there are {len(columns)}")
            return columns[place]

        keys, calls, taken = [at(place) for place in group], [], set()
        taken = {key.name.lower() for key in keys}
        for agg in aggs:
            name = names.read_aggregate(get(get(agg, "agg", dict), "name", str))
            args = tuple(at(place).value for place in get_all(agg, "operands", int))
            where = at(agg["filter"]).value if agg.get("filter", -1) not in (None, -1) else None
            args, where = unfiltered(args, get(agg, "plan", dict, {}), where)
            calls.append(Aggregation(name, args, agg.get("distinct") is True, where))
        given = [get(agg, "name", str, None) for agg in aggs]
        texts = [name or _unused(f"{call.name}", taken) for name, call in zip(given, calls, strict=True)]
        return Aggregate(relation, tuple(keys), tuple(_items(calls, texts, about)))

    def _sort(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation:
        source = self.built.get(str(inputs[0]))
        relation = source.relation if isinstance(source, _Inputs) else self._whole(inputs[0])
        values = (
            [i.value for i in source.items] if isinstance(source, _Inputs) else [f.column() for f in relation.fields]
        )
        keys = []
        for one in get_all(rel, "collation", dict, []):
            place = get(one, "field", int)
            if not 0 <= place < len(values):
                raise PlanError("unknown_column", f"no column ${place}", hint=f"there are {len(values)}")
            keys.append(
                names.sort_key(values[place], get(one, "direction", str), get(one, "nulls", str, "UNSPECIFIED"))
            )
        bounds = (get(rel, word, dict, None) for word in ("fetch", "offset"))
        limit, offset = (read_literal(one) if one is not None else None for one in bounds)
        if not keys and limit is None and offset is None:
            return relation
        return Sort(relation, tuple(keys), limit, offset)

    def _union(self, rel: dict, about: dict, inputs: list, outer: tuple) -> Relation:
        kind = names.SET_OPERATIONS["Logical" + get(rel, "relOp", str).rpartition(".")[2].removeprefix("Logical")]
        relation = self._whole(inputs[0])
        for one in inputs[1:]:
            relation = SetOperation(relation, self._whole(one), kind, get(rel, "all", bool, False))
        return relation

    _intersect = _minus = _union


def _with(definitions: tuple[Definition, ...], relation: Relation) -> Relation:
    if isinstance(relation, With):
        return With(definitions + relation.definitions, relation.input)
    return With(definitions, relation) if definitions else relation


def _items(values: list[Expression], texts: list[str], about: dict) -> list[Item]:
    aliases = get(about, "aliases", list, [None] * len(values))
    if len(aliases) != len(values) or not all(isinstance(one, str | None) for one in aliases):
        raise PlanError("schema_violation", f"{len(aliases)} aliases for {len(values)} columns")
    return [Item(value, text, alias) for value, text, alias in zip(values, texts, aliases, strict=True)]


def _unused(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found.lower() in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found.lower())
    return found
