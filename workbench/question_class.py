"""The class of a question: the two axes of DF-Match, decided apart and from its words (plans paper, section 4.2, appendix F).

In: a row of `questions`, or a question's text. Out: whether it asks for an order, whether it states the number of rows,
and who says so: the hand labels that ship, else the benchmark's own, else the rules of `question_rules`. The gold query is
not looked at, since it may ask for less or more than the question does. A model can be asked instead of the rules: the
prompts are ours, the paper prints none; its answers are kept by content, one request for each axis.
"""

import re
from functools import cache
from typing import NamedTuple

from workbench.errors import ConfigError
from workbench.labels import question_classes, question_key
from workbench.llm_answers import Ask, kept_answer
from workbench.question_rules import classify_by_rules


class QuestionClass(NamedTuple):
    """source: hand | benchmark | rules | llm, or what a benchmark says of its own labels."""

    is_ordered: bool
    is_row_count_fixed: bool
    source: str

    @property
    def name(self) -> str:
        """not_ordered | ordered_fixed | ordered_not_fixed, as in the plans paper."""
        return f"ordered_{'' if self.is_row_count_fixed else 'not_'}fixed" if self.is_ordered else "not_ordered"


def question_class(question: dict) -> QuestionClass:
    """The class of one question, a row of `questions`. NULL labels are no labels."""
    found = _hand_labels().get(question_key(question["db_id"], question["question"], question["gold_sql"] or ""))
    if found:
        return QuestionClass(*found, "hand")
    if question["is_ordered"] is not None and question["is_row_count_fixed"] is not None:
        source = question["class_source"] or "benchmark"
        return QuestionClass(question["is_ordered"], question["is_row_count_fixed"], source)
    return QuestionClass(*classify_by_rules(question["question"]), "rules")


@cache
def _hand_labels() -> dict[str, tuple[bool, bool]]:
    columns = ("key", "is_ordered", "is_row_count_fixed")
    return {key: (is_ordered, is_fixed) for key, is_ordered, is_fixed in question_classes().select(columns).iter_rows()}


# axis -> (what is asked, what yes and no mean, examples with their answers)
AXES = {
    "is_ordered": (
        "Does the question ask for a ranked result, so that the order of the rows matters?",
        (
            "Yes: it asks for a sorted list, for the top or bottom so many, or by a superlative, or a comparison of named "
            "things, for the one at an extreme or for a property of it. No: it asks for an extreme value itself, for an "
            "extreme within each group, for a count or an average over what a superlative picks, or for no order at all."
        ),
        (
            ("List the teachers by age, the oldest first.", True),
            ("Which course has the most students?", True),
            ("What is the highest salary?", False),
            ("Who is the oldest student of each course?", False),
            ("How many students take the largest course?", False),
            ("Which students live in Bonn?", False),
        ),
    ),
    "is_row_count_fixed": (
        "Does the question itself state how many rows the answer has?",
        (
            'Yes: it names a number of things to return ("the five ...", "top 3", "any 10"). No: a superlative in the '
            'singular, since ties may give more; a number inside a condition or an average; "at least five"; things that '
            "are named one by one."
        ),
        (
            ("Which three courses have the most students?", True),
            ("Name any 10 teachers.", True),
            ("Which course has the most students?", False),
            ("Which students take at least five courses?", False),
            ("What is the average age of the top 10 students?", False),
            ("Which students live in Bonn?", False),
        ),
    ),
}
SAMPLING = {"temperature": 0.0, "max_tokens": 200}


def class_messages(question: str, evidence: str | None, axis: str) -> list[dict[str, str]]:
    """Chat messages that ask for one axis of a question, by the question and its evidence alone. ConfigError for an unknown axis."""
    if axis not in AXES:
        raise ConfigError(f"there is no axis {axis!r}", hint=f"available: {', '.join(AXES)}")
    asked, meaning, examples = AXES[axis]
    shots = "\n\n".join(f"{_user_text(text)}\nAnswer: {'yes' if is_so else 'no'}" for text, is_so in examples)
    system = (
        f"You read a question that will be put to a database. Judge its words only, not the SQL that might answer it.\n\n"
        f"{asked}\n{meaning}\n\nAnswer with yes or no alone.\n\nExamples:\n\n{shots}"
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": _user_text(question, evidence)}]


def _user_text(question: str, evidence: str | None = None) -> str:
    return f"Question: {question}" + (f"\nEvidence: {evidence}" if evidence else "")


def read_class_answer(text: str) -> bool | None:
    """Yes or no: the last line that is one of them, also behind a colon, else the only one in the text; None for neither."""
    for line in reversed(text.strip().splitlines()):
        bare = re.sub(r"[^a-z]+", "", line.rpartition(":")[2].lower())
        if bare in ("yes", "no"):
            return bare == "yes"
    found = set(re.findall(r"\b(?:yes|no)\b", text.lower()))
    return found == {"yes"} if len(found) == 1 else None


def classify_by_model(model: str, ask: Ask, question: str, evidence: str | None = None) -> QuestionClass | None:
    """A model's class of a question; None where one of its answers is neither yes nor no.

    ask: raises GenerationError where there is no answer; that is not kept.
    """
    answers = [
        read_class_answer(
            kept_answer(model, ask, class_messages(question, evidence, axis), SAMPLING, "question_classes")
        )
        for axis in AXES
    ]
    return None if None in answers else QuestionClass(*answers, "llm")
