"""Providers: what answers a prompt. Each is asked the same way, the simulated one included.

In: a Request. Out: a Response. A provider raises GenerationError when it cannot answer at all.
"""

from dataclasses import dataclass, field
from typing import Protocol

from workbench.errors import ConfigError, NotBuiltError


@dataclass(frozen=True)
class Request:
    """One question put to one model.

    reference: what only the simulated provider reads (the gold query and the schema); never sent to a model.
    """

    model: str
    question_id: str
    db_id: str
    target: str  # sql | plan
    dialect: str | None
    messages: list[dict[str, str]]
    sampling: dict[str, object]
    reference: dict[str, object] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Response:
    """A model's answer. Token counts as the endpoint reports them; null where it reports none."""

    text: str
    finish_reason: str
    seconds: float
    thinking: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class Provider(Protocol):
    """What answers for a family of models; a module with these functions will do."""

    def check(self, model: str) -> None:
        """GenerationError where the model cannot be asked, before anything else is done."""

    def answer(self, request: Request) -> Response:
        """GenerationError where there is no answer."""


def get_provider(name: str) -> Provider:
    """A provider by its name in configurations."""
    if name == "simulated":
        from workbench import simulated

        return simulated
    if name == "openai":
        raise NotBuiltError("asking an endpoint is not built yet", hint="simulated models and prediction files are")
    raise ConfigError(f"there is no provider {name!r}", hint="available: simulated")
