"""Says in what a copy differs from the file, with nothing of the workbench: Python's own SQLite on one side, rows on the other.

A copy is exact if every table and column has its name, and every column the same values in its kind (integer, real,
text), row by row, doubles by their bits. In: database.py's file, and a copy's tables. Out: one line per difference.
"""

import re
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

from database import BECOMES, EMPTY, TABLES

CONVERT = {"integer": int, "real": float, "text": str}


def differences(path: Path, names: Collection[str], read: Callable[[str], tuple[list[str], list[tuple]]]) -> list[str]:
    """names: the copy's tables. read(name): the columns and rows of one of them, as its driver gives them."""
    found = []
    with closing(sqlite3.connect(path)) as source:
        for table in [*TABLES, EMPTY]:
            name = _like(table, names)
            if name is None:
                found.append(f"{table} is missing")
                continue
            if name != table:
                found.append(f"{table} is named {name}")
            found += _compare(source, table, *read(name))
    ours = {_like(table, names) for table in [*TABLES, EMPTY]}
    return found + [f"{name} is new" for name in names if name not in ours]


def _compare(source: sqlite3.Connection, table: str, columns: list[str], rows: list[tuple]) -> list[str]:
    found, ours, theirs = [], [], []
    places = dict(zip(columns, zip(*rows, strict=True) if rows else [[]] * len(columns), strict=True))
    cursor = source.execute(f'SELECT * FROM "{table}"')
    names = [field[0] for field in cursor.description]
    stored = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(names)
    for name, values in zip(names, stored, strict=True):
        place = _like(name, columns)
        if place is None:
            found.append(f"{table}.{name} is missing")
            continue
        if place != name:
            found.append(f"{table}.{name} is named {place}")
        convert = CONVERT[BECOMES[TABLES[table][name][1]]] if table in TABLES else str
        ours.append([None if value is None else _bits(convert(value)) for value in values])
        copied = places.pop(place)
        theirs.append(list(map(_bits, copied)))
        kinds = sorted({type(value).__name__ for value in copied if value is not None})
        if len(ours[-1]) != len(theirs[-1]):
            found.append(f"{table}.{name}: {len(theirs[-1])} rows instead of {len(ours[-1])}")
        elif missing := (Counter(ours[-1]) - Counter(theirs[-1])).total():
            found.append(f"{table}.{name}: {missing} values differ, now {', '.join(kinds)}")
    found += [f"{table}.{name} is new" for name in places]
    if not found and Counter(zip(*ours, strict=True)) != Counter(zip(*theirs, strict=True)):
        found.append(f"{table}: values are in other rows")
    return found


def _like(name: str, names: Collection[str]) -> str | None:
    """The name itself, or else one that has the same letters."""
    if name in names:
        return name
    letters = {re.sub("[^a-z0-9]", "", other.lower()): other for other in names}
    return letters.get(re.sub("[^a-z0-9]", "", name.lower()))


def _bits(value: object) -> object:
    """The value, equal only to one of its own type; a double by its bits, so that -0.0 is not 0.0."""
    if type(value) is float:
        return struct.pack("<d", value)
    return value if type(value) in (int, str, type(None)) else (type(value).__name__, repr(value))
