"""HES-SQL's measures of a whole model: EX, EM and VES over engines, PGR, TEP; and its reward of one answer.

In: scores of pairs that other modules give, shares, token counts. Out: fractions; None with the reason where a measure is
undefined. Sources: HES-SQL, appendix, equations 1 to 5 and algorithm 1; `reward` says where prose and algorithm differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from workbench.errors import ConfigError, ResultsError
from workbench.skeleton import TAU_S, Skeleton

MAX_SECONDS = 30.0  # of a prediction, in algorithm 1
FORMAT_RIGHT, FORMAT_WRONG = 1.0, -2.0
EXECUTION_RIGHT, EXECUTION_WRONG = 2.0, -2.5
SCHEMA_RIGHT = 1.5


@dataclass(frozen=True)
class Measure:
    """value: None where undefined, and then reason says why."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Tokens:
    """Of one method over its questions: tokens of all prompts, of all answers with their thinking, and questions."""

    input: float
    output: float
    questions: int

    def mean(self, mu: float) -> float:
        if self.questions < 1:
            raise ResultsError("a mean over no questions is undefined", where="tokens")
        return (self.input + mu * self.output) / self.questions


def engine_average(by_engine: dict[str, Sequence[float]]) -> float:
    """EX, EM or VES: the mean per engine over all its pairs, then over engines (DBMS execution environment)."""
    if not by_engine or not all(map(len, by_engine.values())):
        raise ResultsError("an average over no pairs is undefined", where="engine average")
    return fmean(fmean(values) for values in by_engine.values())


def pgr(ex: float, ex_weak: float, ex_strong: float) -> Measure:
    """Performance gap recovered (equation 4): how much of the way from the weak to the strong method's EX is made."""
    if ex_strong == ex_weak:
        return Measure(None, "the strong and the weak method have the same EX")
    return Measure((ex - ex_weak) / (ex_strong - ex_weak))


def tep(ex: float, ex_base: float, tokens: Tokens, tokens_base: Tokens, mu: float = 1.0) -> Measure:
    """Token elasticity of performance (equation 5): relative gain in EX over relative growth in tokens per question.

    mu: what a token of an answer counts beside one of a prompt.
    """
    base = tokens_base.mean(mu)
    if ex_base == 0:
        return Measure(None, "the baseline's EX is 0")
    if base == 0:
        return Measure(None, "the baseline used no tokens")
    growth = (tokens.mean(mu) - base) / base
    if growth == 0:
        return Measure(None, "as many tokens as the baseline")
    return Measure((ex - ex_base) / ex_base / growth)


@dataclass(frozen=True)
class Reward:
    """Points of each stage; 0 for one that was not reached."""

    format: float
    execution: float = 0.0
    schema: float = 0.0
    efficiency: float = 0.0

    @property
    def total(self) -> float:
        return self.format + self.execution + self.schema + self.efficiency


def reward(
    *,
    is_format_valid: bool,
    similarity: float,
    has_run: bool,
    is_equal: bool,
    seconds_predicted: float | None,
    seconds_gold: float | None,
    is_linked: bool,
    rule: str = "algorithm",
    tau_s: float = TAU_S,
) -> Reward:
    """The reward of one answer. rule: "algorithm" (algorithm 1) or "prose" (overall reward design); ConfigError else.

    is_format_valid: thinking pattern and SQL fence for the algorithm, a statement with SELECT and FROM for the prose.
    similarity: of the skeletons. has_run: whether the prediction ran without an error; is_equal: to gold's result.
    seconds: mean times, None where it did not run or was not timed; untimed equal answers get no efficiency points.
    is_linked: `is_schema_linked`.
    algorithm: -2 unless the format holds and the skeleton reaches tau_s, else 1; then 2 + min(1, t_gold / t_pred) for gold's
    result within 30 s, else -2.5, and 1.5 more where the schema is linked.
    prose: -2 or 1 by format alone; then 2 for running at all, where it ends, else -2.5, and 1.5 for a linked schema.
    """
    if rule not in ("algorithm", "prose"):
        raise ConfigError(f"there is no reward rule {rule!r}", hint="available: algorithm, prose")
    is_algorithm = rule == "algorithm"
    if not is_format_valid or (is_algorithm and similarity < tau_s):
        return Reward(FORMAT_WRONG)
    if is_algorithm:
        is_right = has_run and is_equal and (seconds_predicted is None or seconds_predicted <= MAX_SECONDS)
    else:
        is_right = has_run
    if not is_right:
        return Reward(FORMAT_RIGHT, EXECUTION_WRONG, SCHEMA_RIGHT if is_linked else 0.0)
    is_timed = is_algorithm and bool(seconds_predicted) and seconds_gold is not None
    return Reward(FORMAT_RIGHT, EXECUTION_RIGHT, 0.0, min(1.0, seconds_gold / seconds_predicted) if is_timed else 0.0)


def is_schema_linked(predicted: Skeleton | None, gold: Skeleton) -> bool:
    """Whether every table and column that the prediction names is named by gold too (algorithm 1, line 41)."""
    return predicted is not None and predicted.tables <= gold.tables and predicted.columns <= gold.columns
