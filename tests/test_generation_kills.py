"""Killing the asking, at 20 moments and at the named points: no answer that arrived is asked for again."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from asked_benchmark import make_benchmark
from model_server import ModelServer

from workbench import faults
from workbench.results import Run

QUESTIONS = 60
MOMENTS = ("begun", "half", "ended")  # the server has the call; half of the answer is sent; all of it is


class Asker:
    """Forks of one process that has imported everything: a start takes milliseconds."""

    def __init__(self, folder: Path, url: str):
        self.folder, self.url, self.pid = folder, url, 0
        command = [sys.executable, str(Path(__file__).with_name("forked_asking.py"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def go(self, point: str = "") -> int:
        """One go at all questions; its exit code, negative for a signal."""
        self.process.stdin.write(json.dumps([str(self.folder), self.url, point]) + "\n")
        self.process.stdin.flush()
        self.pid = int(self.process.stdout.readline())
        return int(self.process.stdout.readline())

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


@pytest.fixture
def server():
    with ModelServer(latency=0.01) as running:
        yield running


@pytest.fixture
def asker(server, tmp_path):
    make_benchmark(tmp_path / "benchmark", QUESTIONS)
    made = Asker(tmp_path, server.url)
    yield made
    made.process.stdin.close()
    made.process.wait(30)


def check(folder: Path, server: ModelServer, kills: int) -> None:
    """Everything is answered once; what the server answered more often is listed as lost, so often at least."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_ROOT", str(folder))
        run = Run.open("r")
        rows, calls = run.table("generations"), run.table("calls")
    assert rows.height == QUESTIONS and set(rows["parse_status"]) == {"ok"}
    answered = Counter(calls.filter(outcome="answered")["question_id"])
    lost = Counter(calls.filter(outcome="lost")["question_id"])
    assert set(answered.values()) == {1} and len(answered) == QUESTIONS
    served = Counter(call["question"].partition("number ")[2].partition("?")[0] for call in server.calls)
    assert all(served[question] <= 1 + lost[question] for question in served), (served, lost)
    assert sum(served.values()) <= QUESTIONS + 4 * kills, "more was asked again than was under way"


def test_killed_at_20_moments_and_never_paid_twice(server, asker, tmp_path):
    at = {3 + 3 * index: MOMENTS[index % 3] for index in range(20)}  # calls that the server has had -> the moment in it
    server.on_call = lambda number, moment: asker.kill() if at.get(number) == moment else None
    kills = 0
    while (code := asker.go()) != 0:
        assert code == -signal.SIGKILL
        kills += 1
    assert kills >= 15, "calls of a killed process are counted too, so some moments fall together"
    check(tmp_path, server, kills)


@pytest.mark.parametrize("point", faults.CALL_POINTS)
def test_killed_at_a_named_point_of_the_journal(point, server, asker, tmp_path):
    assert asker.go(point) == -signal.SIGKILL
    (journal,) = (tmp_path / "results" / "r" / "calls").glob("*.jsonl")
    assert journal.read_bytes().endswith(b"\n") == (point == "answer-before-flush")
    assert asker.go() == 0
    check(tmp_path, server, kills=1)


def test_killed_while_a_part_is_written(server, asker, tmp_path):
    assert asker.go("part-half-written") == -signal.SIGKILL
    assert asker.go() == 0
    check(tmp_path, server, kills=0)
    assert len(server.calls) == QUESTIONS
