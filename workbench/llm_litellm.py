"""Sends one call through litellm, for providers that do not speak OpenAI's protocol: `pip install 'workbench[litellm]'`.

In and out: as llm_openai.py. `model` is litellm's name ("anthropic/...", "bedrock/..."). litellm raises OpenAI's own errors.
"""

import os

import openai

from workbench.chat_body import parse_body, without
from workbench.config import ModelConfig
from workbench.errors import AnswerLost, GenerationError
from workbench.llm_openai import find_key, rejection


class LiteLLMSender:
    """Calls of one model through litellm."""

    def __init__(self, model: ModelConfig):
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it fetches a list of prices
        try:
            import litellm
        except ModuleNotFoundError:
            hint = "pip install 'workbench[litellm]'"
            raise GenerationError("litellm is not installed", where=model.name, hint=hint) from None
        self.litellm, self.model = litellm, model
        self.key = find_key(model) if model.key_variable else None  # else litellm reads its providers' own variables
        litellm.suppress_debug_info = True

    async def send(self, body: dict) -> dict:
        """The answer's body. CallRejected for an HTTP status that is an error, AnswerLost for everything else."""
        about = {"api_base": self.model.base_url, "api_key": self.key, "timeout": self.model.limits.seconds}
        try:
            answer = await self.litellm.acompletion(
                **body, **{name: value for name, value in about.items() if value}, num_retries=0, max_retries=0
            )
        except openai.APIStatusError as error:
            if (
                not error.response.headers
            ):  # no server said so: litellm gives a broken connection and cut JSON a 500 too
                raise AnswerLost(self.clean(error)) from None
            raise rejection(error, self.clean) from None
        except openai.APIError as error:
            raise AnswerLost(self.clean(error)) from None
        return without(parse_body(answer.model_dump_json(), "application/json"), self.scrub)

    def scrub(self, text: str) -> str:
        """Without any key that the environment holds, since litellm picks its own."""
        keys = [value for name, value in os.environ.items() if name.endswith(("_KEY", "_TOKEN")) and len(value) >= 8]
        for key in filter(None, [self.key, *keys]):
            text = text.replace(key, "<key>")
        return text

    def clean(self, text: object) -> str:
        return " ".join(self.scrub(str(text)).split())[:300]

    async def close(self) -> None:
        return
