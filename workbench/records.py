"""Reads JSON, JSONL, CSV and parquet into plain records, so that benchmarks and predictions fail in the same words.

In: a file somebody else wrote, hostile until proven otherwise. Out: Python values as they stood in the file. Every
function takes the error class to raise (BenchmarkError or PredictionError); the fault is named with file and line.
"""

import codecs
import csv
import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from workbench.errors import WorkbenchError

RECORD_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_MAGIC = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "a gzip archive", b"SQLite format 3\0": "an SQLite database"}


def read_bytes(path: Path, error: type[WorkbenchError]) -> bytes:
    """A file's content; a missing file, a folder and one that may not be read raise `error`."""
    if path.is_dir():
        raise error("is a folder", where=path, hint="name a file in it")
    if not path.is_file():
        raise error("is not a file" if path.exists() else "there is no such file", where=path)
    try:
        return path.read_bytes()
    except OSError as fault:
        raise error(f"cannot be read: {fault.strerror}", where=path) from fault


def decode(data: bytes, path: Path, error: type[WorkbenchError]) -> str:
    """Text of a UTF-8 file (with or without byte order mark); archives, databases and other encodings raise `error`."""
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            raise error(f"is {kind}", where=path, hint="unpack it" if "archive" in kind else "a text file is wanted")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise error(f"line {line}: byte 0x{data[fault.start]:02x} is not UTF-8 text", where=path) from fault
    if "\0" in text:
        raise error(f"line {text.count(chr(10), 0, text.index(chr(0))) + 1}: a NUL byte; not a text file", where=path)
    return text


def decode_leniently(data: bytes) -> str:
    """Text in whichever encoding it is: UTF-16 and UTF-8 by their marks or validity, else Windows-1252, else Latin-1.

    BIRD's database_description/*.csv were saved by different programs: UTF-8 with and without mark and Windows-1252.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue  # five bytes are undefined in cp1252 too; Latin-1 has them all
    return data.decode("latin-1")


def clean_text(text: str) -> str:
    """The text with lone surrogates (JSON can spell them, UTF-8 and parquet cannot) replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """json's object_pairs_hook; ValueError for a key that stands twice, of which JSON would keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"key {_repeated(key for key, _ in pairs)!r:.60} stands twice")
    return found


def check_columns(names: list[str], path: Path, error: type[WorkbenchError]) -> None:
    """Raise `error` for a column that a CSV file names twice, in any case; columns without a name do no harm."""
    twice = _repeated(name.strip().lower() for name in names if name.strip())
    if twice is not None:
        raise error(f"line 1: column {twice!r:.60} stands twice", where=path)


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)


def parse_json(text: str, path: Path, error: type[WorkbenchError]) -> object:
    """The value of a JSON text, or the list of values of a JSON-lines text."""
    try:
        return json.loads(text, object_pairs_hook=distinct_keys)
    except json.JSONDecodeError as fault:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if fault.msg != "Extra data" or not _is_json(lines[0][1]):
            raise json_error(fault, fault.lineno, path, error) from fault
    except (ValueError, RecursionError) as fault:  # a key twice; thousands of digits; brackets nested without end
        raise json_error(fault, None, path, error) from fault
    values = []
    for number, line in lines:
        try:
            values.append(json.loads(line, object_pairs_hook=distinct_keys))
        except (ValueError, RecursionError) as fault:
            raise json_error(fault, number, path, error) from fault
    return values


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def json_error(fault: Exception, line: int | None, path: Path, error: type[WorkbenchError]) -> WorkbenchError:
    """What json.loads raised, as an error with the file and the line."""
    why = f"not JSON: {fault.msg}" if isinstance(fault, json.JSONDecodeError) else str(fault).split(";")[0]
    if isinstance(fault, UnicodeDecodeError):
        why = f"byte 0x{fault.object[fault.start]:02x} is not UTF-8 text"
    why = "nested too deeply" if isinstance(fault, RecursionError) else why
    return error(f"{f'line {line}: ' if line else ''}{why}", where=path)


def csv_header(text: str, delimiter: str = ",") -> list[str]:
    """The column names of a CSV text; blank names stay."""
    return [name.strip() for name in next(csv.reader([text.split("\n", 1)[0].rstrip("\r")], delimiter=delimiter), [])]


def parse_csv(text: str, path: Path, error: type[WorkbenchError], delimiter: str = ",") -> list[dict[str, str | None]]:
    """One dict a row of a CSV text with a header; empty cells are None. Rows of another width raise `error`."""
    csv.field_size_limit(sys.maxsize)  # SQL and evidence can be longer than the default of 128 KiB
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = []
    try:
        header = [name.strip() for name in next(reader, [])]
        check_columns(header, path, error)
        for row in reader:
            if row and len(row) != len(header):
                raise error(f"line {reader.line_num}: {len(row)} cells under {len(header)} column names", where=path)
            if row:
                rows.append({name: cell or None for name, cell in zip(header, row, strict=True)})
    except csv.Error as fault:
        raise error(f"line {reader.line_num}: not CSV: {fault}", where=path) from fault
    return rows


def parse_parquet(data: bytes, path: Path, error: type[WorkbenchError]) -> list[dict[str, object]]:
    """One dict a row of a parquet file."""
    try:
        return pl.read_parquet(io.BytesIO(data)).to_dicts()
    except (pl.exceptions.PolarsError, OSError) as fault:
        raise error(f"not parquet: {fault}".splitlines()[0], where=path) from fault


def read_json(path: Path, error: type[WorkbenchError]) -> object:
    """The value of a JSON file."""
    return parse_json(decode(read_bytes(path, error), path, error), path, error)


def read_records(path: Path, error: type[WorkbenchError]) -> list[object]:
    """The records of a JSON list, JSONL, CSV, TSV or parquet file; usually dicts, but JSON may hold anything.

    JSON and JSONL are told apart by content, CSV and TSV by the file's name.
    """
    data = read_bytes(path, error)
    if data.startswith(b"PAR1") or path.suffix == ".parquet":
        return parse_parquet(data, path, error)
    text = decode(data, path, error)
    if path.suffix in (".csv", ".tsv"):
        return parse_csv(text, path, error, "\t" if path.suffix == ".tsv" else ",")
    value = parse_json(text, path, error) if text.strip() else []
    if isinstance(value, dict) and path.suffix in (".jsonl", ".ndjson"):
        return [value]
    if not isinstance(value, list):
        raise error(f"holds {kind_of(value)}, a list of records is wanted", where=path)
    return value


def kind_of(value: object) -> str:
    """A JSON value's kind in words, for messages."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")
