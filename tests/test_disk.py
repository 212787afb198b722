"""A full disk, on small file systems of memory: each engine names it, the others go on, nothing stored is lost."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from workbench import migrate, paths
from workbench.backends import disk, get_backend
from workbench.backends.base import Limits
from workbench.benchmarks import read_benchmark
from workbench.cli import main
from workbench.engines import stop_engines
from workbench.errors import EngineError, MigrationError
from workbench.import_predictions import import_predictions
from workbench.results import Run
from workbench.score import score

MEGABYTES = {
    "duckdb": 40,
    "clickhouse": 40,
    "postgres": 120,
    "mysql": 260,
}  # enough for the engine and a small database
LEFT = 2 * 2**20  # bytes, when the large database comes
ROWS = 300_000


@pytest.fixture
def small_disk():
    """Mounts a file system of so many megabytes, which a server's user can enter; gives its folder."""
    folder = Path(tempfile.mkdtemp(prefix="workbench-test-"))

    def mount(megabytes: int) -> Path:
        words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(folder)]
        if os.geteuid() != 0 or not shutil.which("mount") or subprocess.run(words, capture_output=True).returncode:
            pytest.skip("a small tmpfs needs root and the right to mount")
        return folder

    yield mount
    subprocess.run(["umount", "--lazy", str(folder)], capture_output=True)
    folder.rmdir()


def fill(folder: Path, left: int) -> None:
    """Take what is free on a folder's disk but for some bytes."""
    with open(folder / "filler", "wb") as file:
        size = 0
        while (more := shutil.disk_usage(folder).free - left) > 0:
            with suppress(OSError):  # a server has meanwhile taken some of it
                os.posix_fallocate(file.fileno(), size, more)
                size += more


@pytest.fixture(scope="module")
def benchmark_folder(tmp_path_factory) -> Path:
    """Two databases, one of ten rows and one of some 30 MB, and a question on each."""
    folder = tmp_path_factory.mktemp("full")
    for name, rows in {"tiny": 10, "large": ROWS}.items():
        file = folder / "databases" / name / f"{name}.sqlite"
        file.parent.mkdir(parents=True)
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
            sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            db.execute(f"{sql}INSERT INTO t SELECT i, hex(randomblob(40)) FROM n", (rows,))
    questions = [
        {"db_id": name, "question": "How many?", "SQL": "SELECT count(*) FROM t"} for name in ("tiny", "large")
    ]
    (folder / "questions.json").write_text(pl.DataFrame(questions).write_json())
    return folder


SERVER = pytest.mark.slow


@pytest.mark.parametrize(
    "engine", ["duckdb", "clickhouse", pytest.param("postgres", marks=SERVER), pytest.param("mysql", marks=SERVER)]
)
def test_a_full_disk_is_named_by_each_engine_and_spares_the_others(engine, benchmark_folder, small_disk, monkeypatch):
    if get_backend(engine).find() is None:
        pytest.skip(f"{engine} is absent")
    cache = small_disk(MEGABYTES[engine]) / "cache"
    monkeypatch.setenv("WORKBENCH_CACHE", str(cache))
    monkeypatch.delenv(f"WORKBENCH_{engine.upper()}_DSN", raising=False)
    benchmark = read_benchmark(benchmark_folder)
    try:
        assert migrate.prepare(benchmark, [engine], ["tiny"]).failed == {}
        fill(cache.parent, LEFT)
        done = migrate.prepare(benchmark, [engine, "sqlite"], ["large"])
        reason = done.unavailable.get(engine) or done.failed[engine, "large"]  # a server may have died of it
        assert reason.startswith(f"{engine}, database large: the disk is full")
        assert f"MB are left in {cache}" in reason and "WORKBENCH_CACHE" in reason and "\n" not in reason
        assert not [key for key in [*done.unavailable, *done.failed] if "sqlite" in key]
        (cache.parent / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=900m", str(cache.parent)], check=True)
        done = migrate.prepare(benchmark, [engine])
        assert done.unavailable == {} and done.failed == {}
    finally:
        stop_engines([engine])


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_a_server_whose_data_do_not_fit_says_so_and_leaves_nothing(engine, small_disk, monkeypatch):
    if get_backend(engine).find() is None:
        pytest.skip(f"{engine} is absent")
    cache = small_disk(20) / "cache"
    monkeypatch.setenv("WORKBENCH_CACHE", str(cache))
    monkeypatch.delenv(f"WORKBENCH_{engine.upper()}_DSN", raising=False)
    with pytest.raises(EngineError, match=f"{engine}: the disk is full, .* MB are left in {cache}") as caught:
        get_backend(engine).start()
    assert "\n" not in str(caught.value)
    assert shutil.disk_usage(cache).used < 2**20


@pytest.mark.parametrize("remains", ["nothing", "the copy"])
def test_a_report_that_cannot_be_written_is_a_full_disk_too(
    benchmark_folder, small_disk, tmp_path, monkeypatch, remains
):
    """The engine's own files have room here, what is said about the copy has none."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    benchmark, reports = read_benchmark(benchmark_folder), paths.cache_dir("copies") / "duckdb"
    if remains == "the copy":
        migrate.prepare(benchmark, ["duckdb"], ["tiny"])
        shutil.rmtree(reports)
    reports.symlink_to(small_disk(1))
    fill(reports, 0)
    done = migrate.prepare(benchmark, ["duckdb", "sqlite"], ["tiny"])
    assert done.unavailable == {} and list(done.failed) == [("duckdb", "tiny")]
    assert done.failed["duckdb", "tiny"].startswith("duckdb, database tiny: the disk is full")
    (reports / "filler").unlink()
    assert migrate.prepare(benchmark, ["duckdb"], ["tiny"]).failed == {}


def imported(folder: Path, names: list[str]) -> None:
    """A run r for each of some models, whose predictions are right."""
    benchmark = read_benchmark(folder)
    for name in names:
        file = folder / f"{name}.jsonl"
        ids = benchmark.questions["question_id"].to_list()
        file.write_text("".join(f'{{"question_id": "{i}", "sql": "SELECT count(*) AS {name} FROM t"}}\n' for i in ids))
        import_predictions("r", benchmark, [file])


def test_a_result_that_cannot_be_cached_costs_no_verdict(benchmark_folder, small_disk, root, monkeypatch):
    cache = small_disk(8)
    monkeypatch.setenv("WORKBENCH_CACHE", str(cache))
    imported(benchmark_folder, ["a"])
    fill(cache, 0)
    done = score("r", ["sqlite"], Limits(seconds=20))
    assert done.judged == 2 and done.is_whole
    assert str(done).count("No space left") == 1 and "they were not cached" in str(done)
    assert Run.open("r").table("executions")["result_key"].null_count() == 4
    assert Run.open("r").table("scores")["bird_ex"].to_list() == [True, True]


def test_results_that_cannot_be_written_are_one_line_and_a_rerun_goes_on(benchmark_folder, small_disk, monkeypatch):
    home = small_disk(1)
    monkeypatch.setenv("WORKBENCH_ROOT", str(home))
    imported(benchmark_folder, ["a", "b", "c", "d"])
    score("r", ["sqlite"])
    parts = sorted((home / "results" / "r").glob("scores/*.parquet"))
    for part in parts[2:]:
        part.unlink()
    before = {part: part.read_bytes() for part in parts[:2]}
    fill(home, 0)
    words = ["score", "--run", "r", "--engines", "sqlite"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"workbench: {home}") and "No space left on device (free space there" in done.stderr
    assert {part: part.read_bytes() for part in before} == before
    (home / "filler").unlink()
    assert CliRunner().invoke(main, words).exit_code == 0
    assert Run.open("r").table("scores").height == 8


WORDS = {
    "postgres": ('could not extend file "base/1/2": No space left on device', True),
    "postgres has a full log": ('PANIC: could not write to file "pg_wal/xlogtemp.1": No space left on device', True),
    "mysql 1114": ("The table 'big' is full", True),
    "mysql 1021": ("Disk full (/tmp/#sql1); waiting for someone to free some space... (errno: 28)", True),
    "mysql 3": ("Error writing file '/tmp/MY1' (OS errno 28 - No space left on device)", True),
    "innodb": ("Operating system error number 28. Check also that the disk is not full", True),
    "innodb, another fault": ("Operating system error number 5. Check also that the disk is not full", False),
    "clickhouse": ("Cannot reserve 97.05 MiB, not enough space", True),
    "duckdb": ('IO Error: Could not write file "x": No space left on device', True),
    "a name": ('table "full" has no column named space', False),
    "lost connection": ("server closed the connection unexpectedly", False),
}


@pytest.mark.parametrize(("words", "expected"), WORDS.values(), ids=WORDS)
def test_engines_words_of_a_full_disk(words, expected):
    assert disk.is_full(words, None) is expected


def test_what_a_server_logs_meanwhile_counts_as_its_words(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("PANIC: No space left on device\n")
    with pytest.raises(MigrationError, match=r"^x: lost$"), disk.explained("e", tmp_path, MigrationError, "d"):
        raise MigrationError("lost", where="x")  # what it said before is no reason
    full = r"^e, database d: the disk is full, .*: PANIC: No space left on device"
    with pytest.raises(MigrationError, match=full), disk.explained("e", tmp_path, MigrationError, "d"):
        log.write_text(log.read_text() + "PANIC: No space left on device\n")
        raise MigrationError("lost", where="x")


def test_what_the_system_refuses_for_another_reason_keeps_its_words():
    with pytest.raises(EngineError, match=r"^e: .*Permission denied"), disk.explained("e", None, EngineError):
        raise PermissionError(13, "Permission denied", str(paths.cache_path("x")))
