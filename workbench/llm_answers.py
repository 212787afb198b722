"""A model's answers kept by content, so that the same model is never asked the same thing twice: for classifiers.

In: a model's name, its messages and sampling, and whatever asks it. Out: the answer's text, from the cache if it is there.
"""

import json
from collections.abc import Callable

from workbench import paths
from workbench.results import content_hash, write_cached

Ask = Callable[[list[dict[str, str]], dict[str, object]], str]  # messages, sampling -> the answer's text


def kept_answer(model: str, ask: Ask, messages: list[dict[str, str]], sampling: dict[str, object], folder: str) -> str:
    """The answer to these messages. folder: of the cache. ask's GenerationError passes, and nothing is kept then."""
    file = paths.cache_path(folder, content_hash(model, messages, sampling) + ".json")
    if file.is_file():
        return json.loads(file.read_text("utf-8"))["answer"]
    text = ask(messages, sampling)
    write_cached(file, json.dumps({"model": model, "answer": text}).encode())
    return text
