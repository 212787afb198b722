"""What a model's answer holds: its thinking, and the SQL or the plan in the rest, or the name of why there is none.

In: the text as it came, the reasoning field of endpoints that split it, the finish reason. Out: an `Extracted` whose status
is one of STATUSES, the only list of outcomes of an artefact. Nothing is repaired: what is cut off, is named.
"""

import json
import re
from dataclasses import dataclass, field

from workbench.errors import PLAN_ERROR_KINDS, PlanError, UnsupportedError
from workbench.plan import Plan
from workbench.schema import Schema

STATUSES = ("ok", "empty", "refusal", "no_sql", *sorted(PLAN_ERROR_KINDS))

_FENCE = re.compile(
    r"(?P<fence>```+|~~~+)(?:[\w+-]*[ \t]*\n|(?:sql|json)\b)?(?P<body>.*?)(?:(?P<end>(?P=fence))|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# A query's first words; "Select the rows" and "With this table" are English
_START = r"(?:SELECT\b(?!\s+(?:the|all the|only the)\b)|WITH\s+(?:RECURSIVE\s+)?[\w\"`]+\s*(?:\([^)]*\)\s*)?AS\b[^(]{0,20}\()"
_QUERY = re.compile(rf"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*\(*\s*{_START}", re.IGNORECASE | re.DOTALL)
_IN_PROSE = re.compile(rf"(?:^|(?<=[:`]))[ \t]*({_START}.*)", re.IGNORECASE | re.DOTALL | re.MULTILINE)
_SQL_KEYS = ("sql", "query", "sql_query", "answer", "result")
# How models say no; only read where there is no query and no plan
_REFUSAL = re.compile(
    r"\b(?:I(?:['\u2019])?m sorry|I am sorry|sorry, (?:but )?I|I (?:can(?:['\u2019])?t|cannot|can not|won(?:['\u2019])?t|"
    r"will not|am unable to|am not able to|must decline)|I['\u2019]m (?:unable|not able) to|as an AI|cannot be answered)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Extracted:
    """artefact: the SQL or the plan's text as found, also where it is no good; status: one of STATUSES; message: why.

    compiled: columns of `generations` with what a plan compiles to, where it was asked for.
    """

    artefact: str | None
    status: str
    message: str | None = None
    plan: Plan | None = None
    compiled: dict[str, str | None] = field(default_factory=dict)


def split_thinking(text: str, reasoning: str | None = None) -> tuple[str | None, str]:
    """(thinking, answer). reasoning: what the endpoint gave apart, else it stands in the text between think tags.

    A chat template may have opened the tag already, so that only its end is in the text; a tag that is not closed
    leaves no answer.
    """
    found, outside, at = [], [], 0
    while (start := text.find("<think>", at)) >= 0 and (end := text.find("</think>", start)) >= 0:
        outside.append(text[at:start])
        found.append(text[start + len("<think>") : end].strip())
        at = end + len("</think>")
    rest = "".join(outside) + text[at:]
    if "</think>" in rest:
        before, _, rest = rest.rpartition("</think>")
        found.insert(0, before.removeprefix("<think>").strip())
    if "<think>" in rest:
        rest, _, open_part = rest.partition("<think>")
        found.append(open_part.strip())
    thinking = [reasoning.strip()] if reasoning and reasoning.strip() else []
    thinking += [part for part in found if part]
    return "\n".join(thinking) or None, rest.strip()


def extract_sql(answer: str, finish_reason: str | None = None, refusal: str | None = None) -> Extracted:
    """The query in an answer: of the last code block with one, of a JSON object, or from prose."""
    is_cut = finish_reason == "length"
    if early := _without_answer(answer, finish_reason, refusal):
        return early
    blocks = _blocks(answer)
    for body, is_closed in reversed(blocks):
        sql = _query(body)
        if sql is not None:
            return Extracted(sql, "truncated" if is_cut and not is_closed else "ok")
    if (sql := _sql_in_json(answer)) is not None:
        return Extracted(sql, "ok")
    if blocks and is_cut and not blocks[-1][1]:
        return Extracted(None, "truncated", "the answer stops inside a code block")
    if _QUERY.match(answer):
        return Extracted(_statement(answer, is_whole=True), "truncated" if is_cut and ";" not in answer else "ok")
    if found := _IN_PROSE.search(answer):
        sql = _statement(found[1], is_whole=False)
        ends = answer.endswith((sql, f"{sql}`"))
        return Extracted(sql, "truncated" if is_cut and ends else "ok")
    if _REFUSAL.search(answer):
        return Extracted(None, "refusal", answer[:200])
    return Extracted(None, "truncated" if is_cut else "no_sql", "no query in the answer")


def extract_plan(
    answer: str, schema: Schema, finish_reason: str | None = None, refusal: str | None = None
) -> Extracted:
    """The plan in an answer, of the last code block that holds JSON, else from the first bracket on, read and checked."""
    if early := _without_answer(answer, finish_reason, refusal):
        return early
    text = _plan_text(answer)
    if text is None:
        if _REFUSAL.search(answer):
            return Extracted(None, "refusal", answer[:200])
        is_cut = finish_reason == "length"
        return Extracted(None, "truncated" if is_cut else "not_json", "no JSON list in the answer")
    try:
        return Extracted(text, "ok", plan=Plan.from_json(text, schema))
    except PlanError as fault:
        return Extracted(text, fault.kind, str(fault))
    except UnsupportedError as fault:
        return Extracted(text, "unsupported", str(fault))


def thinking_fault(mode: str, text: str, reasoning: str | None = None) -> str | None:
    """What in an answer breaks the rules of a thinking mode (HES-SQL, "Format validation"); null where they hold.

    suppressed: no think tags. fast: one empty pair that holds two line feeds. slow: one pair that is not empty. The
    answer comes after it, in Markdown, its SQL in a code block. reasoning: what an endpoint gave apart stands for a pair
    of tags.
    """
    head = re.fullmatch(r"\s*<think>(.*?)</think>(.*)", text, re.DOTALL)
    if head is None and reasoning is not None:
        inner, rest, is_apart = reasoning, text, True
    else:
        inner, rest, is_apart = (head[1], head[2], False) if head else (None, text, False)
    if "<think>" in rest or "</think>" in rest:
        return "think tags that do not stand once, in pairs, before the answer"
    if mode == "suppressed" and inner is not None and not (is_apart and not inner.strip()):
        return "thinking where none was allowed"
    if mode in ("fast", "slow") and inner is None:
        return "no think tags"
    if mode == "fast" and (inner.strip() or not (is_apart or inner == "\n\n")):
        return "the think tags hold more than two line feeds"
    if mode == "slow" and not inner.strip():
        return "the think tags are empty"
    if not any(is_closed for _, is_closed in _blocks(rest)):
        return "the answer is in no code block"
    return None


def _without_answer(answer: str, finish_reason: str | None, refusal: str | None) -> Extracted | None:
    if refusal or finish_reason == "content_filter":
        return Extracted(None, "refusal", (refusal or "stopped by the endpoint's content filter")[:200])
    if not answer.strip():
        is_cut = finish_reason == "length"
        return Extracted(None, "truncated" if is_cut else "empty", "no answer beside the thinking" if is_cut else None)
    return None


def _blocks(text: str) -> list[tuple[str, bool]]:
    """(body, whether it is closed) of each code block, in order."""
    return [(match["body"], match["end"] is not None) for match in _FENCE.finditer(text)]


def _query(body: str) -> str | None:
    """A code block's query: the block itself, or what it says as JSON."""
    return _statement(body, is_whole=True) if _QUERY.match(body) else _sql_in_json(body)


def _sql_in_json(text: str) -> str | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    sql = next((value[key] for key in value if isinstance(key, str) and key.lower() in _SQL_KEYS), None)
    return sql.strip().rstrip(";").strip() if isinstance(sql, str) and _QUERY.match(sql) else None


def _statement(text: str, is_whole: bool) -> str:
    """The text up to the end of its first statement; of prose also up to an empty line or a closing backquote.

    A block that goes on after a semicolon keeps only the first query: explanations and variants follow there.
    """
    text = text.strip()
    end = _first_outside_quotes(text, ";" if is_whole else ";`\n")
    return text[:end].strip()


def _first_outside_quotes(text: str, stops: str) -> int:
    """Place of the first stop outside of quotes and comments; a line feed stops only before an empty line."""
    place, quote = 0, None
    while place < len(text):
        letter = text[place]
        if quote:
            quote = None if letter == quote else quote
        elif text.startswith("--", place):
            place = text.find("\n", place)
            if place < 0:
                break
            continue
        elif text.startswith("/*", place):
            place = text.find("*/", place) + 1
            if place < 1:
                break
        elif letter in "'\"" or (letter == "`" and "`" not in stops):
            quote = letter
        elif letter in stops and (letter != "\n" or not text[place + 1 :].partition("\n")[0].strip()):
            return place
        place += 1
    return len(text)


def _plan_text(answer: str) -> str | None:
    bodies = [body.strip() for body, _ in _blocks(answer)]
    for body in reversed(bodies):
        if body.startswith(("[", "{")):
            return body
    if answer.startswith(("[", "{")):
        return answer
    start = re.search(r"\[\s*\{|\{\s*\"plan\"", answer)
    return answer[start.start() :].strip() if start else None
