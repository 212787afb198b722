"""One pair's columns: failures apart, duplicates tolerated only where the queries differ in dropping them."""

import pytest

from workbench.backends.base import Execution
from workbench.gold_order import GoldOrder
from workbench.judge import PairResults, duplicates_may_differ, judge
from workbench.question_class import QuestionClass, question_class
from workbench.result_table import ResultTable

NAME_ERROR = Execution("name_error", message="no such column: x")
TIMEOUT = Execution("timeout", message="30 s")


def ok(*values) -> Execution:
    return Execution("ok", ResultTable.from_rows(["a"], [(value,) for value in values]))


def columns(predicted: Execution | None, gold: Execution, **options) -> dict:
    about = {"engine": "sqlite", "dialect": "sqlite", "sql": "SELECT a FROM t", "gold_sql": "SELECT a FROM t"}
    about |= {"own_gold": gold, "is_same_engine": True, "is_ordered": False, "is_row_count_fixed": False}
    about |= {"order": GoldOrder(), "no_sql": "empty"}
    return judge(PairResults(predicted=predicted, gold=gold, **(about | options)))


# id -> prediction, gold on SQLite, options -> df_match, strict, paper, bird_ex, outcome, words of the reason
CASES = {
    "right": (ok(1, 2), ok(2, 1), {}, (True, True, True, True), "judged", "equal: the same rows"),
    "wrong": (ok(1), ok(2), {}, (False, False, False, False), "judged", "1 vs 2"),
    "failed": (NAME_ERROR, ok(1), {}, (False,) * 4, "prediction_failed", "name_error: no such column"),
    "no query": (None, ok(1), {"sql": None}, (False,) * 4, "prediction_failed", "no query: empty"),
    "gold failed": (ok(1), NAME_ERROR, {}, (None, None, None, False), "gold_failed", "the gold query: name_error"),
    "gold too slow": (ok(1), TIMEOUT, {}, (None, None, None, False), "gold_timeout", "the gold query: timeout"),
    "both failed": (NAME_ERROR, NAME_ERROR, {}, (None, None, None, False), "gold_failed", "the gold query"),
    "the engine's own gold failed": (
        ok(1), ok(1), {"own_gold": NAME_ERROR}, (True, True, True, False), "judged", "the gold query for sqlite: name_error",
    ),
    "the engine's own gold is another": (ok(1), ok(1), {"own_gold": ok(2)}, (True, True, True, False), "judged", "equal"),
    "duplicates": (ok(1, 1), ok(1), {}, (False, False, False, True), "judged", "stands 2 times"),
    "duplicates of another DISTINCT": (
        ok(1, 1), ok(1), {"gold_sql": "SELECT DISTINCT a FROM t"}, (True, False, True, True), "judged", "not as often",
    ),
    "an order": (ok(1, 2), ok(2, 1), {"is_ordered": True}, (False, False, False, True), "judged", "row 1, column 1: 1 vs 2"),
    "an order up to ties": (
        ok(1, 2), ok(2, 1), {"is_ordered": True, "order": GoldOrder([(0,), (0,)])}, (True,) * 4, "judged", "tied rows",
    ),
    "an order of which ties are not known": (
        ok(2, 1), ok(2, 1), {"is_ordered": True, "order": GoldOrder(reason="chance")}, (True,) * 4, "judged",
        "ties are not known: chance",
    ),
    "a tie at the limit": (
        ok(3), ok(2), {"is_ordered": True, "order": GoldOrder([(0,)], [(2,), (3,)])}, (True, True, True, False), "judged",
        "accepted: tie at the limit",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("predicted", "gold", "options", "verdicts", "outcome", "words"), CASES.values(), ids=CASES)
def test_columns_of_a_pair(predicted, gold, options, verdicts, outcome, words):
    found = columns(predicted, gold, **options)
    assert tuple(found[name] for name in ("df_match", "df_match_strict", "df_match_paper", "bird_ex")) == verdicts
    assert found["outcome"] == outcome
    assert words in found["reason"]


DROPPING = [  # prediction, its dialect, gold, whether they drop duplicates in different places
    ("SELECT a FROM t", "sqlite", "SELECT b FROM u", False),
    ("SELECT DISTINCT a FROM t", "sqlite", "SELECT a FROM t", True),
    ("SELECT DISTINCT a FROM t", "postgres", "SELECT DISTINCT b FROM u", False),
    ("SELECT a FROM t GROUP BY a", "mysql", "SELECT DISTINCT a FROM t", True),
    ("SELECT a FROM t GROUP BY a, b", "sqlite", "SELECT a FROM t GROUP BY a", False),
    ("SELECT a FROM t UNION SELECT a FROM u", "sqlite", "SELECT a FROM t UNION ALL SELECT a FROM u", True),
    ("SELECT a FROM t INTERSECT SELECT a FROM u", "sqlite", "SELECT a FROM t WHERE a IN (SELECT a FROM u)", True),
    ("SELECT a FROM (SELECT DISTINCT a FROM t)", "sqlite", "SELECT DISTINCT a FROM t", True),
    ("SELECT count(DISTINCT a) FROM t", "sqlite", "SELECT count(a) FROM t", False),
    ("SELECT `a` FROM t GROUP BY `a`", "clickhouse", "SELECT a FROM t", True),
    ("SELECT a FROM t UNION ALL SELECT a FROM u", "sqlite", "SELECT a FROM t", False),
    (
        "SELECT a FROM t WHERE b IN (SELECT b FROM u GROUP BY b)",
        "sqlite",
        "SELECT a FROM t WHERE b IN (SELECT b FROM u)",
        False,
    ),
    ("SELECT a FROM t JOIN u ON t.b = (SELECT DISTINCT b FROM u)", "sqlite", "SELECT a FROM t", False),
    ("SELECT a, (SELECT b FROM u UNION SELECT c FROM u) FROM t", "sqlite", "SELECT a, b FROM t", False),
    ("WITH w AS (SELECT DISTINCT a FROM t) SELECT a FROM w", "sqlite", "SELECT a FROM t", True),
    (
        "SELECT t.a FROM t JOIN (SELECT b FROM u GROUP BY b) AS w ON w.b = t.a",
        "sqlite",
        "SELECT t.a FROM t JOIN u ON u.b = t.a",
        True,
    ),
    ("SELECT FROM FROM", "sqlite", "SELECT DISTINCT a FROM t", False),
]


@pytest.mark.parametrize(
    ("sql", "dialect", "gold", "differ"), DROPPING, ids=[each[0] + " | " + each[2] for each in DROPPING]
)
def test_who_drops_duplicates(sql, dialect, gold, differ):
    assert duplicates_may_differ(sql, dialect, gold) is differ


QUESTION = {"db_id": "d", "question": "q?", "gold_sql": "SELECT 1", "is_ordered": None, "is_row_count_fixed": None, "class_source": None}  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"is_ordered": True, "is_row_count_fixed": True, "class_source": "hand"}, (True, True, "hand")),
        ({"is_ordered": False, "is_row_count_fixed": False}, (False, False, "benchmark")),
        ({"is_ordered": True}, (False, False, "rules")),
        ({"question": "Who is the oldest?", "gold_sql": "SELECT a FROM t"}, (True, False, "rules")),
        ({"question": "Name the three oldest.", "gold_sql": None}, (True, True, "rules")),
        ({"question": "Who is there?", "gold_sql": "SELECT a FROM t ORDER BY a LIMIT 3"}, (False, False, "rules")),
    ],
)
def test_where_a_questions_class_comes_from(labels, expected):
    assert question_class(QUESTION | labels) == QuestionClass(*expected)


def test_hand_labels_that_ship_are_found(shared):
    import workbench as wb

    questions = wb.read_benchmark(shared / "data" / "bird").questions
    sources = [question_class(row).source for row in questions.iter_rows(named=True)]
    assert set(sources) == {"hand", "rules"}


def test_names_of_classes():
    names = {QuestionClass(*axes, "hand").name for axes in ((False, False), (False, True), (True, False), (True, True))}
    assert names == {"not_ordered", "ordered_fixed", "ordered_not_fixed"}
