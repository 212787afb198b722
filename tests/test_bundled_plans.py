"""The bundled golds as plans: every word of the plan language has questions, every gold keeps its rows on all engines."""

import polars as pl
import pytest

from workbench import bundled, plan_roundtrip
from workbench.backends import BACKENDS
from workbench.benchmarks import read_benchmark
from workbench.bundled.sources import read_sources
from workbench.bundled.stats import count_words
from workbench.dialects import NAMES
from workbench.plan_from_json import OPERATORS
from workbench.plan_functions import FUNCTIONS

LEAST = 3  # golds of every word or family

# Words that no gold can have, with the reason.
NEVER = {
    "random": "another answer each time",
    "current_date": "another answer each day",
    "current_time": "another answer each second",
    "current_timestamp": "another answer each second",
    "semi_join": "SQLite's SQL has no word for it; EXISTS stays an expression",
    "anti_join": "SQLite's SQL has no word for it; NOT EXISTS stays an expression",
    "intersect_all": "not in SQLite",
    "except_all": "not in SQLite",
}
# Rare words that only SQLite's own dialect has: each has a gold, each family enough of them.
FAMILIES = {
    "powers and logarithms": ("sqrt", "power", "exp", "ln", "log10"),
    "code points": ("unicode", "char"),
    "values as they are stored": ("typeof", "hex", "quote"),
}
OTHER_WORDS = {  # what a plan may hold beside the listed operators and functions
    "operator": ("recursive with",),
    "expression": ("case", "case of", "cast integer", "cast real", "cast text", "collate nocase", "in query", "exists",
                   "subquery"),
    "aggregate function": ("distinct", "where"),
    "frame": ("rows", "range", "groups", "exclude"),
}  # fmt: skip
WANTED = [
    *(("operator", word) for word in OPERATORS),
    *((f"{kind} function", word) for kind, word in FUNCTIONS),
    *((kind, word) for kind, words in OTHER_WORDS.items() for word in words),
]

ENGINES = [name for name in NAMES if name in BACKENDS]
TYPED = ("postgres", "mysql", "clickhouse", "duckdb")
# Golds that an engine is known not to run: words of the reason, engines, question ids. Strict: one that runs fails too.
GAPS = [
    ("the function ceil outside", TYPED, {1143, 1344, 1441}),
    ("the function floor outside", TYPED, {1045, 1247, 1544}),
    ("the function sign outside", TYPED, {1048, 1348, 1547}),
    ("the function sqrt outside", TYPED, {1442}),
    ("the function power outside", TYPED, {1041}),
    ("the function ln outside", TYPED, {1545}),
    ("the function unixepoch outside", TYPED, {1142, 1443}),
    ("the function unicode outside", TYPED, {1043}),
    ("the function char outside", TYPED, {1044, 1346}),
    ("the function typeof outside", TYPED, {1141, 1243}),
    ("the function hex outside", TYPED, {1146}),
    ("the function quote outside", TYPED, {1244}),
    ("a window's frame with groups", ("mysql",), {1245, 1347, 1546}),
    ("a window's frame with exclude", ("mysql",), {1047, 1144, 1445}),
    ("a window's EXCLUDE", ("clickhouse",), {1047, 1144, 1445}),
    ("a distance in a window's RANGE", ("clickhouse",), {520, 1530}),
    # MySQL makes IN a condition on groups, and then misses the outer column among the keys
    ("of HAVING clause is not in GROUP BY", ("mysql",), {1215}),
]

QUESTIONS = {q["question_id"]: q for source in read_sources() for q in (*source.questions, *source.train)}


@pytest.fixture(scope="module")
def counts(cache):
    return count_words(bundled.build())


@pytest.mark.parametrize(("kind", "word"), WANTED, ids=[f"{kind}-{word}" for kind, word in WANTED])
def test_every_word_of_the_plan_language_has_golds(counts, kind, word):
    kinds = (kind, "window function") if kind == "aggregate function" else (kind,)  # SUM(..) OVER (..) counts too
    found = sum(counts[one, word] for one in kinds)
    if word in NEVER:
        assert found == 0
    else:
        assert found >= (1 if any(word in family for family in FAMILIES.values()) else LEAST)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_golds(counts, family):
    assert sum(counts["scalar function", word] for word in FAMILIES[family]) >= LEAST


def test_words_that_are_counted_are_listed(counts):
    assert {pair for pair in counts if pair[0] != "window function"} <= set(WANTED)


@pytest.fixture(scope="module")
def round_trips(tmp_path_factory) -> pl.DataFrame:
    """One row for each gold, dev and train, and engine, by the way over plans alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_ROOT", str(tmp_path_factory.mktemp("root")))
        patch.setattr(plan_roundtrip, "METHODS", {})
        benchmarks = [read_benchmark("bundled", split) for split in ("dev", "train")]
        rows = plan_roundtrip.roundtrip(benchmarks, ENGINES, "bundled")
    ids = pl.concat([one.questions.select("db_id", "gold_sql", "question_id") for one in benchmarks])
    return rows.join(ids, on=["db_id", "gold_sql"]).with_columns(pl.col("question_id").cast(pl.Int64))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_gold_keeps_its_rows(round_trips, engine):
    rows = round_trips.filter(engine=engine)
    assert sorted(rows["question_id"]) == sorted(QUESTIONS)
    if set(rows["outcome"]) <= {"not_judged", "ambiguous"}:
        pytest.skip(f"{engine}: {rows.filter(outcome='not_judged')['reason'][0]}")
    known = {number: words for words, engines, numbers in GAPS if engine in engines for number in numbers}
    wrong = [
        (number, outcome, reason)
        for number, outcome, reason in rows.select("question_id", "outcome", "reason").iter_rows()
        if outcome not in ("equal", "ambiguous") and not (number in known and known[number] in reason)
    ]
    assert wrong == []
    closed = known.keys() & set(rows.filter(outcome="equal")["question_id"])
    assert closed == set()  # a gap that is closed leaves the table


def test_every_plan_comes_back_from_sql_json_and_reljson(round_trips):
    assert round_trips.filter(pl.col("plan_fault").is_not_null()).select("question_id", "plan_fault").rows() == []


def test_golds_are_ambiguous_where_they_are_marked(round_trips):
    """ties: limit is set by hand; the round trip finds out by itself which golds have several answers."""
    found = set(round_trips.filter(engine="sqlite", outcome="ambiguous")["question_id"])
    assert found == {number for number, question in QUESTIONS.items() if question["ties"] == "limit"}
