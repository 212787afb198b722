"""Rules on what the queries show: columns, aggregates, arithmetic.

Each rule: a pair of queries -> its findings. error_rules.py says in which order they run.
"""

from collections.abc import Iterator

from workbench.query_pair import (
    AGGREGATION,
    FILTERING,
    LINKING,
    Finding,
    Pair,
    column_fault,
    is_top_value,
    listed,
    matched_outputs,
)
from workbench.query_parts import Query, Value
from workbench.schema import Schema


def counted_table(pair: Pair) -> Iterator[Finding]:
    """An aggregate of a column whose table the prediction does not read."""
    for value in pair.outputs_missing:
        owners = {column.partition(".")[0] for column in value.columns}
        if value.aggregates and pair.outputs_needless and owners & set(pair.tables_missing):
            evidence = f"gold shows {value.text}, the prediction does not read {listed(sorted(owners))}"
            yield Finding(LINKING, "table", evidence)


def computed_output(pair: Pair) -> Iterator[Finding]:
    """Another aggregate, distinctness, cast, rounding or arithmetic in what is shown."""
    for value, other in zip(*matched_outputs(pair), strict=False):
        owners = {column.partition(".")[0] for column in value.columns}
        if owners & set(pair.tables_missing) or is_top_value(value, pair.gold, other, pair.predicted):
            continue
        evidence = f"gold shows {value.text}, the prediction {other.text}"
        has_same_columns = value.columns == other.columns
        if value.aggregates != other.aggregates:
            counts = any(name.startswith("count") for name in value.aggregates + other.aggregates)
            if (value.aggregates and other.aggregates) or has_same_columns or counts:
                yield Finding(AGGREGATION, "function", evidence)
        elif value.operators != other.operators:
            yield Finding(AGGREGATION if value.aggregates else FILTERING, "operator", evidence)
        elif has_same_columns and _without_cast(value) != _without_cast(other):
            yield Finding(AGGREGATION, "function", evidence)
        elif (
            has_same_columns and value.operators and value.numbers == other.numbers and value.is_whole == other.is_whole
        ):
            if value.text != other.text and sorted(value.text) == sorted(
                other.text
            ):  # the same parts the other way round
                yield Finding(AGGREGATION, "operator", evidence)
        elif has_same_columns and value.numbers != other.numbers:
            yield Finding(AGGREGATION, "operator", evidence)


def whole_number_division(pair: Pair) -> Iterator[Finding]:
    """A ratio of whole numbers for an exact one, or the reverse."""
    for value, other in zip(*matched_outputs(pair), strict=False):
        if value.is_whole != other.is_whole and "/" in value.operators and "/" in other.operators:
            evidence = f"gold shows {value.text}, the prediction {other.text}: only one of them divides exactly"
            yield Finding(AGGREGATION, "function", evidence)


def _without_cast(value: Value) -> list[str]:
    """Functions but CAST: what it does to a division is in is_real."""
    return sorted(name for name in value.scalars if name != "cast")


def shown_columns(pair: Pair) -> Iterator[Finding]:
    """Other columns than gold's."""
    for value, other in zip(*matched_outputs(pair), strict=False):
        is_count = value.aggregates == other.aggregates == ("count",)
        is_other_function = value.aggregates != other.aggregates and value.aggregates and other.aggregates
        if value.columns != other.columns and not is_count and not is_other_function:
            evidence = f"gold shows {value.text}, the prediction {other.text}"
            yield Finding(LINKING, column_fault(value, other, pair), evidence)


def fewer_columns(pair: Pair) -> Iterator[Finding]:
    """Columns of gold's that the prediction leaves out."""
    for value in pair.outputs_missing[len(pair.outputs_needless) :]:
        yield Finding(LINKING, "attribute", f"gold shows {value.text} too, the prediction does not")


def counted_columns(pair: Pair) -> Iterator[Finding]:
    """COUNT of another column, which only differs in its NULLs."""
    for value, other in zip(*matched_outputs(pair), strict=False):
        if value.columns != other.columns and value.aggregates == other.aggregates == ("count",):
            yield Finding(LINKING, "attribute", f"gold shows {value.text}, the prediction {other.text}")


def stored_otherwise(gold: Query, predicted: Query, schema: Schema) -> Iterator[Finding]:
    """Columns that are equal by a key, where their tables store them as different types. Both queries as written."""
    types = {f"{table.name}.{one.name}".lower(): one.affinity for table in schema.tables for one in table.columns}
    shown = [[value.text for value in query.outputs if value.text in types] for query in (gold, predicted)]
    for one in shown[0]:
        for other in shown[1]:
            if one not in shown[1] and other not in shown[0] and types[one] != types[other]:
                evidence = f"gold shows {one} ({types[one]}), the prediction {other} ({types[other]})"
                yield Finding(LINKING, "attribute", evidence)
