"""One answer in the form of OpenAI's chat completions, as endpoints really send it -> a Response.

In: the body's text, its content type; later the parsed body. Out: the body, or AnswerLost for what is no whole answer; text,
thinking, finish reason and usage by kind. Tokens that an endpoint does not report are counted, and marked so.
"""

import json
from collections.abc import Callable

from workbench.budget import Usage
from workbench.errors import AnswerLost
from workbench.records import clean_text
from workbench.tokens import count_tokens

DEEPEST = 100  # brackets within brackets; an answer of a chat has seven


def parse_body(text: str, content_type: str) -> dict:
    """The body as an object. AnswerLost where it is cut, of another kind, or no answer of a chat."""
    if "json" not in content_type.lower():
        raise AnswerLost(f"answered with {content_type.split(';')[0].strip() or 'no content type'}, not JSON")
    text = text.strip()
    try:
        body, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise AnswerLost(f"answered with JSON that cannot be read, {len(text)} characters: {error}") from None
    if text[end:].strip() and text[end:].strip() != text[:end]:  # the same answer twice is one
        raise AnswerLost(f"answered with {len(text) - end} characters after its JSON")
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
        raise AnswerLost("answered with JSON that holds no choices")
    return body


def without(body: object, scrub: Callable[[str], str], depth: int = 0) -> object:
    """The parsed body with every text scrubbed, however it was escaped. AnswerLost where it is nested too deep to be kept."""
    if depth > DEEPEST:
        raise AnswerLost(f"answered with JSON that is nested more than {DEEPEST} deep")
    if isinstance(body, str):
        return scrub(body)
    if isinstance(body, list):
        return [without(one, scrub, depth + 1) for one in body]
    if isinstance(body, dict):
        return {scrub(name): without(one, scrub, depth + 1) for name, one in body.items()}
    return body


def read_body(body: dict) -> dict:
    """text, thinking, refusal and finish_reason of the first choice; an answer without choices is an empty one."""
    choice = next((one for one in body["choices"] if isinstance(one, dict)), {})
    message = choice.get("message") if isinstance(choice.get("message"), dict) else {}
    thinking = next((message[key] for key in ("reasoning_content", "reasoning") if message.get(key)), None)
    return {
        "text": _text(message.get("content")) or "",
        "thinking": _text(thinking),
        "refusal": _text(message.get("refusal")),
        "finish_reason": choice["finish_reason"] if isinstance(choice.get("finish_reason"), str) else None,
    }


def read_usage(body: dict, messages: list[dict[str, str]]) -> tuple[Usage, str]:
    """Tokens by kind and "reported", or "counted" where the endpoint says nothing that can be used.

    Reasoning that is sent but not counted by the endpoint is the output's share by characters.
    """
    said = read_body(body)
    text, thinking = said["text"], said["thinking"] or ""
    given = body.get("usage") if isinstance(body.get("usage"), dict) else {}
    input_, output = _count(given.get("prompt_tokens")), _count(given.get("completion_tokens"))
    source = "reported"
    if input_ is None or output is None:
        source = "counted"
        input_ = sum(count_tokens(message["content"]) for message in messages)
        output = count_tokens(text) + count_tokens(thinking)
    cached = _count(_part(given, "prompt_tokens_details").get("cached_tokens"))
    reasoning = _count(_part(given, "completion_tokens_details").get("reasoning_tokens"))
    if not reasoning and thinking:
        reasoning = round(output * len(thinking) / (len(thinking) + len(text)))
    reasoning = min(reasoning, output) if reasoning is not None else None  # a part of the output, whatever is said
    return Usage(input_, output, min(cached, input_) if cached is not None else None, reasoning), source


def _text(value: object) -> str | None:
    if isinstance(value, list):  # parts, of which those with text count
        value = "".join(one["text"] for one in value if isinstance(one, dict) and isinstance(one.get("text"), str))
    return clean_text(value) if isinstance(value, str) else None


def _part(usage: dict, key: str) -> dict:
    return usage[key] if isinstance(usage.get(key), dict) else {}


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else None
