"""Copies the database with dlt into PostgreSQL, as its documentation says for speed (the pyarrow backend).

Run by path in a process of its own, since dlt changes logging and signals. In: "copy" or "try", the SQLite file, a
libpq connection string, the loader's file format ("csv" is dlt's own choice, "parquet" goes through ADBC), and tables'
names. Out, as JSON on the last line: for "copy" the seconds of its three steps (what its import takes is not counted),
with the tables in the schema `copied`; for "try" each table that fails by itself, with dlt's words: one such table ends
a whole copy.
"""

import json
import logging
import os
import sys
import tempfile
import time
import warnings
from urllib.parse import quote

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
logging.disable()
warnings.simplefilter("ignore")

import dlt
from dlt.pipeline.exceptions import PipelineStepFailed
from dlt.sources.sql_database import sql_database
from psycopg.conninfo import conninfo_to_dict


def run(path: str, dsn: str, file_format: str, dataset: str, tables: list[str], folder: str) -> dict[str, float]:
    """One pipeline into a new schema; the seconds of each step."""
    where = conninfo_to_dict(dsn)
    address = f"{quote(where['user'])}:{quote(where['password'], safe='')}@localhost/{quote(where['dbname'])}"
    pipeline = dlt.pipeline(
        dataset,
        pipelines_dir=tempfile.mkdtemp(dir=folder),
        destination=dlt.destinations.postgres(
            credentials=f"postgresql://{address}?host={quote(where['host'], safe='')}&port={where.get('port', 5432)}"
        ),
        dataset_name=dataset,
    )
    source = sql_database(f"sqlite:///{path}", backend="pyarrow", table_names=tables)
    seconds, steps = {}, {"normalize": pipeline.normalize, "load": pipeline.load}
    for step, do in {"extract": lambda: pipeline.extract(source, loader_file_format=file_format), **steps}.items():
        started = time.perf_counter()
        do()
        seconds[step] = time.perf_counter() - started
    return seconds


def main() -> None:
    what, path, dsn, file_format, *tables = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        if what == "copy":
            print(json.dumps(run(path, dsn, file_format, "copied", tables, folder)))
            return
        failed = {}
        for table in tables:
            try:
                run(path, dsn, file_format, "tried", [table], folder)
            except PipelineStepFailed as error:
                failed[table] = " ".join(str(error).split())[-160:]
        print(json.dumps(failed))


if __name__ == "__main__":
    main()
