"""Keeps one embedded database server alive while somebody uses it, and ends it when nobody does.

Run by path as a detached process of its own (see server.py), so it imports nothing but the standard library:

    python -I keeper.py --folder F --home H --sockets S --stop 2 --death 3 [--user 65534] [--memory BYTES] -- SERVER ARGUMENT ...

In: a folder with `users.lock` (each user process holds it shared), `start.lock` (held by whoever is starting), and the
server's command line; H is the folder of its data, F itself or one elsewhere. Out: `keeper.json` while the server runs, `server.log`, and on standard error
how the server has ended by itself. The operating system frees a lock when
its holder dies, however it dies, so a killed user is a user who has left. The server dies with its keeper (parent
death signal), and what the server leaves behind when it is killed falls to the keeper (subreaper), which ends it.
"""

import argparse
import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

POLL = 0.1  # seconds between looks at the locks
GRACE = 2.0  # seconds without a user before the server is stopped
STOP_WAIT = 20.0  # seconds a server may take to stop cleanly
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def try_lock(path: str) -> int | None:
    """An exclusive lock on a file as an open descriptor, or None while somebody else holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def launch(options: argparse.Namespace) -> subprocess.Popen:
    """Start the server as a child that dies with this process."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    keeper = os.getpid()
    if libc is not None:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def in_child() -> None:  # after the change of user: that change would clear the death signal
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, options.death, 0, 0, 0)
            if os.getppid() != keeper:
                os._exit(1)
        if options.memory:
            resource.setrlimit(resource.RLIMIT_AS, (options.memory, options.memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    user = {} if options.user is None else {"user": options.user, "group": options.user, "extra_groups": []}
    with open(os.path.join(options.folder, "server.log"), "ab") as log:
        streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        return subprocess.Popen(options.command, cwd="/", preexec_fn=in_child, **streams, **user)  # noqa: PLW1509 no threads here


def ended(code: int) -> str:
    """How a process has ended, from its return code as subprocess gives it."""
    return f"ended by signal {-code}" if code < 0 else f"ended with {code}"


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie, whose /proc entry has an empty command line."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return bool(file.read(1))
    except ProcessLookupError:
        return False
    except (PermissionError, FileNotFoundError):  # another user's; no such file system, or it has just ended
        return not os.path.exists("/proc/self") or os.path.exists(f"/proc/{pid}")


def orphans() -> list[int]:
    """Processes that the dead server left to this one."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # no such file system here; then nothing was left to us either
        return []


def end(server: subprocess.Popen, options: argparse.Namespace) -> None:
    """Stop the server: politely, then by its quick signal, then for good; and all it left."""
    for number, seconds in ((options.stop, STOP_WAIT), (options.death, 5.0), (signal.SIGKILL, 5.0)):
        if server.poll() is not None:
            break
        server.send_signal(number)
        try:
            server.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    deadline = time.monotonic() + 5.0
    while (left := orphans()) and time.monotonic() < deadline:
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def is_ours(descriptor: int, path: str) -> bool:
    """Whether a locked file still stands at its path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def keep(server: subprocess.Popen, options: argparse.Namespace, alive: int, stopping: list[int]) -> int | None:
    """Wait until the server ends, is no longer used, or this process is told to stop; the start lock if taken."""
    users, start, pinned = (os.path.join(options.folder, name) for name in ("users.lock", "start.lock", "pinned"))
    last_used = time.monotonic()
    while server.poll() is None and not stopping:
        time.sleep(POLL)
        if not is_ours(alive, os.path.join(options.folder, "keeper.lock")):  # the cache was deleted: nobody can come
            shutil.rmtree(options.home, ignore_errors=True)
            return None
        if os.path.exists(pinned) or (lock := try_lock(users)) is None:
            last_used = time.monotonic()
            continue
        os.close(lock)
        if time.monotonic() - last_used < GRACE:
            continue
        starting = try_lock(start)  # from here on a new user waits, and then starts a server of its own
        if starting is None:
            continue
        lock = try_lock(users)
        if lock is not None:
            os.close(lock)
            return starting
        os.close(starting)
        last_used = time.monotonic()
    return None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--sockets", required=True)
    parser.add_argument("--stop", type=int, required=True)
    parser.add_argument("--death", type=int, required=True)
    parser.add_argument("--user", type=int)
    parser.add_argument("--memory", type=int)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    alive = try_lock(os.path.join(options.folder, "keeper.lock"))
    if alive is None:
        return 1
    server = launch(options)
    state = os.path.join(options.folder, "keeper.json")
    with open(state + ".new", "w") as file:
        json.dump({"keeper": os.getpid(), "server": server.pid, "sockets": options.sockets}, file)
        file.flush()
        os.fsync(file.fileno())  # else it may be empty after a loss of power
    os.replace(state + ".new", state)
    starting = keep(server, options, alive, stopping)
    if server.poll() is not None:
        print(f"the server {ended(server.poll())}", file=sys.stderr)
    end(server, options)
    shutil.rmtree(options.sockets, ignore_errors=True)
    if os.path.exists(state):
        os.remove(state)
    os.close(alive)  # before the start lock: a waiting user must find no keeper
    if starting is not None:
        os.close(starting)
    return 0


if __name__ == "__main__":
    sys.exit(main())
