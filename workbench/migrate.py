"""Copies a benchmark's SQLite databases into the other engines, exactly, and proves it.

In: a benchmark and engines' names, or one SQLite file and a started backend. Out: databases under names that say what
they hold, and a report of every value that changed type and every key that the data did not allow.

A copy is planned from the stored values (column_types.py), loaded under a working name, compared with the file by
checksums (checksums.py), and only then gets its name: it is there whole and proved, or not at all. The name holds a hash
of the file's content, so a copy is never made twice and never out of date. Processes that want the same copy wait for
each other at a lock file, which also tells what a killed one has left behind.
"""

import fcntl
import hashlib
import importlib
import io
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

import polars as pl
import pyarrow as pa

from workbench import paths
from workbench.backends import disk, get_backend
from workbench.backends.base import Backend, without_paths
from workbench.checksums import Checksum, difference
from workbench.column_types import PlannedTable, plan_table, read_batches
from workbench.engine_names import engine_names
from workbench.errors import BenchmarkError, EngineError, MigrationError
from workbench.faults import kill_point
from workbench.migration_report import REPORT_COLUMNS, Preparation, report_rows
from workbench.progress import track
from workbench.sqlite_source import connect, database_hash, read_tables

LOADERS = {  # how each engine is filled
    "postgres": "workbench.backends.postgres_load",
    "mysql": "workbench.backends.mysql_load",
    "clickhouse": "workbench.backends.clickhouse_load",
    "duckdb": "workbench.backends.duckdb_load",
}
_RULES = "2"  # part of every copy's name: another number makes all copies anew
_DATABASES = 2  # copied at a time
_tidied: WeakSet[Backend] = WeakSet()


def prepare(benchmark, engines: Iterable[str], databases: Sequence[str] | None = None) -> Preparation:
    """Copy a benchmark's databases into engines, what is there already excepted.

    databases: db_ids; all that questions ask about if None. An engine or database that cannot be used is named in the
    result, the others are still done. An engine that reads SQLite files in place gets no rows in the report.
    """
    started = time.monotonic()
    wanted = (
        list(databases) if databases is not None else benchmark.questions["db_id"].unique(maintain_order=True).to_list()
    )
    frames, unavailable, failed = [pl.DataFrame(schema=REPORT_COLUMNS)], {}, {}
    for name in engines:
        backend = get_backend(name)
        try:
            with disk.explained(name, backend.folder(), EngineError):
                backend.start()
            try:
                with ThreadPoolExecutor(_DATABASES) as pool:
                    tasks = pool.map(lambda db_id, backend=backend: _prepare_one(backend, benchmark, db_id), wanted)
                    for db_id, done in zip(wanted, track(tasks, len(wanted), f"databases in {name}"), strict=True):
                        if isinstance(done, str):
                            failed[name, db_id] = done
                        else:
                            frames.append(done)
            finally:
                backend.stop()
        except EngineError as error:
            unavailable[name] = str(error)
    report = pl.concat(frames).with_columns(benchmark=pl.lit(benchmark.name))
    return Preparation(report, unavailable, failed, time.monotonic() - started)


def ensure_database(backend: Backend, sqlite_path: str | Path, db_id: str) -> str:
    """The name under which a started backend's sessions find this database; copied now if it is not there yet.

    An engine that reads SQLite files gets the path itself. Raises MigrationError for a file that cannot be copied
    exactly, EngineError if the engine fails.
    """
    path = paths.real(sqlite_path)
    if backend.reads_in_place:
        return str(path)
    with disk.explained(backend.name, backend.folder(), MigrationError, db_id):
        name = database_name(path, db_id)
        if not backend.has(name):
            _copy_once(backend, path, db_id, name)
    return name


def database_name(path: Path, db_id: str) -> str:
    """A copy's name in every engine, at most 50 ASCII characters: the database and a hash of what the file holds."""
    readable = re.sub(r"[^a-z0-9]+", "_", db_id.lower()).strip("_")[:30]
    digest = hashlib.sha256(f"{_RULES} {db_id} {database_hash(path)}".encode()).hexdigest()[:16]
    return f"wb_{readable}_{digest}"


def verify_copy(backend: Backend, database: str, sqlite_path: str | Path) -> None:
    """Prove an existing copy against its file again. MigrationError naming table and column if it differs."""
    path, loader = Path(sqlite_path), _loader(backend)
    tables, _ = _plan(path, loader)
    with _engine_faults(path, loader):
        _each_table(backend, database, path, tables, loader, _verify_table)


def _prepare_one(backend: Backend, benchmark, db_id: str) -> pl.DataFrame | str:
    """The database's part of the report, or why there is no copy."""
    try:
        with disk.explained(backend.name, backend.folder(), MigrationError, db_id):
            path = benchmark.database_path(db_id)
            if backend.reads_in_place:
                with connect(path) as connection:
                    read_tables(connection)
                return pl.DataFrame(schema=REPORT_COLUMNS)
            name = ensure_database(backend, path, db_id)
            report = _report_file(backend, name)
            if _read_report(report) is None:  # the copy is there, what was said about it is not: say it again
                report.unlink(missing_ok=True)
                _copy_once(backend, path, db_id, name)
            return pl.read_parquet(report)
    except (BenchmarkError, MigrationError) as error:
        return str(error)


def _read_report(file: Path) -> pl.DataFrame | None:
    """A copy's part of the report; None if it is missing or damaged."""
    try:
        return pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError):
        return None


def _copy_once(backend: Backend, path: Path, db_id: str, name: str) -> None:
    """Copy unless somebody else has just done so."""
    if backend not in _tidied:
        _tidied.add(backend)
        _drop_remains(backend)
    report = _report_file(backend, name)
    with _lock(backend, name) as mark:
        if report.exists() and backend.has(name):
            return
        before = database_hash(path)
        mark("loading")
        with _whole_or_not_at_all(backend, name, db_id) as working:
            tables, others = _copy(backend, path, working)
            if database_hash(path) != before:
                raise MigrationError("the file changed while it was copied", where=path)
            frame = report_rows(backend.name, db_id, _loader(backend).TYPES, tables, others)
            written = io.BytesIO()  # polars has an error of its own, without a number, for a file it cannot write
            frame.write_parquet(written)
            report.with_suffix(".new").write_bytes(written.getvalue())
            report.with_suffix(".new").replace(report)
            backend.publish(working, name)


@contextmanager
def _whole_or_not_at_all(backend: Backend, name: str, db_id: str) -> Iterator[str]:
    """A database to load into, dropped if that fails; what failed is explained before its remains are out of the way."""
    with disk.explained(backend.name, backend.folder(), MigrationError, db_id):
        working = backend.create(name)
    try:
        with disk.explained(backend.name, backend.folder(), MigrationError, db_id):
            yield working
    except BaseException:
        with suppress(
            EngineError
        ):  # its server has gone too: the mark at the lock stays, and whoever comes next drops it
            backend.drop(working)
        raise


def _copy(backend: Backend, path: Path, working: str) -> tuple[list[PlannedTable], list[tuple[str, str]]]:
    """Plan, load and prove all tables of one file."""
    loader = _loader(backend)
    with ThreadPoolExecutor(1) as pool:
        planning = pool.submit(_plan, path, loader)
        with _engine_faults(path, loader), loader.Loader(backend, working) as first:  # which takes its time to open
            tables, others = planning.result()
            first.create_tables(tables)
            _each_table(backend, working, path, tables, loader, _copy_table)
            first.add_foreign_keys(tables)
    return tables, others


def _each_table(backend: Backend, database: str, path: Path, tables: list[PlannedTable], loader, do: Callable) -> None:
    """Call do(connection, path, table, loader) for every table, on as many connections as the engine bears."""
    waiting = deque(tables)

    def work() -> None:
        with loader.Loader(backend, database) as connection:
            while (table := _next(waiting)) is not None:
                try:
                    do(connection, path, table, loader)
                except BaseException:
                    waiting.clear()
                    raise

    with ThreadPoolExecutor(loader.THREADS) as pool:
        for done in [pool.submit(work) for _ in range(min(loader.THREADS, len(tables)))]:
            done.result()


def _next(waiting: deque[PlannedTable]) -> PlannedTable | None:
    try:
        return waiting.popleft()
    except IndexError:  # asking first would be a race between threads
        return None


def _plan(path: Path, loader) -> tuple[list[PlannedTable], list[tuple[str, str]]]:
    with connect(path) as connection:
        tables, others = read_tables(connection)

    def plan(table) -> PlannedTable:
        with connect(path) as connection:
            return plan_table(connection, table)

    with ThreadPoolExecutor(2) as pool:  # SQLite works outside the interpreter's lock
        planned = list(pool.map(plan, tables))
    rules, column_rules = getattr(loader, "TABLE_NAMES", {}), getattr(loader, "COLUMN_NAMES", {})
    names = engine_names([table.name for table in tables], loader.NAME_BYTES, **rules)
    for table in planned:
        table.engine_name = names[table.source.name]
        columns = [column.source.name for column in table.columns]
        given = engine_names(columns, loader.NAME_BYTES, loader.RESERVED_COLUMNS, **column_rules)
        for column in table.columns:
            column.engine_name = given[column.source.name]
    return planned, others


def _copy_table(connection, path: Path, table: PlannedTable, loader) -> None:
    sent = Checksum(_column_names(table))
    _load_table(connection, path, table, loader, sent.add)
    _prove(connection, path, table, loader, sent)
    connection.finish(table)
    kill_point("migration-half-loaded")


def _load_table(connection, path: Path, table: PlannedTable, loader, look: Callable | None = None) -> None:
    """Send the rows to the engine; look: is shown every batch on its way."""
    failures = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in _read_source(path, table, loader):
                if look:
                    look(batch)
                yield batch
        except Exception as error:  # the driver hands on only a text of it
            failures.append(error)
            raise

    with _read_faults(path, table):
        try:
            connection.load(table, pa.RecordBatchReader.from_batches(table.schema, batches()))
        except loader.ERRORS as error:
            if failures:
                raise failures[0] from None
            raise MigrationError(_words(error), where=_place(path, table)) from error


def _read_source(path: Path, table: PlannedTable, loader) -> Iterator[pa.RecordBatch]:
    return read_batches(path, table, loader.HOLDS_NUL, getattr(loader, "HOLDS_INFINITY", True))


def _verify_table(connection, path: Path, table: PlannedTable, loader) -> None:
    expected = Checksum(_column_names(table))
    with _read_faults(path, table):
        for batch in _read_source(path, table, loader):
            expected.add(batch)
    _prove(connection, path, table, loader, expected)


def _prove(connection, path: Path, table: PlannedTable, loader, expected: Checksum) -> None:
    """Compare what was read with what SQLite itself counted while planning, and with what the engine gives back."""
    counted = [column.values for column in table.columns]
    if expected.rows != table.rows or expected.values != counted:
        raise MigrationError(
            "not all stored values were read", where=_place(path, table), hint="is it being written to?"
        )
    found = Checksum(_column_names(table))
    try:
        for batch in connection.read(table):
            found.add(batch)
    except loader.ERRORS as error:
        raise MigrationError(_words(error), where=_place(path, table)) from error
    what = difference(expected, found)
    if what is not None:
        raise MigrationError(f"the copy differs: {what}", where=_place(path, table))


def _drop_remains(backend: Backend) -> None:
    """Drop what killed processes left half loaded: whoever is still loading holds its lock."""
    for file in _folder(backend).glob("*.lock"):
        with open(file, "r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if lock.read():
                backend.drop(backend.create(file.stem))  # only the engine knows under which name it loads
                lock.truncate(0)


@contextmanager
def _lock(backend: Backend, name: str) -> Iterator[Callable[[str], None]]:
    """Hold a copy's lock among all who share the cache; a mark set meanwhile stays if the process is killed."""
    with open(_folder(backend) / f"{name}.lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def mark(text: str) -> None:
            lock.write(text)
            lock.flush()

        yield mark
        lock.truncate(0)


@contextmanager
def _engine_faults(path: Path, loader):
    try:
        yield
    except loader.ERRORS as error:
        raise MigrationError(_words(error), where=path) from error


@contextmanager
def _read_faults(path: Path, table: PlannedTable):
    """What reading the file through its Arrow driver may raise, as one line that names the table."""
    import adbc_driver_manager

    try:
        yield
    except (adbc_driver_manager.Error, pa.ArrowException, OSError) as error:
        raise MigrationError(_words(error), where=_place(path, table)) from error


def _loader(backend: Backend):
    return importlib.import_module(LOADERS[backend.name])


def _folder(backend: Backend) -> Path:
    return paths.cache_dir("copies", backend.name)


def _report_file(backend: Backend, name: str) -> Path:
    return _folder(backend) / f"{name}.parquet"


def _column_names(table: PlannedTable) -> list[str]:
    return [column.source.name for column in table.columns]


def _place(path: Path, table: PlannedTable) -> str:
    return f'{path}, table "{table.source.name}"'


def _words(error: BaseException) -> str:
    return without_paths(str(error).strip().partition("\n")[0])
