"""How many gold queries keep their rows on the way SQL -> plan -> each engine's SQL, beside sqlglot's own transpiling.

In: benchmarks. Out: the table `roundtrip`, one row for each distinct gold, method and engine, and from it the fidelity
of each method on each engine. Gold's result on SQLite is the reference; rows are compared by `same_rows`, in gold's order
up to ties. Golds with several answers (`ambiguous_gold`) leave the denominator; nothing else does. Beside it stand the
verdicts of DF-Match, under the class of the first question with that gold, and of BIRD's rule (`agreement.metric_gap`).
"""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from workbench.ambiguous_gold import AmbiguityTest
from workbench.backends import BACKENDS
from workbench.backends.base import Execution, Limits
from workbench.benchmarks import Benchmark
from workbench.dialects import NAMES, get_dialect
from workbench.errors import BenchmarkError, ParseError, UnsupportedError, WorkbenchError
from workbench.execute import Executor, Statement
from workbench.gold_order import GoldOrder
from workbench.header import describe_run
from workbench.judge import PairResults, both_metrics
from workbench.plan import Plan, Project, Relation, Sort, With
from workbench.plan_columns import Item
from workbench.plan_to_sql import plan_to_sql
from workbench.progress import track
from workbench.question_class import QuestionClass, question_class
from workbench.results import Run, dtypes, part_name
from workbench.run_orders import run_orders
from workbench.same_rows import difference, is_informative, value_key
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan
from workbench.transpile import transpile, transpile_repaired

METHODS: dict[str, Callable[[str, Schema, str], str]] = {
    "transpile": transpile,
    "transpile repaired": transpile_repaired,
}  # beside "plan"


def _through_reljson(plan: Plan, schema: Schema) -> Plan:
    try:
        text = plan.to_reljson()
    except UnsupportedError:
        return plan  # refused by name, so nothing changed
    return Plan.from_reljson(text, schema)


FACES: dict[str, Callable[[Plan, Schema], Plan]] = {
    "SQL": lambda plan, schema: sql_to_plan(plan_to_sql(plan), schema),
    "JSON": lambda plan, schema: Plan.from_json(plan.to_json(), schema),
    "RelJson": _through_reljson,
}
SHOWN_ROWS = 20  # of a result that is stored to be looked at
_ORDER_BY = re.compile(r"\border\s+by\b", re.IGNORECASE)


@dataclass
class Gold:
    """One distinct gold query of a database, and what is known of it."""

    sql: str
    plan: Plan | None = None
    plan_fault: str | None = None
    sqlite_sql: str | None = None
    keys_sql: str | None = None  # gives the sort keys of gold's rows, in their order
    collations: tuple[str | None, ...] = ()
    keys: list[Hashable] | None = None
    ambiguous: str | None = None
    question_class: QuestionClass | None = None
    order: GoldOrder = field(default_factory=GoldOrder)
    executions: dict[str, Execution] = field(default_factory=dict)  # gold, keys, plan: on SQLite


def roundtrip(
    benchmarks: Sequence[Benchmark],
    engines: Sequence[str] | None = None,
    run: str | Path = "roundtrip",
    limits: Limits | None = None,
) -> pl.DataFrame:
    """Run every distinct gold of benchmarks through every method on every engine; returns the rows that were stored.

    engines: those that plans can be written for by default. Results come from the executor's cache where they are there.
    """
    names = list(engines or [name for name in NAMES if name in BACKENDS])
    for name in names:
        get_dialect(name)
    run, limits = Run.create(run), limits or Limits()
    with run.locked(), Executor(dict.fromkeys(["sqlite", *names]), limits) as executor:
        describe_run(run, engines=executor.versions)
        parts = [
            (benchmark, db_id, {row["gold_sql"]: row for row in golds.iter_rows(named=True)})
            for benchmark in benchmarks
            for (db_id,), golds in benchmark.questions.drop_nulls("gold_sql")
            .unique(["db_id", "gold_sql"], maintain_order=True)
            .group_by("db_id", maintain_order=True)
        ]
        made = []
        for benchmark, db_id, golds in track(parts, len(parts), "round trips"):
            part = part_name(benchmark.name, db_id)
            rows = list(_database_rows(benchmark, db_id, golds, names, executor, limits))
            run.write_part("roundtrip", part, rows)
            made.append(run.read_part("roundtrip", part))
    return pl.concat(made) if made else pl.DataFrame(schema=dtypes("roundtrip"))


def fidelity(rows: pl.DataFrame) -> pl.DataFrame:
    """The share of golds that keep their rows, per method and engine.

    n: distinct golds less the ambiguous and those not judged (the engine or the database is away). share: equal / n in
    percent. different: silent changes. plan_kept: golds whose plan comes back from its SQL, JSON and RelJson.
    informative: those of n whose answer says something (`same_rows`); informative_share: the share of equal ones of them.
    """

    def count(outcome: str) -> pl.Expr:
        return (pl.col("outcome") == outcome).sum().alias(outcome)

    is_judged = ~pl.col("outcome").is_in(["ambiguous", "not_judged"]) & pl.col("is_informative").fill_null(False)
    outcomes = ("equal", "different", "error", "refused", "gold_failed", "ambiguous", "not_judged")
    table = rows.group_by("method", "engine", maintain_order=True).agg(
        pl.len().alias("golds"),
        *map(count, outcomes),
        pl.col("plan_fault").is_null().sum().alias("plan_kept"),
        is_judged.sum().alias("informative"),
        (100 * (pl.col("outcome").filter(is_judged) == "equal").mean()).round(2).alias("informative_share"),
    )
    n = pl.col("golds") - pl.col("ambiguous") - pl.col("not_judged")
    share = pl.when(n > 0).then((100 * pl.col("equal") / n).round(2))
    kept = pl.when(pl.col("method") == "plan").then("plan_kept")
    return table.with_columns(n=n, share=share, plan_kept=kept).select(
        "method", "engine", "golds", "n", "share", "informative", "informative_share", *outcomes, "plan_kept"
    )


def ambiguous_golds(rows: pl.DataFrame) -> pl.DataFrame:
    """The golds that leave the denominator, and what shows that SQLite has several answers to them."""
    listed = rows.filter(pl.col("ambiguous").is_not_null())
    return listed.select("benchmark", "db_id", "gold_sql", "ambiguous").unique(maintain_order=True)


def _database_rows(
    benchmark: Benchmark, db_id: str, golds: dict[str, dict], engines: list[str], executor: Executor, limits: Limits
) -> Iterator[dict]:
    about = {"benchmark": benchmark.name, "db_id": db_id}
    try:
        path, schema = benchmark.database_path(db_id), benchmark.schema(db_id)
    except BenchmarkError as fault:
        for sql in golds:
            for method in ("plan", *METHODS):
                for engine in engines:
                    verdict = {"outcome": "not_judged", "reason": str(fault), "method": method, "engine": engine}
                    yield about | {"gold_sql": sql} | verdict
        return
    known = {sql: _read_gold(sql, schema) for sql in golds}
    for sql, question in golds.items():
        known[sql].question_class = question_class(question)
    _run_golds(known, db_id, path, executor)
    _find_orders(known, db_id, path, schema, executor)
    _find_ambiguous(known, path, limits)
    waiting, done = {}, {}
    for gold in known.values():
        for method in ("plan", *METHODS):
            for engine in engines:
                row = about | {"gold_sql": gold.sql, "method": method, "engine": engine, "plan_fault": gold.plan_fault}
                row |= {"engine_version": executor.versions.get(engine), "ambiguous": gold.ambiguous}
                row |= {"is_ordered": gold.keys is not None, "plan": gold.plan and gold.plan.to_json()}
                key = (gold.sql, method, engine)
                try:
                    row["sql"] = _written(gold, schema, method, engine)
                except WorkbenchError as fault:
                    done[key] = row | _judged(gold, row, None, str(fault))
                else:
                    waiting[key] = row
    statements = (Statement(key[2], db_id, path, row["sql"], tag=key) for key, row in list(waiting.items()))
    for statement, execution in executor.run_many(statements):
        gold = known[statement.tag[0]]
        row = waiting.pop(statement.tag)
        done[statement.tag] = row | _judged(gold, row, execution, None)
    for key, row in waiting.items():
        why = (
            executor.unavailable.get(key[2]) or executor.unprepared.get((key[2], db_id)) or "the engine gave no answer"
        )
        done[key] = row | {"outcome": "not_judged", "reason": why}
    yield from (done[sql, method, engine] for sql in known for method in ("plan", *METHODS) for engine in engines)


def _written(gold: Gold, schema: Schema, method: str, engine: str) -> str:
    if method != "plan":
        return METHODS[method](gold.sql, schema, BACKENDS[engine].dialect)
    if gold.plan is None:
        raise ParseError(gold.plan_fault)
    return plan_to_sql(gold.plan, engine)


def _read_gold(sql: str, schema: Schema) -> Gold:
    """The gold's plan, what SQLite is asked about it, and whether its SQL, JSON and RelJson lead back to it."""
    gold = Gold(sql)
    try:
        gold.plan = sql_to_plan(sql, schema)
    except WorkbenchError as fault:
        gold.plan_fault = str(fault)
        return gold
    for name, lead_back in FACES.items():
        try:
            if lead_back(gold.plan, schema) != gold.plan:
                gold.plan_fault = f"another plan comes back from its {name}"
        except WorkbenchError as fault:
            gold.plan_fault = f"{name}: {fault}"
    keyed = order_keys(gold.plan)
    try:
        gold.sqlite_sql = plan_to_sql(gold.plan)
        gold.keys_sql = plan_to_sql(keyed) if keyed is not None else None
    except UnsupportedError as fault:
        gold.plan_fault = str(fault)
    gold.collations = tuple(one.collation for one in keyed.fields) if keyed is not None else ()
    return gold


def order_keys(plan: Plan) -> Plan | None:
    """A plan of the sort keys of the plan's rows, in their order; None where the plan asks for no order."""

    def find(node: Relation) -> Relation | None:
        if isinstance(node, With):
            inner = find(node.input)
            return inner and replace(node, input=inner)
        if isinstance(node, Project):
            return find(node.input)
        if isinstance(node, Sort) and node.keys:
            return Project(node, tuple(Item(key.value, f"key{number}") for number, key in enumerate(node.keys)))
        return None

    found = find(plan.root)
    return Plan(found) if found is not None else None


def _run_golds(known: dict[str, Gold], db_id: str, path: Path, executor: Executor) -> None:
    """Gold, its sort keys and its plan on SQLite."""
    statements = []
    for gold in known.values():
        texts = {"gold": gold.sql, "keys": gold.keys_sql, "plan": gold.sqlite_sql}
        statements += [
            Statement("sqlite", db_id, path, sql, tag=(gold.sql, word)) for word, sql in texts.items() if sql
        ]
    for statement, execution in executor.run_many(statements):
        sql, word = statement.tag
        known[sql].executions[word] = execution
    for gold in known.values():
        gold.keys = _keys(gold)


def _keys(gold: Gold) -> list[Hashable] | None:
    """One key a row of gold. A gold with an ORDER BY at its end whose keys are not known is in the order of its rows."""
    rows, found = (gold.executions.get(word) for word in ("gold", "keys"))
    if rows is None or rows.table is None:
        return None
    if found is not None and found.table is not None and found.table.height == rows.table.height:
        return [tuple(map(_collated, row, gold.collations)) for row in found.table.rows()]
    last_order = [match.end() for match in _ORDER_BY.finditer(gold.sql)][-1:]
    is_at_end = bool(last_order) and gold.sql.count(")", last_order[0]) <= gold.sql.count("(", last_order[0])
    return list(range(rows.table.height)) if is_at_end else None


def _collated(value: object, collation: str | None) -> Hashable:
    if isinstance(value, str) and collation == "nocase":
        value = "".join(letter.lower() if letter.isascii() else letter for letter in value)
    if isinstance(value, str) and collation == "rtrim":
        value = value.rstrip(" ")
    return value_key(value)


def _find_orders(known: dict[str, Gold], db_id: str, path: Path, schema: Schema, executor: Executor) -> None:
    """What DF-Match needs of golds whose question asks for an order."""
    golds = {}
    for gold in known.values():
        found = gold.executions.get("gold")
        if gold.question_class.is_ordered and found is not None and found.table is not None:
            golds[gold.sql] = found.table
    for sql, order in run_orders(executor, db_id, path, golds, schema.collations).items():
        known[sql].order = order


def _find_ambiguous(known: dict[str, Gold], path: Path, limits: Limits) -> None:
    test = AmbiguityTest(path, limits.seconds)
    try:
        for gold in known.values():
            rows, planned = (gold.executions.get(word) for word in ("gold", "plan"))
            if rows is None or rows.table is None:
                continue
            is_planned = planned is not None and planned.table is not None
            is_planned = is_planned and difference(planned.table.rows(), rows.table.rows()) is None
            gold.ambiguous = test(gold.sql, gold.plan if is_planned else None, gold.keys)
    finally:
        test.close()


def _judged(gold: Gold, about: dict, execution: Execution | None, refusal: str | None) -> dict[str, object]:
    """outcome, reason, the verdicts of both metrics, and both results where they differ. about: sql and engine."""
    reference = gold.executions.get("gold")
    if reference is None:
        return {"outcome": "not_judged", "reason": "gold was not run"}
    if reference.table is None:
        return {"outcome": "gold_failed", "reason": f"{reference.status}: {reference.message}"}
    row: dict[str, object] = {"gold_rows": reference.table.height}
    row["is_informative"] = is_informative(reference.table.rows())
    table = execution.table if execution is not None else None
    if refusal is not None:
        row |= {"outcome": "refused", "reason": refusal}
    elif table is None:
        row |= {"outcome": "error", "reason": f"{execution.status}: {execution.message}"}
    else:
        rows, expected = table.rows(), reference.table.rows()
        found = difference(rows, expected, gold.keys)
        row |= {"outcome": "equal" if found is None else "different", "reason": found, "rows": table.height}
        if found is not None:
            row |= {"gold_result": repr(expected[:SHOWN_ROWS]), "result": repr(rows[:SHOWN_ROWS])}
    row |= _both_metrics(gold, about, execution, reference)
    if gold.ambiguous is not None:
        row |= {"outcome": "ambiguous", "reason": gold.ambiguous}
    return row


def _both_metrics(gold: Gold, about: dict, execution: Execution | None, reference: Execution) -> dict[str, bool | None]:
    pair = PairResults(
        engine=about["engine"],
        dialect=BACKENDS[about["engine"]].dialect,
        sql=about.get("sql"),
        gold_sql=gold.sql,
        predicted=execution,
        gold=reference,
        own_gold=reference,
        is_same_engine=about["engine"] == "sqlite",
        is_ordered=gold.question_class.is_ordered,
        is_row_count_fixed=gold.question_class.is_row_count_fixed,
        order=gold.order,
    )
    return both_metrics(pair)
