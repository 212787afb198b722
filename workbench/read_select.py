"""One SELECT of SQLite's SQL -> filter, aggregate, window, project, distinct and sort of a plan, in this order.

The select list, HAVING and ORDER BY are read first, with place-holders for aggregates and window functions; then these
get names, and what stands beside them is lifted over the grouping (`Lift`). ORDER BY sorts before the projection where
its keys exist there, else after it by an output's name.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from workbench.errors import PlanError, UnsupportedError
from workbench.lift_over_aggregates import Lift, name_calls
from workbench.plan import Aggregate, Distinct, Filter, Item, Project, Relation, Sort, Window
from workbench.plan_expressions import Call, Collate, Column, Expression, SortKey, is_constant, rewrite, walk
from workbench.resolve_names import AGGREGATE, WINDOW, Scope, place

if TYPE_CHECKING:
    from workbench.sql_to_plan import Reader


@dataclass
class Output:
    """One column of the select list. name: written with AS, or the column's own; None where SQL gives none."""

    value: Expression
    name: str | None
    is_alias: bool


@dataclass
class Term:
    """One term of ORDER BY. output: its place in the select list where it names one."""

    value: Expression
    key: exp.Ordered
    output: int | None = None
    collation: str | None = None

    def sort_key(self, value: Expression) -> SortKey:
        value = Collate(value, self.collation) if self.collation else value
        return SortKey(value, bool(self.key.args.get("desc")), bool(self.key.args.get("nulls_first")))


class SelectReader:
    def __init__(self, reader: "Reader"):
        self.reader = reader

    def read(self, select: exp.Select, outer: Scope | None) -> Relation:
        for part in (
            "qualify",
            "cluster",
            "sort",
            "distribute",
            "into",
            "sample",
            "connect",
            "prewhere",
            "operation_modifiers",
        ):
            if select.args.get(part):
                raise UnsupportedError(part.upper(), where=place(select, self.reader.sql))
        relation, scope, late = self.reader.sources.read(select, outer)
        lift = None
        outputs, is_star = self._outputs(select, scope)
        scope.aliases |= {output.name.lower(): output.value for output in outputs if output.is_alias}
        relation = self._where(relation, select, scope, late)
        groups = self._groups(select, scope, outputs)
        having = select.args.get("having")
        condition = self.reader.expressions.read(having.this, scope) if having is not None else None
        terms = self._terms(select, scope, outputs)
        if groups or scope.aggregates or having is not None:
            lift = self._aggregate(relation, scope, groups, outputs, condition, terms)
            relation, condition = lift.relation, lift.lift(condition) if condition is not None else None
            for part in (*outputs, *terms):
                part.value = lift.lift(part.value)
            if condition is not None:
                relation = Filter(relation, condition)
        if scope.windows:
            relation = self._windows(relation, scope, outputs, terms, lift)
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise UnsupportedError("DISTINCT ON", where=place(select, self.reader.sql))
        limit, offset = self.reader.read_bounds(select, outer)
        items = self._items(outputs, scope)
        is_star = is_star or lift is not None
        if distinct is not None:
            return self._distinct(relation, items, is_star, terms, limit, offset)
        return self._ordered(relation, items, is_star, terms, limit, offset)

    def _outputs(self, select: exp.Select, scope: Scope) -> tuple[list[Output], bool]:
        """The select list, * written out; whether it is exactly what FROM gives."""
        outputs: list[Output] = []
        for node in select.expressions:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                outputs += self._star(node, scope)
                continue
            alias = node.alias if isinstance(node, exp.Alias) else None
            inner = node.this if isinstance(node, exp.Alias) else node
            value = self.reader.expressions.read(inner, scope)
            name = alias or (
                value.name if isinstance(value, Column) and value.alias not in (AGGREGATE, WINDOW) else None
            )
            outputs.append(Output(value, name, bool(alias)))
        if not outputs:
            raise PlanError("type_error", "an empty select list", where=place(select, self.reader.sql))
        given = [one.column() for one in scope.fields]
        return outputs, bool(given) and [output.value for output in outputs] == given

    def _star(self, node: exp.Expr, scope: Scope) -> list[Output]:
        table = node.text("table").lower() if isinstance(node, exp.Column) else None
        found = []
        for one in scope.fields:
            merged = scope.merged.get(one.name.lower()) if table is None else None
            is_rowid = one.key in scope.hidden and (one.alias or "").lower() in scope.rowids
            if (table is None and one.key in scope.hidden) or is_rowid:
                continue
            if table is not None and (one.alias or "").lower() != table:
                continue
            value = merged if merged is not None and not isinstance(merged, Column) else one.column()
            found.append(Output(value, one.name, False))
        if not found:
            what = f"no columns for {node.sql('sqlite')}"
            raise PlanError("unknown_table", what, where=place(node, self.reader.sql))
        return found

    def _where(self, relation: Relation, select: exp.Select, scope: Scope, late: list[Expression]) -> Relation:
        where = select.args.get("where")
        conditions = list(late)
        if where is not None:
            scope.takes_aggregates = False
            condition = self.reader.expressions.read(where.this, scope)
            scope.takes_aggregates = True
            is_and = isinstance(condition, Call) and condition.name == "and" and conditions
            conditions += condition.args if is_and else (condition,)
        if not conditions:
            return relation
        condition = conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions))
        _check_no_holders(condition, "WHERE")
        return Filter(relation, condition)

    def _groups(self, select: exp.Select, scope: Scope, outputs: list[Output]) -> list[Expression]:
        group = select.args.get("group")
        if group is None:
            return []
        if any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets", "totals", "all")):
            raise UnsupportedError("GROUP BY with grouping sets", where=place(select, self.reader.sql))
        found = []
        for node in group.expressions:
            index = _position(node)
            if index is not None:
                value = self._output(outputs, index, node, "GROUP BY").value
            else:
                value = self.reader.expressions.read(node, scope)
            _check_no_holders(value, "GROUP BY")
            if value not in found:
                found.append(value)
        return found

    def _terms(self, select: exp.Select, scope: Scope, outputs: list[Output]) -> list[Term]:
        order = select.args.get("order")
        terms = []
        for key in order.expressions if order is not None else ():
            collate = key.this if isinstance(key.this, exp.Collate) else None
            node = collate.this if collate is not None else key.this
            index = _position(node)
            if index is not None:
                value = self._output(outputs, index, node, "ORDER BY").value
            elif (index := _named(node, outputs)) is not None:
                value = outputs[index].value
            else:
                value = self.reader.expressions.read(node, scope)
            collation = self.reader.expressions.read(collate, scope).collation if collate is not None else None
            if not is_constant(value):  # else it orders nothing
                terms.append(Term(value, key, index, collation))
        return terms

    def _output(self, outputs: list[Output], index: int, node: exp.Expr, where: str) -> Output:
        if not 0 <= index < len(outputs):
            what = f"{where} {index + 1} of {len(outputs)} columns"
            raise PlanError("unknown_column", what, where=place(node, self.reader.sql))
        return outputs[index]

    def _aggregate(self, relation, scope, groups, outputs, condition, terms) -> Lift:
        names = [output.name for output in outputs if output.is_alias]
        keys = []
        for number, value in enumerate(groups):
            if isinstance(value, Column) and not value.is_outer:
                keys.append(Item.keep(value))
                continue
            alias = next(
                (o.name for o in outputs if o.is_alias and o.value == value and _is_plain(o.name, scope)), None
            )
            keys.append(Item(value, alias or _free(f"k{number + 1}", names)))
        taken = {key.field.key for key in keys}
        exact = _exact_names(AGGREGATE, outputs, scope)
        calls = name_calls(scope.aggregates, exact, names, taken)
        lift = Lift(relation, scope.fields, keys, calls)
        values = [part.value for part in (*outputs, *terms)]
        values += [condition] if condition is not None else []
        values += list(scope.windows)
        lift.find_bare_columns(values)
        lift.relation = Aggregate(relation, tuple(keys), tuple(lift.items))
        return lift

    def _windows(self, relation, scope, outputs, terms, lift) -> Relation:
        calls = [lift.lift(call) if lift else call for call in scope.windows]
        names = [output.name for output in outputs if output.is_alias]
        taken = {one.key for one in relation.fields}
        items = name_calls(calls, _exact_names(WINDOW, outputs, scope), names, taken)
        columns = {str(number): item.field.column() for number, item in enumerate(items)}
        for part in (*outputs, *terms):
            part.value = _filled(part.value, columns)
        return Window(relation, tuple(items))

    def _items(self, outputs: list[Output], scope: Scope) -> list[Item]:
        """The projection; what SQL leaves without a name gets one that says what it is, or its place."""
        taken = {output.name.lower() for output in outputs if output.is_alias}
        items = []
        for number, output in enumerate(outputs):
            value, name = output.value, output.name
            if (
                isinstance(value, Column)
                and not value.is_outer
                and (name is None or name.lower() == value.name.lower() or not _is_plain(name, scope))
            ):
                items.append(Item.keep(value))
                continue
            if name is None or (isinstance(value, Column) and not output.is_alias) or not _is_plain(name, scope):
                name = name or f"c{number + 1}"
                name = name if _is_plain(name, scope) else name.replace(".", "_")
                while name.lower() in taken and not output.is_alias:
                    name += "_"
            items.append(Item(value, name))
        return items

    def _ordered(self, relation, items, is_star, terms, limit, offset) -> Relation:
        """Sort, then project; the other way round where a key is an output that is computed only there."""
        is_late = any(term.output is not None and not isinstance(term.value, Column) for term in terms)
        values = [item.value for item in items]
        keys = tuple(term.sort_key(term.value) for term in terms)
        if is_late and all(term.value in values for term in terms):
            fields = [items[_place_of(term, values)].field for term in terms]
            if all(_count(items, one) == 1 for one in fields):
                keys = tuple(term.sort_key(one.column()) for term, one in zip(terms, fields, strict=True))
                return _sorted(_projected(relation, items, is_star), keys, limit, offset)
        return _projected(_sorted(relation, keys, limit, offset), items, is_star)

    def _distinct(self, relation, items, is_star, terms, limit, offset) -> Relation:
        """DISTINCT comes before ORDER BY, which may read a column that is not selected: that of any row of the group."""
        values = [item.value for item in items]
        if all(term.value in values for term in terms):
            places = [_place_of(term, values) for term in terms]
            keys = tuple(t.sort_key(items[p].field.column()) for t, p in zip(terms, places, strict=True))
            return _sorted(Distinct(_projected(relation, items, is_star)), keys, limit, offset)
        group = Lift(relation, relation.fields, items, [])
        group.find_bare_columns([term.value for term in terms])
        relation = Aggregate(relation, tuple(items), tuple(group.items))
        keys = tuple(term.sort_key(group.lift(term.value)) for term in terms)
        kept = [Item.keep(item.field.column()) for item in items]
        return _projected(_sorted(relation, keys, limit, offset), kept, True)


def _projected(relation: Relation, items: list[Item], is_star: bool) -> Relation:
    """A projection to exactly what is there is none."""
    fields = relation.fields
    if (
        is_star
        and len(fields) == len(items)
        and all(item.is_kept and item.field.key == one.key for item, one in zip(items, fields, strict=True))
    ):
        return relation
    return Project(relation, tuple(items))


def _sorted(relation: Relation, keys, limit, offset) -> Relation:
    return Sort(relation, keys, limit, offset) if keys or limit is not None or offset is not None else relation


def _place_of(term: Term, values: list[Expression]) -> int:
    return term.output if term.output is not None else values.index(term.value)


def _count(items: list[Item], wanted) -> int:
    return sum(item.field.key == wanted.key for item in items)


def _position(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        return int(node.this) - 1
    return None


def _named(node: exp.Expr, outputs: list[Output]) -> int | None:
    """The output that a bare name in ORDER BY means: only one written with AS."""
    if not isinstance(node, exp.Column) or node.text("table"):
        return None
    found = (n for n, one in enumerate(outputs) if one.is_alias and one.name.lower() == node.name.lower())
    return next(found, None)


def _exact_names(alias: str, outputs: list[Output], scope: Scope) -> dict[str, str]:
    """Place-holder's name -> the alias of the first output that is exactly this call."""
    found: dict[str, str] = {}
    for output in outputs:
        if (
            isinstance(output.value, Column)
            and output.value.alias == alias
            and output.is_alias
            and _is_plain(output.name, scope)
        ):
            found.setdefault(output.value.name, output.name)
    return found


def _filled(value: Expression, columns: dict[str, Column]) -> Expression:
    return rewrite(value, lambda e: columns[e.name] if isinstance(e, Column) and e.alias == WINDOW else None)


def _is_plain(name: str, scope: Scope) -> bool:
    """Whether an output's name does not read like the column of a table here."""
    head, dot, _ = name.partition(".")
    return not dot or all((one.alias or "").lower() != head.lower() for one in scope.fields)


def _free(name: str, names: list[str]) -> str:
    while name in {one.lower() for one in names}:
        name += "_"
    return name


def _check_no_holders(value: Expression, where: str) -> None:
    for part in walk(value):
        if isinstance(part, Column) and part.alias in (AGGREGATE, WINDOW):
            raise PlanError("type_error", f"misuse of an {part.alias.split()[0]} in {where}")
