"""A plan -> SQL of one engine: readable, every column qualified, one SELECT for as many operators as one can hold.

In: a `Plan` and a dialect's name. Out: the text. Operators are folded, from the first to the last, into `Select`s: an
operator joins the one that is open if SQL's own order (FROM, WHERE, GROUP BY, HAVING, windows, select list, DISTINCT,
ORDER BY, LIMIT) evaluates it there, else the open one becomes a query in FROM. Named sub-pipelines become WITH. What an
expression looks like is the dialect's business. Raises UnsupportedError where the engine cannot reach the meaning.
"""

from dataclasses import replace

from sqlglot import exp

from workbench.dialects import get_dialect
from workbench.dialects.base import Names
from workbench.errors import UnsupportedError
from workbench.lower import lower
from workbench.plan import (
    Aggregate,
    As,
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
    renamed,
    walk_relations,
)
from workbench.plan_expressions import Aggregation, Column, Exists, Expression, InQuery, Literal, Subquery, walk
from workbench.select_parts import Select, Stage

_SET_KINDS = {"union": exp.Union, "intersect": exp.Intersect, "except": exp.Except}


def plan_to_sql(plan: Plan, dialect: str = "sqlite", is_pretty: bool = False) -> str:
    """The SQL of a plan. is_pretty: on several lines."""
    writer = Writer(plan, dialect)
    root = plan.root if writer.dialect.is_native else lower(plan.root)
    return writer.dialect.sql(writer.query(root, None), is_pretty)


class Writer:
    """Folds the operators of one plan. `visit_<Operator>`: relation and the names around it in, Select out."""

    def __init__(self, plan: Plan, dialect: str):
        self.dialect = get_dialect(dialect)(self.query)
        self.aliases = {
            one.alias.lower() for relation in walk_relations(plan.root) for one in relation.fields if one.alias
        }

    def query(self, relation: Relation, outer: Names | None) -> exp.Expr:
        """A whole query's tree, its columns under the names that the relation gives them."""
        select = self.visit(relation, outer)
        return self.finish(select, [one.name for one in relation.fields])

    def visit(self, relation: Relation, outer: Names | None) -> Select:
        return getattr(self, f"visit_{type(relation).__name__.lower()}")(relation, outer)

    def write(self, value: Expression, select: Select, outer: Names | None) -> exp.Expr:
        return self.dialect.write(value, Names(select.names, outer))

    def ready(self, select: Select, at: Stage, expressions: tuple[Expression, ...] = ()) -> Select:
        """The select if it can still take something at a stage, else a new one that reads it."""
        is_open = select.stage <= at and select.query is None
        return select if is_open and self._is_correlated_by_name(select, expressions) else self.wrap(select)

    def _is_correlated_by_name(self, select: Select, expressions: tuple[Expression, ...]) -> bool:
        """A subquery can read columns of the select around it, but not what that select computes."""
        for expression in expressions:
            for part in walk(expression):
                query = part.query if isinstance(part, Subquery | InQuery | Exists) else None
                for column in query.outer_columns if query is not None else ():
                    if not isinstance(select.names.get(_key(column)), exp.Column | None):
                        return False
        return True

    def wrap(self, select: Select, alias: str | None = None, names: list[str] | None = None) -> Select:
        """The select as a query in FROM of a new one."""
        alias = alias or self._free_alias()
        names = names or [one.name for one in renamed(select.fields, alias)]
        named = names if isinstance(select.query, exp.Values) and not self.dialect.is_native else ()
        source = exp.Subquery(this=self.finish(select, names), alias=self._alias(alias, tuple(named)))
        wrapped = Select(fields=select.fields, source=source)
        for one, name in zip(select.fields, names, strict=True):
            wrapped.names.setdefault(one.key, self.dialect.column(alias, name))
        return wrapped

    def _free_alias(self) -> str:
        number = 1
        while f"q{number}" in self.aliases:
            number += 1
        self.aliases.add(f"q{number}")
        return f"q{number}"

    def _alias(self, name: str, columns: tuple[str, ...] = ()) -> exp.TableAlias:
        listed = [self.dialect.identifier(column) for column in columns]
        return exp.TableAlias(this=self.dialect.identifier(name), columns=listed)

    def finish(self, select: Select, names: list[str]) -> exp.Expr:
        """The tree of a select, its columns called by these names."""
        if select.query is not None:
            if [one.name.lower() for one in select.fields] == [name.lower() for name in names]:
                return select.query
            select = self.wrap(select, names=[one.name for one in renamed(select.fields, "q")])
        if select.items is None:
            if select.is_whole_source(names):
                return select.tree([exp.Star()])
            select.items = [select.names[one.key].copy() for one in select.fields]
        items = []
        for tree, name in zip(select.items, names, strict=True):
            is_named = isinstance(tree, exp.Column) and tree.name.lower() == name.lower()
            items.append(tree if is_named else exp.Alias(this=tree, alias=self.dialect.identifier(name)))
        return select.tree(items)

    def visit_scan(self, scan: Scan, outer: Names | None) -> Select:
        return self._table(scan.table, scan.alias, scan.fields, is_whole=not scan.has_rowid)

    def visit_ref(self, ref: Ref, outer: Names | None) -> Select:
        return self._table(ref.name, ref.alias, ref.fields, is_whole=True)

    def _table(self, name: str, alias: str, fields: tuple[Field, ...], is_whole: bool) -> Select:
        has_alias = alias.lower() != name.lower()
        table = exp.Table(this=self.dialect.identifier(name), alias=self._alias(alias) if has_alias else None)
        select = Select(fields=fields, source=table, has_star=is_whole)
        select.names = {one.key: self.dialect.column(alias, one.name) for one in fields}
        return select

    def visit_values(self, values: Values, outer: Names | None) -> Select:
        if not values.names:
            return Select(fields=())
        select = Select(fields=())
        rows = [[self.write(value, select, outer) for value in row] for row in values.rows]
        if values.names == tuple(f"column{number + 1}" for number in range(len(values.names))):
            return self._query(exp.Values(expressions=[exp.Tuple(expressions=row) for row in rows]), values.fields)
        trees = [Select(fields=()).tree(self._aliased(row, values.names)) for row in rows]
        tree = trees[0]
        for part in trees[1:]:
            tree = exp.Union(this=tree, expression=part, distinct=False)
        return self._query(tree, values.fields)

    def _aliased(self, row: list[exp.Expr], names: tuple[str, ...]) -> list[exp.Expr]:
        return [exp.Alias(this=tree, alias=self.dialect.identifier(n)) for tree, n in zip(row, names, strict=True)]

    def _query(self, tree: exp.Expr, fields: tuple[Field, ...]) -> Select:
        """A select that is a finished query; only ORDER BY and LIMIT fit on."""
        return Select(fields=fields, query=tree, names={one.key: self.dialect.column(None, one.name) for one in fields})

    def visit_as(self, node: As, outer: Names | None) -> Select:
        inner = self.visit(node.input, outer)
        wrapped = self.wrap(inner, node.alias, [one.name for one in node.fields])
        names = {one.key: self.dialect.column(node.alias, one.name) for one in node.fields}
        return replace(wrapped, fields=node.fields, names=names, has_star=True)

    def visit_with(self, node: With, outer: Names | None) -> Select:
        parts, is_recursive = [], False
        for definition in node.definitions:
            query, is_recursive = definition.query, is_recursive or definition.is_recursive
            names = query.names if isinstance(query, As) else ()
            body = query.input if names else query
            wanted = [one.name for one in (body.fields if names else renamed(body.fields, definition.name))]
            tree = self.finish(self.visit(body, outer), wanted)
            parts.append(exp.CTE(this=tree, alias=self._alias(definition.name, names)))
        tree = self.query(node.input, outer)
        tree.set("with_", exp.With(expressions=parts, recursive=is_recursive or None))
        return self._query(tree, node.fields)

    def visit_filter(self, node: Filter, outer: Names | None) -> Select:
        select = self.visit(node.input, outer)
        at = Stage.HAVING if select.stage in (Stage.GROUP, Stage.HAVING) else Stage.WHERE
        select = self.ready(select, at, node.expressions)
        condition = self.write(node.condition, select, outer)
        if select.stage in (Stage.GROUP, Stage.HAVING):
            select.having.append(condition)
            select.stage = Stage.HAVING
        else:
            select.where.append(condition)
            select.stage = Stage.WHERE
        return select

    def visit_join(self, node: Join, outer: Names | None) -> Select:
        left = self.visit(node.left, outer)
        can_filter = node.kind in ("inner", "cross", "left", "semi", "anti")
        left = self.ready(left, Stage.WHERE if can_filter else Stage.FROM)
        right = self.visit(node.right, outer)
        if left.source is None:
            left = self.wrap(left)
        if node.kind in ("semi", "anti"):
            return self._half_join(node, left, right, outer)
        has_star = left.has_star and right.has_star
        joined = left.joined(node.fields, {**right.names, **left.names}, has_star)
        on = self.write(node.on, joined, outer) if node.on is not None else None
        side = node.kind.upper() if node.kind in ("left", "right", "full") else None
        kind = None if side else self.dialect.cross_join if on is None else "INNER"
        joined.joins.append(exp.Join(this=right.source, side=side, kind=kind, on=on))
        return joined

    def _half_join(self, node: Join, left: Select, right: Select, outer: Names | None) -> Select:
        both = Select(fields=left.fields + right.fields, names={**left.names, **right.names})
        right.where.append(self.write(node.on, both, outer))
        exists: exp.Expr = exp.Exists(this=right.tree([exp.Literal.number(1)]))
        left.where.append(exists if node.kind == "semi" else exp.Not(this=exists))
        left.stage = Stage.WHERE
        return left

    def visit_aggregate(self, node: Aggregate, outer: Names | None) -> Select:
        select = self.ready(self.visit(node.input, outer), Stage.WHERE, node.expressions)
        extreme = self._extreme(node) if self.dialect.has_bare_columns else None
        trees = [self._group_key(item, select, outer) for item in node.keys]
        names = {item.field.key: tree for item, tree in zip(node.keys, trees, strict=True)}
        for item in node.items:
            names[item.field.key] = self.write(item.value, select, outer)
        select.group = [tree.copy() for tree in trees]
        select.extreme = self.write(extreme, select, outer) if extreme is not None else None
        select.stage, select.names, select.fields, select.has_star = Stage.GROUP, names, node.fields, False
        select.is_grouped = True
        return self._with_extreme(select, node)

    def _with_extreme(self, select: Select, node: Aggregate) -> Select:
        """Bare columns need their MIN or MAX in the same SELECT: one that the plan does not have is added, and dropped."""
        values = [item.value for item in node.items]
        if select.extreme is None or any(value.name in ("min", "max") for value in values):
            return select
        hidden = Field(None, "extreme", "any")
        select.names[hidden.key], select.fields = select.extreme, (*node.fields, hidden)
        wrapped = self.wrap(select)
        wrapped.fields = node.fields
        return wrapped

    def _group_key(self, item: Item, select: Select, outer: Names | None) -> exp.Expr:
        tree = self.write(item.value, select, outer)
        if isinstance(item.value, Literal) and isinstance(item.value.value, int):
            return exp.Add(this=tree, expression=exp.Literal.number(0))  # GROUP BY 1 would be a column's place
        if isinstance(item.value, Literal) and not self.dialect.is_native:
            return exp.Cast(this=tree, to=exp.Var(this=self.dialect.types["text"]))  # no constant stands there
        return tree

    def _extreme(self, node: Aggregate) -> Aggregation | None:
        """The one MIN or MAX whose row bare columns are taken from."""
        found = {item.value for item in node.items if item.value.name in ("min", "max")}
        bare = [item.value for item in node.items if item.value.name in ("arg_min", "arg_max")]
        wanted = {Aggregation(one.name[4:], (one.args[1],), where=one.where) for one in bare}
        if len(found | wanted) > 1 and bare:
            raise UnsupportedError("arg_min or arg_max beside another minimum or maximum", where=self.dialect.name)
        return next(iter(wanted), None)

    def visit_window(self, node: Window, outer: Names | None) -> Select:
        select = self.ready(self.visit(node.input, outer), Stage.WINDOW, node.expressions)
        if any(isinstance(tree, exp.Window) for tree in select.read_by(node.expressions)):
            select = self.wrap(select)
        for item in node.items:
            select.names[item.field.key] = self.write(item.value, select, outer)
        select.fields, select.stage, select.has_star = node.fields, Stage.WINDOW, False
        return select

    def visit_project(self, node: Project, outer: Names | None) -> Select:
        select = self.visit(node.input, outer)
        is_sorted = select.stage is Stage.SORT and select.items is None
        is_fit = is_sorted and select.query is None and self._is_correlated_by_name(select, node.expressions)
        select = select if is_fit else self.ready(select, Stage.WINDOW, node.expressions)
        items = [self.write(item.value, select, outer) for item in node.items]
        if select.extreme is not None and not select.shows(select.extreme, items):
            select = self.wrap(select)
            items = [self.write(item.value, select, outer) for item in node.items]
        select.items, select.fields = items, node.fields
        select.names = {}
        for item, tree in zip(node.items, items, strict=True):
            select.names.setdefault(item.field.key, tree)
        select.stage = Stage.SORT if is_fit else Stage.PROJECT
        return select

    def visit_distinct(self, node: Distinct, outer: Names | None) -> Select:
        select = self.ready(self.visit(node.input, outer), Stage.PROJECT)
        if select.items is None:
            select.items = [select.names[one.key].copy() for one in select.fields]
            if select.is_whole_source([one.name for one in select.fields]):
                select.items = None
        select.is_distinct, select.stage = True, Stage.DISTINCT
        return select

    def visit_sort(self, node: Sort, outer: Names | None) -> Select:
        select = self.visit(node.input, outer)
        is_compound = isinstance(select.query, exp.SetOperation) and not select.query.args.get("order")
        if not is_compound or select.query.args.get("limit") or select.query.args.get("with_"):
            select = self.ready(select, Stage.DISTINCT, node.expressions)
            is_compound = False
        if select.is_distinct and not all(self._output(key.value, select) for key in node.keys):
            select = self.wrap(select)
        order = []
        for key in node.keys:
            if isinstance(key.value, Literal):
                continue  # a constant orders nothing, and a number would be a column's place
            tree = self._output(key.value, select) if select.items or is_compound else None
            tree = tree if tree is not None else self.write(key.value, select, outer)
            order.append(self.dialect.order_by(tree, key))
        bounds = [self.write(b, select, outer) if b is not None else None for b in (node.limit, node.offset)]
        if bounds[0] is None and bounds[1] is not None and self.dialect.needs_limit:
            bounds[0] = exp.Neg(this=exp.Literal.number(1))
        if is_compound:
            select.query = select.query.copy()
            _bound(select.query, order, *bounds)
            select = self._query(select.query, select.fields)
            return select
        select.order, (select.limit, select.offset), select.stage = order, bounds, Stage.SORT
        return select

    def _output(self, value: Expression, select: Select) -> exp.Expr | None:
        """A sort key as the name of an output column, where it is one that the select list computes."""
        inner = value
        while not isinstance(inner, Column) and hasattr(inner, "collation") and hasattr(inner, "value"):
            inner = inner.value
        if not isinstance(inner, Column) or isinstance(value, Literal):
            return None
        found = select.names.get(_key(inner))
        if found is None:
            return None
        tree = found.copy() if isinstance(found, exp.Column) else self.dialect.column(None, inner.name)
        if inner is value:
            return tree
        return self.dialect.write(value, Names({_key(inner): tree}))

    def visit_setoperation(self, node: SetOperation, outer: Names | None) -> Select:
        left, right = self.visit(node.left, outer), self.visit(node.right, outer)
        left, right = (self._side(part, side) for part, side in ((left, "left"), (right, "right")))
        if node.kind == "intersect" and not self.dialect.is_native and isinstance(left.query, exp.Union | exp.Except):
            left = self.wrap(left)  # elsewhere INTERSECT binds tighter than what stands before it
        trees = [self.finish(part, [one.name for one in part.fields]) for part in (left, right)]
        tree = _SET_KINDS[node.kind](this=trees[0], expression=trees[1], distinct=not node.is_all)
        if node.is_all and node.kind != "union":
            raise UnsupportedError(f"{node.kind} all", where=self.dialect.name)
        return self._query(tree, node.fields)

    def _side(self, select: Select, side: str) -> Select:
        """A side of a set operation: SQLite takes no brackets, order or limit there, and groups to the left."""
        query = select.query
        is_plain = select.order == [] and select.limit is None and select.offset is None
        if query is not None:
            is_plain = not any(query.args.get(part) for part in ("order", "limit", "offset", "with_"))
            is_plain = is_plain and (side == "left" or not isinstance(query, exp.SetOperation))
        return select if is_plain else self.wrap(select)


def _bound(tree: exp.Expr, order: list[exp.Expr], limit: exp.Expr | None, offset: exp.Expr | None) -> None:
    if order:
        tree.set("order", exp.Order(expressions=order))
    if limit is not None:
        tree.set("limit", exp.Limit(expression=limit))
    if offset is not None:
        tree.set("offset", exp.Offset(expression=offset))


def _key(column: Column) -> tuple[str | None, str]:
    return (column.alias.lower() if column.alias else None, column.name.lower())
