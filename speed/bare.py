"""The bare route into each engine: as fast as rows go in when types are known, nothing is checked, and no key is made.

In: a started backend, the name of an empty database of it, the file of database.py, and how many tables may load at a
time. It shares nothing with the workbench but the server. Every column is selected with the cast that it is known to
need; the sum of what a user would write by hand.
"""

import csv
import io
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import adbc_driver_sqlite.dbapi as sqlite_driver
import pyarrow as pa
from database import BECOMES, TABLES

BATCH = {"adbc.sqlite.query.batch_rows": 16384}


def postgres(backend, database: str, path: Path, threads: int) -> None:
    """ADBC from SQLite into ADBC's COPY."""
    import adbc_driver_postgresql.dbapi as postgres_driver

    def load(table: str) -> None:
        with (
            _rows(path, table) as rows,
            postgres_driver.connect(backend.dsn(database), autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.adbc_ingest(table, rows, mode="create")

    _each(load, threads)


def mysql(backend, database: str, path: Path, threads: int) -> None:
    """CSV by Python's csv module, then LOAD DATA LOCAL."""
    import sqlite3

    kinds = {"integer": "bigint", "real": "double", "text": "longtext"}

    def load(table: str) -> None:
        declared = ", ".join(f"`{name}` {kinds[BECOMES[kind]]}" for name, (_, kind) in TABLES[table].items())
        columns = ", ".join(f"""coalesce("{name}", 'NULL')""" for name in TABLES[table])
        with closing(backend.connect(database, local_infile=True)) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE `{table}` ({declared}) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin")
            with tempfile.NamedTemporaryFile("w", newline="") as file, closing(sqlite3.connect(path)) as source:
                csv.writer(file, lineterminator="\n").writerows(source.execute(f'SELECT {columns} FROM "{table}"'))
                file.flush()
                cursor.execute(
                    f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE `{table}` CHARACTER SET utf8mb4"
                    " FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY ''"
                )

    _each(load, threads)


def clickhouse(backend, database: str, path: Path, threads: int) -> None:
    """Arrow batches into chdb, in this process."""
    import chdb

    kinds = {"integer": "Int64", "real": "Float64", "text": "String"}
    with closing(chdb.connect(str(backend.path(database)))) as connection:
        connection.query("CREATE DATABASE bare")
        for table, columns in TABLES.items():
            declared = ", ".join(f'"{name}" Nullable({kinds[BECOMES[kind]]})' for name, (_, kind) in columns.items())
            connection.query(f'CREATE TABLE bare."{table}" ({declared}) ENGINE = MergeTree ORDER BY ()')
            inserter = connection.send_insert(f'INSERT INTO bare."{table}"', "ArrowStream")
            sink = io.BytesIO()
            with _rows(path, table) as rows, pa.ipc.new_stream(sink, rows.schema) as stream:
                for batch in rows:
                    stream.write_batch(batch)
                    inserter.append(sink.getvalue())
                    sink.seek(0)
                    sink.truncate()
            inserter.append(sink.getvalue())
            inserter.finish()


def duckdb(backend, database: str, path: Path, threads: int) -> None:
    """Arrow batches into DuckDB."""
    import duckdb

    with closing(duckdb.connect(str(backend.path(database)))) as connection:

        def load(table: str) -> None:
            with _rows(path, table) as rows, connection.cursor() as cursor:
                cursor.register("incoming", rows)
                cursor.execute(f'CREATE TABLE "{table}" AS SELECT * FROM incoming')

        _each(load, threads)


ROUTES: dict[str, Callable] = {"postgres": postgres, "mysql": mysql, "clickhouse": clickhouse, "duckdb": duckdb}


@contextmanager
def _rows(path: Path, table: str):
    """The table's rows as an Arrow reader."""
    casts = ", ".join(
        f'CAST("{name}" AS {BECOMES[kind].upper()}) AS "{name}"' for name, (_, kind) in TABLES[table].items()
    )
    with (
        sqlite_driver.connect(f"{path.as_uri()}?mode=ro&immutable=1") as connection,
        connection.cursor(adbc_stmt_kwargs=BATCH) as cursor,
    ):
        cursor.execute(f'SELECT {casts} FROM "{table}"')
        yield cursor.fetch_record_batch()


def _each(load: Callable[[str], None], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(load, TABLES))
