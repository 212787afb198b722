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

from workbench.errors import UnsupportedError
from workbench.features import AGGREGATES
from workbench.query_parts import Condition, Query, Value, combined
from workbench.resolve_names import is_double_quoted
from workbench.schema import Schema, Table
from workbench.sqlite_parser import parse

COMPARISONS = {exp.EQ: "=", exp.NEQ: "!=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_PATTERNS = {exp.Like: "like", exp.Glob: "glob", exp.Is: "is"}
_NEGATED = {"=": "!=", "!=": "=", ">": "<=", "<=": ">", "<": ">=", ">=": "<", "like": "not like", "glob": "not glob"}
_NEGATED |= {"is": "is not", "in": "not in", "exists": "not exists", "holds": "does not hold"}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
_Scope = dict[str, "Table | dict[str, Value]"]


def read_query(sql: str, schema: Schema, same: Mapping[str, str] | None = None) -> Query:
    """The parts of one query. same: columns that are to be called by another's name, as `same_columns` gives them."""
    try:
        return _Reader(sql, schema, same or {}).read(parse(sql), [], {})
    except RecursionError as fault:
        raise UnsupportedError("a query nested too deep") from fault


class _Reader:
    """Reads the queries of one text."""

    def __init__(self, sql: str, schema: Schema, same: Mapping[str, str]):
        self.sql, self.same = sql, same
        self.by_name = {table.name.lower(): table for table in schema.tables}

    def read(self, tree: exp.Expr, scopes: list[_Scope], named: dict[str, Query]) -> Query:
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

    def _set_operation(self, tree: exp.SetOperation, scopes: list[_Scope], named: dict) -> Query:
        left, right = self.read(tree.this, scopes, named), self.read(tree.expression, scopes, named)
        kind = type(tree).__name__.lower()
        known = {one.key for one in left.conditions}
        extra = [one for one in right.conditions if one.key not in known]
        if kind == "except":  # what it takes away is what the contrary of its one test keeps, but for duplicates
            mine = [self._contrary(one) if len(extra) == 1 else replace(one, place="except") for one in extra]
            right.conditions = [one for one in right.conditions if one.key in known] + mine
        left.absorb(right)
        left.kinds.append(kind)
        self._order(tree, left, [*scopes, {}], named, {value.text: value for value in left.outputs})
        return left

    def _contrary(self, one: Condition) -> Condition:
        return replace(one, op=_NEGATED.get(one.op, one.op), place="except")

    def _select(self, tree: exp.Select, scopes: list[_Scope], named: dict) -> Query:
        query, scope = Query(), {}
        scopes = [*scopes, scope]
        source = tree.args.get("from_")
        joins = tree.args.get("joins") or []
        for node in ([source.this] if source else []) + [join.this for join in joins]:
            self._source(node, query, scope, scopes, named)
        for join in joins:
            kind = (join.side or "").lower()
            query.words |= {f"{kind} join"} if kind else set()
            if join.args.get("on") is not None:
                self._conditions(join.args["on"], query, scopes, named, "on")
            for name in join.args.get("using") or ():
                self._using(name.name.lower(), query, scope)
        aliases: dict[str, Value] = {}
        for item in tree.expressions:
            for name, value in self._items(item, query, scopes, named):
                query.outputs.append(value)
                query.names.append(name)
                if isinstance(item, exp.Alias):
                    aliases[name] = value
        if tree.args.get("where") is not None:
            self._conditions(tree.args["where"].this, query, scopes, named, "where", aliases)
        group = tree.args.get("group")
        for node in group.expressions if group else ():
            query.groups.append(self._key(node, query, scopes, named, aliases))
        if tree.args.get("having") is not None:
            self._conditions(tree.args["having"].this, query, scopes, named, "having", aliases)
        self._order(tree, query, scopes, named, aliases)
        shown = {value.text for value in query.outputs}
        is_computed = any(value.aggregates for value in (*query.outputs, *(key for key, _ in query.order)))
        if not is_computed and not tree.args.get("having") and shown == {value.text for value in query.groups}:
            query.groups = []  # another way to write DISTINCT
        return query

    def _source(self, node: exp.Expr, query: Query, scope: _Scope, scopes: list[_Scope], named: dict) -> None:
        if isinstance(node, exp.Table) and node.name.lower() in named and not node.db:
            inner = named[node.name.lower()]
            alias = node.alias_or_name
        elif isinstance(node, exp.Table):
            name = node.name.lower()
            query.tables.append(name)
            if name not in self.by_name:
                query.unknown.append(name)
            scope[node.alias_or_name.lower()] = self.by_name.get(name) or Table(name, ())
            return
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            inner = self.read(node.this, scopes[:-1], named)
            alias = node.alias or f"#{len(scope)}"
        else:  # values, table functions, brackets around joins
            for part in node.find_all(exp.Table):
                self._source(part, query, scope, scopes, named)
            return
        if inner.is_plain:
            query.absorb(inner)
        else:
            query.derived.append(inner)
        scope[alias.lower()] = dict(zip(inner.names, inner.outputs, strict=False))

    def _using(self, name: str, query: Query, scope: _Scope) -> None:
        found = [f"{one.name}.{name}".lower() for one in scope.values() if isinstance(one, Table) and one.column(name)]
        query.joins.extend(frozenset(pair) for pair in pairwise(found))

    def _items(self, item: exp.Expr, query: Query, scopes: list[_Scope], named: dict) -> Iterator[tuple[str, Value]]:
        node = item.this if isinstance(item, exp.Alias) else item
        is_all = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
        if not is_all:
            yield item.alias_or_name.lower(), self._value(node, query, scopes, named)
            return
        wanted = node.text("table").lower() if isinstance(node, exp.Column) else ""
        for alias, source in scopes[-1].items():
            if wanted in ("", alias):
                if isinstance(source, Table):
                    names = [column.name.lower() for column in source.columns]
                    yield from ((name, self._column(f"{source.name.lower()}.{name}")) for name in names)
                else:
                    yield from source.items()

    def _key(self, node: exp.Expr, query: Query, scopes: list[_Scope], named: dict, aliases: dict) -> Value:
        """A key of GROUP BY or ORDER BY: a position, an alias, or an expression."""
        if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.this) <= len(query.outputs):
            return query.outputs[int(node.this) - 1]
        return self._value(node, query, scopes, named, aliases)

    def _order(self, tree: exp.Expr, query: Query, scopes: list[_Scope], named: dict, aliases: dict) -> None:
        order = tree.args.get("order")
        for node in order.expressions if order else ():
            query.order.append((self._key(node.this, query, scopes, named, aliases), bool(node.args.get("desc"))))
        for part in ("limit", "offset"):
            bound = tree.args.get(part)
            if bound is not None:
                setattr(query, part, bound.expression.sql("sqlite"))

    def _resolve(self, node: exp.Column, query: Query, scopes: list[_Scope], aliases: dict[str, Value]) -> Value:
        name, alias = node.name.lower(), node.text("table").lower()
        for scope in reversed(scopes):
            for source_name, source in scope.items():
                if alias not in ("", source_name):
                    continue
                if isinstance(source, Table):
                    if source.column(name) is not None or (alias and not source.columns):
                        return self._column(f"{source.name}.{name}".lower())
                elif name in source:
                    return source[name]
        if not alias and name in aliases:
            return aliases[name]
        if not alias and is_double_quoted(node.this, self.sql):
            return Value(f"'{node.name}'")
        written = f"{alias}.{name}" if alias else name
        query.unknown.append(written)
        return Value(written, frozenset({written}), is_column=True)

    def _column(self, name: str) -> Value:
        name = self.same.get(name, name)
        return Value(name, frozenset({name}), is_column=True)

    def _raw(self, node: exp.Expr, query: Query, scopes: list[_Scope]) -> str | None:
        """A column by its own name, whatever is the same; None for other expressions."""
        if not isinstance(node, exp.Column):
            return None
        kept, self.same = self.same, {}
        try:
            found = self._resolve(node, Query(), scopes, {})
        finally:
            self.same = kept
        return found.text if found.is_column else None

    def _value(
        self, node: exp.Expr, query: Query, scopes: list[_Scope], named: dict, aliases: dict | None = None
    ) -> Value:
        def read(part: exp.Expr) -> Value:
            return self._value(part, query, scopes, named, aliases)

        if isinstance(node, exp.Paren | exp.Alias):
            return read(node.this)
        if isinstance(node, exp.Column):
            return self._resolve(node, query, scopes, aliases or {})
        if isinstance(node, exp.Literal):
            return (
                Value(f"'{node.this}'")
                if node.is_string
                else Value(
                    node.this,
                    numbers=() if float(node.this) == 1 else (f"{float(node.this):g}",),
                    is_real=not node.is_int,
                )
            )
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return Value(f"-{node.this.this}", numbers=(f"-{node.this.this}",))
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            inner = self.read(node.this, scopes, named)
            query.nested.append(inner)
            shown = inner.outputs[:1]
            return replace(combined(f"({inner.text})", shown), operators=(), numbers=())
        if isinstance(node, exp.Cast):
            inner, to = read(node.this), str(node.to.meta.get("written") or node.to).lower()
            is_real = any(word in to for word in ("real", "floa", "doub"))  # DECIMAL keeps whole numbers whole
            return combined(f"cast({inner.text} as {to})", [inner], scalars=("cast",), is_real=is_real)
        if type(node) in ARITHMETIC:
            parts = [read(node.this), read(node.expression)]
            texts = (
                sorted(one.text for one in parts)
                if isinstance(node, exp.Add | exp.Mul)
                else [one.text for one in parts]
            )
            sign = ARITHMETIC[type(node)]
            return combined("(" + f" {sign} ".join(texts) + ")", parts, operators=(sign,))
        if isinstance(node, exp.Filter):
            inner, tested = read(node.this), self._test(node.expression.this, query, scopes, named, aliases)
            text = f"count({tested.text})" if inner.text == "count(*)" else f"{inner.text} filter {tested.text}"
            return combined(text, [inner])
        if isinstance(node, exp.Window):
            inner = read(node.this)
            inside = [read(part) for part in node.args.get("partition_by") or ()]
            order = node.args.get("order")
            inside += [read(part.this) for part in (order.expressions if order else ())]
            name = inner.scalars[-1] if inner.scalars else "window"
            return combined(
                f"{inner.text} over ({', '.join(one.text for one in inside)})", [inner, *inside], aggregates=(name,)
            )
        if isinstance(node, exp.Anonymous):
            return self._call(node, query, scopes, named, read)
        if isinstance(node, exp.Case | exp.If):
            return self._case(node, query, scopes, named, read, aliases)
        if isinstance(node, exp.Condition) and (type(node) in COMPARISONS or type(node) in _PATTERNS or isinstance(node, exp.Connector | exp.Not | exp.In | exp.Between | exp.Exists)):  # fmt: skip
            return self._test(node, query, scopes, named, aliases)
        parts = [read(part) for part in node.iter_expressions()]
        return combined(
            f"{node.key}({', '.join(one.text for one in parts)})" if parts else node.sql("sqlite").lower(), parts
        )

    def _call(self, node: exp.Anonymous, query: Query, scopes: list[_Scope], named: dict, read) -> Value:
        name, args = node.name.lower(), node.expressions
        distinct = args[0] if args and isinstance(args[0], exp.Distinct) else None
        args = distinct.expressions if distinct is not None else args
        if name == "iif" and len(args) in (2, 3):
            return read(exp.Case(ifs=[exp.If(this=args[0].copy(), true=args[1].copy())], default=args[2].copy() if len(args) == 3 else None))  # fmt: skip
        test = _counted(args[0], name) if distinct is None and len(args) == 1 else None
        if test is not None:
            tested = self._test(test, query, scopes, named, None)
            return Value(f"count({tested.text})", aggregates=("count",), is_real=_is_one_point_oh(args[0]))
        parts = [read(part) for part in args]
        if name not in AGGREGATES or (name in ("min", "max") and len(args) > 1):
            return combined(f"{name}({', '.join(one.text for one in parts)})", parts, scalars=(name,))
        inner = node.expressions[0] if node.expressions else None
        if distinct is None and name == "count" and (not parts or isinstance(inner, exp.Star | exp.Literal) or self._is_never_null(args[0], scopes)):  # fmt: skip
            return Value("count(*)", aggregates=("count",))
        word = f"{name} distinct" if distinct is not None else name
        return combined(f"{name}({'distinct ' if distinct is not None else ''}{', '.join(one.text for one in parts)})", parts, aggregates=(word,))  # fmt: skip

    def _is_never_null(self, node: exp.Expr, scopes: list[_Scope]) -> bool:
        raw = self._raw(node, Query(), scopes)
        table, _, column = (raw or "").partition(".")
        known = self.by_name.get(table)
        if known is None:
            return False
        keys = {name.lower() for name in known.never_null} | {name.lower() for name in known.primary_key}
        return column in keys

    def _case(self, node: exp.Expr, query: Query, scopes: list, named: dict, read, aliases: dict | None) -> Value:
        branches = node.args.get("ifs") or [node]
        operand = node.this if isinstance(node, exp.Case) else None
        parts, texts = [], []
        for branch in branches:
            test = branch.this if operand is None else exp.EQ(this=operand.copy(), expression=branch.this.copy())
            tested, result = self._test(test, query, scopes, named, aliases), read(branch.args["true"])
            texts.append(f"when {tested.text} then {result.text}")
            parts.append(result)
        default = node.args.get("default") or node.args.get("false")
        if default is not None:
            parts.append(read(default))
            texts.append(f"else {parts[-1].text}")
        value = combined(f"case {' '.join(texts)} end", parts)
        return Value(**{**value.__dict__, "numbers": ()})

    def _test(self, node: exp.Expr, query: Query, scopes: list, named: dict, aliases: dict | None) -> Value:
        """A test inside an expression: its conditions go to the query, its text into the expression's."""
        before = len(query.conditions)
        self._conditions(node, query, scopes, named, "output", aliases)
        return Value(" and ".join(sorted(one.text for one in query.conditions[before:])))

    def _conditions(
        self,
        node: exp.Expr,
        query: Query,
        scopes: list[_Scope],
        named: dict,
        place: str,
        aliases: dict | None = None,
        is_negated: bool = False,
    ) -> None:
        def again(part: exp.Expr, negated: bool = is_negated) -> None:
            self._conditions(part, query, scopes, named, place, aliases, negated)

        def value(part: exp.Expr) -> Value:
            return self._value(part, query, scopes, named, aliases)

        def add(subject: Value, op: str, text: str, kind: str, inner: Query | None = None) -> None:
            query.conditions.append(
                Condition(subject, _NEGATED.get(op, op) if is_negated else op, text, kind, place, inner)
            )

        if isinstance(node, exp.Paren):
            again(node.this)
        elif isinstance(node, exp.Not):
            again(node.this, not is_negated)
        elif isinstance(node, exp.Connector):
            query.words |= {"or"} if isinstance(node, exp.Or) != is_negated else set()
            again(node.this)
            again(node.expression)
        elif isinstance(node, exp.Between):
            subject = value(node.this)
            for op, part in ((">=", node.args["low"]), ("<=", node.args["high"])):
                add(subject, op, value(part).text, "constant")
        elif isinstance(node, exp.In) and node.args.get("query") is not None:
            self._in_query(node.this, node.args["query"], "in", query, scopes, named, place, aliases, is_negated)
        elif isinstance(node, exp.In):
            subject = value(node.this)
            query.words |= {"or"} if len(node.expressions) > 1 and not is_negated else set()
            for part in node.expressions:
                add(subject, "=", value(part).text, "constant")
        elif isinstance(node, exp.Exists):
            inner = self.read(node.this, scopes, named)
            if inner.is_plain and not is_negated:
                query.absorb(inner)
            else:
                add(Value(""), "exists", "", "query", inner)
        elif type(node) in COMPARISONS or type(node) in _PATTERNS:
            self._comparison(node, query, scopes, named, place, aliases, is_negated)
        else:
            add(value(node), "holds", "", "none")

    def _in_query(self, left, right, op, query, scopes, named, place, aliases, is_negated) -> None:
        inner = self.read(right, scopes, named)
        subject = self._value(left, query, scopes, named, aliases)
        is_lookup = inner.is_plain or (op == "in" and inner.is_one_row_a_key)
        if op in ("in", "=") and not is_negated and is_lookup and len(inner.outputs) == 1:
            tree = right
            while isinstance(tree, exp.Subquery):
                tree = tree.this
            raw = self._raw(left, query, scopes)
            shown = inner.outputs[0]
            if raw and shown.is_column and self.same.get(raw, raw) != shown.text:
                query.joins.append(frozenset({raw, shown.text}))
            query.absorb(inner)
            query.equals |= op == "="
            return
        op = _NEGATED.get(op, op) if is_negated else op
        query.conditions.append(Condition(subject, op, "", "query", place, inner))

    def _comparison(self, node, query, scopes, named, place, aliases, is_negated) -> None:
        op = COMPARISONS.get(type(node)) or _PATTERNS[type(node)]
        left, right = node.this, node.expression
        if op == "is" and isinstance(right, exp.Not):
            op, right = "is not", right.this
        if isinstance(left, exp.Subquery | exp.Literal) and not isinstance(right, exp.Subquery | exp.Literal):
            left, right, op = right, left, _FLIPPED.get(op, op)
        while isinstance(right, exp.Paren):
            right = right.this
        if isinstance(right, exp.Subquery) and isinstance(right.this, exp.Query):
            self._in_query(left, right, op, query, scopes, named, place, aliases, is_negated)
            return
        raws = [self._raw(side, query, scopes) for side in (left, right)]
        if op == "=" and not is_negated and all(raws):
            query.joins.append(frozenset(raws))
            return
        subject, value = (self._value(side, query, scopes, named, aliases) for side in (left, right))
        op, value = _whole(op, subject, value)
        kind = "column" if value.columns else "constant"
        op = {"is": "is not", "is not": "is"}.get(op, _NEGATED.get(op, op)) if is_negated else op
        query.conditions.append(Condition(subject, op, value.text, kind, place))


def _counted(node: exp.Expr, name: str) -> exp.Expr | None:
    """The test whose passing rows SUM or COUNT of it counts: of CASE to 1 and 0, of IIF, or the test itself."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Case) and node.this is None:
        (branch, *more), default = node.args["ifs"], node.args.get("default")
        is_zero = default is None or isinstance(default, exp.Null) or (name == "sum" and default.name == "0")
        is_counted = name == "count" or (name == "sum" and branch.args["true"].name in ("1", "1.0"))
        return branch.this if is_zero and is_counted and not more else None
    if isinstance(node, exp.Anonymous) and node.name.lower() == "iif" and name == "sum":
        return node.expressions[0] if [one.name for one in node.expressions[1:]] == ["1", "0"] else None
    return node if name == "sum" and (type(node) in COMPARISONS or type(node) in _PATTERNS) else None


def _whole(op: str, subject: Value, value: Value) -> tuple[str, Value]:
    """COUNT(...) > 1 as COUNT(...) >= 2: a count is a whole number."""
    step = {">": 1, "<": -1}.get(op)
    if step is None or not subject.text.startswith("count(") or subject.operators or not value.text.isdecimal():
        return op, value
    return op + "=", Value(str(int(value.text) + step), numbers=value.numbers)


def _is_one_point_oh(node: exp.Expr) -> bool:
    """Whether CASE counts by 1.0, which makes a division of it exact."""
    return any(branch.args["true"].name == "1.0" for branch in node.find_all(exp.If))
