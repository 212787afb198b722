"""Values that marshal does not know, on their way between a worker and its parent; standard library only.

In: rows of a driver's Python values. Out: rows that marshal can carry, in which each value of another kind is a tuple
(letter, content); and back. A plain tuple is therefore packed too. A kind that is not listed travels as its text.
Also how much values weigh, and how deep they may be: asked of every result before more is done with it. What walks
through values takes `look`, called often: it raises Late when the clock is over, since one value may be a long walk.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")
Look = Callable[[], None]
PIECE = 10_000  # items of a list between two looks: some milliseconds
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
}
LETTERS = {letter: value for letter, _, value in KINDS.values()}
# the same of containers: (letter, their items, value of the items)
CONTAINERS = {
    list: ("l", list, list),
    tuple: ("p", list, tuple),
    dict: ("m", lambda v: list(chain.from_iterable(v.items())), lambda c: dict(zip(c[::2], c[1::2], strict=True))),
}
CONTAINER_LETTERS = {letter: value for letter, _, value in CONTAINERS.values()}


class Late(Exception):
    """The clock is over."""


def patient() -> None:
    """A look at no clock."""


def pieces(items: Sequence[T], look: Look) -> Iterator[Sequence[T]]:
    """The items in order, some at a time, with a look before each time."""
    for start in range(0, len(items), PIECE):
        look()
        yield items[start : start + PIECE]


def pack(value: object) -> object:
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in CONTAINERS:
        letter, items, _ = CONTAINERS[kind]
        return letter, [item if type(item) in PLAIN else pack(item) for item in items(value)]
    if kind not in KINDS:
        return str(value)
    letter, content, _ = KINDS[kind]
    return letter, content(value)


def unpack(value: object, look: Look = patient) -> object:
    if type(value) is not tuple:
        return value
    letter, content = value
    if letter not in CONTAINER_LETTERS:
        return LETTERS[letter](content)
    items = []
    for piece in pieces(content, look):
        items += [unpack(item, look) if type(item) is tuple else item for item in piece]
    return CONTAINER_LETTERS[letter](items)


def pack_rows(rows: Iterable[tuple]) -> tuple[list[tuple], bool]:
    """The rows, and whether any value in them is packed."""
    rows = list(rows)
    if PLAIN.issuperset(map(type, chain.from_iterable(rows))):
        return rows, False
    return [tuple([value if type(value) in PLAIN else pack(value) for value in row]) for row in rows], True


def unpack_rows(rows: list[tuple], look: Look = patient) -> list[tuple]:
    """The inverse of `pack_rows` for rows that are packed."""
    return [tuple([unpack(value, look) if type(value) is tuple else value for value in row]) for row in rows]


class UnfitValue(Exception):
    """A result holds a value that cannot be taken over. status: of the statement's outcome; str(error): why."""

    def __init__(self, status: str, message: str):
        self.status = status
        super().__init__(message)


def unfit(error: Exception) -> UnfitValue | Late:
    """What an exception means that came up while values were made of what an engine has sent."""
    if isinstance(error, (UnfitValue, Late)):
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
    statement can reach with any of an engine's types. Nothing else is called through here. UnfitValue, and Late of a look.
    """
    try:
        return read(*arguments)
    except Exception as error:  # each driver has its own, and plain ones
        raise unfit(error) from error


def size(rows: Iterable[tuple], look: Look = patient) -> int:
    """Bytes of the values; a number, and any other kind, counts 8, a list or dict what it takes in memory.

    RecursionError for one nested more than DEEPEST deep.
    """
    return _sizes(chain.from_iterable(rows), look, 0)


def _sizes(values: Iterable, look: Look, depth: int) -> int:
    """Depth: of the containers around the values."""
    total = 0
    for value in values:
        kind = type(value)
        if kind is str or kind is bytes:
            total += len(value)
        elif kind is int and not -LONG < value < LONG:
            total += value.bit_length() // 8
        elif kind not in CONTAINERS:
            total += 8
        elif depth == DEEPEST:
            raise RecursionError
        else:
            parts = CONTAINERS[kind][1](value)
            total += CONTAINER + PLACE * len(parts)
            for piece in pieces(parts, look):
                total += _sizes(piece, look, depth + 1)
    return total
