"""BIRD's scores of a pair beside `metrics.bird_ex`: the older execution rule and Soft-F1.

In: two results as row tuples, as the drivers returned them, or how they failed. Out: fractions of 1 (the official scripts
print 100 times the mean over all pairs). Rules: bird-bench/mini_dev, evaluation_f1.py; AlibabaResearch/DAMO-ConvAI,
bird/llm/src/evaluation.py. BIRD's timed scores are in efficiency.py.
"""

from collections.abc import Iterable, Sequence

from workbench.metrics import bird_ex, distinct_rows

TIMEOUT = "timeout"  # an execution's status


def bird_ex_two_pass(
    predicted: Iterable[Sequence] | None,
    gold: Iterable[Sequence] | None,
    predicted_status: str = "ok",
    gold_status: str = "ok",
) -> bool:
    """BIRD's older execution accuracy: both sides run apart, and a side that fails is the one row ("error",).

    A timeout is the row ("timeout",). So two that fail the same way are equal, and so is a prediction that selects the
    word. statuses: as executions have them; rows are looked at only where theirs is "ok".
    """
    sides = [(predicted, predicted_status), (gold, gold_status)]
    return bird_ex(*(_or_word(rows, status) for rows, status in sides))


def soft_f1(predicted: Iterable[Sequence], gold: Iterable[Sequence]) -> float:
    """BIRD's Soft-F1 of one pair, in [0, 1]: distinct rows are paired by their place, not by likeness.

    Within a pair of rows every value counts that stands anywhere in the other row; counts are divided by gold's width.
    A row without a partner counts as one miss. 0 where undefined; 1 where both results are empty.
    """
    predicted, gold = distinct_rows(predicted), distinct_rows(gold)
    if predicted == gold:
        return 1.0  # also where both are empty
    matched = only_predicted = only_gold = 0.0
    for ours, theirs in zip(predicted, gold, strict=False):
        if ours == theirs:
            matched += 1
            continue
        found = sum(value in theirs for value in ours)
        matched += found / len(theirs)
        only_predicted += (len(ours) - found) / len(theirs)
        only_gold += sum(value not in ours for value in theirs) / len(theirs)
    only_predicted += max(len(predicted) - len(gold), 0)
    only_gold += max(len(gold) - len(predicted), 0)
    if not matched:
        return 0.0
    precision, recall = matched / (matched + only_predicted), matched / (matched + only_gold)
    return 2 * precision * recall / (precision + recall)


def _or_word(rows: Iterable[Sequence] | None, status: str) -> Iterable[Sequence]:
    if status == "ok":
        return rows
    return [("timeout",)] if status == TIMEOUT else [("error",)]
