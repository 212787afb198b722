"""Random small SQLite databases for the plan fuzzing: every affinity, odd names, NULLs, ties, mixed kinds, empty tables.

In: a seed. Out: a `Database`: the file, its schema as plans for typed engines want it, and a role for each column: what
its values are, which is finer than their type (a text that is a date, a numeric column that holds integers and reals).
Reals are multiples of 1/8, so that their sums are exact in any order. In an INTEGER column numbers may stand beside
texts: such columns ("mixed") are texts in engines with typed columns and must only be read as numbers.
"""

import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from workbench.schema import Schema

TEXTS = (
    "a", "b", "A", "ab", "aB", "", " a ", "12", "012", "1.5", "-3", "3x", "x9", "a_b", "5%", "it's", "Äb", "äb", "日本",
    "zz", "b ", "10", "2", "0", "1e2", ".5", "true",
)  # fmt: skip
DATES = ("2019-12-31", "2020-02-29", "2020-03-01", "2021-01-15", "2021-01-31", "1999-07-04")
MOMENTS = ("2020-02-29 23:59:59", "2020-03-01 00:00:00", "2021-01-15 12:30:45", "2019-12-31 06:00:01", "2020-01-05")
INTEGERS = (0, 1, 2, 3, 1, 2, -1, 5, 7, 40, -12)
REALS = (0.0, 1.0, 0.5, 2.5, -1.25, 3.0, 100.125, 2.5, 7.0)
BLOBS = (b"", b"a", b"\x00\xff", b"ab", b"12")

# declared type, role, what may be stored besides NULL
KINDS = (
    ("INTEGER", "integer", INTEGERS),
    ("INT", "integer", INTEGERS),
    ("REAL", "real", REALS),
    ("TEXT", "text", TEXTS),
    ("VARCHAR(20)", "text", TEXTS[:14]),
    ("DATE", "date", DATES),
    ("DATETIME", "date", MOMENTS),
    ("DECIMAL(6,2)", "number", (*REALS, *INTEGERS)),
    ("BOOLEAN", "integer", (0, 1)),
    ("INTEGER", "mixed", (*INTEGERS, "a", "x9", "12x")),
    ("", "integer", INTEGERS),
    ("", "text", TEXTS),
    ("BLOB", "blob", BLOBS),
    ("FLOAT", "real", REALS),
    ("TEXT", "digits", ("1", "2", "12", "3", "0", "-7")),
)
NAMES = ("n", "name", "City", "kind", "Val", "k2", "total_x", "flag")
ODD_NAMES = (
    "order",
    "two words",
    "x.y",
    "Größe",
    "it's",
    'a"b',
    "100%",
    "select",
    "a-b",
    "rank",
    "Group",
    "1st",
    "`t`",
)
TABLES = ("t", "Emp", "dept", "sales", "log", "empty")
ODD_TABLES = ("order", "my table", "Über", "user", "t-1", "x.y")


@dataclass(frozen=True)
class Database:
    """roles: (table, column) -> role. unique: table -> the column whose values are there once and never NULL."""

    path: Path
    schema: Schema
    roles: dict[tuple[str, str], str]
    unique: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.stem


def make_database(folder: Path, seed: int) -> Database:
    """A database of six tables, the last one empty; the same for the same seed."""
    chance = random.Random(f"fuzz {seed}")
    path, roles, unique = folder / f"fuzz_{seed}.sqlite", {}, {}
    path.unlink(missing_ok=True)
    names = [chance.choice(ODD_TABLES[n : n + 1] if chance.random() < 0.3 else TABLES[n : n + 1]) for n in range(6)]
    with closing(sqlite3.connect(path)) as connection:
        for number, table in enumerate(names):
            columns = _columns(chance, is_empty=number == 5)
            unique[table] = chance.choice(("id", "Id", "key"))
            declared = [f"{quote(unique[table])} INTEGER PRIMARY KEY"]
            for name, (kind, role, _) in columns.items():
                declared.append(f"{quote(name)} {kind}".strip())
                roles[table, name] = role
            connection.execute(f"CREATE TABLE {quote(table)} ({', '.join(declared)})")
            rows = 0 if number == 5 else 1 if number == 4 else chance.randint(4, 8)
            for row in range(rows):
                # a column without a declared type is what is stored in it
                is_null = [chance.random() < 0.2 and (row > 0 or kind[0]) for kind in columns.values()]
                kinds = zip(columns.values(), is_null, strict=True)
                values = [None if null else chance.choice(kind[2]) for kind, null in kinds]
                marks = ", ".join("?" * (len(values) + 1))
                connection.execute(f"INSERT INTO {quote(table)} VALUES ({marks})", (row + 1, *values))
        connection.commit()
    return Database(path, Schema.from_sqlite(path).with_stored_kinds(path), roles, unique)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _columns(chance: random.Random, is_empty: bool) -> dict[str, tuple]:
    """Names of their own, and what each column is; the common kinds more often."""
    names = [
        chance.choice(ODD_NAMES) if chance.random() < 0.25 else chance.choice(NAMES)
        for _ in range(chance.randint(3, 7))
    ]
    found = {}
    for name in dict.fromkeys(names):
        found[name] = chance.choice(KINDS[:8] if is_empty or chance.random() < 0.6 else KINDS)
    return found
