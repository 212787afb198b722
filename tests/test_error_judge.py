"""The judge's prompt and the reading of its answers."""

import pytest

from workbench.error_judge import SAMPLING, SCHEMES, judge_messages, read_judgement
from workbench.errors import ConfigError

ARGUMENTS = ("Who is 20?", "SELECT name FROM student WHERE age = 20", "SELECT name FROM student")


def test_the_papers_user_prompt():
    assert judge_messages(*ARGUMENTS, "too slow")[1]["content"] == (
        "Question: Who is 20?\n\nGold SQL:\nSELECT name FROM student WHERE age = 20\n\n"
        "Predicted SQL:\nSELECT name FROM student\n\nError message (if any): too slow"
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_name_has_one_example(scheme):
    names, examples = SCHEMES[scheme]
    system = judge_messages(*ARGUMENTS, scheme=scheme)[0]["content"]
    assert set(examples) == set(names)
    assert [system.count(f"\nAnswer: {name}\n") + system.endswith(f"Answer: {name}") for name in names] == [1] * len(
        names
    )
    assert SAMPLING["temperature"] == 0


def test_an_unknown_scheme():
    with pytest.raises(ConfigError, match="category, type"):
        judge_messages(*ARGUMENTS, scheme="colour")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("schema_linking", "schema_linking"),
        ("Filtering / Logic", "filtering_logic"),
        ("**Category: Dialect Syntax**", "dialect_syntax"),
        ("Not schema linking.\nAnswer: other", "other"),
        ("The error is one of aggregation/grouping.", "aggregation_grouping"),
        ("schema_linking or other", None),
        ("", None),
        ("I cannot say", None),
        ("another matter", None),
    ],
)
def test_answers(text, expected):
    assert read_judgement(text) == expected
