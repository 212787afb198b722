"""What calls cost, and when to stop: tokens by kind as the endpoint reports them, money by the config's own prices.

In: usage of answers. Out: cost, sums, and whether one more call still fits the limits. A call is let through only if it
fits with all that is under way, so that a limit is not exceeded; what does not fit ends the asking.
"""

from dataclasses import dataclass

from workbench.config import CallLimits, Prices

UNBOUNDED_OUTPUT = 4096  # tokens that a call is held to cost where its sampling sets no max_tokens


@dataclass
class Usage:
    """Tokens by kind. cached is a part of input, reasoning a part of output; null where nobody says."""

    input: int = 0
    output: int = 0
    cached: int | None = None
    reasoning: int | None = None

    def cost(self, prices: Prices | None) -> float | None:
        """In the prices' currency; null without prices."""
        if prices is None:
            return None
        cached = self.cached or 0
        at_cache = prices.input if prices.cached is None else prices.cached
        return ((self.input - cached) * prices.input + cached * at_cache + self.output * prices.output) / 1e6


class Budget:
    """What one model has spent in a run, and what is reserved for calls under way."""

    def __init__(self, limits: CallLimits, prices: Prices | None):
        self.limits, self.prices = limits, prices
        self.tokens, self.money = 0, 0.0
        self.reserved: dict[int, Usage] = {}

    def spend(self, usage: Usage) -> None:
        self.tokens += usage.input + usage.output
        self.money += usage.cost(self.prices) or 0.0

    def fits(self, usage: Usage) -> bool:
        """Whether a call of this size can be made beside those under way."""
        waiting = [*self.reserved.values(), usage]
        tokens = self.tokens + sum(one.input + one.output for one in waiting)
        money = self.money + sum(one.cost(self.prices) or 0.0 for one in waiting)
        is_over = self.limits.tokens is not None and tokens > self.limits.tokens
        return not is_over and (self.limits.money is None or money <= self.limits.money)

    def refusal(self, usage: Usage) -> str:
        """Why nothing more is asked, in words."""
        if self.limits.tokens is not None and self.tokens + usage.input + usage.output > self.limits.tokens:
            more = usage.input + usage.output
            return f"{self.tokens} of {self.limits.tokens} tokens are spent, and the next call may take {more}"
        more = usage.cost(self.prices) or 0.0
        return f"{self.money:.4f} of {self.limits.money} in money is spent, and the next call may cost {more:.4f}"
