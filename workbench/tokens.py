"""Tokens counted without a model's tokenizer, where an endpoint reports none and for gold queries.

A stand-in that needs no download: words, numbers, signs and spaces are cut as byte-pair tokenizers cut them before they
look anything up, and long words into pieces. On the bundled benchmark it gives 0.96 of the tokens of SmolLM2-135M's tokenizer
for gold SQL, 0.94 for gold plans, 1.07 for questions and 1.01 for schemas.
"""

import re

_PIECES = re.compile(r" ?[^\W\d_]{1,6}|\d|_| ?[^\w\s]{1,3}|\s+")


def count_tokens(text: str | None) -> int:
    """About how many tokens a text has; 0 for none."""
    return len(_PIECES.findall(text)) if text else 0
