"""A statement's result exactly as the driver gave it, in Arrow, so that it can be stored and judged again later.

In: column names and rows of Python values. Out: the same rows, or a polars frame to look at, or bytes to store.
A column of one plain kind (whole numbers of 64 bits, floats, text, bytes, booleans, dates, naive date-times, times,
spans) is that Arrow type. Any other column (decimals, UUIDs, lists, larger numbers, the mixed columns of SQLite) is
text in which each value carries its kind, named in the field's metadata: of lists, tuples and dicts one JSON tree whose
leaves do, so that the text grows with the value and not with its depth. Nothing is ever unpickled.
"""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from uuid import UUID

import pyarrow as pa

from workbench.records import clean_text

NATIVE = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    bool: pa.bool_(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
    time: pa.time64("us"),
    timedelta: pa.duration("us"),
}
ENCODED = {b"encoding": b"workbench-2"}  # field metadata of a column whose values carry their kind
LONG = 1000  # rows from which a series is made faster than a list
LOOK_EVERY = 10_000  # items of a list between two looks at the clock: some milliseconds
Look = Callable[[], object]
Column = tuple[pa.Array | pa.ChunkedArray, dict | None]
ROWS = b"workbench.rows"  # schema metadata: a result may have rows without columns


class ResultTable:
    """Rows of one result. columns: names as the engine gave them, repeated ones too; arrow: the data; height: rows."""

    def __init__(self, columns: Sequence[str], arrow: pa.Table, height: int):
        self.columns, self.arrow, self.height = tuple(columns), arrow, height

    @property
    def width(self) -> int:
        return len(self.columns)

    @classmethod
    def from_rows(cls, columns: Sequence[str], rows: Sequence[Sequence]) -> "ResultTable":
        """Take over the driver's rows. TypeError for a value of a kind that no engine here gives.

        A lone surrogate in a name or text becomes U+FFFD: nobody could write it down.
        RecursionError for one nested too deeply; sessions do not let such values come so far (backends/wire.py).
        """
        by_column = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
        return cls.from_arrays(columns, list(map(to_arrow, by_column)), len(rows))

    @classmethod
    def from_arrays(cls, columns: Sequence[str], data: Sequence[Column], height: int) -> "ResultTable":
        """Columns as `to_arrow` gives them, each of one array or of chunks."""
        columns = [clean_text(name) for name in columns]
        named = zip(columns, data, strict=True)
        fields = [pa.field(name, array.type, metadata=metadata) for name, (array, metadata) in named]
        schema = pa.schema(fields, metadata={ROWS: str(height).encode()})
        table = pa.Table.from_arrays([array for array, _ in data], schema=schema)
        is_whole = all(isinstance(array, pa.Array) for array, _ in data)
        return cls(columns, table if is_whole else table.combine_chunks(), height)

    def rows(self) -> list[tuple]:
        """The raw values. A date-time or time with a zone comes back with that zone's fixed offset."""
        if not self.columns:
            return [()] * self.height
        return list(zip(*map(_from_arrow, self.arrow.columns, self.arrow.schema), strict=True))

    def holds_the_same(self, other: "ResultTable") -> bool:
        """Whether there are rows, and the other has the same ones, value by value, under whatever names. A NaN is never."""
        ours, theirs = ([(field.type, field.metadata) for field in table.arrow.schema] for table in (self, other))
        return (
            0 < self.height == other.height
            and ours == theirs
            and self.width > 0
            and all(one.equals(another) for one, another in zip(self.arrow.columns, other.arrow.columns, strict=True))
        )

    def column_values(self) -> list:
        """Per column its values: of a long one whose values are of one kind a polars series, else a list."""
        import polars as pl

        return [
            _from_arrow(column, field) if field.metadata == ENCODED or self.height < LONG else pl.Series(column)
            for column, field in zip(self.arrow.columns, self.arrow.schema, strict=True)
        ]

    def frame(self):
        """A polars frame to look at: mixed and exotic columns as text, repeated names numbered."""
        import polars as pl

        series, taken = [], set()
        for name, column, field in zip(self.columns, self.arrow.columns, self.arrow.schema, strict=True):
            if field.metadata == ENCODED:
                values = [None if value is None else _shown(value) for value in _from_arrow(column, field)]
                column = pa.array(values, pa.string())
            unique = name
            while unique in taken:
                unique += "_"
            taken.add(unique)
            series.append(pl.Series(unique, pl.from_arrow(column)))
        return pl.DataFrame(series)

    def to_bytes(self, metadata: dict[bytes, bytes] | None = None) -> bytes:
        """The table as an Arrow IPC stream; metadata: more to say in its schema."""
        table = self.arrow.replace_schema_metadata({**self.arrow.schema.metadata, **(metadata or {})})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> "ResultTable":
        """The inverse of `to_bytes`. pyarrow.ArrowInvalid for anything else."""
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        metadata = table.schema.metadata or {}
        if ROWS not in metadata:
            raise pa.ArrowInvalid("not a stored result")
        table = table.replace_schema_metadata({ROWS: metadata[ROWS]})
        return cls(table.schema.names, table, int(metadata[ROWS]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResultTable) and self.to_bytes() == other.to_bytes()  # NaN equals itself here

    __hash__ = None

    def __repr__(self) -> str:
        return f"ResultTable({', '.join(self.columns)}; {self.height} rows)"


def to_arrow(values: Sequence, look: Look = bool, is_encoded: bool = False) -> Column:
    """Values as Arrow holds them, and the metadata of their field. look: called often, raises when the clock is over.

    is_encoded: let each carry its kind, even if they are of one plain kind.
    """
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pa.nulls(len(values)), None
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind in NATIVE and not is_encoded and not (kind in (datetime, time) and any(v and v.tzinfo for v in values)):
        try:
            return pa.array(values, NATIVE[kind]), None
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            pass  # more than 64 bits, or text with a lone surrogate
    if kind in KINDS and kind is not str:
        letter, encode, _ = KINDS[kind]
        texts = [None if value is None else letter + encode(value) for value in values]
    else:
        texts = [None if value is None else _encode(value, look) for value in values]
    return pa.array(texts, pa.string()), ENCODED


def decimal_texts(values: Sequence[str | None], look: Look = bool) -> Column:
    """Decimal numbers as an engine has written them, in the way that `to_arrow` holds Decimals."""
    look()
    texts = [None if value is None else f"d{value}" for value in values]
    return (pa.array(texts, pa.string()), ENCODED) if any(texts) else (pa.nulls(len(texts)), None)


def unite(parts: Sequence[Column], look: Look = bool) -> Column:
    """The parts of one column, each from `to_arrow`, as `to_arrow` would give them together."""
    if len(parts) == 1:
        return parts[0]
    kinds = {array.type: metadata for array, metadata in parts if not pa.types.is_null(array.type)}
    if any(metadata == ENCODED for _, metadata in parts) or len(kinds) > 1:
        found = []
        for array, metadata in parts:
            look()
            found.append(array if metadata == ENCODED else to_arrow(array.to_pylist(), look, is_encoded=True)[0])
        kind, metadata = pa.string(), ENCODED
    else:
        found = [array for array, _ in parts]
        kind, metadata = next(iter(kinds), pa.null()), None
    return pa.chunked_array([array.cast(kind) for array in found], kind), metadata


def _from_arrow(column: pa.ChunkedArray, field: pa.Field) -> list:
    values = column.to_pylist()
    if field.metadata != ENCODED:
        return values
    return [None if value is None else _decode(value) for value in values]


_json = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps makes a new one each time


# kind: (letter, text of a value, value of a text)
KINDS = {
    bool: ("t", lambda v: str(int(v)), lambda s: s == "1"),
    int: ("i", lambda v: f"{v:x}", lambda s: int(s, 16)),
    float: ("f", float.hex, float.fromhex),
    str: ("s", clean_text, str),
    bytes: ("b", lambda v: base64.b64encode(v).decode(), base64.b64decode),
    Decimal: ("d", str, Decimal),
    date: ("D", date.isoformat, date.fromisoformat),
    datetime: ("T", datetime.isoformat, datetime.fromisoformat),
    time: ("H", time.isoformat, time.fromisoformat),
    timedelta: ("L", lambda v: _json([v.days, v.seconds, v.microseconds]), lambda s: timedelta(*json.loads(s))),
    UUID: ("u", str, UUID),
}
UNESCAPED = KINDS.keys() - {str}  # kinds whose texts stand in JSON as they are
# kind: (letter, its items, value of items)
NESTED = {
    list: ("l", iter, list),
    tuple: ("p", iter, tuple),
    dict: ("m", lambda v: chain.from_iterable(v.items()), lambda i: dict(zip(i[::2], i[1::2], strict=True))),
}
LETTERS = {letter: decode for letter, _, decode in KINDS.values()} | {
    "j": lambda s: clean_text(json.loads(s)),  # stored by versions that kept lone surrogates
    "n": lambda s: _value(json.loads(s)),
}
NESTED_LETTERS = {letter: make for letter, _, make in NESTED.values()}


def _encode(value: object, look: Look) -> str:
    """A value as text, its first letter the kind; numbers in hexadecimal, which is exact and has no length limit."""
    if type(value) in NESTED:
        return "n" + _tree(value, look)
    if type(value) not in KINDS:
        raise TypeError(f"a result holds a value of kind {type(value).__name__}")
    letter, encode, _ = KINDS[type(value)]
    return letter + encode(value)


def _tree(value: object, look: Look) -> str:
    """A nested value in JSON: each list a letter and its items, each leaf its own text. JSON's own writer cannot look."""
    letter, items, _ = NESTED[type(value)]
    items = list(items(value))
    parts = [f'"{letter}"']
    for start in range(0, len(items), LOOK_EVERY):
        look()
        piece = items[start : start + LOOK_EVERY]
        kinds = set(map(type, piece))
        if len(kinds) == 1 and kinds <= UNESCAPED:
            letter, encode, _ = KINDS[kinds.pop()]
            parts += [f'"{letter}{encode(item)}"' for item in piece]
        else:
            parts += [_tree(item, look) if type(item) in NESTED else _leaf(item, look) for item in piece]
    return f"[{','.join(parts)}]"


def _leaf(value: object, look: Look) -> str:
    if value is None:
        return "null"
    text = _encode(value, look)
    return f'"{text}"' if type(value) in UNESCAPED else _json(text)


def _value(tree: object) -> object:
    """The value of what `_tree` has written, read."""
    if type(tree) is not list:
        return None if tree is None else _decode(tree)
    return NESTED_LETTERS[tree[0]]([_value(item) for item in tree[1:]])


def _decode(text: str) -> object:
    return LETTERS[text[0]](text[1:])


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and abs(value) > 10**4000:  # Python refuses to print it
        return f"{value:#x}"
    return str(value).encode(errors="replace").decode()
