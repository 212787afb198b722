"""The results store: `results/<run>/` with run.json and parquet parts, and the one description of every column.

In: rows that a step has finished, as polars frames. Out: parts that are written whole and renamed into place, so that a
kill loses at most what was in flight. A part holds one batch (one model, target, dialect, engine and database) and every
row carries `input_hash`, the hash of all that decides it: a rerun redoes exactly the rows whose hash is new.
"""

import contextlib
import errno
import fcntl
import io
import json
import os
import re
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import polars as pl

from workbench import paths
from workbench.errors import ResultsError
from workbench.faults import kill_point

SCHEMA_VERSION = 1

_TEXT, _FLAG, _INT, _REAL = pl.String, pl.Boolean, pl.Int64, pl.Float64
_MODEL = {
    "run": (_TEXT, "name of the run's folder"),
    "model": (_TEXT, "name of the model or system"),
    "params_b": (_REAL, "total parameters in billions; null where unknown"),
    "weights": (_TEXT, "open | closed; null where unknown"),
    "regime": (_TEXT, "prompted | fine-tuned | purpose-built | imported (from a prediction file)"),
    "is_simulated": (_FLAG, "true where the answers are seeded edits of the gold and no model was asked"),
    "target": (_TEXT, "what the model was asked for: sql | plan"),
    "dialect": (_TEXT, "the SQL dialect it was asked for; null for plans"),
}
_INPUT_HASH = {
    "input_hash": (_TEXT, "SHA-256 of everything that decides this row; a rerun redoes rows whose hash is new")
}

TABLES: dict[str, dict[str, tuple[type[pl.DataType], str]]] = {
    "questions": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        "position": (_INT, "place of the question in the benchmark's file, from 0"),
        "question_id": (_TEXT, "the benchmark's id, or the position where it has none; unique"),
        "db_id": (_TEXT, "name of the database"),
        "question": (_TEXT, "the question in natural language"),
        "evidence": (_TEXT, "the hint that BIRD gives with a question"),
        "gold_sql": (_TEXT, "the benchmark's SQL for SQLite"),
        "gold_sql_postgres": (_TEXT, "the benchmark's own SQL for PostgreSQL, where it ships one"),
        "gold_sql_mysql": (_TEXT, "the benchmark's own SQL for MySQL, where it ships one"),
        "difficulty": (_TEXT, "the benchmark's own grade"),
        "is_ordered": (_FLAG, "whether the question asks for a ranked result"),
        "is_row_count_fixed": (_FLAG, "whether the question states the number of rows"),
        "class_source": (_TEXT, "where the two labels come from: hand | rules | llm; null where there are none"),
    },
    "gold_plans": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        "question_id": (_TEXT, "question whose gold it is"),
        "db_id": (_TEXT, "name of the database"),
        "plan": (_TEXT, "the gold's plan as compact JSON; null where it has none"),
        "refusal": (_TEXT, "why it has none, its first word one of the list of outcomes"),
        "sql_tokens": (_INT, "tokens of the gold's SQL, counted (tokens.py)"),
        "plan_tokens": (_INT, "tokens of its plan, counted"),
        **_INPUT_HASH,
    },
    "generations": {
        **_MODEL,
        "question_id": (_TEXT, "question that was asked"),
        "db_id": (_TEXT, "name of the database"),
        "sample": (_INT, "which of several answers to the same prompt, from 0; null for imported predictions"),
        "prompt_hash": (_TEXT, "SHA-256 of the messages; null for imported predictions"),
        "response": (_TEXT, "the answer as it came, of several attempts the last"),
        "thinking": (_TEXT, "the reasoning part of the answer"),
        "thinking_fault": (
            _TEXT,
            "what breaks the rules of the thinking mode asked for; null where they hold or none was",
        ),
        "artefact": (_TEXT, "the SQL or plan taken from the answer, as written; null where none was found"),
        "parse_status": (
            _TEXT,
            "ok | empty | refusal | no_sql | truncated | not_json | trailing_text | schema_violation | unknown_operator"
            + " | unknown_table | unknown_column | type_error | unsupported; only what is ok is run",
        ),
        "parse_message": (_TEXT, "why the artefact is not ok"),
        **{
            f"sql_{engine}": (_TEXT, f"the plan's SQL for {engine}; null where it is refused, and for targets but plan")
            for engine in ("sqlite", "postgres", "mysql", "clickhouse", "duckdb")
        },
        "sql_refusals": (_TEXT, "why a good plan has no SQL on an engine, 'engine: reason' on a line each"),
        "input_tokens": (_INT, "tokens of the prompt"),
        "cached_tokens": (_INT, "those of them that the endpoint had in its cache; null where it does not say"),
        "output_tokens": (_INT, "tokens of the answer, reasoning included"),
        "reasoning_tokens": (_INT, "tokens of the reasoning"),
        "artefact_tokens": (_INT, "tokens of the artefact, counted"),
        "tokens_source": (_TEXT, "reported (by the endpoint) | counted (it reports none) | nominal (simulated)"),
        "attempts": (_INT, "answers that were needed: 1, and 1 for each time that a refused plan went back"),
        "constraint": (_TEXT, "what decoding was bound by: json_schema | grammar; null: nothing, free text"),
        "cost": (_REAL, "price of all attempts in the config's currency; null without prices"),
        "seconds": (_REAL, "wall time of the call, waiting for retries left out"),
        "finish_reason": (_TEXT, "why the model stopped"),
        "error": (_TEXT, "why there is no answer; the question is asked again next time"),
        **_INPUT_HASH,
    },
    "calls": {
        "run": _MODEL["run"],
        "model": _MODEL["model"],
        "call": (_INT, "number of the call to the model's endpoint in this run, from 1"),
        "started": (_TEXT, "when it was sent, UTC"),
        "target": (_TEXT, "sql | plan | probe (whether the endpoint can bind decoding)"),
        "dialect": _MODEL["dialect"],
        "question_id": (_TEXT, "question that was asked"),
        "db_id": (_TEXT, "name of the database"),
        "sample": (_INT, "which of several answers to the same prompt, from 0"),
        "attempt": (_INT, "0, and 1 more for each time that a refused plan went back"),
        "number": (_INT, "which try for this answer, from 1"),
        "outcome": (
            _TEXT,
            "answered | rejected (an error status came back) | lost (no whole answer came back; it may have been billed)",
        ),
        "status": (_INT, "the HTTP status of a rejection"),
        "message": (_TEXT, "why there is no answer"),
        "input_tokens": (_INT, "tokens of the prompt; null without answer"),
        "cached_tokens": (_INT, "those of them that the endpoint had in its cache; null where it does not say"),
        "output_tokens": (_INT, "tokens of the answer, reasoning included; null without answer"),
        "reasoning_tokens": (_INT, "tokens of the reasoning; null where the endpoint does not say"),
        "tokens_source": (_TEXT, "reported (by the endpoint) | counted (it reports none)"),
        "cost": (_REAL, "price in the config's currency; null without prices or answer"),
        "seconds": (_REAL, "wall time until the answer had arrived"),
    },
    "executions": {
        **_MODEL,
        "role": (_TEXT, "gold | prediction; a gold has no model"),
        "engine": (_TEXT, "engine that ran the statement"),
        "engine_version": (_TEXT, "the engine's own version string"),
        "question_id": (_TEXT, "question it answers"),
        "db_id": (_TEXT, "name of the database"),
        "sql": (_TEXT, "the statement"),
        "status": (
            _TEXT,
            "ok | refused | syntax_error | name_error | type_error | runtime_error | timeout | too_large | crashed",
        ),
        "message": (_TEXT, "the engine's words, without paths of the host"),
        "rows": (_INT, "rows of the result"),
        "result_key": (_TEXT, "name of the result in the cache of executed results"),
        "seconds": (_REAL, "wall time of execute and fetch"),
        **_INPUT_HASH,
    },
    "scores": {
        **_MODEL,
        "benchmark": (_TEXT, "name of the benchmark and split"),
        "engine": (_TEXT, "engine that ran the prediction"),
        "engine_version": (_TEXT, "the engine's own version string; null where it could not be started"),
        "gold_engine": (
            _TEXT,
            "engine that ran the gold: the same one where the benchmark ships a gold for it, else sqlite",
        ),
        "question_id": (_TEXT, "question it answers"),
        "db_id": (_TEXT, "name of the database"),
        "difficulty": (_TEXT, "the benchmark's own grade"),
        "question_class": (_TEXT, "not_ordered | ordered_fixed | ordered_not_fixed: what the question asks for"),
        "class_source": (
            _TEXT,
            "who says so: hand | benchmark | rules | llm",
        ),
        "df_match": (
            _FLAG,
            "DF-Match against the gold's result on SQLite; false for a failed prediction, null where the gold failed",
        ),
        "df_match_strict": (_FLAG, "the same, where rows must always be as often as in the gold's result"),
        "df_match_paper": (
            _FLAG,
            "the same by the paper's plain prefix rule: what follows gold's last row is not read",
        ),
        "bird_ex": (_FLAG, "BIRD's execution accuracy rule; failures count as wrong, as there; null where not judged"),
        "exact_set_match": (
            _FLAG,
            "Spider's exact set match; false where the prediction cannot be read; null where gold is outside its grammar",
        ),
        "hardness": (_TEXT, "Spider's grade of the gold: easy | medium | hard | extra; null where it cannot be read"),
        "spider_ex": (_FLAG, "Spider's old execution accuracy: the same ordered columns; null where gold has none"),
        "soft_f1": (_REAL, "BIRD's Soft-F1, a fraction; failures are 0"),
        "skeleton_similarity": (_REAL, "HES-SQL's likeness of the two skeletons, 0 to 1 (equation 3)"),
        "jaccard": (_REAL, "Jaccard index of the skeletons' sets of tokens"),
        "sql_jaccard": (_REAL, "Jaccard index of the sets of SQL tokens, names and values as they are"),
        "ves": (
            _REAL,
            "BIRD's valid efficiency of the pair, a fraction, not capped; 0 where wrong, null where not timed",
        ),
        "r_ves": (_REAL, "BIRD's reward-based valid efficiency of the pair, a fraction; 0 where wrong"),
        "hes_ves": (_REAL, "HES-SQL's valid efficiency, sqrt(gold's mean time / the prediction's); 0 where wrong"),
        "time_ratio": (_REAL, "min(1, gold's mean time / the prediction's); null where wrong or not timed"),
        "stable_speed": (
            _REAL,
            "median of gold's time / the prediction's; exactly 1 where the statements are the same",
        ),
        "stable_speed_low": (_REAL, "lower end of its 95 % interval"),
        "stable_speed_high": (_REAL, "upper end of its 95 % interval"),
        "reward": (_REAL, "HES-SQL's reward of the answer (algorithm 1): the sum of its parts"),
        "reward_format": (_REAL, "1 where format and skeleton pass, else -2, and nothing more is given"),
        "reward_execution": (_REAL, "2 for gold's result in time, else -2.5"),
        "reward_schema": (_REAL, "1.5 where a wrong prediction names only tables and columns that gold names"),
        "reward_efficiency": (_REAL, "time_ratio of a right prediction; 0 where not timed"),
        "metrics_reason": (_TEXT, "why metrics of the pair are null"),
        "error_category": (_TEXT, "of a wrong prediction: its kind in the plans paper's six (labels.CATEGORIES)"),
        "error_type": (_TEXT, "of a wrong prediction: its kind in HES-SQL's eight (labels.ERROR_TYPES)"),
        "error_evidence": (_TEXT, "what shows that kind, in words"),
        "error_confidence": (_TEXT, "high | medium (faults of several kinds) | low (no fault was found in the texts)"),
        "test_suite": (
            _FLAG,
            "the test-suite rule on SQLite: right on the database and on made-up instances; null where not asked for",
        ),
        "outcome": (_TEXT, "judged | prediction_failed | gold_failed | gold_timeout | not_judged"),
        "reason": (_TEXT, "DF-Match's verdict in words, and how it was reached"),
        "predicted_status": (_TEXT, "outcome of running the prediction"),
        "gold_status": (_TEXT, "outcome of running the gold on gold_engine"),
        "gold_rows": (_INT, "rows of the gold's result on SQLite; 0 where it is empty, null where it failed"),
        **_INPUT_HASH,
    },
    "timings": {
        **_MODEL,
        "engine": (_TEXT, "engine that ran both statements"),
        "engine_version": (_TEXT, "the engine's own version string"),
        "question_id": (_TEXT, "question it answers"),
        "db_id": (_TEXT, "name of the database"),
        "difficulty": (_TEXT, "the benchmark's own grade"),
        "seconds_predicted": (
            pl.List(_REAL),
            "wall time of execute and fetch of the prediction, every repeat in order",
        ),
        "seconds_gold": (pl.List(_REAL), "wall time of execute and fetch of the gold, every repeat in order"),
        **_INPUT_HASH,
    },
    "roundtrip": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        "db_id": (_TEXT, "name of the database"),
        "gold_sql": (_TEXT, "the benchmark's SQL for SQLite; each distinct one of a database once"),
        "is_ordered": (_FLAG, "whether the gold asks for an order, which then must hold up to ties"),
        "ambiguous": (_TEXT, "what shows that SQLite itself has several answers to the gold; null where nothing does"),
        "plan": (_TEXT, "the gold's plan as compact JSON; null where it is refused"),
        "plan_fault": (_TEXT, "why there is no plan, or which of SQL, JSON and RelJson does not lead back to it"),
        "method": (_TEXT, "plan | transpile (sqlglot alone) | transpile repaired (names qualified, texts repaired)"),
        "engine": (_TEXT, "engine that ran the SQL"),
        "engine_version": (_TEXT, "the engine's own version string"),
        "sql": (_TEXT, "the SQL that the method made for the engine; null where it refuses"),
        "outcome": (
            _TEXT,
            "equal | different | error (did not run) | refused (no SQL) | gold_failed | ambiguous | not_judged",
        ),
        "reason": (_TEXT, "the outcome in words"),
        "gold_rows": (_INT, "rows of gold's result on SQLite"),
        "is_informative": (_FLAG, "whether gold's result has a row, and is not a lone NULL or 0"),
        "rows": (_INT, "rows of the engine's result"),
        "gold_result": (_TEXT, "where the results differ: the first rows of gold's, a Python list of tuples"),
        "result": (_TEXT, "where the results differ: the first rows of the engine's"),
    },
    "fidelity": {
        "run": _MODEL["run"],
        "method": (_TEXT, "plan | transpile | transpile repaired, as in roundtrip"),
        "engine": (_TEXT, "engine that ran the SQL"),
        "golds": (_INT, "distinct gold queries"),
        "n": (_INT, "those that are not ambiguous and were judged"),
        "share": (_REAL, "equal / n in percent"),
        "informative": (_INT, "those of n whose result has a row, and is not a lone NULL or 0"),
        "informative_share": (_REAL, "equal ones of the informative, in percent"),
        "equal": (_INT, "golds whose rows the engine gives"),
        "different": (_INT, "golds of which it gives other rows"),
        "error": (_INT, "golds whose SQL did not run there"),
        "refused": (_INT, "golds that the method refuses to write"),
        "gold_failed": (_INT, "golds that do not run on SQLite"),
        "ambiguous": (_INT, "golds to which SQLite itself has several answers"),
        "not_judged": (_INT, "golds whose engine or database was away"),
        "plan_kept": (_INT, "golds whose plan comes back from its SQL, JSON and RelJson; null beside other methods"),
    },
    "tokens": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        "model": (_TEXT, "name of the model; gold for the gold queries and their plans"),
        "params_b": _MODEL["params_b"],
        "is_simulated": _MODEL["is_simulated"],
        "target": (_TEXT, "sql | plan; SQL of all dialects together"),
        "n": (_INT, "answers with tokens, or golds that have a plan"),
        "ok_share": (_REAL, "share of the answers whose artefact is ok"),
        "input_tokens": (_REAL, "mean tokens of the prompt"),
        "artefact_tokens": (_REAL, "mean tokens of the SQL or the plan itself"),
        "reasoning_tokens": (_REAL, "mean tokens of the reasoning; null where no endpoint says"),
        "output_tokens": (_REAL, "mean tokens of all output, reasoning and repairs included"),
        "attempts": (_REAL, "mean answers that were needed, repairs included"),
        "artefact_ratio": (_REAL, "artefact_tokens over those of the same model's SQL"),
        "output_ratio": (_REAL, "output_tokens over those of the same model's SQL"),
        "tokens_source": (_TEXT, "reported | counted | nominal, of these answers"),
    },
    "portability": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        **{name: _MODEL[name] for name in ("model", "params_b", "weights", "regime", "is_simulated", "target")},
        "mode": (
            _TEXT,
            "native (asked for in the engine's dialect) | as-written (SQLite's SQL unchanged) | compiled (plan)",
        ),
        "metric": (_TEXT, "the score that is averaged"),
        "engines": (_TEXT, "the engine set of lower bound, best and portability"),
        "n": (_INT, "judged questions: the smallest denominator over the engine set"),
        "not_judged": (_INT, "pairs of the engine set without a verdict"),
        "empty_gold": (_INT, "questions of n whose gold finds nothing, so that an empty answer is right"),
        **{
            engine: (_REAL, f"accuracy on {engine}, a fraction; null where it was not judged")
            for engine in ("sqlite", "postgres", "mysql", "clickhouse", "duckdb")
        },
        "lower_bound": (_REAL, "lowest accuracy over the engine set"),
        "best": (_REAL, "highest accuracy over the engine set"),
        "mean": (_REAL, "mean accuracy over the engine set"),
        "delta_worst": (_REAL, "lower bound minus SQLite's accuracy"),
        "portability": (_REAL, "lower bound / best"),
        "portability_low": (_REAL, "lower end of its 95 % bootstrap interval"),
        "portability_high": (_REAL, "upper end of its 95 % bootstrap interval"),
        "interval": (_TEXT, "how the interval was made, and what it resamples"),
        "reason": (_TEXT, "why there is no portability"),
    },
    "error_counts": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        **{name: _MODEL[name] for name in ("model", "params_b", "weights", "regime", "is_simulated", "target")},
        "engine": (_TEXT, "engine that ran the predictions"),
        "metric": (_TEXT, "the score that says which are wrong"),
        "scheme": (_TEXT, "category (plans paper, appendix D) | type (HES-SQL, table 5)"),
        "name": (_TEXT, "the category or type"),
        "is_structural": (_FLAG, "whether HES-SQL counts the type as structural, not as semantic; null for categories"),
        "is_schema_linking": (
            _FLAG,
            "whether the type is one of schema linking: table or attribute; null for categories",
        ),
        "n": (_INT, "errors of this name"),
        "share": (_REAL, "n / errors with a name in the scheme, a fraction"),
        "errors": (_INT, "wrong predictions; those whose gold fails are none"),
        "unsorted": (_INT, "errors without a name in the scheme"),
    },
    "failure_kinds": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        **{name: _MODEL[name] for name in ("model", "params_b", "weights", "regime", "is_simulated", "target")},
        "mode": (_TEXT, "native | as-written | compiled, as in portability"),
        "engine": (_TEXT, "engine that the failures are counted on"),
        "metric": (_TEXT, "the score that says which are wrong"),
        "engines": (_INT, "engines that the run was scored on"),
        "failures": (_INT, "wrong predictions on this engine, of questions judged on all of them"),
        "everywhere": (_INT, "those wrong on every engine: decoding failures"),
        "several": (_INT, "those wrong on several engines, but not on all"),
        "only_here": (_INT, "those right on every other engine: compilation failures"),
        "everywhere_share": (_REAL, "everywhere / failures, a fraction"),
        "only_here_share": (_REAL, "only_here / failures, a fraction"),
    },
    "structure": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        **{
            name: _MODEL[name]
            for name in ("model", "params_b", "weights", "regime", "is_simulated", "target", "dialect")
        },
        "engine": (_TEXT, "engine that ran the prediction"),
        "grade": (_TEXT, "difficulty: the benchmark's own grade, else Spider's hardness; all"),
        "n": (_INT, "pairs, judged or not"),
        "judged": (_INT, "pairs with a verdict"),
        "ex": (_REAL, "BIRD's execution accuracy of these"),
        "in_grammar": (_INT, "pairs whose gold Spider's grammar can read"),
        "exact_set_match": (_REAL, "Spider's exact set match of these"),
        "skeleton_similarity": (_REAL, "mean likeness of the skeletons"),
        "jaccard": (_REAL, "mean Jaccard index of the skeletons' tokens"),
        "jaccard_low": (
            _REAL,
            "lower end of its 95 % bootstrap interval, over databases where there are 10, else pairs",
        ),
        "jaccard_high": (_REAL, "upper end of that interval"),
        "jaccard_cdf": (pl.List(_REAL), "shares of pairs with an index of at most 0, 0.01, ... 1"),
        "sql_jaccard": (_REAL, "mean Jaccard index of the SQL's tokens"),
    },
    "efficiency": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        **{
            name: _MODEL[name]
            for name in ("model", "params_b", "weights", "regime", "is_simulated", "target", "dialect")
        },
        "engine": (_TEXT, "engine that ran both statements; mean over several"),
        "grade": (_TEXT, "difficulty: the benchmark's own grade, else Spider's hardness; all"),
        "n": (_INT, "judged pairs, without right ones that were not timed"),
        "untimed": (_INT, "right pairs that were not timed"),
        "ex": (_REAL, "BIRD's execution accuracy of judged pairs"),
        "ves": (_REAL, "BIRD's VES, a fraction, from the run's own repeats"),
        "r_ves": (_REAL, "BIRD's R-VES, a fraction, from the run's own repeats"),
        "hes_ves": (_REAL, "HES-SQL's VES"),
        "hes_ves_low": (
            _REAL,
            "lower end of its 95 % bootstrap interval, over databases where there are 10, else pairs",
        ),
        "hes_ves_high": (_REAL, "upper end of that interval"),
        "time_ratio": (_REAL, "mean of min(1, gold's time / the prediction's) of right pairs"),
        "stable_efficiency": (_REAL, "geometric mean of right pairs' stable speeds; 1 where all are gold's statements"),
        "stable_low": (_REAL, "lower end of its 95 % bootstrap interval"),
        "stable_high": (_REAL, "upper end of that interval"),
    },
    "crossover": {
        "run": _MODEL["run"],
        "benchmark": (_TEXT, "name of the benchmark and split"),
        "is_simulated": _MODEL["is_simulated"],
        "metric": (_TEXT, "the score that is averaged"),
        "engines": (_TEXT, "the engine set of the lower bound"),
        "sql_models": (_INT, "prompted open-weight models with a size that were asked for SQL"),
        "plan_models": (_INT, "the same, asked for plans"),
        "sql_slope": (_REAL, "rise of SQL's lower bound with log10 of the parameters in billions"),
        "sql_intercept": (_REAL, "SQL's lower bound at 1 billion parameters, on its line"),
        "plan_slope": (_REAL, "the same of plans"),
        "plan_intercept": (_REAL, "the same of plans"),
        "crossing_b": (
            _REAL,
            "billions of parameters from which plans do at least as well; null where the lines do not cross",
        ),
        "low_b": (_REAL, "lower end of its 95 % interval over resampled models"),
        "high_b": (_REAL, "upper end of that interval"),
        "resamples": (_INT, "resamples drawn"),
        "no_crossing": (_REAL, "share of them in which the lines do not cross"),
        "reason": (_TEXT, "why there is no crossing or no interval"),
    },
}


def dtypes(table: str) -> dict[str, type[pl.DataType]]:
    """Column types of a table, in stored order."""
    return {name: dtype for name, (dtype, _) in TABLES[table].items()}


def content_hash(*values: object) -> str:
    """SHA-256 of plain values (text, numbers, None, lists, dicts), the same in every process and on every machine."""
    return sha256(json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def part_name(*words: str | None) -> str:
    """A readable, unique file stem for a batch: its words, made safe, and a hash of them as they are."""
    safe = [re.sub(r"[^A-Za-z0-9.]+", "-", word or "-")[:40].strip("-.") or "-" for word in words]
    return "__".join(safe) + "__" + content_hash(*words)[:8]


def write_whole(path: Path, data: bytes, point: str | None = None) -> None:
    """Write a file so that it is there whole or not at all, also when the process or the machine dies."""
    if path.exists() and not path.is_file():  # a device would be replaced
        raise ResultsError("is a folder" if path.is_dir() else "is no file", where=path, hint="name a file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data[: len(data) // 2])
            if point:
                file.flush()
                kill_point(point)
            file.write(data[len(data) // 2 :])
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        hint = "free space there and give the same command again" if error.errno == errno.ENOSPC else None
        raise ResultsError(f"cannot be written: {error.strerror or error}", where=path, hint=hint) from error


def write_cached(path: Path, data: bytes) -> str | None:
    """Write a file that can be made again, so that the work goes on without it; why it could not be, else None."""
    try:
        write_whole(path, data)
    except ResultsError as error:
        return str(error)
    return None


class Run:
    """One folder under results/: its header, its tables, and the lock that keeps a second writer out."""

    def __init__(self, path: Path, header: dict):
        self.path, self.header = path, header

    @property
    def name(self) -> str:
        return self.path.name

    @classmethod
    def open(cls, run: "str | Path | Run") -> "Run":
        """An existing run. ResultsError if there is none or its header cannot be read."""
        if isinstance(run, Run):
            return run
        path = paths.run_dir(run)
        file = path / "run.json"
        if not file.is_file():
            there = sorted(p.parent.name for p in paths.results_dir().glob("*/run.json"))
            raise ResultsError(
                f"there is no run {run!s:.200}", where=path, hint=f"available: {', '.join(there) or 'none yet'}"
            )
        try:
            header = json.loads(file.read_text("utf-8"))
        except (ValueError, OSError) as error:
            raise ResultsError(f"run.json cannot be read: {error}", where=path) from error
        if not isinstance(header, dict) or header.get("schema_version") != SCHEMA_VERSION:
            found = header.get("schema_version") if isinstance(header, dict) else None
            raise ResultsError(
                f"schema version {found!r} is not {SCHEMA_VERSION}", where=file, hint="score it again under a new name"
            )
        benchmark = header.get("benchmark", {"name": "", "origin": {"path": ""}})
        if (
            not isinstance(benchmark, dict)
            or not {"name", "origin"} <= set(benchmark)
            or not isinstance(benchmark["origin"], dict)
            or not {"path"} <= set(benchmark["origin"]) <= {"path", "split", "databases"}
        ):
            raise ResultsError("its benchmark is not described as it was written", where=file)
        return cls(path, header)

    @classmethod
    def create(cls, run: "str | Path | Run") -> "Run":
        """Open a run, or make it with an empty header."""
        if isinstance(run, Run):
            return run
        path = paths.run_dir(run)
        if path == paths.results_dir() or path.name == paths.PUBLISHED:  # whose figures would lie where its own do
            raise ResultsError(f"{run!s:.200} cannot be a run's name", hint="choose another, e.g. my-run")
        if (path / "run.json").is_file():
            return cls.open(run)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ResultsError("there is something else at the run's place", where=path, hint="choose another name")
        made = cls(path, {"schema_version": SCHEMA_VERSION, "run": path.name, "status": "new", "created": _now()})
        made.update()
        return made

    def update(self, **fields: object) -> None:
        """Set fields of run.json beside what other processes of the run have set; left alone when nothing changes."""
        file = self.path / "run.json"
        if file.is_file():
            self.header = Run.open(self.path).header
        if fields and all(self.header.get(key) == value for key, value in fields.items()):
            return
        self.header |= fields | {"updated": _now()}
        write_whole(file, json.dumps(self.header, indent=1, ensure_ascii=False).encode())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers out; the notebooks of a `workbench run` write under the lock it holds."""
        if os.environ.get("WORKBENCH_LOCKED_RUN") == str(self.path):
            yield
            return
        with (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ResultsError(
                    "another process is writing this run", where=self.path, hint="wait for it to end"
                ) from None
            for leftover in self.path.rglob(".*.tmp*"):
                leftover.unlink(missing_ok=True)
            yield

    def part_path(self, table: str, part: str) -> Path:
        return self.path / table / f"{part}.parquet"

    def parts(self, table: str) -> list[str]:
        return sorted(p.stem for p in (self.path / table).glob("*.parquet"))

    def read_part(self, table: str, part: str) -> pl.DataFrame:
        """The rows of a part; none where it is missing or damaged, so that it is made again."""
        path = self.part_path(table, part)
        empty = pl.DataFrame(schema=dtypes(table))
        if not path.is_file():
            return empty
        try:
            frame = pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError):
            return empty
        return frame if frame.schema == empty.schema else empty

    def write_part(self, table: str, part: str, rows: pl.DataFrame | list[dict]) -> None:
        """Store the rows of one part, in place of what it held."""
        self._write_frame(table, part, self._frame(table, rows))

    def _frame(self, table: str, rows: pl.DataFrame | list[dict]) -> pl.DataFrame:
        schema = dtypes(table)
        frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema=schema)
        return frame.with_columns(run=pl.lit(self.name, pl.String)).select(list(schema)).cast(schema)

    def _write_frame(self, table: str, part: str, frame: pl.DataFrame) -> None:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        write_whole(self.part_path(table, part), buffer.getvalue(), point="part-half-written")

    def merge_part(self, table: str, part: str, ids: list[str], made: dict[str, dict]) -> None:
        """Bring a part to hold the questions `ids` in this order: rows of `made` by question id, else those stored.

        The file is left alone when nothing changes.
        """
        before = self.read_part(table, part)
        stored = {row["question_id"]: row for row in before.iter_rows(named=True)}
        rows = [made.get(i) or stored[i] for i in ids if i in made or i in stored]
        after = self._frame(table, rows)
        if not self.part_path(table, part).is_file() or not after.equals(before):
            self._write_frame(table, part, after)

    def drop_part(self, table: str, part: str) -> None:
        self.part_path(table, part).unlink(missing_ok=True)

    def table(self, table: str) -> pl.DataFrame:
        """All stored rows of a table."""
        files = [self.part_path(table, part) for part in self.parts(table)]
        if not files:
            return pl.DataFrame(schema=dtypes(table))
        try:
            return pl.read_parquet(files)
        except pl.exceptions.PolarsError as error:
            raise ResultsError(
                f"a part of {table} cannot be read: {error}", where=self.path, hint="delete it and run the step again"
            ) from error

    def write_study(self, name: str, frame: pl.DataFrame) -> None:
        """Store a study table, one part that replaces the last one; left alone when nothing changes."""
        if name not in self.parts(name) or not self._frame(name, frame).equals(self.read_part(name, name)):
            self.write_part(name, name, frame)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def connect(root: str | Path | None = None):
    """A DuckDB connection with views over every run below `root`: one per table of TABLES, empty where nothing is stored.

    `connect("results").sql("select ... from scores").pl()` gives polars, `.df()` pandas.
    """
    import duckdb

    folder = Path(root) if root is not None else paths.results_dir()
    if not folder.is_absolute() and not folder.is_dir():
        folder = paths.root() / folder
    if not folder.is_dir():
        raise ResultsError("there is no such results folder", where=folder)
    db = duckdb.connect()
    for table in TABLES:
        db.register(f"_empty_{table}", pl.DataFrame(schema=dtypes(table)).to_arrow())
        sources = [f"SELECT * FROM _empty_{table}"]
        files = sorted(folder.glob(f"*/{table}/*.parquet"))
        damaged = [file for file in files if not _is_parquet(file)]
        for file in damaged:
            warnings.warn(f"{file} is damaged and left out: run its step again", stacklevel=2)
        if damaged:
            whole = ", ".join(_quoted(str(file)) for file in files if file not in damaged)
            sources += [f"SELECT * FROM read_parquet([{whole}], union_by_name = true)"] if whole else []
        elif files:
            pattern = re.sub(r"([*?\[])", r"[\1]", str(folder)) + f"/*/{table}/*.parquet"
            sources.append(f"SELECT * FROM read_parquet({_quoted(pattern)}, union_by_name = true)")
        db.execute(f"CREATE VIEW {table} AS {' UNION ALL BY NAME '.join(sources)}")
    return db


def _is_parquet(file: Path) -> bool:
    """Whether a file begins and ends as parquet does."""
    with file.open("rb") as opened:
        head = opened.read(4)
        opened.seek(-min(4, file.stat().st_size), os.SEEK_END)
        return head == opened.read() == b"PAR1"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
