"""Whether two of a run's models differ, tested on the same questions.

In: the scores table. Out: the study table `paired`, one row per pair of models with the same target, and per model with both
targets, on one engine: McNemar's test (exact) of their verdicts, the difference with a paired bootstrap interval, and Holm's
adjustment over all tests of an engine. Reads stored scores only.
"""

from itertools import combinations

import polars as pl

from workbench.errors import ResultsError
from workbench.portability import HEADLINE, HOME, KEYS, verdicts
from workbench.rates import compare_verdicts, holm, paired_bootstrap
from workbench.results import dtypes

_ABOUT = ["run", "benchmark", "engine"]


def paired(scores: pl.DataFrame, metric: str = HEADLINE) -> pl.DataFrame:
    """Columns as result_columns.py describes them; on SQLite, or where nothing ran there, on the first engine by name.

    Only questions that both have a verdict on are compared. ResultsError: no scores, or nothing to compare.
    """
    judged = verdicts(scores, metric).filter("is_counted")
    engines = sorted(judged["engine"].unique())
    chosen = HOME if HOME in engines or not engines else engines[0]
    sides = judged.filter(engine=chosen).sort(KEYS, nulls_last=True).partition_by(KEYS, maintain_order=True)
    rows = []
    for first, second in combinations(sides, 2):
        if _comparable(first.row(0, named=True), second.row(0, named=True)):
            rows += _row(first, second)
    if not rows:
        raise ResultsError("nothing to compare", where="paired", hint="score several models on the same questions")
    adjusted = holm({str(i): row["p_exact"] for i, row in enumerate(rows)})
    rows = [row | {"metric": metric, "p_holm": adjusted[str(i)]} for i, row in enumerate(rows)]
    return pl.DataFrame(rows, schema=dtypes("paired"))


def _comparable(first: dict, second: dict) -> bool:
    """The same target of two models, or both targets of one; SQL as it was asked for where there is both."""
    if any(first[name] != second[name] for name in _ABOUT):
        return False
    same_model, same_way = first["model"] == second["model"], first["mode"] == second["mode"]
    return same_way if not same_model else first["target"] != second["target"]


def _row(first: pl.DataFrame, second: pl.DataFrame) -> list[dict]:
    question = ["db_id", "question_id"]
    both = first.join(second, on=question, suffix="_second").sort(question)
    if both.is_empty():
        return []
    about, other = first.row(0, named=True), second.row(0, named=True)
    right = both["is_correct"].to_list(), both["is_correct_second"].to_list()
    test = compare_verdicts(*right)
    gap = paired_bootstrap(*right, both["db_id"].to_list())
    row = {name: about[name] for name in _ABOUT} | {"is_simulated": about["is_simulated"] or other["is_simulated"]}
    for side, of in (("first", about), ("second", other)):
        row |= {side: of["model"], f"{side}_target": of["target"], f"{side}_mode": of["mode"]}
    row |= {"n": both.height, "first_right": sum(right[0]), "second_right": sum(right[1])}
    row |= {"only_first": test.only_first, "only_second": test.only_second, "p_exact": test.p_exact}
    return [row | {"difference": gap.difference, "low": gap.low, "high": gap.high, "p_bootstrap": gap.p}]
