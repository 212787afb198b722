"""Expressions of SQLite's SQL -> expressions of a plan.

In: a node of the parser's tree and the `Scope` of its place. Out: an Expression; aggregates and window functions are
kept in the scope, and a place-holder column stands for each. What has no counterpart raises UnsupportedError with its
name and place.
"""

from collections.abc import Callable

from sqlglot import exp

from workbench.errors import PlanError, UnsupportedError
from workbench.plan import Relation
from workbench.plan_expressions import (
    COLLATIONS,
    Aggregation,
    Bound,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Exists,
    Expression,
    Frame,
    InQuery,
    Literal,
    Over,
    SortKey,
    Subquery,
    walk,
)
from workbench.plan_functions import AGGREGATES, WINDOW_AGGREGATES, WINDOWS
from workbench.resolve_names import AGGREGATE, Scope, place, resolve
from workbench.schema import affinity_of

BINARY = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "is", exp.NullSafeNEQ: "is not", exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/",
    exp.Mod: "%", exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>",
}  # fmt: skip
CHAINS = {exp.And: "and", exp.Or: "or", exp.DPipe: "||"}
# SQLite's names -> the plan's, where they differ
SCALAR_NAMES = {
    "length": "char_length", "substr": "substring", "ifnull": "coalesce", "iif": "if", "printf": "format",
    "ceiling": "ceil", "pow": "power", "strftime": "format_date",
}  # fmt: skip
SAME_SCALARS = (
    "abs", "round", "sign", "ceil", "floor", "sqrt", "power", "exp", "ln", "log10", "upper", "lower", "trim", "ltrim",
    "rtrim", "replace", "substring", "format", "char", "unicode", "hex", "quote", "typeof", "coalesce", "nullif", "if",
    "date", "time", "datetime", "julianday", "unixepoch", "random", "+",
)  # fmt: skip
AGGREGATE_NAMES = {"group_concat": "string_agg", "string_agg": "string_agg"} | {
    name: name for name in ("count", "sum", "total", "avg", "min", "max")
}
NOW = {exp.CurrentDate: "current_date", exp.CurrentTime: "current_time", exp.CurrentTimestamp: "current_timestamp"}
_SIDES = {"UNBOUNDED PRECEDING": "unbounded preceding", "UNBOUNDED FOLLOWING": "unbounded following"}

ReadQuery = Callable[[exp.Expr, Scope], Relation]


class ExpressionReader:
    """Reads the expressions of one text. read_query: reads a subquery, given the scope around it."""

    def __init__(self, sql: str, read_query: ReadQuery):
        self.sql, self.read_query = sql, read_query

    def read(self, node: exp.Expr, scope: Scope) -> Expression:
        """The plan's expression. PlanError gets the node's place where it has none."""
        try:
            return self._read(node, scope)
        except PlanError as fault:
            if fault.where is None:
                raise PlanError(fault.kind, fault.what, where=place(node, self.sql), hint=fault.hint) from fault
            raise

    def _read(self, node: exp.Expr, scope: Scope) -> Expression:
        kind = type(node)
        if kind in BINARY:
            return self._binary(BINARY[kind], node, scope)
        if kind in CHAINS:
            return self._chain(kind, node, scope)
        if kind in NOW:
            return Call(NOW[kind], ())
        reader = getattr(self, f"_read_{kind.__name__.lower()}", None)
        if reader is None:
            what = "a parameter" if kind in (exp.Placeholder, exp.Parameter) else kind.__name__.upper()
            raise self._unsupported(node, what)
        return reader(node, scope)

    def _unsupported(self, node: exp.Expr, what: str) -> UnsupportedError:
        return UnsupportedError(what, where=place(node, self.sql))

    def _binary(self, name: str, node: exp.Expr, scope: Scope) -> Expression:
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(left, exp.Tuple) or isinstance(right, exp.Tuple):
            return self._rows(name, node, left, right, scope)
        return Call(name, (self.read(node.this, scope), self.read(node.expression, scope)))

    def _rows(self, name: str, node: exp.Expr, left: exp.Expr, right: exp.Expr, scope: Scope) -> Expression:
        """(a, b) = (c, d) is a = c AND b = d; the other comparisons of rows are refused."""
        pairs = isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple)
        if name not in ("=", "<>") or not pairs or len(left.expressions) != len(right.expressions):
            raise self._unsupported(node, f"the comparison {name} of row values")
        values = zip(left.expressions, right.expressions, strict=True)
        parts = tuple(Call(name, (self.read(one, scope), self.read(other, scope))) for one, other in values)
        return Call("and" if name == "=" else "or", parts) if len(parts) > 1 else parts[0]

    def _chain(self, kind: type, node: exp.Expr, scope: Scope) -> Expression:
        """a AND b AND c is one call of three."""
        return Call(CHAINS[kind], tuple(self.read(part, scope) for part in _chained(node, kind)))

    def _read_paren(self, node: exp.Paren, scope: Scope) -> Expression:
        return self.read(node.this, scope)

    def _read_column(self, node: exp.Column, scope: Scope) -> Expression:
        if isinstance(node.this, exp.Star):
            raise self._unsupported(node, "* outside a select list")
        return resolve(node, scope, self.sql)

    def _read_identifier(self, node: exp.Identifier, scope: Scope) -> Expression:
        return resolve(exp.column(node.copy()), scope, self.sql)

    def _read_literal(self, node: exp.Literal, scope: Scope) -> Expression:
        if node.is_string:
            return Literal(node.this)
        return number(node.this)

    def _read_boolean(self, node: exp.Boolean, scope: Scope) -> Expression:
        return Literal(int(node.this))

    def _read_null(self, node: exp.Null, scope: Scope) -> Expression:
        return Literal(None)

    def _read_hexstring(self, node: exp.HexString, scope: Scope) -> Expression:
        try:
            return Literal(bytes.fromhex(node.name))
        except ValueError as fault:
            raise PlanError("type_error", f"x'{node.name}' is no blob") from fault

    def _read_neg(self, node: exp.Neg, scope: Scope) -> Expression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return number("-" + node.this.this)
        return Call("-", (self.read(node.this, scope),))

    def _read_bitwisenot(self, node: exp.BitwiseNot, scope: Scope) -> Expression:
        return Call("~", (self.read(node.this, scope),))

    def _read_not(self, node: exp.Not, scope: Scope) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Is):
            return self._is(inner, scope, is_negated=True)
        return Call("not", (self.read(inner, scope),))

    def _read_is(self, node: exp.Is, scope: Scope) -> Expression:
        return self._is(node, scope, is_negated=False)

    def _is(self, node: exp.Is, scope: Scope, is_negated: bool) -> Expression:
        value = self.read(node.this, scope)
        right = node.expression
        if isinstance(right, exp.Null):
            return Call("is not null" if is_negated else "is null", (value,))
        if isinstance(right, exp.Boolean):  # IS TRUE asks for truth, IS 1 for the number
            truth = Call("coalesce", (Call("not", (value,)), Literal(int(right.this))))
            return Call("not", (truth,)) if right.this != is_negated else truth
        return Call("is not" if is_negated else "is", (value, self.read(right, scope)))

    def _negated(self, node: exp.Expr, call: Expression) -> Expression:
        return Call("not", (call,)) if node.args.get("negate") else call

    def _read_like(self, node: exp.Like, scope: Scope, escape: Expression | None = None) -> Expression:
        args = (self.read(node.this, scope), self.read(node.expression, scope))
        return self._negated(node, Call("like", args if escape is None else (*args, escape)))

    def _read_escape(self, node: exp.Escape, scope: Scope) -> Expression:
        inner, escape = node.this, self.read(node.expression, scope)
        if isinstance(inner, exp.Not):
            return Call("not", (self._read_like(inner.this, scope, escape),))
        if not isinstance(inner, exp.Like):
            raise self._unsupported(node, f"ESCAPE after {type(inner).__name__.upper()}")
        return self._read_like(inner, scope, escape)

    def _read_glob(self, node: exp.Glob, scope: Scope) -> Expression:
        return self._negated(node, Call("glob", (self.read(node.this, scope), self.read(node.expression, scope))))

    def _read_between(self, node: exp.Between, scope: Scope) -> Expression:
        args = tuple(self.read(node.args[part], scope) for part in ("this", "low", "high"))
        return self._negated(node, Call("between", args))

    def _read_in(self, node: exp.In, scope: Scope) -> Expression:
        left = node.this.unnest()
        values = left.expressions if isinstance(left, exp.Tuple) else [node.this]
        query = node.args.get("query")
        if node.args.get("field") is not None:  # x IN table
            query = exp.select("*").from_(exp.Table(this=node.args["field"].this.copy()))
        if query is not None:
            read = tuple(self.read(value, scope) for value in values)
            return self._negated(node, InQuery(read, self.read_query(query, scope)))
        if isinstance(left, exp.Tuple):
            choices = [self._rows("=", node, left, row.unnest(), scope) for row in node.expressions]
            return self._negated(node, Call("or", tuple(choices)) if len(choices) > 1 else choices[0])
        items = tuple(self.read(item, scope) for item in node.expressions)
        return self._negated(node, Call("in", (self.read(node.this, scope), *items)))

    def _read_exists(self, node: exp.Exists, scope: Scope) -> Expression:
        return Exists(self.read_query(node.this, scope))

    def _read_subquery(self, node: exp.Subquery, scope: Scope) -> Expression:
        return Subquery(self.read_query(node, scope))

    def _read_select(self, node: exp.Select, scope: Scope) -> Expression:
        return Subquery(self.read_query(node, scope))

    def _read_case(self, node: exp.Case, scope: Scope) -> Expression:
        branches = tuple((self.read(one.this, scope), self.read(one.args["true"], scope)) for one in node.args["ifs"])
        otherwise, operand = node.args.get("default"), node.this
        return Case(
            branches,
            self.read(otherwise, scope) if otherwise is not None else None,
            self.read(operand, scope) if operand is not None else None,
        )

    def _read_if(self, node: exp.If, scope: Scope) -> Expression:
        parts = (node.this, node.args.get("true"), node.args.get("false") or exp.null())
        return Call("if", tuple(self.read(part, scope) for part in parts))

    def _read_cast(self, node: exp.Cast, scope: Scope) -> Expression:
        return Cast(self.read(node.this, scope), affinity_of(node.to.meta.get("written") or node.to.sql("sqlite")))

    def _read_collate(self, node: exp.Collate, scope: Scope) -> Expression:
        name = node.expression.name.lower()
        if name not in COLLATIONS:
            raise self._unsupported(node, f"the collation {name}")
        return Collate(self.read(node.this, scope), name)

    def _read_filter(self, node: exp.Filter, scope: Scope) -> Expression:
        return self._function(node.this, scope, where=node.expression.this)

    def _read_window(self, node: exp.Window, scope: Scope) -> Expression:
        return self._function(_unfiltered(node.this), scope, where=_filter_of(node.this), over=node)

    def _read_anonymous(self, node: exp.Anonymous, scope: Scope) -> Expression:
        return self._function(node, scope)

    def _function(
        self, node: exp.Expr, scope: Scope, where: exp.Expr | None = None, over: exp.Window | None = None
    ) -> Expression:
        if not isinstance(node, exp.Anonymous):
            raise self._unsupported(node, type(node).__name__.upper())
        written, args = str(node.this).lower(), list(node.expressions)
        is_distinct = bool(args) and isinstance(args[0], exp.Distinct)
        args = args[0].expressions if is_distinct else args
        name = AGGREGATE_NAMES.get(written)
        is_aggregate = name is not None and not (name in ("min", "max") and len(args) > 1)
        if over is not None:
            if is_distinct:
                raise self._unsupported(node, f"{written}(DISTINCT) OVER")
            return self._over(name or written, args, where, over, scope)
        if is_aggregate:
            return self._aggregate(name, node, args, is_distinct, where, scope)
        if where is not None or is_distinct:
            raise PlanError("type_error", f"{written} is no aggregate")
        return self._scalar(written, node, args, scope)

    def _scalar(self, written: str, node: exp.Anonymous, args: list[exp.Expr], scope: Scope) -> Expression:
        read = tuple(self.read(arg, scope) for arg in args)
        if written in ("min", "max"):
            return Call("least" if written == "min" else "greatest", read)
        if written == "instr" and len(read) == 2:
            return Call("position", (read[1], read[0]))
        if written in ("like", "glob") and len(read) in (2, 3):
            return Call(written, (read[1], read[0], *read[2:]))
        if written in ("iif", "if") and len(read) == 2:
            read = (*read, Literal(None))
        name = SCALAR_NAMES.get(written, written)
        if name not in SAME_SCALARS and name not in SCALAR_NAMES.values():
            raise self._unsupported(node, f"the function {written}")
        return Call(name, read)

    def _arguments(self, name: str, args: list[exp.Expr], scope: Scope) -> tuple[Expression, ...]:
        if name == "count" and len(args) == 1 and isinstance(args[0], exp.Star):
            return ()
        return tuple(self.read(arg, scope) for arg in args)

    def _aggregate(
        self, name: str, node: exp.Expr, args: list, is_distinct: bool, where: exp.Expr | None, scope: Scope
    ) -> Expression:
        before = len(scope.aggregates)
        read = self._arguments(name, args, scope)
        condition = self.read(where, scope) if where is not None else None
        call = Aggregation(name, read, is_distinct, condition)
        inner = [part for part in walk(call) if isinstance(part, Column)]
        if not scope.takes_aggregates and not (inner and all(column.is_outer for column in inner)):
            raise PlanError("type_error", f"misuse of the aggregate {name}", where=place(node, self.sql))
        if len(scope.aggregates) > before or any(column.alias == AGGREGATE for column in inner):
            raise PlanError("type_error", f"an aggregate inside {name}", where=place(node, self.sql))
        if inner and all(column.is_outer for column in inner):
            raise self._unsupported(node, f"{name} of an outer query's columns inside a subquery")
        return scope.hold(call)

    def _over(
        self, name: str, args: list[exp.Expr], where: exp.Expr | None, over: exp.Window, scope: Scope
    ) -> Expression:
        if name not in WINDOWS and name not in WINDOW_AGGREGATES:
            raise self._unsupported(over, f"the window function {name}")
        over = named_window(over)
        order = over.args.get("order")
        call = Over(
            name,
            self._arguments(name, args, scope),
            tuple(self.read(part, scope) for part in over.args.get("partition_by") or ()),
            tuple(self.sort_key(key, scope) for key in order.expressions) if order else (),
            self._frame(over.args.get("spec"), scope),
            self.read(where, scope) if where is not None else None,
        )
        return scope.hold(call)

    def _frame(self, spec: exp.WindowSpec | None, scope: Scope) -> Frame | None:
        if spec is None:
            return None
        start = self._bound(spec.args.get("start"), spec.args.get("start_side"), scope)
        end = self._bound(spec.args.get("end"), spec.args.get("end_side"), scope)
        exclude = spec.args.get("exclude")
        frame = Frame(
            str(spec.args["kind"]).lower(),
            start or Bound("current row"),
            end or Bound("current row"),
            exclude.name.lower() if exclude is not None else "no others",
        )
        return None if frame == Frame() else frame

    def _bound(self, value: object, side: object, scope: Scope) -> Bound | None:
        if value is None:
            return None
        if isinstance(value, exp.Expr) and not isinstance(value, exp.Var):
            return Bound(str(side).lower(), self.read(value, scope))
        text = str(value.name if isinstance(value, exp.Expr) else value).lower()
        return Bound(text if text == "current row" else f"{text} {side}".lower())

    def sort_key(self, node: exp.Ordered, scope: Scope) -> SortKey:
        """One term of ORDER BY; where the SQL says nothing of NULLs, they are the smallest."""
        return SortKey(self.read(node.this, scope), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def number(text: str) -> Literal:
    """A number as SQLite reads it: an integer that 64 bits cannot hold is a real."""
    try:
        value: int | float = int(text)
        if not -(2**63) <= value < 2**63:
            value = float(text)
    except ValueError:
        value = float(text)
    return Literal(value)


def _chained(node: exp.Expr, kind: type) -> list[exp.Expr]:
    parts, stack = [], [node]
    while stack:
        part = stack.pop()
        inner = part.unnest() if isinstance(part, exp.Paren) else part
        if type(inner) is kind:
            stack += [inner.expression, inner.this]
        else:
            parts.append(part)
    return parts


def _unfiltered(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Filter) else node


def _filter_of(node: exp.Expr) -> exp.Expr | None:
    return node.expression.this if isinstance(node, exp.Filter) else None


assert set(AGGREGATE_NAMES.values()) <= set(AGGREGATES)


def named_window(over: exp.Window) -> exp.Window:
    """OVER w and OVER (w ORDER BY ...): the parts of WINDOW w AS (...) filled in."""
    name = over.args.get("alias")
    if name is None:
        return over
    select = over.find_ancestor(exp.Select)
    for window in (select.args.get("windows") or []) if select else []:
        if window.name.lower() == name.name.lower():
            base = named_window(window) if window.args.get("alias") else window
            parts = {key: base.args.get(key) or over.args.get(key) for key in ("partition_by", "order", "spec")}
            return exp.Window(**{key: value for key, value in parts.items() if value is not None})
    raise PlanError("unknown_column", f"no window {name.name!r}")
