"""A gold query beside a prediction: what a fault is called, and what several rules ask of the two.

In: the parts of both (query_parts.py). Out: a `Pair` for the rules of the faults_in_*.py, which give `Finding`s.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.query_parts import Condition, Query, Value
from workbench.schema import Schema

FILTERING, LINKING, AGGREGATION = "filtering_logic", "schema_linking", "aggregation_grouping"
ORDERING, SYNTAX, OTHER = "ordering_ranking", "dialect_syntax", "other"
RANKS = frozenset({"rank", "dense_rank", "row_number"})


@dataclass(frozen=True)
class Finding:
    """One fault. error_type is null where none of the eight fits."""

    category: str
    error_type: str | None
    evidence: str


class Pair:
    """Gold's and the prediction's query, and what several rules ask of them."""

    def __init__(
        self,
        gold: Query,
        predicted: Query,
        schema: Schema,
        as_written: Query | None = None,
        same: Mapping[str, str] | None = None,
    ):
        """as_written: gold with every column under its own name, where `gold` calls equal ones alike, as `same` says."""
        self.gold, self.predicted, self.schema, self.as_written = gold, predicted, schema, as_written or gold
        self.same = same or {}
        self.missing, self.needless = _unmatched(_pool(gold), _pool(predicted))
        self.outputs_missing, self.outputs_needless = _without(gold.outputs, predicted.outputs)
        tables = [Counter(_tables(query)) for query in (gold, predicted)]
        self.tables_missing = sorted(set(tables[0]) - set(tables[1]))
        self.tables_needless = sorted(set(tables[1]) - set(tables[0]))
        self.is_grouped = bool(gold.groups) and not self._is_one_row_a_group()

    def _is_one_row_a_group(self) -> bool:
        """Whether gold's groups hold one row each: its keys and what it fixes by = hold a key of its only table."""
        if len(self.gold.tables) != 1:
            return False
        name = self.gold.tables[0]
        table = next((one for one in self.schema.tables if one.name.lower() == name), None)
        gold = self.as_written
        fixed = {one.subject.text for one in gold.conditions if one.op == "=" and one.place == "where"}
        fixed |= {value.text for value in gold.groups}
        names = {text.rpartition(".")[2] for text in fixed}
        return table is not None and bool(table.primary_key) and {one.lower() for one in table.primary_key} <= names


def _pool(query: Query) -> list[Condition]:
    """A query's tests, with those of the subqueries that its outputs compute with."""
    return [*query.conditions, *(one for part in (*query.nested, *query.derived) for one in _pool(part))]


def _unmatched(gold: list[Condition], predicted: list[Condition]) -> tuple[list[Condition], list[Condition]]:
    """Conditions that only one side has; how often one stands in a query does not matter, nor LIKE for gold's = where it
    finds the same text."""
    texts = [{_compared_text(one) for one in side if one.op == op} for side, op in ((gold, "="), (predicted, "like"))]
    alike = (texts[0] & texts[1]) - {None}
    keys = [{one.key for one in side} for side in (gold, predicted)]
    sides = ((gold, keys[1], "="), (predicted, keys[0], "like"))
    first, second = (
        {one.key: one for one in side if one.key not in other and not (one.op == op and _compared_text(one) in alike)}
        for side, other, op in sides
    )
    return list(first.values()), list(second.values())


def _compared_text(one: Condition) -> tuple[str, str] | None:
    """What a column is compared with, letter case aside; None where it is no text or a pattern."""
    is_word = one.kind == "constant" and one.value.startswith("'") and not set("%_") & set(one.value)
    return (one.subject.text, one.value.lower()) if is_word else None


def _without(gold: list[Value], predicted: list[Value]) -> tuple[list[Value], list[Value]]:
    texts = [Counter(one.text for one in side) for side in (gold, predicted)]
    return [one for one in gold if one.text not in texts[1]], [one for one in predicted if one.text not in texts[0]]


def _tables(query: Query) -> list[str]:
    return [name for part in query.walk() for name in part.tables]


def is_extreme(query: Query | None) -> bool:
    """Whether a subquery gives a maximum or minimum, or the first by an order, itself or out of a query in its FROM."""
    if query is None:
        return False
    is_top = any({"max", "min"} & set(one.aggregates) for one in query.outputs)
    return is_top or bool(query.limit and query.order) or any(map(is_extreme, query.derived))


def is_extreme_filter(one: Condition) -> bool:
    """Whether a test keeps the rows at an extreme: = over a maximum, also one out of a query in FROM, or a rank."""
    is_rank = bool(RANKS & set(one.subject.aggregates))
    is_joined = one.op == "=" and one.place != "having" and one.value.startswith(("max(", "min("))
    return is_rank or is_joined or (one.op in ("=", "in") and is_extreme(one.query))


def is_negative(one: Condition) -> bool:
    return one.op.startswith("not") or one.op == "!="


def extreme_filters(query: Query) -> list[Condition]:
    return [one for one in query.conditions if is_extreme_filter(one)]


def listed(values) -> str:
    return ", ".join(getattr(one, "text", one) for one in values) or "nothing"


def order_text(query: Query) -> str:
    keys = ", ".join(value.text + (" desc" if is_descending else "") for value, is_descending in query.order)
    return f"{keys or 'nothing'}{f' limit {query.limit}' if query.limit else ''}"


def owner(column: str) -> str:
    return column.partition(".")[0]


def is_read(table: str, query: Query) -> bool:
    """Whether the query shows, tests, groups or sorts by a column of a table."""
    for part in query.walk():
        values = [
            *part.outputs,
            *part.groups,
            *(value for value, _ in part.order),
            *(one.subject for one in part.conditions),
        ]
        joined = {column for join in part.joins for column in join}
        if any(owner(column) == table and column not in joined for value in values for column in value.columns):
            return True
    return False


def keys_to(table: str, query: Query) -> set[str]:
    """Columns that a query, read with every column under its own name, joins a table by."""
    return {column for part in query.walk() for join in part.joins if table in map(owner, join) for column in join}


def primary_keys(tables: set[str], schema: Schema) -> set[str]:
    """The columns of the primary keys of some tables."""
    return {
        f"{one.name}.{key}".lower() for one in schema.tables for key in one.primary_key if one.name.lower() in tables
    }


def matched_outputs(pair: Pair) -> tuple[list[Value], list[Value]]:
    """Outputs of gold that the prediction lacks, each beside the needless one that is most like it."""
    left = list(pair.outputs_needless)
    found: tuple[list[Value], list[Value]] = ([], [])
    for value in pair.outputs_missing:
        if not left:
            break
        best = max(left, key=lambda one: (value.columns == one.columns, bool(value.aggregates) == bool(one.aggregates), len(value.columns & one.columns)))  # fmt: skip
        left.remove(best)
        found[0].append(value)
        found[1].append(best)
    return found


def is_top_value(value: Value, query: Query, other: Value, other_query: Query) -> bool:
    """Whether one shows MAX or MIN of a column, and the other the column of the first row by it: the same value."""
    for top, grouped, shown, sorted_by in ((value, query, other, other_query), (other, other_query, value, query)):
        keys = [key.text for key, _ in sorted_by.order]
        if top.aggregates in (("max",), ("min",)) and not grouped.groups and sorted_by.limit and keys == [shown.text]:
            return top.columns == shown.columns and not shown.aggregates
    return False


def column_fault(one: Value, other: Value, pair: Pair) -> str:
    """The type of a wrong column: table where the prediction does not read gold's table, else attribute."""
    return "table" if {owner(column) for column in one.columns} & set(pair.tables_missing) else "attribute"
