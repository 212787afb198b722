"""DF-Match: the hand-written table of cases, and what holds for all tables."""

import random
from collections import Counter
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from comparator_cases import CASES
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench import map_columns, value_codes
from workbench.compare import tie_groups
from workbench.errors import ResultsError
from workbench.result_table import ResultTable


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case(case):
    verdict = wb.compare(case.predicted, case.gold, **case.options)
    assert verdict.equal is case.equal, verdict
    assert case.words in verdict.reason
    assert verdict.strict is (case.equal if case.strict is None else case.strict), verdict
    assert verdict.paper is (case.equal if case.paper is None else case.paper), verdict
    assert (verdict.mapping is not None) == case.equal


def test_the_table_is_as_large_as_it_should_be():
    assert len(CASES) >= 120
    assert 50 < sum(case.equal for case in CASES.values()) < len(CASES) - 50


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_large_tables_are_coded_alike(case, monkeypatch):
    """The way of large tables, forced upon small ones."""
    monkeypatch.setattr(value_codes, "SMALL", 0)
    monkeypatch.setattr(map_columns, "MANY", 0)
    test_case(case)


@pytest.mark.parametrize("form", ["frame", "result"])
def test_forms_of_a_table_are_one(form):
    rows = [(1, "a", 0.5, None), (2, "b", 1.5, b"x"), (2**40, None, -1.0, None)]
    names = ["i", "t", "f", "b"]
    table = pl.DataFrame(rows, names, orient="row") if form == "frame" else ResultTable.from_rows(names, rows)
    for one, other in ((table, rows), (rows, table), (table, table)):
        assert wb.compare(one, other, tolerate_duplicates=False).mapping == (0, 1, 2, 3)
    assert "gold column f has no match" in wb.compare([(*row[:2], 9.0, row[3]) for row in rows], table).reason


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([(1,), (2, 3)], {}, "rows are not of one length"),
        ([{"a": 1}], {}, "a row is a dict"),
        (["ab"], {}, "a row is a str"),
        ([(1,)], {"is_ordered": True, "order_keys": [(1,), (2,)]}, "2 order keys .one a gold row: 1"),
        ([(1,)], {"is_ordered": True, "boundary": [(1, 2)]}, "boundary rows of 2 columns"),
    ],
)
def test_what_does_not_fit_is_refused(rows, options, words):
    with pytest.raises(ResultsError, match=words):
        wb.compare([(1,)], rows, **options)


CELLS = st.sampled_from([0, 1, 2, 3, "0", "a", None, 0.5])


@st.composite
def tables(draw, most_rows: int = 5) -> list[tuple]:
    width = draw(st.integers(1, 3))
    return draw(st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=most_rows))


@settings(deadline=None)
@given(tables(9), st.randoms(use_true_random=False))
def test_rows_and_columns_in_another_order_stay_equal(gold, chance: random.Random):
    places = chance.sample(range(len(gold[0])), len(gold[0]))
    rows = [tuple(row[place] for place in places) for row in chance.sample(gold, len(gold))]
    assert wb.compare(rows, gold).strict


@settings(deadline=None)
@given(tables(9), st.data())
def test_a_changed_value_is_never_equal(gold, data):
    row, column = data.draw(st.integers(0, len(gold) - 1)), data.draw(st.integers(0, len(gold[0]) - 1))
    rows = [list(each) for each in gold]
    rows[row][column] = "new"
    keys = data.draw(st.lists(st.tuples(st.integers(0, 1)), min_size=len(gold), max_size=len(gold)))
    for is_ordered in (False, True):
        for is_fixed in (False, True):
            verdict = wb.compare(rows, gold, is_ordered, is_fixed, keys if is_ordered else None)
            assert not (verdict.equal or verdict.strict or verdict.paper), verdict


def by_all_assignments(predicted, gold, is_match) -> bool:
    """Whether any assignment of predicted columns makes the rows match: by trying them all."""
    return any(
        is_match([tuple(row[place] for place in places) for row in predicted])
        for places in permutations(range(len(predicted[0])), len(gold[0]))
    )


@settings(max_examples=400, deadline=None)
@given(tables(4), tables(4), st.randoms(use_true_random=False))
def test_verdicts_are_those_of_trying_all_assignments(predicted, gold, chance: random.Random):
    if chance.random() < 0.8:  # else hardly a pair would be equal
        columns = [chance.randrange(len(gold[0])) for _ in range(len(gold[0]) + 1)]
        predicted = [tuple(row[column] for column in columns) for row in chance.choices(gold, k=len(gold))]
    verdict = wb.compare(predicted, gold)
    assert verdict.equal == by_all_assignments(predicted, gold, lambda rows: set(rows) == set(gold))
    assert verdict.strict == by_all_assignments(predicted, gold, lambda rows: Counter(rows) == Counter(gold))
    assert wb.compare(predicted, gold, tolerate_duplicates=False).equal == verdict.strict


@settings(max_examples=400, deadline=None)
@given(tables(4), st.booleans(), st.randoms(use_true_random=False))
def test_ordered_verdicts_are_those_of_trying_all_assignments(gold, is_fixed, chance: random.Random):
    keys = sorted((chance.randrange(3),) for _ in gold)
    others = [chance.choice(gold) for _ in range(chance.randrange(3))] if chance.random() < 0.7 else []
    at_cut = [row for row, key in zip(gold, keys, strict=True) if key == keys[-1]]
    boundary = at_cut + others if others else None
    pool = chance.sample(gold, len(gold)) if chance.random() < 0.5 else list(gold)
    predicted = (pool + chance.sample(others, len(others)))[chance.randrange(2) :] or pool
    verdict = wb.compare(predicted, gold, True, is_fixed, keys, boundary, tolerate_duplicates=False)

    def is_match(rows) -> bool:
        start = len(gold) - len(at_cut)
        head = [Counter(rows[i] for i in range(start) if keys[i] == key) for key in sorted(set(keys[:start]))]
        wanted = [Counter(gold[i] for i in range(start) if keys[i] == key) for key in sorted(set(keys[:start]))]
        end = Counter(rows[start:])
        is_end = end <= Counter(boundary) if boundary else end == Counter(at_cut)
        return head == wanted and is_end

    is_enough = len(predicted) == len(gold) if is_fixed else len(predicted) >= len(gold)
    assert verdict.equal == (is_enough and by_all_assignments(predicted, gold, is_match)), verdict


@settings(deadline=None)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_equal_codes_are_never_further_apart_than_the_tolerance(floats, chance: random.Random):
    values = [*floats, *(value * (1 + chance.uniform(-3e-9, 3e-9)) for value in floats), *map(round, floats)]
    (codes,), _ = value_codes.encode([values])
    for one, code in zip(values, codes, strict=True):
        for other, same in zip(values, codes, strict=True):
            assert code != same or value_codes.is_close(one, other)
    noisy = [value + np.spacing(value) for value in floats]
    (exact, near), _ = value_codes.encode([floats, noisy])
    if min((abs(a - b) for a in floats for b in floats if a != b), default=1) > 1e-2 * max(map(abs, floats)):
        assert exact.tolist() == near.tolist()


def test_ties_are_of_neighbours():
    assert tie_groups([(1, "a"), (1, "a"), (1.0, "a"), (1, "b"), (1, "a")]).tolist() == [0, 0, 0, 1, 2]
    assert tie_groups([(0.3,), (0.1 + 0.2,), (None,), (None,), (0,)]).tolist() == [0, 0, 1, 1, 2]
    assert tie_groups([]).tolist() == []


@pytest.mark.parametrize(
    "rows",
    [[(1, "a"), (2, None)], [(0.1, 0.1), (0.1, 0.1)], [(float("nan"), 1)], [(1, b"x"), ("1", 2.5)]],
    ids=["plain", "repeated columns and rows", "not a number", "mixed"],
)
@pytest.mark.parametrize(("is_ordered", "is_fixed"), [(False, False), (True, False), (True, True)])
def test_a_result_that_is_gold_to_the_letter_is_judged_as_its_rows_are(rows, is_ordered, is_fixed):
    ours, theirs = ResultTable.from_rows(("x", "y"), rows), ResultTable.from_rows(("a", "b"), list(rows))
    found = wb.compare(ours, theirs, is_ordered, is_fixed)
    assert found.equal
    assert found == wb.compare(rows, rows, is_ordered, is_fixed)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ([(1,)], [(1,)], True),
        ([(1,)], [(1.0,)], False),
        ([(1,)], [(True,)], False),
        ([("1",)], [("1",), ("1",)], False),
        ([], [], False),
        ([("i1",)], [("1",), (1,)], False),
        ([(1,), ("1",)], [("i1",), ("s1",)], False),
    ],
)
def test_the_same_is_held_by_tables_of_equal_types_and_values(one, other, is_same):
    assert ResultTable.from_rows(("x",), one).holds_the_same(ResultTable.from_rows(("y",), other)) is is_same
