"""Providers: what answers a prompt. Each is asked the same way, the simulated one included.

In: Requests, as they are asked for. Out: each with its Response, or with the GenerationError that says why it has none, in the
order in which they come. A fault that no further call can mend (a refused key, an unknown model) is raised instead.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from workbench.config import ModelConfig
from workbench.errors import GenerationError
from workbench.journal import Journal


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


Source = Callable[[], Request | None]  # the next request; None for as long as there is none
Answers = Iterator[tuple[Request, Response | GenerationError]]


class Provider(Protocol):
    """What answers for one model. stopped: why asking ended before the source did, else null. spent: so far, in words."""

    stopped: str | None
    spent: str

    def answers(self, source: Source) -> Answers:
        """Ask for all that the source gives, until it gives none and nothing is under way."""


class OneByOne:
    """A provider of a function that answers at once."""

    stopped, spent = None, ""

    def __init__(self, answer: Callable[[Request], Response]):
        self.answer = answer

    def answers(self, source: Source) -> Answers:
        while (request := source()) is not None:
            try:
                yield request, self.answer(request)
            except GenerationError as error:
                yield request, error


def check_model(model: ModelConfig, is_asking: bool = True) -> None:
    """GenerationError where a model cannot be asked, before anything else is done: unknown, no key, nobody there.

    is_asking: whether it is about to be; else its endpoint may be away, since all may be stored.
    """
    if model.provider == "simulated":
        from workbench import simulated

        simulated.check(model.name)
    elif model.provider == "replay":
        from workbench.llm_replay import Replay

        Replay(model)
    elif model.provider == "openai":
        import anyio.from_thread

        from workbench.llm_openai import check_reachable, find_key

        find_key(model)
        if not is_asking:
            return
        with anyio.from_thread.start_blocking_portal() as portal:  # a notebook has a loop of its own running
            portal.call(check_reachable, model)
    else:
        from workbench.llm_litellm import LiteLLMSender

        LiteLLMSender(model)


def open_provider(model: ModelConfig, journal: Journal | None) -> Provider:
    """The provider of a model; those that call an endpoint keep their calls in the journal."""
    if model.provider == "simulated":
        from workbench import simulated

        return OneByOne(lambda request: replace(simulated.answer(request), tokens_source="nominal"))
    if model.provider == "replay":
        from workbench.llm_replay import Replay

        return OneByOne(Replay(model).answer)
    from workbench.endpoint import Endpoint

    if model.provider == "litellm":
        from workbench.llm_litellm import LiteLLMSender

        return Endpoint(model, LiteLLMSender(model), journal)
    from workbench.llm_openai import OpenAISender

    return Endpoint(model, OpenAISender(model), journal)
