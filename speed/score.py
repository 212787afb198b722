"""How long `workbench.score` takes beside only executing the same statements, and how much memory: `python speed/score.py`.

    heavy     500 pairs whose statements take 20 ms or more on average, over only executing each distinct statement once:
              by Python's sqlite3, and behind the walls of the executor, which predicted SQL needs
    again     the same pairs with results from the cache and verdicts made anew, over the first pass
    trivial   500 pairs on a small database: processor time a pair
    memory    peak of a process that scores 500 pairs, and of one that scores 5,000

In: nothing; databases and predictions are seeded (scored_pairs.py). Out: figures with their targets, on standard output.
Times are processor seconds of this process and of the workers that execute: two workers at a time change them little, and
other work on the machine less than the wall's, which stand behind. Imports are done, and what is kept of texts is
forgotten, before any clock starts. A wrong pair is also sorted (error_columns.py), which no target asks for.
"""

import argparse
import functools
import gc
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

from scored_pairs import DB_ID, MODELS, make_pairs

import workbench as wb
from workbench.execute import Executor, Statement
from workbench.pair_metrics import pair_metrics
from workbench.spider_sql import spider_names

HEAVY_ROWS, TRIVIAL_ROWS = 160_000, 1_000  # of the largest table
QUESTIONS = 100  # each answered by MODELS models
LEAST_MS = 20.0  # a statement of the heavy pairs, on average
MOST_RATIO, MOST_RATIO_OF_ALL = 1.3, 1.6  # without and with the metrics of texts
MOST_MS = 5.0  # of the processor, a trivial pair
LEAST_GAIN = 10.0  # of the second pass
MOST_GROWTH = 1.1  # of the peak, for ten times the pairs

Seconds = tuple[float, float]  # of processors, of the wall


def clocked(work: Callable[[], object]) -> Seconds:
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()
    before, started = _processor(), time.perf_counter()
    work()
    return _processor() - before, time.perf_counter() - started


def _processor() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class Pairs:
    """Pairs of a benchmark in a folder of their own, with a root and a cache that nothing has been put into."""

    def __init__(self, rows: int, questions: int = QUESTIONS):
        self._folder = tempfile.TemporaryDirectory()
        self.root = Path(self._folder.name)
        os.environ["WORKBENCH_ROOT"] = os.environ["WORKBENCH_CACHE"] = str(self.root)
        files, self.pairs = make_pairs(self.root / "benchmark", rows, questions)
        self.statements = list(dict.fromkeys(sql for gold_first in map(reversed, self.pairs) for sql in gold_first))
        self.benchmark = wb.read_benchmark(self.root / "benchmark")
        wb.import_predictions("r", self.benchmark, files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self._folder.cleanup()

    def score(self) -> None:
        done = wb.score("r")
        assert done.judged == len(self.pairs) and done.is_whole, done

    def forget_verdicts(self) -> None:
        run = wb.Run.open("r")
        for table in ("scores", "executions"):
            for part in run.parts(table):
                run.drop_part(table, part)

    def execute(self) -> None:
        """Each distinct statement of golds and predictions, once, and its rows read."""
        file = self.benchmark.database_path(DB_ID)
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            for sql in self.statements:
                with suppress(sqlite3.Error):  # some predictions are no SQL
                    database.execute(sql).fetchall()

    def execute_walled(self) -> None:
        file = self.benchmark.database_path(DB_ID)
        with Executor(["sqlite"]) as executor:
            for _ in executor.run_many(Statement("sqlite", DB_ID, file, sql) for sql in self.statements):
                pass

    def forget_results(self) -> None:
        os.environ["WORKBENCH_CACHE"] = str(self.root / "another")

    def read_texts(self) -> None:
        """What `score` does for the metrics of texts alone."""
        names = spider_names(self.benchmark.schema(DB_ID))
        for predicted, gold in dict.fromkeys(self.pairs):
            pair_metrics(predicted, gold, names, is_right=None)


def measure_heavy(rounds: int) -> None:
    times: dict[str, list[Seconds]] = {name: [] for name in ("executed", "walled", "scored", "again", "texts")}
    for _ in range(rounds):
        with Pairs(HEAVY_ROWS) as pairs:
            times["executed"].append(clocked(pairs.execute))
            times["walled"].append(clocked(pairs.execute_walled))
            pairs.forget_results()
            times["scored"].append(clocked(pairs.score))
            pairs.forget_verdicts()
            times["again"].append(clocked(pairs.score))
            times["texts"].append(clocked(pairs.read_texts))
    middle = {name: [statistics.median(part) for part in zip(*found, strict=True)] for name, found in times.items()}
    each = middle["executed"][0] / len(pairs.statements) * 1000
    print(f"heavy: {len(pairs.pairs)} pairs, {len(pairs.statements)} distinct statements, median of {rounds}")
    for name, (processor, wall) in middle.items():
        low, high = (choose(seconds for seconds, _ in times[name]) for choose in (min, max))
        print(f"  {name:8} {processor:6.2f} s of processors ({low:.2f} to {high:.2f}), {wall:6.2f} s")
    _say(f"a statement {each:.1f} ms", each >= LEAST_MS, f"at least {LEAST_MS:g}")
    scored, without = middle["scored"][0], middle["scored"][0] - middle["texts"][0]
    for name in ("executed", "walled"):
        alone, wall = middle[name]
        _say(f"without texts / {name} {without / alone:.2f}", without <= MOST_RATIO * alone, f"at most {MOST_RATIO}")
        ratio = f"scored / {name} {scored / alone:.2f} (wall {middle['scored'][1] / wall:.2f})"
        _say(ratio, scored <= MOST_RATIO_OF_ALL * alone, f"at most {MOST_RATIO_OF_ALL}")
    gain, gain_wall = (first / second for first, second in zip(middle["scored"], middle["again"], strict=True))
    _say(f"scored / again {gain:.1f} (wall {gain_wall:.1f})", gain >= LEAST_GAIN, f"at least {LEAST_GAIN:g}")


def measure_trivial(rounds: int) -> None:
    found = []
    for _ in range(rounds):
        with Pairs(TRIVIAL_ROWS) as pairs:
            found.append(clocked(pairs.score)[0] / len(pairs.pairs) * 1000)
    each = statistics.median(found)
    print(f"trivial: {len(pairs.pairs)} pairs, {len(pairs.statements)} distinct statements, median of {rounds}")
    _say(
        f"a pair {each:.2f} ms of processors ({min(found):.2f} to {max(found):.2f})",
        each <= MOST_MS,
        f"at most {MOST_MS:g}",
    )


def measure_memory() -> None:
    command = [sys.executable, __file__, "--peak"]
    few, many = (
        int(subprocess.run([*command, str(questions)], check=True, capture_output=True, text=True).stdout.split()[-1])
        for questions in (QUESTIONS, 10 * QUESTIONS)
    )
    print(f"memory: peak of {QUESTIONS * MODELS} pairs {few} MB, of {10 * QUESTIONS * MODELS} pairs {many} MB")
    _say(f"grown {many / few:.2f} times", many <= MOST_GROWTH * few, f"at most {MOST_GROWTH}")


def _say(what: str, holds: bool, target: str) -> None:
    print(f"  {what}, {target}: {'holds' if holds else 'MISSED'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peak", type=int, help="only the peak memory of so many questions, in MB")
    options = parser.parse_args()
    if options.peak:
        with Pairs(TRIVIAL_ROWS, options.peak) as pairs:
            pairs.score()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    with Pairs(TRIVIAL_ROWS, 5) as pairs:
        pairs.score()  # imports
    measure_heavy(options.rounds)
    measure_trivial(options.rounds)
    measure_memory()


if __name__ == "__main__":
    main()
