"""Reads a query, right or wrong, into the parts that two queries are compared by.

In: SQLite's SQL and the schema. Out: a `Query` (query_parts.py). Names are resolved to table.column, so that aliases do
not matter; IN, = and EXISTS over a plain subquery, derived tables and WITH are read as the joins they amount to; BETWEEN
and IN lists as their comparisons. A name that the schema lacks is kept in `unknown`, not raised: wrong queries are what
this is for, and the plan, which refuses them, is not asked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from sqlglot import exp

from workbench.errors import PlanError, UnsupportedError
from workbench.query_parts import Condition, Query, Value
from workbench.read_query_values import NEGATED, Place, Scope, ValueReader
from workbench.schema import Schema, Table
from workbench.sql_expressions import named_window
from workbench.sqlite_parser import parse


def read_query(sql: str, schema: Schema, same: Mapping[str, str] | None = None, tree: exp.Query | None = None) -> Query:
    """The parts of one query. same: columns that are to be called by another's name, as `same_columns` gives them. tree:
    what `read_tree` gives for the text, where it is read several times. Raises ParseError and UnsupportedError.
    """
    try:
        return _Reader(sql, schema, same or {}).read(tree or read_tree(sql), [], {})
    except RecursionError as fault:
        raise UnsupportedError("a query nested too deep") from fault
    except PlanError as fault:  # a window without a definition
        raise UnsupportedError(fault.what) from fault


def read_tree(sql: str) -> exp.Query:
    """A text's tree without the ON that sqlglot gives joins that have none, with named windows and `IN table` written out."""
    tree = parse(sql)
    for node in list(tree.find_all(exp.Join, exp.Window, exp.In)):
        if isinstance(node, exp.Join):
            if node.args.get("on") == exp.true():
                node.set("on", None)
        elif isinstance(node, exp.Window):
            if node.arg_key != "windows" and node.args.get("alias") is not None:
                base = named_window(node)
                for part in ("partition_by", "order", "spec"):
                    node.set(part, base.args.get(part))
                node.set("alias", None)
        elif isinstance(table := node.args.get("field"), exp.Column) and not table.table:
            node.set("field", None)
            node.set("query", exp.Subquery(this=exp.select("*").from_(exp.Table(this=table.this.copy()))))
    return tree


class _Reader:
    """Reads the queries of one text."""

    def __init__(self, sql: str, schema: Schema, same: Mapping[str, str]):
        self.values = ValueReader(sql, schema, same, self.read)

    def read(self, tree: exp.Expr, scopes: list[Scope], named: dict[str, Query]) -> Query:
        clause = tree.args.get("with_")
        if clause is not None:
            named = dict(named)
            for cte in clause.expressions:
                if isinstance(cte.this, exp.Query):
                    query = named[cte.alias.lower()] = self.read(cte.this, scopes, named)
                    query.names = [column.name.lower() for column in cte.args["alias"].columns] or query.names
        if isinstance(tree, exp.Subquery):
            return self.read(tree.this, scopes, named)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, scopes, named)
        if not isinstance(tree, exp.Select):
            raise UnsupportedError(type(tree).__name__.upper())
        return self._select(tree, scopes, named)

    def _set_operation(self, tree: exp.SetOperation, scopes: list[Scope], named: dict) -> Query:
        left, right = self.read(tree.this, scopes, named), self.read(tree.expression, scopes, named)
        kind = type(tree).__name__.lower()
        known = {one.key for one in left.conditions}
        extra = [one for one in right.conditions if one.key not in known]
        if kind == "except":  # what it takes away is what the contrary of its one test keeps, but for duplicates
            mine = [self._contrary(one) if len(extra) == 1 else replace(one, place="except") for one in extra]
            right.conditions = [one for one in right.conditions if one.key in known] + mine
        left.absorb(right)
        left.kinds.append(kind)
        self._order(tree, Place(left, [*scopes, {}], named, {value.text: value for value in left.outputs}))
        return left

    def _contrary(self, one: Condition) -> Condition:
        return replace(one, op=NEGATED.get(one.op, one.op), place="except")

    def _select(self, tree: exp.Select, scopes: list[Scope], named: dict) -> Query:
        query = Query()
        place = Place(query, [*scopes, {}], named)
        source = tree.args.get("from_")
        joins = tree.args.get("joins") or []
        for node in ([source.this] if source else []) + [join.this for join in joins]:
            self._source(node, place)
        for join in joins:
            kind = (join.side or "").lower()
            query.words |= {f"{kind} join"} if kind else set()
            if join.args.get("on") is not None:
                self.values.conditions(join.args["on"], place, "on")
            for name in join.args.get("using") or ():
                self._using(name.name.lower(), place)
        aliases: dict[str, Value] = {}
        for item in tree.expressions:
            for name, value in self._items(item, place):
                query.outputs.append(value)
                query.names.append(name)
                if isinstance(item, exp.Alias):
                    aliases[name] = value
        place = replace(place, aliases=aliases)
        if tree.args.get("where") is not None:
            self.values.conditions(tree.args["where"].this, place, "where")
        group = tree.args.get("group")
        for node in group.expressions if group else ():
            query.groups.append(self._key(node, place))
        if tree.args.get("having") is not None:
            self.values.conditions(tree.args["having"].this, place, "having")
        self._order(tree, place)
        shown = {value.text for value in query.outputs}
        is_computed = any(value.aggregates for value in (*query.outputs, *(key for key, _ in query.order)))
        if not is_computed and not tree.args.get("having") and shown == {value.text for value in query.groups}:
            query.groups = []  # another way to write DISTINCT
        return query

    def _source(self, node: exp.Expr, place: Place) -> None:
        query, scope, named = place.query, place.scopes[-1], place.named
        if isinstance(node, exp.Table) and node.name.lower() in named and not node.db:
            inner = named[node.name.lower()]
            alias = node.alias_or_name
        elif isinstance(node, exp.Table):
            name = node.name.lower()
            query.tables.append(name)
            if name not in self.values.by_name:
                query.unknown.append(name)
            scope[node.alias_or_name.lower()] = self.values.by_name.get(name) or Table(name, ())
            return
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            inner = self.read(node.this, place.scopes[:-1], named)
            alias = node.alias or f"#{len(scope)}"
        else:  # values, table functions, brackets around joins
            for part in node.find_all(exp.Table):
                self._source(part, place)
            return
        if inner.is_plain:
            query.absorb(inner)
        else:
            query.derived.append(inner)
        scope[alias.lower()] = dict(zip(inner.names, inner.outputs, strict=False))

    def _using(self, name: str, place: Place) -> None:
        tables = [one for one in place.scopes[-1].values() if isinstance(one, Table)]
        found = [f"{one.name}.{name}".lower() for one in tables if one.column(name)]
        place.query.joins.extend(frozenset(pair) for pair in pairwise(found))

    def _items(self, item: exp.Expr, place: Place) -> Iterator[tuple[str, Value]]:
        node = item.this if isinstance(item, exp.Alias) else item
        is_all = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
        if not is_all:
            yield item.alias_or_name.lower(), self.values.value(node, place)
            return
        wanted = node.text("table").lower() if isinstance(node, exp.Column) else ""
        for alias, source in place.scopes[-1].items():
            if wanted in ("", alias):
                if isinstance(source, Table):
                    names = [column.name.lower() for column in source.columns]
                    yield from ((name, self.values.column(f"{source.name.lower()}.{name}")) for name in names)
                else:
                    yield from source.items()

    def _key(self, node: exp.Expr, place: Place) -> Value:
        """A key of GROUP BY or ORDER BY: a position, an alias, or an expression."""
        if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.this) <= len(place.query.outputs):
            return place.query.outputs[int(node.this) - 1]
        return self.values.value(node, place)

    def _order(self, tree: exp.Expr, place: Place) -> None:
        order = tree.args.get("order")
        for node in order.expressions if order else ():
            place.query.order.append((self._key(node.this, place), bool(node.args.get("desc"))))
        for part in ("limit", "offset"):
            bound = tree.args.get(part)
            if bound is not None:  # FETCH FIRST of other dialects holds its number elsewhere, and may have none
                number = bound.args.get("count") if isinstance(bound, exp.Fetch) else bound.expression
                setattr(place.query, part, number.sql("sqlite") if number is not None else "1")
