"""The results store: whole files, one writer, rows that are made again exactly when they must be."""

import json
import subprocess
import sys
import textwrap

import polars as pl
import pytest

from workbench.errors import ConfigError, ResultsError
from workbench.results import TABLES, Run, connect, content_hash, dtypes, part_name


def _generation(question_id: str, **more) -> dict:
    return dict.fromkeys(name for name in dtypes("generations") if name != "run") | {"question_id": question_id} | more


def test_every_column_is_described():
    for columns in TABLES.values():
        for name, (_, description) in columns.items():
            assert len(description) > 10, name


def test_a_part_comes_back_as_written(root):
    run = Run.create("a")
    run.write_part("generations", "p", [_generation("1", artefact="SELECT 'é 🦜'", seconds=0.5), _generation("2")])
    table = Run.open("a").table("generations")
    assert table.schema == pl.Schema(dtypes("generations"))
    assert table.select("run", "question_id", "artefact", "seconds").rows() == [
        ("a", "1", "SELECT 'é 🦜'", 0.5),
        ("a", "2", None, None),
    ]


def test_merge_keeps_order_replaces_and_drops(root):
    run = Run.create("a")
    run.write_part(
        "generations", "p", [_generation("1", artefact="old"), _generation("2", artefact="old"), _generation("gone")]
    )
    run.merge_part(
        "generations",
        "p",
        ["2", "3", "1"],
        {"3": _generation("3", artefact="new"), "1": _generation("1", artefact="new")},
    )
    assert run.read_part("generations", "p").select("question_id", "artefact").rows() == [
        ("2", "old"),
        ("3", "new"),
        ("1", "new"),
    ]


def test_merge_leaves_an_unchanged_part_alone(root):
    run = Run.create("a")
    run.write_part("generations", "p", [_generation("1"), _generation("2")])
    before = run.part_path("generations", "p").stat()
    run.merge_part("generations", "p", ["1", "2"], {})
    after = run.part_path("generations", "p").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


@pytest.mark.parametrize("damage", [b"", b"PAR1 not a parquet file", None], ids=["empty", "garbage", "other columns"])
def test_a_damaged_part_reads_as_missing(root, damage):
    run = Run.create("a")
    run.write_part("scores", "p", [])
    path = run.part_path("scores", "p")
    pl.DataFrame({"x": [1]}).write_parquet(path) if damage is None else path.write_bytes(damage)
    assert run.read_part("scores", "p").is_empty()


def test_views_hold_every_run_and_are_empty_without_one(root):
    (root / "results").mkdir()
    assert connect().execute("SELECT count(*) FROM scores").fetchone() == (0,)
    for name in ("a", "b"):
        Run.create(name).write_part("generations", "p", [_generation("1", model=name)])
    (root / "results" / "published").mkdir()
    pl.DataFrame({"x": [1]}).write_parquet(root / "results" / "published" / "portability.parquet")
    db = connect(root / "results")
    assert db.sql("SELECT run, model FROM generations ORDER BY run").fetchall() == [("a", "a"), ("b", "b")]
    assert db.sql("SELECT * FROM generations").pl().height == 2
    assert len(db.sql("SELECT * FROM generations").df()) == 2
    assert db.execute("SELECT count(*) FROM questions").fetchone() == (0,)


def test_views_of_a_folder_whose_name_is_a_pattern(tmp_path, monkeypatch):
    folder = tmp_path / "it's [a] *"
    monkeypatch.setenv("WORKBENCH_ROOT", str(folder))
    Run.create("a").write_part("generations", "p", [_generation("1")])
    assert connect(folder / "results").execute("SELECT count(*) FROM generations").fetchone() == (1,)


def test_a_second_writer_is_refused(root):
    run = Run.create("a")
    code = "from workbench.results import Run\nwith Run.open('a').locked(): pass"
    with run.locked():
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "another process is writing this run" in other.stderr
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_kill_within_a_part_leaves_the_old_one(root, monkeypatch):
    run = Run.create("a")
    run.write_part("generations", "p", [_generation("1")])
    code = """
        from workbench.results import Run, dtypes
        row = dict.fromkeys(n for n in dtypes("generations") if n != "run") | {"question_id": "2"}
        Run.open("a").write_part("generations", "p", [row])
    """
    monkeypatch.setenv("WORKBENCH_KILL_POINT", "part-half-written")
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)]).returncode == -9
    assert run.table("generations")["question_id"].to_list() == ["1"]
    assert list(run.path.rglob(".*.tmp*")), "the test must have died half-way"
    with run.locked():
        assert not list(run.path.rglob(".*.tmp*"))


def test_a_full_disk_is_one_line_and_loses_nothing(root):
    """A file size limit stands for the full disk: the write fails after some bytes."""
    run = Run.create("a")
    run.write_part("generations", "p", [_generation("1")])
    code = """
        import resource, signal
        from workbench.results import Run, dtypes
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        row = dict.fromkeys(n for n in dtypes("generations") if n != "run") | {"question_id": "2"}
        try:
            Run.open("a").write_part("generations", "p", [row])
        except Exception as error:
            print(type(error).__name__, error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.stdout.startswith("ResultsError") and "cannot be written: File too large" in done.stdout
    assert run.table("generations")["question_id"].to_list() == ["1"]
    assert not list(run.path.rglob(".*.tmp*"))


@pytest.mark.parametrize("header", ["{", "[]", '{"schema_version": 99}', ""], ids=["cut", "list", "newer", "empty"])
def test_a_header_that_cannot_be_used_is_named(root, header):
    Run.create("a")
    (root / "results" / "a" / "run.json").write_text(header)
    with pytest.raises(ResultsError, match=r"run\.json"):
        Run.open("a")


def test_the_header_is_left_alone_when_nothing_changes(root):
    run = Run.create("a")
    run.update(seed=1)
    before = (run.path / "run.json").stat().st_mtime_ns
    run.update(seed=1)
    assert (run.path / "run.json").stat().st_mtime_ns == before
    assert json.loads((run.path / "run.json").read_text())["seed"] == 1


@pytest.mark.parametrize("name", ["published", "results/published"])
def test_names_that_cannot_be_runs(root, name, monkeypatch):
    monkeypatch.chdir(root)
    if name == "published":
        monkeypatch.delenv("WORKBENCH_ROOT")
    if name == "results/published":
        monkeypatch.setattr("workbench.paths.CHECKOUT", root)
    with pytest.raises(ResultsError):
        Run.create(name)


def test_part_names_are_readable_and_unique():
    names = {
        part_name("a/b", "sql"),
        part_name("a-b", "sql"),
        part_name("a", "b", "sql"),
        part_name("a", None),
        part_name("a", "None"),
    }
    assert len(names) == 5
    assert all("/" not in name for name in names)
    assert part_name("CodeS-7b", "sql", "sqlite").startswith("CodeS-7b__sql__sqlite__")


def test_content_hash_is_stable():
    assert content_hash("a", 1, None, {"b": [1.5], "a": "é"}) == content_hash("a", 1, None, {"a": "é", "b": [1.5]})
    assert content_hash("a", "b") != content_hash("ab")


@pytest.mark.parametrize(
    "name",
    ["", " ", ".hidden", "-rf", "a\nb", "a\0b", "x" * 101, "\udcff", "a\u202eb"],
    ids=lambda name: ascii(name)[:12],
)
def test_names_that_no_table_file_and_terminal_can_all_hold(root, name):
    with pytest.raises(ConfigError, match="cannot be the name of a run"):
        Run.create(name)


def test_a_damaged_part_does_not_cost_the_other_runs(root):
    for name in ("a", "b"):
        Run.create(name).write_part("generations", "p", [_generation("1", model=name)])
    Run.open("a").part_path("generations", "p").write_bytes(b"")
    with pytest.warns(UserWarning, match=r"p\.parquet is damaged and left out"):
        db = connect()
    assert db.execute("SELECT model FROM generations").fetchall() == [("b",)]


def test_a_run_may_be_given_as_itself(root):
    run = Run.create("a")
    assert Run.create(run) is run and Run.open(run) is run
