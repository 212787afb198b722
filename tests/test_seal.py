"""A copy that lies in files counts only as long as they are what they were: else it is made again, exactly."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from workbench import migrate
from workbench.backends import get_backend, seal


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def touch(file: Path) -> None:
    file.write_bytes(file.read_bytes())


DAMAGES = {"cut short": cut, "written to": touch, "gone": Path.unlink}


@pytest.mark.parametrize("engine", ["duckdb", "clickhouse"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_copy_is_made_again(engine, damage, tmp_path):
    backend = get_backend(engine)
    if backend.find() is None:
        pytest.skip(f"{engine} is absent")
    source = tmp_path / "s.sqlite"
    with closing(sqlite3.connect(source)) as db, db:
        db.executescript("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL);")
    backend.start()
    name = migrate.ensure_database(backend, source, "s")
    assert backend.has(name)
    copy = backend.path(name)
    victim = copy if copy.is_file() else next(copy.rglob("data.bin"))
    victim.chmod(0o644)
    damage(victim)
    seal._known.clear()  # as for another process
    assert not backend.has(name)
    assert migrate.ensure_database(backend, source, "s") == name
    assert backend.has(name)
    migrate.verify_copy(backend, name, source)


def test_a_copy_without_a_note_or_with_half_of_one_is_not_whole(tmp_path):
    copy = tmp_path / "copy"
    copy.write_text("x")
    assert not seal.is_whole("e", "copy", copy)
    seal.seal("e", "copy", copy)
    assert seal.is_whole("e", "copy", copy)
    seal._known.clear()
    cut(seal._note("e", "copy"))
    assert not seal.is_whole("e", "copy", copy)
