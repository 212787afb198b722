"""The categoriser: a hand-written table of faults, ways to write that are none, and the hand labels of real errors."""

import sqlite3
from pathlib import Path

import pytest
import yaml

from workbench.error_categories import categorise
from workbench.error_rules import compare
from workbench.schema import Schema

CASES = yaml.safe_load(Path(__file__).with_name("error_pairs.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    file = tmp_path_factory.mktemp("school") / "school.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(CASES["schema"])
    connection.close()
    return Schema.from_sqlite(file)


@pytest.mark.parametrize("case", CASES["pairs"].values(), ids=CASES["pairs"])
def test_fault(school, case):
    gold, predicted, (category, error_type, words), *run = case
    status, message = run[0] if run else (None, None)
    kind = categorise(gold, predicted, school, status, message)
    assert (kind.category, kind.error_type) == (category, error_type), kind
    assert words.lower() in kind.evidence.lower()


@pytest.mark.parametrize("case", CASES["same"].values(), ids=CASES["same"])
def test_no_fault(school, case):
    assert compare(*case, school) == []
