"""A plan -> SQL of one engine: readable, every column qualified, one SELECT for as many operators as one can hold.

In: a `Plan` and a dialect's name. Out: the text. Operators are folded, from the first to the last, into `Select`s: an
operator joins the one that is open if SQL's own order (FROM, WHERE, GROUP BY, HAVING, windows, select list, DISTINCT,
ORDER BY, LIMIT) evaluates it there, else the open one becomes a query in FROM. Named sub-pipelines become WITH. What an
expression looks like is the dialect's business. Raises UnsupportedError where the engine cannot reach the meaning.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from sqlglot import exp

from workbench.dialects import get_dialect
from workbench.dialects.base import Names
from workbench.errors import UnsupportedError
from workbench.inner_aggregates import with_inner_aggregates
from workbench.lower import lower
from workbench.lower_correlated import never_null
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
from workbench.plan_expressions import (
    Aggregation,
    Collate,
    Column,
    Exists,
    Expression,
    InQuery,
    Literal,
    SortKey,
    Subquery,
    is_constant,
    walk,
)
from workbench.select_parts import Select, Stage

_BARE = ("any_value", "arg_min", "arg_max")
_SET_KINDS = {"union": exp.Union, "intersect": exp.Intersect, "except": exp.Except}


def plan_to_sql(plan: Plan, dialect: str = "sqlite", is_pretty: bool = False) -> str:
    """The SQL of a plan. is_pretty: on several lines."""
    writer = Writer(plan, dialect)
    try:
        root = plan.root if writer.dialect.is_native else lower(plan.root, writer.dialect.aggregate_rewrites)
        for rewrite in writer.dialect.rewrites:
            root = rewrite(root)
        return writer.dialect.sql(writer.query(root, None), is_pretty)
    except RecursionError as fault:
        raise UnsupportedError("a plan nested too deep", where=writer.dialect.name) from fault


class Writer:
    """Folds the operators of one plan. `visit_<Operator>`: relation and the names around it in, Select out."""

    def __init__(self, plan: Plan, dialect: str):
        self.dialect = get_dialect(dialect)(self.query, lambda: never_null(plan.root))
        self.relations = list(walk_relations(plan.root))
        self.aliases = {one.alias.lower() for one in self.relations if isinstance(one, Scan | Ref | As)}

    @cached_property
    def given(self) -> dict[str, set[str]]:
        """Alias of a table -> names of its columns."""
        found: dict[str, set[str]] = {}
        for relation in self.relations:
            for one in relation.fields if isinstance(relation, Scan | Ref) else ():
                found.setdefault(one.alias.lower(), set()).add(one.name.lower())
        return found

    @cached_property
    def renamed(self) -> set[str]:
        """Names of tables that are read under another name too."""
        pairs = [
            (one.table if isinstance(one, Scan) else one.name, one.alias)
            for one in self.relations
            if isinstance(one, Scan | Ref)
        ]
        return {name.lower() for name, alias in pairs if name.lower() != alias.lower()}

    @cached_property
    def stored(self) -> set[str]:
        """Names of tables' columns."""
        scans = (relation for relation in self.relations if isinstance(relation, Scan))
        return {one.name.lower() for scan in scans for one in scan.fields}

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
        return select if is_open and self._is_correlated_by_name(select, at, expressions) else self.wrap(select)

    def _is_correlated_by_name(self, select: Select, at: Stage, expressions: tuple[Expression, ...]) -> bool:
        """A subquery can read columns of the select around it, but not what that select computes."""
        read = _outer_columns(expressions)
        if read and at is Stage.WINDOW and self.dialect.correlates_lone_tables and not select.is_lone:
            return False
        return all(isinstance(select.names.get(_key(column)), exp.Column | None) for column in read)

    def wrap(self, select: Select, alias: str | None = None, names: list[str] | None = None) -> Select:
        """The select as a query in FROM of a new one."""
        alias = alias or self._free_alias()
        names = names or [one.name for one in renamed(select.fields, alias)]
        named = names if isinstance(select.query, exp.Values) and not self.dialect.is_native else ()
        source = exp.Subquery(this=self._named(self.finish(select, names)), alias=self._alias(alias, tuple(named)))
        wrapped = Select(fields=select.fields, source=source)
        for one, name in zip(select.fields, names, strict=True):
            wrapped.names.setdefault(one.key, self.dialect.column(alias, name))
        return wrapped

    def _named(self, tree: exp.Expr) -> exp.Expr:
        """A query that others read, with names for columns that an engine calls by their tables' too."""
        if not self.dialect.has_unique_names:
            return tree
        select = tree
        while isinstance(select, exp.SetOperation):
            select = select.this
        tables = [part.this for part in (select.args.get("from_"), *select.args.get("joins", ())) if part is not None]
        aliases = [table.alias_or_name.lower() for table in tables]
        for item in select.expressions:
            name = item.name.lower()
            if isinstance(item, exp.Column) and sum(name in self.given.get(one, (name,)) for one in aliases) > 1:
                item.replace(exp.Alias(this=item.copy(), alias=self.dialect.identifier(item.name)))
        return tree

    def _free_alias(self, word: str = "q") -> str:
        number = 1
        while f"{word}{number}".lower() in self.aliases:
            number += 1
        self.aliases.add(f"{word}{number}".lower())
        return f"{word}{number}"

    def _alias(self, name: str, columns: tuple[str, ...] = ()) -> exp.TableAlias:
        listed = [self.dialect.identifier(column) for column in columns]
        return exp.TableAlias(this=self.dialect.identifier(name), columns=listed)

    def finish(self, select: Select, names: list[str]) -> exp.Expr:
        """The tree of a select, its columns called by these names."""
        if select.query is not None:
            own = [one.name.lower() for one in select.fields]
            wanted = [name.lower() for name in names]
            if own == wanted or (self.dialect.has_unique_names and _unique(own) == wanted):
                return select.query
            if isinstance(select.query, exp.SetOperation) and _unique(own) == wanted:
                return self._with_first_names(select.query, names)
            select = self.wrap(select, names=[one.name for one in renamed(select.fields, "q")])
        if self._is_sorted_by_old_names(select, names):
            select = self.wrap(select)
        if not select.fields:
            return select.tree([exp.Literal.number(1)])  # a row without columns, which SQL has no words for
        if select.items is None:
            if select.is_whole_source(names):
                return select.tree([exp.Star()])
            select.items = [select.names[one.key].copy() for one in select.fields]
        if self.dialect.has_unique_names:
            names = _unique(names)
        items = []
        for tree, name in zip(select.items, names, strict=True):
            is_named = isinstance(tree, exp.Column) and tree.name.lower() == name.lower()
            items.append(tree if is_named else exp.Alias(this=tree, alias=self.dialect.identifier(name)))
        return select.tree(items)

    def _with_first_names(self, tree: exp.Expr, names: list[str]) -> exp.Expr:
        """A set operation whose columns are called by these names: those of its first SELECT."""
        first = tree = tree.copy()
        while isinstance(first, exp.SetOperation):
            first = first.this
        for item, name in zip(list(first.expressions), names, strict=True):
            if item.alias_or_name.lower() != name.lower():
                item.replace(exp.Alias(this=item.unalias().copy(), alias=self.dialect.identifier(name)))
        return tree

    def _is_sorted_by_old_names(self, select: Select, names: list[str]) -> bool:
        """Whether ORDER BY names an output that is to be called otherwise."""
        pairs = zip(select.fields, names, strict=True)
        changed = {one.name.lower() for one, name in pairs if one.name.lower() != name.lower()}
        parts = (part for tree in select.order for part in tree.walk() if isinstance(part, exp.Column))
        return bool(changed) and any(not part.table and part.name.lower() in changed for part in parts)

    def visit_scan(self, scan: Scan, outer: Names | None) -> Select:
        return self._table(scan.table, scan.alias, scan.fields, is_whole=not scan.has_rowid)

    def visit_ref(self, ref: Ref, outer: Names | None) -> Select:
        return self._table(ref.name, ref.alias, ref.fields, is_whole=True)

    def _table(self, name: str, alias: str, fields: tuple[Field, ...], is_whole: bool) -> Select:
        if self.dialect.has_names_behind_aliases and alias.lower() == name.lower() in self.renamed:
            alias = self._free_alias(f"{alias}_")
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
        plain = tuple(f"column{number + 1}" for number in range(len(values.names)))
        if values.names == plain and self.dialect.has_values:
            return self._query(exp.Values(expressions=[exp.Tuple(expressions=row) for row in rows]), values.fields)
        trees = [Select(fields=()).tree(self._aliased(row, values.names)) for row in rows]
        tree = trees[0]
        for part in trees[1:]:
            tree = exp.Union(this=tree, expression=part, distinct=False)
        return self._query(tree, values.fields)

    def _aliased(self, row: list[exp.Expr], names: Iterable[str]) -> list[exp.Expr]:
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
            body = self.dialect.recursion(body) if definition.is_recursive else body
            wanted = [one.name for one in (body.fields if names else renamed(body.fields, definition.name))]
            tree = self._named(self.finish(self.visit(body, outer), wanted))
            if isinstance(tree, exp.Values) and not names and not self.dialect.is_native:
                names = tuple(wanted)  # elsewhere VALUES does not call its columns column1, column2, ...
            parts.append(exp.CTE(this=tree, alias=self._alias(definition.name, names)))
        tree = self.query(node.input, outer)
        if isinstance(tree, exp.Values):  # which takes no WITH
            tree = self.wrap(self._query(tree, node.input.fields)).tree([exp.Star()])
        tree.set("with_", exp.With(expressions=parts, recursive=is_recursive or None))
        return self._query(tree, node.fields)

    def visit_filter(self, node: Filter, outer: Names | None) -> Select:
        select = self.visit(node.input, outer)
        at = Stage.HAVING if select.stage in (Stage.GROUP, Stage.HAVING) else Stage.WHERE
        is_fit = at is Stage.WHERE or self.dialect.correlates_in_having or not _outer_columns(node.expressions)
        select = self.ready(select, at, node.expressions) if is_fit else self.wrap(select)
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
        on = self.dialect.write_on(node, Names(joined.names, outer)) if node.on is not None else None
        if node.kind == "full" and not self.dialect.takes_full_join(node):
            return self._full_join(joined, left, right, on)
        side = node.kind.upper() if node.kind in ("left", "right", "full") else None
        kind = None if side else self.dialect.cross_join if on is None else "INNER"
        joined.joins.append(exp.Join(this=right.source, side=side, kind=kind, on=on))
        return joined

    def _full_join(self, joined: Select, left: Select, right: Select, on: exp.Expr) -> Select:
        """The left join, and the right rows without a partner."""
        alias = self._free_alias()
        names = [one.name for one in renamed(joined.fields, alias)]
        trees = [joined.names[one.key] for one in joined.fields]
        first = replace(joined, joins=[*left.joins, exp.Join(this=right.source, side="LEFT", on=on)])
        partner = replace(left, where=[*left.where, on.copy()]).tree([exp.Literal.number(1)])
        alone = Select(fields=joined.fields, source=right.source.copy(), where=[exp.Not(this=exp.Exists(this=partner))])
        only = [exp.Null()] * len(left.fields) + [tree.copy() for tree in trees[len(left.fields) :]]
        sides = [one.tree(self._aliased(row, names)) for one, row in ((first, trees), (alone, only))]
        union = exp.Union(this=sides[0], expression=sides[1], distinct=False)
        select = Select(fields=joined.fields, source=exp.Subquery(this=union, alias=self._alias(alias)))
        for one, name in zip(joined.fields, names, strict=True):
            select.names.setdefault(one.key, self.dialect.column(alias, name))
        return select

    def _half_join(self, node: Join, left: Select, right: Select, outer: Names | None) -> Select:
        both = Select(fields=left.fields + right.fields, names={**left.names, **right.names})
        right.where.append(self.write(node.on, both, outer))
        exists: exp.Expr = exp.Exists(this=right.tree([exp.Literal.number(1)]))
        left.where.append(exists if node.kind == "semi" else exp.Not(this=exists))
        left.stage = Stage.WHERE
        return left

    def visit_aggregate(self, node: Aggregate, outer: Names | None) -> Select:
        node = with_inner_aggregates(node)
        select = self.ready(self.visit(node.input, outer), Stage.WHERE, node.expressions)
        extreme = self._extreme(node) if self.dialect.has_bare_columns else None
        trees = [self._group_key(item, select, outer) for item in node.keys]
        names = {item.field.key: tree for item, tree in zip(node.keys, trees, strict=True)}
        for item in node.items:
            names[item.field.key] = self.write(item.value, select, outer)
            if item.value.name in _BARE and not node.keys and self.dialect.has_bare_columns:
                names[item.field.key] = self._of_a_row(item.value.args[0], names[item.field.key])
        select.group = [tree.copy() for tree in trees]
        select.extreme = self.write(extreme, select, outer) if extreme is not None else None
        select.stage, select.names, select.fields, select.has_star = Stage.GROUP, names, node.fields, False
        select.is_grouped = True
        is_bare = [self.dialect.has_bare_columns and item.value.name in _BARE for item in node.items]
        select.calls = [names[item.field.key] for item, bare in zip(node.items, is_bare, strict=True) if not bare]
        if not node.keys and not select.calls and select.extreme is None:
            select.extreme = self.write(Aggregation("count"), select, outer)
        return self._with_extreme(select, node)

    def _of_a_row(self, value: Expression, tree: exp.Expr) -> exp.Expr:
        """A bare column is NULL over no rows, but what is computed from it has a value there."""
        if isinstance(value, Column):
            return tree
        has_rows = exp.GT(this=self.dialect.call("COUNT", [exp.Star()]), expression=exp.Literal.number(0))
        return exp.Case(ifs=[exp.If(this=has_rows, true=tree)])

    def _with_extreme(self, select: Select, node: Aggregate) -> Select:
        """Bare columns need their MIN or MAX in the same SELECT, or any aggregate: one that the plan does not have is
        added, and dropped."""
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
        inner = tree
        while isinstance(inner, exp.Neg | exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Literal) and not inner.is_string and inner.this.isdigit():
            return exp.Add(this=tree, expression=exp.Literal.number(0))  # GROUP BY 1 would be a column's place
        is_text = isinstance(tree, exp.Literal) and tree.is_string
        if (is_text or isinstance(tree, exp.Null)) and not self.dialect.is_native:
            kind = item.value.type if item.value.type in ("integer", "real") else "text"
            return self.dialect.cast(tree, kind)  # PostgreSQL takes no constant there
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
        filters = tuple(item.value.where for item in node.items if item.value.where is not None)
        is_computed = any(not isinstance(tree, exp.Column) for tree in select.read_by(filters))
        is_refused = is_computed and not self.dialect.is_native  # PostgreSQL takes no aggregate in a window's FILTER
        if is_refused or any(tree.find(exp.Window) for tree in select.read_by(node.expressions)):
            select = self.wrap(select)
        for item in node.items:
            select.names[item.field.key] = self.write(item.value, select, outer)
        select.fields, select.stage, select.has_star = node.fields, Stage.WINDOW, False
        return select

    def visit_project(self, node: Project, outer: Names | None) -> Select:
        select = self.visit(node.input, outer)
        is_sorted = select.stage is Stage.SORT and select.items is None
        # under DISTINCT what is projected would be made distinct, not the rows
        is_open = select.query is None and not select.is_distinct
        is_fit = is_sorted and is_open and self._is_correlated_by_name(select, Stage.WINDOW, node.expressions)
        select = select if is_fit else self.ready(select, Stage.WINDOW, node.expressions)
        items = [self.write(item.value, select, outer) for item in node.items]
        is_extreme_lost = select.extreme is not None and not select.shows(select.extreme, items)
        if is_extreme_lost or not select.is_seen_as_one_group(items):
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
        is_compound = is_compound and all(self._output(key.value, select) is not None for key in node.keys)
        is_compound = is_compound and not any(
            _is_second(part, node.input) for key in node.keys for part in walk(key.value)
        )
        if not is_compound or select.query.args.get("limit") or select.query.args.get("with_"):
            select = self.ready(select, Stage.DISTINCT, node.expressions)
            is_compound = False
        if select.is_distinct and not all(self._is_known_key(key, select) for key in node.keys):
            select = self.wrap(select)
        if self.dialect.correlates_lone_tables and any(one.find(exp.Query) for one in select.read_by(node.expressions)):
            select = self.wrap(select)
        order = []
        for key in node.keys:
            if is_constant(key.value) or self._is_constant_column(key.value, select):
                continue  # it orders nothing, and a number would be a column's place
            if self.dialect.is_native and any(isinstance(part, Column) and part.is_outer for part in walk(key.value)):
                raise UnsupportedError("a sort by a column of a query around it", where=self.dialect.name)
            tree = self._output(key.value, select) if select.items or is_compound else None
            tree = tree if tree is not None else self.write(key.value, select, outer)
            if isinstance(tree, exp.Literal | exp.Null):
                continue
            order.append(self.dialect.order_by(tree, key))
        bounds = [self.write(b, select, outer) if b is not None else None for b in (node.limit, node.offset)]
        if bounds[0] is None and bounds[1] is not None and self.dialect.no_limit is not None:
            bounds[0] = exp.Literal.number(self.dialect.no_limit)
        if is_compound:
            select.query = select.query.copy()
            _name_columns(select.query)
            _bound(select.query, order, *bounds)
            select = self._query(select.query, select.fields)
            return select
        select.order, (select.limit, select.offset), select.stage = order, bounds, Stage.SORT
        return select

    def _is_known_key(self, key: SortKey, select: Select) -> bool:
        """Whether a distinct select can sort by it: an output's name; where NULLs go needs more than a name on some engines."""
        if not self._output(key.value, select):
            return False
        is_plain = isinstance(key.value, Column) and isinstance(select.names[_key(key.value)], exp.Column)
        return is_plain or self.dialect.has_null_order or key.nulls_first is not key.is_descending

    def _is_constant_column(self, value: Expression, select: Select) -> bool:
        found = select.names.get(_key(value)) if isinstance(value, Column) else None
        return isinstance(found, exp.Literal | exp.Null) and not self.dialect.is_native

    def _output(self, value: Expression, select: Select) -> exp.Expr | None:
        """A sort key as the name of an output column, where it is one that the select list computes."""
        inner = value
        while isinstance(inner, Collate):
            inner = inner.value
        if not isinstance(inner, Column) or isinstance(value, Literal):
            return None
        found = select.names.get(_key(inner))
        if found is None:
            return None
        is_hidden = self.dialect.columns_hide_aliases and inner.name.lower() in self.stored and not select.is_distinct
        is_same = isinstance(found, exp.Column) or is_hidden
        tree = found.copy() if is_same else self.dialect.column(None, inner.name)
        if inner is value:
            return tree
        return self.dialect.write(value, Names({_key(inner): tree}))

    def visit_setoperation(self, node: SetOperation, outer: Names | None) -> Select:
        left, right = self.visit(node.left, outer), self.visit(node.right, outer)
        left, right = (self._side(part, side) for part, side in ((left, "left"), (right, "right")))
        left.has_star = left.has_star and len({one.name.lower() for one in left.fields}) == len(left.fields)
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
        if isinstance(query, exp.Values):
            is_plain = False
        elif query is not None:
            is_plain = not any(query.args.get(part) for part in ("order", "limit", "offset", "with_"))
            is_plain = is_plain and (side == "left" or not isinstance(query, exp.SetOperation))
        return select if is_plain else self.wrap(select)


def _is_second(part: Expression, below: Relation) -> bool:
    """Whether another column of the same name stands before it."""
    if not isinstance(part, Column) or part.is_outer:
        return False
    first = next((one for one in below.fields if one.name.lower() == part.name.lower()), None)
    return first is not None and first.key != _key(part)


def _outer_columns(expressions: tuple[Expression, ...]) -> list[Column]:
    """The columns that queries in expressions read of what is around them."""
    parts = [part for expression in expressions for part in walk(expression)]
    queries = [part.query for part in parts if isinstance(part, Subquery | InQuery | Exists)]
    return [column for query in queries for column in query.outer_columns]


def _unique(names: list[str]) -> list[str]:
    return [one.name for one in renamed([Field(None, name, "any") for name in names], "q")]


def _name_columns(query: exp.Expr) -> None:
    """Of several tables' columns ORDER BY finds only those that the first SELECT names."""
    first = query
    while isinstance(first, exp.SetOperation):
        first = first.this
    if first.args.get("joins"):
        named = [
            exp.Alias(this=one, alias=one.this.copy()) if isinstance(one, exp.Column) else one
            for one in first.expressions
        ]
        first.set("expressions", named)


def _bound(tree: exp.Expr, order: list[exp.Expr], limit: exp.Expr | None, offset: exp.Expr | None) -> None:
    if order:
        tree.set("order", exp.Order(expressions=order))
    if limit is not None:
        tree.set("limit", exp.Limit(expression=limit))
    if offset is not None:
        tree.set("offset", exp.Offset(expression=offset))


def _key(column: Column) -> tuple[str | None, str]:
    return (column.alias.lower() if column.alias else None, column.name.lower())
