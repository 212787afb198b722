"""A plan's JSON as a simulated model gets it wrong: text that is no plan.

In: the compact JSON, the schema, a draw. Out: a text with one fault; which faults there are is docs/plan.md's list.
"""

import json
import re
from collections.abc import Callable
from random import Random

from workbench.schema import Schema

_STEP = re.compile(r'\{"(filter|project|aggregate|sort|join|distinct)"')
_SYNONYMS = {
    "filter": "where",
    "project": "select",
    "aggregate": "group_by",
    "sort": "order_by",
    "join": "inner_join",
    "distinct": "unique",
}
_REMARKS = ("\n\nThis plan answers the question.", "\n\nNote: names are as in the schema.", "\n[]", " -- done")


def slipped_plan(text: str, schema: Schema, draw: Random) -> str:
    """The first fault, in a drawn order, that changes this plan; `cut_short` changes any."""
    faults = list(FAULTS)
    draw.shuffle(faults)
    return next(found for fault in faults if (found := fault(text, schema, draw)) != text)


def cut_short(text: str, schema: Schema, draw: Random) -> str:
    """The answer ends before the plan does."""
    return text[: draw.randint(1, max(1, len(text) - 2))]


def talk_on(text: str, schema: Schema, draw: Random) -> str:
    """A remark follows the plan."""
    return text + draw.choice(_REMARKS)


def lose_mark(text: str, schema: Schema, draw: Random) -> str:
    """A comma, a colon or a bracket is missing."""
    places = [place for place, letter in enumerate(text[:-1]) if letter in ",:]}"]
    place = draw.choice(places or [0])
    return text[:place] + text[place + 1 :]


def invent_column(text: str, schema: Schema, draw: Random) -> str:
    """A column gets a likelier name than it has."""
    names = {column.name for table in schema.tables for column in table.columns}
    found = sorted(name for name in names if re.search(rf'[".]{re.escape(name)}[ "]', text))
    if not found:
        return text
    name = draw.choice(found)
    new = draw.choice([f"{name}_name", f"{name}s", f"total_{name}"])
    return re.sub(rf'([".]){re.escape(name)}([ "])', lambda part: part[1] + new + part[2], text)


def invent_table(text: str, schema: Schema, draw: Random) -> str:
    """A table is called by another name than it has."""
    return re.sub(r'("scan":")([^"]+)"', lambda part: f'{part[1]}{part[2]}_table"', text, count=1)


def invent_operator(text: str, schema: Schema, draw: Random) -> str:
    """An operator that the plan language does not have."""
    return _STEP.sub(lambda step: f'{{"{_SYNONYMS[step[1]]}"', text, count=1)


def invent_function(text: str, schema: Schema, draw: Random) -> str:
    """A function that the plan language does not have."""
    called = {'["count"': '["count_rows"', '["=",': '["equals",', '["avg",': '["mean",', '["and",': '["all of",'}
    found = sorted(one for one in called if one in text)
    return text.replace(one := draw.choice(found), called[one], 1) if found else text


def nest_operators(text: str, schema: Schema, draw: Random) -> str:
    """A tree of operators instead of a list."""
    try:
        steps = json.loads(text)
    except ValueError:
        return text
    return json.dumps({"plan": {"input": steps[:-1], "root": steps[-1]}}, ensure_ascii=False) if steps else text


FAULTS: tuple[Callable[[str, Schema, Random], str], ...] = (
    cut_short,
    talk_on,
    lose_mark,
    invent_column,
    invent_table,
    invent_operator,
    invent_function,
    nest_operators,
)
