"""docs/plan.md and the code name the same operators, functions and faults."""

import re
from pathlib import Path

import pytest

from workbench.errors import PLAN_ERROR_KINDS
from workbench.plan_expressions import CAST_TYPES
from workbench.plan_from_json import OPERATORS
from workbench.plan_functions import FUNCTIONS
from workbench.read_plan_expressions import SPECIAL

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "plan.md").read_text()


def _table(heading: str) -> set[str]:
    body = TEXT.split(f"\n### {heading}\n")[1].split("\n#")[0]
    return {name.replace("\\|", "|") for name in re.findall(r"^\| `(.+?)` \|", body, re.MULTILINE)}


@pytest.mark.parametrize("kind", ["scalar", "aggregate", "window"])
def test_functions(kind):
    assert _table(f"{kind.capitalize()} functions") == {name for one, name in FUNCTIONS if one == kind}


@pytest.mark.parametrize("word", OPERATORS)
def test_operators(word):
    assert re.search(rf'[{{"`,]{word.removesuffix("_all")}["`:]', TEXT), word


@pytest.mark.parametrize("word", list(SPECIAL))
def test_special_forms(word):
    assert f'["{word}"' in TEXT


@pytest.mark.parametrize("kind", PLAN_ERROR_KINDS)
def test_faults(kind):
    assert f"`{kind}`" in TEXT


def test_cast_types():
    assert all(word in TEXT.split('["cast",x,"integer"]')[1].split("\n")[0] for word in CAST_TYPES)
