"""The results store: `results/<run>/` with run.json and parquet parts whose columns are those of `result_columns`.

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
from workbench.result_columns import TABLES

SCHEMA_VERSION = 2  # raise when a run that was stored before could not be read together with new parts


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
