"""Takes from a worker process what hostile SQL must not have: files, sockets, programs, privileges.

Standard library only; called by a worker of itself, in two steps, because a wall that is built later than the engine's
threads does not enclose them: `before_import` while the process has one thread, `after_import` once the engine's library
is loaded. In: the folder that holds all the engine may see, and its one part where it may write. Out: the way files
are kept out:

| way | needs | the engine sees |
| --- | --- | --- |
| chroot | root | the folder alone, as user "nobody" |
| landlock | Linux 5.13 with Landlock | the folder, and libraries |
| namespace | Linux with user namespaces for everybody | the folder alone |
| none | | all that the user sees |

https://docs.kernel.org/userspace-api/landlock.html, https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import glob
import os
import platform
import resource
import struct
import sys

UNPRIVILEGED = 65534  # "nobody"
WAYS = ("chroot", "landlock", "namespace")
NONE = "none"
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_RELATIME = 1, 32, 4096, 1 << 21
MOUNT_FLAGS = 2 | 4 | 8 | 1024  # nosuid, nodev, noexec, noatime: in statvfs as in mount, and must stay as they are
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # system calls, the same on all architectures
LANDLOCK_VERSION = 1  # flag: tell the version instead
READ_FILE, READ_FOLDER, EXECUTE = 4, 8, 1
FILE_RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}  # Landlock version -> all that it can restrict
WRITE = 0x7FFF & ~EXECUTE
PLAIN_FILE = 0x4007  # rights that mean something for what is no folder
# Denied system calls: socket, connect, execve, execveat, ptrace, kill, mount, setns, io_uring_setup.
DENIED = {
    "x86_64": (0xC000003E, (41, 42, 59, 322, 101, 62, 165, 308, 425)),
    "aarch64": (0xC00000B7, (198, 203, 221, 281, 117, 129, 40, 268, 425)),
}
FIRST_X32 = 0x40000000  # x86_64: from here on the same calls under other numbers
ALLOW, REFUSE, END_PROCESS = 0x7FFF0000, 0x00050001, 0x80000000  # refuse: EPERM

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def before_import(folder: str, writable: str | None, libraries: list[str], ways: tuple[str, ...] = WAYS) -> str:
    """Choose the way and build what must be there before the first thread; the way, which `after_import` completes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if _libc is None:
        return NONE
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if "chroot" in ways and os.geteuid() == 0:
        way = "chroot"
    elif "landlock" in ways and _landlock(folder, writable, libraries):
        way = "landlock"
    elif "namespace" in ways and _namespace(folder, writable):
        way = "namespace"
    else:
        way = NONE
    _deny_calls()
    return way


def libraries(site: str, *packages: str) -> list[str]:
    """What a worker reads while it imports: Python's and the system's libraries, and packages (patterns) of a folder."""
    found = [os.path.dirname(os.__file__), "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache"]
    found += [os.path.join(sys.base_prefix, "lib"), os.path.dirname(os.path.abspath(__file__))]
    found += [
        "/proc/self",
        "/sys/fs/cgroup",
        "/sys/devices/system/cpu",
        "/proc/meminfo",
        "/proc/stat",
        "/dev/urandom",
        "/usr/share/zoneinfo",
    ]
    for package in packages:
        found += glob.glob(os.path.join(site, package))
    return found


def after_import(way: str, folder: str) -> tuple[str, str]:
    """Build the rest. The way that holds now, and the path under which the folder is seen from now on."""
    if way not in ("chroot", "namespace"):
        return way, folder
    seen = folder
    try:
        os.chroot(folder)
        seen = "/"
        os.chdir("/")
        if way == "chroot":
            os.setgroups([])
            os.setgid(UNPRIVILEGED)
            os.setuid(UNPRIVILEGED)  # of all threads
    except OSError:  # a container that lacks the capability or the user
        return NONE, seen
    return way, seen


def _namespace(folder: str, writable: str | None) -> bool:
    """A user namespace of our own, in which the folder is mounted read-only but for its writable part."""
    if _libc.unshare(CLONE_NEWUSER | CLONE_NEWNS):
        return False
    flags = os.statvfs(folder).f_flag
    keep = (flags & MOUNT_FLAGS) | (MS_RELATIME if flags & 4096 else 0)  # ST_RELATIME

    def mount(path: str, how: int) -> bool:
        return _libc.mount(path.encode(), path.encode(), None, ctypes.c_ulong(how), None) == 0

    return (
        mount(folder, MS_BIND)
        and (writable is None or mount(writable, MS_BIND))
        and mount(folder, MS_REMOUNT | MS_BIND | MS_RDONLY | keep)
    )


def _landlock(folder: str, writable: str | None, libraries: list[str]) -> bool:
    version = _libc.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION)
    if version < 1:
        return False
    handled = FILE_RIGHTS[min(version, max(FILE_RIGHTS))]
    # version 4 knows TCP (bind, connect), version 6 abstract sockets and signals
    attributes = struct.pack("QQQ", handled, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _libc.syscall(LANDLOCK_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        rights = [(folder, READ_FILE | READ_FOLDER), (writable, WRITE)]
        rights += [(library, READ_FILE | READ_FOLDER | EXECUTE) for library in libraries]
        for path, right in rights:
            if path and os.path.exists(path) and not _allow(rules, path, right & handled):
                return False
        return _libc.syscall(LANDLOCK_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> bool:
    if not os.path.isdir(path):
        rights &= PLAIN_FILE
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return _libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", rights, descriptor), 0) == 0
    finally:
        os.close(descriptor)


def _deny_calls() -> bool:
    """No sockets and no programs from now on, in this thread and all that it starts."""
    if platform.machine() not in DENIED:
        return False
    machine, calls = DENIED[platform.machine()]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06  # BPF: load a word, compare, return
    steps = [(load, 0, 0, 4), (equal, 1, 0, machine), (give, 0, 0, END_PROCESS), (load, 0, 0, 0)]
    # A jump counts the steps it skips: all comparisons go to the last step, past those that follow and ALLOW.
    tests = [(at_least, FIRST_X32), *((equal, call) for call in calls)]
    steps += [(test, len(tests) - place, 0, value) for place, (test, value) in enumerate(tests)]
    steps += [(give, 0, 0, ALLOW), (give, 0, 0, REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HL", len(steps), ctypes.addressof(code))
    return _libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0) == 0
