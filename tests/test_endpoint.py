"""Asking a real HTTP server that misbehaves: every question ends with an answer or a name, and nothing is paid twice."""

import polars as pl
import pytest
from asked_benchmark import make_benchmark
from click.testing import CliRunner
from model_server import OUTPUT_TOKENS, PROMPT_TOKENS, ModelServer

import workbench as wb
from workbench import endpoint
from workbench.cli import main
from workbench.errors import GenerationError
from workbench.results import Run


@pytest.fixture
def server():
    with ModelServer() as running:
        yield running


@pytest.fixture(autouse=True)
def quick(monkeypatch, root):
    """Waits of tests, not of people."""
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.02)


@pytest.fixture
def ask(server, tmp_path):
    """Ask the server's model; gives (what the step did, its generations, its calls)."""

    def run(questions: int = 3, limits: dict | None = None, name: str = "m", **more):
        folder = tmp_path / "benchmark"
        if not folder.exists():
            make_benchmark(folder, 30)
        limits = {"seconds": 1.0, "concurrency": 4} | (limits or {})
        model = {"name": name, "provider": "openai", "base_url": server.url, "limits": limits} | more
        done = wb.generate("r", wb.read_benchmark(folder), [model], limit=questions)
        stored = Run.open("r")
        return done, stored.table("generations").sort("question_id"), stored.table("calls")

    return run


# cue -> (parse status, what the row's error says or null, calls, those of them lost)
CUES = {
    "429": ("ok", None, 2, 0),
    "429 after 0.2": ("ok", None, 2, 0),
    "429 after date 1": ("ok", None, 2, 0),
    "429 after nonsense": ("ok", None, 2, 0),
    "500": ("ok", None, 2, 0),
    "503": ("ok", None, 2, 0),
    "503 after 0.1": ("ok", None, 2, 0),
    "reset": ("ok", None, 2, 1),
    "reset in the body": ("ok", None, 2, 1),
    "stall": ("ok", None, 2, 1),
    "drip": ("ok", None, 2, 1),
    "cut JSON": ("ok", None, 2, 1),
    "wrong type": ("ok", None, 2, 1),
    "empty choices": ("empty", None, 1, 0),
    "length": ("truncated", None, 1, 0),
    "missing usage": ("ok", None, 1, 0),
    "duplicate delivery": ("ok", None, 1, 0),
    "thinking": ("ok", None, 1, 0),
    "context": ("empty", "HTTP 400: the prompt exceeds the context length", 1, 0),
}


@pytest.mark.parametrize("cue", CUES)
def test_every_question_ends_answered_or_named(cue, server, ask):
    status, error, calls, lost = CUES[cue]
    server.script["number 1?"] = [cue]
    done, rows, made = ask()
    assert rows["parse_status"].to_list() == ["ok", status, "ok"]
    assert rows["error"].to_list() == [None, error, None]
    assert done.failed == (error is not None)
    assert made.filter(question_id="1").height == calls
    assert made.filter(outcome="lost").height == lost
    # what is recorded as paid is what the server says reached us, what it billed besides is listed apart
    assert made.filter(outcome="answered").height == len(server.answered)
    assert lost == len([call for call in server.calls if call["is_billed"] and not call["is_whole"]])
    paid = made.filter(outcome="answered", tokens_source="reported")
    assert paid["input_tokens"].sum() == PROMPT_TOKENS * paid.height
    assert paid["output_tokens"].sum() == OUTPUT_TOKENS * paid.height
    # and nothing is asked again
    before = len(server.calls)
    again, *_ = ask()
    assert len(server.calls) == before + (error is not None)
    assert again.kept == 3 - (error is not None)


@pytest.mark.parametrize("cue", ["500", "reset", "429", "cut JSON", "wrong type"])
def test_what_fails_every_time_is_named_and_asked_again_next_time(cue, server, ask):
    server.script["number 1?"] = [cue] * 3
    done, rows, _ = ask(limits={"tries": 3})
    assert (done.rows, done.failed) == (2, 1)
    assert rows["error"][1].startswith("no answer in 3 tries, the last: ")
    assert rows["parse_status"].to_list() == ["ok", "empty", "ok"]
    done, rows, made = ask(limits={"tries": 3})
    assert (done.rows, done.kept, done.failed) == (1, 2, 0)
    assert rows["error"].null_count() == 3
    assert made.filter(question_id="1")["number"].to_list() == [1, 2, 3, 1]


STOPS = {
    "401": ("HTTP 401: 401 on cue (the key is read from the variable that key_variable names)"),
    "404": ("HTTP 404: 404 on cue (see base_url and model)"),
    "quota": ("HTTP 429: no money left (see the account)"),
}


@pytest.mark.parametrize("cue", STOPS)
def test_what_no_call_can_mend_stops_at_once_with_one_line(cue, server, ask):
    server.script["number"] = [cue] * 100
    with pytest.raises(GenerationError) as error:
        ask(20, limits={"concurrency": 1})
    assert str(error.value) == f"m: {STOPS[cue]}"
    assert len(server.calls) == 1


def test_answers_before_the_stop_are_kept(server, ask):
    server.script["number 2?"] = ["401"]
    with pytest.raises(GenerationError):
        ask(limits={"concurrency": 1})
    assert Run.open("r").table("generations")["question_id"].to_list() == ["0", "1"]
    done, _, _ = ask()
    assert (done.rows, done.kept) == (1, 2)


def test_nobody_at_the_address_is_one_line_before_anything_is_asked(server, ask):
    server.__exit__()
    with pytest.raises(GenerationError, match="nobody answers"):
        ask()


def test_an_optional_model_that_is_away_is_named_and_passed_over(server, ask):
    server.__exit__()
    done, rows, _ = ask(is_optional=True)
    assert rows.is_empty() and not done.is_whole
    assert "m could not be asked: " in str(done) and "nobody answers" in str(done)


def test_with_everything_stored_the_endpoint_is_not_looked_for(server, ask):
    ask()
    server.__exit__()
    done, _, _ = ask()
    assert (done.rows, done.kept) == (0, 3)


def test_a_long_pause_that_is_asked_for_stops_the_asking(server, ask):
    server.script["number 0?"] = ["429 after 3600"]
    done, rows, _ = ask(limits={"concurrency": 1})
    assert "the endpoint asks to wait 3600 s" in done.stopped["m"] and not done.is_whole
    assert rows.is_empty()


def test_a_token_budget_is_not_exceeded_and_stops_cleanly(server, ask):
    small = {"sampling": {"max_tokens": OUTPUT_TOKENS}}
    done, rows, made = ask(20, limits={"tokens": 1500}, **small)
    assert 2 <= rows.height < 20 and made["input_tokens"].sum() + made["output_tokens"].sum() <= 1500
    assert "of 1500 tokens are spent" in done.stopped["m"]
    done, rows, _ = ask(20, **small)
    assert rows.height == 20 and not done.stopped
    assert len(server.calls) == 20


def test_a_money_budget_counts_cached_tokens_at_their_price(server, ask):
    prices = {"input": 10.0, "cached": 1.0, "output": 100.0}
    each = (40 * 10 + 60 * 1 + OUTPUT_TOKENS * 100) / 1e6
    done, rows, made = ask(3, prices=prices)
    assert rows["cost"].to_list() == pytest.approx([each] * 3)
    assert made["cost"].sum() == pytest.approx(3 * each)
    done, rows, made = ask(20, prices=prices, limits={"money": 0.02}, name="n", sampling={"max_tokens": OUTPUT_TOKENS})
    spent = made.filter(model="n")["cost"].sum()
    assert 0 < spent <= 0.02 and "in money is spent" in done.stopped["n"]


def test_a_time_limit_stops_cleanly(server, ask):
    server.latency = 0.1
    done, rows, _ = ask(30, limits={"total_seconds": 0.35, "concurrency": 2})
    assert done.stopped["m"] == "0.35 s are over"
    assert 2 <= rows.height <= 12


def test_two_questions_of_the_same_content_are_one_call(server, ask, tmp_path):
    folder = make_benchmark(tmp_path / "twins", 2)
    text = (folder / "questions.json").read_text().replace("number 1?", "number 0?")
    (folder / "questions.json").write_text(text)
    model = {"name": "m", "provider": "openai", "base_url": server.url}
    assert wb.generate("twins", wb.read_benchmark(folder), [model]).rows == 2
    assert len(server.calls) == 1


SETTINGS = {
    "temperature": {"sampling": {"temperature": 0.7}},
    "a setting of the endpoint's own": {"sampling": {"top_k": 5}},
    "model": {"model": "other"},
    "thinking": {"thinking": "slow"},
    "context": {"context_tokens": 2048, "sampling": {"max_tokens": 9}},
    "no seed": {"sampling": {"seed": None}},
    "samples": {"samples": 2},
}


@pytest.mark.parametrize("more", SETTINGS.values(), ids=SETTINGS)
def test_changing_any_setting_asks_again_and_changing_back_does_not(more, server, ask):
    ask()
    ask(**more)
    assert len(server.calls) == 6
    ask()
    assert len(server.calls) == 6


def test_limits_and_prices_change_no_answer(server, ask):
    ask()
    ask(limits={"concurrency": 1, "seconds": 2.0}, prices={"input": 1.0, "output": 1.0})
    assert len(server.calls) == 3


def test_an_answer_is_replayed_without_a_call(server, ask, tmp_path):
    ask()
    (journal,) = (Run.open("r").path / "calls").glob("*.jsonl")
    model = {"name": "again", "provider": "replay", "model": "m", "files": [str(journal)]}
    done = wb.generate("replayed", wb.read_benchmark(tmp_path / "benchmark"), [model], limit=3)
    assert (done.rows, done.failed) == (3, 0) and len(server.calls) == 3
    done = wb.generate("other", wb.read_benchmark(tmp_path / "benchmark"), [model | {"samples": 2}], limit=3)
    assert (done.rows, done.failed) == (3, 3)


def test_tokens_are_counted_and_marked_where_they_are_not_reported(server, ask):
    server.script["number 1?"] = ["missing usage"]
    _, rows, made = ask()
    assert rows["tokens_source"].to_list() == ["reported", "counted", "reported"]
    assert sorted(made["tokens_source"].to_list()) == ["counted", "reported", "reported"]
    assert 5 < rows["output_tokens"][1] < 20 and rows["input_tokens"][1] > 100


def test_reasoning_is_kept_apart_and_its_tokens_estimated_by_its_share(server, ask):
    server.script["number 1?"] = ["thinking"]
    _, rows, _ = ask()
    assert rows["thinking"][1] == ("because " * 10).strip()
    assert 0 < rows["reasoning_tokens"][1] < OUTPUT_TOKENS and rows["artefact"][1] == "SELECT n FROM t"
    assert rows["artefact_tokens"][1] <= OUTPUT_TOKENS - rows["reasoning_tokens"][1]


# ---- plans: bound decoding, repair

# (enforced, refused at the probe, refused for plans) -> what the rows are bound by, calls that probe
CONSTRAINTS = {
    "by schema": ({"json_schema", "grammar"}, set(), set(), "json_schema", 1),
    "by grammar": ({"grammar"}, {"json_schema"}, set(), "grammar", 2),
    "schema passed over in silence": ({"grammar"}, set(), set(), "grammar", 2),
    "schema too large": ({"json_schema", "grammar"}, set(), {"json_schema"}, "grammar", 2),
    "not at all": (set(), set(), set(), None, 2),
    "refused": (set(), {"json_schema", "grammar"}, set(), None, 2),
    "too large both": ({"json_schema", "grammar"}, set(), {"json_schema", "grammar"}, None, 2),
}


@pytest.mark.parametrize(("enforced", "refused", "too_large", "kind", "probes"), CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_decoding_is_bound_where_the_endpoint_really_does_it(enforced, refused, too_large, kind, probes, server, ask):
    server.enforces, server.refuses, server.refuses_plans = enforced, refused, too_large
    done, rows, made = ask(targets=["plan"])
    assert rows["constraint"].to_list() == [kind] * 3
    assert rows["parse_status"].to_list() == ["ok"] * 3 and done.failed == 0
    assert made.filter(target="probe").height == probes
    assert rows["artefact"].to_list() == ['[{"scan":"t"},{"project":["t.n"]}]'] * 3
    before = len(server.calls)
    ask(4, targets=["plan"], name="m")
    assert len(server.calls) == before + 1, "what the endpoint can is remembered"


def test_sql_and_thinking_are_never_bound(server, ask):
    server.enforces = {"json_schema"}
    ask(targets=["sql", "plan"], thinking="slow")
    assert {call["kind"] for call in server.calls} == {""}


def test_a_refused_plan_goes_back_with_the_words_of_the_refusal(server, ask):
    bad = '[{"scan":"ship"}]'
    server.answer = lambda messages, body: bad if "refused" not in messages[-1]["content"] else '[{"scan":"t"}]'
    server.is_counting = False
    _, rows, made = ask(1, targets=["plan"], repairs=1, is_constrained=False)
    assert rows["parse_status"].to_list() == ["ok"] and rows["attempts"].to_list() == [2]
    assert rows["input_tokens"].to_list() == [2 * PROMPT_TOKENS]
    assert rows["output_tokens"].to_list() == [2 * OUTPUT_TOKENS]
    assert made["attempt"].to_list() == [0, 1]
    back = server.calls[-1]["body"]["messages"]
    assert [message["role"] for message in back[-3:]] == ["user", "assistant", "user"]
    assert back[-2]["content"] == bad and "unknown_table" in back[-1]["content"] and "'ship'" in back[-1]["content"]


def test_a_plan_that_stays_bad_is_stored_as_its_last_attempt(server, ask):
    server.answer = lambda messages, body: '[{"scan":"ship"}]'
    _, rows, _ = ask(2, targets=["plan"], repairs=2, is_constrained=False)
    assert rows["parse_status"].to_list() == ["unknown_table"] * 2 and rows["attempts"].to_list() == [3, 3]
    assert len(server.calls) == 6
    done, _, _ = ask(2, targets=["plan"], repairs=2, is_constrained=False)
    assert done.kept == 2 and len(server.calls) == 6


def test_calls_hold_when_and_what(server, ask):
    _, _, made = ask()
    assert made["call"].to_list() == [1, 2, 3]
    assert made["started"].str.starts_with("20").all() and made["cost"].null_count() == 3
    assert made.select(pl.col("seconds") > 0).to_series().all()


def test_the_command_asks_for_plans_with_settings_and_says_by_its_code_what_is_missing(server, tmp_path):
    folder = make_benchmark(tmp_path / "benchmark", 3)
    words = ["generate", "--benchmark", str(folder), "--run", "r", "--model", "m", "--target", "plan"]
    words += ["--base-url", server.url, "--set", "limits.tries=1", "--set", "sampling={max_tokens: 9, top_k: 5}"]
    server.is_counting = False
    server.script["number 1?"] = ["500"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1 and done.output == "2 answers new, 0 kept, 1 questions got none, from m\n", done.output
    sent = server.calls[-1]["body"]
    assert (sent["max_tokens"], sent["top_k"], sent["temperature"], sent["seed"]) == (9, 5, 0, 0)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0 and done.output == "1 answers new, 2 kept, from m\n"
