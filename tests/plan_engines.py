"""Runs a plan on SQLite and on every engine that has a dialect, and says where the rows differ.

The truth is SQLite running the plan's SQL. That SQL is ours too, so it is held against three others: the plan written
with a SELECT for every operator, the plan read back from its SQL, and the plan read back from its JSON.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from fuzz_database import Database
from plan_strategies import Drawn

from workbench.backends import BACKENDS, Limits, get_backend
from workbench.dialects import NAMES
from workbench.errors import EngineError, UnsupportedError
from workbench.migrate import ensure_database
from workbench.plan import Plan, With, walk_relations
from workbench.plan_to_sql import Writer, plan_to_sql
from workbench.sql_to_plan import sql_to_plan
from workbench.value_forms import normalise

LIMITS = Limits(seconds=20, rows=100_000)
TOLERANCE = 1e-9  # relative and absolute: sums of inexact reals depend on the order of the rows


@dataclass(frozen=True)
class Fault:
    """engine: where; what: the kind of fault, the same for all of a kind; detail: for a person."""

    engine: str
    what: str
    detail: str
    sql: str


class Unfolded(Writer):
    """Every operator in a SELECT of its own: no folding that could be wrong."""

    def ready(self, select, at, expressions=()):
        return self.wrap(select) if select.fields else select  # SELECT needs a column


class Engines:
    """The engines that can be started here, each with one session; `absent` says why the others are not."""

    def __init__(self, names: Iterable[str] = NAMES):
        self.wanted = [name for name in names if name in BACKENDS and name != "sqlite"]
        self.absent: dict[str, str] = {}
        self.refused: dict[str, int] = {}
        self.reasons: dict[str, Counter] = {}
        self.run = 0

    def __enter__(self) -> Self:
        self.stack, self.sessions, self.copies = ExitStack(), {}, {}
        for name in self.wanted:
            backend = get_backend(name)
            try:
                backend.start()
            except EngineError as fault:
                self.absent[name] = str(fault)
                continue
            self.stack.callback(backend.stop)
            session = backend.session()
            self.stack.callback(session.close)
            self.sessions[name] = (backend, session)
            self.refused[name] = 0
        return self

    def __exit__(self, *_) -> None:
        self.stack.close()

    def faults(self, drawn: Drawn, database: Database) -> list[Fault]:
        """What is wrong with a plan on SQLite and on all engines; refusals by name are counted only."""
        plan = drawn.plan
        try:
            sql = plan_to_sql(plan)
        except UnsupportedError:
            return []
        lite = self._lite(database)
        try:
            truth = lite.execute(sql).fetchall()
        except sqlite3.Error as fault:
            return [Fault("sqlite", _kind(fault), str(fault), sql)]
        found = [*self._own_faults(drawn, sql, truth, database)]
        self.run += 1
        for name in self.sessions:
            found += self._engine_faults(name, drawn, truth, database)
        return found

    def _lite(self, database: Database) -> sqlite3.Connection:
        if database.name not in self.copies:
            connection = sqlite3.connect(f"file:{database.path}?mode=ro", uri=True)
            self.stack.callback(connection.close)
            self.copies[database.name] = connection
        return self.copies[database.name]

    def _own_faults(self, drawn: Drawn, sql: str, truth: list[tuple], database: Database) -> Iterable[Fault]:
        plan, lite, schema = drawn.plan, self._lite(database), database.schema
        if Plan.from_json(plan.to_json(), schema) != plan:
            yield Fault("sqlite", "JSON", plan.to_json(), sql)
        if not _is_recursive(plan):  # a recursive query is not read in a query in FROM
            writer = Unfolded(plan, "sqlite")
            unfolded = writer.dialect.sql(writer.query(plan.root, None))
            difference = differ(lite.execute(unfolded).fetchall(), truth, False)
            if difference:
                yield Fault("sqlite", "folding", f"{difference} by {unfolded}", sql)
        try:
            again = sql_to_plan(sql, schema)
        except UnsupportedError:
            return
        second = plan_to_sql(again)
        difference = differ(lite.execute(second).fetchall(), truth, drawn.is_ordered)
        if difference:
            yield Fault("sqlite", "reading", f"{difference} by {second}", sql)
        third = sql_to_plan(second, schema)
        if third != again:
            yield Fault("sqlite", "another plan", f"{third.to_json()}\nfor {again.to_json()}\nfrom {second}", sql)
        if Plan.from_json(again.to_json(), schema) != again:
            yield Fault("sqlite", "JSON", again.to_json(), sql)

    def _engine_faults(self, name: str, drawn: Drawn, truth: list[tuple], database: Database) -> Iterable[Fault]:
        try:
            sql = plan_to_sql(drawn.plan, name)
        except UnsupportedError as fault:
            self.refused[name] += 1
            self.reasons.setdefault(name, Counter())[str(fault)] += 1
            return
        except Exception as fault:  # noqa: BLE001 a fault like others, to be shown with its plan
            yield Fault(name, _kind(fault), repr(fault), "")
            return
        backend, session = self.sessions[name]
        copy = self.copies.get((name, database.name))
        if copy is None:
            copy = self.copies[name, database.name] = ensure_database(backend, database.path, database.name)
        execution = session.run(copy, sql, LIMITS)
        if execution.table is None:
            yield Fault(name, f"{execution.status}: {str(execution.message)[:60]}", str(execution.message), sql)
            return
        difference = differ(execution.table.rows(), truth, drawn.is_ordered)
        if difference:
            yield Fault(name, "rows", difference, sql)


def differ(rows: Sequence[tuple], truth: Sequence[tuple], is_ordered: bool) -> str | None:
    """How rows differ from the truth, None if they do not. Integers equal reals of the same number, no text a number."""
    rows, truth = normalise(rows), normalise(truth)
    if not is_ordered:
        rows, truth = sorted(rows, key=_rank), sorted(truth, key=_rank)
    if len(rows) != len(truth):
        return f"{len(rows)} rows for {len(truth)}: {rows[:5]} for {truth[:5]}"
    for row, wanted in zip(rows, truth, strict=True):
        if len(row) != len(wanted) or not all(map(_same, row, wanted)):
            return f"{row} for {wanted}"
    return None


def _same(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(one) is type(other) and one == other


def _rank(row: tuple) -> list[tuple]:
    """Numbers by their first digits, so that a difference in the last one leaves the order."""
    return [
        (1, float(f"{value:.7g}") + 0.0, "")
        if isinstance(value, int | float)
        else (0 if value is None else 2, 0.0, repr(value))
        for value in row
    ]


def _is_recursive(plan: Plan) -> bool:
    found = (one for one in walk_relations(plan.root) if isinstance(one, With))
    return any(definition.is_recursive for one in found for definition in one.definitions)


def _kind(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {str(fault)[:60]}"
