"""FROM of SQLite's SQL -> scans and joins of a plan, and the scope that they give to the rest of the SELECT.

USING and NATURAL become conditions, with the merged columns kept in the scope. A query in FROM is read on from where it
stands first, else it becomes a named sub-pipeline. ON that reads a table further right (SQLite moves it to WHERE) is
handed back as a further condition.
"""

from typing import TYPE_CHECKING

from sqlglot import exp

from workbench.errors import PlanError, UnsupportedError
from workbench.plan import As, Item, Join, Project, Ref, Relation, Scan, Values, renamed
from workbench.plan_expressions import Call, Column, Expression, Literal
from workbench.resolve_names import ROWID_NAMES, Scope, place
from workbench.schema import Table

if TYPE_CHECKING:
    from workbench.sql_to_plan import Reader

EMPTY_ROW = Values(((),))


class FromReader:
    def __init__(self, reader: "Reader"):
        self.reader = reader
        words = {word.strip("\"'`[]().,;").lower() for word in reader.sql.replace(".", " ").replace("(", " ").split()}
        self.reads_rowid = any(name in words for name in ROWID_NAMES)

    def read(self, select: exp.Select, outer: Scope | None) -> tuple[Relation, Scope, list[Expression]]:
        """The joined sources, their scope, and conditions that stood in ON but belong to WHERE."""
        scope = Scope(outer=outer)
        clause = select.args.get("from_")
        if select.args.get("laterals"):
            raise UnsupportedError("LATERAL", where=place(select, self.reader.sql))
        if clause is None:
            return EMPTY_ROW, scope, []
        relation = self._source(clause.this, scope, outer, is_first=True)
        scope.fields = relation.fields
        joins = [*(clause.this.args.get("joins") or ()), *(select.args.get("joins") or ())]
        late: list[exp.Expr] = []
        for number, join in enumerate(joins):
            relation = self._join(relation, join, scope, outer, late, is_last=number == len(joins) - 1)
        return relation, scope, [self.reader.expressions.read(condition, scope) for condition in late]

    def _source(self, node: exp.Expr, scope: Scope, outer: Scope | None, is_first: bool) -> Relation:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node, scope)
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.alias:
            if node.this.args.get("joins") and not is_first:
                raise UnsupportedError("a join in brackets on the right of a join", where=place(node, self.reader.sql))
            if not node.this.args.get("joins"):
                return self._source(node.this, scope, outer, is_first)
            inner, inner_scope, late = self.read(exp.select("*").from_(node.this.copy()), outer)
            if late or inner_scope.merged:
                raise UnsupportedError("USING in a join in brackets", where=place(node, self.reader.sql))
            return inner
        if isinstance(node, exp.Subquery | exp.Values):
            query = with_unique_names(
                self.reader.read_query(node.this if isinstance(node, exp.Subquery) else node, outer)
            )
            alias = _free_alias(node.alias or "q", scope)
            if is_first:
                return As(query, alias)
            return Ref.of(self.reader.pipeline.add(alias, query), query.fields, alias)
        what = f"the table function {node.this.name}" if isinstance(node, exp.Table) else type(node).__name__.upper()
        raise UnsupportedError(what, where=place(node, self.reader.sql))

    def _table(self, node: exp.Table, scope: Scope) -> Relation:
        name = node.name
        alias = self._spelled(node)
        if node.db and node.db.lower() not in ("main", ""):
            raise PlanError("unknown_table", f"no database {node.db!r}", where=place(node, self.reader.sql))
        wanted, alias = alias, _free_alias(alias, scope)
        if wanted.lower() != alias.lower():
            scope.doubled.setdefault(wanted.lower(), {wanted.lower()}).add(alias.lower())
        visible = self.reader.visible.get(name.lower()) if not node.db else None
        if visible is not None:
            return Ref.of(visible[0], visible[1], alias)
        table = self.reader.schema.table(name)
        if table is None:
            names = [one.name for one in self.reader.schema.tables]
            hint = f"available: {', '.join(names[:40])}"
            raise PlanError("unknown_table", f"no table {name!r}", where=place(node, self.reader.sql), hint=hint)
        return self._scan(table, alias, scope)

    def _spelled(self, node: exp.Table) -> str:
        """The alias; a table without one, or with its own name, is called as the schema or WITH spells it."""
        visible = self.reader.visible.get(node.name.lower()) if not node.db else None
        table = self.reader.schema.table(node.name)
        own = visible[0] if visible is not None else table.name if table is not None else node.name
        if node.alias:
            return own if node.alias.lower() == own.lower() else node.alias
        return own if own.lower() == node.name.lower() else node.name

    def _scan(self, table: Table, alias: str, scope: Scope) -> Scan:
        if not self.reads_rowid:
            return Scan.of(table, alias)
        key = table.column(table.primary_key[0]) if len(table.primary_key) == 1 else None
        is_rowid = key is not None and key.type.strip().upper() == "INTEGER"  # SQLite's own alias of the row number
        scan = Scan.of(table, alias, has_rowid=not is_rowid and table.column("rowid") is None)
        if is_rowid:
            scope.rowids[alias.lower()] = next(f for f in scan.fields if f.name == key.name).column()
        elif scan.has_rowid:
            scope.rowids[alias.lower()] = scan.fields[-1].column()
            scope.hidden.add(scan.fields[-1].key)
        return scan

    def _join(
        self, left: Relation, join: exp.Join, scope: Scope, outer: Scope | None, late: list[exp.Expr], is_last: bool
    ) -> Relation:
        side, kind, method = (str(join.args.get(part) or "").lower() for part in ("side", "kind", "method"))
        if kind in ("semi", "anti") or method not in ("", "natural"):
            raise UnsupportedError(f"{method or kind} join".upper(), where=place(join, self.reader.sql))
        if join.this.args.get("joins"):
            raise UnsupportedError("a nested join", where=place(join, self.reader.sql))
        right = self._source(join.this, scope, outer, is_first=False)
        names = [identifier.name for identifier in join.args.get("using") or ()]
        if method == "natural":
            hidden = scope.hidden
            here = {one.name.lower() for one in scope.fields if one.key not in hidden}
            names = [one.name for one in right.fields if one.name.lower() in here and one.key not in hidden]
        on = join.args.get("on")
        is_true = isinstance(on, exp.Boolean) and bool(on.this)
        condition = self._using(names, scope, right, side or "inner", join) if names else None
        scope.fields = left.fields + right.fields
        if on is not None and not names and not (is_true and not side):
            try:
                condition = self.reader.expressions.read(on, scope)
            except PlanError as fault:
                if fault.kind != "unknown_column" or is_last or side:
                    raise
                late.append(on)
        if condition is None:
            return Join(left, right, side, Literal(1)) if side else Join(left, right, "cross")
        return Join(left, right, side or "inner", condition)

    def _using(self, names: list[str], scope: Scope, right: Relation, side: str, join: exp.Join) -> Expression:
        parts = []
        for name in names:
            node = exp.column(exp.to_identifier(name))
            one = self.reader.expressions.read(
                node, Scope(fields=scope.fields, merged=scope.merged, hidden=scope.hidden)
            )
            found = [given for given in right.fields if given.name.lower() == name.lower()]
            if not found:
                raise PlanError("unknown_column", f"USING of {name!r}", where=place(join, self.reader.sql))
            other = found[0].column()
            parts.append(Call("=", (one, other)))
            if side in ("right", "full"):
                scope.merged[name.lower()] = Call("coalesce", (one, other))
            else:
                scope.merged[name.lower()] = one
            scope.hidden.add(found[0].key)
            if side in ("right", "full") and isinstance(one, Column):
                scope.aliases.setdefault(name.lower(), scope.merged[name.lower()])
        return parts[0] if len(parts) == 1 else Call("and", tuple(parts))


def with_unique_names(query: Relation) -> Relation:
    """The query, its columns under names of their own, as what reads it in FROM will call them."""
    names = [one.name for one in renamed(query.fields, "q")]
    if [one.name for one in query.fields] == names:
        return query
    below, items = (query.input, query.items) if isinstance(query, Project) else (query, None)
    items = items or tuple(Item.keep(one.column()) for one in query.fields)
    pairs = zip(items, names, strict=True)
    return Project(below, tuple(item if item.name == name else Item(item.value, name) for item, name in pairs))


def _free_alias(alias: str, scope: Scope) -> str:
    taken = {(one.alias or "").lower() for one in scope.fields}
    base, number = alias.replace(".", "_").lstrip("'") or "t", 1
    alias = base
    while alias.lower() in taken:
        number += 1
        alias = f"{base}_{number}"
    return alias
