"""The class of a question, from labels that are there: the two axes of DF-Match.

In: a row of `questions`. Out: whether it asks for an order, whether it states the number of rows, and who says so: the
benchmark's own labels, else the hand labels that ship, else the gold query. The last is a stand-in until questions are
classified by their words, and says so as "gold_sql": it takes an ORDER BY at the gold's end for an order asked for, and a
LIMIT of more than one for a number stated.
"""

from functools import cache
from typing import NamedTuple

from workbench.errors import WorkbenchError
from workbench.labels import question_classes, question_key
from workbench.sqlite_parser import parse


class QuestionClass(NamedTuple):
    is_ordered: bool
    is_row_count_fixed: bool
    source: str

    @property
    def name(self) -> str:
        """not_ordered | ordered_fixed | ordered_not_fixed, as in the plans paper."""
        return f"ordered_{'' if self.is_row_count_fixed else 'not_'}fixed" if self.is_ordered else "not_ordered"


def question_class(question: dict) -> QuestionClass:
    """The class of one question. NULL labels are no labels."""
    if question["is_ordered"] is not None and question["is_row_count_fixed"] is not None:
        source = question["class_source"] or "benchmark"
        return QuestionClass(question["is_ordered"], question["is_row_count_fixed"], source)
    gold = question["gold_sql"] or ""
    found = _hand_labels().get(question_key(question["db_id"], question["question"], gold))
    return QuestionClass(*found, "hand") if found else _class_of_gold(gold)


@cache
def _hand_labels() -> dict[str, tuple[bool, bool]]:
    columns = ("key", "is_ordered", "is_row_count_fixed")
    return {key: (is_ordered, is_fixed) for key, is_ordered, is_fixed in question_classes().select(columns).iter_rows()}


def _class_of_gold(sql: str) -> QuestionClass:
    try:
        tree = parse(sql)
    except WorkbenchError:
        return QuestionClass(False, False, "gold_sql")
    limit = tree.args.get("limit")
    is_one = limit is None or limit.expression.name == "1"
    return QuestionClass(tree.args.get("order") is not None, not is_one, "gold_sql")
