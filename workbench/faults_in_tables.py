"""Rules on where the rows come from: tables, joins, set operations, queries in FROM.

Each rule: a pair of queries -> its findings. error_rules.py says in which order they run.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import permutations

from workbench.query_pair import FILTERING, LINKING, Finding, Pair, is_negative, is_read, keys_to, listed, owner
from workbench.schema import Schema


def level_of_sets(pair: Pair) -> Iterator[Finding]:
    """A set operation over the shown rows for one inside a query, or the reverse."""
    inner = [[kind for part in query.derived for kind in part.kinds] for query in (pair.gold, pair.predicted)]
    if (inner[0] and not inner[1] and pair.predicted.kinds) or (inner[1] and not inner[0] and pair.gold.kinds):
        kinds = [kind for side in inner for kind in side]
        evidence = f"only one of the two queries computes over the {kinds[0]} of two queries"
        yield Finding(FILTERING, "subquery", evidence)


def base_table(pair: Pair) -> Iterator[Finding]:
    """What is left of all rows of one table, where gold takes the same away from another's."""
    takes_away = all("except" in query.kinds or any(is_negative(one) and one.query for one in query.conditions) for query in (pair.gold, pair.predicted))  # fmt: skip
    shown, gold = ({owner(column) for value in query.outputs for column in value.columns} for query in (pair.predicted, pair.as_written))  # fmt: skip
    for name in pair.tables_needless:
        if takes_away and name in shown - gold:
            yield Finding(
                LINKING, "table", f"gold starts from {listed(sorted(gold))}, the prediction from all of {name}"
            )


def bridge_table(pair: Pair) -> Iterator[Finding]:
    """A table that only leads from one to another is left out, so that things are joined that do not belong together."""
    joins = [set(map(owner, join)) for part in pair.as_written.walk() for join in part.joins]
    unread = {name for name in pair.tables_missing if not is_read(name, pair.as_written)}
    while unread:
        chain = {min(unread)}
        unread -= chain
        while more := {name for join in joins if join & chain for name in join & unread}:
            chain |= more
            unread -= more
        ends = {name for join in joins if join & chain for name in join} - chain
        if len(ends) > 1 and not ends & set(pair.tables_missing):
            names = listed(sorted(chain))
            yield Finding(
                FILTERING, "table", f"gold joins {listed(sorted(ends))} through {names}, the prediction does not"
            )


def set_operations(pair: Pair) -> Iterator[Finding]:
    """UNION for INTERSECT and the like; a set difference for a test, or the reverse."""
    kinds = [[kind for part in (query, *query.derived) for kind in part.kinds] for query in (pair.gold, pair.predicted)]
    gold, predicted = map(Counter, kinds)
    if gold == predicted:
        return
    evidence = f"gold combines by {listed(kinds[0])}, the prediction by {listed(kinds[1])}"
    if gold and predicted:
        yield Finding(FILTERING, "operator", evidence)
    elif "except" in gold + predicted:
        other = pair.predicted if gold else pair.gold
        has_query = any(one.query is not None for one in other.conditions)
        yield Finding(FILTERING, "subquery" if has_query else "operator", evidence)
    elif any(value.aggregates for query in (pair.gold, pair.predicted) if query.kinds for value in query.outputs):
        yield Finding(FILTERING, "operator", f"{evidence}, of what each query computes")
    elif "intersect" in gold + predicted and not pair.missing and not pair.needless:
        yield Finding(FILTERING, "operator", evidence)


def missing_table(pair: Pair) -> Iterator[Finding]:
    """A table that gold shows, tests or counts, and the prediction does not read."""
    for name in pair.tables_missing:
        if any(owner(column) == name for value in pair.outputs_missing for column in value.columns):
            shown = [value.text for value in pair.outputs_missing if any(owner(c) == name for c in value.columns)]
            is_key_for_name = keys_to(name, pair.as_written) & {
                column for value in pair.predicted.outputs for column in value.columns
            }
            kind = "attribute" if is_key_for_name or len(pair.predicted.outputs) < len(pair.gold.outputs) else "table"
            yield Finding(LINKING, kind, f"gold shows {listed(shown)}, the prediction does not read {name}")
        elif not _is_lookup(name, pair):
            yield Finding(LINKING, "table", f"gold reads {name}, the prediction does not")


def _is_lookup(name: str, pair: Pair) -> bool:
    """Whether a table only repeats a key that other tables hold: to leave it out changes nothing."""
    tables = {one.name.lower(): one for one in pair.schema.tables}
    if name not in tables or is_read(name, pair.as_written):
        return False
    keys: dict[str, set[str]] = {}  # by the table that they are joined to: a bridge's key leads to two
    for part in pair.as_written.walk():
        for join in part.joins:
            for one, other in permutations(join, 2):
                if owner(one) == name:
                    keys.setdefault(owner(other), set()).add(one.rpartition(".")[2])
    primary = {one.lower() for one in tables[name].primary_key}
    return bool(primary) and any(joined >= primary for joined in keys.values())


def joined_columns(pair: Pair) -> Iterator[Finding]:
    """The same tables joined by other columns."""
    sides = [{join for part in query.walk() for join in part.joins if len({owner(c) for c in join}) == 2} for query in (pair.gold, pair.predicted)]  # fmt: skip
    for join in sorted(sides[0] - sides[1], key=sorted):
        tables = {owner(column) for column in join}
        for other in sorted(sides[1] - sides[0], key=sorted):
            if {owner(column) for column in other} == tables:
                evidence = f"gold joins by {' = '.join(sorted(join))}, the prediction by {' = '.join(sorted(other))}"
                yield Finding(FILTERING, "attribute", evidence)


def foreign_join(pair: Pair) -> Iterator[Finding]:
    """Two columns joined that gold does not join: they hold different things, or a key in another role."""
    needless = set(pair.tables_needless)
    joined = {frozenset(pair.same.get(c, c) for c in join) for part in pair.as_written.walk() for join in part.joins}
    for part in pair.predicted.walk():
        for join in part.joins:
            names = frozenset(pair.same.get(column, column) for column in join)
            is_key = _is_key(join, pair.schema)
            if len(names) == 2 and names not in joined and not (is_key and set(map(owner, join)) & needless):
                yield Finding(
                    FILTERING,
                    "attribute" if is_key else "table",
                    f"the prediction joins by {' = '.join(sorted(join))}, gold does not",
                )


def _is_key(join: frozenset[str], schema: Schema) -> bool:
    for table in schema.tables:
        for key in table.foreign_keys:
            for one, other in zip(key.columns, key.target_columns, strict=False):
                if join == {f"{table.name}.{one}".lower(), f"{key.target_table}.{other}".lower()}:
                    return True
    return False


def repeated_table(pair: Pair) -> Iterator[Finding]:
    """A table that gold joins twice, in two roles, and the prediction once."""
    sides = [Counter(query.tables) for query in (pair.gold, pair.predicted)]
    for name in sorted(sides[0]):
        if not pair.gold.kinds and 0 < sides[1][name] < sides[0][name]:
            is_shown = sum(name in map(owner, value.columns) for value in pair.gold.outputs) > 1
            evidence = f"gold reads {name} {sides[0][name]} times, the prediction {sides[1][name]}"
            yield Finding(LINKING if is_shown else FILTERING, "table", evidence)


def needless_table(pair: Pair) -> Iterator[Finding]:
    """A join that gold does without: it repeats or drops rows."""
    for name in pair.tables_needless:
        yield Finding(FILTERING, "table", f"the prediction joins {name}, gold does not")


def outer_joins(pair: Pair) -> Iterator[Finding]:
    """LEFT JOIN for JOIN, or the reverse."""
    kinds = [{word for word in query.words if word.endswith("join")} for query in (pair.gold, pair.predicted)]
    if kinds[0] != kinds[1]:
        evidence = f"gold reads by {listed(sorted(kinds[0])) if kinds[0] else 'inner joins'}, the prediction by {listed(sorted(kinds[1])) if kinds[1] else 'inner joins'}"  # fmt: skip
        is_void = kinds[1] and any(one.place == "on" for one in pair.predicted.conditions)  # a test that drops no row
        yield Finding(FILTERING, "subquery" if is_void else "operator", evidence)


def shape_of_subqueries(pair: Pair) -> Iterator[Finding]:
    """Queries in FROM, or as values, that differ in what the other rules do not look at."""
    sides = [
        sorted(str(part.signature) for part in (*query.derived, *query.nested)) for query in (pair.gold, pair.predicted)
    ]
    if sides[0] != sides[1]:
        yield Finding(FILTERING, "subquery", "the queries inside the two queries differ")
