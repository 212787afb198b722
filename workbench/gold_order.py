"""What is known of the order of a gold query's rows: its sort keys row by row, and the rows its LIMIT could have kept.

In: a gold query of SQLite. Out: queries made from its tree (`order_queries`), and from their results a `GoldOrder` for
`compare`. Every such query gives gold's own columns and behind them one column a sort key. Plans paper, section 4.2: rows
of equal keys are tied; a row tied with the last one that LIMIT kept could have stood there in its place.
Where a query cannot be rewritten, `reason` says why, and its rows are compared in the places in which SQLite gave them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite

from workbench.compare import compare
from workbench.errors import UnsupportedError, WorkbenchError
from workbench.result_table import ResultTable
from workbench.sqlite_parser import parse
from workbench.value_codes import TOLERANCE

_KEY, _OUT, _KEYED = "__key", "__out", "__keyed"  # names of the columns and of the table that are added
_DISTINCT = "ORDER BY of something that SELECT DISTINCT does not give"


Columns = Mapping[str, str | None]  # a column's name in lower case -> the collation it is declared with


class _Generator(SQLite.Generator):
    """SQLite's, with types as they were written: their letters decide the affinity."""

    def datatype_sql(self, expression: exp.DataType) -> str:
        return expression.meta.get("written") or super().datatype_sql(expression)


@dataclass(frozen=True)
class OrderQueries:
    """keys: columns at the end of each query's rows that are keys; 0 where gold states no order, and all rows are tied.

    keyed: gold with its keys. last, first: the rows tied with gold's last and first, where a LIMIT or OFFSET is there.
    limit: the row count that LIMIT states. reason: why there is none of these.
    """

    keys: int = 0
    keyed: str | None = None
    last: str | None = None
    first: str | None = None
    limit: int | None = None
    reason: str | None = None

    def needed(self, height: int) -> list[str]:
        """The queries to run for a gold of so many rows; a LIMIT that it does not fill cuts nothing."""
        last = self.last if height >= (self.limit or 0) else None
        return [sql for sql in (self.keyed, last, self.first) if sql is not None] if height else []


@dataclass(frozen=True)
class GoldOrder:
    """Arguments of `compare`, and why some are not there."""

    order_keys: list[tuple] | None = None
    boundary: list[tuple] | None = None
    skipped: list[tuple] | None = None
    reason: str | None = None


@dataclass
class _Keyed:
    """A query with keys as its last columns, and without the ORDER BY (its terms over these), LIMIT and OFFSET it had."""

    query: exp.Query
    terms: list[exp.Ordered]
    limit: int | None
    offset: int


def order_queries(sql: str, columns: Mapping[str, str | None] | Collection[str] = ()) -> OrderQueries:
    """The queries for one gold. columns: names of the database's columns, which go before aliases inside expressions; a
    mapping says with which collation each is declared (`Schema.collations`)."""
    declared = columns if isinstance(columns, Mapping) else dict.fromkeys(columns)
    try:
        tree = parse(sql)
        keyed = _keyed(tree, {name.lower(): collation for name, collation in declared.items()})
    except WorkbenchError as fault:
        return OrderQueries(reason=str(fault))
    except RecursionError:
        return OrderQueries(reason="a query nested too deep")
    if keyed is None:
        if tree.args.get("limit") is not None:
            return OrderQueries(reason="LIMIT without ORDER BY, so that any row could stand there")
        return OrderQueries()
    text = _sql(keyed.query)
    order = ", ".join(map(_sql, keyed.terms))

    def cut(source: str, limit: int | None, offset: int) -> str:
        return f"SELECT * FROM {source} ORDER BY {order} LIMIT {-1 if limit is None else limit} OFFSET {offset}"

    def tied(place: int) -> str:
        same = " AND ".join(_same(f"one.{_KEY}{number}", f"other.{_KEY}{number}") for number in _numbers(keyed))
        rows = f"{_KEYED} AS one JOIN ({cut(_KEYED, 1, place)}) AS other ON {same}"
        return f"WITH {_KEYED} AS MATERIALIZED ({text}) SELECT one.* FROM {rows}"  # gold runs once for both

    return OrderQueries(
        keys=len(keyed.terms),
        keyed=cut(f"({text})", keyed.limit, keyed.offset),
        last=tied(keyed.offset + keyed.limit - 1) if keyed.limit else None,
        first=tied(keyed.offset) if keyed.offset else None,
        limit=keyed.limit,
    )


def gold_order(queries: OrderQueries, gold: ResultTable, run: Callable[[str], ResultTable | str]) -> GoldOrder:
    """What the queries say of gold's rows. run: the result of one of them, or why there is none.

    They are held against gold itself: where they give it other rows, they do not mean what gold means.
    """
    if queries.reason is not None:
        return GoldOrder(reason=queries.reason)
    if queries.keyed is None or not gold.height:
        return GoldOrder(order_keys=[()] * gold.height)
    needed = queries.needed(gold.height)
    table = run(queries.keyed)
    if isinstance(table, str):
        return GoldOrder(reason=f"the query for its sort keys: {table}")
    if table.height != gold.height or table.width != gold.width + queries.keys:
        return GoldOrder(reason="the query for its sort keys gives other rows")
    rows, keys = _split(table, queries.keys)
    found, reasons = {}, []
    for name, query in (("boundary", queries.last), ("skipped", queries.first)):
        if query not in needed:
            continue
        tied = run(query)
        if isinstance(tied, str):
            reasons.append(f"the query for rows tied at its {'LIMIT' if name == 'boundary' else 'OFFSET'}: {tied}")
        else:
            found[name] = _split(tied, queries.keys)[0]
    order = GoldOrder(keys, found.get("boundary"), found.get("skipped"), "; ".join(reasons) or None)
    again = compare(rows, gold, True, True, keys, order.boundary, tolerate_duplicates=False, skipped=order.skipped)
    return order if again.equal else GoldOrder(reason=f"the query for its sort keys gives other rows: {again.reason}")


def _split(table: ResultTable, keys: int) -> tuple[list[tuple], list[tuple]]:
    rows = table.rows()
    return [row[:-keys] for row in rows], [row[-keys:] for row in rows]


def _sql(node: exp.Expr) -> str:
    return _Generator(dialect=SQLite(), comments=False).generate(node)


def _numbers(keyed: _Keyed) -> range:
    return range(1, len(keyed.terms) + 1)


def _same(one: str, other: str) -> str:
    """Equal keys: the same value, or numbers within the tolerance of which one is a float."""
    kinds = f"typeof({one}) || typeof({other}) IN ('realreal', 'realinteger', 'integerreal')"
    return f"({one} IS {other} OR ({kinds} AND abs({one} - {other}) <= {TOLERANCE:.9f} * max(1.0, abs({one}), abs({other}))))"


def _keyed(query: exp.Expr, columns: Columns) -> _Keyed | None:
    """A query with its keys; None where it states no order."""
    query = query.copy()
    while isinstance(query, exp.Subquery):
        query = query.this
    order = query.args.get("order")
    if order is None:
        return _order_of_its_source(query, columns)
    limit, offset = _take_limit(query)
    query.set("order", None)
    wanted = order.expressions
    if any(isinstance(node, exp.Anonymous) and node.name.lower() in ("random", "randomblob") for node in order.walk()):
        raise UnsupportedError("ORDER BY of a random number")
    if isinstance(query, exp.SetOperation):
        query, keys = _keys_of_set_operation(query, wanted, columns)
    elif isinstance(query, exp.Select):
        query, keys = _keys_of_select(query, wanted, columns)
    else:
        raise UnsupportedError(f"ORDER BY of {type(query).__name__.upper()}")
    for number, key in enumerate(keys, start=1):
        query.append("expressions", exp.alias_(key, f"{_KEY}{number}"))
    return _Keyed(query, _terms(wanted), limit, offset)


def _terms(wanted: Sequence[exp.Ordered]) -> list[exp.Ordered]:
    found = [term.copy() for term in wanted]
    for number, term in enumerate(found, start=1):
        term.set("this", exp.column(f"{_KEY}{number}"))
    return found


def _take_limit(query: exp.Query) -> tuple[int | None, int]:
    """Remove LIMIT and OFFSET, and give their numbers."""
    found = []
    for name in ("limit", "offset"):
        node = query.args.get(name)
        query.set(name, None)
        sign, value = 1, node.expression if node is not None else None
        while isinstance(value, exp.Neg | exp.Paren):
            sign, value = -sign if isinstance(value, exp.Neg) else sign, value.this
        if value is not None and not (isinstance(value, exp.Literal) and value.is_int):
            raise UnsupportedError(f"{name.upper()} that is no number")
        found.append(None if value is None else sign * int(value.name))
    limit, offset = found
    return None if limit is not None and limit < 0 else limit, max(offset or 0, 0)


def _plain(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _without_collation(term: exp.Ordered) -> tuple[exp.Expr, str | None]:
    """What a term sorts by, and the collation that it names."""
    node = _plain(term.this)
    if not isinstance(node, exp.Collate):
        return node, None
    return _plain(node.this), node.expression.name.lower()


def _folded(key: exp.Expr, collation: str | None, sorted_by: exp.Expr, columns: Columns) -> exp.Expr:
    """A key in which equal means tied: under the collation that the term names, else the one its column is declared with."""
    if collation is None and isinstance(_plain(sorted_by), exp.Column):
        collation = columns.get(_plain(sorted_by).name.lower())
    function = {"nocase": "lower", "rtrim": "rtrim"}.get(collation)
    if function is None:
        return key
    is_text = exp.EQ(this=exp.Anonymous(this="typeof", expressions=[key.copy()]), expression=exp.Literal.string("text"))
    return exp.case().when(is_text, exp.Anonymous(this=function, expressions=[key.copy()])).else_(key.copy())


def _keys_of_select(
    query: exp.Select, wanted: Sequence[exp.Ordered], columns: Columns
) -> tuple[exp.Select, list[exp.Expr]]:
    items = query.expressions
    aliases = {item.alias.lower(): item.this for item in items if isinstance(item, exp.Alias)}
    keys = []
    for term in wanted:
        node, collation = _without_collation(term)
        key = _key_of_select(node, items, aliases, columns)
        keys.append(_folded(exp.paren(key), collation, key, columns))
    if query.args.get("distinct") is None or all(_is_given(key, items) for key in keys):
        return query, keys
    return _grouped(query, wanted, keys)


def _key_of_select(node: exp.Expr, items: list[exp.Expr], aliases: dict[str, exp.Expr], columns: Columns) -> exp.Expr:
    """The expression that a term of ORDER BY means, in the order in which SQLite looks: position, alias, expression."""
    if isinstance(node, exp.Literal) and node.is_int:
        place = int(node.name)
        if any(item.is_star for item in items[:place]) or not 0 < place <= len(items):
            raise UnsupportedError("ORDER BY of a position behind *")
        return items[place - 1].unalias().copy()
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases:
        return aliases[node.name.lower()].copy()

    def replaced(inner: exp.Expr) -> exp.Expr:
        is_alias = isinstance(inner, exp.Column) and not inner.table and inner.name.lower() in aliases.keys() - columns
        return exp.paren(aliases[inner.name.lower()].copy()) if is_alias else inner

    return node.copy().transform(replaced)


def _is_given(key: exp.Expr, items: list[exp.Expr]) -> bool:
    """Whether a key is made of selected items alone, so that rows that are equal have equal keys."""
    given = {_sql(item.unalias()).lower() for item in items}
    has_star = any(item.is_star for item in items)

    def is_given(node: exp.Expr) -> bool:
        if _sql(node).lower() in given or isinstance(node, exp.Literal):
            return True
        if isinstance(node, exp.Column):
            return has_star
        parts = list(node.iter_expressions())
        return bool(parts) and not isinstance(node, exp.Query) and all(map(is_given, parts))

    return is_given(key)


def _grouped(
    query: exp.Select, wanted: Sequence[exp.Ordered], keys: list[exp.Expr]
) -> tuple[exp.Select, list[exp.Expr]]:
    """SELECT DISTINCT a ORDER BY b DESC as each a with its largest b: what it means, if it means anything."""
    items = query.expressions
    strange = [number for number, key in enumerate(keys) if not _is_given(key, items)]
    has_group = query.args.get("group") is not None or any(item.find(exp.AggFunc, exp.Window) for item in items)
    if len(strange) > 1 or has_group or any(item.is_star for item in items) or _calls_aggregate(query):
        raise UnsupportedError(_DISTINCT)
    query.set("distinct", None)
    query.set("group", exp.Group(expressions=[exp.Literal.number(place) for place in range(1, len(items) + 1)]))
    name = "max" if wanted[strange[0]].args.get("desc") else "min"
    return query, [
        exp.Anonymous(this=name, expressions=[key]) if number in strange else key for number, key in enumerate(keys)
    ]


def _calls_aggregate(query: exp.Select) -> bool:
    names = ("count", "sum", "avg", "min", "max", "total", "group_concat")
    return any(
        node.name.lower() in names and len(node.expressions) < 2 and node.find_ancestor(exp.Select) is query
        for node in query.find_all(exp.Anonymous)
    )


def _keys_of_set_operation(
    query: exp.SetOperation, wanted: Sequence[exp.Ordered], columns: Columns
) -> tuple[exp.Select, list[exp.Expr]]:
    """Its terms can only be columns of its result: by position, by a name in one of its parts, or as written in one."""
    parts = _parts(query)
    first = parts[0].expressions
    keys = []
    for term in wanted:
        node, collation = _without_collation(term)
        place = _place_in(node, parts)
        if any(item.is_star for part in parts for item in part.expressions[: place + 1]):
            raise UnsupportedError("ORDER BY of a set operation of *")
        if not first[place].alias.startswith(_OUT):
            first[place] = exp.alias_(first[place].unalias(), f"{_OUT}{place}")
        keys.append(_folded(exp.column(f"{_OUT}{place}"), collation, first[place].unalias(), columns))
    parts[0].set("expressions", first)
    return exp.select("*").from_(query.subquery()), keys


def _parts(query: exp.Expr) -> list[exp.Select]:
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.this), *_parts(query.expression)]
    if not isinstance(query, exp.Select):
        raise UnsupportedError(f"ORDER BY of a set operation of {type(query).__name__.upper()}")
    return [query]


def _place_in(node: exp.Expr, parts: list[exp.Select]) -> int:
    if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(parts[0].expressions):
        return int(node.name) - 1
    for part in parts:
        for place, item in enumerate(part.expressions):
            is_name = isinstance(node, exp.Column) and not node.table
            if is_name and (item.alias_or_name.lower() == node.name.lower() or item.alias.lower() == node.name.lower()):
                return place
            if _sql(item.unalias()).lower() == _sql(node).lower():
                return place
    if any(item.is_star for part in parts for item in part.expressions):
        raise UnsupportedError("ORDER BY of a set operation of *")
    raise UnsupportedError("ORDER BY of a set operation by what none of its parts gives")


def _order_of_its_source(query: exp.Expr, columns: Columns) -> _Keyed | None:
    """A plain SELECT from one ordered query keeps its order, and its LIMIT cuts there."""
    if not isinstance(query, exp.Select) or query.args.get("joins") or query.args.get("laterals"):
        return None
    if any(query.args.get(name) is not None for name in ("group", "having", "distinct")) or _calls_aggregate(query):
        return None
    source = query.args.get("from_") and query.args["from_"].this
    inner = source.this if isinstance(source, exp.Subquery) else _common_table(query, source)
    keyed = _keyed(inner, columns) if isinstance(inner, exp.Query) else None
    if keyed is None:
        return None
    limit, offset = _take_limit(query)
    if keyed.limit is not None or keyed.offset:
        if limit is not None or offset:
            raise UnsupportedError("LIMIT of a query that has one")
        if query.args.get("where") is not None:
            raise UnsupportedError("WHERE over a query with a LIMIT")
        limit, offset = keyed.limit, keyed.offset
    source.replace(
        exp.Subquery(this=keyed.query, alias=exp.TableAlias(this=exp.to_identifier(source.alias_or_name or "one")))
    )
    items = query.expressions
    if any(item.is_star for item in items):
        if len(items) > 1:
            raise UnsupportedError("* beside other columns over an ordered query")
    else:
        for number in _numbers(keyed):
            query.append("expressions", exp.column(f"{_KEY}{number}"))
    return _Keyed(query, keyed.terms, limit, offset)


def _common_table(query: exp.Select, source: exp.Expr | None) -> exp.Expr | None:
    """The query of WITH that a name stands for."""
    ctes = query.args["with_"].expressions if query.args.get("with_") is not None else []
    is_plain = isinstance(source, exp.Table) and not source.db and not any(cte.args["alias"].columns for cte in ctes)
    return next((cte.this for cte in ctes if is_plain and cte.alias.lower() == source.name.lower()), None)
