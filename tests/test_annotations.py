"""Annotating by hand: blind, seeded, resumable, each verdict whole or not at all, hostile content shown as text."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from html.parser import HTMLParser

import papermill
import polars as pl
import pytest

import workbench as wb
from workbench import paths
from workbench.disagreements import disagreements, stored_annotations
from workbench.errors import ResultsError
from workbench.explain import readable, shown
from workbench.result_table import ResultTable
from workbench.results import Run

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)> \x1b[31m \u202e $x$"
GOLDS = {  # question id -> gold, prediction of both models, prediction of the second alone
    "columns": ("SELECT name, kind FROM pet", "SELECT kind, name FROM pet", None),
    "evil": ("SELECT note, id FROM pet", "SELECT id, note FROM pet", None),
    "more": ("SELECT name FROM pet WHERE id = 1", "SELECT name, id FROM pet WHERE id = 1", None),
    "same": ("SELECT id FROM pet", "SELECT id FROM pet -- simulated-secret", None),
    "other": ("SELECT kind, id FROM pet", "SELECT kind FROM pet", "SELECT id, kind FROM pet -- a secret"),
}


@pytest.fixture
def run(root) -> Run:
    folder = root / "bench" / "databases" / "pets"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "pets.sqlite")) as db:
        db.execute("CREATE TABLE pet (id INTEGER, name TEXT, kind TEXT, note TEXT)")
        db.executemany(
            "INSERT INTO pet VALUES (?, ?, ?, ?)", [(1, "Rex", "dog", EVIL), (2, "Ina", "cat", "x" * 10_000_000)]
        )
        db.commit()
    questions = [
        {"question_id": name, "db_id": "pets", "question": f"{name}? {EVIL}", "evidence": "a hint", "SQL": gold}
        for name, (gold, _, _) in GOLDS.items()
    ]
    (root / "bench" / "questions.json").write_text(json.dumps(questions))
    benchmark = wb.read_benchmark(root / "bench")
    for model, place in (("secret-7b", 1), ("secret-70b", 2)):
        lines = [json.dumps({"question_id": name, "sql": each[place] or each[1]}) for name, each in GOLDS.items()]
        (root / f"{model}.jsonl").write_text("\n".join(lines))
        wb.import_predictions("r", benchmark, [root / f"{model}.jsonl"])
    wb.score("r", ["sqlite"])
    return Run.open("r")


def test_distinct_disagreements(run):
    found = disagreements(run)
    assert sorted(found["question_id"]) == ["columns", "evil", "more", "other"]  # two models' same SQL is one pair
    assert found["df_match"].all() and not found["bird_ex"].any()
    assert found.equals(disagreements(run))


def test_the_sample_is_seeded_and_the_same_for_all(run):
    orders = {seed: wb.annotation_session(run, "ann", seed=seed).pairs["pair"].to_list() for seed in range(6)}
    assert wb.annotation_session(run, "bob", seed=3).pairs["pair"].to_list() == orders[3]
    assert len({tuple(order) for order in orders.values()}) > 1
    assert not {"df_match", "bird_ex", "model"} & set(wb.annotation_session(run, "ann").pairs.columns)
    assert wb.annotation_session(run, "ann", 2, seed=3).pairs["pair"].to_list() == orders[3][:2]


class _Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def _every_view(session) -> list[tuple[str, str]]:
    """Text and HTML of each pair, as one works through them."""
    views = []
    while "all. Next" not in repr(session):
        views.append((repr(session), session._repr_html_()))
        wb.annotate(session, _id(session), "correct")
    return views


def _id(session) -> str:
    return re.search(r"pair (\w+)", repr(session))[1]


def test_what_is_shown_is_blind_text(run):
    session = wb.annotation_session(run, "ann")
    views = _every_view(session)
    assert len(views) == 4
    for text, html in views:
        for word in ("secret", "70b", "df_match", "DF-Match", "bird_ex", "BIRD", "target", "dialect"):
            assert word not in text and word not in html
        elements = _Elements()
        elements.feed(html)
        assert elements.tags == {"p", "b", "pre", "div"} and elements.attributes <= {"style"}
        assert not [one for one in text + html if not one.isprintable() and one != "\n"]
        assert len(html) < 20_000 and "$x$" not in re.sub(r"<pre.*?</pre>", "", html, flags=re.DOTALL)
    evil = next(text for text, _ in views if "evil?" in text)
    assert EVIL[:40] in evil and "\\x1b[31m" in evil and "(cut: 10000000 characters)" in evil
    assert "a hint" in evil and evil.index("Gold") < evil.index("Prediction")


def test_results_that_the_cache_has_lost_are_made_again(run, tmp_path, monkeypatch):
    session = wb.annotation_session(run, "ann")
    before = repr(session)
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "empty"))
    assert repr(session) == before
    (tmp_path / "bench" / "databases" / "pets" / "pets.sqlite").unlink()
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "another"))
    assert repr(session).count("the result is lost: ") == 2


def test_verdicts_are_stored_at_once_and_the_next_pair_is_shown(run):
    session = wb.annotation_session(run, "ann")
    first = _id(session)
    wb.annotate(session, first, "incorrect", "gold_is_wrong", "counts twice")
    assert _id(session) != first and "1 of 4 judged by ann" in repr(session)
    wb.annotate(session, first, "correct")  # said again
    wb.annotate(session, first, "correct")
    (row,) = stored_annotations(run).rows(named=True)
    assert (row["pair"], row["verdict"], row["gold_is_wrong"], row["note"]) == (first, "correct", False, "")
    assert _id(wb.annotation_session("r", "ann")) == _id(session)  # resumed
    bob = wb.annotation_session("r", "bob")
    assert _id(bob) == first  # kept apart
    wb.annotate(bob, first, "unsure", ["other_issue", "gold_is_wrong"], "\udcff")
    assert sorted(stored_annotations(run)["annotator"]) == ["ann", "bob"]
    assert wb.connect(run.path.parent).sql("from annotations").pl().height == 2


WRONG = {
    "an unknown pair": ({"pair": "zz", "verdict": "correct"}, "there is no pair 'zz' in the sample"),
    "no pair": ({"verdict": "correct"}, "there is no pair None in the sample"),
    "no verdict": ({"pair": ""}, "None is no verdict"),
    "a wrong verdict": ({"pair": "", "verdict": "yes\n"}, r"'yes\n' is no verdict"),
    "a wrong flag": ({"pair": "", "verdict": "correct", "flag": "bad", "note": "x"}, "'bad' is no flag"),
    "a flag without note": ({"pair": "", "verdict": "correct", "flag": "other_issue", "note": " "}, "needs a note"),
}


@pytest.mark.parametrize("given, words", WRONG.values(), ids=WRONG)
def test_what_is_refused(run, given, words):
    session = wb.annotation_session(run, "ann")
    given = given | ({"pair": _id(session)} if given.get("pair") == "" else {})
    with pytest.raises(ResultsError) as caught:
        wb.annotate(session, **given)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert stored_annotations(run).is_empty()


SESSIONS = {
    "no name": ({"annotator": " "}, "cannot be an annotator's name"),
    "everybody's name": ({"annotator": "all"}, "cannot be an annotator's name"),
    "control characters": ({"annotator": "a\nb"}, "cannot be an annotator's name"),
    "no pairs": ({"annotator": "ann", "size": 0}, "a sample of 0 pairs"),
    "another engine": ({"annotator": "ann", "engine": "mysql"}, "has no disagreements on mysql (there are some on: sqlite)"),
}  # fmt: skip


@pytest.mark.parametrize("given, words", SESSIONS.values(), ids=SESSIONS)
def test_sessions_that_cannot_begin(run, given, words):
    with pytest.raises(ResultsError) as caught:
        wb.annotation_session(run, **given)
    assert words in str(caught.value)


def test_a_run_without_scores(root):
    Run.create("empty")
    with pytest.raises(ResultsError, match="has no scores yet"):
        wb.annotation_session("empty", "ann")


KILLED = """
import os
import workbench as wb
session = wb.annotation_session("r", "ann")
first, second = session.pairs["pair"][:2]
wb.annotate(session, first, "correct")
os.environ["WORKBENCH_KILL_POINT"] = "part-half-written"
wb.annotate(session, second, "incorrect")
"""


def test_a_kill_loses_only_what_was_being_stored(run):
    killed = subprocess.run([sys.executable, "-c", KILLED], env=os.environ.copy(), capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    session = wb.annotation_session("r", "ann")
    assert stored_annotations(run)["pair"].to_list() == [session.pairs["pair"][0]]
    wb.annotate(session, _id(session), "incorrect")
    assert stored_annotations(run)["verdict"].to_list() == ["correct", "incorrect"]
    assert not list((run.path / "annotations").glob(".*"))


def test_while_another_process_writes_nothing_is_lost(run):
    session = wb.annotation_session(run, "ann")
    first = _id(session)
    with run.locked(), pytest.raises(ResultsError, match="another process is writing this run"):
        wb.annotate(session, first, "correct")
    wb.annotate(session, first, "correct")
    assert stored_annotations(run)["pair"].to_list() == [first]


@pytest.mark.parametrize("damage", ["bytes", "columns"])
def test_a_damaged_part_is_never_written_over(run, damage):
    session = wb.annotation_session(run, "ann")
    first = _id(session)
    wb.annotate(session, first, "correct")
    (file,) = (run.path / "annotations").glob("*.parquet")
    if damage == "bytes":
        file.write_bytes(b"PAR1 what somebody said")
    else:
        pl.DataFrame({"pair": [first]}).write_parquet(file)
    before = file.read_bytes()
    with pytest.raises(ResultsError, match=r"cannot be read|other columns"):
        wb.annotate(session, first, "incorrect")
    assert file.read_bytes() == before


def test_the_notebook_runs_without_a_person(run, tmp_path):
    """It shows the first pair, stores nothing and waits for nobody; with a pair and a verdict it stores them."""
    source, out = paths.NOTEBOOKS / "annotate.ipynb", tmp_path / "out.ipynb"

    def execute(**parameters):
        made = papermill.execute_notebook(
            source, out, {"run": str(run.path)} | parameters, kernel_name="python3", progress_bar=False,
            execution_timeout=120,
        )  # fmt: skip
        return json.dumps(made)

    pair = wb.annotation_session(run, "me").pairs["pair"][0]
    assert f"pair {pair}" in execute() and stored_annotations(run).is_empty()
    assert "1 of 4 judged by me" in execute(pair=pair, verdict="incorrect")
    assert stored_annotations(run)["verdict"].to_list() == ["incorrect"]


CELLS = {
    "text": ("a'b", '"a\'b"'),
    "long text": ("y" * 1000, "'" + "y" * 300 + "'... (cut: 1000 characters)"),
    "long bytes": (b"y" * 1000, "b'" + "y" * 300 + "'... (cut: 1000 bytes)"),
    "a number beyond what Python prints": (10**5000, f"{10**5000:#x}"[:300] + "... (cut: 4155 characters)"),
    "a control character": ("\x1b", r"'\x1b'"),
    "null": (None, "None"),
}


@pytest.mark.parametrize("value, text", CELLS.values(), ids=CELLS)
def test_a_value_of_a_result(value, text):
    assert shown(ResultTable.from_rows(["a\nb"], [(value,)])) == f"a\\nb\n{text}\n(1 rows)"


def test_wide_and_long_results_are_cut_with_a_note():
    text = shown(ResultTable.from_rows(["c"] * 40, [tuple(range(40))] * 25))
    assert text.endswith("| 29 | ...\n... and 5 rows more\n... and 10 columns more\n(25 rows)")


def test_text_of_others():
    assert readable("a\r\nb\tc\x00\ud800", 100) == "a\nb\tc\\x00\\ud800"
    assert readable("abc", 2) == "ab... (cut: 3 characters)"
