"""Binding a model's decoding to the plan language, where an endpoint can: by JSON Schema, or by a grammar of llama.cpp's.

Which of them an endpoint really enforces is found out by a probe: a small call whose only allowed answer no model would give.
"""

import json
from functools import lru_cache

from workbench.plan_gbnf import plan_grammar
from workbench.plan_schema import plan_schema
from workbench.results import content_hash

KINDS = ("json_schema", "grammar")  # in the order in which they are tried
EXPRESSION_DEPTH, QUERY_DEPTH = 10, 2  # the benchmarks' golds reach 9 and 2; each call carries the text
_WORD = "zq7"


@lru_cache(maxsize=1)
def _texts() -> dict[str, object]:
    schema = plan_schema(EXPRESSION_DEPTH, QUERY_DEPTH)
    return {"json_schema": _format("plan", schema), "grammar": plan_grammar(EXPRESSION_DEPTH, QUERY_DEPTH)}


@lru_cache(maxsize=1)
def constraint_hash() -> str:
    """SHA-256 of the schema and the grammar."""
    return content_hash(_texts())


def with_constraint(body: dict, kind: str | None) -> dict:
    """The body of a call whose answer can be nothing but a plan."""
    if kind is None:
        return body
    return body | {"response_format" if kind == "json_schema" else "grammar": _texts()[kind]}


def probe(kind: str) -> tuple[list[dict[str, str]], dict[str, object]]:
    """(messages, settings) of a call that shows whether a kind is enforced."""
    schema = {
        "type": "object",
        "properties": {"word": {"type": "string", "enum": [_WORD]}},
        "required": ["word"],
        "additionalProperties": False,
    }
    bound = (
        {"response_format": _format("word", schema)} if kind == "json_schema" else {"grammar": f'root ::= "{_WORD}"'}
    )
    return [{"role": "user", "content": "Say good morning in French."}], {"temperature": 0, "max_tokens": 64} | bound


def is_enforced(kind: str, answer: str) -> bool:
    """Whether the answer to a probe is the only allowed one."""
    if kind == "grammar":
        return answer.strip() == _WORD
    try:
        return json.loads(answer) == {"word": _WORD}
    except ValueError:
        return False


def _format(name: str, schema: dict) -> dict:
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}
