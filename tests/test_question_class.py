"""Classes of questions: our own sentences, floors on the hand labels, the model's protocol."""

import json

import pytest

from workbench.classifier_study import accuracy, classifier, labelled_questions, misses
from workbench.cli import main
from workbench.errors import ConfigError, GenerationError
from workbench.question_class import AXES, QuestionClass, class_messages, classify_by_model, read_class_answer
from workbench.question_rules import classify_by_rules

ORDERED, FIXED, BOTH, NEITHER = (True, False), (False, True), (True, True), (False, False)
SENTENCES = [
    ("Which bakers live in Ulm?", NEITHER),
    ("How many loaves were sold on Monday?", NEITHER),
    ("Show the bakers and their ovens.", NEITHER),
    ("List the bakers by age, the oldest first.", ORDERED),
    ("List all ovens in alphabetical order.", ORDERED),
    ("Give the prices in the order of the shelves.", ORDERED),
    ("Show the sales in ascending order of price.", ORDERED),
    ("Which loaves are there, sorted by weight?", ORDERED),
    ("Name the bakers alphabetically.", ORDERED),
    ("Show the loaves from the cheapest to the dearest.", ORDERED),
    ("List the ovens from highest to lowest temperature.", ORDERED),
    ("Rank the shops by turnover.", ORDERED),
    ("How much was sold in each month? Begin with the latest.", ORDERED),
    ("For each shop, how many loaves were sold? Largest number first.", ORDERED),
    ("What did the shops earn? Put the one with the lowest rent at the top.", ORDERED),
    ("What was baked on each day, going through the week?", ORDERED),
    ("List the deliveries, starting with the mill.", ORDERED),
    ("Which baker is the youngest?", ORDERED),
    ("What is the name of the shop with the most customers?", ORDERED),
    ("How tall is the highest oven?", ORDERED),
    ("What is the most common flour?", ORDERED),
    ("Which shop has the maximum rent?", ORDERED),
    ("Which shop sold more loaves than any other?", ORDERED),
    ("Which is older, the shop in Ulm or the one in Bonn?", ORDERED),
    ("In which month were the fewest rolls sold, and how many were there?", ORDERED),
    ("Which customer was the last to pay?", ORDERED),
    ("What is the highest price?", NEITHER),
    ("What are the minimum, average and maximum age of bakers?", NEITHER),
    ("Show the longest time that a loaf was in the oven.", NEITHER),
    ("Which loaf is the heaviest of each shop?", NEITHER),
    ("For every shop, who is the oldest baker?", NEITHER),
    ("How many loaves did the largest shop sell?", NEITHER),
    ("What is the average age of the bakers in the oldest shop?", NEITHER),
    ("Which bakers sold at least five loaves?", NEITHER),
    ("Which shops have at most three ovens?", NEITHER),
    ("What are the last names of the bakers?", NEITHER),
    ("Which guests from the west have no request?", NEITHER),
    ("In order to pay, which bills are open?", NEITHER),
    ("Who has the 'Best Baker' badge?", NEITHER),
    ("Write all bakers in one line, in alphabetical order.", NEITHER),
    ("Give the share in per cent, with two decimals.", NEITHER),
    ("What is the average price of the top 10 loaves?", NEITHER),
    ("Which loaves were sold in the first three months?", NEITHER),
    ("Which customers buy between two and five loaves?", NEITHER),
    ("Which names occur twice?", NEITHER),
    ("Name any 10 customers.", FIXED),
    ("Give me three loaves without salt.", FIXED),
    ("Which three bakers sold the most?", BOTH),
    ("What are the top 5 shops by turnover?", BOTH),
    ("Show the five dearest loaves and their weight.", BOTH),
    ("Who were the two oldest bakers in 2020?", BOTH),
    ("Return the names of the 3 smallest shops.", BOTH),
    ("In which two weeks was the least flour used?", BOTH),
    ("Name the first six deliveries of May.", BOTH),
    ("List the latest 10 bills.", BOTH),
    ("Which loaves sell best? Show the best four.", BOTH),
    ("Which four loaves have been asked for most often, and how many times each?", BOTH),
    ("Which loaves were sold most? Limit it to eight.", BOTH),
    ("Which shops are the two oldest?", BOTH),
    ("The ten dearest loaves, please.", BOTH),
    ("What was the last loaf that was sold?", ORDERED),
    ("What is the highest price, and which loaf has it?", ORDERED),
    ("What are the two dearest loaves of each shop?", NEITHER),
    ("Leaving out rolls, what are the three heaviest things on sale?", BOTH),
]


@pytest.mark.parametrize(("question", "expected"), SENTENCES, ids=[each[0] for each in SENTENCES])
def test_rules_read_the_words(question, expected):
    assert classify_by_rules(question) == expected


def test_axes_are_decided_apart():
    assert {classify_by_rules(question) for question, _ in SENTENCES} == {ORDERED, FIXED, BOTH, NEITHER}


def _balanced(table, half, group):
    rows = table.filter(half=half, group=group).rows(named=True)
    assert all(row["absent"] == 0 for row in rows)
    return {row["axis"]: row["balanced"] for row in rows}


def test_floor_on_the_bundled_questions_that_the_rules_were_made_on():
    found = _balanced(accuracy(labelled_questions(half="tune")), "tune", "bundled")
    assert found["is_ordered"] >= 99 and found["is_row_count_fixed"] >= 99


@pytest.fixture(scope="module")
def slices(shared) -> list:
    return [shared / "data" / name for name in ("spider", "bird", "bird/gold_without_database.json")]


FLOORS = {"tune": (99, 99), "held": (97, 99)}  # held: scored once, 97.4 and 99.8, when the rules were finished


@pytest.mark.parametrize("half", FLOORS)
def test_floors_of_both_halves(slices, half):
    found = _balanced(accuracy(labelled_questions(slices, half)), half, "all")
    assert found["is_ordered"] >= FLOORS[half][0]
    assert found["is_row_count_fixed"] >= FLOORS[half][1]


def test_study_counts_shares_and_names_misses():
    tables = classifier(half="tune")
    row = tables["accuracy"].filter(half="tune", group="downloaded")
    assert row.is_empty()  # no texts: nothing is claimed of them
    whole = tables["accuracy"].filter(group="all", axis="is_ordered").row(0, named=True)
    assert whole["n"] + whole["absent"] == 303 and whole["absent"] == 157
    assert whole["yes_as_yes"] + whole["yes_as_no"] == 78
    assert whole["low"] < 99 and whole["high"] == 100  # an interval, also where nothing was missed
    assert tables["shares"].filter(group="all", source="hand")["n"].sum() == whole["n"]


def test_a_wrong_rule_shows_as_a_miss():
    import polars as pl

    labelled = labelled_questions(half="tune").drop_nulls("question").with_columns(rules_is_ordered=pl.lit(False))
    assert len(misses(labelled).filter(axis="is_ordered")) == 78
    row = accuracy(labelled).filter(group="all", axis="is_ordered").row(0, named=True)
    assert (row["balanced"], row["yes_recall"], row["no_recall"]) == (50, 0, 100)


def test_study_command():
    from click.testing import CliRunner

    result = CliRunner().invoke(main, ["study", "classifier", "--half", "tune", "--json"])
    assert result.exit_code == 0
    assert "rules_is_ordered" not in result.output and "yes_recall" in result.output


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("yes", True),
        ("No.", False),
        ("Answer: **Yes**", True),
        ("It sorts nothing.\nno", False),
        ("I would say yes, since it asks for a list.", True),
        ("yes or no", None),
        ("perhaps", None),
        ("", None),
    ],
)
def test_reading_a_models_answer(answer, expected):
    assert read_class_answer(answer) is expected


def test_each_axis_is_asked_for_itself_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    asked = []

    def ask(messages, sampling):
        asked.append(json.dumps(messages))
        assert sampling["temperature"] == 0
        return "yes" if "ranked" in messages[0]["content"] else "no"

    for _ in range(2):
        found = classify_by_model("m", ask, "Who is the oldest baker?", "oldest means max(age)")
        assert found == QuestionClass(True, False, "llm")
    assert len(asked) == len(AXES)
    assert all("max(age)" in text and "SELECT" not in text for text in asked)
    assert classify_by_model("n", lambda messages, sampling: "?", "Who?") is None


def test_no_answer_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))

    def fails(messages, sampling):
        raise GenerationError("no answer")

    with pytest.raises(GenerationError):
        classify_by_model("m", fails, "Who?")
    assert classify_by_model("m", lambda messages, sampling: "no", "Who?") == QuestionClass(False, False, "llm")


def test_unknown_names_are_refused():
    with pytest.raises(ConfigError, match="no axis"):
        class_messages("Who?", None, "is_blue")
    with pytest.raises(ConfigError, match="no half"):
        classifier(half="third")
