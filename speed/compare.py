"""How long DF-Match takes for two results of a million rows, and how much memory, beside what one would write by hand.

In: nothing. Out: a line a route: seconds, and what the process grew by at its peak. Each route runs in a process of its
own, which makes the same seeded tables first. The predicted rows come in another order; the routes in which columns and
last digits may differ get these changed too. `compare` also says whether it is right where one value is another.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import polars as pl

NAMES = ["id", "name", "amount", "day", "shop"]


def tables(rows: int, is_changed: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Gold and predicted; is_changed: with last digits of floats and the order of columns changed."""
    chance = np.random.default_rng(0)
    ids = chance.permutation(rows)
    gold = pl.DataFrame(
        {
            "id": ids,
            "name": pl.Series(ids * 7919 % 1_000_003).cast(pl.String),
            "amount": chance.lognormal(3, 2, rows),
            "day": pl.Series(ids % 3650).cast(pl.String),
            "shop": chance.integers(0, 500, rows),
        }
    )
    predicted = gold[chance.permutation(rows)]
    if is_changed:
        predicted = predicted.with_columns(pl.col("amount") * (1 + 1e-15)).select(reversed(NAMES))
    return predicted, gold


def compare_frames(predicted: pl.DataFrame, gold: pl.DataFrame) -> bool:
    from workbench.compare import compare

    return compare(predicted, gold, tolerate_duplicates=False).equal


def compare_ordered(predicted: pl.DataFrame, gold: pl.DataFrame) -> bool:
    """In gold's order: rows that tie in their shop may change places."""
    from workbench.compare import compare

    gold = gold.sort("shop")
    predicted = predicted.sort("shop")
    keys = gold.select("shop").rows()
    return compare(predicted, gold, True, True, keys, tolerate_duplicates=False).equal


def count_tuples(predicted: list[tuple], gold: list[tuple]) -> bool:
    """The same rows as often, by Python: no mapping, no tolerance."""
    return Counter(predicted) == Counter(gold)


def pandas_testing(predicted, gold) -> bool:
    """Sorted by all columns, then pandas.testing: a tolerance, no mapping."""
    from pandas.testing import assert_frame_equal

    sides = [side.sort_values(NAMES, ignore_index=True) for side in (predicted, gold)]
    assert_frame_equal(*sides, check_exact=False, rtol=1e-9)
    return True


# name: (call, what it is given, whether columns and last digits may differ)
ROUTES = {
    "compare, frames": (compare_frames, lambda frame: frame, True),
    "compare, ordered": (compare_ordered, lambda frame: frame, True),
    "compare, row tuples": (compare_frames, lambda frame: frame.rows(), True),
    "Counter of tuples": (count_tuples, lambda frame: frame.rows(), False),
    "sorted, pandas.testing": (pandas_testing, lambda frame: frame.to_pandas(), False),
}


def measure(name: str, rows: int) -> dict:
    call, given, is_changed = ROUTES[name]
    sides = [given(frame) for frame in tables(rows, is_changed)]
    call(*(given(frame) for frame in tables(10, is_changed)))  # imports are not what is measured
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    is_equal = call(*sides)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "route": name,
        "equal": is_equal,
        "seconds": round(seconds, 2),
        "processor_seconds": round(processor, 2),
        "peak_mb": (after.ru_maxrss - before.ru_maxrss) // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--route", choices=ROUTES)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    if chosen.route:
        print(json.dumps(measure(chosen.route, chosen.rows)))
        return
    for name in ROUTES:
        command = [sys.executable, __file__, "--rows", str(chosen.rows), "--route", name]
        line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        done = json.loads(line)
        print(
            line.strip()
            if chosen.json
            else "{route:24} {seconds:6.2f} s  {processor_seconds:6.2f} s of processors  {peak_mb:5} MB  equal: {equal}".format(
                **done
            )
        )


if __name__ == "__main__":
    main()
