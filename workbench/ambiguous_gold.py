"""Whether a gold query has one answer: does SQLite itself give another one when rows come in another legal order?

In: a database, a query and its plan. Out: the test that gave another answer, in words, or None. Tests: SQLite's own
`PRAGMA reverse_unordered_selects`; copies of the database whose tables hold their rows in reverse or shuffled; the
plan's query with ties in every ORDER BY broken upward or downward. Only what the answer's own meaning leaves open changes.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

from workbench.plan import Filter, Plan, Project, Relation, Sort
from workbench.plan_expressions import SortKey
from workbench.plan_to_sql import plan_to_sql
from workbench.same_rows import difference
from workbench.schema import Schema, open_read_only
from workbench.sqlite_source import VALUE_BYTES, quote, uri

_ROW_NUMBER = re.compile(r"\b(rowid|oid|_rowid_)\b", re.IGNORECASE)
_ORDERS = {"reversed": "rowid DESC", "shuffled": "rowid * 7919 % 10007, rowid"}  # of a copy's rows
_STEPS = 10_000  # of SQLite's machine between two looks at the clock


class AmbiguityTest:
    """The variants of one database. Statements must have passed the gate: they run in this process, under a time limit."""

    def __init__(self, path: Path, seconds: float):
        self.path, self.seconds = path, seconds
        self.plain, self.backward = open_read_only(path), open_read_only(path)
        self.backward.execute("PRAGMA reverse_unordered_selects = ON")
        self.copies: dict[str, sqlite3.Connection] | None = None

    def close(self) -> None:
        for connection in (self.plain, self.backward, *(self.copies or {}).values()):
            connection.close()

    def __call__(self, sql: str, plan: Plan | None, keys: Sequence[Hashable] | None) -> str | None:
        """What shows that the query has several answers. plan: one whose answer is gold's. keys: see same_rows."""
        expected = self._rows(self.plain, sql)
        if expected is None:
            return None
        for name, connection, variant in self._variants(sql, plan):
            rows = self._rows(connection, variant)
            if rows is not None and (found := difference(rows, expected, keys)) is not None:
                return f"{name}: {found}"
        return None

    def _variants(self, sql: str, plan: Plan | None) -> Iterator[tuple[str, sqlite3.Connection, str]]:
        yield "reverse_unordered_selects", self.backward, sql
        if plan is not None:
            for name, is_descending in (("ties upward", False), ("ties downward", True)):
                yield name, self.plain, plan_to_sql(with_ties_broken(plan, is_descending))
        if not _ROW_NUMBER.search(sql):
            if self.copies is None:
                self.copies = _copies(self.path)
            for name, connection in self.copies.items():
                yield f"{name} tables", connection, sql

    def _rows(self, connection: sqlite3.Connection, sql: str) -> list[tuple] | None:
        """The answer; None where there is none in time."""
        until = time.monotonic() + self.seconds
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        try:
            return connection.execute(sql).fetchall()
        except (sqlite3.Error, OverflowError):
            return None


def _copies(path: Path) -> dict[str, sqlite3.Connection]:
    """Temporary copies without keys and indexes, so that rows are read as they lie; none where columns have collations."""
    schema = Schema.from_sqlite(path)
    with closing(open_read_only(path)) as source:
        texts = [text or "" for (text,) in source.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")]
    if any(re.search(r"\bcollate\b", text, re.IGNORECASE) for text in texts):
        return {}
    found = {}
    for name, order in _ORDERS.items():
        connection = sqlite3.connect("", uri=True)  # SQLite's own name for a file that goes when it is closed
        connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
        connection.execute("ATTACH ? AS source", (uri(path),))
        for table in schema.tables:
            columns = ", ".join(f"{quote(column.name)} {column.affinity}" for column in table.columns)
            named = ", ".join(quote(column.name) for column in table.columns)
            connection.execute(f"CREATE TABLE main.{quote(table.name)} ({columns})")
            copy = f"INSERT INTO main.{quote(table.name)} SELECT {named} FROM source.{quote(table.name)} ORDER BY "
            try:
                connection.execute(copy + order)
            except sqlite3.OperationalError:  # WITHOUT ROWID
                connection.execute(copy + "1 DESC")
        connection.commit()
        connection.execute("DETACH source")
        found[name] = connection
    return found


def with_ties_broken(plan: Plan, is_descending: bool) -> Plan:
    """The plan with every sort's ties broken by all columns: one of its legal answers where a limit cuts ties."""

    def change(node: Relation) -> Relation:
        if not isinstance(node, Sort) or (not node.keys and is_ordered(node.input)):
            return node
        given = node.fields
        free = [one for one in given if sum(other.name.lower() == one.name.lower() for other in given) == 1]
        return replace(node, keys=(*node.keys, *(SortKey(one.column(), is_descending) for one in free)))

    return Plan(rewrite_relations(plan.root, change))


def is_ordered(relation: Relation) -> bool:
    """Whether an order that a sort made is still there."""
    while isinstance(relation, Project | Filter | Sort):
        if isinstance(relation, Sort) and relation.keys:
            return True
        relation = relation.input
    return False


def rewrite_relations(relation: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """A copy of an operator and all below it, innermost first, also in queries inside expressions."""
    return change(_rebuilt(relation, change))


def _rebuilt(value: object, change: Callable[[Relation], Relation]) -> object:
    new = {}
    for field in fields(value):
        old = getattr(value, field.name)
        made = _changed(old, change)
        if made is not old:
            new[field.name] = made
    return replace(value, **new) if new else value


def _changed(value: object, change: Callable[[Relation], Relation]) -> object:
    if isinstance(value, Relation):
        return rewrite_relations(value, change)
    if isinstance(value, tuple):
        parts = tuple(_changed(part, change) for part in value)
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    return _rebuilt(value, change) if is_dataclass(value) else value
