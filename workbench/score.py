"""Judge what was generated: run predictions and golds on the engines, compare, store `executions` and `scores`.

Work goes database by database, golds first. A row is made again only when what decides it has changed: the two statements,
the database's contents, the engine's version, the limits, or the rules. Executed results are cached by content, so a row
that is judged again is not always run again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import polars as pl

from workbench.backends import BACKENDS
from workbench.backends.base import Execution, Limits
from workbench.benchmarks import Benchmark, read_benchmark
from workbench.errors import BenchmarkError, ConfigError, ResultsError
from workbench.execute import Executor, Statement
from workbench.generate import store_questions
from workbench.header import describe_run
from workbench.metrics import bird_ex, first_difference, normalise
from workbench.progress import track
from workbench.results import Run, content_hash, part_name
from workbench.sqlite_source import database_hash

SCORE_VERSION = 1  # raise when the same results would be judged differently
NO_GOLD = "the question has no gold query"
UNSETTLED = (None, "crashed")  # outcomes of a gold that say nothing on it: it is run again next time
_MODEL_COLUMNS = ("model", "params_b", "weights", "regime", "is_simulated", "target", "dialect", "question_id", "db_id")


@dataclass
class Scored:
    """What a step did.

    not_judged: rows without a verdict, tried again next time. unavailable: engine -> why it could not be used.
    unprepared: (engine, db_id) -> why the database is not in the engine. unstored: why results were not cached.
    is_whole: whether every pair with a gold has a verdict.
    """

    judged: int = 0
    kept: int = 0
    not_judged: int = 0
    unavailable: dict[str, str] = field(default_factory=dict)
    unprepared: dict[tuple[str, str], str] = field(default_factory=dict)
    unstored: str | None = None
    is_whole: bool = True

    def __str__(self) -> str:
        absent = "".join(f"\n{engine} could not be used: {reason}" for engine, reason in self.unavailable.items())
        absent += "".join(f"\n{db_id} is not in {engine}: {why}" for (engine, db_id), why in self.unprepared.items())
        absent += f"\nresults will have to be run again, they were not cached: {self.unstored}" if self.unstored else ""
        unjudged = f", {self.not_judged} could not be judged" if self.not_judged else ""
        return f"{self.judged} rows judged, {self.kept} kept{unjudged}{absent}"


@dataclass(frozen=True)
class Verdict:
    """outcome: one of the pair outcomes. bird_ex: null exactly where not judged. reason: in words."""

    outcome: str
    bird_ex: bool | None
    reason: str


@dataclass(frozen=True)
class Pair:
    """One row of `scores` to be: a generation on an engine, and the gold's row of `executions` it is compared with."""

    generation: dict
    engine: str
    gold: dict
    input_hash: str

    @property
    def question_id(self) -> str:
        return self.generation["question_id"]

    @property
    def sql(self) -> str | None:
        return predicted_sql(self.generation, self.engine)


def score(run: Run | str | Path, engines: Sequence[str] | None = None, limits: Limits | None = None) -> Scored:
    """Judge every generation of a run on every engine; an engine that is absent is named and its rows stay unjudged.

    engines: those the predictions were written for, where not given; all where there are plans only. Predictions for one
    dialect only are run as written on the other engines asked for; of a plan, the SQL that it was compiled to for each.
    """
    run, limits = Run.open(run), limits or Limits()
    benchmark = benchmark_of(run)
    with run.locked():
        questions = store_questions(run, benchmark, limit=run.header.get("question_limit"))
        generations = run.table("generations").join(
            questions.select("question_id"), on="question_id", how="semi", maintain_order="left"
        )
        generations = generations.filter(pl.col("sample").fill_null(0) == 0)  # of several samples the first is judged
        if generations.is_empty():
            raise ResultsError(
                "has no generations to score", where=run.path, hint="workbench import or workbench generate first"
            )
        engines = list(dict.fromkeys(engines or written_for(generations)))
        if not engines:
            raise ConfigError("its predictions are for no engine there is", hint=f"available: {', '.join(BACKENDS)}")
        for engine in engines:
            if engine not in BACKENDS:
                raise ConfigError(f"there is no engine {engine!r}", hint=f"available: {', '.join(BACKENDS)}")
        _drop_orphans(run, generations)
        gold_engines = {engine: _gold_engine(engine, questions) for engine in engines}
        with Executor(list(dict.fromkeys([*engines, *gold_engines.values()])), limits) as executor:
            describe_run(run, engines=executor.versions, limits=asdict(limits))
            done = Scored(unavailable=executor.unavailable, unprepared=executor.unprepared)
            batches = _batches(generations, engines)
            for db_id, groups in track(batches, len(batches), "scoring"):
                asked = questions.filter(pl.col("db_id") == db_id)
                _Database(run, executor, limits, benchmark, db_id, asked, gold_engines).score(groups, done)
            done.unstored = executor.unstored
    return done


def is_whole(run: Run) -> bool:
    """Whether every stored pair with a gold has a verdict."""
    return run.table("scores").filter(pl.col("reason") != NO_GOLD, outcome="not_judged").is_empty()


def benchmark_of(run: Run) -> Benchmark:
    """The benchmark a run was made from, read again from where it lay."""
    about = run.header.get("benchmark")
    if not about:
        raise ResultsError(
            "names no benchmark yet", where=run.path, hint="workbench import or workbench generate first"
        )
    return read_benchmark(**about["origin"])


def dialect_for(engine: str, written: Sequence[str]) -> str | None:
    """Which of the dialects a model wrote is run on an engine: the engine's own, else SQLite's as written, else none."""
    return next((dialect for dialect in (engine, "sqlite") if dialect in written), None)


def _batches(generations: pl.DataFrame, engines: list[str]) -> list[tuple[str, list[tuple[str, list[dict]]]]]:
    """Per database: (engine, the rows of one model, target and dialect) for each part to be."""
    written: dict[tuple, list[str]] = defaultdict(list)
    for model, target, dialect in generations.select("model", "target", "dialect").unique(maintain_order=True).rows():
        written[model, target].append(dialect)
    by_db: dict[str, list] = defaultdict(list)
    for (model, target, dialect, db_id), group in generations.group_by(
        "model", "target", "dialect", "db_id", maintain_order=True
    ):
        for engine in engines:
            if dialect is None or dialect == dialect_for(engine, written[model, target]):
                by_db[db_id].append((engine, group.rows(named=True)))
    used = {engine for groups in by_db.values() for engine, _ in groups}
    for engine in engines:
        if engine not in used:
            raise ConfigError(
                f"nothing in the run can be scored on {engine}", hint="its predictions are for other dialects"
            )
    return sorted(by_db.items())


def written_for(generations: pl.DataFrame) -> list[str]:
    """The engines whose dialects the generations are in; of plans alone, all."""
    written = [name for name in sorted(generations["dialect"].drop_nulls().unique()) if name in BACKENDS]
    return written or (list(BACKENDS) if "plan" in generations["target"] else [])


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


def _gold_engine(engine: str, questions: pl.DataFrame) -> str:
    """Where the gold runs: on the engine itself if the benchmark ships a gold for it, else on SQLite."""
    column = f"gold_sql_{engine}"
    return engine if column in questions.columns and questions[column].is_not_null().any() else "sqlite"


def _gold_sql(question: dict, engine: str) -> str | None:
    return question["gold_sql"] if engine == "sqlite" else question[f"gold_sql_{engine}"]


def _drop_orphans(run: Run, generations: pl.DataFrame) -> None:
    """Delete the parts whose generations are gone."""
    keys = generations.select("model", "target", "dialect", "db_id").unique().rows()
    wanted = {part_name(*key, engine) for key in keys for engine in BACKENDS}
    wanted |= {part_name("gold", db_id, engine) for *_, db_id in keys for engine in BACKENDS}
    for table in ("executions", "scores"):
        for part in set(run.parts(table)) - wanted:
            run.drop_part(table, part)


class _Database:
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
    ):
        self.run, self.executor, self.limits, self.db_id, self.gold_engines = run, executor, limits, db_id, gold_engines
        self.questions = {row["question_id"]: row for row in asked.iter_rows(named=True)}
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
            scores[part][question_id] = self._score_row(pair, predicted, verdict)
            executions[part][question_id] = self._execution_row(
                pair.generation, "prediction", pair.engine, pair.sql, predicted, pair.input_hash
            )
            done.judged += verdict.outcome != "not_judged"
            done.not_judged += verdict.outcome == "not_judged"
            done.is_whole &= verdict.outcome != "not_judged" or verdict.reason == NO_GOLD
        for part, pairs in parts.items():
            ids = [pair.question_id for pair in pairs]
            self.run.merge_part("executions", part, ids, executions[part])
            self.run.merge_part("scores", part, ids, scores[part])

    def _pair(self, generation: dict, engine: str) -> Pair:
        gold = self._gold_rows(self.gold_engines[engine])[generation["question_id"]]
        sql = predicted_sql(generation, engine)
        return Pair(generation, engine, gold, self._hash(engine, sql, gold["input_hash"]))

    def _gold_rows(self, engine: str) -> dict[str, dict]:
        """The golds' rows of `executions` on one engine, by question id; those that are new are run and stored."""
        if engine in self.golds:
            return self.golds[engine]
        part = part_name("gold", self.db_id, engine)
        stored = {row["question_id"]: row for row in self.run.read_part("executions", part).iter_rows(named=True)}
        about = dict.fromkeys(_MODEL_COLUMNS) | {"db_id": self.db_id}
        rows, todo = {}, []
        for question_id, question in self.questions.items():
            sql = _gold_sql(question, engine)
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
        return current

    def _judge_all(self, todo: dict[tuple, Pair]) -> Iterator[tuple[tuple, Pair, Execution | None, Verdict]]:
        """Judge pairs as the results of their predictions come in; those that need no run or cannot be run come last."""
        golds = self._gold_results(todo.values())
        statements = [
            Statement(pair.engine, self.db_id, self.path, pair.sql, tag=key)
            for key, pair in todo.items()
            if self._can_run(pair.engine, pair.sql)
        ]
        left = dict(todo)
        for statement, execution in self.executor.run_many(statements):
            pair = left.pop(statement.tag)
            gold = golds.get((pair.gold["engine"], pair.question_id))
            yield statement.tag, pair, execution, self._judge(pair, execution, gold)
        for key, pair in left.items():
            yield key, pair, None, self._judge(pair, None, golds.get((pair.gold["engine"], pair.question_id)))

    def _gold_results(self, pairs: Iterable[Pair]) -> dict[tuple[str, str], Execution]:
        """The golds' results by engine and question id, from the cache as a rule; those that failed are not run again."""
        needed = {(p.gold["engine"], p.question_id): p.gold["sql"] for p in pairs if p.gold["status"] == "ok"}
        statements = [
            Statement(engine, self.db_id, self.path, sql, tag=(engine, i)) for (engine, i), sql in needed.items()
        ]
        return {statement.tag: execution for statement, execution in self.executor.run_many(statements)}

    def _judge(self, pair: Pair, predicted: Execution | None, gold: Execution | None) -> Verdict:
        """The verdict on one pair; failures count as wrong, as BIRD's script has it, but keep their own outcome."""
        reason = self._why_not_judged(pair)
        if reason is not None:
            return Verdict("not_judged", None, reason)
        status, message = (gold.status, gold.message) if gold else (pair.gold["status"], pair.gold["message"])
        if status != "ok":
            outcome = "gold_timeout" if status == "timeout" else "gold_failed"
            return Verdict(outcome, False, f"the gold query: {status}: {message}")
        if predicted is None:
            return Verdict("prediction_failed", False, f"no query: {why_no_sql(pair.generation, pair.engine)}")
        if predicted.status != "ok":
            return Verdict("prediction_failed", False, f"{predicted.status}: {predicted.message}")
        sides = [predicted.table.rows(), gold.table.rows()]
        if pair.engine != pair.gold["engine"]:
            sides = [normalise(rows) for rows in sides]
        is_equal = bird_ex(*sides)
        return Verdict("judged", is_equal, "equal sets of rows" if is_equal else first_difference(*sides))

    def _why_not_judged(self, pair: Pair) -> str | None:
        """What stands between this pair and a verdict, other than the two statements themselves."""
        if self.missing:
            return self.missing
        if pair.generation["error"]:
            return f"the model gave no answer: {pair.generation['error']}"
        if pair.gold["sql"] is None:
            return NO_GOLD
        for engine in (pair.engine, pair.gold["engine"]):
            if engine in self.executor.unavailable:
                return f"{engine}: {self.executor.unavailable[engine]}"
            if (engine, self.db_id) in self.executor.unprepared:
                return self.executor.unprepared[engine, self.db_id]
        if pair.gold["status"] in UNSETTLED:
            return f"the gold query was not run to its end: {pair.gold['message'] or 'no answer'}"
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

    def _score_row(self, pair: Pair, predicted: Execution | None, verdict: Verdict) -> dict:
        question = self.questions[pair.question_id]
        row = {key: pair.generation[key] for key in _MODEL_COLUMNS}
        return row | {
            "benchmark": question["benchmark"],
            "difficulty": question["difficulty"],
            "engine": pair.engine,
            "engine_version": self.executor.versions.get(pair.engine),
            "gold_engine": pair.gold["engine"],
            "bird_ex": verdict.bird_ex,
            "outcome": verdict.outcome,
            "reason": verdict.reason,
            "predicted_status": predicted and predicted.status,
            "gold_status": pair.gold["status"],
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


def explain(run: Run | str | Path, question_id: str) -> pl.DataFrame:
    """Every verdict on one question: engine, model, the statement that ran, its outcome, and the reason.

    The first rows are the golds. ResultsError for a question that the run does not hold.
    """
    run = Run.open(run)
    this = pl.col("question_id") == question_id
    questions = run.table("questions").filter(this)
    if questions.is_empty():
        known = run.table("questions")["question_id"].head(5).to_list()
        raise ResultsError(
            f"has no question {question_id!r}", where=run.path, hint=f"there are: {', '.join(known)}, ..."
        )
    executions = run.table("executions").filter(this)
    keys = ["model", "target", "dialect", "engine"]
    scores = run.table("scores").filter(this).select(*keys, "bird_ex", "outcome", "reason")
    golds = executions.filter(pl.col("role") == "gold").with_columns(
        reason=pl.lit("gold: ") + pl.col("status").fill_null("not run")
    )
    pairs = executions.filter(pl.col("role") == "prediction").join(scores, on=keys, how="left", nulls_equal=True)
    columns = ["engine", "model", "target", "dialect", "sql", "rows", "seconds", "outcome", "bird_ex", "reason"]
    table = pl.concat([golds, pairs], how="diagonal").select(columns)
    return table.sort("model", "target", "dialect", "engine", nulls_last=False)
