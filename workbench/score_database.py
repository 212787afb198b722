"""Judges the pairs of one database: golds first, then what is known of their order, then predictions as they come in.

In: generations of one database, an executor. Out: the parts of `executions` and `scores` that belong to it. A gold runs on
SQLite, whose result DF-Match compares with, and where the benchmark ships a gold for the prediction's engine, there too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property

import polars as pl

from workbench import judge
from workbench.backends import BACKENDS
from workbench.backends.base import Execution, Limits
from workbench.benchmarks import Benchmark
from workbench.error_categories import Categoriser
from workbench.error_columns import error_columns, is_error, is_sorted
from workbench.errors import BenchmarkError
from workbench.execute import Executor, Statement
from workbench.gold_order import GoldOrder
from workbench.instances import make_instances, suite_verdicts
from workbench.question_class import QuestionClass, question_class
from workbench.result_table import ResultTable
from workbench.results import Run, content_hash, part_name
from workbench.run_orders import run_orders
from workbench.schema import Schema
from workbench.spider_sql import SpiderNames, spider_names
from workbench.sqlite_source import database_hash

SCORE_VERSION = 4  # raise when the same results would be judged differently
REFERENCE = "sqlite"  # the engine whose gold result DF-Match compares with
NO_GOLD = "the question has no gold query"
UNSETTLED = (None, "crashed")  # outcomes of a gold that say nothing on it: it is run again next time
_MODEL_COLUMNS = ("model", "params_b", "weights", "regime", "is_simulated", "target", "dialect", "question_id", "db_id")


@dataclass
class Scored:
    """What a step did.

    not_judged: rows without a verdict, tried again next time. unavailable: engine -> why it could not be used.
    unprepared: (engine, db_id) -> why the database is not in the engine. unstored: why results were not cached.
    is_whole: whether every pair with a gold has a verdict. further: answers beyond the first of a prompt, never judged.
    """

    judged: int = 0
    kept: int = 0
    not_judged: int = 0
    unavailable: dict[str, str] = field(default_factory=dict)
    unprepared: dict[tuple[str, str], str] = field(default_factory=dict)
    unstored: str | None = None
    is_whole: bool = True
    further: int = 0

    def __str__(self) -> str:
        absent = "".join(f"\n{engine} could not be used: {reason}" for engine, reason in self.unavailable.items())
        absent += "".join(f"\n{db_id} is not in {engine}: {why}" for (engine, db_id), why in self.unprepared.items())
        absent += f"\nresults will have to be run again, they were not cached: {self.unstored}" if self.unstored else ""
        unjudged = f", {self.not_judged} could not be judged" if self.not_judged else ""
        unjudged += f", {self.further} further samples left out: the first of each is judged" if self.further else ""
        return f"{self.judged} rows judged, {self.kept} kept{unjudged}{absent}"


@dataclass(frozen=True)
class Pair:
    """One row of `scores` to be: a generation on an engine, and the golds' rows of `executions` it is compared with."""

    generation: dict
    engine: str
    gold: dict
    own_gold: dict
    question_class: QuestionClass
    input_hash: str

    @property
    def question_id(self) -> str:
        return self.generation["question_id"]

    @property
    def sql(self) -> str | None:
        return predicted_sql(self.generation, self.engine)

    @property
    def dialect(self) -> str:
        """sqlglot's name for what the prediction is written in."""
        return BACKENDS[self.generation["dialect"] or self.engine].dialect

    @property
    def golds(self) -> list[dict]:
        return [self.gold, self.own_gold] if self.own_gold is not self.gold else [self.gold]


def predicted_sql(generation: dict, engine: str) -> str | None:
    """What is run on an engine: the SQL as the model wrote it, or its plan's SQL; none where the artefact is not ok."""
    if generation["parse_status"] != "ok":
        return None
    return generation[f"sql_{engine}"] if generation["target"] == "plan" else generation["artefact"]


def why_no_sql(generation: dict, engine: str) -> str:
    """In words, why a generation has nothing to run on an engine."""
    if generation["parse_status"] != "ok":
        return ": ".join(filter(None, (generation["parse_status"], generation["parse_message"])))
    refusals = dict(line.split(": ", 1) for line in (generation["sql_refusals"] or "").splitlines())
    return f"unsupported: {refusals.get(engine, 'no reason is stored')}"


class Database:
    """Scoring of one database: what its rows share."""

    def __init__(
        self,
        run: Run,
        executor: Executor,
        limits: Limits,
        benchmark: Benchmark,
        db_id: str,
        asked: pl.DataFrame,
        gold_engines: dict[str, str],
        instances: int = 0,
    ):
        """instances: how many more of the database a prediction on SQLite must be right on for `test_suite`."""
        self.instances = instances
        self.run, self.executor, self.limits, self.db_id, self.gold_engines = run, executor, limits, db_id, gold_engines
        self.questions = {row["question_id"]: row for row in asked.iter_rows(named=True)}
        self.classes = {question_id: question_class(row) for question_id, row in self.questions.items()}
        self.stated_tables = benchmark.stated_tables(db_id)
        self.unsorted: dict[tuple[str, str], tuple[Pair, dict, dict]] = {}  # stored rows whose error other rules named
        self.golds: dict[str, dict[str, dict]] = {}  # gold engine -> question id -> row of executions
        try:
            self.path = benchmark.database_path(db_id)
            self.contents, self.missing = database_hash(self.path), None
        except BenchmarkError as error:
            self.path = self.contents = None
            self.missing = str(error)

    def score(self, groups: list[tuple[str, list[dict]]], done: Scored) -> None:
        """Make the parts of the database: golds first, then the predictions that are new, judged as results come in."""
        parts: dict[str, list[Pair]] = {}
        todo: dict[tuple[str, str], Pair] = {}
        for engine, rows in groups:
            first = rows[0]
            part = part_name(first["model"], first["target"], first["dialect"], self.db_id, engine)
            parts[part] = [self._pair(row, engine) for row in rows]
            current = self._current(part, parts[part])
            done.kept += len(current)
            todo |= {(part, pair.question_id): pair for pair in parts[part] if pair.question_id not in current}
        scores, executions = defaultdict(dict), defaultdict(dict)
        for (part, question_id), pair, predicted, verdict in self._judge_all(todo):
            scored = self._score_row(pair, predicted, verdict)
            executed = executions[part][question_id] = self._execution_row(
                pair.generation, "prediction", pair.engine, pair.sql, predicted, pair.input_hash
            )
            scores[part][question_id] = self._with_error(pair, scored, executed)
            is_judged = verdict["outcome"] != "not_judged"
            done.judged += is_judged
            done.not_judged += not is_judged
            done.is_whole &= is_judged or verdict["reason"] == NO_GOLD
        for (part, question_id), row in self.unsorted.items():
            scores[part][question_id] = self._with_error(*row)
        for part, pairs in parts.items():
            ids = [pair.question_id for pair in pairs]
            self.run.merge_part("executions", part, ids, executions[part])
            self.run.merge_part("scores", part, ids, scores[part])

    def _pair(self, generation: dict, engine: str) -> Pair:
        question_id = generation["question_id"]
        gold, own = (self._gold_rows(each)[question_id] for each in (REFERENCE, self.gold_engines[engine]))
        found = self.classes[question_id]
        decided = [gold["input_hash"], own["input_hash"], *found]
        decided += [self.instances] if self.instances and engine == REFERENCE else []
        return Pair(
            generation, engine, gold, own, found, self._hash(engine, predicted_sql(generation, engine), *decided)
        )

    def _gold_rows(self, engine: str) -> dict[str, dict]:
        """The golds' rows of `executions` on one engine, by question id; those that are new are run and stored."""
        if engine in self.golds:
            return self.golds[engine]
        part = part_name("gold", self.db_id, engine)
        stored = {row["question_id"]: row for row in self.run.read_part("executions", part).iter_rows(named=True)}
        about = dict.fromkeys(_MODEL_COLUMNS) | {"db_id": self.db_id}
        rows, todo = {}, []
        for question_id, question in self.questions.items():
            sql = question["gold_sql" if engine == "sqlite" else f"gold_sql_{engine}"]
            row = self._execution_row(
                about | {"question_id": question_id}, "gold", engine, sql, None, self._hash(engine, sql)
            )
            old = stored.get(question_id)
            is_same = old is not None and old["input_hash"] == row["input_hash"] and old["status"] not in UNSETTLED
            if is_same or (old is not None and engine in self.executor.unavailable):
                row = old
            elif self._can_run(engine, sql):
                todo.append(Statement(engine, self.db_id, self.path, sql, tag=question_id))
            rows[question_id] = row
        made = {}
        for statement, execution in self.executor.run_many(todo):
            made[statement.tag] = rows[statement.tag] = rows[statement.tag] | _outcome(execution)
        made |= {i: row for i, row in rows.items() if i not in stored}
        self.run.merge_part("executions", part, list(self.questions), made)
        self.golds[engine] = rows
        return rows

    def _current(self, part: str, pairs: list[Pair]) -> set[str]:
        """Ids of the questions whose stored rows still hold. What was judged stays when its engine is away for now."""
        stored = [
            {row["question_id"]: row for row in self.run.read_part(table, part).iter_rows(named=True)}
            for table in ("scores", "executions")
        ]
        current = set()
        for pair in pairs:
            scored, executed = (rows.get(pair.question_id) for rows in stored)
            if scored is None or executed is None or scored["outcome"] == "not_judged":
                continue
            if (
                "crashed" in (scored["predicted_status"], scored["gold_status"])
                and pair.engine in self.executor.versions
            ):
                continue
            is_same = scored["input_hash"] == executed["input_hash"] == pair.input_hash
            if is_same or pair.engine in self.executor.unavailable:
                current.add(pair.question_id)
                if is_same and self.path is not None and not is_sorted(scored):
                    self.unsorted[part, pair.question_id] = pair, scored, executed
        return current

    def _judge_all(self, todo: dict[tuple, Pair]) -> Iterator[tuple[tuple, Pair, Execution | None, dict]]:
        """Judge pairs as the results of their predictions come in; those that need no run or cannot be run come last."""
        golds = self._gold_results(todo.values())
        orders = self._orders(todo.values(), golds)
        suites = self._suites(todo, golds)
        same = defaultdict(list)  # equal predictions run once, and are judged once for each question
        for key, pair in todo.items():
            if self._can_run(pair.engine, pair.sql):
                same[pair.engine, pair.sql].append(key)
        statements = [
            Statement(engine, self.db_id, self.path, sql, tag=tuple(keys)) for (engine, sql), keys in same.items()
        ]
        left = dict(todo)
        for statement, execution in self.executor.run_many(statements):
            verdicts = {}
            for key in statement.tag:
                pair = left.pop(key)
                about = pair.question_id, pair.dialect, pair.generation["error"]
                if about not in verdicts:
                    verdicts[about] = self._judge(pair, execution, golds, orders)
                yield key, pair, execution, verdicts[about] | {"test_suite": suites.get(key)}
        for key, pair in left.items():
            yield key, pair, None, self._judge(pair, None, golds, orders) | {"test_suite": suites.get(key)}

    def _gold_results(self, pairs: Iterable[Pair]) -> dict[tuple[str, str], Execution]:
        """The golds' results by engine and question id, from the cache as a rule; those that failed are not run again."""
        needed = {
            (gold["engine"], pair.question_id): gold["sql"]
            for pair in pairs
            for gold in pair.golds
            if gold["status"] == "ok"
        }
        statements = [
            Statement(engine, self.db_id, self.path, sql, tag=(engine, i)) for (engine, i), sql in needed.items()
        ]
        return {statement.tag: execution for statement, execution in self.executor.run_many(statements)}

    def _orders(self, pairs: Iterable[Pair], golds: dict[tuple[str, str], Execution]) -> dict[str, GoldOrder]:
        """What is known of the order of golds whose questions ask for one, by question id; their queries run once."""
        asked: dict[str, ResultTable] = {}
        by_question: dict[str, str] = {}
        for pair in pairs:
            gold = golds.get((REFERENCE, pair.question_id))
            if pair.question_class.is_ordered and gold is not None and gold.status == "ok":
                by_question[pair.question_id] = pair.gold["sql"]
                asked[pair.gold["sql"]] = gold.table
        if not asked:
            return {}
        orders = run_orders(self.executor, self.db_id, self.path, asked, self.schema.collations)
        return {question_id: orders[sql] for question_id, sql in by_question.items()}

    def _suites(self, todo: dict[tuple, Pair], golds: dict[tuple[str, str], Execution]) -> dict[tuple, bool]:
        """The test-suite verdicts on SQLite, where instances are asked for; a prediction without SQL is wrong."""
        pairs = {key: pair for key, pair in todo.items() if pair.engine == REFERENCE and pair.gold["status"] == "ok"}
        if not self.instances or not pairs or REFERENCE in self.executor.unavailable:
            return {}
        known = [row["gold_sql"] for row in self.questions.values() if row["gold_sql"] is not None]
        paths = [self.path, *make_instances(self.path, known, self.instances)]
        asked = {key: (pair.sql, pair.gold["sql"]) for key, pair in pairs.items() if pair.sql is not None}
        return dict.fromkeys(pairs.keys() - asked.keys(), False) | suite_verdicts(
            self.executor, self.db_id, paths, asked
        )

    @cached_property
    def schema(self) -> Schema:
        return Schema.from_sqlite(self.path)

    @cached_property
    def categoriser(self) -> Categoriser:
        return Categoriser(self.schema)

    @cached_property
    def spider_names(self) -> SpiderNames:
        return spider_names(self.schema, self.stated_tables)

    def _judge(
        self,
        pair: Pair,
        predicted: Execution | None,
        golds: dict[tuple[str, str], Execution],
        orders: dict[str, GoldOrder],
    ) -> dict:
        """The columns that `judge` gives, or why there is no verdict."""
        reason = self._why_not_judged(pair)
        if reason is not None:
            return judge.unjudged("not_judged", reason)
        gold, own = (
            golds.get((row["engine"], pair.question_id)) or Execution(row["status"], message=row["message"])
            for row in (pair.gold, pair.own_gold)
        )
        found = judge.PairResults(
            engine=pair.engine,
            dialect=pair.dialect,
            sql=pair.sql,
            gold_sql=pair.gold["sql"],
            predicted=predicted,
            gold=gold,
            own_gold=own,
            is_same_engine=pair.engine == pair.own_gold["engine"],
            is_ordered=pair.question_class.is_ordered,
            is_row_count_fixed=pair.question_class.is_row_count_fixed,
            order=orders.get(pair.question_id, GoldOrder()),
            names=self.spider_names,
            no_sql="" if pair.sql is not None else why_no_sql(pair.generation, pair.engine),
        )
        try:
            return judge.judge(found)
        except Exception as fault:  # noqa: BLE001 a bad pair never stops the run: it says so in its row
            return judge.unjudged("not_judged", f"the pair could not be compared: {type(fault).__name__}: {fault}")

    def _with_error(self, pair: Pair, scored: dict, executed: dict) -> dict:
        """A row of `scores` with what kind of error the pair makes."""
        if not is_error(scored):
            return scored
        return scored | error_columns(self.categoriser, pair.generation, scored, executed, pair.gold)

    def _why_not_judged(self, pair: Pair) -> str | None:
        """What stands between this pair and a verdict, other than the two statements themselves."""
        if self.missing:
            return self.missing
        if pair.generation["error"]:
            return f"the model gave no answer: {pair.generation['error']}"
        if any(gold["sql"] is None for gold in pair.golds):
            return NO_GOLD
        for engine in (pair.engine, *(gold["engine"] for gold in pair.golds)):
            if engine in self.executor.unavailable:
                return f"{engine}: {self.executor.unavailable[engine]}"
            if (engine, self.db_id) in self.executor.unprepared:
                return self.executor.unprepared[engine, self.db_id]
        for gold in pair.golds:
            if gold["status"] in UNSETTLED:
                return f"the gold query was not run to its end: {gold['message'] or 'no answer'}"
        return None

    def _can_run(self, engine: str, sql: str | None) -> bool:
        return sql is not None and self.path is not None and engine not in self.executor.unavailable

    def _hash(self, engine: str, sql: str | None, *more: str) -> str:
        version = self.executor.versions.get(engine)
        return content_hash(SCORE_VERSION, engine, version, self.contents, sql, asdict(self.limits), *more)

    def _execution_row(
        self, about: dict, role: str, engine: str, sql: str | None, execution: Execution | None, input_hash: str
    ) -> dict:
        row = {key: about[key] for key in _MODEL_COLUMNS}
        row |= {
            "role": role,
            "engine": engine,
            "engine_version": self.executor.versions.get(engine),
            "sql": sql,
            "input_hash": input_hash,
        }
        return row | _outcome(execution)

    def _score_row(self, pair: Pair, predicted: Execution | None, verdict: dict) -> dict:
        question = self.questions[pair.question_id]
        row = {key: pair.generation[key] for key in _MODEL_COLUMNS}
        return row | {
            "benchmark": question["benchmark"],
            "difficulty": question["difficulty"],
            "question_class": pair.question_class.name,
            "class_source": pair.question_class.source,
            "engine": pair.engine,
            "engine_version": self.executor.versions.get(pair.engine),
            "gold_engine": pair.own_gold["engine"],
            **verdict,
            "predicted_status": predicted and predicted.status,
            "gold_status": pair.own_gold["status"],
            "gold_rows": pair.gold["rows"],
            "input_hash": pair.input_hash,
        }


def _outcome(execution: Execution | None) -> dict:
    """The columns of `executions` that a run fills; all null where the statement was not run."""
    if execution is None:
        return dict.fromkeys(("status", "message", "rows", "result_key", "seconds"))
    rows = execution.table.height if execution.table is not None else None
    return {
        "status": execution.status,
        "message": execution.message,
        "rows": rows,
        "result_key": execution.key,
        "seconds": execution.seconds,
    }
