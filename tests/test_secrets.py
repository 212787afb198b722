"""A key in the environment is found nowhere: results, figures, executed notebooks, logs, tracebacks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from asked_benchmark import make_benchmark
from model_server import ModelServer

from workbench.chat_body import parse_body, without
from workbench.errors import AnswerLost

CANARY = "sk-canary-4f1d9b7c2e"


@pytest.fixture
def server():
    with ModelServer() as running:
        running.key = CANARY
        yield running


def _everywhere(root: Path, done: subprocess.CompletedProcess) -> list[str]:
    """Where the canary stands: files below the root, and what was printed."""
    found = [str(path) for path in root.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    return found + [name for name in ("stdout", "stderr") if CANARY in getattr(done, name)]


def _run(root: Path, url: str, command: list[str], key: str = CANARY, **more: object) -> subprocess.CompletedProcess:
    if not (root / "benchmark").exists():
        make_benchmark(root / "benchmark", 4)
    limits = {"tries": 2, "seconds": 2.0}
    model = {"name": "m", "provider": "openai", "base_url": url, "key_variable": "CANARY_KEY", "limits": limits} | more
    config = {"run": "r", "benchmark": "benchmark", "engines": ["sqlite"], "models": [model]}
    (root / "c.yaml").write_text(yaml.safe_dump(config))
    env = os.environ | {"WORKBENCH_ROOT": str(root), "WORKBENCH_CACHE": str(root / "cache"), "CANARY_KEY": key}
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli", *command], env=env, capture_output=True, text=True, timeout=200
    )


def test_a_whole_run_leaves_no_key(server, tmp_path):
    done = _run(tmp_path, server.url, ["run", str(tmp_path / "c.yaml")], targets=["sql", "plan"])
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "results" / "r" / "notebooks").glob("*.ipynb"))) >= 4
    assert len(server.answered) >= 8 and not _everywhere(tmp_path, done)


# id -> (what the server does, exit code); every error of the server's repeats the key
FAULTS = {"rejected": (["400"] * 20, 1), "unavailable": (["500"] * 20, 1), "lost": (["cut JSON"] * 20, 1)}


SPELT = {"slashes escaped": "sk\\/canary\\/4f1d9b7c2e", "letters escaped": "\\u0073k/canary/4f1d9b7c2e"}


@pytest.mark.parametrize("spelling", SPELT.values(), ids=SPELT)
def test_an_answer_that_holds_the_key_as_json_may_spell_it(spelling):
    body = parse_body('{"choices":[{"message":{"content":"' + spelling + '"}}]}', "application/json")
    clean = without(body, lambda text: text.replace("sk/canary/4f1d9b7c2e", "<key>"))
    assert clean == {"choices": [{"message": {"content": "<key>"}}]}


def test_an_answer_too_deep_to_be_kept_is_lost():
    body = {"choices": []}
    for _ in range(200):
        body = {"choices": [body]}
    with pytest.raises(AnswerLost, match="nested more than"):
        without(body, str)


@pytest.mark.parametrize("key", [f"{CANARY}\n# a comment", f"cl\u00e9-{CANARY}"], ids=["two lines", "not ASCII"])
def test_what_is_no_key_is_not_sent_or_shown(key, server, tmp_path):
    done = _run(tmp_path, server.url, ["run", str(tmp_path / "c.yaml")], key=key)
    assert done.returncode == 2 and "CANARY_KEY holds characters that no key has" in done.stderr
    assert not _everywhere(tmp_path, done) and not server.calls


@pytest.mark.parametrize(("cues", "code"), FAULTS.values(), ids=FAULTS)
def test_an_endpoint_that_repeats_the_key_in_its_errors(cues, code, server, tmp_path):
    server.script["number"] = cues
    server.echo = f"for key {CANARY}"
    server.answer = lambda messages, body: f"SELECT '{CANARY}'"
    command = ["generate", "--benchmark", str(tmp_path / "benchmark"), "--run", "r", "--model", "m"]
    command += ["--base-url", server.url, "--set", "key_variable=CANARY_KEY", "--set", "limits.tries=2"]
    done = _run(tmp_path, server.url, command)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "results" / "r" / "calls").is_dir() and not _everywhere(tmp_path, done)


def test_an_answer_that_repeats_the_key_is_stored_without_it(server, tmp_path):
    server.answer = lambda messages, body: f"SELECT '{CANARY}'"
    command = ["generate", "--benchmark", str(tmp_path / "benchmark"), "--run", "r", "--model", "m"]
    command += ["--base-url", server.url, "--set", "key_variable=CANARY_KEY"]
    done = _run(tmp_path, server.url, command)
    assert done.returncode == 0, done.stderr
    assert len(server.answered) == 4 and not _everywhere(tmp_path, done)


def test_a_refused_key_is_one_line_without_it(server, tmp_path):
    server.key, server.echo = "another", f"for key {CANARY}"
    done = _run(tmp_path, server.url, ["run", str(tmp_path / "c.yaml")])
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("workbench: 02_generate stopped: m: HTTP 401") and "Traceback" not in done.stderr
    assert not _everywhere(tmp_path, done)


def test_a_bug_of_ours_ends_in_a_traceback_without_it(server, tmp_path):
    code = (
        "import workbench.endpoint as e, workbench.cli as c\n"
        "def broken(self, *_): raise RuntimeError('a bug')\n"
        "e.read_usage = broken\n"
        "c.main()"
    )
    command = ["generate", "--benchmark", str(tmp_path / "benchmark"), "--run", "r", "--model", "m"]
    command += ["--base-url", server.url, "--set", "key_variable=CANARY_KEY"]
    make_benchmark(tmp_path / "benchmark", 4)
    env = os.environ | {"WORKBENCH_ROOT": str(tmp_path), "CANARY_KEY": CANARY}
    done = subprocess.run([sys.executable, "-c", code, *command], env=env, capture_output=True, text=True, timeout=100)
    assert "RuntimeError: a bug" in done.stderr
    assert not _everywhere(tmp_path, done)


@pytest.mark.parametrize("key", ["", " "])
def test_an_empty_variable_is_named(key, server, tmp_path):
    done = _run(tmp_path, server.url, ["run", str(tmp_path / "c.yaml")], key=key)
    assert done.returncode == 2 and not server.calls
    assert done.stderr.strip().endswith("workbench: m: the environment variable CANARY_KEY holds no key")
