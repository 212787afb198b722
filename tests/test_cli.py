"""The command line: every command has help and stands in the README; bad input is one line and exit code 2."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from workbench import paths
from workbench.cli import main

README = (paths.CHECKOUT / "README.md").read_text()
QUESTIONS = [
    {"question_id": "a", "db_id": "pets", "question": "How many?", "SQL": "SELECT count(*) FROM pet"},
    {"question_id": "b", "db_id": "pets", "question": "Which?", "SQL": "SELECT name FROM pet"},
]
BIRD = {"0": "SELECT 1\t----- bird -----\tpets", "1": "SELECT 2\t----- bird -----\tpets"}
PREDICTED = "provider: predictions, files: [PATH]"
GOOD_CONFIG = "run: r\nbenchmark: bundled\nmodels: [{name: simulated-3b, provider: simulated}]\n"


@pytest.fixture
def here(root, monkeypatch) -> Path:
    """A folder with a good benchmark and good files, to be broken."""
    import sqlite3

    monkeypatch.chdir(root)
    (root / "bench" / "databases" / "pets").mkdir(parents=True)
    with sqlite3.connect(root / "bench" / "databases" / "pets" / "pets.sqlite") as db:
        db.executescript("CREATE TABLE pet (name TEXT); INSERT INTO pet VALUES ('Rex');")
    db.close()
    (root / "bench" / "questions.json").write_text(json.dumps(QUESTIONS))
    (root / "good.json").write_text(json.dumps(BIRD))
    (root / "good.yaml").write_text(GOOD_CONFIG)
    files = [f"{{provider: predictions, files: [{file}]}}" for file in ("good.json", "x/good.json")]
    (root / "twice.yaml").write_text(f"run: r\nbenchmark: bench\nmodels: [{', '.join(files)}]\n")
    return root


def workbench(*words: str):
    return CliRunner().invoke(main, list(words))


IMPORT = ("import", "--benchmark", "bench", "--run", "r", "--predictions")


def test_the_good_files_are_good(here):
    assert workbench(*IMPORT, "good.json").output == "1 files imported: good\n"
    done = workbench("score", "--run", "r", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[0] | {"low": 0, "high": 0} == {
        "model": "good", "target": "sql", "mode": "native", "engine": "sqlite", "metric": "df_match",
        "n": 2, "correct": 1, "accuracy": 50.0, "low": 0, "high": 0, "not_judged": 0, "empty_gold": 0, "failures": None,
    }  # fmt: skip
    assert "SELECT count(*)" in workbench("score", "--run", "r", "--explain", "a").output


SCORE = ("score", "--run", "r")
PETS = ("--schema", "bench/databases/pets/pets.sqlite")

# id -> (file to write, its content, command words, what the line says)
BROKEN = {
    "no such benchmark": (None, None, ("prepare", "--benchmark", "nowhere"), "nowhere: there is no such file or folder"),
    "a folder without questions": ("x/readme.txt", "hello", ("prepare", "--benchmark", "x"), "x: no question file in this folder"),
    "questions of no database": ("x/dev.json", '[{"db_id": "", "question": "q", "SQL": "x"}]', ("prepare", "--benchmark", "x"), "none of its 1 questions can be used; dev.json, position 0: no db_id"),
    "blank questions": ("x/dev.json", '[{"db_id": "d", "question": "  ", "SQL": "x"}]', ("prepare", "--benchmark", "x"), "none of its 1 questions can be used; dev.json, position 0: no question"),
    "an empty question file": ("x/questions.json", "", ("prepare", "--benchmark", "x"), "x/questions.json: holds no question"),
    "an empty list of questions": ("x/questions.json", "[]", ("prepare", "--benchmark", "x"), "x/questions.json: holds no question"),
    "questions in UTF-16": ("x/questions.json", json.dumps(QUESTIONS).encode("utf-16"), ("prepare", "--benchmark", "x"), "x/questions.json: line 1: byte 0xff is not UTF-8"),
    "questions nested too deeply": ("x/questions.json", "[" * 99999, ("prepare", "--benchmark", "x"), "x/questions.json: nested too deeply"),
    "a file of something else": ("x/notes.csv", "a,b\n1,2\n", ("prepare", "--benchmark", "x"), "x/notes.csv: no field question (found: a, b)"),
    "a zip not unpacked": ("x/dev.zip", b"PK\x03\x04", ("prepare", "--benchmark", "x"), "dev.zip is there but not unpacked"),
    "questions cut short": ("x/dev.json", '[{"question": "a"', ("prepare", "--benchmark", "x"), "dev.json: line 1: not JSON"),
    "questions in an object": ("x/dev.json", "{}", ("prepare", "--benchmark", "x"), "holds an object"),
    "questions without a question": ("x/dev.json", '[{"db_id": "a", "SQL": "x"}]', ("prepare", "--benchmark", "x"), "no field question"),
    "a database outside": ("x/dev.json", '[{"db_id": "../x", "question": "q", "SQL": "x"}]', ("prepare", "--benchmark", "x"), "holds a path separator"),
    "questions in another encoding": ("x/dev.json", b'[{"db_id": "\xe9"}]', ("prepare", "--benchmark", "x"), "is not UTF-8"),
    "no such predictions": (None, None, (*IMPORT, "none.json"), "none.json: there is no such file"),
    "too few predictions": ("p.json", '{"0": "SELECT 1"}', (*IMPORT, "p.json"), "p.json: 1 prediction for the 2 questions of bench"),
    "too many lines": ("p.txt", "a\nb\nc\n", (*IMPORT, "p.txt"), "p.txt: 3 predictions for the 2 questions"),
    "ids for positions": ("p.json", '{"a": "SELECT 1", "b": "SELECT 2"}', (*IMPORT, "p.json"), "key 'a' is no position"),
    "another benchmark's predictions": ("p.json", json.dumps(BIRD).replace("pets", "zoo"), (*IMPORT, "p.json"), "predicts for database 'zoo'"),
    "an unknown question": ("p.jsonl", '{"question_id": "z", "sql": "x"}\n{"question_id": "a", "sql": "x"}', (*IMPORT, "p.jsonl"), "there is no question 'z'"),
    "a csv without sql": ("p.csv", "question_id,answer\na,1\nb,2\n", (*IMPORT, "p.csv"), "no SQL column"),
    "predictions that are a database": ("p.json", b"SQLite format 3\0" + b"\0" * 100, (*IMPORT, "p.json"), "is an SQLite database"),
    "a csv with two sql columns": ("p.csv", "question_id,sql, SQL\na,x,y\nb,x,y\n", (*IMPORT, "p.csv"), "p.csv: line 1: column 'sql' stands twice"),
    "questions with a column twice": ("x/dev.csv", "db_id,question,sql,sql\na,b,x,y\n", ("prepare", "--benchmark", "x"), "dev.csv: line 1: column 'sql' stands twice"),
    "questions with a key twice": ("x/dev.json", '[{"db_id": "a", "question": "q", "question": "r"}]', ("prepare", "--benchmark", "x"), "key 'question' stands twice"),
    "queries with a column twice": ("q.csv", "sql,sql\nSELECT 1,SELECT 2\n", ("plan", "convert", "q.csv", *PETS, "--output", "o"), "column 'sql' stands twice"),
    "queries with a key twice": ("q.json", '[{"sql": "SELECT 1", "sql": "SELECT 2"}]', ("plan", "convert", "q.json", *PETS, "--output", "o"), "record 0 is unclear: key 'sql' stands twice"),
    "predictions that are numbers": ("p.json", '{"0": 0, "1": null}', (*IMPORT, "p.json"), "p.json: no SQL in any of its 2 predictions: 1 number, 1 null"),
    "predictions of empty lines": ("p.txt", "\n\n", (*IMPORT, "p.txt"), "no SQL in any of its 2 predictions: 2 empty text"),
    "a negative seed": (None, None, ("generate", "--benchmark", "bench", "--run", "r", "--model", "simulated-3b", "--seed", "-1"), "seed -1 (from 0 to"),
    "a seed of 30 digits": (None, None, ("generate", "--benchmark", "bench", "--run", "r", "--model", "simulated-3b", "--seed", "9" * 30), "seed 999"),
    "an engine twice": (None, None, ("score", "--run", "r", "--engines", "sqlite,sqlite"), "engine 'sqlite' is named twice"),
    "an engine to start twice": (None, None, ("engines", "start", "sqlite", "sqlite"), "engine 'sqlite' is named twice"),
    "a dialect twice": ("q.json", '[{"sql": "SELECT 1"}]', ("plan", "convert", "q.json", *PETS, "--output", "o", "--dialects", "mysql,mysql"), "dialect 'mysql' is named twice"),
    "a run of the papers' name": (None, None, ("import", "--benchmark", "bench", "--run", "published", "--predictions", "good.json"), "published cannot be a run's name"),
    "a run of the papers' name elsewhere": (None, None, ("import", "--benchmark", "bench", "--run", "x/published", "--predictions", "good.json"), "x/published cannot be a run's name"),
    "a config with a byte of memory": ("c.yaml", GOOD_CONFIG + "limits: {memory: 1}\n", ("run", "c.yaml"), "limits: limit of 1 memory (in bytes, at least 1048576)"),
    "a config with one file twice": ("c.yaml", GOOD_CONFIG.replace("bundled", "bench").replace("name: simulated-3b, provider: simulated", PREDICTED.replace("PATH", "good.json, ./bench/../good.json")), ("run", "c.yaml"), "models: './bench/../good.json' is 'good.json' again"),
    "a config with one model in two files": ("x/good.json", json.dumps(BIRD), ("run", "twice.yaml"), "x/good.json: gives good on sqlite, as good.json does"),
    "an unknown engine": (None, None, ("prepare", "--benchmark", "bench", "--engines", "oracle"), "there is no engine 'oracle'"),
    "an unknown dialect": (None, None, (*IMPORT, "good.json", "--engine", "oracle"), "there is no engine 'oracle'"),
    "an unknown run": (None, None, ("score", "--run", "none"), "there is no run none"),
    "a run elsewhere": (None, None, ("score", "--run", "./none"), "there is no run ./none"),
    "a run's name that is taken": ("results/full/x.txt", "x", ("import", "--benchmark", "bench", "--run", "full", "--predictions", "good.json"), "something else at the run's place"),
    "a damaged header": ("results/r/run.json", "{", ("score", "--run", "r"), "run.json cannot be read"),
    "figures of nothing": (None, None, ("figures", "portability"), "say which results"),
    "an unknown figure": (None, None, ("figures", "pie", "--published"), "there is no figure 'pie'"),
    "a study that the papers do not print": (None, None, ("study", "structure", "--published"), "the papers print no structure"),
    "a figure that there is not": (None, None, ("figures", "roundtrip", "--published"), "there is no figure 'roundtrip'"),
    "a study of runs alone": (None, None, ("study", "meta", "--published"), "the papers print no meta"),
    "a study of labels, of a run": (None, None, ("study", "classifier", "--published"), "classifier is of hand labels, not of a run"),
    "a study of a run, of a benchmark": (None, None, ("study", "errors", "--benchmark", "bundled"), "--benchmark and --half belong to hand labels"),
    "a config that is not there": (None, None, ("run", "none.yaml"), "none.yaml: cannot be read"),
    "a config that is a list": ("c.yaml", "- a\n", ("run", "c.yaml"), "is not a mapping"),
    "a config with a misspelt key": ("c.yaml", GOOD_CONFIG + "engine: sqlite\n", ("run", "c.yaml"), "engine: there is no such key (available: run, "),
    "a config without models": ("c.yaml", "run: r\nbenchmark: bundled\n", ("run", "c.yaml"), "models: is missing"),
    "a config with a wrong limit": ("c.yaml", GOOD_CONFIG + "limits: {seconds: -1}\n", ("run", "c.yaml"), "limits: limit of -1.0 seconds"),
    "a config whose benchmark is gone": ("c.yaml", GOOD_CONFIG.replace("bundled", "gone"), ("run", "c.yaml"), "gone: there is no such file or folder"),
    "an unknown simulated model": (None, None, ("generate", "--benchmark", "bench", "--run", "r", "--model", "gpt-4"), "there is no simulated model 'gpt-4'"),
    "an endpoint": (None, None, ("generate", "--benchmark", "bench", "--run", "r", "--model", "m", "--base-url", "http://localhost:1"), "http://localhost:1: nobody answers"),
"predictions that are objects": (
        "p.json",
        '{"0": {"sql": "SELECT 1"}, "1": {"sql": "SELECT 2"}}',
        (*IMPORT, "p.json"),
        "position 0: holds an object, SQL text is wanted",
    ),
    "a path of 300 letters": (None, None, (*IMPORT, "p" * 300), "File name too long"),
    "a run of 300 letters": (None, None, ("score", "--run", "r" * 300), "cannot be the name of a run"),
    "a run with a newline": (None, None, ("score", "--run", "x\ny"), "cannot be the name of a run"),
    "a run that looks like an option": (None, None, ("score", "--run=-rf"), "cannot be the name of a run"),
    "a run that no file can hold": (None, None, ("score", "--run", "\udcff"), "cannot be the name of a run"),
    "a model with control characters": (
        None,
        None,
        (*IMPORT, "good.json", "--model", "a\u202eb"),
        "cannot be the name of a model",
    ),
    "a negative size": (None, None, (*IMPORT, "good.json", "--params-b", "-1"), "-1.0 billion parameters"),
    "a size that is no number": (None, None, (*IMPORT, "good.json", "--params-b", "nan"), "nan billion parameters"),
    "no benchmark's name": (None, None, ("prepare", "--benchmark", ""), "is no path"),
    "an endless limit": (None, None, (*SCORE, "--seconds", "inf"), "limit of inf seconds"),
    "a limit that is no number": (None, None, (*SCORE, "--seconds", "nan"), "limit of nan seconds"),
    "a header that is not ours": (
        "results/r/run.json",
        '{"schema_version": 2, "benchmark": 5}',
        SCORE,
        "its benchmark is not described",
    ),
    "a config nested too deeply": ("c.yaml", "[" * 20000, ("run", "c.yaml"), "is nested too deeply"),
    "a config with an impossible date": ("c.yaml", "run: 2024-99-99\n", ("run", "c.yaml"), "is not YAML"),
    "a config with a key twice": ("c.yaml", GOOD_CONFIG + "run: again\n", ("run", "c.yaml"), "key 'run' stands twice"),
    "a config with a NUL": (
        "c.yaml",
        GOOD_CONFIG.replace("bundled", '"a\\0b"'),
        ("run", "c.yaml"),
        "benchmark: printable text is wanted",
    ),
    "a config with an endless number": ("c.yaml", GOOD_CONFIG + "seed: " + "9" * 5000, ("run", "c.yaml"), "is not YAML"),
    "a config that asks for no target": (
        "c.yaml",
        GOOD_CONFIG.replace("simulated}", "simulated, targets: []}"),
        ("run", "c.yaml"),
        "models.0.targets",
    ),
    "a config with an unknown dialect": (
        "c.yaml",
        GOOD_CONFIG.replace("simulated}", "simulated, engine: oracle}"),
        ("run", "c.yaml"),
        "there is no engine 'oracle'",
    ),
    "a config of an unknown simulated model": (
        "c.yaml",
        GOOD_CONFIG.replace("simulated-3b", "gpt-4"),
        ("run", "c.yaml"),
        "there is no simulated model 'gpt-4'",
    ),
    "SQL that is none": (None, None, ("plan", "from-sql", "SELEC 1", *PETS), "line 1"),
    "SQL of an unknown column": (None, None, ("plan", "from-sql", "SELECT age FROM pet", *PETS), "no column 'age'"),
    "a plan of prose": (None, None, ("plan", "check", "Here it is", *PETS), "not_json: "),
    "a plan cut short": ("p.json", '[{"scan":"pe', ("plan", "check", "p.json", *PETS), "truncated: "),
    "a plan of an unknown table": (None, None, ("plan", "check", '[{"scan":"dog"}]', *PETS), "unknown_table: 0 (scan): no table 'dog'"),
    "a plan in another encoding": ("p.json", b'[{"scan":"\xe9"}]', ("plan", "show", "p.json", *PETS), "is not UTF-8"),
    "a plan with a NUL": (None, None, ("plan", "show", "[\0", *PETS), "no JSON"),
    "a dialect that is not there": (None, None, ("plan", "to-sql", '[{"scan":"pet"}]', *PETS, "--dialect", "oracle"), "no dialect 'oracle'"),
    "a schema that is not there": (None, None, ("plan", "show", "x", "--schema", "nowhere"), "nowhere: there is no such file"),
    "a schema that is none": ("s.json", "[]", ("plan", "show", "x", "--schema", "s.json"), "neither an SQLite database nor a tables.json"),
    "a schema of another database": (None, None, ("plan", "show", "x", "--schema", "bench", "--db", "zoo"), "there is no database 'zoo' (available: pets)"),
    "a drawing into nowhere": ("f", "", ("plan", "show", "SELECT 1", *PETS, "--svg", "f/x.svg"), "cannot be written"),
    "queries that are not there": (None, None, ("plan", "convert", "none.json", *PETS, "--output", "o"), "there is no such file"),
    "queries cut short": ("q.json", '[{"sql": "SELECT 1"}, {"sq', ("plan", "convert", "q.json", *PETS, "--output", "o"), "record 1 is not JSON"),
    "queries that are texts": ("q.json", '["SELECT 1"]', ("plan", "convert", "q.json", *PETS, "--output", "o"), "record 0 is text"),
    "plans into a device": ("q.json", '[{"sql": "SELECT 1"}]', ("plan", "convert", "q.json", *PETS, "--output", "/dev/null"), "null: is no file"),
    "a picture into a device": ("p.json", '[{"scan":"pet"}]', ("plan", "show", "p.json", *PETS, "--svg", "/dev/null"), "null: is no file"),
    "plans into a folder": ("q.json", '[{"sql": "SELECT 1"}]', ("plan", "convert", "q.json", *PETS, "--output", "bench"), "bench: is a folder"),
    "plans into nowhere": ("q.json", '[{"sql": "SELECT 1"}]', ("plan", "convert", "q.json", *PETS, "--output", "no/o"), "No such file"),
    "a round trip of nothing": (None, None, ("plan", "roundtrip", "nowhere"), "nowhere: there is no such file or folder"),
    "a round trip on an unknown engine": (None, None, ("plan", "roundtrip", "bench", "--engines", "oracle"), "there is no engine 'oracle'"),
    "the inspector": (None, None, ("inspect", "r"), "`workbench inspect` is not built yet"),
    "training": (None, None, ("train", "sft", "c.yaml"), "`workbench train` is not built yet"),
    "no command": (None, None, ("fly",), "No such command 'fly'"),
    "a missing option": (None, None, ("score",), "Missing option '--run'"),
    "a limit of zero seconds": (None, None, ("score", "--run", "r", "--seconds", "0"), "Invalid value for '--seconds'"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "content", "words", "line"), BROKEN.values(), ids=BROKEN)
def test_broken_input_is_one_line_and_exit_code_2(here, file, content, words, line):
    if file is not None:
        (here / file).parent.mkdir(parents=True, exist_ok=True)
        (here / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = workbench(*words)
    assert done.exit_code == 2, done.output
    said = [said for said in done.stderr.splitlines() if not said.startswith(("Usage:", "Try ", "workbench: warning"))]
    assert line in said[-1]
    assert len([each for each in said if each.strip()]) == 1, said
    assert isinstance(done.exception, SystemExit)


# Every place where a command takes a path.
TAKES_A_PATH = {
    "prepare": ("prepare", "--engines", "sqlite", "--benchmark", "{path}"),
    "prepare --databases": ("prepare", "--engines", "sqlite", "--benchmark", "bench", "--databases", "{path}"),
    "import": ("import", "--run", "r", "--predictions", "good.json", "--benchmark", "{path}"),
    "import --predictions": (*IMPORT, "{path}"),
    "import --run": ("import", "--benchmark", "bench", "--predictions", "good.json", "--run", "./{path}"),
    "generate": ("generate", "--run", "r", "--model", "simulated-3b", "--benchmark", "{path}"),
    "generate --run": ("generate", "--benchmark", "bench", "--model", "simulated-3b", "--run", "./{path}/r"),
    "score --run": ("score", "--run", "./{path}"),
    "study --run": ("study", "all", "--run", "./{path}"),
    "figures --run": ("figures", "all", "--run", "./{path}"),
    "run": ("run", "{path}"),
    "plan show": ("plan", "show", "{path}", *PETS),
    "plan show --schema": ("plan", "show", "SELECT 1", "--schema", "{path}"),
    "plan show --svg": ("plan", "show", "SELECT 1", *PETS, "--svg", "{path}/x.svg"),
    "plan convert": ("plan", "convert", "{path}", *PETS, "--output", "o"),
    "plan convert --schema": ("plan", "convert", "good.json", "--output", "o", "--schema", "{path}"),
    "plan convert --output": ("plan", "convert", "good.json", *PETS, "--output", "{path}/o"),
    "plan roundtrip": ("plan", "roundtrip", "{path}"),
    "plan roundtrip --run": ("plan", "roundtrip", "bench", "--run", "./{path}/r"),
}
# Paths of which the system says no in its different ways.
BAD_PATHS = {
    "a loop of links": "loop",
    "below a loop": "loop/x",
    "below a file": "good.json/x",
    "too long": "x" * 300,
    "too long in all": "/".join(["x" * 200] * 30),
}


@pytest.mark.parametrize("path", BAD_PATHS.values(), ids=BAD_PATHS)
@pytest.mark.parametrize("words", TAKES_A_PATH.values(), ids=TAKES_A_PATH)
def test_a_path_that_cannot_be_is_one_line(here, words, path):
    (here / "loop").symlink_to("loop")
    done = workbench(*(word.format(path=path) for word in words))
    assert done.exit_code == 2, (done.output, done.exception)
    said = [line for line in done.stderr.splitlines() if line.startswith("workbench: ")]
    assert said and said[-1] == done.stderr.splitlines()[-1], done.stderr
    assert isinstance(done.exception, SystemExit)


@pytest.mark.parametrize(
    "config",
    [
        GOOD_CONFIG.replace("bundled", "PATH"),
        GOOD_CONFIG.replace("bundled", "bench\ndatabases: PATH"),
        GOOD_CONFIG.replace("run: r", "run: PATH").replace("bundled", "bench"),
        GOOD_CONFIG.replace("bundled", "bench").replace("name: simulated-3b, provider: simulated", PREDICTED),
    ],
    ids=["benchmark", "databases", "run", "files"],
)
@pytest.mark.parametrize("path", BAD_PATHS.values(), ids=BAD_PATHS)
def test_a_configs_path_that_cannot_be_is_one_line(here, config, path):
    (here / "loop").symlink_to("loop")
    (here / "c.yaml").write_text(config.replace("PATH", json.dumps(f"./{path}/r")))
    done = workbench("run", "c.yaml")
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), (done.output, done.exception)
    assert isinstance(done.exception, SystemExit)


def test_what_is_no_sql_is_counted(here):
    (here / "p.json").write_text('{"0": "SELECT \'\\ud800\'", "1": null}')
    done = workbench(*IMPORT, "p.json")
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        "workbench: warning: p.json: 1 of 2 predictions hold no SQL: 1 null",
        "workbench: warning: p.json: 1 of 2 predictions hold half a surrogate pair, kept as U+FFFD",
    ]


def test_half_a_surrogate_pair_in_a_question_is_said(here):
    (here / "bench" / "questions.json").write_text(json.dumps([QUESTIONS[0] | {"SQL": "SELECT '\ud800'"}]))
    done = workbench("prepare", "--benchmark", "bench", "--engines", "sqlite")
    assert "questions.json, position 0: half a surrogate pair in SQL, read as U+FFFD" in done.stderr


def _commands(group: click.Group = main, before: tuple[str, ...] = ()) -> dict[str, click.Command]:
    """Every command by its words, those of groups too."""
    found = {}
    for name, command in group.commands.items():
        found[" ".join((*before, name))] = command
        if isinstance(command, click.Group):
            found |= _commands(command, (*before, name))
    return found


@pytest.mark.parametrize("words", _commands())
def test_every_command_has_help_and_stands_in_the_readme(words):
    done = workbench(*words.split(), "--help")
    assert done.exit_code == 0
    assert len(done.output.splitlines()) > 3
    assert re.search(rf"workbench {words.replace(' ', ' +')}\b", README), words


@pytest.mark.parametrize("command", _commands().values(), ids=_commands())
def test_every_option_is_explained(command):
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_help_needs_no_heavy_library():
    code = "import sys, workbench.cli; print([m for m in ('polars', 'matplotlib', 'duckdb', 'sqlglot') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_published_figures_are_drawn(here):
    done = workbench("figures", "all", "--published")
    assert done.exit_code == 0, done.output
    names = {Path(line).name for line in done.output.splitlines()}
    assert {"portability_bird-dev.pdf", "portability_spider-dev.csv", "crossover_bird-dev.png"} <= names


def test_published_studies_are_printed(here):
    done = workbench("study", "all", "--published", "--json")
    assert done.exit_code == 0, done.output
    assert (
        sum(len(json.loads(line)) for line in done.output.splitlines()) == 68 + 2 + 2 + 1 + 4 + 5 + 2 + 15 + 18 + 2 + 27
    )


def test_a_reader_that_stops_early_is_no_error(here):
    code = "import sys; sys.argv = ['workbench', 'study', 'portability', '--published']; from workbench.cli import main; main()"
    done = subprocess.run(f'{sys.executable} -c "{code}" | head -n 1', shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_a_cache_that_cannot_be_made_is_said_by_each_engine_that_needs_it(here, monkeypatch):
    (here / "file").write_text("in the way")
    monkeypatch.setenv("WORKBENCH_CACHE", str(here / "file" / "cache"))
    done = workbench("prepare", "--benchmark", "bench", "--engines", "sqlite,duckdb")
    assert (done.exit_code, done.stderr) == (1, "")
    reason, *_ = done.stdout.splitlines()
    assert reason.startswith("duckdb: pets not copied: duckdb, database pets: ")
    assert reason.endswith("Not a directory") and str(here / "file") in reason


@pytest.mark.parametrize("words", [("engines",), ("figures", "all", "--published")])
def test_a_place_that_cannot_be_written_is_one_line(here, words, monkeypatch):
    (here / "file").write_text("in the way")
    monkeypatch.setenv("WORKBENCH_CACHE", str(here / "file" / "cache"))
    monkeypatch.setenv("WORKBENCH_ROOT", str(here / "file"))
    done = workbench(*words)
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1 and "file" in done.stderr
    assert isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("words", [("prepare", "--benchmark", "bundled"), ("figures", "all", "--published")])
def test_a_full_disk_is_one_line(here, words):
    """A limit on the size of files stands for the full disk."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); from workbench.cli import main; main(sys.argv[1:])"
    )
    env = os.environ | {"WORKBENCH_ROOT": str(here), "WORKBENCH_CACHE": str(here / "cache")}
    done = subprocess.run([sys.executable, "-c", code, *words], env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("workbench: ")


def test_a_full_output_is_one_line(here):
    command = f"{sys.executable} -m workbench.cli study portability --published > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "workbench: No space left on device\n")


def test_what_could_not_be_prepared_is_said_and_is_no_success(here, monkeypatch):
    monkeypatch.setenv("WORKBENCH_POSTGRES_DSN", "postgresql://u:s3cret@127.0.0.1:1/x")
    done = workbench("prepare", "--benchmark", "bench", "--engines", "postgres")
    assert done.exit_code == 1
    assert "postgres: not used:" in done.output and "s3cret" not in done.output


def test_what_could_not_be_judged_is_said_and_is_no_success(here, monkeypatch):
    assert workbench(*IMPORT, "good.json").exit_code == 0
    monkeypatch.setenv("WORKBENCH_POSTGRES_DSN", "postgresql://u:s3cret@127.0.0.1:1/x")
    done = workbench(*SCORE, "--engines", "sqlite,postgres")
    assert done.exit_code == 1
    assert "2 rows judged, 0 kept, 2 could not be judged" in done.stderr
    assert "postgres could not be used: postgres at 127.0.0.1:1" in done.stderr and "s3cret" not in done.output
    assert workbench(*SCORE, "--engines", "sqlite").exit_code == 0


def test_questions_without_a_gold_are_no_failure(here):
    (here / "bench" / "questions.json").write_text(json.dumps([QUESTIONS[0], {**QUESTIONS[1], "SQL": None}]))
    assert workbench(*IMPORT, "good.json").exit_code == 0
    done = workbench(*SCORE)
    assert (done.exit_code, "1 could not be judged" in done.stderr) == (0, True)


def test_engines_that_cannot_be_started_are_said_and_spare_the_others(monkeypatch):
    monkeypatch.setenv("WORKBENCH_POSTGRES_DSN", "postgresql://u:s3cret@127.0.0.1:1/x")
    done = workbench("engines", "start", "postgres", "duckdb")
    assert done.exit_code == 1
    assert done.stderr.startswith("workbench: postgres at 127.0.0.1:1: ") and "s3cret" not in done.output
    assert "duckdb" in done.stdout


def test_an_engine_that_is_absent_is_a_fault_where_it_was_named(monkeypatch):
    monkeypatch.setattr("workbench.backends.duckdb.DuckDBBackend.find", lambda _: None)
    monkeypatch.setattr("workbench.engines.NAMES", ("sqlite", "duckdb"))
    assert "pip install duckdb" in (done := workbench("engines")).output and done.exit_code == 0
    assert workbench("engines", "status", "duckdb").exit_code == 1


def test_engines_are_listed_with_what_is_wrong(monkeypatch):
    monkeypatch.setenv("WORKBENCH_POSTGRES_DSN", "postgresql://u:s3cret@127.0.0.1:1/x")
    done = workbench("engines", "--json")
    assert done.exit_code == 1
    assert workbench("engines", "status", "sqlite", "duckdb").exit_code == 0
    rows = {row["engine"]: row for row in json.loads(done.output)}
    assert rows["sqlite"]["version"] and rows["sqlite"]["problem"] is None
    assert rows["postgres"]["version"] is None and rows["postgres"]["problem"] and "s3cret" not in done.output
