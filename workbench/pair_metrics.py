"""Every metric of one pair beside its verdict, as columns of `scores`: from texts, results and times that others made.

In: both statements, both results (as row tuples, in one spelling where the engines differ), times of each repeat, the
verdict of BIRD's rule, the database's names. Out: one dict, null where a metric says nothing on the pair, with the reason
in `metrics_reason`. Failures are folded as the official scripts fold them; the pair's outcome keeps them apart.
"""

from collections.abc import Sequence

from workbench.bird_metrics import soft_f1
from workbench.efficiency import hes_ves, r_ves, stable_speed, time_ratio, ves
from workbench.errors import ParseError
from workbench.hes_sql import EXECUTION_RIGHT, is_schema_linked, reward
from workbench.skeleton import TAU_S, skeleton, skeleton_jaccard, skeleton_similarity, sql_jaccard
from workbench.spider_match import SpiderPair, exact_set_match, read_pair, spider_ex
from workbench.spider_sql import SpiderNames

TEXT_COLUMNS = ("exact_set_match", "hardness", "skeleton_similarity", "jaccard", "sql_jaccard")
RESULT_COLUMNS = ("spider_ex", "soft_f1")
TIMED_COLUMNS = ("ves", "r_ves", "hes_ves", "time_ratio", "stable_speed", "stable_speed_low", "stable_speed_high")
REWARD_COLUMNS = ("reward", "reward_format", "reward_execution", "reward_schema", "reward_efficiency")
COLUMNS = (*TEXT_COLUMNS, *RESULT_COLUMNS, *TIMED_COLUMNS, *REWARD_COLUMNS, "metrics_reason")
NOT_TIMED = "not timed"

Rows = Sequence[Sequence]


def pair_metrics(
    predicted_sql: str | None,
    gold_sql: str | None,
    names: SpiderNames,
    *,
    is_right: bool | None,
    predicted_rows: Rows | None = None,
    gold_rows: Rows | None = None,
    seconds_predicted: Sequence[float] = (),
    seconds_gold: Sequence[float] = (),
    is_format_valid: bool = True,
    dialect: str = "sqlite",
    reward_rule: str = "algorithm",
    tau_s: float = TAU_S,
) -> dict[str, object]:
    """All of COLUMNS for one pair.

    predicted_sql: None where there is none. is_right: BIRD's verdict, None where the pair was not judged; then nothing
    that needs results is said. rows: None where that side failed. seconds: one of each a repeat, empty where not timed.
    is_format_valid: whether the answer kept to the form asked for. dialect: of the prediction. The rest as in `reward`.
    """
    row: dict[str, object] = dict.fromkeys(COLUMNS)
    if gold_sql is None:
        return row | {"metrics_reason": "the question has no gold query"}
    reasons = []
    pair = None
    try:
        pair = read_pair(predicted_sql, gold_sql, names)
        row |= {"exact_set_match": exact_set_match(pair.predicted, pair.gold), "hardness": pair.hardness}
    except ParseError as error:
        reasons.append(f"no Spider metrics, gold: {error}")
    gold = skeleton(gold_sql, names.words)
    predicted = skeleton(predicted_sql, names.words, dialect) if predicted_sql is not None else None
    if gold is None:
        reasons.append("no skeleton of gold: it cannot be cut into words")
    else:
        row |= {
            "skeleton_similarity": skeleton_similarity(predicted, gold),
            "jaccard": skeleton_jaccard(predicted, gold),
            "sql_jaccard": sql_jaccard(predicted_sql, gold_sql, dialect) if predicted_sql is not None else 0.0,
        }
    if is_right is None:
        reasons.append("not judged")
    else:
        row |= _of_results(pair, predicted_rows, gold_rows)
        timed = _of_times(is_right, predicted_sql, gold_sql, seconds_predicted, seconds_gold)
        row |= timed
        if is_right and not timed:
            reasons.append(NOT_TIMED)
        if gold is not None and gold_rows is not None:
            points = reward(
                is_format_valid=is_format_valid and predicted_sql is not None,
                similarity=row["skeleton_similarity"],
                has_run=predicted_rows is not None,
                is_equal=is_right,
                is_linked=is_schema_linked(predicted, gold),
                seconds_predicted=_mean(seconds_predicted),
                seconds_gold=_mean(seconds_gold),
                rule=reward_rule,
                tau_s=tau_s,
            )
            parts = (points.total, points.format, points.execution, points.schema, points.efficiency)
            row |= dict(zip(REWARD_COLUMNS, parts, strict=True))
    return row | {"metrics_reason": "; ".join(reasons) or None}


def timed_metrics(
    row: dict, predicted_sql: str, gold_sql: str, seconds_predicted: Sequence[float], seconds_gold: Sequence[float]
) -> dict[str, object]:
    """What the times of a right pair add to its row of `scores`: TIMED_COLUMNS, the reward's efficiency and sum."""
    columns = _of_times(True, predicted_sql, gold_sql, seconds_predicted, seconds_gold)
    columns["metrics_reason"] = (
        "; ".join(part for part in (row["metrics_reason"] or "").split("; ") if part not in ("", NOT_TIMED)) or None
    )
    if row["reward_execution"] == EXECUTION_RIGHT:
        gain = columns["time_ratio"] - row["reward_efficiency"]
        columns |= {"reward_efficiency": columns["time_ratio"], "reward": row["reward"] + gain}
    return columns


def _of_results(pair: SpiderPair | None, predicted: Rows | None, gold: Rows | None) -> dict[str, object]:
    """A gold that fails makes BIRD's score 0 and stops Spider's script, which so says nothing."""
    if gold is None:
        return {"soft_f1": 0.0}
    return {
        "soft_f1": soft_f1(predicted, gold) if predicted is not None else 0.0,
        "spider_ex": spider_ex(predicted, gold, pair.predicted, pair.gold) if pair else None,
    }


def _of_times(
    is_right: bool, predicted_sql: str | None, gold_sql: str, predicted: Sequence[float], gold: Sequence[float]
) -> dict[str, object]:
    """A wrong pair needs no times: it is 0 by the rules, and has no ratio."""
    if not is_right:
        return {"ves": 0.0, "r_ves": 0.0, "hes_ves": 0.0}
    if not predicted or not gold or predicted_sql is None:
        return {}
    speed = stable_speed(predicted_sql, gold_sql, predicted, gold)
    return {
        "ves": ves(is_right, predicted, gold),
        "r_ves": r_ves(is_right, predicted, gold),
        "hes_ves": hes_ves(is_right, predicted, gold),
        "time_ratio": time_ratio(predicted, gold),
        "stable_speed": speed.ratio,
        "stable_speed_low": speed.low,
        "stable_speed_high": speed.high,
    }


def _mean(seconds: Sequence[float]) -> float | None:
    return sum(seconds) / len(seconds) if seconds else None
