"""Records of a file of any length, one at a time: a corpus of millions of queries is never held.

In: a JSON list, JSON lines, CSV, TSV, parquet, or a text file of one query a line (Spider's and BIRD's gold files: the
query, a tab, the database). Out: dicts in order, and for a line of JSON lines that holds no object the BenchmarkError that
says why. What makes the rest unreadable is raised, as a BenchmarkError with file and line or record.
"""

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from workbench.errors import BenchmarkError
from workbench.records import check_columns, distinct_keys, json_error, kind_of

CHUNK = 2**20  # characters read at once
MAX_RECORD = 64 * 2**20  # characters of one JSON record; what is longer is no list of queries


def stream_records(path: str | Path) -> Iterator[dict | BenchmarkError]:
    """The records of a file, in order; JSON and JSON lines are told apart by content, the others by the file's name."""
    path = Path(path)
    if not path.is_file():
        raise BenchmarkError("is a folder" if path.is_dir() else "there is no such file", where=path)
    try:
        if path.suffix == ".parquet":
            records = _parquet(path)
        elif path.suffix in (".csv", ".tsv"):
            records = _csv(path, "\t" if path.suffix == ".tsv" else ",")
        elif path.suffix in (".json", ".jsonl", ".ndjson"):
            records = _json(path) if path.suffix == ".json" or _begins(path, "[") else _json_lines(path)
        elif _begins(path, "[{"):
            raise BenchmarkError("holds JSON under another name", where=path, hint="name it .json or .jsonl")
        else:
            records = _lines(path)
        for number, record in enumerate(records):
            if not isinstance(record, dict | BenchmarkError):
                raise BenchmarkError(f"record {number} is {kind_of(record)}, an object is wanted", where=path)
            yield record
    except UnicodeDecodeError as fault:
        raise BenchmarkError(f"byte 0x{fault.object[fault.start]:02x} is not UTF-8 text", where=path) from fault
    except OSError as fault:
        raise BenchmarkError(f"cannot be read: {fault.strerror or fault}", where=path) from fault


def _begins(path: Path, marks: str) -> bool:
    with path.open("rb") as file:
        start = file.read(CHUNK).removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:1].decode("latin-1") in tuple(marks)


def _json_lines(path: Path) -> Iterator[dict | BenchmarkError]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_RECORD):
            number += 1
            while not line.endswith(b"\n") and file.tell() < path.stat().st_size:
                line = file.readline(MAX_RECORD)  # the rest of a line that is too long, which is then no JSON
            if not line.strip():
                continue
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                record = json.loads(text, object_pairs_hook=distinct_keys)
            except (ValueError, RecursionError) as fault:
                yield json_error(fault, number, path, BenchmarkError)
                continue
            is_object = isinstance(record, dict)
            what = f"line {number}: {kind_of(record)}, an object is wanted"
            yield record if is_object else BenchmarkError(what, where=path)


def _lines(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for line in file:
            sql, _, db_id = line.strip().rpartition("\t")
            if line.strip():
                yield {"sql": sql, "db_id": db_id} if sql else {"sql": db_id}


def _csv(path: Path, delimiter: str) -> Iterator[dict]:
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter=delimiter, strict=True)
        try:
            check_columns(list(reader.fieldnames or ()), path, BenchmarkError)
            yield from reader
        except csv.Error as fault:
            raise BenchmarkError(f"line {reader.line_num}: not CSV: {fault}", where=path) from fault


def _parquet(path: Path) -> Iterator[dict]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(1000):
                yield from batch.to_pylist()
    except pa.ArrowInvalid as fault:
        raise BenchmarkError(f"not parquet: {fault}".splitlines()[0], where=path) from fault


def _json(path: Path) -> Iterator[object]:
    """The values of a list, or values after one another (JSON lines)."""
    with path.open(encoding="utf-8-sig") as file:
        reader = _JsonReader(file, path)
        is_list = reader.next_mark() == "["
        reader.at += is_list
        while mark := reader.next_mark("," if reader.number else ""):
            if is_list and mark == "]":
                reader.at += 1
                if reader.next_mark():
                    raise BenchmarkError(f"text after the list of {reader.number}", where=path)
                return
            yield reader.value()
        if is_list:
            raise BenchmarkError(f"the list stops after record {reader.number - 1}", where=path)


class _JsonReader:
    """A window over the file. at: the place in the text at hand; number: of the next record."""

    def __init__(self, file: TextIO, path: Path):
        self.file, self.path, self.text, self.at, self.number = file, path, "", 0, 0
        self.decoder = json.JSONDecoder(object_pairs_hook=self._object)

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        try:
            return distinct_keys(pairs)
        except ValueError as fault:  # which `value` would take for text that is not whole yet
            raise self._fault(f"is unclear: {fault}") from None

    def fill(self) -> bool:
        """Read as much again as is left over; whether there was more."""
        rest = self.text[self.at :]
        more = self.file.read(max(CHUNK, len(rest)))
        self.text, self.at = rest + more, 0
        return bool(more)

    def next_mark(self, skipped: str = "") -> str:
        """The next character that is neither white space nor skipped; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n" + skipped:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.fill():
                return ""

    def value(self) -> object:
        """The value here; reads on while it is not whole, or ends where the text at hand ends."""
        is_more = True
        while True:
            why = None
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except RecursionError as fault:
                raise self._fault("is nested too deeply") from fault
            except ValueError as fault:  # also an integer of thousands of digits
                value, end, why = None, len(self.text), getattr(fault, "msg", "a number too long")
            if end == len(self.text) and is_more and end - self.at <= MAX_RECORD:
                is_more = self.fill()
                continue
            if why is not None:
                raise self._fault(f"is not JSON: {why}")
            self.at, self.number = end, self.number + 1
            return value

    def _fault(self, what: str) -> BenchmarkError:
        return BenchmarkError(f"record {self.number} {what}", where=self.path)
