"""Providers: what answers a prompt. Each is asked the same way, the simulated one included.

In: Requests, as they are asked for. Out: each with its Response, or with the GenerationError that says why it has none, in the
order in which they come. A fault that no further call can mend (a refused key, an unknown model) is raised instead.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Protocol

from workbench.config import ModelConfig
from workbench.errors import ConfigError, GenerationError, NotBuiltError


@dataclass(frozen=True)
class Request:
    """One question put to one model.

    reference: what only the simulated provider reads (gold_sql, and schema for plans); never sent to a model, no part of
    what decides an answer of others. sample: which of several answers to the same prompt. attempt: 0, and 1 more for
    each time that a refused plan goes back.
    """

    model: str
    question_id: str
    db_id: str
    target: str  # sql | plan
    dialect: str | None
    messages: list[dict[str, str]]
    sampling: dict[str, object]
    reference: dict[str, object] = field(default_factory=dict, repr=False)
    sample: int = 0
    attempt: int = 0


@dataclass(frozen=True)
class Response:
    """A model's answer. Token counts as the endpoint reports them; null where it reports none.

    thinking: reasoning that came apart from the text. refusal: the endpoint's own field for it. constraint: what decoding
    was bound by. seconds: wall time of the call that was answered.
    """

    text: str
    finish_reason: str | None
    seconds: float
    thinking: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    tokens_source: str | None = None
    refusal: str | None = None
    constraint: str | None = None
    cost: float | None = None


class Provider(Protocol):
    """What answers for a family of models; a module with these functions will do."""

    def check(self, model: str) -> None:
        """GenerationError where the model cannot be asked, before anything else is done."""

    def answer(self, request: Request) -> Response:
        """GenerationError where there is no answer."""


Source = Callable[[], Request | None]  # the next request; None for as long as there is none
Answers = Iterator[tuple[Request, Response | GenerationError]]


def check_model(model: ModelConfig) -> None:
    """GenerationError where a model cannot be asked: unknown, no key, nobody at its address."""
    _provider(model).check(model.name)


def answers(model: ModelConfig, source: Source) -> Answers:
    """Ask for everything that the source gives, until it gives none and nothing is under way."""
    provider = _provider(model)
    while (request := source()) is not None:
        try:
            yield request, provider.answer(request)
        except GenerationError as error:
            yield request, error


def _provider(model: ModelConfig) -> Provider | ModuleType:
    if model.provider == "simulated":
        from workbench import simulated

        return simulated
    if model.provider == "openai":
        raise NotBuiltError("asking an endpoint is not built yet", hint="simulated models and prediction files are")
    raise ConfigError(f"there is no provider {model.provider!r}", hint="available: simulated, openai")
