"""A file of queries -> a parquet file of plans, however long it is.

In: records with a query and a database's name (stream_records), and where the schemas are. Out: one row a query, in the
file's order, written in batches and renamed into place at the end. What cannot be converted is a row too: its status is
unreadable (a line that is no JSON object), syntax_error, unsupported, no_schema or one of errors.PLAN_ERROR_KINDS; "bug" is
a fault of ours, with its traceback's end.
"""

import os
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.errors import BenchmarkError, ConfigError, ParseError, PlanError, UnsupportedError, WorkbenchError
from workbench.plan_to_sql import plan_to_sql
from workbench.records import clean_text
from workbench.schema_source import SchemaSource
from workbench.sql_to_plan import sql_to_plan
from workbench.stream_records import stream_records

BATCH = 500  # queries of one piece of work and of one row group
COLUMNS = {
    "position": pa.int64(),  # of the query in the file, from 0
    "db_id": pa.string(),
    "sql": pa.string(),
    "status": pa.string(),  # ok, or what kind of fault
    "message": pa.string(),
    "plan": pa.string(),  # compact JSON
}
SQL_NAMES = ("sql", "query", "gold_sql")  # of the query's field, in any case
DB_NAMES = ("db_id", "database_id", "database")


def convert(
    queries: str | Path,
    output: str | Path,
    schemas: str | Path,
    dialects: tuple[str, ...] = (),
    workers: int | None = None,
) -> Counter[str]:
    """Convert a file of queries; returns how many rows have which status.

    schemas: as SchemaSource takes it. dialects: write the plan's SQL too, a column sql_<dialect> each, null where the
    dialect refuses. workers: processes; the processors available by default. Memory does not grow with the file's length.
    """
    source = SchemaSource(schemas)  # so that a wrong path is said before anything starts
    counts: Counter[str] = Counter()
    records = enumerate(stream_records(queries))
    batches = iter(lambda: list(islice(records, BATCH)), [])
    first = list(islice(batches, 2))
    if not first:
        raise BenchmarkError("holds no queries", where=queries)
    if not any(_field(record, SQL_NAMES) for _, record in chain(*first) if isinstance(record, dict)):
        raise BenchmarkError("no record has a query", where=queries, hint=f"a field {', '.join(SQL_NAMES)}")
    if Path(output).exists() and Path(output).samefile(queries):
        raise ConfigError("holds the queries", where=output, hint="name another file for the plans")
    with _writer(Path(output), dialects) as writer:
        if len(first) < 2:
            made = (_convert_batch(batch, source, dialects) for batch in first)
        else:
            made = _spread(chain(first, batches), schemas, dialects, workers or os.cpu_count() or 1)
        for rows in made:
            counts.update(rows["status"])
            writer.write_table(pa.table(rows, schema=writer.schema))
    return counts


@contextmanager
def _writer(output: Path, dialects: tuple[str, ...]) -> Iterator[pq.ParquetWriter]:
    """Writes beside the output and takes its place at the end, so that there is all of it or none."""
    fields = COLUMNS | {f"sql_{name}": pa.string() for name in dialects}
    if output.exists() and not output.is_file():  # a device would be replaced
        raise ConfigError("is a folder" if output.is_dir() else "is no file", where=output, hint="name a file")
    temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        with pq.ParquetWriter(temporary, pa.schema(fields), compression="zstd") as writer:
            yield writer
        os.replace(temporary, output)
    finally:
        temporary.unlink(missing_ok=True)


def _spread(batches: Iterator[list], schemas: str | Path, dialects: tuple[str, ...], workers: int) -> Iterator[dict]:
    """Batches over processes, in order; only as many are read as are being worked on."""
    waiting: deque[Future] = deque()
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (schemas,)) as pool:
        try:
            for batch in batches:
                waiting.append(pool.submit(_work, batch, dialects))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _begin(schemas: str | Path) -> None:
    global _source
    Thread(target=_end_with_parent, daemon=True).start()
    _source = SchemaSource(schemas)


def _end_with_parent() -> None:
    """A killed parent would leave its processes waiting for work."""
    parent_process().join()
    os._exit(1)


def _work(batch: list, dialects: tuple[str, ...]) -> dict[str, list]:
    return _convert_batch(batch, _source, dialects)


def _convert_batch(batch: list[tuple[int, dict]], source: SchemaSource, dialects: tuple[str, ...]) -> dict[str, list]:
    rows = [convert_one(position, record, source, dialects) for position, record in batch]
    return {name: [row.get(name) for row in rows] for name in (*COLUMNS, *(f"sql_{name}" for name in dialects))}


def _field(record: dict, names: tuple[str, ...]) -> object:
    """The value of the first of some fields that a record has, in any case."""
    found = {key.lower(): key for key in record if isinstance(key, str)}
    return next((record[found[name]] for name in names if name in found), None)


def convert_one(
    position: int, record: dict | BenchmarkError, source: SchemaSource, dialects: tuple[str, ...] = ()
) -> dict[str, object]:
    """The row of one query; never raises for what the query is."""
    if isinstance(record, BenchmarkError):
        return {"position": position, "status": "unreadable", "message": str(record)}
    texts = [
        clean_text(value) if isinstance(value, str) else None
        for value in (_field(record, SQL_NAMES), _field(record, DB_NAMES))
    ]
    row: dict[str, object] = {"position": position, "sql": texts[0], "db_id": texts[1], "status": "ok"}
    try:
        if texts[0] is None:
            raise ParseError("no query", hint=f"a field {', '.join(SQL_NAMES)}")
        plan = sql_to_plan(texts[0], source(texts[1]))
        row["plan"] = plan.to_json()
        for dialect in dialects:
            try:
                row[f"sql_{dialect}"] = plan_to_sql(plan, dialect)
            except UnsupportedError as fault:
                row["message"] = f"{row['message']}; {fault}" if "message" in row else str(fault)
    except WorkbenchError as fault:
        row |= {"status": status_of(fault), "message": str(fault)}
    except Exception as fault:  # noqa: BLE001 one query of millions; it is counted, by name
        row |= {"status": "bug", "message": f"{type(fault).__name__}: {fault}"[:300]}
    return row


def status_of(fault: WorkbenchError) -> str:
    """The word of the lists of outcomes for what stopped a query on its way to a plan."""
    if isinstance(fault, PlanError):
        return fault.kind
    kinds = ((ParseError, "syntax_error"), (UnsupportedError, "unsupported"), (BenchmarkError, "no_schema"))
    return next((word for kind, word in kinds if isinstance(fault, kind)), "bug")
