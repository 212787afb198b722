"""`workbench run` as a user gives it: whole, twice, and killed at every named point."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import polars as pl
import psutil
import pytest
from processes import all_end

from workbench import faults
from workbench.backends import BACKENDS, get_backend
from workbench.config import read_config
from workbench.figures import FIGURES
from workbench.results import TABLES, Run
from workbench.run_notebooks import NOTEBOOKS, notebooks_of

CONFIG = """
run: {run}
benchmark: bundled
engines: {engines}
question_limit: 18
models:
  - {{name: simulated-3b, provider: simulated}}
  - {{name: simulated-closed-a, provider: simulated}}
limits: {{seconds: 20}}
"""
ENGINES = [name for name in BACKENDS if get_backend(name).find() is not None]
STORED = ("questions", "generations", "executions", "scores", "portability")


def _run(root: Path, cache: Path, engines: list[str] = ENGINES, **variables: str) -> subprocess.CompletedProcess:
    root.mkdir(exist_ok=True)
    (root / "c.yaml").write_text(CONFIG.format(run="r", engines=engines))
    env = os.environ | {"WORKBENCH_ROOT": str(root), "WORKBENCH_CACHE": str(cache)} | variables
    command = [sys.executable, "-m", "workbench.cli", "run", str(root / "c.yaml")]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)


def _tables(root: Path) -> dict[str, pl.DataFrame]:
    """Everything stored, but for what the clock decides."""
    run = Run.open(root / "results" / "r")
    return {name: run.table(name).drop("seconds", strict=False).sort(pl.all()) for name in STORED}


def _processes(place: Path) -> list[psutil.Process]:
    """What still runs for this root: it stands in their command line or their environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.pid != os.getpid() and str(place) in f"{process.cmdline()} {process.environ()}":
                found.append(process)
    return found


def _nothing_is_left(place: Path) -> bool:
    assert all_end(_processes(place), seconds=15), [process.cmdline() for process in _processes(place)]
    return True


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The root of a run that nothing disturbed."""
    root = tmp_path_factory.mktemp("whole")
    done = _run(root, root / "cache")
    assert done.returncode == 0, done.stderr
    return root


def test_a_run_ends_with_figures_and_says_where(whole):
    done = _run(whole, whole / "cache")
    files = [Path(line) for line in done.stdout.splitlines()]
    assert {path.suffix for path in files} == {".pdf", ".png", ".csv"}
    assert all(path.stat().st_size > 100 for path in files)
    assert (whole / "figures" / "published").is_dir()
    assert _nothing_is_left(whole)


def test_a_second_run_changes_no_stored_row(whole):
    before = {path: path.stat().st_mtime_ns for path in (whole / "results").rglob("*.parquet")}
    done = _run(whole, whole / "cache")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in (whole / "results").rglob("*.parquet")} == before


@pytest.mark.parametrize("engine", BACKENDS)
def test_engine_takes_part(engine, whole):
    if engine not in ENGINES:
        pytest.skip(f"{engine} is not installed")
    assert Run.open(whole / "results" / "r").header["engines"][engine][0].isdigit()
    assert engine in _tables(whole)["scores"]["engine"].to_list()


def test_scores_are_whole_and_simulated(whole):
    tables = _tables(whole)
    assert tables["questions"].height == 18
    assert tables["generations"].height == 18 * 2 * len(ENGINES)
    assert tables["scores"].height == 18 * 2 * len(ENGINES)
    assert tables["scores"]["is_simulated"].all()
    assert tables["scores"]["outcome"].is_in(["judged", "prediction_failed"]).all()
    assert tables["scores"]["engine_version"].null_count() == 0
    assert 0.3 < tables["scores"]["bird_ex"].mean() < 1


def test_the_header_says_how_it_was_made(whole):
    header = Run.open(whole / "results" / "r").header
    assert header["status"] == "complete"
    assert header["config"]["engines"] == ENGINES and set(header["engines"]) == set(ENGINES)
    assert header["packages"]["polars"] and "commit" in header["git"]


def test_executed_notebooks_are_kept_without_errors(whole):
    folder = whole / "results" / "r" / "notebooks"
    needed = notebooks_of(read_config(whole / "c.yaml"))
    assert sorted(path.stem for path in folder.iterdir()) == needed
    for path in folder.iterdir():
        cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in cells)
        streams = [out.get("text", "") for cell in cells for out in cell.outputs if out.get("name") == "stderr"]
        assert not streams, streams


@pytest.mark.slow
def test_every_notebook_runs_where_all_figures_are_asked_for(tmp_path):
    figures = [name for name in FIGURES if name != "fine_tuning"]  # no simulated model is fine-tuned
    config = CONFIG.format(run="r", engines=["sqlite", "duckdb"]) + f"figures: {figures}\n"
    (tmp_path / "c.yaml").write_text(config.replace("provider: simulated", "provider: simulated, targets: [sql, plan]"))
    env = os.environ | {"WORKBENCH_ROOT": str(tmp_path), "WORKBENCH_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "workbench.cli", "run", str(tmp_path / "c.yaml")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert sorted(path.stem for path in (tmp_path / "results" / "r" / "notebooks").iterdir()) == list(NOTEBOOKS)
    assert {f"{name}_bundled.png" for name in figures} <= {Path(line).name for line in done.stdout.splitlines()}


@pytest.mark.parametrize("point", faults.POINTS)
def test_a_run_killed_at_a_point_goes_on_to_the_same_rows(point, whole, tmp_path):
    killed = _run(tmp_path, tmp_path / "cache", WORKBENCH_KILL_POINT=point)
    assert killed.returncode == -9, (killed.returncode, killed.stderr)
    assert _nothing_is_left(tmp_path)
    again = _run(tmp_path, tmp_path / "cache")
    assert again.returncode == 0, again.stderr
    expected, found = _tables(whole), _tables(tmp_path)
    for name in STORED:
        other = found[name].join(expected[name], on=found[name].columns, how="anti", nulls_equal=True)
        mine = expected[name].join(found[name], on=found[name].columns, how="anti", nulls_equal=True)
        pairs = zip(other.to_dicts(), mine.to_dicts(), strict=False)
        differing = [{key: (one[key], two[key]) for key in one if one[key] != two[key]} for one, two in pairs]
        assert found[name].equals(expected[name]), (name, differing[:3])
    assert not list((tmp_path / "results").rglob(".*.tmp*"))
    assert _nothing_is_left(tmp_path)


def test_a_failing_step_is_one_line_and_the_run_can_go_on(tmp_path):
    blocked = tmp_path / "results" / "r" / "scores"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_ROOT", str(tmp_path))
        Run.create("r")
    blocked.write_text("in the way")
    done = _run(tmp_path, tmp_path / "cache")
    assert done.returncode == 2
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("workbench: 03_score stopped: ") and "cannot be written" in line
    assert "Traceback" not in done.stderr
    assert (blocked.parent / "notebooks" / "03_score.failed.ipynb").is_file()
    assert Run.open(blocked.parent).header["status"] == "failed"
    blocked.unlink()
    assert _run(tmp_path, tmp_path / "cache").returncode == 0
    assert not (blocked.parent / "notebooks" / "03_score.failed.ipynb").exists()


KILL_AT_FIRST_CELL = (
    "get_ipython().events.register('pre_run_cell', lambda info: __import__('os').kill(__import__('os').getpid(), 9))"
)
REAL = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
# id -> (the kernel's command, the temporary folder or "", what the line says)
LOST_KERNELS = {
    "killed in its first cell": (
        [*REAL, f"--IPKernelApp.exec_lines={KILL_AT_FIRST_CELL}"],
        "",
        "its kernel died (give",
    ),
    "killed as it appears": (["/bin/sh", "-c", "kill -9 $$"], "", "its kernel died (give the same command again)"),
    "ends at once": (["/bin/sh", "-c", "exit 3"], "", "its kernel died (give the same command again)"),
    "is not there": (["/nowhere/python"], "", "/nowhere/python: No such file or directory"),
    "no socket can be so long": (REAL, "t" * 100, "File name too long (addr="),
}


@pytest.mark.parametrize(("command", "temporary", "said"), LOST_KERNELS.values(), ids=LOST_KERNELS)
def test_a_lost_kernel_is_one_line(tmp_path, command, temporary, said):
    kernel = tmp_path / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(json.dumps({"argv": command, "display_name": "p", "language": "python"}))
    variables = {"JUPYTER_PATH": str(tmp_path)}
    if temporary:
        (tmp_path / temporary).mkdir()
        variables["TMPDIR"] = str(tmp_path / temporary)
    done = _run(tmp_path, tmp_path / "cache", ["sqlite"], **variables)
    assert done.returncode == 2, done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("workbench: 01_prepare stopped: ") and said in line
    assert "Traceback" not in done.stderr and "Error occurred" not in done.stderr
    assert "01_prepare:   0%|" in done.stderr  # the bar names its step once
    assert Run.open(tmp_path / "results" / "r").header["status"] == "failed"
    assert _nothing_is_left(tmp_path)


def test_two_runs_at_once_do_not_disturb_each_other(whole, tmp_path):
    """Tiny ones: fewer answers than a notebook shows, and predictions beside a simulated model."""
    bird = tmp_path / "birds"
    (bird / "databases" / "d").mkdir(parents=True)
    sqlite3.connect(bird / "databases" / "d" / "d.sqlite").executescript("CREATE TABLE t (a); VACUUM;").close()
    (bird / "questions.json").write_text('[{"db_id": "d", "question": "?", "SQL": "SELECT 1"}]')
    (tmp_path / "CodeS-7b.json").write_text('{"0": "SELECT 1.0"}')
    models = "[{provider: predictions, files: [CodeS-7b.json]}, {name: simulated-8b, provider: simulated}]"
    started = []
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(f"run: {name}\nbenchmark: birds\nmodels: {models}\n")
        env = os.environ | {"WORKBENCH_ROOT": str(tmp_path)}
        command = [sys.executable, "-m", "workbench.cli", "run", str(tmp_path / f"{name}.yaml")]
        started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for process in started:
        _, said = process.communicate(timeout=200)
        assert process.returncode == 0, said
    for name in ("a", "b"):
        rows = Run.open(tmp_path / "results" / name).table("scores").select("model", "bird_ex").sort("model").rows()
        assert rows[0] == ("CodeS-7b", True) and len(rows) == 2
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["a", "b"]


def test_every_stored_table_is_described():
    assert set(STORED) <= set(TABLES)
