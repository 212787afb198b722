"""One spelling for values that engines return as different Python types: the table of cross-engine differences.

In: a value as a driver gives it. Out: the same value as None, int, float, str, bytes,
or a tuple or set of these. What the
table does not name stays as it is: text is never read as a number, NULL never as zero or an empty text.
"""

import datetime
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from uuid import UUID

MAX_EXACT_INTEGER_DIGITS = 38  # SQL's widest integers and decimals; beyond, a Decimal becomes a float


def normalise(rows: Iterable[Sequence]) -> list[tuple]:
    """Rows in the forms of FORMS. Only for pairs of two engines: BIRD's rule compares the raw values of one."""
    return [tuple(map(normal, row)) for row in rows]


def normal(value: object) -> object:
    """One value in its form."""
    kind = type(value)
    if kind not in _KNOWN:
        _KNOWN[kind] = next((FORMS[base][0] for base in kind.__mro__ if base in FORMS), None) or _of_other(value)
    form = _KNOWN[kind]
    return form(value) if form is not None else value


def _number(value: Decimal) -> int | float | Decimal:
    if value.is_nan():
        return math.nan
    is_whole = value.is_finite() and value.adjusted() < MAX_EXACT_INTEGER_DIGITS
    if is_whole and value == value.to_integral_value():
        return int(value)
    # a number beyond a float's range stays itself: as infinity it would equal every other such number
    return value if value.is_finite() and math.isinf(float(value)) else float(value)


def _span(value: datetime.timedelta) -> str:
    sign, span = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    minutes, seconds = divmod(span.days * 86_400 + span.seconds, 60)
    fraction = f".{span.microseconds:06d}" if span.microseconds else ""
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{fraction}"


def _array(value: Sequence) -> tuple:
    return tuple(map(normal, value))


def _map(value: dict) -> frozenset:
    return frozenset((normal(key), normal(item)) for key, item in value.items())


# type -> (its form, why engines differ there)
FORMS: dict[type, tuple[Callable, str]] = {
    bool: (int, "SQLite and MySQL have no truth values and give 0 and 1; PostgreSQL and DuckDB give true and false"),
    Decimal: (
        _number,
        "PostgreSQL's numeric, MySQL's SUM and AVG, DuckDB's HUGEINT; SQLite has integers and reals only",
    ),
    datetime.datetime: (lambda v: v.isoformat(sep=" "), "SQLite's DATETIME() gives text '2020-01-31 23:59:00'"),
    datetime.date: (lambda v: v.isoformat(), "SQLite's DATE() gives text '2020-01-31'"),
    datetime.time: (lambda v: v.isoformat(), "SQLite's TIME() gives text '23:59:00'"),
    datetime.timedelta: (_span, "MySQL's TIME comes as a span, and may be negative or over a day"),
    UUID: (str, "SQLite, MySQL keep it as text"),
    bytearray: (bytes, "drivers give blobs as bytes, bytearray or memoryview"),
    memoryview: (bytes, "drivers give blobs as bytes, bytearray or memoryview"),
    list: (_array, "arrays of PostgreSQL, DuckDB and ClickHouse come as lists or tuples"),
    dict: (_map, "maps of DuckDB and ClickHouse have no order"),
    tuple: (_array, "arrays of PostgreSQL, DuckDB and ClickHouse come as lists or tuples"),
}
_KNOWN: dict[type, Callable | None] = {}  # type -> form, also of subclasses


def _of_other(value: object) -> Callable | None:
    """numpy's scalars, which tables made by hand may hold, become Python's."""
    return (lambda v: normal(v.item())) if type(value).__module__ == "numpy" and hasattr(value, "item") else None
