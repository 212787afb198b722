"""Rules on groups, order and limits, and on rows at an extreme.

Each rule: a pair of queries -> its findings. error_rules.py says in which order they run.
"""

from collections.abc import Iterator

from workbench.faults_in_conditions import compared_conditions
from workbench.query_pair import (
    AGGREGATION,
    LINKING,
    ORDERING,
    Finding,
    Pair,
    extreme_filters,
    is_extreme,
    is_top_value,
    listed,
    order_text,
    owner,
    primary_keys,
)
from workbench.query_parts import Query, plain
from workbench.schema import Schema


def extremes_by_group(pair: Pair) -> Iterator[Finding]:
    """One row at an extreme of all, where the other query takes the extreme of each group."""
    gold, predicted = pair.gold, pair.predicted
    if gold.order and gold.limit and not predicted.limit and predicted.groups and not gold.groups:
        evidence = f"gold takes the first by {order_text(gold)}, the prediction groups by {listed(predicted.groups)}"
        yield Finding(AGGREGATION, "clause", evidence)
    has_aggregate = any(value.aggregates for value in predicted.outputs)
    is_cut = bool(predicted.order) and predicted.limit and not gold.limit
    if is_cut and pair.is_grouped and not predicted.groups and not has_aggregate:
        evidence = f"gold groups by {listed(gold.groups)}, the prediction takes the first by {order_text(predicted)}"
        yield Finding(AGGREGATION, "clause", evidence)


def ungrouped(pair: Pair) -> Iterator[Finding]:
    """A function of the same rows, once over all of them where gold gives it for each group."""
    gold, predicted = pair.gold, pair.predicted
    is_flat = not (predicted.groups or predicted.derived or gold.derived or pair.missing or pair.needless)
    functions = [
        {name.split()[0] for value in query.outputs for name in value.aggregates} for query in (gold, predicted)
    ]
    is_one_row = bool(predicted.outputs) and all(value.aggregates for value in predicted.outputs)
    if gold.groups and is_flat and is_one_row and functions[1] <= functions[0]:
        evidence = f"gold groups by {listed(gold.groups)}, the prediction takes all rows at once"
        yield Finding(AGGREGATION, "clause", evidence)


def extreme_value_for_row(pair: Pair) -> Iterator[Finding]:
    """A minimum or maximum of what is shown, where gold shows the row that comes first by its order."""
    if pair.gold.order and pair.gold.limit and not (pair.predicted.order or pair.predicted.limit):
        for value in pair.predicted.outputs:
            keys = {one.text for one, _ in pair.gold.order}
            is_key = any(key in value.text for key in keys)
            if {"max", "min"} & set(value.aggregates) and not (is_key and len(pair.predicted.outputs) > 1):
                if is_key and not pair.outputs_missing:
                    continue
                evidence = f"gold takes the first by {order_text(pair.gold)}, the prediction shows {value.text}"
                yield Finding(ORDERING, "clause", evidence)


def needless_limit(pair: Pair) -> Iterator[Finding]:
    """The first rows only, where gold keeps all."""
    gold = pair.gold
    inner = [*gold.derived, *gold.nested, *([] if gold.groups else [gold])]
    if pair.predicted.limit and not gold.limit and not any(map(is_extreme, inner)) and not extreme_filters(gold):
        evidence = f"gold keeps all rows, the prediction the first by {order_text(pair.predicted)}"
        yield Finding(ORDERING, "clause", evidence)


def level_of_groups(pair: Pair) -> Iterator[Finding]:
    """An aggregate over groups for one inside each group, or the reverse."""
    for one, other, name in ((pair.gold, pair.predicted, "gold"), (pair.predicted, pair.gold, "the prediction")):
        inner = [part for part in one.derived if part.groups]
        is_shown = bool(inner) and {value.text for value in one.outputs} <= {value.text for value in inner[0].outputs}
        if inner and other.groups and not one.groups and not other.derived and not is_shown:
            evidence = f"{name} computes over the groups by {listed(inner[0].groups)}, the other query inside each"
            yield Finding(AGGREGATION, "subquery", evidence)


def inner_extreme(pair: Pair) -> Iterator[Finding]:
    """The row at an extreme picked in a subquery for order and limit on the whole, or the reverse."""
    for whole, other, name in ((pair.predicted, pair.gold, "gold"), (pair.gold, pair.predicted, "the prediction")):
        inner = [part for part in (*other.derived, *other.nested, *(one.query for one in other.conditions if one.query)) if part.limit and part.order]  # fmt: skip
        if inner and whole.limit and whole.order and not other.limit:
            evidence = f"{name} takes the first by {order_text(inner[0])} in a subquery, the other query at its end"
            yield Finding(ORDERING, "subquery", evidence)


def extreme_form(pair: Pair) -> Iterator[Finding]:
    """All rows at an extreme (a subquery) for the first by an order, or the reverse: ties."""
    gold, predicted = ([one for one in extreme_filters(query) if one in side] for query, side in ((pair.gold, pair.missing), (pair.predicted, pair.needless)))  # fmt: skip
    if gold and not predicted and pair.predicted.limit:
        evidence = (
            f"gold keeps the rows where {gold[0].text}, the prediction takes the first by {order_text(pair.predicted)}"
        )
        yield Finding(ORDERING, "subquery", evidence)
    elif predicted and not gold and pair.gold.limit:
        evidence = (
            f"gold takes the first by {order_text(pair.gold)}, the prediction keeps the rows where {predicted[0].text}"
        )
        yield Finding(ORDERING, "subquery", evidence)
    elif gold and predicted:
        yield from compared_conditions(gold[0], predicted[0], pair)
    elif gold or predicted:
        who, one = ("gold", gold[0]) if gold else ("the prediction", predicted[0])
        yield Finding(ORDERING, "subquery", f"{who} alone keeps the rows where {one.text}")


def grouping(pair: Pair) -> Iterator[Finding]:
    """Other keys of GROUP BY, or grouping by one query alone."""
    gold, predicted = (_group_keys(query, pair.schema) for query in (pair.gold, pair.predicted))
    derived = bool(pair.gold.derived) != bool(pair.predicted.derived)
    if gold == predicted or (not pair.is_grouped and not predicted):
        return
    evidence = f"gold groups by {listed(sorted(gold))}, the prediction by {listed(sorted(predicted))}"
    has_aggregates = any(value.aggregates for value in (*pair.gold.outputs, *pair.predicted.outputs))
    has_having = any(one.place == "having" for one in pair.gold.conditions)
    is_same_cut = bool(pair.gold.limit) and pair.gold.limit == pair.predicted.limit
    if derived and bool(gold) != bool(predicted):
        yield Finding(AGGREGATION, "subquery", evidence)
    elif is_same_cut and len(gold) == len(predicted):
        yield Finding(ORDERING, "clause", f"{evidence}: another one of those that tie comes first")
    elif has_aggregates or pair.gold.order or has_having or (gold and predicted):
        yield Finding(AGGREGATION, "clause", evidence)


def _group_keys(query: Query, schema: Schema) -> set[str]:
    """What a query groups by, without the columns of a row whose key is among them."""
    texts = {value.text for value in query.groups}
    for table in schema.tables:
        key = primary_keys({table.name.lower()}, schema)
        if key and key <= texts:
            texts = {text for text in texts if text in key or owner(text) != table.name.lower()}
    return texts


def ordering(pair: Pair) -> Iterator[Finding]:
    """Another order, direction, limit or offset."""
    gold, predicted = pair.gold, pair.predicted
    orders = [[(value.text, is_descending) for value, is_descending in query.order] for query in (gold, predicted)]
    is_same_bound = (plain(gold.limit), plain(gold.offset or "0")) == (
        plain(predicted.limit),
        plain(predicted.offset or "0"),
    )
    if is_same_bound and (orders[0] == orders[1] or not orders[0]):
        return
    if any(is_top_value(value, gold, other, predicted) for value in gold.outputs for other in predicted.outputs):
        return
    evidence = f"gold orders by {order_text(gold)}, the prediction by {order_text(predicted)}"
    texts = [{text for text, _ in order} for order in orders]
    counts = [sorted({name for value, _ in query.order for name in value.aggregates}) for query in (gold, predicted)]
    if is_same_bound and all(counts) and counts[0] != counts[1]:
        yield Finding(AGGREGATION, "function", evidence)
        return
    if counts[0] == counts[1] == ["count"] and is_same_bound and {d for _, d in orders[0]} == {d for _, d in orders[1]}:
        return
    if is_same_bound and all(orders) and not texts[0] & texts[1]:
        columns = [frozenset().union(*(value.columns for value, _ in query.order)) for query in (gold, predicted)]
        if columns[0] != columns[1] and columns[1] and columns[0]:
            yield Finding(LINKING, "attribute", evidence)
            return
    yield Finding(ORDERING, "clause", evidence)


def ties(pair: Pair) -> Iterator[Finding]:
    """Where nothing else differs: another one of the rows that tie at gold's cut."""
    if pair.gold.order and pair.gold.limit:
        yield Finding(ORDERING, "clause", f"nothing differs but who comes first by {order_text(pair.gold)} among ties")
