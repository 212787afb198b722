"""Rules on tests: WHERE, ON, HAVING, CASE, and the subqueries they compare with.

Each rule: a pair of queries -> its findings. error_rules.py says in which order they run.
"""

from collections.abc import Iterator

from workbench.query_pair import (
    AGGREGATION,
    FILTERING,
    LINKING,
    ORDERING,
    Finding,
    Pair,
    column_fault,
    is_extreme,
    is_extreme_filter,
    is_negative,
    keys_to,
    listed,
    owner,
    primary_keys,
)
from workbench.query_parts import Condition, Query, plain


def letter_case(pair: Pair) -> Iterator[Finding]:
    """A text that differs from gold's in upper and lower case only: = finds nothing then."""
    for one, other in _all_pairs(pair):
        if one.value != other.value and one.value.lower() == other.value.lower() and "like" not in other.op:
            evidence = f"gold compares {one.subject.text} with {one.value}, the prediction with {other.value}"
            yield Finding(FILTERING, "value", evidence)


def _all_pairs(pair: Pair) -> Iterator[tuple[Condition, Condition]]:
    """Conditions with constants on the same value, wherever they stand in the two queries."""
    sides = [[one for part in query.walk() for one in part.conditions if one.kind == "constant"] for query in (pair.gold, pair.predicted)]  # fmt: skip
    known = {one.key for one in sides[0]}
    for one in sides[0]:
        for other in sides[1]:
            if one.subject.text == other.subject.text and other.key not in known:
                yield one, other


def having_as_where(pair: Pair) -> Iterator[Finding]:
    """A test of an aggregate made on rows, or the reverse."""
    for one in pair.missing:
        for other in pair.needless:
            is_moved = (one.place == "having") != (other.place == "having")
            is_same_test = plain(one.value) == plain(other.value) and one.op == other.op
            is_same_column = one.subject.columns == other.subject.columns
            if is_moved and is_same_test and is_same_column and one.subject.aggregates != other.subject.aggregates:
                evidence = f"gold tests {one.text} in {one.place}, the prediction {other.text} in {other.place}"
                yield Finding(AGGREGATION, "clause", evidence)


def moved_condition(pair: Pair) -> Iterator[Finding]:
    """A test inside a ratio's CASE for one on all its rows: another denominator. Less than a division of whole numbers."""
    ratios = [[value for value in query.outputs if "/" in value.operators] for query in (pair.gold, pair.predicted)]
    if not all(ratios) or ratios[0][0].is_whole != ratios[1][0].is_whole:
        return
    keys = [{one.key for part in query.walk() for one in part.conditions} for query in (pair.gold, pair.predicted)]
    below = [_denominator(query) for query in (pair.gold, pair.predicted)]
    if keys[0] == keys[1] and below[0] != below[1]:
        evidence = f"gold divides by the rows of {listed(below[0])}, the prediction by those of {listed(below[1])}"
        yield Finding(FILTERING, "condition", f"{evidence}: another denominator")
        return
    places = [{one.key: one.place for one in query.conditions} for query in (pair.gold, pair.predicted)]
    for one in pair.gold.conditions:
        here, there = places[0][one.key], places[1].get(one.key)
        if there is not None and (here == "output") != (there == "output"):
            evidence = f"gold tests {one.text} in {here}, the prediction in {there}: the ratio has another denominator"
            yield Finding(FILTERING, "condition", evidence)


def _denominator(query: Query) -> list[str]:
    """The tests that the rows of a ratio pass: those of the subqueries it is made of, where there are any."""
    parts = [part for part in query.nested if any(value.aggregates for value in part.outputs)] or [query]
    return sorted({one.text for part in parts for one in part.conditions if one.place != "output"})


def missing_subquery(pair: Pair) -> Iterator[Finding]:
    """NOT IN, NOT EXISTS or a comparison with a subquery that only one of the queries has."""
    gold, predicted = (
        [one for one in side if (one.query is not None and one.op != "=") or "(select" in one.value]
        for side in (pair.missing, pair.needless)
    )
    if bool(gold) != bool(predicted):
        who, one = ("gold", gold[0]) if gold else ("the prediction", predicted[0])
        if "except" in (pair.predicted.kinds if gold else pair.gold.kinds):
            return
        other = pair.needless if gold else pair.missing
        if gold and not other and not pair.needless and not is_negative(one) and is_extreme(one.query):
            return
        evidence = f"{who} alone tests {one.text}"
        yield Finding(FILTERING, "subquery", evidence)


def conditions(pair: Pair) -> Iterator[Finding]:
    """Tests that only one query has, paired by what they have in common."""
    subjects = [
        {one.subject.text for one in side if not is_extreme_filter(one)} for side in (pair.missing, pair.needless)
    ]
    missing, needless = (
        [one for one in side if not is_extreme_filter(one) or (one.query and one.subject.text in others)]
        for side, others in ((pair.missing, subjects[1]), (pair.needless, subjects[0]))
    )
    if "except" in pair.gold.kinds + pair.predicted.kinds and any(
        is_negative(one) and one.query for one in missing + needless
    ):
        # a set difference for NOT IN: set_operations says so
        missing, needless = ([one for one in side if one.place != "except" and not (one.query and is_negative(one))] for side in (missing, needless))  # fmt: skip
    late = []
    for one, other in _paired(missing, needless, pair):
        if one is None or other is None:
            late.append((one, other))
        else:
            yield from compared_conditions(one, other, pair)
    for one, other in late:
        who, rest, only = (
            ("gold", "the prediction does not", one) if one else ("the prediction", "gold does not", other)
        )
        if only.place == "having":
            yield Finding(AGGREGATION, "clause", f"{who} tests {only.text} in having, {rest}")
        elif not _is_null_test(only):  # those are less: null_tests
            yield Finding(FILTERING, "condition", f"{who} filters {only.text}, {rest}")


def _paired(
    missing: list[Condition], needless: list[Condition], pair: Pair
) -> Iterator[tuple[Condition | None, Condition | None]]:
    """Each of gold's with the one of the prediction that is most like it, if any is."""
    left = list(needless)
    for one in missing:
        best = max(left, key=lambda other: _likeness(one, other, pair), default=None)
        if best is None or _likeness(one, best, pair) < 2:
            yield one, None
        else:
            left.remove(best)
            yield one, best
    yield from ((None, other) for other in left)


def _likeness(one: Condition, other: Condition, pair: Pair) -> int:
    if (one.kind == "query") != (other.kind == "query"):
        return 2 * (one.subject.is_column and one.subject.text == other.subject.text)
    same_value = _likeness_of_values(one, other)
    is_same_text = one.subject.text == other.subject.text
    same_subject = 3 if is_same_text else 2 * bool(one.subject.columns and one.subject.columns == other.subject.columns)
    if one.kind == "query":
        return 2 + same_subject + (one.op == other.op)
    if one.place == other.place == "having":
        return 2 + same_subject
    same_op = one.op == other.op
    if _is_id_for_name(one, other, pair):
        return 2
    return (
        same_subject
        + (2 if same_value and not _is_small(one.value) else same_value and same_op)
        + same_op * (same_subject > 0)
    )


def _is_id_for_name(one: Condition, other: Condition, pair: Pair) -> bool:
    """Whether one query tests a name in a lookup table, and the other the key that leads there, against another thing."""
    return _is_key_for(one, other, pair.as_written, pair) or _is_key_for(other, one, pair.predicted, pair)


def _is_key_for(name: Condition, key: Condition, query: Query, pair: Pair) -> bool:
    owners = {owner(column) for column in name.subject.columns}
    keys = {column for table in owners for column in keys_to(table, query)} | primary_keys(owners, pair.schema)
    is_id = key.kind == "constant" and key.op == "=" and str(plain(key.value)).isdecimal()
    is_unknown = key.op == "is" and key.value == "null"
    is_key = key.subject.is_column and key.subject.text in keys - name.subject.columns
    return is_key and (is_id or is_unknown) and name.kind == "constant" and not _likeness_of_values(name, key)


def _is_small(value: str) -> bool:
    """Whether a value is too common to show that two tests are about the same thing."""
    return plain(value) in ("0", "1") or value.lower() in ("null", "'t'", "'f'")


def _likeness_of_values(one: Condition, other: Condition) -> bool:
    return bool(one.value) and str(plain(one.value)).lower().strip("%'") == str(plain(other.value)).lower().strip("%'")


def compared_conditions(one: Condition, other: Condition, pair: Pair) -> Iterator[Finding]:
    """The fault between two tests of about the same thing."""
    evidence = f"gold tests {one.text}, the prediction {other.text}"
    if one.query is not None and other.query is not None:
        yield from _subqueries(one, other, pair, evidence)
    elif one.query is not None or other.query is not None:
        yield Finding(FILTERING, "subquery", evidence)
    elif "having" in (one.place, other.place):
        kind = "function" if one.subject.text != other.subject.text else "operator" if one.op != other.op else "value"
        yield Finding(AGGREGATION, "clause" if one.place != other.place else kind, evidence)
    elif _is_id_for_name(one, other, pair):
        yield Finding(FILTERING, "value", evidence)
    elif one.subject.columns != other.subject.columns:
        yield Finding(LINKING, column_fault(one.subject, other.subject, pair), evidence)
    elif one.subject.text != other.subject.text:
        yield Finding(FILTERING, "function", evidence)
    elif one.op != other.op and _likeness_of_values(one, other):
        if {one.op, other.op} != {"=", "like"} or plain(one.value) != plain(other.value):
            yield Finding(FILTERING, "operator", evidence)
    else:
        yield Finding(FILTERING, "operator" if one.kind == "column" and one.value == other.value else "value", evidence)


def _subqueries(one: Condition, other: Condition, pair: Pair, evidence: str) -> Iterator[Finding]:
    inner = Pair(one.query, other.query, pair.schema)
    ranked = [_ranked_by(each) for each in (one, other)]
    if all(ranked) and ranked[0] != ranked[1]:
        yield Finding(LINKING, "attribute", evidence)
        return
    if one.op != other.op and one.query.signature == other.query.signature:
        yield Finding(FILTERING, "operator", evidence)
        return
    shown = list(zip(one.query.outputs, other.query.outputs, strict=False))
    for value, given in shown:
        is_other = value.aggregates and given.aggregates and value.aggregates != given.aggregates
        if is_other and value.columns == given.columns:
            yield Finding(FILTERING, "function", f"gold's subquery gives {value.text}, the prediction's {given.text}")
            return
    found = [each for each in conditions(inner) if each.category == FILTERING]
    forms = [(bool(each.query.limit), bool(each.query.groups)) for each in (one, other)]
    if found and forms[0] == forms[1]:
        yield Finding(FILTERING, found[0].error_type, f"in the subquery {found[0].evidence}")
    elif all(ranked) and not found:
        yield Finding(ORDERING, "clause" if one.query.limit and other.query.limit else "subquery", evidence)
    else:
        yield Finding(FILTERING, "subquery", evidence)


def _ranked_by(one: Condition) -> frozenset[str]:
    """The columns by which a test keeps the rows at an extreme; none where it keeps others."""
    if not is_extreme_filter(one):
        return frozenset()
    keys = [value for value, _ in one.query.order] if one.query.limit else one.query.outputs
    return frozenset().union(*(value.columns for value in keys))


def connectives(pair: Pair) -> Iterator[Finding]:
    """OR for AND, with the same tests."""
    has = [("or" in query.words) or ("union" in query.kinds) for query in (pair.gold, pair.predicted)]
    if has[0] != has[1] and len(pair.gold.conditions) > 1 and not pair.missing and not pair.needless:
        who = "gold" if has[0] else "the prediction"
        yield Finding(FILTERING, "operator", f"{who} alone joins its tests by or")


def first_of_several(pair: Pair) -> Iterator[Finding]:
    """= over a subquery of several rows takes the first only."""
    if pair.predicted.equals and not pair.gold.equals:
        yield Finding(FILTERING, "operator", "the prediction compares by = with a subquery, gold joins all its rows")


def null_tests(pair: Pair) -> Iterator[Finding]:
    """IS NOT NULL in one query alone; but for the key of a falling order with a limit, where NULLs come last in SQLite."""
    late = [
        {order[0][0].text for order in [query.order] if order and order[0][1] and query.limit}
        for query in (pair.gold, pair.predicted)
    ]
    for who, other, side in (
        ("gold", "the prediction does not", pair.missing),
        ("the prediction", "gold does not", pair.needless),
    ):
        for one in filter(_is_null_test, side):
            if one.subject.text in late[0] & late[1]:
                continue
            yield Finding(FILTERING, "condition", f"{who} filters {one.text}, {other}")


def _is_null_test(one: Condition) -> bool:
    return one.op == "is not" and one.value == "null"
