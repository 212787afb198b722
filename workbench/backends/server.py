"""An embedded database server as its users see it: shared, private to this account, never left behind.

In: a Recipe (how an engine's server is made and started). Out: a Lease, which keeps the server alive until it is
released or its process dies. `keeper.py` does the supervising. Everything lies in one folder of the cache:

    data/  the server's data    server.log  its words    secret  its password    pinned  there while kept without users
    start.lock  held while somebody starts    users.lock  held shared by each user    keeper.lock  held by the keeper

As root the server runs as an unprivileged user. Where that user cannot reach the cache or the binaries (a checkout
below a private home), data and a copy of the binaries lie in a folder under the system's temporary one, named in the
file `home`.
"""

import fcntl
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workbench import faults
from workbench.backends import disk, keeper
from workbench.backends.base import without_paths
from workbench.errors import EngineError

UNPRIVILEGED = 65534  # "nobody": servers refuse root, and hostile SQL should not have it
START_WAIT, LOCK_WAIT = 60.0, 180.0  # seconds; the second covers somebody else's first start
SURROUNDINGS = (
    "Permission denied",
    "allocate memory",
    "shared memory",
    "semaphore",
    "Too many open files",
    "configuration",
    "unknown variable",
)
UNKILLABLE = 10.0  # seconds that a statement may go on after its connection was told to end
KILLED = keeper.ended(-signal.SIGKILL)  # by somebody, or for want of memory

_keepers: list[subprocess.Popen] = []  # those this process has started: its children until they end


@dataclass(frozen=True)
class Recipe:
    """How one engine's server is made and started.

    roots: folders of the binaries, copied when the server's user cannot reach them (none: it can); below, `binaries` is
    where they then lie. initialise(binaries, data, secret_file): command that fills an empty data folder. serve(binaries, data,
    sockets): command that runs the server in the foreground. is_ready(sockets, secret): whether it answers.
    """

    engine: str
    folder: Path
    roots: tuple[Path, ...]
    initialise: Callable[[Path, Path, Path], list[str]]
    serve: Callable[[Path, Path, Path], list[str]]
    is_ready: Callable[[Path, str], bool]
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGKILL  # quick, but lets the server end its children
    stale_files: tuple[str, ...] = ()  # left in the data folder by a killed server
    memory: int | None = None  # bytes of address space of each of its processes


@dataclass
class Lease:
    """The right to use a running server. sockets: folder of its unix socket; secret: its password."""

    sockets: Path
    secret: str
    descriptor: int

    def release(self) -> None:
        os.close(self.descriptor)


def acquire(recipe: Recipe) -> Lease:
    """Use the recipe's server: the running one, or a new one. EngineError with the server's last words."""
    with disk.explained(recipe.engine, recipe.folder, EngineError):
        recipe.folder.mkdir(parents=True, exist_ok=True)
        starting = _lock(recipe.folder / "start.lock", fcntl.LOCK_EX, recipe.engine)
        try:
            lease = _join(recipe)
        finally:
            os.close(starting)
    faults.kill_point("server-up")
    return lease


def _join(recipe: Recipe) -> Lease:
    """Become a user, then find the server or start it: in this order nobody stops it in between."""
    using = _lock(recipe.folder / "users.lock", fcntl.LOCK_SH, recipe.engine)
    try:
        state = _running(recipe.folder)
        if state is None:
            _clean(recipe)
            state = _start(recipe)
        return Lease(Path(state["sockets"]), (recipe.folder / "secret").read_text(), using)
    except BaseException:
        os.close(using)
        raise


def is_running(folder: Path) -> bool:
    """Whether somebody's keeper runs the server of this folder."""
    return folder.is_dir() and _running(folder) is not None


def kill(folder: Path) -> None:
    """End the folder's server at once, as an accident would: its keeper tidies up, whoever needs it starts another."""
    state = _running(folder) if folder.is_dir() else None
    if state is not None:
        os.kill(state["server"], signal.SIGKILL)


def gone(engine: str) -> EngineError:
    """What to say of a server that this process does not use: not yet, or no longer since it did not come back."""
    what = "its server was ended and did not start again"
    return EngineError(what, where=engine, hint="the same command tries it again")


def pin(folder: Path, is_pinned: bool) -> None:
    """Keep the folder's server running without users, or no longer."""
    if is_pinned:
        (folder / "pinned").touch()
    else:
        (folder / "pinned").unlink(missing_ok=True)


def _lock(path: Path, kind: int, engine: str) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LOCK_WAIT
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise EngineError(f"another process holds {path.name} for {LOCK_WAIT:.0f} s", where=engine) from None
            time.sleep(0.02)


def _running(folder: Path) -> dict | None:
    """The keeper's state, None if no keeper is alive. Waits for one that is just ending or just writing it."""
    deadline = time.monotonic() + keeper.STOP_WAIT + 15
    while (lock := keeper.try_lock(str(folder / "keeper.lock"))) is None:
        state = _state(folder)  # none: about to be written, or the keeper is on its way out
        if state is not None and keeper.is_alive(state["server"]):
            return state
        if time.monotonic() > deadline:
            return None
        time.sleep(0.05)
    os.close(lock)
    return None


def _state(folder: Path) -> dict | None:
    """What the keeper has said of itself; None if it is not there, or not whole: a loss of power may empty it."""
    try:
        state = json.loads((folder / "keeper.json").read_text())
        return state if {"server", "sockets"} <= set(state) else None
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _clean(recipe: Recipe) -> None:
    """Remove what a killed keeper and its server left: the server if it still runs, its socket, its pid file."""
    path = recipe.folder / "keeper.json"
    data = _home(recipe) / "data"
    if path.exists():
        state = _state(recipe.folder)
        deadline = time.monotonic() + 10
        while (left := _serving(state, data)) is not None:
            if time.monotonic() > deadline - 5:  # it had its death signal when the keeper died; now for good
                os.kill(left, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise EngineError("a server of a killed run does not end", where=recipe.engine, hint=f"pid {left}")
            time.sleep(0.05)
        if state is not None:
            shutil.rmtree(state["sockets"], ignore_errors=True)
        path.unlink()
    for name in recipe.stale_files:
        (data / name).unlink(missing_ok=True)


def _serving(state: dict | None, data: Path) -> int | None:
    """The server that still runs on a data folder: the keeper's, or any where it has left no word of it."""
    known = Path("/proc").glob("[0-9]*") if state is None else [Path("/proc", str(state["server"]))]
    return next((int(process.name) for process in known if _serves(int(process.name), data)), None)


def _serves(pid: int, data: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return any(word.endswith(str(data).encode()) for word in command)
    except OSError:  # gone
        return False


def _start(recipe: Recipe) -> dict:
    """Start a keeper with the server, making the data folder first.

    A server that is killed meanwhile is started again, once; a data folder with which none starts is made anew, once.
    """
    home = _home(recipe)
    binaries = _binaries(recipe, home)
    is_new = not ((home / "data").is_dir() and (recipe.folder / "secret").exists())
    for is_again in () if is_new else (False, True):
        try:
            return _serve(recipe, home, binaries)
        except EngineError as error:
            if disk.is_full(error.what, recipe.folder) or any(words in error.what for words in SURROUNDINGS):
                raise  # the data are not to blame
            if KILLED not in error.what:
                break
            if is_again:
                raise
            _clean(recipe)
    shutil.rmtree(home / "data", ignore_errors=is_new)  # copies only: they are made again when needed
    _initialise(recipe, home, binaries)
    return _serve(recipe, home, binaries)


def _initialise(recipe: Recipe, home: Path, binaries: Path) -> None:
    """Make the data folder under a working name and rename it: it is there whole or not at all."""
    for remains in home.glob("data.new-*"):
        shutil.rmtree(remains)
    secret = secrets.token_hex(24)
    working = Path(tempfile.mkdtemp(prefix="data.new-", dir=home))
    try:
        secret_file = working / "secret"
        secret_file.touch(mode=0o600)
        secret_file.write_text(secret)
        (working / "data").mkdir(mode=0o700)
        for path in (working, working / "data", secret_file):
            _give(path)
        done = subprocess.run(
            recipe.initialise(binaries, working / "data", secret_file),
            check=False, text=True, cwd="/", **_as_server_user(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode:
            words = _last_words(done.stdout) or keeper.ended(done.returncode)
            with disk.explained(recipe.engine, recipe.folder, EngineError):  # before the remains go
                raise EngineError(f"its data folder cannot be made: {words}", where=recipe.engine)
        kept = recipe.folder / "secret"
        kept.unlink(missing_ok=True)
        kept.touch(mode=0o600)
        kept.write_text(secret)
        (working / "data").rename(home / "data")
    finally:
        shutil.rmtree(working, ignore_errors=True)


def _serve(recipe: Recipe, home: Path, binaries: Path) -> dict:
    sockets = Path(tempfile.mkdtemp(prefix=f"workbench-{recipe.engine}-", dir=_short_temporary()))
    _give(sockets)
    log = recipe.folder / "server.log"
    log.write_bytes(b"")
    command = [sys.executable, "-I", keeper.__file__, "--folder", recipe.folder, "--home", home]
    command += ["--sockets", sockets]
    command += ["--stop", int(recipe.stop_signal), "--death", int(recipe.death_signal)]
    command += ["--user", UNPRIVILEGED] if os.geteuid() == 0 else []
    command += ["--memory", recipe.memory] if recipe.memory else []
    command += ["--", *recipe.serve(binaries, home / "data", sockets)]
    with open(recipe.folder / "keeper.log", "wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
            start_new_session=True,  # Ctrl-C in the terminal is not for the server
        )  # fmt: skip
    secret = (recipe.folder / "secret").read_text()
    _keepers[:] = [process, *(keeper for keeper in _keepers if keeper.poll() is None)]
    deadline = time.monotonic() + START_WAIT
    while process.poll() is None and time.monotonic() < deadline:
        if recipe.is_ready(sockets, secret) and (recipe.folder / "keeper.json").exists():
            return json.loads((recipe.folder / "keeper.json").read_text())
        time.sleep(0.02)
    is_late = process.poll() is None
    if is_late:
        process.terminate()
        process.wait(keeper.STOP_WAIT + 15)
    shutil.rmtree(sockets, ignore_errors=True)
    words = [_last_words(file.read_text(errors="replace")) for file in (log, recipe.folder / "keeper.log")]
    last = f"no answer within {START_WAIT:.0f} s" if is_late else f"its keeper {keeper.ended(process.returncode)}"
    how = "; ".join(filter(None, words)) or last
    raise EngineError(f"the server does not start: {how}", where=recipe.engine)


def _last_words(log: str) -> str:
    """The line of a log that says most; nothing of an empty one."""
    lines = [line for line in log.splitlines() if line.strip() and "[System]" not in line]  # MySQL's steps
    loud = [line for line in lines if "FATAL" in line or "error:" in line]
    first = [line for line in lines if "[ERROR]" in line][:1]  # MySQL gives its reason first, then what follows from it
    return without_paths((first or loud or lines or [""])[-1])


def _as_server_user() -> dict:
    return {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []} if os.geteuid() == 0 else {}


def _give(path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, UNPRIVILEGED, UNPRIVILEGED)


def _is_reachable(path: Path) -> bool:
    """Whether the server's user can enter the folder."""
    return os.geteuid() != 0 or all(p.stat().st_mode & stat.S_IXOTH for p in (path, *path.parents))


def _short_temporary() -> Path:
    """A temporary folder the server's user can enter, short enough for a unix socket's path (about 100 bytes)."""
    for path in (Path(tempfile.gettempdir()).resolve(), Path("/tmp")):
        if len(str(path)) < 60 and path.is_dir() and _is_reachable(path):
            return path
    raise EngineError("no short temporary folder for a unix socket", hint="set TMPDIR to a folder like /tmp")


def _home(recipe: Recipe) -> Path:
    """The folder that holds data/: the recipe's, or one under the temporary folder where the server's user can go."""
    recipe.folder.chmod(0o711)
    if _is_reachable(recipe.folder):
        return recipe.folder
    note = recipe.folder / "home"
    if note.exists():
        home = Path(note.read_text())
        if home.is_dir() and not home.is_symlink() and home.stat().st_uid == os.geteuid():
            return home
    prefix = f"workbench-{recipe.engine}-data-"
    for old in _short_temporary().glob(f"{prefix}*/cache"):  # of caches that were deleted since
        if old.stat().st_uid == os.geteuid() and not Path(old.read_text()).is_dir():
            shutil.rmtree(old.parent)
    home = Path(tempfile.mkdtemp(prefix=prefix, dir=_short_temporary()))
    home.chmod(0o711)
    (home / "cache").write_text(str(recipe.folder))
    note.write_text(str(home))
    return home


def _binaries(recipe: Recipe, home: Path) -> Path:
    """The first of the recipe's roots, or its copy in the home where the server's user cannot reach the original."""
    if not recipe.roots:
        return Path("/")
    first = recipe.roots[0]
    if os.geteuid() != 0 or _is_open(recipe.roots):
        return first
    common = Path(os.path.commonpath([root.parent for root in recipe.roots]))
    if not (home / "binaries").is_dir():
        working = Path(tempfile.mkdtemp(prefix="binaries.new-", dir=home))
        for root in recipe.roots:
            shutil.copytree(root, working / root.relative_to(common), symlinks=True)
        subprocess.run(["chmod", "-R", "go+rX", str(working)], check=True)
        working.rename(home / "binaries")
    return home / "binaries" / first.relative_to(common)


def _is_open(roots: tuple[Path, ...]) -> bool:
    """Whether everybody may enter the folders and read all of their files."""
    return all(_is_reachable(root) for root in roots) and all(
        path.stat().st_mode & stat.S_IROTH for root in roots for path in root.rglob("*")
    )
