"""SQLite's SQL, as benchmarks write it -> a plan whose shape mirrors the query.

In: one SELECT and the database's schema. Out: a `Plan`. Nothing is optimised away; implicit things become explicit:
names are resolved, aliases in WHERE and GROUP BY replaced, bare columns beside aggregates named as any_value, arg_min or
arg_max, ORDER BY of an unselected column under DISTINCT as a grouping. A query in FROM is a pipeline of its own: the
leftmost is read on from, others become named sub-pipelines.

Raises ParseError for what is no SQL, PlanError for names that the schema lacks, UnsupportedError, with name and place,
for what a plan cannot express. Sources of the rules: https://www.sqlite.org/lang_select.html and resolve.c.
"""

from dataclasses import dataclass, field, replace

from sqlglot import exp

from workbench.errors import PlanError, UnsupportedError
from workbench.plan import As, Definition, Field, Plan, Relation, SetOperation, Sort, Values, With
from workbench.plan_expressions import Expression, Literal, SortKey
from workbench.read_from import FromReader, with_unique_names
from workbench.read_select import SelectReader
from workbench.resolve_names import Scope, place
from workbench.schema import Schema
from workbench.sql_expressions import ExpressionReader
from workbench.sqlite_parser import parse

_SET_KINDS = {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}


def sql_to_plan(sql: str, schema: Schema) -> Plan:
    """The plan of one SQLite query; see the module for the errors."""
    try:
        return Plan(Reader(sql, schema).read_pipeline(parse(sql), None, {}))
    except RecursionError as fault:
        raise UnsupportedError("a query nested too deep") from fault
    except PlanError as fault:
        if fault.kind != "unsupported":
            raise
        raise UnsupportedError(fault.what, where=fault.where) from fault


@dataclass
class Pipeline:
    """The named sub-pipelines of one query, in the order in which they are needed. visible: those a place may read."""

    definitions: list[Definition] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def add(self, name: str, query: Relation, is_recursive: bool = False) -> str:
        """Keep a query under a free name, and give the name."""
        name = self.free(name)
        self.definitions.append(Definition(name, query, is_recursive))
        return name

    def free(self, name: str) -> str:
        base, number = name.replace(".", "_") or "q", 1
        name = base
        while name.lower() in self.names:
            number += 1
            name = f"{base}_{number}"
        self.names.add(name.lower())
        return name


Visible = dict[str, tuple[str, tuple[Field, ...]]]  # a WITH name in lower case -> its final name and columns


class Reader:
    """Reads the queries of one text. Each method: tree in, relation out."""

    def __init__(self, sql: str, schema: Schema):
        self.sql, self.schema = sql, schema
        self.visible: Visible = {}
        self.pipeline = Pipeline()
        self.expressions = ExpressionReader(sql, self.read_subquery)
        self.sources = FromReader(self)
        self.selects = SelectReader(self)

    def read_pipeline(self, tree: exp.Expr, outer: Scope | None, visible: Visible) -> Relation:
        """A query with the named sub-pipelines that it needs on top."""
        before, kept = self.pipeline, self.visible
        self.pipeline = Pipeline(names={table.name.lower() for table in self.schema.tables} | before.names)
        self.visible = dict(visible)
        try:
            relation = self.read_query(tree, outer)
            definitions = tuple(self.pipeline.definitions)
            return With(definitions, relation) if definitions else relation
        finally:
            self.pipeline, self.visible = before, kept

    def read_subquery(self, tree: exp.Expr, scope: Scope) -> Relation:
        """A query inside an expression; the scope around it gives correlated columns."""
        return self.read_pipeline(tree, scope, self.visible)

    def read_query(self, tree: exp.Expr, outer: Scope | None) -> Relation:
        """A SELECT, VALUES, set operation or a query in brackets."""
        kept = self.visible
        try:
            self._read_definitions(tree, outer)
            if isinstance(tree, exp.Subquery):
                if any(tree.args.get(part) for part in ("order", "limit", "offset")):
                    raise UnsupportedError("ORDER BY or LIMIT after brackets", where=place(tree, self.sql))
                return self.read_query(tree.this, outer)
            if isinstance(tree, exp.SetOperation):
                return self._read_set_operation(tree, outer)
            if isinstance(tree, exp.Values):
                return self._read_values(tree, outer)
            if isinstance(tree, exp.Select):
                return self.selects.read(tree, outer)
            raise UnsupportedError(type(tree).__name__.upper(), where=place(tree, self.sql))
        finally:
            self.visible = kept

    def _read_definitions(self, tree: exp.Expr, outer: Scope | None) -> None:
        clause = tree.args.get("with_")
        if clause is None:
            return
        self.visible = dict(self.visible)
        for cte in clause.expressions:
            name, columns = cte.alias, tuple(column.name for column in cte.args["alias"].columns)
            if not isinstance(cte.this, exp.Query):
                raise UnsupportedError(f"WITH {name} that is no query", where=place(cte, self.sql))
            if _reads(cte.this, name) and isinstance(cte.this, exp.SetOperation):
                self._read_recursive(cte, name, columns, outer)
                continue
            query = self.read_query(cte.this, outer)
            query = As(query, name, columns) if columns else with_unique_names(query)
            final = self.pipeline.add(name, query)
            self.visible[name.lower()] = (final, query.fields)

    def _read_recursive(self, cte: exp.CTE, name: str, columns: tuple[str, ...], outer: Scope | None) -> None:
        """WITH RECURSIVE: the start is read first, since it gives the columns that the step reads."""
        tree = cte.this
        if type(tree) is not exp.Union or any(tree.args.get(part) for part in ("order", "limit", "offset")):
            raise UnsupportedError(
                f"WITH RECURSIVE {name} with ORDER BY, LIMIT or no UNION", where=place(cte, self.sql)
            )
        if _reads(tree.this, name):
            raise UnsupportedError(f"WITH RECURSIVE {name} with several steps", where=place(cte, self.sql))
        start = self.read_query(tree.this, outer)
        named = As(start, name, columns) if columns else start
        final = self.pipeline.free(name)
        self.visible[name.lower()] = (final, named.fields)
        step = self.read_query(tree.expression, outer)
        query: Relation = SetOperation(start, step, "union", not tree.args.get("distinct"))
        query = As(query, name, columns) if columns else query
        self.pipeline.definitions.append(Definition(final, query, True))

    def _read_values(self, tree: exp.Values, outer: Scope | None) -> Relation:
        scope = Scope(outer=outer, takes_aggregates=False)
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in tree.expressions]
        read = tuple(tuple(self.expressions.read(value, scope) for value in row) for row in rows)
        names = tuple(f"column{number + 1}" for number in range(len(read[0])))
        return Values(read, names)

    def _read_set_operation(self, tree: exp.SetOperation, outer: Scope | None) -> Relation:
        left, right = with_unique_names(self.read_query(tree.this, outer)), self.read_query(tree.expression, outer)
        kind = _SET_KINDS[type(tree)]
        relation: Relation = SetOperation(left, right, kind, tree.args.get("distinct") is False)
        order = tree.args.get("order")
        keys = tuple(self._output_key(key, relation, right) for key in order.expressions) if order else ()
        limit, offset = self.read_bounds(tree, outer)
        return Sort(relation, keys, limit, offset) if keys or limit or offset else relation

    def _output_key(self, node: exp.Ordered, both: Relation, right: Relation) -> SortKey:
        """ORDER BY of a set operation names an output column, by place or by name on either side."""
        collate = node.this if isinstance(node.this, exp.Collate) else None
        term = collate.this if collate is not None else node.this
        index = None
        if isinstance(term, exp.Literal) and not term.is_string:
            index = int(term.this) - 1
        elif isinstance(term, exp.Column):
            sides = ((one.fields, term.name, term.text("table")) for one in (both, right))
            index = next((found for side in sides if (found := _position(*side)) is not None), None)
        if index is None or not 0 <= index < len(both.fields):
            what = f"ORDER BY {term.sql('sqlite')} after a set operation"
            raise PlanError("unknown_column", what, where=place(node, self.sql), hint="name an output column")
        value: Expression = both.fields[index].column()
        if collate is not None:
            value = replace_value(self.expressions.read, collate, value)
        return SortKey(value, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def read_bounds(self, tree: exp.Expr, outer: Scope | None) -> tuple[Expression | None, Expression | None]:
        """LIMIT and OFFSET; a negative limit is none, an offset of zero or less too."""
        scope = Scope(outer=outer, takes_aggregates=False)
        found = []
        for part in ("limit", "offset"):
            node = tree.args.get(part)
            value = self.expressions.read(node.expression, scope) if node is not None else None
            is_number = isinstance(value, Literal) and isinstance(value.value, int)
            if value is not None and not is_number and isinstance(value, Literal):
                raise UnsupportedError(f"{part.upper()} {value.value!r}", where=place(tree, self.sql))
            if is_number and (value.value < 0 or (part == "offset" and value.value == 0)):
                value = None
            found.append(value)
        return found[0], found[1]


def replace_value(read, collate: exp.Collate, value: Expression) -> Expression:
    """The collation of a SQL term on another value."""
    marker = read(exp.Collate(this=exp.null(), expression=collate.expression.copy()), Scope())
    return replace(marker, value=value)


def _position(given: tuple[Field, ...], name: str, alias: str) -> int | None:
    for index, one in enumerate(given):
        if one.name.lower() == name.lower() and (not alias or (one.alias or "").lower() == alias.lower()):
            return index
    return None


def _reads(tree: exp.Expr, name: str) -> bool:
    return any(table.name.lower() == name.lower() and not table.db for table in tree.find_all(exp.Table))
