"""The database whose migration is measured: 1M rows in 10 tables, the same on every machine.

Out: one SQLite file of about 45 MB with integers, reals, texts, dates as text, keys, NULLs and empty texts, plus what
copies lose in practice: names with capitals, spaces and reserved words, a BOOLEAN, a DECIMAL that holds reals, integers
and reals in one column, numbers and text in one column, -0.0, the largest doubles and integers, and an empty table
beside the ten.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

SEED = 20260101
ROWS = 100_000  # of each table
EMPTY = "Archive"
WORDS = np.array(
    ["amber", "birch", "cedar", "dune", "elm", "fjord", "grove", "heath", "islet", "jetty", "knoll", "naïve"]
)

# table -> column -> (declared type, what it holds); kinds below
TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "customer": {"id": ("INTEGER PRIMARY KEY", "key"), "name": ("TEXT NOT NULL", "words"), "street": ("TEXT", "words"), "born": ("DATE", "date"),
                 "is_active": ("BOOLEAN", "bit")},
    "product": {"id": ("INTEGER PRIMARY KEY", "key"), "label": ("VARCHAR(40)", "words"), "maker": ("TEXT", "word"), "price": ("DECIMAL(10,2)", "real")},
    "store": {"id": ("INTEGER PRIMARY KEY", "key"), "city": ("TEXT", "word"), "lat": ("REAL", "real"), "lon": ("REAL", "real")},
    "Order": {"id": ("INTEGER PRIMARY KEY", "key"), "customer_id": ("INTEGER NOT NULL REFERENCES customer", "reference"),
              "placed": ("TIMESTAMP", "time"), "group": ("INTEGER", "small")},
    "OrderItem": {"order_id": ("INTEGER NOT NULL REFERENCES \"Order\"", "key"), "line": ("INTEGER NOT NULL", "bit"),
                  "product_id": ("INTEGER REFERENCES product", "reference"), "Unit Price": ("REAL", "number")},
    "payment": {"id": ("INTEGER PRIMARY KEY", "key"), "order_id": ("INTEGER REFERENCES \"Order\"", "reference"),
                "amount": ("REAL", "real"), "code": ("INTEGER", "mixed")},
    "review": {"id": ("INTEGER PRIMARY KEY", "key"), "product_id": ("INTEGER REFERENCES product", "reference"),
               "stars": ("INTEGER", "small"), "text": ("TEXT", "words")},
    "visit": {"id": ("INTEGER PRIMARY KEY", "key"), "day": ("TEXT", "date"), "pages": ("TEXT", "words"), "seconds": ("INTEGER", "large")},
    "reading": {"id": ("INTEGER PRIMARY KEY", "key"), "store_id": ("INTEGER REFERENCES store", "reference"),
                "celsius": ("REAL", "real"), "pressure": ("REAL", "extreme")},
    "event": {"id": ("INTEGER PRIMARY KEY", "key"), "kind": ("TEXT", "word"), "at": ("TEXT", "time"), "value": ("NUMERIC", "number")},
}  # fmt: skip
KEYS = {"OrderItem": ', PRIMARY KEY ("order_id", "line")'}
# kind -> what a column of it becomes in the other engines
BECOMES = {"key": "integer", "reference": "integer", "bit": "integer", "small": "integer", "large": "integer",
           "real": "real", "number": "real", "extreme": "real",
           "word": "text", "words": "text", "date": "text", "time": "text", "mixed": "text"}  # fmt: skip


def build(path: Path) -> None:
    """Write the database to a new file."""
    random = np.random.default_rng(SEED)
    with closing(sqlite3.connect(path)) as connection:
        for table, columns in {**TABLES, EMPTY: {"id": ("INTEGER", "key"), "note": ("TEXT", "word")}}.items():
            declared = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
            connection.execute(f'CREATE TABLE "{table}" ({declared}{KEYS.get(table, "")})')
        for table, columns in TABLES.items():
            values = [MAKE[kind](random) for _, kind in columns.values()]
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', zip(*values, strict=True))
        connection.commit()


def _with_nulls(random: np.random.Generator, values: list) -> list:
    """One in twenty is NULL."""
    return [None if is_null else value for value, is_null in zip(values, random.random(ROWS) < 0.05, strict=True)]


def _words(random: np.random.Generator) -> list:
    texts = [" ".join(words) for words in WORDS[random.integers(0, len(WORDS), (ROWS, 3))]]
    texts[10], texts[20], texts[30] = "", 'tab\tquote"\\ line\nend', "\U0001f600"
    return texts


def _dates(random: np.random.Generator) -> list:
    days = np.datetime64("1990-01-01") + random.integers(0, 12_000, ROWS)
    return _with_nulls(random, days.astype(str).tolist())


def _times(random: np.random.Generator) -> list:
    seconds = np.datetime64("2020-01-01T00:00:00") + random.integers(0, 10**8, ROWS)
    return [text.replace("T", " ") for text in seconds.astype(str).tolist()]


def _numbers(random: np.random.Generator) -> list:
    """Integers and reals."""
    values = (random.integers(0, 10**4, ROWS) / 4).tolist()
    return _with_nulls(random, [int(value) if value == int(value) else value for value in values])


def _mixed(random: np.random.Generator) -> list:
    """Texts, reals and integers."""
    return [f"A{value}" if value % 3 else value / 8 for value in random.integers(0, 10**6, ROWS).tolist()]


def _extreme(random: np.random.Generator) -> list:
    values = _with_nulls(random, (random.random(ROWS) * 1e3).tolist())
    values[5:9] = [-0.0, 1e308, 5e-324, 0.1]
    return values


def _large(random: np.random.Generator) -> list:
    values = _with_nulls(random, random.integers(-(2**53), 2**53, ROWS).tolist())
    values[5:7] = [2**63 - 1, -(2**63)]
    return values


MAKE: dict[str, Callable[[np.random.Generator], list]] = {
    "key": lambda random: range(1, ROWS + 1),
    "reference": lambda random: random.integers(1, ROWS + 1, ROWS).tolist(),
    "bit": lambda random: random.integers(0, 2, ROWS).tolist(),
    "small": lambda random: _with_nulls(random, random.integers(0, 100, ROWS).tolist()),
    "real": lambda random: _with_nulls(random, random.normal(50, 20, ROWS).tolist()),
    "word": lambda random: _with_nulls(random, WORDS[random.integers(0, len(WORDS), ROWS)].tolist()),
    "words": _words,
    "date": _dates,
    "time": _times,
    "number": _numbers,
    "mixed": _mixed,
    "extreme": _extreme,
    "large": _large,
}
