"""Values that marshal does not know, on their way between a worker and its parent; standard library only.

In: rows of a driver's Python values. Out: rows that marshal can carry, in which each value of another kind is a tuple
(letter, content); and back. A plain tuple is therefore packed too. A kind that is not listed travels as its text.
Also how much values weigh, and how deep they may be: asked of every result before more is done with it.
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")
DEEPEST = 100  # lists in lists; no dialect's ordinary query comes near it, and Python's own recursion has room
UNFIT = ("too_large", "runtime_error", "refused")  # what a result can be, its values looked at
TOO_DEEP = f"a value is nested more than {DEEPEST} deep"
CONTAINER, PLACE = 64, 8  # bytes that a list or dict takes, and each item in it
LONG = 2**63
LONGEST_MESSAGE = 5_000  # characters of an engine's words, which may quote a value of any length
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


def unpack_rows(rows: list[tuple]) -> list[tuple]:
    """The inverse of `pack_rows` for rows that are packed."""
    return [tuple(map(unpack, row)) for row in rows]


class UnfitValue(Exception):
    """A result holds a value that cannot be taken over. status: of the statement's outcome; str(error): why."""

    def __init__(self, status: str, message: str):
        self.status = status
        super().__init__(message)


def unfit(error: Exception) -> UnfitValue:
    """What an exception means that came up while values were made of what an engine has sent."""
    if isinstance(error, UnfitValue):
        return error
    if isinstance(error, MemoryError):
        return UnfitValue("too_large", "out of memory")
    if isinstance(error, RecursionError):
        return UnfitValue("too_large", TOO_DEEP)
    words = f"{type(error).__name__}: {str(error)[:200]}"
    return UnfitValue("runtime_error", f"a value of the result cannot be read ({words})")


def take_over(read: Callable[..., T], *arguments: object) -> T:
    """read(*arguments), which makes values of what an engine has sent: whatever it raises is the statement's outcome.

    Drivers and Python have limits of their own (digits of a number, nesting, bytes that are no UTF-8), which a
    statement can reach with any of an engine's types. Nothing else is called through here. UnfitValue.
    """
    try:
        return read(*arguments)
    except Exception as error:  # each driver has its own, and plain ones
        raise unfit(error) from error


def size(rows: Iterable[tuple]) -> int:
    """Bytes of the values; a number, and any other kind, counts 8, a list or dict what it takes in memory.

    RecursionError for one nested more than DEEPEST deep.
    """
    return sum(_size(value) for row in rows for value in row)


def _size(value: object, depth: int = 0) -> int:
    kind = type(value)
    if kind in (str, bytes):
        return len(value)
    if kind is int:
        return 8 if -LONG < value < LONG else value.bit_length() // 8
    if kind not in (list, tuple, dict):
        return 8
    if depth == DEEPEST:
        raise RecursionError
    parts = chain.from_iterable(value.items()) if kind is dict else value
    return CONTAINER + sum(PLACE + _size(part, depth + 1) for part in parts)
