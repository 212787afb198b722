"""litellm as the sender: the same server misbehaves, and the same is named, paid and listed apart."""

from importlib.util import find_spec

import pytest
from test_endpoint import CUES, STOPS, ask, quick, server  # noqa: F401 fixtures

from workbench.errors import GenerationError

pytestmark = pytest.mark.skipif(
    find_spec("litellm") is None, reason="the extra litellm is not installed: pip install 'workbench[litellm]'"
)
KEY = "sk-canary-3141592653"
MODEL = {"provider": "litellm", "model": "openai/m", "key_variable": "LITELLM_TEST_KEY"}


@pytest.fixture(autouse=True)
def key(monkeypatch, server):  # noqa: F811
    monkeypatch.setenv("LITELLM_TEST_KEY", KEY)
    server.key = KEY  # without it every call is a 401


@pytest.mark.parametrize("cue", CUES)
def test_every_question_ends_answered_or_named(cue, server, ask):  # noqa: F811
    status, error, calls, lost = CUES[cue]
    server.script["number 1?"] = [cue]
    _done, rows, made = ask(**MODEL)
    assert rows["parse_status"].to_list() == ["ok", status, "ok"]
    assert rows["error"].to_list() == [None, error, None]
    assert made.filter(question_id="1").height == calls
    assert made.filter(outcome="lost").height == lost
    assert made.filter(outcome="answered").height == len(server.answered)


@pytest.mark.parametrize("cue", STOPS)
def test_what_no_call_can_mend_stops_at_once_with_one_line(cue, server, ask):  # noqa: F811
    server.script["number"] = [cue] * 100
    with pytest.raises(GenerationError) as error:
        ask(20, limits={"concurrency": 1}, **MODEL)
    assert str(error.value) == f"m: {STOPS[cue]}"
    assert len(server.calls) == 1
