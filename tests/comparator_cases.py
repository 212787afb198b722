"""What the comparator must say: a hand-written table, each case with why it is right.

In a case: predicted rows, gold rows, whether they are equal, why, and options of `compare`; words that the verdict's reason
holds; strict and paper where they differ from the verdict. Groups follow the rules; PEERS are the false accepts and false
rejects of other evaluators that ../shared/reference/metric_definitions.md names.
"""

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

import polars as pl

from workbench.compare import Rows

NAN, INF = float("nan"), float("inf")
SUM = sum([0.1] * 10)  # 0.9999999999999999, as one engine adds; another gives 1.0


@dataclass
class Case:
    predicted: Rows
    gold: Rows
    equal: bool
    why: str
    options: dict = field(default_factory=dict)
    words: str = ""
    strict: bool | None = None
    paper: bool | None = None


def fixed(**options) -> dict:
    return {"is_ordered": True, "is_row_count_fixed": True} | options


def free(**options) -> dict:
    return {"is_ordered": True} | options


STRICT = {"tolerate_duplicates": False}
TOP3 = [("ann", 90), ("bob", 80), ("cy", 70)]
KEYS3 = [(90,), (80,), (70,)]
TIED = [("ann", 90), ("bob", 80), ("cy", 80)]  # cut in a tie of bob, cy and dan
KEYS_TIED = [(90,), (80,), (80,)]
AT_CUT = [("bob", 80), ("cy", 80), ("dan", 80)]


def frame(**columns) -> pl.DataFrame:
    return pl.DataFrame(columns)


VALUES = {
    "the same": Case([(1, "a")], [(1, "a")], True, "nothing differs"),
    "whole number and float": Case([(1.0,)], [(1,)], True, "engines choose the type of a number, not the question"),
    "whole numbers are exact": Case([(10**12 + 1,)], [(10**12,)], False, "ids that differ by one are two ids", words=f"{10**12 + 1} vs {10**12}"),
    "whole numbers beyond a float": Case([(2**53 + 1,)], [(2**53,)], False, "a float would take them for one"),
    "whole numbers beyond 64 bits": Case([(Decimal(2**70),)], [(2**70,)], True, "numeric and DECIMAL hold them"),
    "a large float is no other whole number": Case([(float(2**53 + 2),)], [(2**53 + 4,)], True, "as floats they are within 1e-9"),
    "last digit of a float": Case([(0.1 + 0.2,)], [(0.3,)], True, "sums depend on the order of addition"),
    "within 1e-9 of its size": Case([(1e6 * (1 + 5e-10),)], [(1e6,)], True, "relative tolerance"),
    "beyond 1e-9 of its size": Case([(1e6 * (1 + 5e-9),)], [(1e6,)], False, "relative tolerance"),
    "near zero": Case([(1e-10,)], [(0.0,)], True, "absolute tolerance near zero"),
    "near zero, whole": Case([(-3e-17,)], [(0,)], True, "what a difference of equal sums leaves"),
    "not that near zero": Case([(2e-9,)], [(0.0,)], False, "absolute tolerance near zero"),
    "small but different": Case([(0.00012,)], [(0.00011,)], False, "small numbers keep their digits"),
    "rounded": Case([(0.333,)], [(1 / 3,)], False, "rounding was not asked for", words="0.333 vs 0.333333"),
    "negative zero": Case([(-0.0,)], [(0,)], True, "engines print it differently, the number is the same"),
    "sign": Case([(-5,)], [(5,)], False, "another number"),
    "infinity": Case([(INF,)], [(INF,)], True, "the same"),
    "infinity and the largest": Case([(INF,)], [(1.7e308,)], False, "no tolerance reaches infinity"),
    "not a number": Case([(NAN,)], [(NAN,)], True, "the same answer, though IEEE says it does not equal itself"),
    "not a number and NULL": Case([(NAN,)], [(None,)], False, "NULL only equals NULL"),
    "decimal": Case([(Decimal("1.50"),)], [(1.5,)], True, "PostgreSQL's numeric is SQLite's real"),
    "whole decimal": Case([(Decimal("3.0000"),)], [(3,)], True, "MySQL's AVG of whole numbers"),
    "decimal to the cent": Case([(Decimal("1.51"),)], [(1.5,)], False, "another number"),
    "true is one": Case([(True,)], [(1,)], True, "SQLite has no booleans"),
    "false is zero": Case([(False,)], [(0,)], True, "SQLite has no booleans"),
    "true is not its word": Case([(True,)], [("true",)], False, "text is no boolean"),
    "false is not NULL": Case([(False,)], [(None,)], False, "NULL only equals NULL"),
    "NULL": Case([(None,)], [(None,)], True, "NULL equals NULL, though SQL's = does not say so"),
    "NULL and empty text": Case([("",)], [(None,)], False, "NULL only equals NULL", words="'' vs NULL"),
    "NULL and its word": Case([("NULL",)], [(None,)], False, "NULL only equals NULL"),
    "text of a number": Case([("7",)], [(7,)], False, "text only equals text", words="'7' vs 7"),
    "text of a float": Case([("1.5",)], [(1.5,)], False, "text only equals text"),
    "case": Case([("Ann",)], [("ann",)], False, "letters count"),
    "space at the end": Case([("a ",)], [("a",)], False, "text is compared as it is"),
    "composed and decomposed letters": Case([("é",)], [("e\u0301",)], False, "text is compared as it is"),
    "a date": Case([(datetime.date(2020, 1, 31),)], [("2020-01-31",)], True, "SQLite's DATE() gives text"),
    "another date": Case([(datetime.date(2020, 1, 30),)], [("2020-01-31",)], False, "another day"),
    "a date and time": Case([(datetime.datetime(2020, 1, 31, 23, 5),)], [("2020-01-31 23:05:00",)], True, "SQLite's DATETIME() gives text"),
    "a fraction of a second": Case([(datetime.datetime(2020, 1, 31, 23, 5, 0, 250000),)], [("2020-01-31 23:05:00.250000",)], True, "ISO text"),
    "midnight is no date": Case([(datetime.datetime(2020, 1, 31),)], [("2020-01-31",)], False, "ISO text of a date and time has both"),
    "a time": Case([(datetime.time(8, 30),)], [("08:30:00",)], True, "SQLite's TIME() gives text"),
    "MySQL's time": Case([(datetime.timedelta(hours=8, minutes=30),)], [("08:30:00",)], True, "it comes as a span"),
    "a year is no text": Case([("2020",)], [(2020,)], False, "text only equals text, also where strftime gave it"),
    "bytes": Case([(bytearray(b"a"),)], [(b"a",)], True, "drivers differ in their type"),
    "bytes are not text": Case([(b"a",)], [("a",)], False, "bytes only equal bytes"),
    "uuid": Case([(UUID(int=1),)], [("00000000-0000-0000-0000-000000000001",)], True, "SQLite keeps it as text"),
    "array": Case([([1, 2],)], [((1, 2),)], True, "lists and tuples are one array"),
    "map": Case([({"a": [1.5], "b": 2},)], [({"b": 2, "a": [1.5]},)], True, "maps have no order"),
    "another map": Case([({"a": 1},)], [({"a": 2},)], False, "another value"),
    "floats too dense to tell apart": Case(
        [(1.7e9 + second,) for second in range(5)], [(1.7e9 + second,) for second in range(5)], True,
        "each equals itself, though neighbours are within 1e-9",
    ),
    "dense floats shifted by one": Case(
        [(1.7e9 + second,) for second in range(1, 6)], [(1.7e9 + second,) for second in range(5)], False,
        "the chain is longer than the tolerance: its ends are different",
    ),
    "two ids beside a float": Case([(10**10,), (10**10 + 1,)], [(10**10,), (10**10,)], False, "whole numbers are exact", STRICT),
}  # fmt: skip

COLUMNS = {
    "reordered columns": Case([("a", 1), ("b", 2)], [(1, "a"), (2, "b")], True, "their order is not part of the question"),
    "other names": Case(frame(n=[1, 2]), frame(total=[1, 2]), True, "names are not part of the question"),
    "an extra column": Case([(1, "a", 9), (2, "b", 9)], [(1, "a"), (2, "b")], True, "harmless (appendix F)"),
    "an extra column in front": Case([(9, 1), (8, 2)], [(1,), (2,)], True, "harmless (appendix F)"),
    "a missing column": Case([(1,), (2,)], [(1, "a"), (2, "b")], False, "part of the answer is not there", words="gold column 2 has no match (1 column, gold has 2)"),
    "a missing column by name": Case(frame(id=[1, 2]), frame(id=[1, 2], total=[5, 6]), False, "the reason names it", words="gold column total has no match"),
    "a wrong column by name": Case(frame(id=[1, 2], n=[5, 7]), frame(id=[1, 2], total=[5, 6]), False, "the reason names it", words="gold column total has no match: 6 is missing"),
    "a duplicated column": Case([(1, 1, "a"), (2, 2, "b")], [(1, "a"), (2, "b")], True, "the second is an extra one"),
    "gold's column twice, predicted once": Case([(1,), (2,)], [(1, 1), (2, 2)], False, "each gold column needs one of its own"),
    "gold's column twice, predicted twice": Case([(1, 1), (2, 2)], [(1, 1), (2, 2)], True, "each has one"),
    "two candidates": Case(
        [("x", "y"), ("y", "x"), ("x", "x")], [("y", "x"), ("x", "y"), ("x", "x")], True,
        "both assignments are tried; as they stand, the rows are the same",
    ),
    "two candidates, one fits": Case(
        [(1, 2, "a"), (2, 1, "b")], [(2, 1, "a"), (1, 2, "b")], True, "the columns change places, and the rows agree",
    ),
    "two candidates, none fits": Case(
        [(1, 2, "a"), (2, 1, "b"), (3, 3, "c")], [(2, 1, "a"), (1, 3, "b"), (3, 2, "c")], False,
        "every column has a match, but no assignment gives gold's rows", words="the columns match one by one",
    ),
    "rows re-paired within an extra column": Case([(1, "b", 0), (2, "a", 0)], [(1, "a"), (2, "b")], False, "values must stand together"),
    "the first candidate is wrong": Case(
        [(2, 1, 1), (1, 2, 2), (3, 3, 3)], [(1, 1), (2, 2), (3, 3)], True, "an extra column with the same values comes first",
    ),
    "sixty equal columns": Case([(i,) * 60 for i in range(9)], [(i,) * 60 for i in range(9)], True, "equal columns stand for each other"),
    "sixty equal columns, one of them re-paired": Case(
        [(*(i,) * 59, (i + 1) % 9) for i in range(9)], [(i,) * 60 for i in range(9)], False, "59 are not 60",
    ),
    "sixty shuffled columns": Case(
        [tuple((row * (column + 1)) % 61 for column in reversed(range(60))) for row in range(61)],
        [tuple((row * (column + 1)) % 61 for column in range(60)) for row in range(61)], True,
        "all have the values 0 to 60; one column decides the others",
    ),
    "a unit matrix with its columns in another order": Case(
        [tuple(int(i == (j * 7) % 60) for j in range(60)) for i in range(60)],
        [tuple(int(i == j) for j in range(60)) for i in range(60)], True, "60! assignments, any of which will do",
    ),
    "a column named value": Case(frame(value=[3], name=["a"]), frame(name=["a"], value=[3]), True, "a name is nothing but a name"),
    "columns of NULL": Case([(None, 1)], [(1, None)], True, "NULLs make a set of values too"),
    "a column of NULL for one of zero": Case([(1, 0)], [(1, None)], False, "NULL only equals NULL"),
    "one row, other place": Case([(4,)], [(3,)], False, "the reason shows both values", words="row 1, column 1: 4 vs 3"),
    "one row among extra columns": Case([(3, 4, 5)], [(5,)], True, "one of them is gold's"),
}  # fmt: skip

NOT_ORDERED = {
    "another order": Case([(2,), (1,)], [(1,), (2,)], True, "no order was asked for"),
    "a row less": Case([(1,)], [(1,), (2,)], False, "an answer is missing", words="2 is missing"),
    "a row more": Case([(1,), (2,), (3,)], [(1,), (2,)], False, "one that gold does not have", words="3 is not in it"),
    "a changed value": Case([(1, "a"), (2, "c")], [(1, "a"), (2, "b")], False, "another answer"),
    "other counts of duplicates": Case([(1,), (1,), (2,)], [(1,), (2,)], True, "one query drops duplicates", words="not as often", strict=False),
    "other counts, counted": Case([(1,), (1,), (2,)], [(1,), (2,)], False, "neither query drops duplicates", STRICT, words="the row (1) stands 2 times, in gold 1"),
    "as many rows, other counts": Case([(1,), (1,), (2,)], [(1,), (2,), (2,)], False, "neither query drops duplicates", STRICT, words="in gold 1"),
    "as many rows, other counts, tolerated": Case([(1,), (1,), (2,)], [(1,), (2,), (2,)], True, "counts are not looked at", strict=False),
    "duplicates do not hide a missing row": Case([(1,), (1,), (1,)], [(1,), (2,), (2,)], False, "2 is not there"),
    "duplicates with an extra column": Case([(1, 7), (1, 8), (2, 9)], [(1,), (2,)], True, "rows are gold's columns", strict=False),
    "both empty": Case([], [], True, "the same answer: nothing"),
    "both empty, more columns": Case(frame(a=[], b=[]), frame(a=[]), True, "at least gold's columns"),
    "both empty, fewer columns": Case(frame(a=[]), frame(a=[], b=[]), False, "a column of the answer is missing", words="1 columns, gold has 2"),
    "empty for something": Case([], [(1,)], False, "an answer is missing", words="no rows, gold has 1 row"),
    "something for empty": Case([(1,)], [], False, "nothing was to be found", words="1 row, gold has none"),
    "NULL for empty": Case([(None,)], [], False, "a row of NULL is a row"),
    "row count fixed without order": Case([(2,), (1,)], [(1,), (2,)], True, "empty in practice; judged as not ordered", {"is_row_count_fixed": True}),
    "keys are not looked at": Case([(2,), (1,)], [(1,), (2,)], True, "no order was asked for", {"order_keys": [(1,), (2,)]}),
    "boundary is not looked at": Case([(3,)], [(2,)], False, "ties at a limit count where order was asked for", {"boundary": [(2,), (3,)]}),
    "float sums row by row": Case([("a", SUM), ("b", 0.30000000000000004)], [("b", 0.3), ("a", 1.0)], True, "last digits do not part rows"),
}  # fmt: skip

ORDERED_FIXED = {
    "in place": Case(TOP3, TOP3, True, "nothing differs", fixed(order_keys=KEYS3), words="in the same order"),
    "another order": Case([TOP3[1], TOP3[0], TOP3[2]], TOP3, False, "the order is the answer", fixed(order_keys=KEYS3), words="row 1, column 1: 'bob' vs 'ann'"),
    "another order, keys unknown": Case([TOP3[1], TOP3[0], TOP3[2]], TOP3, False, "each row has its place", fixed()),
    "a tie in another order": Case([TIED[0], TIED[2], TIED[1]], TIED, True, "80 and 80 are tied", fixed(order_keys=KEYS_TIED), words="tied rows"),
    "across a tie": Case([TIED[1], TIED[0], TIED[2]], TIED, False, "90 comes before 80", fixed(order_keys=KEYS_TIED)),
    "keys within the tolerance": Case([("b",), ("a",)], [("a",), ("b",)], True, "tied up to 1e-9", fixed(order_keys=[(0.3,), (0.1 + 0.2,)])),
    "keys of NULL": Case([("b",), ("a",)], [("a",), ("b",)], True, "NULLs are tied", fixed(order_keys=[(None,), (None,)])),
    "several keys": Case([("b",), ("a",)], [("a",), ("b",)], False, "the second key parts them", fixed(order_keys=[(1, "x"), (1, "y")])),
    "several keys, tied": Case([("b",), ("a",)], [("a",), ("b",)], True, "both keys are equal", fixed(order_keys=[(1, "x"), (1, "x")])),
    "a key that comes twice": Case([("c",), ("b",), ("a",)], [("a",), ("b",), ("c",)], False, "only neighbours are tied", fixed(order_keys=[(1,), (2,), (1,)])),
    "no order in gold": Case([("c",), ("a",), ("b",)], [("a",), ("b",), ("c",)], True, "a key of nothing ties all rows", fixed(order_keys=[()] * 3)),
    "keys that are not selected": Case([("bob",), ("ann",)], [("ann",), ("bob",)], True, "they come beside the rows", fixed(order_keys=[(80,), (80,)])),
    "a row less": Case(TOP3[:2], TOP3, False, "three were asked for", fixed(order_keys=KEYS3), words="2 rows, gold has 3"),
    "a row more": Case([*TOP3, ("dan", 60)], TOP3, False, "three were asked for", fixed(order_keys=KEYS3), words="4 rows, gold has 3"),
    "a tie at the limit": Case([TIED[0], TIED[1], ("dan", 80)], TIED, True, "dan ties with cy", fixed(order_keys=KEYS_TIED, boundary=AT_CUT), words="accepted: tie at the limit", paper=False),
    "all of a tie, one too many": Case([TIED[0], *AT_CUT], TIED, False, "three were asked for", fixed(order_keys=KEYS_TIED, boundary=AT_CUT), words="4 rows, gold has 3"),
    "one of a tie twice": Case([TIED[0], ("dan", 80), ("dan", 80)], TIED, False, "dan is there once", fixed(order_keys=KEYS_TIED, boundary=AT_CUT)),
    "a boundary row before the cut": Case([("dan", 80), ("bob", 80), ("cy", 80)], TIED, False, "ann is first", fixed(order_keys=KEYS_TIED, boundary=AT_CUT)),
    "who is not at the cut": Case([TIED[0], TIED[1], ("eve", 80)], TIED, False, "eve is none of the tied", fixed(order_keys=KEYS_TIED, boundary=AT_CUT), words="row 3, column 1: 'eve' vs 'cy'"),
    "boundary without gold's own": Case([TIED[0], TIED[2], ("dan", 80)], TIED, True, "gold's own rows could stand there too", fixed(order_keys=KEYS_TIED, boundary=[("dan", 80)]), paper=False),
    "boundary without keys": Case([("dan",)], [("ann",)], True, "gold's last row is tied with the rows that could stand there", fixed(boundary=[("ann",), ("dan",)]), paper=False),
    "boundary without keys, further up": Case([("dan",), ("bob",)], [("ann",), ("bob",)], False, "ann is not among them", fixed(boundary=[("bob",), ("dan",)])),
    "a tie at the offset": Case([("dan", 90), ("bob", 80)], [("ann", 90), ("bob", 80)], True, "OFFSET skipped either", fixed(order_keys=[(90,), (80,)], skipped=[("ann", 90), ("dan", 90)]), words="tie at the offset", paper=False),
    "a tie at offset and limit": Case([("eve", 90)], [("ann", 90)], True, "one row between two cuts of one tie", fixed(order_keys=[(90,)], skipped=[("ann", 90), ("eve", 90)], boundary=[("ann", 90), ("eve", 90)]), paper=False),
    "an offset's tie at the end": Case([("bob", 80), ("dan", 90)], [("ann", 90), ("bob", 80)], False, "dan could stand first only", fixed(order_keys=[(90,), (80,)], skipped=[("ann", 90), ("dan", 90)])),
    "duplicates in other counts": Case([("a",), ("b",), ("b",)], [("a",), ("a",), ("b",)], False, "the count is fixed, row by row", fixed(), paper=True),
    "reordered columns": Case([(90, "ann"), (80, "bob"), (70, "cy")], TOP3, True, "columns have no order", fixed(order_keys=KEYS3)),
    "re-paired rows": Case([("ann", 80), ("bob", 90), ("cy", 70)], TOP3, False, "values must stand together", fixed(order_keys=[()] * 3)),
    "a changed value": Case([("ann", 90), ("bob", 80), ("cy", 71)], TOP3, False, "the reason says where", fixed(order_keys=KEYS3), words="row 3, column 2: 71 vs 70"),
    "a changed value in a tie": Case([TIED[0], TIED[1], ("eve", 80)], TIED, False, "not one of the tied", fixed(order_keys=KEYS_TIED), words="another of the 2 rows tied there"),
    "both empty": Case([], [], True, "the same answer: nothing", fixed(order_keys=[])),
    "float sums in place": Case([(1.0,), (0.5,)], [(SUM,), (0.5,)], True, "last digits do not count", fixed(order_keys=[(SUM,), (0.5,)])),
}  # fmt: skip

ORDERED_NOT_FIXED = {
    "in place": Case(TOP3, TOP3, True, "nothing differs", free(order_keys=KEYS3)),
    "another order": Case(TOP3[::-1], TOP3, False, "the order is the answer", free(order_keys=KEYS3)),
    "the other of two": Case([("bob",)], [("ann",)], True, "both spent 90 (the paper's example b)", free(order_keys=[(90,)], boundary=[("ann",), ("bob",)]), words="accepted: tie at the limit"),
    "both of two": Case([("bob",), ("ann",)], [("ann",)], True, "ties may return more", free(order_keys=[(90,)], boundary=[("ann",), ("bob",)])),
    "both of two and another": Case([("bob",), ("ann",), ("cy",)], [("ann",)], False, "cy spent less", free(order_keys=[(90,)], boundary=[("ann",), ("bob",)]), words="row 3 is not tied with gold's last row: ('cy')", paper=True),
    "the runner-up": Case([("cy",)], [("ann",)], False, "cy spent less", free(order_keys=[(90,)], boundary=[("ann",), ("bob",)])),
    "a tie at the limit": Case([TIED[0], ("dan", 80), TIED[1]], TIED, True, "dan ties with cy", free(order_keys=KEYS_TIED, boundary=AT_CUT)),
    "all of a tie at the limit": Case([TIED[0], *AT_CUT], TIED, True, "no number was stated", free(order_keys=KEYS_TIED, boundary=AT_CUT)),
    "rows after gold's last": Case([*TOP3, ("dan", 60)], TOP3, False, "not a tie; the paper's prefix rule takes it", free(order_keys=KEYS3), words="row 4 is one more than gold has: ('dan', 60)", paper=True),
    "a row less": Case(TOP3[:2], TOP3, False, "an answer is missing", free(order_keys=KEYS3), words="2 rows, gold has 3"),
    "one of a tie twice": Case([("bob",), ("bob",)], [("ann",)], False, "bob is there once", free(order_keys=[(90,)], boundary=[("ann",), ("bob",)]), paper=True),
    "a tie in another order": Case([TIED[0], TIED[2], TIED[1]], TIED, True, "tied", free(order_keys=KEYS_TIED)),
    "duplicates of neighbours": Case([("a",), ("a",), ("b",)], [("a",), ("b",)], True, "one query drops duplicates", free(), strict=False, paper=False),
    "duplicates of neighbours, counted": Case([("a",), ("a",), ("b",)], [("a",), ("b",)], False, "neither query drops them", free(**STRICT)),
    "duplicates in another order": Case([("b",), ("a",), ("a",)], [("a",), ("b",)], False, "the order is the answer", free()),
    "duplicates out of order": Case([("a",), ("b",), ("a",)], [("a",), ("b",)], False, "only neighbours count as one", free(), paper=True),
    "fewer duplicates": Case([("a",), ("b",)], [("a",), ("a",), ("b",)], False, "fewer rows than gold's (section 4.2)", free(), words="2 rows, gold has 3"),
    "something for empty": Case([(1,)], [], False, "nothing was to be found", free(order_keys=[])),
    "an extra column": Case([("ann", 90, 1), ("bob", 80, 2), ("cy", 70, 3)], TOP3, True, "harmless", free(order_keys=KEYS3)),
    "boundary with an extra column": Case([("bob", 90, "x")], [("ann", 90)], True, "the tie is judged on gold's columns", free(order_keys=[(90,)], boundary=[("ann", 90), ("bob", 90)])),
    "boundary with columns reordered": Case([(90, "bob")], [("ann", 90)], True, "the tie is judged on gold's columns", free(order_keys=[(90,)], boundary=[("ann", 90), ("bob", 90)])),
    "boundary re-paired": Case([("bob", 7)], [("ann", 5)], False, "bob has 6, cy has 7", free(order_keys=[(1,)], boundary=[("ann", 5), ("bob", 6), ("cy", 7)])),
}  # fmt: skip

PEERS = {
    "re-paired rows": Case([("alice", "y"), ("bob", "x")], [("alice", "x"), ("bob", "y")], False, "accepted by IBM's and Spider2-lite's rules, which compare columns one by one"),
    "NULL for 0": Case([(0,)], [(None,)], False, "accepted by Spider2-lite, which reads NaN as 0", words="0 vs NULL"),
    "0 for NULL": Case([(None,)], [(0,)], False, "accepted by Spider2-lite", words="NULL vs 0"),
    "'007' for 7": Case([(7,)], [("007",)], False, "accepted by Spider2-lite, whose types are lost in CSV", words="7 vs '007'"),
    "'007' for '7'": Case([("007",)], [("7",)], False, "accepted by Spider2-lite"),
    "0.304 for 0.300": Case([(0.304,)], [(0.300,)], False, "accepted by Spider2-lite's tolerance of 0.01"),
    "float sums in another order": Case([(SUM,)], [(1.0,)], True, "rejected by BIRD's sets"),
    "float sums in groups": Case([("a", SUM), ("b", 2.5)], [("a", 1.0), ("b", 2.5)], True, "rejected by BIRD's sets"),
    "top three in another order": Case([TOP3[2], TOP3[0], TOP3[1]], TOP3, False, "accepted by BIRD's sets (the paper's example a)", fixed(order_keys=KEYS3)),
    "tie at the limit": Case([("bob",)], [("ann",)], True, "rejected by BIRD's sets (the paper's example b)", free(order_keys=[(90,)], boundary=[("ann",), ("bob",)])),
    "reordered columns": Case([("x", 1), ("y", 2)], [(1, "x"), (2, "y")], True, "rejected by BIRD's sets"),
    "an extra column": Case([("x", 1), ("y", 2)], [("x",), ("y",)], True, "rejected by BIRD's sets and the test suite's rule"),
    "a duplicated column": Case([("x", "x"), ("y", "y")], [("x",), ("y",)], True, "rejected by BIRD's sets"),
    "a duplicated column for two": Case([(1, 1), (2, 2)], [(1, 2), (2, 1)], False, "accepted where one column may stand for two of gold's"),
    "a duplicated column for two, re-paired": Case([(1, 1), (2, 2)], [(1, 2), (2, 2)], False, "accepted by Spider's old rule where the later of two columns overwrites the first"),
    "duplicate rows": Case([("x",), ("x",)], [("x",)], False, "accepted by BIRD's sets, whatever the queries", STRICT),
    "row order where none was asked": Case([("y",), ("x",)], [("x",), ("y",)], True, "rejected by Spider's old rule"),
    "a column named value": Case(frame(value=[7]), frame(value=[7]), True, "the test suite's script replaces the word in every prediction"),
    "order by in a subquery alone": Case([("b",), ("a",)], [("a",), ("b",)], True, "order matters in the test suite wherever 'order by' stands", {}),
    "dates through text": Case([(datetime.date(2020, 1, 31),)], [("2020-01-31",)], True, "rejected by BIRD's sets across engines"),
    "a date read as a number": Case([(1580428800000,)], [("2020-01-31",)], False, "what pandas makes of dates in JSON"),
    "rows cut to gold's number": Case([(i,) for i in range(30)], [(i,) for i in range(15)], False, "IBM's script cuts predictions to gold's rows and 9"),
    "values sorted within rows": Case([("a", "b"), ("d", "c")], [("a", "b"), ("c", "d")], False, "accepted by IBM's sorting within rows"),
    "both failed to find": Case([("error",)], [], False, "BIRD's older script puts ('error',) for a failure"),
    "columns permuted at random": Case([(1, 2, 3, 4), (2, 3, 4, 1)], [(4, 3, 2, 1), (1, 4, 3, 2)], True, "the test suite samples 20 permutations' rows; ours is exact"),
    "text that is not UTF-8": Case([("a\udcff",)], [("a",)], False, "the test suite ignores what it cannot decode"),
    "large whole numbers": Case([(9007199254740993,)], [(9007199254740992,)], False, "one number in JSON and in floats"),
    "boolean for text": Case([(True,)], [("1",)], False, "accepted where all becomes text"),
}  # fmt: skip

CASES = {
    f"{group}: {name}": case
    for group, cases in {
        "values": VALUES,
        "columns": COLUMNS,
        "not ordered": NOT_ORDERED,
        "ordered, fixed": ORDERED_FIXED,
        "ordered, not fixed": ORDERED_NOT_FIXED,
        "peers": PEERS,
    }.items()
    for name, case in cases.items()
}
