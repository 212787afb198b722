"""Whether a result is gold's answer, said twice over: by a strict rule that only the same answer passes, and by a lenient
one that everything passes that could be called right. A rewrite has to pass the first, an edit has to fail the second.

Independent of DF-Match, which is what is measured with it. In: an SQLite connection, gold's SQL and class. Out: a
`GoldAnswer`, and `is_same` / `is_wrong` of other rows. What counts is in the plans paper, section 4.2, and appendix G:
column order and more columns never do; row order does where the question is ordered, up to ties of gold's sort keys; where
a LIMIT cuts ties, any of the tied rows may stand there. Where the two queries differ in DISTINCT, GROUP BY or set
operations, repeated rows do not count for the lenient rule; nor do rows more than gold's where the count is not fixed.
"""

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from itertools import product

from sqlglot import exp

from workbench.errors import WorkbenchError
from workbench.mutation_names import read_query, text_form
from workbench.plan_roundtrip import order_keys
from workbench.plan_to_sql import plan_to_sql
from workbench.same_rows import value_key
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

MAX_ROWS = 20_000  # of a result: an edit that multiplies tables is passed over
MAX_MAPPINGS = 5_000  # of gold's columns to others that are tried
LENIENT_DIGITS = 8  # numbers that agree so far are not called different
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
Rows = list[tuple]


@dataclass(frozen=True)
class GoldAnswer:
    """rows: gold's result. groups: of an ordered gold without its LIMIT, all rows of each tie group in order, else None.

    is_ordered, is_row_count_fixed: the pair's class. shape: what the two queries have to share for repeated rows to count.
    """

    rows: Rows
    is_ordered: bool
    is_row_count_fixed: bool
    shape: tuple
    groups: list[Rows] | None = None
    start: int = 0  # how many rows an OFFSET skips
    _known: dict = field(default_factory=dict, repr=False, compare=False)


def run(connection: sqlite3.Connection, sql: str, seconds: float = 1.0) -> Rows | None:
    """All rows, or None for an error, too many rows or too much time. The statement must have passed a gate or be ours."""
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        rows = connection.execute(sql).fetchmany(MAX_ROWS + 1)
    except (sqlite3.Error, OverflowError):
        return None
    finally:
        connection.set_progress_handler(None, 0)
    return rows if len(rows) <= MAX_ROWS else None


def class_of(tree: exp.Query) -> tuple[bool, bool]:
    """(is_ordered, is_row_count_fixed) as far as a query itself tells: an ORDER BY at its end, a LIMIT over 1 there."""
    limit = tree.args.get("limit")
    is_ordered = tree.args.get("order") is not None
    count = limit.expression if limit is not None else None
    return is_ordered, is_ordered and count is not None and not (count.is_int and int(count.this) == 1)


def shape_of(tree: exp.Query) -> tuple:
    """What decides how often rows stand: DISTINCT, GROUP BY and set operations, as they are written."""
    kinds = (exp.Distinct, exp.Group, exp.SetOperation)
    return tuple(
        sorted(one.key if not isinstance(one, exp.Group) else one.sql("sqlite") for one in tree.find_all(*kinds))
    )


def gold_answer(
    connection: sqlite3.Connection,
    sql: str,
    schema: Schema,
    is_ordered: bool | None = None,
    is_fixed: bool | None = None,
) -> GoldAnswer | None:
    """What gold answers on one instance; None where it fails or its order cannot be told."""
    try:
        tree = read_query(sql, schema)
        own_order, own_fixed = class_of(tree)
        is_ordered = own_order if is_ordered is None else is_ordered
        is_fixed = own_fixed if is_fixed is None else is_fixed
        rows = run(connection, sql)
        if rows is None:
            return None
        answer = GoldAnswer(rows, is_ordered, is_fixed, shape_of(tree))
        if not own_order:
            return answer
        whole = tree.copy()
        offset = whole.args.get("offset")
        whole.set("limit", None)
        whole.set("offset", None)
        whole = text_form(whole)
        plan = sql_to_plan(whole, schema)
        keyed = order_keys(plan)
        if keyed is None:
            return None
        all_rows = run(connection, whole)
        keys = run(connection, plan_to_sql(keyed))
    except WorkbenchError:
        return None
    if all_rows is None or keys is None or len(keys) != len(all_rows):
        return None
    groups: list[Rows] = []
    last = None
    collations = tuple(one.collation for one in keyed.fields)
    for row, key in zip(all_rows, keys, strict=True):
        key = tuple(_folded(value, collation) for value, collation in zip(key, collations, strict=True))
        if key != last:
            groups.append([])
        groups[-1].append(row)
        last = key
    start = int(offset.expression.this) if offset is not None and offset.expression.is_int else 0
    answer = replace(answer, groups=groups, start=start)
    return answer if is_same(answer, rows) else None


def is_same(gold: GoldAnswer, rows: Rows | None) -> bool:
    """Whether the rows are gold's answer by the strict rule."""
    return rows is not None and bool(_accepts(gold, rows, strict=True, tolerates=False))


def is_wrong(gold: GoldAnswer, rows: Rows | None, shape: tuple) -> bool:
    """Whether the rows are not gold's answer, however leniently it is read; False where that cannot be told."""
    return rows is not None and _accepts(gold, rows, strict=False, tolerates=shape != gold.shape) is False


def _accepts(gold: GoldAnswer, rows: Rows, strict: bool, tolerates: bool) -> bool | None:
    """None: more ways to map the columns than are tried."""
    if not gold.rows:
        return not rows or (not strict and gold.is_ordered and not gold.is_row_count_fixed)
    if not rows:
        return False
    wanted = _keyed(gold, strict)
    found = _keys(rows, strict)
    width = len(gold.rows[0])
    is_set = not gold.is_ordered and gold.groups is None
    choices = [_candidates(wanted["rows"], found, place, is_set) for place in range(width)]
    tried = 0
    for mapping in product(*choices):
        if strict and len(set(mapping)) < width:
            continue
        tried += 1
        if tried > MAX_MAPPINGS:
            return None
        shown = [tuple(row[place] for place in mapping) for row in found]
        if _matches(gold, wanted, shown, strict, tolerates):
            return True
    return False


def _candidates(gold: Rows, found: Rows, place: int, is_set: bool) -> list[int]:
    """Columns that may be gold's: where all rows count, those with its values; its own place first."""
    width = len(found[0])
    values = {row[place] for row in gold}
    places = sorted(range(width), key=lambda one: one != place)
    return [one for one in places if not is_set or {row[one] for row in found} == values]


def _matches(gold: GoldAnswer, wanted: dict, shown: Rows, strict: bool, tolerates: bool) -> bool:
    rows = wanted["rows"]
    if wanted["groups"] is None:
        if tolerates:
            return set(shown) == set(rows)
        return Counter(shown) == Counter(rows)
    if gold.is_ordered:
        if _in_order(gold, wanted["groups"], shown, len(rows), strict):
            return True
        if not tolerates:
            return False
        groups = [list(dict.fromkeys(group)) for group in wanted["groups"]]
        distinct = len(dict.fromkeys(rows))
        return _in_order(gold, groups, list(dict.fromkeys(shown)), distinct, strict)
    parts, open_rows = _cut(wanted["groups"], gold.start, len(rows))
    sure = Counter(row for part in parts for row in part)
    if tolerates:
        return set(sure) <= set(shown) <= set(sure) | set(open_rows)
    rest = Counter(shown) - sure
    return len(shown) == len(rows) and not sure - Counter(shown) and not rest - Counter(open_rows)


def _in_order(gold: GoldAnswer, groups: list[Rows], shown: Rows, count: int, strict: bool) -> bool:
    """Each tie group's rows at its places; rows at a cut are any of their group."""
    is_prefix = not strict and not gold.is_row_count_fixed
    if len(shown) < count or (len(shown) > count and not is_prefix):
        return False
    skipped = gold.start
    place = 0
    for group in groups:
        if skipped >= len(group):
            skipped -= len(group)
            continue
        length = min(len(group) - skipped, count - place)
        skipped = 0
        if length <= 0:
            break
        if Counter(shown[place : place + length]) - Counter(group):
            return False
        place += length
    return place == count


def _cut(groups: list[Rows], start: int, count: int) -> tuple[list[Rows], Rows]:
    """(groups that are in the answer as a whole, rows of groups that a LIMIT or OFFSET cuts)."""
    whole, parts, place = [], [], 0
    for group in groups:
        first, last = place, place + len(group)
        place = last
        if last <= start or first >= start + count:
            continue
        if first >= start and last <= start + count:
            whole.append(group)
        else:
            parts += group
    return whole, parts


def _keyed(gold: GoldAnswer, strict: bool) -> dict:
    """Gold's rows and groups with values that can be compared."""
    if strict not in gold._known:
        groups = [_keys(group, strict) for group in gold.groups] if gold.groups is not None else None
        gold._known[strict] = {"rows": _keys(gold.rows, strict), "groups": groups}
    return gold._known[strict]


def _keys(rows: Rows, strict: bool) -> Rows:
    return [tuple(_key(value, strict) for value in row) for row in rows]


def _key(value: object, strict: bool) -> Hashable:
    """Strict: see same_rows.value_key. Lenient: numbers to eight digits, a text that is a number as that number."""
    if not strict:
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = float(value)
        if isinstance(value, int | float):
            return ("n", f"{float(value):.{LENIENT_DIGITS}g}")
    return value_key(value)


def _folded(value: object, collation: str | None) -> Hashable:
    if isinstance(value, str) and collation == "nocase":
        value = value.lower()
    return value_key(value.rstrip(" ") if isinstance(value, str) and collation == "rtrim" else value)
