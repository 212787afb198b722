"""The bundled benchmark is built whole or not at all: again, by several processes at once, and for other tools."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_bundled import CONTENT_HASHES, content_hash

from workbench import bundled
from workbench.benchmarks import read_benchmark
from workbench.bundled.sources import SEEDS
from workbench.cli import main
from workbench.errors import BenchmarkError


@pytest.fixture(scope="module")
def folder(cache) -> Path:
    return bundled.build()


def run_module(*arguments: str, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "workbench.bundled", *arguments],
        env={**os.environ, "PYTHONPATH": str(bundled.HERE.parents[1]), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_build_does_nothing_when_built(folder):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert bundled.build() == folder
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_two_processes_build_at_once(tmp_path):
    cache = str(tmp_path / "cache")
    running = [run_module(WORKBENCH_CACHE=cache, PYTHONHASHSEED=str(seed)) for seed in range(3)]
    results = [(*process.communicate(timeout=300), process.returncode) for process in running]
    assert [(error, code) for _, error, code in results] == [("", 0)] * 3
    (built,) = {Path(output.strip()) for output, _, _ in results}
    assert list(built.parent.iterdir()) == [built]
    assert {db_id: content_hash(built, db_id) for db_id in SEEDS} == CONTENT_HASHES


def test_loser_of_a_race_takes_the_winners_folder(tmp_path, monkeypatch):
    """The other process finishes between our look and our rename."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    winner = bundled.build()
    marker = winner / "from the winner"
    marker.touch()
    assert bundled._write_whole(winner) == winner
    assert marker.exists()
    assert list(winner.parent.iterdir()) == [winner]


def test_export_equals_build(folder, tmp_path):
    exported = bundled.export(tmp_path / "new" / "bird")
    names = {path.relative_to(folder) for path in folder.rglob("*")}
    assert {path.relative_to(exported) for path in exported.rglob("*")} == names
    for name in names:
        if name.suffix in {".json", ".sql", ".csv"}:
            assert (exported / name).read_bytes() == (folder / name).read_bytes()
    assert {db_id: content_hash(exported, db_id) for db_id in SEEDS} == CONTENT_HASHES


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """What the command writes."""
    folder = tmp_path_factory.mktemp("here") / "bird"
    done = CliRunner().invoke(main, ["prepare", "--export", "bird", "--to", str(folder)])
    assert (done.exit_code, done.output.strip()) == (0, str(folder)), done.output
    return folder


@pytest.mark.parametrize("split", ["dev", "train"])
def test_what_is_exported_is_read_back_equal(folder, exported, split):
    ours, theirs = read_benchmark("bundled", split), read_benchmark(exported, split)
    assert theirs.name == f"bird-{split}" and theirs.problems == ours.problems == []
    from_file = [name for name in ours.questions.columns if name != "class_source"]  # files do not say who labelled
    assert theirs.questions.select(from_file).equals(ours.questions.select(from_file), null_equal=True)
    assert theirs.entries == ours.entries and theirs.database_names() == ours.database_names()
    for db_id in SEEDS:
        assert theirs.schema(db_id) == ours.schema(db_id)
        place = f"{split}_databases/{db_id}/{db_id}.sqlite"
        assert (theirs.database_path(db_id), ours.database_path(db_id)) == (exported / place, folder / place)
        assert content_hash(exported, db_id, split) == CONTENT_HASHES[db_id]


def test_no_other_benchmark_is_exported(tmp_path):
    words = ["prepare", "--benchmark", str(tmp_path), "--export", "bird", "--to", str(tmp_path / "x")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2 and "only the bundled benchmark can be exported" in done.output
    assert not (tmp_path / "x").exists()


def test_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(BenchmarkError, match="cannot be written") as caught:
        bundled.build()
    assert str(tmp_path / "file") in str(caught.value)
    assert "WORKBENCH_CACHE" in str(caught.value)


def test_failed_build_leaves_nothing_behind(tmp_path, monkeypatch):
    def half(folder):
        (folder / "dev.json").touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr("workbench.bundled.layout.write_layout", half)
    with pytest.raises(BenchmarkError, match="No space left on device"):
        bundled.build()
    assert list((tmp_path / "bundled").iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below", "full"])
def test_export_refuses(tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").touch()
    process = run_module("--export", str(tmp_path / place))
    output, error = process.communicate(timeout=300)
    assert process.returncode == 2
    assert output == "" and error.count("\n") == 1 and str(tmp_path / place.split("/")[0]) in error
    assert (tmp_path / "full" / "precious").exists() and (tmp_path / "file").is_file()
