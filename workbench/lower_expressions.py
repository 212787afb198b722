"""Expressions with SQLite's implicit rules -> expressions over typed values in which every rule is written out.

In: a plan's expression and the typed columns it reads. Out: an expression of plain calls and `Core` ones; `value` gives
one of type integer, real, text or blob, `condition` one that an engine takes in WHERE. The rules are those of
docs/plan.md, "Types and comparison". What typed engines cannot reach raises UnsupportedError.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from workbench import number_kinds
from workbench.core_functions import Core, TypedAggregation, TypedOver
from workbench.errors import UnsupportedError
from workbench.lower_comparisons import compared, paired
from workbench.lower_times import time_of
from workbench.lower_values import (
    NUMBERS,
    as_choice,
    beside_reals,
    constant_integer,
    divided,
    folded,
    integer,
    number,
    numeric,
    real,
    substring,
    text,
)
from workbench.plan import Aggregate, Filter, Project, Relation, Sort, Values, With
from workbench.plan_columns import Field, Item
from workbench.plan_expressions import (
    MAX_INTEGER,
    Aggregation,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Exists,
    Expression,
    InQuery,
    Literal,
    Over,
    SortKey,
    Subquery,
    comparison_collation,
    first_collation,
    is_constant,
    stated_collation,
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "is", "is not")
Scope = list[dict[tuple, Field]]  # the columns here, then those of the queries around
NULL = Literal(None)


class Expressions:
    """scope: typed columns by key, nearest first. lower_query: lowers a subquery, given its outer scope."""

    def __init__(self, scope: Scope, lower_query: Callable[[Relation, Scope], Relation]):
        self.scope, self.lower_query = scope, lower_query

    def value(self, e: Expression) -> Expression:
        """The expression as a typed value."""
        if isinstance(e, Column):
            return self._column(e)
        if isinstance(e, Literal):
            return e
        if isinstance(e, Call):
            method = getattr(self, "_" + _METHODS.get(e.name, e.name).replace(" ", "_"), None)
            if e.name in COMPARISONS or e.name in _CONDITIONS:
                return Core("value", (self.condition(e),), "integer")
            if method is None:
                raise UnsupportedError(f"the function {e.name} outside SQLite")
            return _known_null(method(e))
        if isinstance(e, InQuery | Exists):
            return Core("value", (self.condition(e),), "integer")
        return _known_null(getattr(self, f"_{type(e).__name__.lower()}")(e))

    def condition(self, e: Expression) -> Expression:
        """The expression as an engine's condition."""
        if isinstance(e, Call) and e.name in ("and", "or", "not"):
            return Core(e.name, tuple(self.condition(arg) for arg in e.args), "condition")
        if isinstance(e, Call) and e.name in COMPARISONS:
            return self.compare(e.name, e.args[0], e.args[1])
        if isinstance(e, Call) and e.name in _CONDITIONS:
            return _known_null(getattr(self, "_condition_" + e.name.replace(" ", "_"))(e))
        if isinstance(e, InQuery):
            return self._in_query(e)
        if isinstance(e, Exists):
            return replace(e, query=self.lower_query(e.query, self.scope))
        value = self.value(e)
        if isinstance(value, Core) and value.name == "value":
            return value.args[0]
        if value.type == "null":
            return Core("none", (), "condition")
        return Core("holds", (number(value),), "condition")

    def _column(self, e: Column) -> Column:
        key = (e.alias.lower() if e.alias else None, e.name.lower())
        for scope in self.scope[1:] if e.is_outer else self.scope:
            if key in scope:
                found = scope[key]
                if found.type == "null":
                    return NULL  # a column of nothing but NULL has another type on each engine
                kind = _held_type(found)
                return Column(
                    found.alias,
                    found.name,
                    kind,
                    e.affinity,
                    e.collation,
                    e.is_outer,
                    found.largest,
                    found.times,
                    found.numbers,
                    found.reals,
                )
        raise UnsupportedError(f"the column {e.text} of a query around this one")

    # comparison

    def compare(self, word: str, one: Expression, other: Expression) -> Expression:
        """One comparison, its sides brought to one type as their affinities say."""
        collation = comparison_collation(one, other)
        a, b = (folded(self.value(side), collation) for side in (one, other))
        return compared(word, a, b, one.affinity, other.affinity)

    def _condition_is_null(self, e: Call) -> Expression:
        return Core("is null", (self.value(e.args[0]),), "condition")

    def _condition_is_not_null(self, e: Call) -> Expression:
        return Core("is not null", (self.value(e.args[0]),), "condition")

    def _condition_between(self, e: Call) -> Expression:
        x, low, high = e.args
        return Core("and", (self.compare(">=", x, low), self.compare("<=", x, high)), "condition")

    def _condition_in(self, e: Call) -> Expression:
        x, *items = e.args
        if not items:
            return Core("compare", (Literal(1), Literal(0)), "condition", "=")
        collation = x.collation
        if len(items) == 1 and is_constant(items[0]):  # SQLite reads it as x = +item
            collation = stated_collation(x) or stated_collation(items[0]) or collation
        left = folded(self.value(x), collation)
        parts = [compared("=", left, folded(self.value(item), collation), x.affinity, None) for item in items]
        plain = [p for p in parts if isinstance(p, Core) and (p.name, p.word, p.args[:1]) == ("compare", "=", (left,))]
        if len(plain) == len(parts) and len(parts) > 1:
            return Core("in", (left, *(part.args[1] for part in parts)), "condition")
        return parts[0] if len(parts) == 1 else Core("or", tuple(parts), "condition")

    def _in_query(self, e: InQuery) -> Expression:
        """Each value and its column are brought to one type, as `=` would."""
        query = self.lower_query(e.query, self.scope)
        values, columns = [], []
        shown = e.query.expressions if isinstance(e.query, Project) else [one.column() for one in e.query.fields]
        for x, given, read in zip(e.values, query.fields, shown, strict=True):
            column = replace(given, type=_held_type(given)).column()
            collation = comparison_collation(x, read)
            value, column = (folded(one, collation) for one in (self.value(x), column))
            value, column = paired(value, column, x.affinity, given.affinity)
            values.append(value)
            columns.append(column)
        if columns != [replace(given, type=_held_type(given)).column() for given in query.fields]:
            names = [given.name for given in query.fields]
            query = Project(query, tuple(Item(c, name) for c, name in zip(columns, names, strict=True)))
        return InQuery(tuple(values), query)

    def _condition_like(self, e: Call) -> Expression:
        return Core("like", tuple(text(self.value(arg)) for arg in e.args), "condition")

    def _condition_glob(self, e: Call) -> Expression:
        return Core("glob", tuple(text(self.value(arg)) for arg in e.args), "condition")

    # arithmetic

    def _arithmetic(self, e: Call) -> Expression:
        args = tuple(number(self.value(arg)) for arg in e.args)
        if e.name == "+" and len(args) == 1:
            return self.value(e.args[0])
        types = {arg.type for arg in args}
        if "null" in types:
            return NULL
        kind = "integer" if types == {"integer"} else "real"
        if e.name == "/":
            return divided(args)
        if e.name == "%":
            word = "open" if kind == "real" and "real" not in map(number_kinds.of, args) else ""
            return Core("modulo", tuple(integer(arg) for arg in args), kind, word)
        made = Core("negative" if len(args) == 1 else e.name, args, kind)
        constant = constant_integer(made)
        if len(args) == 1 and constant is not None and abs(constant) <= MAX_INTEGER:
            return Literal(constant)  # else of no more bits than it needs
        if constant is not None and not -MAX_INTEGER - 1 <= constant <= MAX_INTEGER:
            return replace(made, args=tuple(real(arg) for arg in args), type="real")
        if (
            kind == "integer"
            and constant is None
            and any(abs(constant_integer(arg) or 0) > MAX_INTEGER // 8 for arg in args)
        ):
            raise UnsupportedError("integers that overflow row by row outside SQLite")
        return made

    def _bits(self, e: Call) -> Expression:
        return Core(e.name, tuple(integer(self.value(arg)) for arg in e.args), "integer")

    def _concat(self, e: Call) -> Expression:
        return Core("join_texts", tuple(text(self.value(arg)) for arg in e.args), "text")

    def _abs(self, e: Call) -> Expression:
        arg = self.value(e.args[0])
        arg = real(arg) if arg.type == "text" else number(arg)
        return Core("abs", (arg,), arg.type)

    def _round(self, e: Call) -> Expression:
        digits = self.value(e.args[1]) if len(e.args) > 1 else Literal(0)
        if not isinstance(digits, Literal) or not isinstance(digits.value, int):
            raise UnsupportedError("round to computed digits outside SQLite")
        return Core("round", (real(self.value(e.args[0])), Literal(max(0, min(digits.value, 30)))), "real")

    def _mathematics(self, e: Call) -> Expression:
        raise UnsupportedError(f"the function {e.name} outside SQLite")

    # texts

    def _char_length(self, e: Call) -> Expression:
        return Core("char_length", (text(self.value(e.args[0])),), "integer")

    def _texts(self, e: Call) -> Expression:
        if e.name == "replace" and isinstance(e.args[1], Literal) and e.args[1].value == "":
            return self.value(e.args[0])  # not even turned into a text
        return Core(e.name, tuple(text(self.value(arg)) for arg in e.args), "text")

    def _position(self, e: Call) -> Expression:
        return Core("position", tuple(text(self.value(arg)) for arg in e.args), "integer")

    def _substring(self, e: Call) -> Expression:
        return substring(text(self.value(e.args[0])), *(integer(self.value(arg)) for arg in e.args[1:]))

    def _format(self, e: Call) -> Expression:
        form = e.args[0]
        template = form.value if isinstance(form, Literal) and isinstance(form.value, str) else ""
        found = re.fullmatch(r"([^%]*)%\.(\d+)f([^%]*)", template)
        if found is None or len(e.args) != 2:
            raise UnsupportedError("format of other than one %.nf outside SQLite")
        before, digits, after = found.groups()
        arg = Core("coalesce", (real(self.value(e.args[1])), Literal(0.0)), "real")
        written = Core("format", (arg, Literal(int(digits))), "text")
        parts = [Literal(before)] * bool(before) + [written] + [Literal(after)] * bool(after)
        return Core("join_texts", tuple(parts), "text") if len(parts) > 1 else written

    # choices

    def unified(self, values: list[Expression]) -> list[Expression]:
        """Values of one type: numbers stay numbers, beside a text they are text, as in a column of both."""
        types = {value.type for value in values} - {"null"}
        if len(types) <= 1 or types <= set(NUMBERS):
            return [beside_reals(v) for v in values] if types == set(NUMBERS) else values
        if "blob" in types:
            raise UnsupportedError("blobs beside other values outside SQLite")
        return [text(value) for value in values]

    def _coalesce(self, e: Call) -> Expression:
        args = self.unified([self.value(arg) for arg in e.args])
        return Core("coalesce", tuple(args), _type(args))

    def _nullif(self, e: Call) -> Expression:
        """A function's arguments have no affinity: a number equals no text."""
        this, other = map(self.value, e.args)
        if this.type != other.type and not {this.type, other.type} <= set(NUMBERS):
            return this
        a, b = (folded(one, first_collation(e.args)) for one in (this, other))
        return Core("choose", (compared("=", a, b, None, None), NULL, this), this.type)

    def _if(self, e: Call) -> Expression:
        return self._case(Case(((e.args[0], e.args[1]),), e.args[2]))

    def _extreme(self, e: Call) -> Expression:
        args = tuple(self.unified([self.value(arg) for arg in e.args]))
        keys = tuple(folded(arg, first_collation(e.args)) for arg in args)
        made = Core("extreme", args, _type(args), e.name)
        return made if keys == args else as_choice(made, keys)

    def _case(self, e: Case) -> Expression:
        if e.operand is not None:
            tests = [self.compare("=", e.operand, when) for when, _ in e.branches]
        else:
            tests = [self.condition(when) for when, _ in e.branches]
        results = [self.value(then) for _, then in e.branches]
        results = self.unified([*results, self.value(e.otherwise) if e.otherwise is not None else NULL])
        parts = [part for pair in zip(tests, results, strict=False) for part in pair]
        has_else = e.otherwise is not None
        return Core("choose", (*parts, *(results[-1:] if has_else else ())), _type(results))

    def _cast(self, e: Cast) -> Expression:
        this = self.value(e.value)
        if e.to in ("integer", "real", "text"):
            return {"integer": integer, "real": real, "text": text}[e.to](this)
        if e.to == "numeric":
            return numeric(this)
        raise UnsupportedError("cast to blob outside SQLite")

    def _collate(self, e: Collate) -> Expression:
        return self.value(e.value)

    def _subquery(self, e: Subquery) -> Expression:
        """SQLite takes the first row; other engines refuse several."""
        query = self.lower_query(e.query, self.scope)
        if query.fields[0].type == "null":
            return NULL
        return Subquery(query if _is_one_row(query) else Sort(query, limit=Literal(1)))

    # times

    def _time(self, e: Call) -> Expression:
        return time_of(e, [self.value(arg) for arg in e.args])

    def _now(self, e: Call) -> Expression:
        return self._time(Call({"current_date": "date", "current_time": "time"}.get(e.name, "datetime"), ()))

    # aggregates and windows

    def aggregation(self, e: Aggregation) -> Expression:
        where = self.condition(e.where) if e.where is not None else None
        args, kind = self._aggregated(e.name, e.args)
        if e.is_distinct and e.name in ("sum", "total", "avg") and self.value(e.args[0]).type == "text":
            raise UnsupportedError(f"{e.name} of distinct texts outside SQLite")
        if e.name in ("arg_min", "arg_max") and isinstance(args[1], Literal):
            return TypedAggregation("any_value", args[:1], e.is_distinct, where, kind)
        keys = tuple(folded(arg, given.collation) for arg, given in zip(args, e.args, strict=True))
        if e.name in ("arg_min", "arg_max"):
            return TypedAggregation(e.name, (args[0], keys[1]), False, where, kind)
        if keys == args or not (e.is_distinct or e.name in ("min", "max")):
            return TypedAggregation(e.name, args, e.is_distinct, where, kind)
        if e.is_distinct and e.name == "count":
            return TypedAggregation(e.name, keys, True, where, kind)
        if e.name in ("min", "max"):
            return TypedAggregation(f"arg_{e.name}", (args[0], keys[0]), False, where, kind)
        raise UnsupportedError(f"{e.name} of distinct values in the collation nocase outside SQLite")

    def _aggregated(self, name: str, given: tuple) -> tuple[tuple, str]:
        args = [self.value(arg) for arg in given]
        if name in ("sum", "total", "avg"):
            args = [real(number(args[0])) if name != "sum" else number(args[0])]
        if name == "string_agg":
            args = [text(arg) for arg in args]
            args[1:] = [Literal("") if arg.type == "null" else arg for arg in args[1:]]
        kinds = {"count": "integer", "total": "real", "avg": "real", "string_agg": "text"}
        return tuple(args), kinds.get(name) or (args[0].type if args else "integer")

    def over(self, e: Over) -> Expression:
        args, kind = self._aggregated(e.name, e.args)
        if e.name == "string_agg" and len(args) == 1:
            args = (*args, Literal(","))
        if e.name in ("lag", "lead") and len(args) == 3:
            this, default = self.unified([args[0], args[2]])
            kind = _type([this, default])
            args = (this if this.type == kind else Core("null", (), kind), args[1], default)
        count = {"ntile": args[:1], "nth_value": args[1:], "lag": args[1:2], "lead": args[1:2]}.get(e.name, ())
        if not all(isinstance(one, Literal) for one in count):
            raise UnsupportedError(f"{e.name} by a computed number outside SQLite")
        kinds = {"row_number": "integer", "rank": "integer", "dense_rank": "integer", "ntile": "integer"}
        kinds |= {"percent_rank": "real", "cume_dist": "real"}
        where = self.condition(e.where) if e.where is not None else None
        order = tuple(key for key in map(self.sort_key, e.order) if not isinstance(key.value, Literal))
        if e.order and not order and e.frame is not None and e.frame.unit == "groups":
            order = (SortKey(Literal(0)),)  # one group, but a frame of groups wants an order
        is_span = e.frame is not None and e.frame.unit == "range" and (e.frame.start.offset or e.frame.end.offset)
        if is_span and (not order or order[0].value.type not in NUMBERS):
            raise UnsupportedError("a window's frame of distances between other than numbers outside SQLite")
        partition = tuple(folded(self.value(part), part.collation) for part in e.partition)
        if e.name in ("min", "max") and folded(args[0], e.args[0].collation) != args[0]:
            raise UnsupportedError(f"{e.name} in the collation nocase over a window outside SQLite")
        return TypedOver(e.name, args, partition, order, e.frame, where, kinds.get(e.name, kind))

    def sort_key(self, key: SortKey) -> SortKey:
        return SortKey(folded(self.value(key.value), key.value.collation), key.is_descending, key.nulls_first)


def _is_one_row(query: Relation) -> bool:
    while isinstance(query, Project | Filter | With):
        query = query.input
    if isinstance(query, Sort):
        return isinstance(query.limit, Literal) and query.limit.value in (0, 1)
    return (isinstance(query, Aggregate) and not query.keys) or (isinstance(query, Values) and len(query.rows) == 1)


def _type(values: list[Expression]) -> str:
    return next((value.type for value in values if value.type != "null"), "null")


def _held_type(given: Field) -> str:
    """The type of a lowered query's column: integers and reals together are reals."""
    return "real" if given.type == "number" else given.type


def _known_null(value: Expression) -> Expression:
    """NULL itself for a function of a NULL constant, whose type no engine could tell."""
    if value.type == "null":
        return NULL
    is_null = isinstance(value, Core) and any(isinstance(a, Literal) and a.value is None for a in value.args)
    if not is_null or value.name not in _STRICT:
        return value
    return Core("none", (), "condition") if value.type == "condition" else NULL


_STRICT = (  # core functions that are NULL if an argument is
    "&", "|", "<<", ">>", "~", "abs", "round", "char_length", "position", "upper", "lower", "replace", "trim", "ltrim",
    "rtrim", "join_texts", "cut", "like", "glob",
)  # fmt: skip
_CONDITIONS = ("and", "or", "not", "is null", "is not null", "between", "in", "like", "glob")
_METHODS = (
    dict.fromkeys(("+", "-", "*", "/", "%"), "arithmetic")
    | dict.fromkeys(("&", "|", "<<", ">>", "~"), "bits")
    | {"||": "concat", "greatest": "extreme", "least": "extreme"}
    | dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "replace"), "texts")
    | dict.fromkeys(("date", "time", "datetime", "format_date", "julianday"), "time")
    | dict.fromkeys(("current_date", "current_time", "current_timestamp"), "now")
    | dict.fromkeys(("sqrt", "power", "exp", "ln", "log10", "ceil", "floor", "sign"), "mathematics")
)
