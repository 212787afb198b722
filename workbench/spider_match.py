"""Spider's official scores of a pair from its two trees: exact set match with ten components, hardness, old execution.

In: trees of `spider_sql.parse_spider` (EMPTY for a prediction that cannot be read), results as row tuples. Out: scores.
Rules: taoyds/spider, evaluation.py, quirks included: values, LIMIT's number, DISTINCT and join conditions do not count,
nor does how AND and OR nest. A nested query in a condition is compared as a whole, so there DISTINCT and LIMIT's number
do count and foreign keys are not made equal. HES-SQL's EM (appendix, equation 1) is the mean of `exact_set_match`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from workbench.errors import ParseError
from workbench.spider_sql import (
    EMPTY,
    OPERATORS,
    SET_OPERATORS,
    ColumnUnit,
    SpiderNames,
    Tree,
    ValueUnit,
    parse_spider,
)

COMPONENTS = (
    "select",
    "select(no AGG)",
    "where",
    "where(no OP)",
    "group(no Having)",
    "group",
    "order",
    "and/or",
    "IUEN",
    "keywords",
)
HARDNESS = ("easy", "medium", "hard", "extra")
_LIKE, _IN = OPERATORS.index("like"), OPERATORS.index("in")


@dataclass(frozen=True)
class Component:
    """is_match: the component's score. predicted, gold: how many items each side has, of what the official rates count."""

    is_match: bool
    predicted: int
    gold: int


def comparable(tree: Tree, names: SpiderNames) -> Tree:
    """The tree without values and DISTINCT, columns of a group of foreign keys made one where a table of FROM owns them."""
    tables = {unit for kind, unit in tree["from"]["table_units"] if kind == "table_unit"}
    keys = {column: first for column, first in names.keys.items() if column.partition(".")[0] in tables}
    return _rewritten(tree, keys)


def exact_set_match(predicted: Tree, gold: Tree) -> bool:
    """Whether all ten components match and FROM names the same tables. Both trees as `comparable` makes them."""
    if not all(component.is_match for component in components(predicted, gold).values()):
        return False
    if not gold["from"]["table_units"]:
        return True
    theirs = list(predicted["from"]["table_units"])  # may hold trees, which no set can
    for unit in gold["from"]["table_units"]:
        if unit not in theirs:
            return False
        theirs.remove(unit)
    return not theirs


def components(predicted: Tree, gold: Tree) -> dict[str, Component]:
    """Every component of a pair, in the order of COMPONENTS. Both trees as `comparable` makes them."""
    found = [
        _items(*(tree["select"][1] for tree in (predicted, gold))),
        _items(*([unit for _, unit in tree["select"][1]] for tree in (predicted, gold))),
        _items(*(tree["where"][::2] for tree in (predicted, gold))),
        _items(*([condition[2] for condition in tree["where"][::2]] for tree in (predicted, gold))),
        _items(*([column.rpartition(".")[2] for _, column, _ in tree["groupBy"]] for tree in (predicted, gold))),
        _grouping(predicted, gold),
        _ordering(predicted, gold),
        _connectors(predicted, gold),
        _set_operations(predicted, gold),
        _items(*(sorted(_keywords(tree)) for tree in (predicted, gold))),
    ]
    return dict(zip(COMPONENTS, found, strict=True))


def partial_matching(pairs: Sequence[dict[str, Component]]) -> dict[str, tuple[float, float, float]]:
    """Per component accuracy (of pairs whose prediction has it), recall (of those whose gold has it) and F1, over pairs.

    F1 is the harmonic mean of the two, and 1 where both are 0, as the official script prints it.
    """
    table = {}
    for name in COMPONENTS:
        scores = [pair[name] for pair in pairs]
        accuracy = fmean([score.is_match for score in scores if score.predicted] or [0.0])
        recall = fmean([score.is_match for score in scores if score.gold] or [0.0])
        f1 = 2 * accuracy * recall / (accuracy + recall) if accuracy or recall else 1.0
        table[name] = (accuracy, recall, f1)
    return table


def hardness(gold: Tree) -> str:
    """easy | medium | hard | extra, of a gold's tree as it was read."""
    conditions = [gold["from"]["conds"], gold["where"], gold["having"]]
    each = [condition for part in conditions for condition in part[::2]]
    parts = sum(bool(gold[part]) for part in ("where", "groupBy", "orderBy")) + (gold["limit"] is not None)
    parts += max(len(gold["from"]["table_units"]) - 1, 0)
    parts += sum(connector == "or" for part in conditions for connector in part[1::2])
    parts += sum(operator == _LIKE for _, operator, *_ in each)
    nested = sum(isinstance(value, dict) for condition in each for value in condition[3:])
    nested += sum(gold[operator] is not None for operator in SET_OPERATORS)
    others = (_aggregates(gold) > 1) + sum(
        len(part) > 1 for part in (gold["select"][1], gold["where"], gold["groupBy"])
    )
    if parts <= 1 and others == 0 and nested == 0:
        return "easy"
    if nested == 0 and ((others <= 2 and parts <= 1) or (others < 2 and parts <= 2)):
        return "medium"
    if nested == 0 and ((others > 2 and parts <= 2) or (2 < parts <= 3 and others <= 2)):
        return "hard"
    return "hard" if parts <= 1 and others == 0 and nested <= 1 else "extra"


def spider_ex(
    predicted_rows: Sequence[Sequence] | None, gold_rows: Sequence[Sequence], predicted: Tree, gold: Tree
) -> bool:
    """Spider's old execution accuracy: columns by what was selected, each an ordered list, are the same on both sides.

    predicted_rows: None where the prediction failed. Trees as `comparable` makes them. Row order always counts; an
    aggregate does not tell columns apart and the last of several namesakes counts; of `*` only the first column does.
    """
    if predicted_rows is None:
        return False
    return _by_unit(predicted_rows, predicted) == _by_unit(gold_rows, gold)


@dataclass(frozen=True)
class SpiderPair:
    """A pair's trees as `comparable` makes them, the gold's hardness. fault: why the prediction could not be read."""

    predicted: Tree
    gold: Tree
    hardness: str
    fault: str | None


def read_pair(predicted_sql: str | None, gold_sql: str, names: SpiderNames) -> SpiderPair:
    """Both sides of a pair, read; None and what cannot be read stand as EMPTY. ParseError where gold cannot be read."""
    gold, level = _read_gold(gold_sql, names)
    fault = "no query"
    if predicted_sql is not None:
        try:
            return SpiderPair(comparable(parse_spider(predicted_sql, names), names), gold, level, None)
        except ParseError as error:
            fault = str(error)
    return SpiderPair(comparable(EMPTY, names), gold, level, fault)


@lru_cache(maxsize=4096)
def _read_gold(sql: str, names: SpiderNames) -> tuple[Tree, str]:
    tree = parse_spider(sql, names)
    return comparable(tree, names), hardness(tree)


def _by_unit(rows: Sequence[Sequence], tree: Tree) -> dict[object, list]:
    found: dict[object, list] = {}
    for index, (_, (operator, left, right)) in enumerate(tree["select"][1]):
        found[(operator, left, right) if right else left] = [row[index] for row in rows if index < len(row)]
    return found


def _rewritten(tree: Tree, keys: dict[str, str]) -> Tree:
    """With the outermost query's keys, also in the queries that set operators add."""

    def column(unit: ColumnUnit | None) -> ColumnUnit | None:
        return unit and (unit[0], keys.get(unit[1], unit[1]), None)

    def value_unit(unit: ValueUnit) -> ValueUnit:
        return unit[0], column(unit[1]), column(unit[2])

    def conditions(found: list) -> list:
        return [
            one
            if isinstance(one, str)
            else (one[0], one[1], value_unit(one[2]), _valueless(one[3]), _valueless(one[4]))
            for one in found
        ]

    rewritten = {
        "select": (None, [(aggregate, value_unit(unit)) for aggregate, unit in tree["select"][1]]),
        "from": {"table_units": tree["from"]["table_units"], "conds": conditions(tree["from"]["conds"])},
        "where": conditions(tree["where"]),
        "groupBy": [column(unit) for unit in tree["groupBy"]],
        "having": conditions(tree["having"]),
        "orderBy": tree["orderBy"] and (tree["orderBy"][0], [value_unit(unit) for unit in tree["orderBy"][1]]),
        "limit": tree["limit"],
    }
    return rewritten | {name: tree[name] and _rewritten(tree[name], keys) for name in SET_OPERATORS}


def _valueless(value: object) -> Tree | None:
    """A nested query without the values of its conditions, all else kept; any other value is nothing."""
    if not isinstance(value, dict):
        return None

    def conditions(found: list) -> list:
        return [one if isinstance(one, str) else (*one[:3], _valueless(one[3]), _valueless(one[4])) for one in found]

    parts = {name: conditions(value[name]) for name in ("where", "having")}
    parts["from"] = value["from"] | {"conds": conditions(value["from"]["conds"])}
    return value | parts | {name: _valueless(value[name]) for name in SET_OPERATORS}


def _items(predicted: Sequence, gold: Sequence) -> Component:
    """Two bags of items that must be equal; items may hold trees."""
    left = list(gold)
    for item in predicted:
        if item in left:
            left.remove(item)
    return Component(len(predicted) == len(gold) and not left, len(predicted), len(gold))


def _grouping(predicted: Tree, gold: Tree) -> Component:
    columns = [[column for _, column, _ in tree["groupBy"]] for tree in (predicted, gold)]
    sizes = [int(bool(found)) for found in columns]
    is_same = columns[0] == columns[1] and predicted["having"] == gold["having"]
    return Component(sizes == [0, 0] or (sizes == [1, 1] and is_same), *sizes)


def _ordering(predicted: Tree, gold: Tree) -> Component:
    sizes = [int(bool(tree["orderBy"])) for tree in (predicted, gold)]
    is_same = predicted["orderBy"] == gold["orderBy"] and (predicted["limit"] is None) == (gold["limit"] is None)
    return Component(sizes == [0, 0] or (sizes == [1, 1] and is_same), *sizes)


def _connectors(predicted: Tree, gold: Tree) -> Component:
    found = [set(tree["where"][1::2]) for tree in (predicted, gold)]
    return Component(True, 1, 1) if found[0] == found[1] else Component(False, *map(len, found))


def _set_operations(predicted: Tree, gold: Tree) -> Component:
    sizes = [sum(tree[name] is not None for name in SET_OPERATORS) for tree in (predicted, gold)]
    both = [name for name in SET_OPERATORS if predicted[name] is not None and gold[name] is not None]
    matched = sum(exact_set_match(predicted[name], gold[name]) for name in both)
    return Component(sizes[0] == sizes[1] == matched, *sizes)


def _keywords(tree: Tree) -> set[str]:
    conditions = [tree["from"]["conds"], tree["where"], tree["having"]]
    each = [condition for part in conditions for condition in part[::2]]
    words = {
        "where": tree["where"],
        "group": tree["groupBy"],
        "having": tree["having"],
        "order": tree["orderBy"],
        "limit": tree["limit"] is not None,
        "or": any(connector == "or" for part in conditions for connector in part[1::2]),
        "not": any(is_not for is_not, *_ in each),
        "in": any(operator == _IN for _, operator, *_ in each),
        "like": any(operator == _LIKE for _, operator, *_ in each),
        **{name: tree[name] is not None for name in SET_OPERATORS},
    }
    direction = {tree["orderBy"][0]} if tree["orderBy"] else set()
    return {word for word, is_there in words.items() if is_there} | direction


def _aggregates(tree: Tree) -> int:
    """Whatever has something true where an aggregate's index would stand: NOT in conditions, connectors of HAVING too."""
    keys = [side for unit in (tree["orderBy"][1] if tree["orderBy"] else []) for side in unit[1:] if side]
    units = [*tree["select"][1], *tree["where"][::2], *tree["groupBy"], *keys, *tree["having"]]
    return sum(bool(unit[0]) for unit in units)
