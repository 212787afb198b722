"""Results come back exactly as the driver gave them, through memory and through bytes."""

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from workbench.result_table import ResultTable

ZONED = datetime(2024, 2, 29, 1, 2, 3, 4, timezone(timedelta(hours=-3, minutes=-30)))
COLUMNS = {
    "int": [1, None, -(2**63), 2**63 - 1],
    "big-int": [2**63, -(10**5000), None],
    "float": [1.5, None, math.inf, -math.inf, math.nan, -0.0, 5e-324, 1e308],
    "text": ["", "a", None, "🎈 nul\0 \\j"],
    "bytes": [b"", b"\x00\xff", None],
    "bool": [True, False, None],
    "decimal": [Decimal("1.50"), Decimal("1.5"), Decimal("NaN"), Decimal("-1E+400"), None],
    "date": [date.min, date.max, None],
    "datetime": [datetime.min, datetime.max, None, datetime(1969, 12, 31, 23, 59, 59, 999999)],
    "datetime-with-zone": [ZONED, datetime(2024, 1, 1, tzinfo=UTC), None],
    "time": [time.min, time.max, None],
    "time-with-zone": [time(1, 2, 3, 4, tzinfo=UTC), None],
    "span": [timedelta(days=-1, microseconds=1), None],
    "huge-span": [timedelta.min, timedelta.max],
    "uuid": [UUID(int=5), None],
    "list": [[1, [None, "x"], 2.5], [], None],
    "dict": [{"a": [1, Decimal("2.0")], "b": None}, {}],
    "mixed": [1, 1.0, "1", b"1", True, None, 2**70, -0.0, math.nan],
    "mixed-dates": [date(2024, 1, 1), "infinity", datetime(2024, 1, 1)],
    "nothing": [None, None],
}


def same(left: object, right: object) -> bool:
    """Equality that also looks at the kind, the sign of zero and NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    return repr(left) == repr(right) if not isinstance(left, int) else left == right


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS.keys())
def test_values_come_back_exactly(values):
    rows = [(value, 7) for value in values]
    table = ResultTable.from_rows(["v", "v"], rows)
    stored = ResultTable.from_bytes(table.to_bytes())
    assert same(table.rows(), rows)
    assert same(stored.rows(), rows)
    assert stored.columns == ("v", "v") and stored == table and stored.height == len(rows)
    assert table.frame().height == len(rows)


@pytest.mark.parametrize(
    ("columns", "rows"),
    [((), [(), ()]), ((), []), (("a", "b"), []), (("a", "\\j", "", "a"), [(1, 2, 3, 4)])],
    ids=["no-columns", "nothing", "no-rows", "strange-names"],
)
def test_shapes_come_back_exactly(columns, rows):
    stored = ResultTable.from_bytes(ResultTable.from_rows(columns, rows).to_bytes())
    assert (stored.columns, stored.rows(), stored.height) == (columns, rows, len(rows))


def test_nothing_that_cannot_be_written_down_is_kept():
    odd, clean = "\ud800é\udcff", "\ufffdé\ufffd"
    table = ResultTable.from_rows([odd, "b", "c"], [(odd, [odd, {odd: 1}], 1), (None, None, odd)])
    assert table.columns == (clean, "b", "c")
    assert table.rows() == [(clean, [clean, {clean: 1}], 1), (None, None, clean)]
    assert ResultTable.from_bytes(table.to_bytes()) == table


def test_unlike_tables_are_not_equal():
    table = ResultTable.from_rows(["v"], [(1,)])
    assert table != ResultTable.from_rows(["v"], [(1.0,)])
    assert table != ResultTable.from_rows(["w"], [(1,)])


def test_plain_columns_are_plain_arrow():
    table = ResultTable.from_rows(["i", "f", "s"], [(1, 1.0, "a")])
    assert [str(field.type) for field in table.arrow.schema] == ["int64", "double", "string"]
    assert table.frame().row(0) == (1, 1.0, "a")


def test_a_frame_numbers_repeated_names():
    assert ResultTable.from_rows(["a", "a", "a_"], [(1, "x", None)]).frame().columns == ["a", "a_", "a__"]


def test_unknown_kinds_and_foreign_bytes_are_refused():
    with pytest.raises(TypeError, match="complex"):
        ResultTable.from_rows(["v"], [(1j,)])
    with pytest.raises(pa.ArrowInvalid):
        ResultTable.from_bytes(b"no arrow")


def test_a_million_rows_come_back():
    rows = [(i, float(i), f"name {i}", Decimal(i), i if i % 2 else str(i)) for i in range(1_000_000)]
    table = ResultTable.from_bytes(ResultTable.from_rows("abcde", rows).to_bytes())
    assert table.rows() == rows
