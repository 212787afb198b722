"""Answers as models give them, and what is read in them: the artefact, or the one word for why there is none."""

import pytest

from workbench.errors import PLAN_ERROR_KINDS
from workbench.extract import STATUSES, extract_plan, extract_sql, split_thinking, thinking_fault
from workbench.prompts import EXAMPLE, EXAMPLE_PLAN

Q = "SELECT a FROM t WHERE b = 1"

# id -> (answer, finish reason, artefact, status)
SQL = {
    "bare": (Q, "stop", Q, "ok"),
    "bare with semicolon": (f"{Q};\n", "stop", Q, "ok"),
    "with clause": (f"WITH x AS ({Q}) SELECT * FROM x", "stop", f"WITH x AS ({Q}) SELECT * FROM x", "ok"),
    "in brackets": ("(SELECT 1) UNION (SELECT 2)", "stop", "(SELECT 1) UNION (SELECT 2)", "ok"),
    "lower case": ("select 1", "stop", "select 1", "ok"),
    "fence": (f"```sql\n{Q}\n```", "stop", Q, "ok"),
    "fence without language": (f"```\n{Q};\n```", "stop", Q, "ok"),
    "fence of another language": (f"```sqlite\n{Q}\n```", "stop", Q, "ok"),
    "fence on one line": (f"```sql {Q}```", "stop", Q, "ok"),
    "fence that ends on the query's line": (f"```sql\n{Q}```", "stop", Q, "ok"),
    "tildes": (f"~~~sql\n{Q}\n~~~", "stop", Q, "ok"),
    "fence in prose": (f"Here it is:\n\n```sql\n{Q}\n```\nIt reads t.", "stop", Q, "ok"),
    "two fences: the last": (f"```sql\nSELECT 1\n```\nBetter:\n```sql\n{Q}\n```", "stop", Q, "ok"),
    "a fence without query after it": (f"```sql\n{Q}\n```\ngives\n```\n| a |\n```", "stop", Q, "ok"),
    "comment before the query": (f"```sql\n-- all of them\n{Q}\n```", "stop", f"-- all of them\n{Q}", "ok"),
    "a semicolon in a text": ("SELECT ';' AS a; SELECT 2", "stop", "SELECT ';' AS a", "ok"),
    "a semicolon in a comment": ("SELECT 1 -- a; b\n+ 1;", "stop", "SELECT 1 -- a; b\n+ 1", "ok"),
    "two statements in a fence": (f"```sql\n{Q};\nSELECT 2;\n```", "stop", Q, "ok"),
    "empty line inside a fence": ("```sql\nSELECT 1\n\n+ 1\n```", "stop", "SELECT 1\n\n+ 1", "ok"),
    "json": ('{"sql": "SELECT 1;"}', "stop", "SELECT 1", "ok"),
    "json in a fence": ('```json\n{"query": "SELECT 1"}\n```', "stop", "SELECT 1", "ok"),
    "json without query": ('{"table": "t"}', "stop", None, "no_sql"),
    "prose before": (f"The query is:\n{Q}", "stop", Q, "ok"),
    "prose around": (f"The query is:\n{Q}\n\nIt reads t.", "stop", Q, "ok"),
    "inline code": (f"Use this: `{Q}` on it.", "stop", Q, "ok"),
    "prose that says select": ("You have to\nselect the rows and count them.", "stop", None, "no_sql"),
    "prose that begins with select": ("Select the rows of t.", "stop", None, "no_sql"),
    "prose alone": ("There are four of them.", "stop", None, "no_sql"),
    "with as an English word": ("With this database as it is, four.", "stop", None, "no_sql"),
    "refusal": ("I'm sorry, but I can't help with that.", "stop", None, "refusal"),
    "refusal, other apostrophe": ("I\u2019m sorry, I can\u2019t do that.", "stop", None, "refusal"),
    "sorry, and yet a query": (f"I'm sorry for the wait.\n```sql\n{Q}\n```", "stop", Q, "ok"),
    "content filter": ("", "content_filter", None, "refusal"),
    "empty": ("", "stop", None, "empty"),
    "white space": (" \n\t", "stop", None, "empty"),
    "cut at once": ("", "length", None, "truncated"),
    "cut in a fence": (f"```sql\n{Q} AND", "length", f"{Q} AND", "truncated"),
    "cut before the query": ("```sql\n", "length", None, "truncated"),
    "cut bare": (f"{Q} AND", "length", f"{Q} AND", "truncated"),
    "cut in prose": ("The query that you", "length", None, "truncated"),
    "cut after the fence": (f"```sql\n{Q}\n```\nThis reads", "length", Q, "ok"),
    "cut after the semicolon": (f"{Q};\nThis reads", "length", Q, "ok"),
    "a fence never closed": (f"```sql\n{Q}", "stop", Q, "ok"),
    "not a query": ("```sql\nDROP TABLE t\n```", "stop", None, "no_sql"),
    "backquoted names": ("```sql\nSELECT `a;b` FROM `t`\n```", "stop", "SELECT `a;b` FROM `t`", "ok"),
}


@pytest.mark.parametrize(("answer", "finish", "artefact", "status"), SQL.values(), ids=SQL)
def test_sql_in_an_answer(answer, finish, artefact, status):
    found = extract_sql(answer, finish)
    assert (found.artefact, found.status) == (artefact, status)


P = EXAMPLE_PLAN
PLANS = {
    "bare": (P, "stop", P, "ok"),
    "fence": (f"```json\n{P}\n```", "stop", P, "ok"),
    "prose and a fence": (f"The plan:\n```\n{P}\n```\nIt counts.", "stop", P, "ok"),
    "two fences: the last": (f'```json\n[{{"scan":"shop"}}]\n```\nNo:\n```json\n{P}\n```', "stop", P, "ok"),
    "prose before": (f"The plan: {P}", "stop", P, "ok"),
    "versioned": ('{"plan":1,"steps":[{"scan":"shop"}]}', "stop", '{"plan":1,"steps":[{"scan":"shop"}]}', "ok"),
    "prose after": (f"{P}\nIt counts.", "stop", f"{P}\nIt counts.", "trailing_text"),
    "no json": ("SELECT 1", "stop", None, "not_json"),
    "broken json": ('[{"scan":"shop",}]', "stop", '[{"scan":"shop",}]', "not_json"),
    "json of another kind": ('{"sql":"SELECT 1"}', "stop", '{"sql":"SELECT 1"}', "schema_violation"),
    "cut": (P[:50], "length", P[:50], "truncated"),
    "cut in a fence": (f"```json\n{P[:50]}", "length", P[:50], "truncated"),
    "cut before it began": ("Let me see", "length", None, "truncated"),
    "unknown operator": ('[{"scan":"shop"},{"grab":1}]', "stop", '[{"scan":"shop"},{"grab":1}]', "unknown_operator"),
    "unknown table": ('[{"scan":"ship"}]', "stop", '[{"scan":"ship"}]', "unknown_table"),
    "unknown column": (
        '[{"scan":"shop"},{"project":["x"]}]',
        "stop",
        '[{"scan":"shop"},{"project":["x"]}]',
        "unknown_column",
    ),
    "type error": (
        '[{"scan":"shop"},{"filter":["abs"]}]',
        "stop",
        '[{"scan":"shop"},{"filter":["abs"]}]',
        "type_error",
    ),
    "refusal": ("I cannot answer this.", "stop", None, "refusal"),
    "empty": ("", "stop", None, "empty"),
}


@pytest.mark.parametrize(("answer", "finish", "artefact", "status"), PLANS.values(), ids=PLANS)
def test_plan_in_an_answer(answer, finish, artefact, status):
    found = extract_plan(answer, EXAMPLE, finish)
    assert (found.artefact, found.status) == (artefact, status)
    assert (found.plan is not None) == (status == "ok")
    assert (found.message is None) == (status in ("ok", "empty"))


def test_outcomes_are_the_only_list():
    assert set(STATUSES) == {"ok", "empty", "refusal", "no_sql", *PLAN_ERROR_KINDS}
    assert {status for *_, status in [*SQL.values(), *PLANS.values()]} >= set(STATUSES) - {"unsupported"}


THINKING = {
    "none": ("answer", None, (None, "answer")),
    "tags": ("<think>\nwhy\n</think>\n\nanswer", None, ("why", "answer")),
    "empty tags": ("<think>\n\n</think>\n\nanswer", None, (None, "answer")),
    "opened by the template": ("why\n</think>\nanswer", None, ("why", "answer")),
    "never closed": ("<think>why, and then", None, ("why, and then", "")),
    "opened over and over": ("<think>" * 200_000, None, ("<think>" * 199_999, "")),
    "opened over and over, closed once": ("<think>" * 3 + "a</think>b" + "<think>c", None, ("<think><think>a\nc", "b")),
    "a field": ("answer", "why", ("why", "answer")),
    "a field and tags": ("<think>b</think>answer", "a", ("a\nb", "answer")),
    "twice": ("<think>a</think>x<think>b</think>answer", None, ("a\nb", "xanswer")),
}


@pytest.mark.parametrize(("text", "field", "expected"), THINKING.values(), ids=THINKING)
def test_thinking_is_split_off(text, field, expected):
    assert split_thinking(text, field) == expected


FENCED = f"```sql\n{Q}\n```"
# the paper's rules: (mode, text, reasoning field, what the fault says or null)
MODES = {
    "suppressed": ("suppressed", FENCED, None, None),
    "suppressed, with tags": ("suppressed", f"<think>x</think>\n\n{FENCED}", None, "none was allowed"),
    "suppressed, empty tags": ("suppressed", f"<think>\n\n</think>\n\n{FENCED}", None, "none was allowed"),
    "suppressed, no markdown": ("suppressed", Q, None, "no code block"),
    "fast": ("fast", f"<think>\n\n</think>\n\n{FENCED}", None, None),
    "fast without tags": ("fast", FENCED, None, "no think tags"),
    "fast that thinks": ("fast", f"<think>\nx\n</think>\n\n{FENCED}", None, "more than two line feeds"),
    "fast with one line feed": ("fast", f"<think>\n</think>\n\n{FENCED}", None, "more than two line feeds"),
    "fast, empty field": ("fast", FENCED, "", None),
    "slow": ("slow", f"<think>\nx\n</think>\n\n{FENCED}", None, None),
    "slow, by field": ("slow", FENCED, "x", None),
    "slow without tags": ("slow", FENCED, None, "no think tags"),
    "slow, empty": ("slow", f"<think>\n\n</think>\n\n{FENCED}", None, "are empty"),
    "slow, never closed": ("slow", "<think>x", None, "do not stand once"),
    "slow, tags twice": ("slow", f"<think>x</think><think>y</think>{FENCED}", None, "do not stand once"),
    "slow, no block": ("slow", f"<think>x</think>\n\n{Q}", None, "no code block"),
}


@pytest.mark.parametrize(("mode", "text", "field", "fault"), MODES.values(), ids=MODES)
def test_thinking_modes_by_the_papers_rules(mode, text, field, fault):
    found = thinking_fault(mode, text, field)
    assert (found is None) if fault is None else fault in found
