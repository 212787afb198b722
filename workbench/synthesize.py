"""Small databases made up for schemas whose data are not at hand, in which the benchmark's gold queries find something.

In: a schema and queries, or a benchmark some of whose databases are missing. Out: SQLite files of a few hundred rows a
table, from a seed: a base of random rows that keep keys, then for each query that finds nothing the rows of its
witness (witness.py). A query is informative if it returns a row, and not a lone NULL or 0. The data are made up: equal
rows on them say that two queries agree there, nothing about the real data.
"""

import hashlib
import json
import random
import re
import sqlite3
import string
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from workbench.benchmark_layouts import SYNTHESIZED
from workbench.benchmarks import Benchmark
from workbench.errors import BenchmarkError, WorkbenchError
from workbench.paths import cache_dir
from workbench.plan import Plan, walk_relations
from workbench.plan_expressions import Column, Literal, walk
from workbench.progress import track
from workbench.results import write_whole
from workbench.same_rows import is_informative
from workbench.schema import Schema, Table
from workbench.sql_to_plan import sql_to_plan
from workbench.witness import MAX_COPIES, Witness

VERSION = "1"  # of the rules here: another number makes all databases anew
BASE_ROWS = 40
ATTEMPTS = 12  # at a query
ROUNDS = 3  # over all queries, since one's rows can spoil another
SECONDS = 2.0  # of one query
WORDS = ("Alba", "Bruno", "Cleo", "Dora", "émile", "Faro", "gina", "Hugo", "Ines", "jonas", "Kira", "Łucja")


@dataclass(frozen=True)
class Coverage:
    """queries: all; planned: those that became a plan; informative: those that find something in the database."""

    queries: int
    planned: int
    informative: int


def synthesize(benchmark: Benchmark, seed: int = 0) -> tuple[Path, dict[str, Coverage]]:
    """Make the databases that a benchmark lacks: the folder to give as `databases`, and what each one covers.

    They lie under a hash of schemas, queries and seed, and are made once. A benchmark read with them has a name that ends
    in "-synthesized". BenchmarkError where nothing is missing, or a schema is.
    """
    missing = []
    for db_id in benchmark.questions["db_id"].unique(maintain_order=True):
        try:
            benchmark.database_path(db_id)
        except BenchmarkError:
            missing.append(db_id)
    if not missing:
        raise BenchmarkError("lacks no database: nothing to synthesize", where=benchmark.path)
    wanted = []
    for db_id in missing:
        golds = benchmark.questions.filter(benchmark.questions["db_id"] == db_id)["gold_sql"].drop_nulls()
        wanted.append((db_id, benchmark.schema(db_id), sorted(set(golds))))
    digest = hashlib.sha256(repr((VERSION, seed, wanted)).encode()).hexdigest()[:16]
    folder = cache_dir("synthesized", f"{benchmark.name}-{digest}")
    mark = folder / SYNTHESIZED
    if not mark.exists():
        coverage = {}
        for db_id, schema, golds in track(wanted, len(wanted), "synthesizing databases"):
            data, coverage[db_id] = make_database(schema, golds, seed)
            write_whole(folder / db_id / f"{db_id}.sqlite", data)
        said = {db_id: asdict(one) for db_id, one in coverage.items()}
        write_whole(mark, json.dumps({"seed": seed, "databases": said}, indent=1).encode())
    said = json.loads(mark.read_bytes())["databases"]
    return folder, {db_id: Coverage(**one) for db_id, one in said.items()}


def make_database(schema: Schema, queries: Sequence[str], seed: int = 0) -> tuple[bytes, Coverage]:
    """One database, as the bytes of an SQLite file."""
    plans: dict[str, Plan] = {}
    for sql in queries:
        try:
            plans[sql] = sql_to_plan(sql, schema)
        except WorkbenchError:  # it cannot guide the making; it is still counted
            continue
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        filler = _Filler(connection, schema, list(plans.values()), seed)
        filler.connection.execute("BEGIN")
        filler.make_base()
        for number in range(ROUNDS):
            for sql, plan in plans.items():
                filler.help(sql, plan, number)
        filler.connection.execute("COMMIT")
        informative = sum(finds_something(connection, sql) for sql in queries)
        return connection.serialize(), Coverage(len(queries), len(plans), informative)


def finds_something(connection: sqlite3.Connection, sql: str) -> bool:
    """Whether a query's answer is informative (same_rows), and comes within its time."""
    end = time.monotonic() + SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > end, 100_000)
    try:
        rows = connection.execute(sql).fetchmany(2)
    except sqlite3.Error:
        return False
    finally:
        connection.set_progress_handler(None, 0)
    return is_informative(rows)


class _Filler:
    def __init__(self, connection: sqlite3.Connection, schema: Schema, plans: Sequence[Plan], seed: int):
        self.connection, self.schema, self.seed = connection, schema, seed
        self.chance = random.Random(seed)
        self.next_key = 1000
        self.literals = _literals(plans)
        for table in schema.tables:
            connection.execute(_create(table, schema))

    def make_base(self) -> None:
        for _ in range(BASE_ROWS):
            for table in self.schema.tables:
                self.put(table, {})

    def help(self, sql: str, plan: Plan, turn: int) -> None:
        """Add rows until the query is informative, if it can be had."""
        if finds_something(self.connection, sql):
            return
        for attempt in range(ATTEMPTS):
            self.connection.execute("SAVEPOINT attempt")
            try:
                self._add_witness(plan, attempt, f"{self.seed} {turn} {attempt} {sql}")
                is_done = finds_something(self.connection, sql)
            except sqlite3.Error:  # a value that a key does not take: another attempt chooses others
                is_done = False
            if not is_done:
                self.connection.execute("ROLLBACK TO attempt")
            self.connection.execute("RELEASE attempt")
            if is_done:
                return

    def _add_witness(self, plan: Plan, attempt: int, seed: str) -> None:
        given: dict = {}
        copies, number = 1, 0
        while number < copies:
            witness = Witness(plan, self.schema, random.Random(seed), random.Random(f"{seed} {number}"), number, given)
            copies = min(MAX_COPIES, max(copies, witness.copies * (1 + attempt % 3)))
            rows = witness.rows(self.value)
            for place, (_, values) in enumerate(rows):
                for column, value in values.items():
                    if (place, column) in witness.shared:
                        given[place, column] = value
            for table, values in rows:
                self.put(self.schema.table(table), values)
            number += 1

    def put(self, table: Table, values: dict[str, object]) -> None:
        """A row with these values (columns in lower case); one with the same key takes them over."""
        values = {name: value for name, value in values.items() if table.column(name) is not None}
        key = [name.lower() for name in table.primary_key]
        row = dict(values)
        for foreign in table.foreign_keys:
            self._point(table, foreign, row)
        if key and all(name in row for name in key):
            where = " AND ".join(f"{_quote(name)} IS ?" for name in key)
            found = self.connection.execute(
                f"SELECT 1 FROM {_quote(table.name)} WHERE {where}", [row[name] for name in key]
            ).fetchone()
            others = {name: value for name, value in values.items() if name not in key}
            if found and not others:
                return
            if found:
                sets = ", ".join(f"{_quote(name)} = ?" for name in others)
                keys = [row[name] for name in key]
                self.connection.execute(
                    f"UPDATE {_quote(table.name)} SET {sets} WHERE {where}", [*others.values(), *keys]
                )
                return
        for column in table.columns:
            name = column.name.lower()
            if name not in row:
                row[name] = self.key() if name in key else self.value(table.name, name)
        names, marks = ", ".join(map(_quote, row)), ", ".join("?" * len(row))
        self.connection.execute(f"INSERT INTO {_quote(table.name)} ({names}) VALUES ({marks})", list(row.values()))

    def _point(self, table: Table, foreign, row: dict[str, object]) -> None:
        """Let a foreign key have a parent: the row's, made if missing, else any that is there."""
        target = self.schema.table(foreign.target_table)
        here = [name.lower() for name in foreign.columns]
        there = [name.lower() for name in foreign.target_columns]
        if target is None or target.name == table.name or len(here) != 1:
            return
        if here[0] in row:
            wanted = row[here[0]]
            if wanted is None:
                return
            found = self.connection.execute(
                f"SELECT 1 FROM {_quote(target.name)} WHERE {_quote(there[0])} = ?", [wanted]
            ).fetchone()
            if not found:
                self.put(target, {there[0]: wanted})
            return
        found = self.connection.execute(f"SELECT {_quote(there[0])} FROM {_quote(target.name)}").fetchall()
        if found:
            row[here[0]] = self.chance.choice(found)[0]

    def key(self) -> int:
        self.next_key += 1
        return self.next_key

    def value(self, table: str, name: str) -> object:
        """A value for a cell that nothing asks anything of."""
        owner = self.schema.table(table)
        column = owner.column(name)
        if name in [key.lower() for key in owner.primary_key]:
            return self.key()
        chance = self.chance
        known = self.literals.get(name, ())
        if known and chance.random() < 0.4:
            return chance.choice(known)
        if chance.random() < 0.08:
            return None
        kind = column.kind if column is not None else "integer"
        if kind == "integer":
            return chance.choice([chance.randint(0, 9), chance.randint(10, 3000)])
        if kind == "real":
            return round(chance.uniform(0, 500), chance.choice([0, 1, 2]))
        if "date" in column.type.lower() or re.search(r"date|birth|dob|time", name):
            moment = f"{chance.randint(1990, 2020)}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}"
            return moment + (" 10:30:00" if "time" in column.type.lower() else "")
        return chance.choice(WORDS) + chance.choice(["", "", " " + chance.choice(string.ascii_letters)])


def _literals(plans: Sequence[Plan]) -> dict[str, list]:
    """Column name in lower case -> the constants that it is compared with somewhere, in a stable order."""
    found: dict[str, dict] = {}
    for plan in plans:
        for relation in walk_relations(plan.root):
            for expression in relation.expressions:
                for part in walk(expression):
                    args = getattr(part, "args", ())
                    if getattr(part, "name", None) not in ("=", "in", "<>"):
                        continue
                    if isinstance(args[0], Column):
                        values = found.setdefault(args[0].name.lower(), {})
                        values.update((arg.value, None) for arg in args[1:] if isinstance(arg, Literal))
    return {name: list(values) for name, values in found.items()}


def _create(table: Table, schema: Schema) -> str:
    parts = [f"{_quote(column.name)} {_type(column.type)}" for column in table.columns]
    if table.primary_key:
        parts.append(f"PRIMARY KEY ({', '.join(map(_quote, table.primary_key))})")
    for key in table.foreign_keys:
        if schema.table(key.target_table) is not None:
            here, there = (", ".join(map(_quote, names)) for names in (key.columns, key.target_columns))
            parts.append(f"FOREIGN KEY ({here}) REFERENCES {_quote(key.target_table)} ({there})")
    return f"CREATE TABLE {_quote(table.name)} ({', '.join(parts)})"


def _type(declared: str) -> str:
    return declared if re.fullmatch(r"[A-Za-z][A-Za-z0-9 (),]*", declared) else ""


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
