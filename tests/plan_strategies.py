"""Random plans of all operators over a fuzz database, whose rows are determined.

In: a `Database`. Out: a hypothesis strategy of `Drawn`: a plan, and whether its rows have an order. What the language
leaves open is left out: a limit, a position in a window and string_agg follow a sort by all columns, any_value reads a
function of the keys, arg_min and arg_max break no ties.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from expression_strategies import NUMERIC, TEXTUAL, Expressions, Value
from fuzz_database import Database
from hypothesis import strategies as st

from workbench.plan import (
    Aggregate,
    As,
    Definition,
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
    walk_relations,
)
from workbench.plan_expressions import (
    Aggregation,
    Bound,
    Call,
    Column,
    Expression,
    Frame,
    Literal,
    Over,
    SortKey,
)

OUTPUT_NAMES = ("v", "w", "n", "name", "order", "two words", "x.y", "Größe", "select", "a-b", "rank", "it's")
OUTPUT_KINDS = ("integer", "text", "real", "condition", "date", "number", "loose", "digits")
MOST_ROWS = 200  # of a join's inputs together


@dataclass
class Rows:
    """A pipeline so far. values: its columns, in order. unique: one without repetition or NULL. size: at most so many rows."""

    relation: Relation
    values: list[Value]
    unique: Column | None = None
    is_ordered: bool = False
    size: int = 8


@dataclass(frozen=True)
class Drawn:
    """is_ordered: the plan's rows have one order, or ties of equal rows."""

    plan: Plan
    is_ordered: bool

    def __repr__(self) -> str:
        return self.plan.to_json()


@dataclass
class Plans:
    """Draws one plan. definitions: named sub-pipelines so far, each with what its columns are."""

    below: Callable
    database: Database
    definitions: list[tuple[Definition, list[Value]]] = field(default_factory=list)
    aliases: int = 0
    names: int = 0

    def expressions(self, here: Sequence[Value], outer: Sequence[Value], has_queries: bool = True) -> Expressions:
        return Expressions(self.below, here, self._query if has_queries else None, outer)

    def alias(self) -> str:
        self.aliases += 1
        return f"a{self.aliases}"

    def name(self, make: Expressions) -> str:
        self.names += 1
        return f"{make.pick(OUTPUT_NAMES)}{self.names}" if make.chance(25) else f"v{self.names}"

    def pipeline(self, depth: int, outer: Sequence[Value] = (), most: int = 5) -> Rows:
        """depth: how deep queries may still nest."""
        rows = self._source(outer)
        steps = (
            self._filter, self._project, self._aggregate, self._sort, self._join, self._distinct, self._window, self._set,
            self._as,
        )  # fmt: skip
        make = self.expressions(rows.values, outer)
        for _ in range(make.pick((0, 1, 2, 3, 4, 2, 3, 3)) if most > 3 else make.pick((0, 1, 2))):
            step = make.pick(steps)
            rows = step(rows, outer, depth)
        return rows

    def _source(self, outer: Sequence[Value]) -> Rows:
        make = self.expressions((), outer)
        form = make.pick(("scan", "scan", "scan", "ref", "values"))
        if form == "ref" and self.definitions:
            return self._ref(make)
        if form == "values":
            kinds = [make.pick(("integer", "text", "real", "number")) for _ in range(make.pick((1, 2)))]
            made = [[make.value(kind, 1) for kind in kinds] for _ in range(make.pick((1, 2, 3)))]
            names = tuple(f"column{n + 1}" for n in range(len(kinds)))
            names = tuple(self.name(make) for _ in kinds) if make.chance(40) else names
            relation = Values(tuple(tuple(value.e for value in row) for row in made), names)
            columns = [
                replace(one, is_exact=all(v.is_exact for v in values), kind=_open(one.kind))
                for one, *values in zip(made[0], *made, strict=True)
            ]
            return Rows(relation, _columns(relation, columns), size=3)
        return self._scan(make)

    def _scan(self, make: Expressions) -> Rows:
        table = make.pick(self.database.schema.tables)
        scan = Scan.of(table, self.alias() if make.chance(85) else None)
        unique = self.database.unique[table.name]
        roles = {name: role for (owner, name), role in self.database.roles.items() if owner == table.name}
        values = [Value(one.column(), roles.get(one.name, "integer")) for one in scan.fields]
        return Rows(scan, values, next(v.e for v in values if v.e.name == unique))

    def _ref(self, make: Expressions) -> Rows:
        definition, values = make.pick(self.definitions)
        ref = Ref.of(definition.name, definition.query.fields, self.alias())
        return Rows(ref, _columns(ref, values), size=40)

    def _filter(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        make = self.expressions(rows.values, outer, depth > 0)
        return replace(rows, relation=Filter(rows.relation, make.condition(2).e), is_ordered=False)

    def _project(self, rows: Rows, outer: Sequence[Value], depth: int, kinds: Sequence[str] = ()) -> Rows:
        """kinds: what the columns must be; any otherwise."""
        make = self.expressions(rows.values, outer, depth > 0)
        items, values, unique, taken = [], [], None, set()
        for kind in kinds or [None] * make.pick((2, 1, 3, 4)):
            found = rows.values if kind is None else [v for v in rows.values if v.kind == kind]
            kept = make.pick(found) if found and make.chance(55) else None
            if kept is not None and _key(kept.e) not in taken:
                taken.add(_key(kept.e))
                items.append(Item.keep(kept.e))
                values.append(kept)
                unique = kept.e if kept.e == rows.unique else unique
            else:
                values.append(make.value(kind or make.pick(OUTPUT_KINDS), 2))
                items.append(Item(values[-1].e, self.name(make)))
        relation = Project(rows.relation, tuple(items))
        return replace(rows, relation=relation, values=_columns(relation, values), unique=unique)

    def _join(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        make = self.expressions((), outer)
        if not rows.values:
            return rows
        is_ref = self.definitions and make.chance(30)
        right = self._ref(make) if is_ref else self._scan(make)
        taken = {one.alias.lower() for one in rows.relation.fields if one.alias}
        if right.relation.alias.lower() in taken or rows.size * right.size > MOST_ROWS:
            return rows
        kind = make.pick(("inner", "left", "semi", "anti", "cross", "right", "full"))
        both = rows.values + right.values
        on = None
        if kind != "cross":
            on = self._equality(rows.values, right.values, make) or self.expressions(both, outer, False).condition(1).e
            if make.chance(25):
                on = Call("and", (on, self.expressions(both, outer, False).condition(1).e))
        relation = Join(rows.relation, right.relation, kind, on)
        if kind in ("semi", "anti"):
            return replace(rows, relation=relation, is_ordered=False)
        return Rows(relation, both, size=rows.size * right.size)

    def _equality(self, left: list[Value], right: list[Value], make: Expressions) -> Expression | None:
        pairs = [
            (one, other)
            for one in left
            for other in right
            if one.is_stable and other.is_stable and _class(one.kind) == _class(other.kind) in ("number", "text")
        ]
        if not pairs:
            return None
        one, other = make.pick(pairs)
        return Call("=", (one.e, other.e))

    def _aggregate(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        make = self.expressions(rows.values, outer, depth > 0 and bool(self.below(2)))
        keys, key_values, taken = [], [], set()
        for _ in range(make.pick((1, 0, 2))):
            stable = [v for v in rows.values if v.is_stable and v.kind not in ("mixed",) and _key(v.e) not in taken]
            if stable and make.chance(75):
                value = make.pick(stable)
                taken.add(_key(value.e))
                keys.append(Item.keep(value.e))
            else:
                value = make.value(make.pick(("integer", "text", "date", "condition")), 1)
                keys.append(Item(value.e, self.name(make)))
            key_values.append(value)
        items, values = [], []
        for _ in range(make.pick((1, 2, 0 if keys else 1, 3))):
            call, value = self._aggregation(rows, make, key_values)
            items.append(Item(call, self.name(make)))
            values.append(value)
        relation = Aggregate(rows.relation, tuple(keys), tuple(items))
        unique = None
        return Rows(relation, _columns(relation, key_values + values), unique, False, rows.size if keys else 1)

    def _aggregation(self, rows: Rows, make: Expressions, keys: list[Value]) -> tuple[Aggregation, Value]:
        inner = self.expressions(make.here, make.outer, False)
        name = make.pick(
            ("count", "sum", "min", "max", "avg", "total", "string_agg", "any_value", "arg_max", "arg_min")
        )
        where = inner.condition(1).e if make.chance(20) else None
        if name == "string_agg" and not rows.is_ordered:
            name = "count"
        if name in ("arg_max", "arg_min"):
            return self._at_extreme(name, rows, inner)
        if name == "any_value":
            known = [key for key in keys if isinstance(key.e, Column) and not key.e.is_outer]
            if not known:
                name = "count"
            else:
                reader = self.expressions(known, (), False)
                value = make.pick(known)
                value = (
                    reader.value(value.kind, 1) if value.kind not in ("blob", "mixed") and make.chance(40) else value
                )
                return Aggregation(name, (value.e,)), value
        if name == "count" and make.chance(50):
            return Aggregation(name, (), where=where), Value(Literal(0), "integer")
        is_distinct = make.chance(15)
        if name in ("min", "max"):
            value = inner.value(make.pick(("integer", "text", "real", "date", "number", "condition")), 1)
            return Aggregation(name, (value.e,), is_distinct, where), _plain(value)
        if name == "string_agg":
            separator = (Literal(make.pick((";", "", ", "))),) if make.chance(50) else ()
            return Aggregation(name, (inner.textual(1).e, *separator), where=where), Value(Literal(""), "text")
        if name == "count":
            return Aggregation(name, (inner.any(1).e,), is_distinct, where), Value(Literal(0), "integer")
        value = inner.numeric(1, ("integer", "real", "number", "loose", "digits", "text"))
        mixed = [one for one in rows.values if one.kind == "mixed"]
        value = make.pick(mixed) if mixed and make.chance(30) else value
        return Aggregation(name, (value.e,), is_distinct, where), _summed(name, value)

    def _at_extreme(self, name: str, rows: Rows, inner: Expressions) -> tuple[Aggregation, Value]:
        """The row is one, or what is read is the same in all rows that may be meant."""
        if rows.unique is not None:
            by = rows.unique
            value = inner.value(inner.pick(("integer", "text", "real", "date")), 1)
        else:
            found = inner.value(inner.pick(("integer", "text", "date", "real")), 0)
            by, value = found.e, found
            if isinstance(by, Literal):
                return Aggregation("count"), Value(Literal(0), "integer")
        return Aggregation(name, (value.e, by)), value

    def _order(self, rows: Rows, make: Expressions, is_total: bool) -> tuple[SortKey, ...] | None:
        """Keys, by all columns if the order must be total; None where that cannot be said."""
        found = [v for v in rows.values if v.kind != "mixed"]
        keys = []
        for _ in range(make.pick((1, 0, 2) if is_total else (1, 2))):
            stable = [v for v in found if v.is_stable]
            value = (
                make.pick(stable)
                if stable and make.chance(75)
                else make.value(make.pick(("integer", "text", "real")), 1)
            )
            keys.append(make.sort_key(value))
        if is_total and rows.unique is not None:
            return (*keys, SortKey(rows.unique, make.chance(50)))
        if is_total:
            if any(not v.is_stable or v.kind == "mixed" for v in rows.values):
                return None
            keys += [make.sort_key(value) for value in found]
        return tuple(keys)

    def _sort(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        make = self.expressions(rows.values, outer, depth > 0)
        order = self._order(rows, make, is_total=make.chance(75))
        total = order is not None and _is_total(order, rows)
        if order is None or not order:
            return rows
        limit = Literal(make.pick((2, 1, 3, 0, 5))) if total and make.chance(50) else None
        offset = Literal(make.pick((1, 2))) if total and make.chance(20) else None
        return replace(rows, relation=Sort(rows.relation, order, limit, offset), is_ordered=total)

    def _distinct(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        if any(not value.is_stable or value.kind == "mixed" for value in rows.values):
            return rows
        return replace(rows, relation=Distinct(rows.relation), is_ordered=False)

    def _as(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        make = self.expressions(rows.values, outer)
        names = tuple(self.name(make) for _ in rows.values) if make.chance(40) else ()
        relation = As(rows.relation, self.alias(), names)
        values = _columns(relation, rows.values)
        unique = next((v.e for v, old in zip(values, rows.values, strict=True) if old.e == rows.unique), None)
        return replace(rows, relation=relation, values=values, unique=unique, is_ordered=False)

    def _set(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        make = self.expressions(rows.values, outer)
        kind, is_all = make.pick((("union", True), ("union", False), ("intersect", False), ("except", False)))
        if depth <= 0 or any(v.kind in ("mixed", "blob") or not (v.is_stable or is_all) for v in rows.values):
            return rows
        if len(rows.values) > 4:
            rows = self._project(rows, outer, 0)
            if any(v.kind in ("mixed", "blob") or not (v.is_stable or is_all) for v in rows.values):
                return rows
        other = self.pipeline(depth - 1, outer, 3)
        other = self._project(other, outer, 0, [value.kind for value in rows.values])
        relation = SetOperation(rows.relation, other.relation, kind, is_all)
        values = [
            replace(one, is_exact=one.is_exact and two.is_exact, is_stable=one.is_stable and two.is_stable)
            for one, two in zip(rows.values, other.values, strict=True)
        ]
        return Rows(relation, _columns(relation, values), size=rows.size + other.size)

    def _window(self, rows: Rows, outer: Sequence[Value], depth: int) -> Rows:
        make = self.expressions(rows.values, outer, False)
        items, values = [], []
        for _ in range(make.pick((1, 2))):
            made = self._over(rows, make)
            if made is not None:
                items.append(Item(made[0], self.name(make)))
                values.append(made[1])
        if not items:
            return rows
        relation = Window(rows.relation, tuple(items))
        return replace(rows, relation=relation, values=_columns(relation, rows.values + values), is_ordered=False)

    def _over(self, rows: Rows, make: Expressions) -> tuple[Over, Value] | None:
        ranks = ("rank", "dense_rank", "percent_rank", "cume_dist")
        places = ("row_number", "lag", "lead", "first_value", "last_value", "nth_value", "ntile")
        sums = ("count", "sum", "min", "max", "avg", "total")
        name = make.pick(("row_number", "rank", *sums, *ranks[1:], *places[1:], "string_agg"))
        is_sum = name in sums
        frame = self._frame(make) if is_sum or name in ("first_value", "last_value", "nth_value") else None
        is_span = frame is not None and frame.unit == "range" and (frame.start.offset or frame.end.offset)
        frame = frame if is_sum or not is_span else None  # a span has one key, which is no total order
        is_total = name in places or name == "string_agg" or (frame is not None and frame.unit == "rows")
        order = self._order(rows, make, is_total) if not is_sum or frame is not None or make.chance(60) else ()
        if order is None or (not order and not is_sum):
            return None
        if is_sum and is_span:
            found = [v for v in rows.values if v.kind in ("integer", "real") and v.is_stable]
            if not found:
                return None
            order = (make.sort_key(make.pick(found)),)
        stable = [v for v in rows.values if v.is_stable and v.kind != "mixed"]
        partition = tuple(make.pick(stable).e for _ in range(make.pick((0, 1)) if stable else 0))
        if is_sum or name == "string_agg":
            # SQLite 3.40 leaves out the filter of MIN and MAX where the frame's start moves
            is_free = name not in ("min", "max") or frame is None
            where = make.condition(1).e if is_free and make.chance(15) else None
            call, value = self._windowed(name, make)
            return Over(name, call, partition, order, frame, where), value
        if name in ranks or name == "row_number":
            kind = "real" if name in ("percent_rank", "cume_dist") else "integer"
            return Over(name, (), partition, order), Value(Literal(0), kind, is_exact=False)
        if name == "ntile":
            return Over(name, (Literal(make.pick((2, 3, 1))),), partition, order), Value(Literal(0), "integer")
        value = make.value(make.pick(("integer", "text", "real", "date")), 1)
        args: tuple = (value.e,)
        if name in ("lag", "lead"):
            args += make.pick(((), (Literal(1),), (Literal(2), make.value(value.kind, 0).e)))
        if name == "nth_value":
            args += (Literal(make.pick((1, 2))),)
        return Over(name, args, partition, order, frame), replace(value, is_exact=False)

    def _windowed(self, name: str, make: Expressions) -> tuple[tuple, Value]:
        if name == "count":
            return (() if make.chance(50) else (make.any(1).e,)), Value(Literal(0), "integer")
        if name == "string_agg":
            # SQLite 3.40 gives NULL for an empty text here
            return (Call("||", (Literal("<"), make.textual(1).e)),), Value(Literal(""), "text")
        if name in ("min", "max"):
            value = make.value(make.pick(("integer", "text", "real", "date")), 1)
            return (value.e,), _plain(value)
        value = make.numeric(1, ("integer", "real", "number"))
        return (value.e,), _summed(name, value)

    def _frame(self, make: Expressions) -> Frame | None:
        if make.chance(40):
            return None
        unit = make.pick(("rows", "range", "groups"))
        bounds = (
            Bound("unbounded preceding"), Bound("preceding", Literal(1)), Bound("current row"),
            Bound("following", Literal(1)), Bound("unbounded following"),
        )  # fmt: skip
        start = make.pick(range(4))
        end = start + make.pick(range(5 - start))
        if end == 0:
            end = 2
        exclude = make.pick(("current row", "group", "ties")) if make.chance(15) else "no others"
        return Frame(unit, bounds[start], bounds[end], exclude)

    # queries in expressions

    def _query(self, make: Expressions, kinds: Sequence[str], is_one_row: bool = False) -> Relation | None:
        """A query of columns of these kinds (none: any columns), which may read the columns around it."""
        if self.aliases > 12:
            return None
        around = [replace(v, e=replace(v.e, is_outer=True)) for v in make.here if isinstance(v.e, Column)]
        around += [v for v in make.outer if isinstance(v.e, Column)]
        rows = self._source(())
        if make.chance(50):
            pairs = [
                (one, other)
                for one in rows.values
                for other in around
                if one.is_stable and other.is_stable and _class(one.kind) == _class(other.kind) in ("number", "text")
            ]
            if pairs:
                one, other = make.pick(pairs)
                rows = replace(rows, relation=Filter(rows.relation, Call(make.pick(("=", "<")), (one.e, other.e))))
        if make.chance(25):
            rows = self._filter(rows, around, 0)
        if not kinds:
            return rows.relation
        reader = self.expressions(rows.values, around if make.chance(30) else (), False)
        if is_one_row and make.chance(60):
            value = reader.value(kinds[0], 1)
            name = make.pick(("max", "min", "count") if kinds[0] == "integer" else ("max", "min"))
            relation = Aggregate(rows.relation, (), (Item(Aggregation(name, (value.e,)), self.name(make)),))
            return Project(relation, (Item.keep(relation.fields[0].column()),)) if make.chance(50) else relation
        if is_one_row:
            order = self._order(rows, reader, is_total=True)
            if not order:
                return None
            relation = Sort(rows.relation, order, Literal(1) if make.chance(50) else None)
            rows = replace(rows, relation=relation)
        return self._project(rows, (), 0, kinds).relation

    def define(self, depth: int) -> None:
        """One more named sub-pipeline."""
        make = self.expressions((), ())
        name = f"w{len(self.definitions) + 1}"
        if make.chance(25):
            self.definitions.append(self._recursive(name, make))
            return
        rows = self.pipeline(depth, (), 3)
        self.definitions.append((Definition(name, rows.relation), rows.values))

    def _recursive(self, name: str, make: Expressions) -> tuple[Definition, list[Value]]:
        """Numbers from a start to an end, with a text that grows."""
        start: Relation = Values(((Literal(make.pick((1, 0, 3))), Literal("a")),), ("column1", "column2"))
        if make.chance(50):
            start = Project(start, tuple(Item(f.column(), n) for f, n in zip(start.fields, ("n", "s"), strict=True)))
        number, text = (one.name for one in start.fields)
        ref = Ref.of(name, start.fields)
        n, s = (one.column() for one in ref.fields)
        below = Filter(ref, Call("<", (n, Literal(make.pick((3, 5))))))
        step = Project(below, (Item(Call("+", (n, Literal(1))), number), Item(Call("||", (s, Literal("b"))), text)))
        query = SetOperation(start, step, "union", make.chance(70))
        return Definition(name, query, True), [Value(n, "integer"), Value(s, "text")]


def plans(database: Database) -> st.SearchStrategy[Drawn]:
    """Hypothesis draws through a Random of its own: integers drawn one by one give the same small plans again and again."""
    return st.randoms(use_true_random=False).map(lambda chance: draw_plan(lambda n: chance.randint(0, n - 1), database))


def draw_plan(below: Callable, database: Database) -> Drawn:
    """A plan by a source of choices, which gives for n one of 0 to n - 1."""
    maker = Plans(below, database)
    for _ in range((0, 0, 0, 1, 2)[below(5)]):
        maker.define(1)
    rows = maker.pipeline(2)
    if any(value.kind in ("mixed", "blob") for value in rows.values):
        shown = tuple(Item.keep(v.e) for v in rows.values if v.kind not in ("mixed", "blob"))
        rows = replace(rows, relation=Project(rows.relation, shown)) if shown else maker._aggregate(rows, (), 0)
    root = rows.relation
    used = _names_read(root)
    kept = []
    for definition, _ in reversed(maker.definitions):
        if definition.name in used:
            kept.insert(0, definition)
            used |= _names_read(definition.query)
    return Drawn(Plan(With(tuple(kept), root) if kept else root), rows.is_ordered)


def _names_read(relation: Relation) -> set[str]:
    return {one.name for one in walk_relations(relation) if isinstance(one, Ref)}


def _columns(relation: Relation, values: Sequence[Value]) -> list[Value]:
    """What is known of values, for the columns that hold them now."""
    return [replace(v, e=one.column()) for one, v in zip(relation.fields, values, strict=True)]


def _key(column: Column) -> tuple:
    return ((column.alias or "").lower(), column.name.lower())


def _class(kind: str) -> str:
    return "number" if kind in NUMERIC else "text" if kind in TEXTUAL else kind


def _open(kind: str) -> str:
    """The kind of what is computed from it: without an affinity a number is an integer or a real row by row."""
    return "loose" if kind == "number" else kind


def _plain(value: Value) -> Value:
    return replace(value, kind="integer" if value.kind == "condition" else _open(value.kind))


def _summed(name: str, value: Value) -> Value:
    is_real = name in ("avg", "total") or value.kind == "real"
    kind = "real" if is_real else "integer" if value.kind in ("integer", "condition") else "loose"
    return Value(Literal(0), kind, is_stable=value.is_exact, is_exact=value.is_exact and name != "avg")


def _is_total(order: tuple[SortKey, ...], rows: Rows) -> bool:
    keys = {key.value for key in order}
    return rows.unique in keys or all(value.e in keys for value in rows.values)
