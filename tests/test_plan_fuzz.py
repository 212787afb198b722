"""Differential fuzzing: random plans on random databases give the same rows on every engine, or are refused by name.

    pytest tests/test_plan_fuzz.py                                  a fixed seed, about a minute
    WORKBENCH_FUZZ_MINUTES=20 pytest -s tests/test_plan_fuzz.py     other plans each time, for that long

The truth is SQLite (see plan_engines.py). A fault (shrunk in a long run) is shown as a plan with its SQL on SQLite and on the engine.
Faults that were found and mended stand, in small, in tests/plan_probes.py.
"""

import os
import sqlite3
import time
from contextlib import closing

import pytest
from fuzz_database import Database, make_database
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from plan_engines import Engines, Fault, differ
from plan_probes import FIXTURE, PLANS
from plan_strategies import Drawn, plans

from workbench.plan import Plan
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema

MINUTES = float(os.environ.get("WORKBENCH_FUZZ_MINUTES", "0"))
DATABASES = 4
EXAMPLES = 150 if not MINUTES else 500  # plans a database
MOST_REFUSED = 0.25  # a dialect that refuses more is hardly tested


@pytest.fixture(scope="module")
def engines():
    with Engines() as found:
        for name, why in found.absent.items():
            print(f"fuzzing without {name}: {why}")
        yield found


def report(drawn: Drawn, faults: list[Fault]) -> str:
    parts = [f"plan: {drawn.plan.to_json()}", f"sqlite: {plan_to_sql(drawn.plan)}"]
    return "\n".join([*parts, *(f"{fault.engine}, {fault.what}: {fault.detail}\n  {fault.sql}" for fault in faults)])


def fuzz(engines: Engines, database: Database, number: int) -> None:
    passed: set[str] = set()

    @seed(number)
    @settings(
        phases=[Phase.generate, *([Phase.shrink] if MINUTES else [])],  # shrinking takes many minutes
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(plans(database))
    def same_rows(drawn: Drawn) -> None:
        if repr(drawn) in passed:  # hypothesis draws small plans again and again
            return
        faults = engines.faults(drawn, database)
        if faults:
            note(report(drawn, faults))
        assert not faults
        passed.add(repr(drawn))

    same_rows()


@pytest.mark.skipif(MINUTES > 0, reason="WORKBENCH_FUZZ_MINUTES asks for the long run")
@pytest.mark.parametrize("number", range(DATABASES))
def test_same_rows_everywhere(engines, tmp_path_factory, number):
    fuzz(engines, make_database(tmp_path_factory.mktemp("fuzz"), number), number)
    for name, refused in engines.refused.items():
        assert refused <= MOST_REFUSED * engines.run, (name, engines.reasons[name].most_common(5))


@pytest.mark.skipif(not MINUTES, reason="only with WORKBENCH_FUZZ_MINUTES")
def test_same_rows_for_long(engines, tmp_path_factory):
    end, number = time.monotonic() + 60 * MINUTES, time.time_ns() % 10**9
    folder = tmp_path_factory.mktemp("fuzz")
    while time.monotonic() < end:
        number += 1
        fuzz(engines, make_database(folder, number), number)
        print(f"{engines.run} plans, refused: {engines.refused}")


@pytest.fixture(scope="module")
def probes(tmp_path_factory) -> Database:
    path = tmp_path_factory.mktemp("plans") / "probes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE)
    return Database(path, Schema.from_sqlite(path).with_stored_kinds(path), {}, {})


@pytest.mark.parametrize("steps", PLANS.values(), ids=PLANS.keys())
def test_plans_that_were_at_fault(engines, probes, steps):
    """Each gives the same rows as written with a SELECT for every operator, and on every engine."""
    drawn = Drawn(Plan.from_json(steps, probes.schema), is_ordered=False)
    faults = engines.faults(drawn, probes)
    assert faults == [], report(drawn, faults)


SAME = {
    "another order": ([(1,), (2,)], [(2,), (1,)], False),
    "integer and real": ([(1.0,)], [(1,)], True),
    "the last digit": ([(0.1 + 0.2,)], [(0.3,)], True),
    "sorted by the last digit": ([(0.3, "b"), (0.1 + 0.2, "a")], [(0.3, "a"), (0.3, "b")], False),
}
DIFFERENT = {
    "order": ([(1,), (2,)], [(2,), (1,)], True),
    "number and text": ([("1",)], [(1,)], False),
    "a row twice": ([(1,), (1,)], [(1,)], False),
    "no NULL": ([(0,)], [(None,)], False),
    "text and bytes": ([(b"a",)], [("a",)], False),
    "numbers": ([(1.0001,)], [(1,)], False),
    "columns": ([(1, 2)], [(1,)], False),
}


@pytest.mark.parametrize("rows, truth, is_ordered", SAME.values(), ids=SAME.keys())
def test_rows_that_are_the_same(rows, truth, is_ordered):
    assert differ(rows, truth, is_ordered) is None


@pytest.mark.parametrize("rows, truth, is_ordered", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_rows_that_differ(rows, truth, is_ordered):
    assert differ(rows, truth, is_ordered)
