"""Sends one call to an endpoint that speaks OpenAI's protocol (vLLM, llama.cpp, Ollama, OpenAI, ...), by OpenAI's own client.

In: a body of chat completions. Out: the answer's body. Retries, limits and the store of answers are endpoint.py's. The key comes
from an environment variable and leaves this module only in the request's header: every word of an endpoint is searched
for it before anyone sees it.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
import openai

from workbench.chat_body import parse_body, without
from workbench.config import ModelConfig
from workbench.errors import AnswerLost, CallRejected, GenerationError

CONNECT_SECONDS = 10.0
KEY_VARIABLE = "OPENAI_API_KEY"  # where there is no base_url; other endpoints name their own


def find_key(model: ModelConfig) -> str | None:
    """The key of a model's endpoint. GenerationError where its variable is empty."""
    name = model.key_variable or (None if model.base_url else KEY_VARIABLE)
    key = os.environ.get(name, "").strip() if name else None
    if name and not key:
        raise GenerationError(f"the environment variable {name} holds no key", where=model.name)
    if key and not (key.isascii() and key.isprintable()):
        what = f"the environment variable {name} holds characters that no key has"
        raise GenerationError(what, where=model.name, hint="one line of ASCII")
    return key


class OpenAISender:
    """One client for all calls to one endpoint."""

    def __init__(self, model: ModelConfig):
        self.model, self.key = model, find_key(model)
        limits = httpx2.Limits(max_connections=model.limits.concurrency, max_keepalive_connections=None)
        self.client = openai.AsyncOpenAI(
            base_url=model.base_url,
            api_key=self.key or "none",
            max_retries=0,
            timeout=httpx2.Timeout(model.limits.seconds, connect=CONNECT_SECONDS, pool=None),
            http_client=openai.DefaultAsyncHttpxClient(limits=limits),
        )

    async def send(self, body: dict) -> dict:
        """The answer's body. CallRejected for an HTTP status that is an error, AnswerLost for everything else."""
        try:  # `chat.completions.create` does the same, after it has spent as long again on the types of its arguments
            raw = await self.client.post("/chat/completions", body=body, cast_to=httpx2.Response)
            content_type = self.scrub(raw.headers.get("content-type", ""))
            text = raw.content.decode("utf-8-sig", errors="replace")  # as JSON is, whatever charset the header names
        except openai.APIStatusError as error:
            raise rejection(error, self.clean) from None
        except openai.APITimeoutError:
            raise AnswerLost(f"no whole answer within {self.model.limits.seconds:g} s") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise AnswerLost(self.clean(f"the connection broke: {cause or type(cause).__name__}")) from None
        except (httpx2.HTTPError, UnicodeError) as error:
            raise AnswerLost(self.clean(f"the connection broke: {error or type(error).__name__}")) from None
        return without(parse_body(text, content_type), self.scrub)

    def scrub(self, text: str) -> str:
        return text.replace(self.key, "<key>") if self.key else text

    def clean(self, text: object) -> str:
        return " ".join(self.scrub(str(text)).split())[:300]

    async def close(self) -> None:
        await self.client.close()


def rejection(error: openai.APIStatusError, clean: Callable[[object], str]) -> CallRejected:
    """What an HTTP status that is an error says, through `clean`."""
    body = error.body
    if body is None:  # litellm drops it
        with suppress(ValueError):
            body = error.response.json()
    body = body.get("error", body) if isinstance(body, dict) else body
    code, said = (body.get("code"), body.get("message")) if isinstance(body, dict) else (None, body)
    what = said if isinstance(said, str) else (error.response.text or error.message or error.response.reason_phrase)
    return CallRejected(
        f"HTTP {error.status_code}: {clean(what)}",
        error.status_code,
        code if isinstance(code, str) else None,
        retry_after(error.response.headers.get("retry-after")),
    )


def retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, in either of its forms (RFC 9110, 10.2.3); null for none or nonsense."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


async def check_reachable(model: ModelConfig) -> None:
    """GenerationError where nobody answers at the address, or the key is refused."""
    sender = OpenAISender(model)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await sender.client.models.with_raw_response.list()
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        raise GenerationError(str(rejection(error, sender.clean)), where=model.name) from None
    except openai.APIConnectionError as error:
        where = model.base_url or "OpenAI"
        raise GenerationError(sender.clean(f"nobody answers: {error.__cause__ or error}"), where=where) from None
    except (TimeoutError, openai.APIError):
        return  # it is there; not every endpoint lists its models
    finally:
        await sender.close()
