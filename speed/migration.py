"""Measures how long a migration takes: ours beside the bare route into each engine, and beside dlt on PostgreSQL.

Out: a table of seconds (medians of interleaved rounds), the ratios with their targets, and in what each copy differs.
Everything is measured in one run on one machine, each route on the same server with as many tables at a time as our
loader takes. It is a comparison and no test: it always ends well.

    our load     tables made and rows loaded, types planned before, nothing proved
    bare         bare.py: the same rows without planning, keys or proof
    our whole    ensure_database: planning, loading, keys, proof of both sides
    dlt          its extract, normalize and load together, which is what our load does: read, convert, write
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import database
from bare import ROUTES
from exactness import differences

from workbench import migrate, paths
from workbench.backends import Limits, get_backend
from workbench.errors import EngineError

TARGETS = {
    "our load / bare": ("at most", 1.3),
    "our whole / bare": ("at most", 3.0),
    "dlt / our load": ("at least", 5.0),
}
FORMATS = ("csv", "parquet")  # dlt's own choice, and through ADBC
PACKAGES = paths.CHECKOUT / ".cache" / "speed" / "packages"
LIMITS = Limits(seconds=300, rows=10**7, bytes=2**31)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engines", default=",".join(ROUTES), help="separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="everything measured, as JSON")
    options = parser.parse_args()
    # servers and copies of its own: nobody else's wait for it
    os.environ["WORKBENCH_CACHE"] = str(paths.CHECKOUT / ".cache" / "speed" / "cache")
    path = paths.cache_dir() / "speed.sqlite"
    path.unlink(missing_ok=True)
    database.build(path)
    found = {}
    for engine in options.engines.split(","):
        try:
            found[engine] = measure(engine, path, options.rounds)
        except EngineError as error:
            print(f"{engine} is left out: {error}", file=sys.stderr)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    size = path.stat().st_size / 10**6
    print(f"{database.ROWS * len(database.TABLES):,} rows in {len(database.TABLES)} tables, {size:.0f} MB")
    for engine, measured in found.items():
        show(engine, measured, options.rounds)


def measure(engine: str, path: Path, rounds: int) -> dict:
    """Seconds of every route, per round, and the differences of ours and dlt's copies. EngineError without the engine."""
    backend = get_backend(engine)
    backend.start()
    threads = migrate._loader(backend).THREADS
    try:
        routes: dict[str, Callable[[], float]] = {
            "bare": lambda: _timed(backend, lambda name: ROUTES[engine](backend, name, path, threads)),
            "our load": lambda: _load(backend, path),
            "our whole": lambda: _whole(backend, path),
        }
        dlt = {}
        if engine == "postgres" and (PACKAGES / "dlt").is_dir():
            dlt = {f"dlt {kind}": Dlt(backend, path, kind) for kind in FORMATS}
        for run in routes.values():
            run()  # once before it counts: imports, the file in memory
        seconds: dict[str, list[float]] = {name: [] for name in routes | dlt}
        for _ in range(rounds):
            for name, run in (routes | dlt).items():
                seconds[name].append(run())
        return {
            "version": backend.version(),
            "seconds": seconds,
            "steps": {name: run.steps for name, run in dlt.items()},
            "differences": {"ours": _our_differences(backend, path)} | {n: run.differences for n, run in dlt.items()},
        }
    finally:
        backend.stop()


def show(engine: str, measured: dict, rounds: int) -> None:
    median = {name: statistics.median(values) for name, values in measured["seconds"].items()}
    print(f"\n{engine} {measured['version']}, median of {rounds}")
    for name, values in measured["seconds"].items():
        spread = f"{min(values):.2f} to {max(values):.2f}"
        exact = measured["differences"].get("ours" if name == "our whole" else name)
        words = "" if exact is None else "exact" if not exact else f"{len(exact)} differences"
        print(f"  {name:16} {median[name]:7.2f} s   {spread:16} {words}")
    for ratio, (bound, target) in TARGETS.items():
        over, under = ratio.split(" / ")
        values = [median[name] for name in median if name.startswith(over)]
        if values:
            value = min(values) / median[under]
            holds = value <= target if bound == "at most" else value >= target
            print(f"  {ratio:16} {value:7.2f}     {bound} {target}: {'holds' if holds else 'MISSED'}")
    for name, runs in measured["steps"].items():
        steps = {step: statistics.median(run[step] for run in runs) for step in runs[-1]}
        print(f"  {name}: {', '.join(f'{step} {seconds:.2f} s' for step, seconds in steps.items())}")
    for name, lines in measured["differences"].items():
        for line in lines:
            print(f"  {name}: {line}")


def _load(backend, path: Path) -> float:
    loader = migrate._loader(backend)
    tables, _ = migrate._plan(path, loader)

    name = backend.create(f"speed{time.time_ns()}")
    with loader.Loader(backend, name) as first:  # which starts chdb's process, as a server is started beforehand
        started = time.perf_counter()
        first.create_tables(tables)
        migrate._each_table(backend, name, path, tables, loader, migrate._load_table)
        seconds = time.perf_counter() - started
    backend.drop(name)
    return seconds


def _whole(backend, path: Path) -> float:
    started = time.perf_counter()
    name = migrate.ensure_database(backend, path, f"speed {time.time_ns()}")
    seconds = time.perf_counter() - started
    backend.drop(name)
    return seconds


def _timed(backend, do: Callable[[str], None]) -> float:
    """Seconds of do(name) on a new, empty database, which is then dropped."""
    name = backend.create(f"speed{time.time_ns()}")
    started = time.perf_counter()
    do(name)
    seconds = time.perf_counter() - started
    backend.drop(name)
    return seconds


def _our_differences(backend, path: Path) -> list[str]:
    name = migrate.ensure_database(backend, path, "speed")
    session = backend.session()
    mark = "`" if backend.name == "mysql" else '"'

    def read(table: str) -> tuple[list[str], list[tuple]]:
        execution = session.run(name, f"SELECT * FROM {mark}{table}{mark}", LIMITS)
        if execution.table is None:
            raise EngineError(execution.message, where=backend.name)
        return list(execution.table.columns), execution.table.rows()

    try:
        return differences(path, [*database.TABLES, database.EMPTY], read)
    finally:
        session.close()
        backend.drop(name)


class Dlt:
    """dlt with one file format, on PostgreSQL: which tables it cannot copy is tried once, before anything is timed."""

    def __init__(self, backend, path: Path, file_format: str):
        self._backend, self._path, self._format = backend, path, file_format
        self.steps: list[dict[str, float]] = []
        self._tables = [*database.TABLES, database.EMPTY]
        self._failed = self._run("try", backend.create("speed_dlt"))
        self._tables = [table for table in self._tables if table not in self._failed]
        self.differences: list[str] = []

    def __call__(self) -> float:
        name = self._backend.create("speed_dlt")
        self.steps.append(self._run("copy", name))
        if not self.differences:
            self.differences = [f"{table} fails: {words}" for table, words in self._failed.items()] + self._compare(
                name
            )
        self._backend.drop(name)
        return sum(self.steps[-1].values())

    def _run(self, what: str, name: str) -> dict:
        script = Path(__file__).with_name("dlt_route.py")
        command = [sys.executable, str(script), what, str(self._path), self._backend.dsn(name), self._format]
        packages = os.environ | {"PYTHONPATH": str(PACKAGES)}
        done = subprocess.run([*command, *self._tables], capture_output=True, text=True, env=packages)
        if done.returncode:
            raise EngineError(
                f"dlt ended with {done.returncode}: {done.stderr.strip()[-300:]}", where=self._backend.name
            )
        return json.loads(done.stdout.splitlines()[-1])

    def _compare(self, name: str) -> list[str]:
        with self._backend.connect(name) as connection:
            names = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'copied'"
            ).fetchall()

            def read(table: str) -> tuple[list[str], list[tuple]]:
                cursor = connection.execute(f'SELECT * FROM copied."{table}"')
                return [column.name for column in cursor.description], cursor.fetchall()

            return differences(self._path, [table for (table,) in names], read)


if __name__ == "__main__":
    main()
