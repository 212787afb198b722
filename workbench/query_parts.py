"""What a query consists of, flat enough to compare two: tables, joins, conditions, outputs, groups, order, subqueries.

In: what read_query_parts.py reads. Out: `Query` and its parts, whose keys and texts are equal where the meaning is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.schema import Schema


@dataclass(frozen=True)
class Value:
    """An expression. text: canonical, by table.column. columns: those it reads, but for tests inside it. aggregates: with
    windows. scalars: other functions. operators: of arithmetic. is_real: a real number is in it. is_whole: it divides without
    one, so that whole numbers give a whole one. numbers: its constants but 1."""

    text: str
    columns: frozenset[str] = frozenset()
    aggregates: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    is_real: bool = False
    numbers: tuple[str, ...] = ()
    is_column: bool = False
    is_whole: bool = False


@dataclass(frozen=True)
class Condition:
    """One comparison: subject op value. value: text of a constant or column; query: the subquery where it is one.

    place: where | on | having | output (inside CASE) | except (of what EXCEPT takes away). key: equal for conditions that
    mean the same.
    """

    subject: Value
    op: str
    value: str
    kind: str  # constant | column | query | none
    place: str
    query: "Query | None" = None

    @property
    def key(self) -> tuple:
        value = self.query.signature if self.query is not None else self.value
        value = value.lower() if self.op.endswith("like") else value
        return (self.subject.text, self.op, plain(value) if self.subject.is_column else value)

    @property
    def text(self) -> str:
        value = f"({self.query.text})" if self.query is not None else self.value
        return " ".join(part for part in (self.subject.text, self.op, value) if part)


@dataclass
class Query:
    """One query with all that could be read into it; branches of a set operation lie together. joins: pairs of columns
    by their own names. derived: queries in FROM that stay apart, because they group, limit or combine. equals: = over a
    plain subquery was read as a join. words: connectives and kinds of outer join."""

    tables: list[str] = field(default_factory=list)
    joins: list[frozenset[str]] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of the outputs, as a query around it calls them
    groups: list[Value] = field(default_factory=list)
    order: list[tuple[Value, bool]] = field(default_factory=list)
    limit: str | None = None
    offset: str | None = None
    kinds: list[str] = field(default_factory=list)  # of set operations
    derived: list["Query"] = field(default_factory=list)
    nested: list["Query"] = field(default_factory=list)  # queries that are values
    unknown: list[str] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    equals: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it may be read as a join: its rows are rows of its tables."""
        has_aggregates = any(value.aggregates for value in self.outputs)
        return not (self.groups or self.kinds or self.derived or has_aggregates or (self.limit and self.order))

    @property
    def is_one_row_a_key(self) -> bool:
        """Whether it gives the keys of its groups, so that a join with its rows and the same GROUP BY does as well."""
        groups, shown = ({value.text for value in side} for side in (self.groups, self.outputs))
        return groups == shown and not (self.kinds or self.derived or self.limit)

    @property
    def signature(self) -> tuple:
        having = [one.key for one in self.conditions]
        parts = (
            self.tables,
            [str(key) for key in having],
            [o.text for o in self.outputs],
            [g.text for g in self.groups],
        )
        nested = tuple(sorted(str(one.signature) for one in (*self.derived, *self.nested)))
        order = tuple((value.text, descending) for value, descending in self.order)
        return (*(tuple(sorted(part)) for part in parts), order, self.limit, self.offset, tuple(self.kinds), nested)

    @property
    def text(self) -> str:
        """A short form for evidence."""
        where = " and ".join(one.text for one in self.conditions)
        order = ", ".join(value.text + (" desc" if is_descending else "") for value, is_descending in self.order)
        return f"select {', '.join(one.text for one in self.outputs)}{where and ' where ' + where}{order and ' order by ' + order}"

    def walk(self) -> Iterator["Query"]:
        """The query and all inside it."""
        yield self
        inner = [*self.derived, *self.nested, *(one.query for one in self.conditions if one.query is not None)]
        for query in inner:
            yield from query.walk()

    def absorb(self, other: "Query") -> None:
        """Take in the rows' part of a query: all but what it shows and its order."""
        for name in ("tables", "joins", "conditions", "derived", "nested", "unknown", "kinds", "groups"):
            getattr(self, name).extend(getattr(other, name))
        self.words |= other.words
        self.equals |= other.equals


def plain(value: object) -> object:
    """A constant as a column's affinity may see it: '5', 5 and 5.0 alike."""
    if not isinstance(value, str):
        return value
    bare = value[1:-1] if value[:1] == "'" else value
    try:
        return f"{float(bare):g}" if bare.strip() and bare.lower() not in ("nan", "inf", "infinity") else value
    except ValueError:
        return value


def combined(text: str, parts: list[Value], **more: object) -> Value:
    """A value made of others: their columns and functions together, and its own."""
    aggregates = sum((one.aggregates for one in parts), ()) + more.get("aggregates", ())
    return Value(
        text,
        frozenset().union(*(one.columns for one in parts)),
        tuple(sorted(aggregates)),
        sum((one.scalars for one in parts), ()) + more.get("scalars", ()),
        tuple(sorted(sum((one.operators for one in parts), ()) + more.get("operators", ()))),
        bool(more.get("is_real")) or any(one.is_real for one in parts),
        tuple(sorted(sum((one.numbers for one in parts), ()))),
        is_whole=bool(more.get("is_whole")) or any(one.is_whole for one in parts),
    )


def same_columns(query: Query, schema: Schema) -> dict[str, str]:
    """Column -> the name of all columns that hold the same value in joined rows: by gold's joins and by foreign keys.

    A set that holds two columns of one table (two roles, as home and away team) is left out: they differ.
    """
    pairs = [pair for part in query.walk() for pair in part.joins if len(pair) == 2]
    for table in schema.tables:
        targets = [key.target_table.lower() for key in table.foreign_keys]
        for key in table.foreign_keys:
            if targets.count(key.target_table.lower()) == 1 and key.target_table.lower() != table.name.lower():
                for one, other in zip(key.columns, key.target_columns, strict=False):
                    pairs.append(frozenset({f"{table.name}.{one}".lower(), f"{key.target_table}.{other}".lower()}))
    referenced = {f"{key.target_table}.{name}".lower() for table in schema.tables for key in table.foreign_keys for name in key.target_columns}  # fmt: skip
    sets: list[set[str]] = []
    for pair in pairs:
        touching = [group for group in sets if group & pair]
        sets = [group for group in sets if not group & pair] + [set(pair).union(*touching)]
    found = {}
    for group in sets:
        if len({column.split(".")[0] for column in group}) == len(group):
            found |= dict.fromkeys(group, min(group, key=lambda column: (column not in referenced, column)))
    return found
