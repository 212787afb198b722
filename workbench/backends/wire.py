"""Values that marshal does not know, on their way between a worker and its parent; standard library only.

In: rows of a driver's Python values. Out: rows that marshal can carry, in which each value of another kind is a tuple
(letter, content); and back. A plain tuple is therefore packed too. A kind that is not listed travels as its text.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

PLAIN = {int, float, str, bytes, bool, type(None)}
# kind: (letter, content of a value, value of a content)
KINDS = {
    Decimal: ("d", str, Decimal),
    date: ("D", date.isoformat, date.fromisoformat),
    datetime: ("T", datetime.isoformat, datetime.fromisoformat),
    time: ("H", time.isoformat, time.fromisoformat),
    timedelta: ("L", lambda v: [v.days, v.seconds, v.microseconds], lambda c: timedelta(*c)),
    UUID: ("u", str, UUID),
    list: ("l", lambda v: [pack(item) for item in v], lambda c: [unpack(item) for item in c]),
    tuple: ("p", lambda v: [pack(item) for item in v], lambda c: tuple(unpack(item) for item in c)),
    dict: ("m", lambda v: [(pack(k), pack(i)) for k, i in v.items()], lambda c: {unpack(k): unpack(i) for k, i in c}),
}
LETTERS = {letter: value for letter, _, value in KINDS.values()}


def pack(value: object) -> object:
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind not in KINDS:
        return str(value)
    letter, content, _ = KINDS[kind]
    return letter, content(value)


def unpack(value: object) -> object:
    if type(value) is not tuple:
        return value
    letter, content = value
    return LETTERS[letter](content)


def pack_rows(rows: Iterable[tuple]) -> tuple[list[tuple], bool]:
    """The rows, and whether any value in them is packed."""
    rows = list(rows)
    if all(type(value) in PLAIN for row in rows for value in row):
        return rows, False
    return [tuple(map(pack, row)) for row in rows], True


def size(rows: Iterable[tuple]) -> int:
    """Bytes of the values; a number, and any other kind, counts 8."""
    return sum(_size(value) for row in rows for value in row)


def _size(value: object) -> int:
    if type(value) in (str, bytes):
        return len(value)
    if type(value) in (list, tuple):
        return 8 + sum(map(_size, value))
    if type(value) is dict:
        return 8 + sum(_size(k) + _size(v) for k, v in value.items())
    return 8
