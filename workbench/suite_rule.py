"""The test-suite execution rule: a prediction is right if its result is gold's on every instance of the database.

In: gold's text, the results of both on each instance. Out: one verdict. Rule: taoyds/test-suite-sql-eval, exec_eval.py.
Not here: plugging gold's values into predictions. The official search drops column orders by sampled rows when there are
more than three; this one by whole columns, which changes no verdict.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from workbench.metrics import hashable_rows

Rows = Sequence[Sequence]

# Quoted parts and comments (first group) are passed over, so that the rest is found outside them only.
_PARTS = re.compile(
    r"""(?is)('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/)|\bdistinct\b|;""",
)


def suite_statement(sql: str, *, is_prediction: bool = False, keeps_distinct: bool = False) -> str:
    """The statement that the rule runs in place of a text: the first one, without DISTINCT.

    Operators that were torn (`> =`) are joined, YEAR(CURDATE()) is 2020. Of a prediction every "value", wherever it
    stands, is "1": the official script's doing, which breaks columns of that name.
    """
    if is_prediction:
        sql = sql.replace("value", "1")
    for operator in (">", "<", "!"):
        sql = sql.replace(f"{operator} =", f"{operator}=")
    sql = re.sub(r"(?i)YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", "2020", sql)
    if keeps_distinct:
        return sql
    kept, last = [], 0
    for part in _PARTS.finditer(sql):
        if part[1]:
            continue
        kept.append(sql[last : part.start()])
        last = part.end()
        if part[0] == ";":
            return "".join(kept)
    return "".join(kept) + sql[last:]


def is_order_judged(gold_sql: str) -> bool:
    """Whether the order of rows counts: gold's text holds "order by", be it in a subquery or a value."""
    return "order by" in gold_sql.lower()


def suite_match(results: Iterable[tuple[Rows | None, Rows]], gold_sql: str) -> bool:
    """Whether prediction and gold agree on every instance.

    results: (predicted rows, None where it failed; gold's rows) of each instance. A gold that fails has no verdict: the
    official script stops there, so it must not be asked.
    """
    is_ordered = is_order_judged(gold_sql)
    return all(predicted is not None and same_result(predicted, gold, is_ordered) for predicted, gold in results)


def same_result(predicted: Rows, gold: Rows, is_ordered: bool) -> bool:
    """Whether some order of columns makes two results equal, as lists if ordered, else as bags of rows.

    Values are equal where Python says so. Rows whose values, sorted by their text and type, differ are refused first:
    so 1 beside 10 is not 1.0 beside 10, since "1.0" sorts before "10" and "1<" behind it.
    """
    predicted, gold = hashable_rows(predicted), hashable_rows(gold)
    if not predicted and not gold:
        return True
    if len(predicted) != len(gold) or len(predicted[0]) != len(gold[0]):
        return False
    sorted_rows = [[_sorted(row) for row in rows] for rows in (gold, predicted)]
    if sorted_rows[0] != sorted_rows[1] if is_ordered else set(sorted_rows[0]) != set(sorted_rows[1]):
        return False
    ours, theirs = list(zip(*predicted, strict=True)), list(zip(*gold, strict=True))
    if is_ordered:
        return Counter(ours) == Counter(theirs)
    return _can_be_aligned(ours, theirs, [])


def _sorted(row: tuple) -> tuple:
    return tuple(sorted(row, key=lambda value: str(value) + str(type(value))))


def _can_be_aligned(ours: list[tuple], theirs: list[tuple], chosen: list[int]) -> bool:
    """Whether the columns chosen so far can be continued to an order that makes both bags of rows the same."""
    if len(chosen) == len(theirs):
        return True
    tried = set()
    for i, column in enumerate(ours):
        if i in chosen or column in tried:
            continue
        tried.add(column)  # its copies would fare no better
        prefix = [*chosen, i]
        if _bag(ours[j] for j in prefix) == _bag(theirs[: len(prefix)]) and _can_be_aligned(ours, theirs, prefix):
            return True
    return False


def _bag(columns: Iterable[tuple]) -> Counter:
    return Counter(zip(*columns, strict=True))
