"""Reads the expressions and tests of a query into the parts that two queries are compared by.

In: sqlglot's tree of an expression and the `Place` it stands at. Out: a `Value`; tests, joins and subqueries found in it
go to the place's query. read_query_parts.py reads the queries around them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from workbench.features import AGGREGATES
from workbench.query_parts import Condition, Query, Value, combined
from workbench.resolve_names import is_double_quoted
from workbench.schema import Schema, Table

COMPARISONS = {exp.EQ: "=", exp.NEQ: "!=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_PATTERNS = {exp.Like: "like", exp.Glob: "glob", exp.Is: "is"}
_TESTS = (*COMPARISONS, *_PATTERNS, exp.Connector, exp.Not, exp.In, exp.Between, exp.Exists)
NEGATED = {"=": "!=", "!=": "=", ">": "<=", "<=": ">", "<": ">=", ">=": "<", "like": "not like", "glob": "not glob", "is": "is not", "is not": "is", "in": "not in", "exists": "not exists", "holds": "does not hold"}  # fmt: skip
_OTHER_NAMES = {"substring": "substr", "ifnull": "coalesce"}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
Scope = dict[str, "Table | dict[str, Value]"]  # what FROM gives: alias -> a table, or a query's outputs by name


@dataclass
class Place:
    """Where an expression stands. scopes: FROM of the queries around it, outermost first. named: queries of WITH. aliases:
    of the select list, where they may be used."""

    query: Query
    scopes: list[Scope]
    named: dict[str, Query]
    aliases: dict[str, Value] = field(default_factory=dict)


class ValueReader:
    """read_query: reads a subquery, from its tree, the scopes around it and the queries of WITH."""

    def __init__(self, sql: str, schema: Schema, same: Mapping[str, str], read_query: Callable[..., Query]):
        self.sql, self.same, self.read_query = sql, same, read_query
        self.by_name = {table.name.lower(): table for table in schema.tables}

    def _resolve(self, node: exp.Column, place: Place) -> Value:
        name, alias = node.name.lower(), node.text("table").lower()
        for scope in reversed(place.scopes):
            for source_name, source in scope.items():
                if alias not in ("", source_name):
                    continue
                if isinstance(source, Table):
                    if source.column(name) is not None or (alias and not source.columns):
                        return self.column(f"{source.name}.{name}".lower())
                elif name in source:
                    return source[name]
        if not alias and name in place.aliases:
            return place.aliases[name]
        if not alias and is_double_quoted(node.this, self.sql):
            return Value(f"'{node.name}'")
        written = f"{alias}.{name}" if alias else name
        place.query.unknown.append(written)
        return Value(written, frozenset({written}), is_column=True)

    def column(self, name: str) -> Value:
        name = self.same.get(name, name)
        return Value(name, frozenset({name}), is_column=True)

    def _raw(self, node: exp.Expr, place: Place) -> str | None:
        """A column by its own name, whatever is the same; None for other expressions."""
        if not isinstance(node, exp.Column):
            return None
        kept, self.same = self.same, {}
        try:
            found = self._resolve(node, replace(place, query=Query(), aliases={}))
        finally:
            self.same = kept
        return found.text if found.is_column else None

    def value(self, node: exp.Expr, place: Place) -> Value:
        """An expression; tests and subqueries inside it go to the query too."""

        def read(part: exp.Expr) -> Value:
            return self.value(part, place)

        if isinstance(node, exp.Paren | exp.Alias):
            return read(node.this)
        if isinstance(node, exp.Column):
            return self._resolve(node, place)
        if isinstance(node, exp.Literal):
            if node.is_string:
                return Value(f"'{node.this}'")
            number = f"{float(node.this):g}"
            return Value(node.this, numbers=() if number == "1" else (number,), is_real=not node.is_int)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return Value(f"-{node.this.this}", numbers=(f"-{node.this.this}",))
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            inner = self.read_query(node.this, place.scopes, place.named)
            place.query.nested.append(inner)
            shown = inner.outputs[:1]
            return replace(combined(f"({inner.text})", shown), operators=(), numbers=())
        if isinstance(node, exp.Cast):
            inner, to = read(node.this), str(node.to.meta.get("written") or node.to).lower()
            is_real = any(word in to for word in ("real", "floa", "doub"))  # DECIMAL keeps whole numbers whole
            return combined(f"cast({inner.text} as {to})", [inner], scalars=("cast",), is_real=is_real)
        if type(node) in ARITHMETIC:
            parts = [read(node.this), read(node.expression)]
            texts = [one.text for one in parts]
            texts = sorted(texts) if isinstance(node, exp.Add | exp.Mul) else texts
            sign = ARITHMETIC[type(node)]
            is_whole = sign == "/" and not any(one.is_real for one in parts)
            return combined("(" + f" {sign} ".join(texts) + ")", parts, operators=(sign,), is_whole=is_whole)
        if isinstance(node, exp.Filter):
            inner, tested = read(node.this), self._test(node.expression.this, place)
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
            return self._call(node, place)
        if isinstance(node, exp.Case | exp.If):
            return self._case(node, place)
        if isinstance(node, _TESTS):
            return self._test(node, place)
        parts = [read(part) for part in node.iter_expressions()]
        return combined(
            f"{node.key}({', '.join(one.text for one in parts)})" if parts else node.sql("sqlite").lower(), parts
        )

    def _call(self, node: exp.Anonymous, place: Place) -> Value:
        name, args = _OTHER_NAMES.get(node.name.lower(), node.name.lower()), node.expressions
        distinct = args[0] if args and isinstance(args[0], exp.Distinct) else None
        args = distinct.expressions if distinct is not None else args
        if name == "iif" and len(args) in (2, 3):
            return self.value(exp.Case(ifs=[exp.If(this=args[0].copy(), true=args[1].copy())], default=args[2].copy() if len(args) == 3 else None), place)  # fmt: skip
        test = _counted(args[0], name) if distinct is None and len(args) == 1 else None
        if test is not None:
            tested = self._test(test, replace(place, aliases={}))
            return Value(f"count({tested.text})", aggregates=("count",), is_real=_counts_by_reals(args[0]))
        parts = [self.value(part, place) for part in args]
        if name not in AGGREGATES or (name in ("min", "max") and len(args) > 1):
            return combined(f"{name}({', '.join(one.text for one in parts)})", parts, scalars=(name,))
        inner = node.expressions[0] if node.expressions else None
        if distinct is None and name == "count" and (not parts or isinstance(inner, exp.Star | exp.Literal) or self._is_never_null(args[0], place)):  # fmt: skip
            return Value("count(*)", aggregates=("count",))
        word = f"{name} distinct" if distinct is not None else name
        return combined(f"{name}({'distinct ' if distinct is not None else ''}{', '.join(one.text for one in parts)})", parts, aggregates=(word,))  # fmt: skip

    def _is_never_null(self, node: exp.Expr, place: Place) -> bool:
        raw = self._raw(node, place)
        table, _, column = (raw or "").partition(".")
        known = self.by_name.get(table)
        if known is None:
            return False
        keys = {name.lower() for name in known.never_null} | {name.lower() for name in known.primary_key}
        return column in keys

    def _case(self, node: exp.Expr, place: Place) -> Value:
        branches = node.args.get("ifs") or [node]
        operand = node.this if isinstance(node, exp.Case) else None
        parts, texts = [], []
        for branch in branches:
            test = branch.this if operand is None else exp.EQ(this=operand.copy(), expression=branch.this.copy())
            tested, result = self._test(test, place), self.value(branch.args["true"], place)
            texts.append(f"when {tested.text} then {result.text}")
            parts.append(result)
        default = node.args.get("default") or node.args.get("false")
        if default is not None:
            parts.append(self.value(default, place))
            texts.append(f"else {parts[-1].text}")
        value = combined(f"case {' '.join(texts)} end", parts)
        return replace(value, numbers=())

    def _test(self, node: exp.Expr, place: Place) -> Value:
        """A test inside an expression: its conditions go to the query, its text into the expression's."""
        before = len(place.query.conditions)
        self.conditions(node, place, "output")
        return Value(" and ".join(sorted(one.text for one in place.query.conditions[before:])))

    def conditions(self, node: exp.Expr, place: Place, where: str, is_negated: bool = False) -> None:
        """Take a test apart into the query's conditions. where: as Condition.place."""
        query = place.query

        def again(part: exp.Expr, negated: bool = is_negated) -> None:
            self.conditions(part, place, where, negated)

        def value(part: exp.Expr) -> Value:
            return self.value(part, place)

        def add(subject: Value, op: str, text: str, kind: str, inner: Query | None = None) -> None:
            query.conditions.append(
                Condition(subject, NEGATED.get(op, op) if is_negated else op, text, kind, where, inner)
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
            self._in_query(node.this, node.args["query"], "in", place, where, is_negated)
        elif isinstance(node, exp.In):
            subject = value(node.this)
            query.words |= {"or"} if len(node.expressions) > 1 and not is_negated else set()
            for part in node.expressions:
                add(subject, "=", value(part).text, "constant")
        elif isinstance(node, exp.Exists):
            inner = self.read_query(node.this, place.scopes, place.named)
            if inner.is_plain and not is_negated:
                query.absorb(inner)
            else:
                add(Value(""), "exists", "", "query", inner)
        elif type(node) in COMPARISONS or type(node) in _PATTERNS:
            self._comparison(node, place, where, is_negated)
        else:
            add(value(node), "holds", "", "none")

    def _in_query(self, left: exp.Expr, right: exp.Expr, op: str, place: Place, where: str, is_negated: bool) -> None:
        """A comparison with a subquery: a join where it is a lookup, else a condition that holds it."""
        query, inner = place.query, self.read_query(right, place.scopes, place.named)
        subject = self.value(left, place)
        is_lookup = inner.is_plain or (op == "in" and inner.is_one_row_a_key)
        if op in ("in", "=") and not is_negated and is_lookup and len(inner.outputs) == 1:
            raw, shown = self._raw(left, place), inner.outputs[0]
            if raw and shown.is_column and self.same.get(raw, raw) != shown.text:
                query.joins.append(frozenset({raw, shown.text}))
            query.absorb(inner)
            query.equals |= op == "="
            return
        op = NEGATED.get(op, op) if is_negated else op
        query.conditions.append(Condition(subject, op, "", "query", where, inner))

    def _comparison(self, node: exp.Expr, place: Place, where: str, is_negated: bool) -> None:
        op = COMPARISONS.get(type(node)) or _PATTERNS[type(node)]
        left, right = node.this, node.expression
        if op == "is" and isinstance(right, exp.Not):
            op, right = "is not", right.this
        if isinstance(left, exp.Subquery | exp.Literal) and not isinstance(right, exp.Subquery | exp.Literal):
            left, right, op = right, left, _FLIPPED.get(op, op)
        while isinstance(right, exp.Paren):
            right = right.this
        if isinstance(right, exp.Subquery) and isinstance(right.this, exp.Query):
            self._in_query(left, right, op, place, where, is_negated)
            return
        raws = [self._raw(side, place) for side in (left, right)]
        if op == "=" and not is_negated and all(raws):
            place.query.joins.append(frozenset(raws))
            return
        subject, value = (self.value(side, place) for side in (left, right))
        op, value = _whole(op, subject, value)
        op, subject, value = _ignoring_case(op, subject, value)
        kind = "column" if value.columns else "constant"
        op = NEGATED.get(op, op) if is_negated else op
        place.query.conditions.append(Condition(subject, op, value.text, kind, where))


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


def _ignoring_case(op: str, subject: Value, value: Value) -> tuple[str, Value, Value]:
    """LOWER(name) = 'ann' or LOWER('Ann') as name LIKE 'ann': SQLite's LIKE takes no notice of letter case."""
    for name, change in (("lower", str.lower), ("upper", str.upper)):
        text = value.text
        if text.startswith(f"{name}('"):
            text = change(text[len(name) + 1 : -1])
        for column in subject.columns:
            if op == "=" and subject.text == f"{name}({column})" and text == change(text):
                return "like", Value(column, frozenset({column}), is_column=True), Value(text)
    return op, subject, value


def _counts_by_reals(node: exp.Expr) -> bool:
    """Whether CASE counts by 1.0, which makes a division of it exact."""
    return any(branch.args["true"].name == "1.0" for branch in node.find_all(exp.If))
