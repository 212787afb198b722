"""ClickHouse's answers in JSON lines as Python values; standard library only.

In: a chunk in the format JSONCompactEachRowWithNamesAndTypes: names, types, then a row a line. Out: the same rows with
every value in the Python type that its ClickHouse type names: text as str, Decimal, date, naive datetime (as printed),
UUID, bool, integers of any width, NaN and infinities, lists, tuples, dicts. Enums, IP addresses and times are text.

ClickHouse has one type for text and bytes. Columns that are blobs in the copied database are marked there by the type
`SimpleAggregateFunction(any, ...)`, which behaves as String and says its name in a result: these come back as bytes.
Computed text is str if it is UTF-8, else bytes.
"""

import json
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

FORMAT = "JSONCompactEachRowWithNamesAndTypes"
SETTINGS = {
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_64bit_floats": 0,
    "output_format_json_quote_denormals": 1,
    "output_format_json_quote_decimals": 1,
    "output_format_json_named_tuples_as_objects": 0,
    "output_format_json_escape_forward_slashes": 0,
    "output_format_json_validate_utf8": 0,
    "date_time_output_format": "'simple'",
}
BLOB = "SimpleAggregateFunction(any"
NEGATIVE_ZERO = re.compile(rb"-0[,\]]")
Convert = Callable[[object], object] | None


def read(chunk: bytes) -> tuple[list[str], list[tuple]] | None:
    """The column names and rows of a chunk. None if it is not in the format."""
    try:
        text, is_utf8 = chunk.decode(), True
    except UnicodeDecodeError:
        text, is_utf8 = chunk.decode(errors="surrogateescape"), False
    lines = text.split("\n")
    if len(lines) < 3 or lines.pop():
        return None
    # JSON's -0 is an integer to Python; only a float column prints it
    integer = (lambda digits: -0.0 if digits == "-0" else int(digits)) if NEGATIVE_ZERO.search(chunk) else None
    try:
        names, types, *rows = json.loads(f"[{','.join(lines)}]", parse_int=integer)
    except json.JSONDecodeError:
        return None
    if not all(type(part) is list and all(type(word) is str for word in part) for part in (names, types)):
        return None
    converts = [converter(kind, is_utf8) for kind in types]
    if any(converts):
        columns = zip(*rows, strict=True)
        done = [
            [None if value is None else convert(value) for value in column] if convert else column
            for column, convert in zip(columns, converts, strict=bool(rows))
        ]
        return names, list(zip(*done, strict=True))
    return names, list(map(tuple, rows))


def converter(kind: str, is_utf8: bool) -> Convert:
    """What makes the Python value of a JSON value that is not null; None if it is that already."""
    name, _, rest = kind.partition("(")
    inner = arguments(rest.removesuffix(")")) if rest else []
    if name == "SimpleAggregateFunction" and inner[0] == "any" and inner[1] in ("String", "Nullable(String)"):
        return lambda value: value.encode(errors="surrogateescape")
    if name in ("Nullable", "LowCardinality", "SimpleAggregateFunction"):
        return converter(inner[-1], is_utf8)
    if name in ("String", "FixedString", "Enum8", "Enum16"):
        return None if is_utf8 else text
    if name in ("Float32", "Float64", "BFloat16"):
        return float
    if name in ("Date", "Date32"):
        return date.fromisoformat
    if name in ("DateTime", "DateTime64"):
        return datetime.fromisoformat
    if name in ("Int128", "UInt128", "Int256", "UInt256"):
        return int
    if name.startswith("Decimal"):
        return Decimal
    if name == "UUID":
        return UUID
    if name == "Array":
        item = nullable(converter(inner[0], is_utf8))
        return lambda values: list(map(item, values))
    if name == "Tuple":
        items = [nullable(converter(element_type(part), is_utf8)) for part in inner]
        return lambda values: tuple(item(value) for item, value in zip(items, values, strict=True))
    if name == "Map":
        key = nullable(key_converter(inner[0], is_utf8))
        value = nullable(converter(inner[1], is_utf8))
        return lambda values: {key(k): value(v) for k, v in values.items()}
    return None if is_utf8 else any_text


def key_converter(kind: str, is_utf8: bool) -> Convert:
    """The same for a map's key, which JSON has as text whatever its type; one of several parts stays so."""
    if re.fullmatch(r"U?Int\d+", kind):
        return int
    return text if kind.startswith(("Tuple(", "Array(", "Map(")) else converter(kind, is_utf8)


def nullable(convert: Convert) -> Callable[[object], object]:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def text(value: str) -> str | bytes:
    """Text whose bytes are not UTF-8 as these bytes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="surrogateescape")
    return value


def any_text(value: object) -> object:
    """The same for all texts in a value of any kind: of a state of an aggregate function, or of a type that varies."""
    if type(value) is list:
        return [any_text(item) for item in value]
    if type(value) is dict:
        return {text(key): any_text(item) for key, item in value.items()}
    return text(value) if type(value) is str else value


def arguments(inside: str) -> list[str]:
    """The parts of a type's argument list."""
    parts, depth, start, quote = [], 0, 0, ""
    place = 0
    while place < len(inside):
        letter = inside[place]
        if quote:
            if letter == "\\":
                place += 1
            elif letter == quote:
                quote = ""
        elif letter in "'`\"":
            quote = letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
        elif letter == "," and not depth:
            parts.append(inside[start:place].strip())
            start = place + 1
        place += 1
    return [*parts, inside[start:].strip()] if inside else []


def element_type(part: str) -> str:
    """A tuple's element without its name: "a Int8", "`a b` Array(Int8)", "Int8"."""
    named = re.match(r"(?:`(?:[^`\\]|\\.)*`|\w+) (?=\w)", part)
    return part[named.end() :] if named else part
