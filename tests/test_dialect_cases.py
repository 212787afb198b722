"""What each dialect writes, query by query, and that adding a dialect is one file, one registry line, one case file.

tests/dialects/queries.yaml holds the queries, tests/dialects/<dialect>.yaml what that dialect makes of them: its SQL, or
{refused: words}. That the SQL means the same is not shown here but by running it (test_dialects.py, plan roundtrip); that
a dialect whose engine is not at hand is read back by sqlglot is. `python tests/test_dialect_cases.py NAME` prints a case file
to be looked through.
"""

import json
import sys
from pathlib import Path

import pytest
import sqlglot
import yaml

from workbench import dialects
from workbench.backends import BACKENDS
from workbench.errors import UnsupportedError
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Column, Schema, Table
from workbench.sql_to_plan import sql_to_plan

CASES = Path(__file__).parent / "dialects"
SCHEMA = Schema(
    (
        Table(
            "pet",
            (
                Column("id", "INTEGER"),
                Column("name", "TEXT"),
                Column("kind", "TEXT"),
                Column("weight", "REAL"),
                Column("born", "DATE"),
                Column("order", "INTEGER"),
            ),
        ),
        Table("toy", (Column("pet_id", "INTEGER"), Column("label", "TEXT"))),
    )
)
QUERIES = yaml.safe_load((CASES / "queries.yaml").read_text())


def written(name: str) -> dict[str, object]:
    """What a dialect makes of every query."""
    made: dict[str, object] = {}
    for query, sql in QUERIES.items():
        try:
            made[query] = plan_to_sql(sql_to_plan(sql, SCHEMA), name)
        except UnsupportedError as fault:
            made[query] = {"refused": fault.what}
    return made


def check(name: str, cases: dict[str, object]) -> None:
    """Every query is written as the cases say, and what is written is SQL of the dialect in sqlglot's eyes."""
    made = written(name)
    assert made == cases
    for sql in made.values():
        if isinstance(sql, str):
            sqlglot.parse_one(sql, read=dialects.get_dialect(name).sqlglot)


@pytest.mark.parametrize("name", dialects.NAMES)
def test_cases(name):
    check(name, yaml.safe_load((CASES / f"{name}.yaml").read_text()))


@pytest.mark.parametrize("name", sorted(set(dialects.NAMES) - set(BACKENDS)))
def test_golds_are_written_and_read_back(shared, name):
    """Of dialects that are not executed: almost every gold is written, and sqlglot reads what is written."""
    folder = shared / "data" / "bird"
    entries = json.loads((folder / "dev_tables.json").read_text())
    schemas = {entry["db_id"]: Schema.from_tables_json(entry) for entry in entries}
    golds = json.loads((folder / "gold_without_database.json").read_text())
    refused = []
    for gold in golds:
        plan = sql_to_plan(gold["SQL"], schemas[gold["db_id"]])
        try:
            sqlglot.parse_one(plan_to_sql(plan, name), read=dialects.get_dialect(name).sqlglot)
        except UnsupportedError as fault:
            refused.append((gold["SQL"], str(fault)))
    assert len(golds) == 815
    assert len(refused) <= 8, refused  # at most 1 %


# what the engine would take for something else
REFUSED = {
    "exclusion": (
        "SELECT SUM(id) OVER (ORDER BY id ROWS 2 PRECEDING EXCLUDE CURRENT ROW) FROM pet",
        ("snowflake", "bigquery"),
    ),
    "rows of constants": ("SELECT column1 FROM (VALUES (1), (2))", ("bigquery",)),
    "a computed pattern": ("SELECT name LIKE kind FROM pet", ("bigquery",)),
    "the text of a real": ("SELECT weight || '' FROM pet", ("snowflake",)),
}


@pytest.mark.parametrize("sql, names", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_said_is_refused(sql, names):
    for name in names:
        with pytest.raises(UnsupportedError):
            plan_to_sql(sql_to_plan(sql, SCHEMA), name)


TOY = '''"""Toy: PostgreSQL, but texts are joined by CONCAT and nothing has a rank."""

from typing import ClassVar

from workbench.dialects.postgres import Postgres


class Toy(Postgres):
    name = "toy"
    functions: ClassVar = {key: word for key, word in Postgres.functions.items() if key != "rank"}

    def core_join_texts(self, value, names):
        return self.call("CONCAT", [self.write(arg, names) for arg in value.args])


DIALECT = Toy
'''


def test_a_dialect_is_one_file_one_line_one_case_file(tmp_path, monkeypatch):
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.setattr(dialects, "__path__", [*dialects.__path__, str(tmp_path)])
    monkeypatch.setattr(dialects, "NAMES", (*dialects.NAMES, "toy"))
    cases = yaml.safe_load((CASES / "postgres.yaml").read_text())
    cases |= {"concatenation": "SELECT CONCAT(pet.name, '!') AS c1 FROM pet", "rank": {"refused": "the aggregate rank"}}
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(cases, sort_keys=False))
    check("toy", yaml.safe_load((tmp_path / "toy.yaml").read_text()))
    assert dialects.get_dialect("toy").name == "toy"


if __name__ == "__main__":
    print(yaml.safe_dump(written(sys.argv[1]), sort_keys=False, allow_unicode=True, width=10**6), end="")
