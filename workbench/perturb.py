"""Other instances of a database: the same schema and keys, other rows, from a seed.

In: an SQLite file and its schema (keys that only tables.json states count too). Out: a connection to a copy in memory. A
tenth of the rows is deleted, with what refers to them; a tenth stands there once more under a new key; values that are in
no key are drawn anew from their own column, NULL among them where the column allows it; rows lie in another order. Keys
stay unique and no reference loses what it pointed to. Two queries that mean the same agree on all instances.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from workbench.results import content_hash
from workbench.schema import Schema, open_read_only
from workbench.sqlite_source import fold, quote, read_tables

DELETED, REPEATED, CHANGED, NULLED = 0.1, 0.1, 0.08, 0.02  # shares of rows; of cells outside keys


@dataclass
class _Contents:
    """A table's rows while they change. All columns are by place.

    keys: that must stay unique. references: (places, the table and places they point to). fixed: what others point to.
    never_null: declared NOT NULL, or of the primary key.
    """

    name: str
    columns: list[str]
    rows: list[list[object]]
    keys: list[list[int]]
    references: list[tuple[list[int], str, list[int]]]
    fixed: set[int]
    never_null: set[int]


def perturbed(path: Path, schema: Schema, seed: int) -> sqlite3.Connection:
    """One instance. BenchmarkError for what is no database; the caller closes the connection."""
    draw = Random(content_hash("perturb", seed))
    with closing(open_read_only(path)) as source:
        contents = _read(source, schema)
        statements = source.execute("SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql <> ''")
        statements = [text for (text,) in statements if "sqlite_" not in text.lower()]
    _delete(contents, draw)
    for table in contents.values():
        _change(table, contents, draw)
        _repeat(table, contents, draw)
        draw.shuffle(table.rows)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
    for statement in statements:
        connection.execute(statement)
    connection.execute("BEGIN")
    for table in contents.values():
        names = ", ".join(map(quote, table.columns))
        marks = ", ".join("?" * len(table.columns))
        connection.executemany(f"INSERT INTO {quote(table.name)} ({names}) VALUES ({marks})", table.rows)
    connection.execute("COMMIT")
    return connection


def _read(source: sqlite3.Connection, schema: Schema) -> dict[str, _Contents]:
    found: dict[str, _Contents] = {}
    for table in read_tables(source)[0]:
        columns = [one.name for one in table.columns if not one.is_generated]
        rows = source.execute(f"SELECT {', '.join(map(quote, columns))} FROM {quote(table.name)}").fetchall()
        stated = schema.table(table.name)
        keys = [_places(columns, key) for key in {*table.unique_keys, table.primary_key, stated.primary_key} if key]
        keys = sorted(key for key in keys if key and _is_unique(rows, key))
        never_null = {
            place for place, name in enumerate(columns) if any(c.name == name and c.is_not_null for c in table.columns)
        }
        never_null |= set(_places(columns, table.primary_key) or ())
        found[fold(table.name)] = _Contents(
            table.name, columns, [list(row) for row in rows], keys, [], set(), never_null
        )
    for table in schema.tables:
        for key in table.foreign_keys:
            ours, theirs = found.get(fold(table.name)), found.get(fold(key.target_table))
            if ours is None or theirs is None:
                continue
            here, there = _places(ours.columns, key.columns), _places(theirs.columns, key.target_columns)
            if here and there:
                ours.references.append((here, fold(key.target_table), there))
                theirs.fixed.update(there)
    return found


def _places(columns: list[str], names: tuple[str, ...]) -> list[int] | None:
    spelled = [fold(one) for one in columns]
    wanted = [fold(one) for one in names]
    return [spelled.index(one) for one in wanted] if set(wanted) <= set(spelled) else None


def _is_unique(rows: list[tuple], key: list[int]) -> bool:
    """tables.json calls keys what the rows do not keep."""
    values = [tuple(row[place] for place in key) for row in rows]
    return len(set(values)) == len(values)


def _delete(contents: dict[str, _Contents], draw: Random) -> None:
    """Some rows of every table; what refers to one of them refers to another, or goes too where that is in a key."""
    references = [(table, *one) for table in contents.values() for one in table.references]
    before = [_values(contents[target].rows, there) for _, _, target, there in references]
    for table in contents.values():
        if len(table.rows) > 2:
            table.rows = [row for row in table.rows if draw.random() >= DELETED]
    is_settled = False
    while not is_settled:
        is_settled = True
        for (table, here, target, there), held in zip(references, before, strict=True):
            left = _values(contents[target].rows, there)
            pool = sorted(left, key=repr)
            may_change = pool and not table.fixed.union(*table.keys) & set(here)
            kept = []
            for row in table.rows:
                value = tuple(_plain(row[place]) for place in here)
                if value in held and value not in left:
                    is_settled = False
                    if not may_change:
                        continue
                    for place, new in zip(here, draw.choice(pool), strict=True):
                        row[place] = new
                kept.append(row)
            table.rows = kept


def _values(rows: list[list[object]], places: list[int]) -> set[tuple]:
    return {tuple(_plain(row[place]) for place in places) for row in rows}


def _plain(value: object) -> object:
    """A number that is written as a text as that number: a reference may have another type than its target."""
    return int(value) if isinstance(value, str) and value.isdecimal() and str(int(value)) == value else value


def _change(table: _Contents, contents: dict[str, _Contents], draw: Random) -> None:
    """Cells drawn anew from their column; a reference's from what it may point to."""
    in_keys = table.fixed.union(*table.keys)
    referring = {place for here, _, _ in table.references for place in here}
    for here, target, there in table.references:
        if in_keys & set(here):
            continue
        values = sorted(_values(contents[target].rows, there), key=repr)
        for row in table.rows:
            if values and draw.random() < CHANGED and all(row[place] is not None for place in here):
                for place, value in zip(here, draw.choice(values), strict=True):
                    row[place] = value
    for place in range(len(table.columns)):
        if place in in_keys or place in referring:
            continue
        pool = [row[place] for row in table.rows]
        for row in table.rows:
            chance = draw.random()
            if chance < NULLED and place not in table.never_null:
                row[place] = None
            elif chance < CHANGED:
                row[place] = draw.choice(pool)


def _repeat(table: _Contents, contents: dict[str, _Contents], draw: Random) -> None:
    """Some rows once more, with a new value in the first column of each key, and where that refers, one it may point to."""
    held = [_values(table.rows, key) for key in table.keys]
    pools = {
        place: sorted(_values(contents[target].rows, there), key=repr)
        for here, target, there in table.references
        if len(here) == 1
        for place in here
    }
    referring = {place for here, _, _ in table.references for place in here}
    for row in draw.sample(table.rows, round(REPEATED * len(table.rows)) or min(len(table.rows), 1)):
        new = list(row)
        for key in table.keys:
            free = [place for place in key if place not in referring]
            place = free[0] if free else draw.choice([one for one in key if one in pools] or [None])
            if place is None:
                continue
            if free:
                new[place] = _new_value([other[place] for other in table.rows], draw)
            elif pools[place]:
                (new[place],) = draw.choice(pools[place])
        values = [tuple(_plain(new[place]) for place in key) for key in table.keys]
        if not any(value in known for value, known in zip(values, held, strict=True)):
            table.rows.append(new)
            for value, known in zip(values, held, strict=True):
                known.add(value)


def _new_value(values: list[object], draw: Random) -> object:
    """A value like the others that none of them is: a greater number, a longer text."""
    numbers = [one for one in values if isinstance(one, int | float)]
    if numbers:
        return int(max(numbers)) + 1
    return f"{draw.choice(values)}-{len(values)}"
