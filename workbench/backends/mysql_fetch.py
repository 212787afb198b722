"""Finds a MySQL server's program, and fetches Debian's where there is none: `python -m workbench.backends.mysql_fetch`.

In: the machine's PATH, and on Debian, Ubuntu and their like the package mirror that the machine already uses. Out: a
private folder with bin/mysqld, lib/ (every library it needs, and the loader that runs it) and share/ (its messages and
character sets). apt works with lists and a cache of its own and checks signatures with the machine's keys; nothing is
installed, and nothing outside the project's own folders is written. What was fetched before a break is kept and used.

A mysqld on PATH comes first; it is copied into such a folder too when it is used: its user may lack the right to enter
where it lies, and on Ubuntu AppArmor forbids /usr/sbin/mysqld a data folder elsewhere.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workbench import paths
from workbench.backends import debian_packages
from workbench.backends.base import without_paths
from workbench.errors import EngineError

OLDEST = (8, 0, 17)  # the first with the collation utf8mb4_0900_bin
WANTED = debian_packages.Wanted(
    "MySQL",
    "mysql-server-core",
    r"mysql-server-core(-\d+\.\d+)?",
    "80 MB",
    "conda install -c conda-forge mysql-server",
)
FOLDERS = "/usr/sbin:/usr/local/sbin"  # often not on the PATH of a user who is not root


@dataclass(frozen=True)
class Program:
    """A server's program. root: its private folder, None for one on PATH; version: as it says itself ("9.7.4-2")."""

    path: Path
    root: Path | None
    version: str


def find_program() -> Program | None:
    """The mysqld on PATH if it is MySQL and recent enough, else the fetched one, else None."""
    for folder in [*os.environ.get("PATH", os.defpath).split(":"), *FOLDERS.split(":")]:
        path = Path(folder or ".") / "mysqld"
        is_program = os.access(path, os.X_OK) and path.is_file()
        if is_program and (version := _version((str(path),), path.stat().st_mtime_ns)):
            return Program(path.resolve(), None, version)
    path = _fetched() / "bin" / "mysqld"
    if path.is_file() and (version := _version(command(_fetched()), path.stat().st_mtime_ns)):
        return Program(path, _fetched(), version)
    return None


def command(root: Path) -> tuple[str, ...]:
    """What runs the program of a private folder: its own loader with its own libraries."""
    (loader,) = (root / "lib").glob("ld-*.so.*")
    return str(loader), "--library-path", str(root / "lib"), str(root / "bin" / "mysqld")


def private_copy(program: Program) -> Path | None:
    """The private folder of a program; a program on PATH gets one now. None if it has to run where it lies."""
    if program.root is not None:
        return program.root
    with open(program.path, "rb") as file:
        if file.read(4) != b"\x7fELF" or shutil.which("ldd") is None:  # a script around it, or no Linux
            return None
    facts = program.path.stat()
    mark = hashlib.sha256(f"{program.path} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()[:16]
    target = paths.programs_dir() / f"mysql-{mark}"
    with debian_packages.lock(target):
        if not target.is_dir():
            libraries = debian_packages.libraries(["ldd", str(program.path)], WANTED)
            _collect(program.path, libraries, program.path.parents[1], target)
    return target


def fetch() -> Program:
    """The machine's MySQL program, fetched if there is none. EngineError in one line if that is not possible."""
    program = find_program()
    if program is not None:
        return program
    architecture = debian_packages.architecture(WANTED)
    target, work = _fetched(), paths.programs_dir() / "mysql.apt"
    with debian_packages.lock(target):
        if not target.is_dir():
            try:
                debian_packages.unpack(debian_packages.download(work, WANTED, architecture), work / "root", WANTED)
                mysqld = next((work / "root").glob("usr/*bin/mysqld"))
                libraries = debian_packages.own_libraries(mysqld, work / "root", WANTED)
                _collect(mysqld, libraries, work / "root" / "usr", target)
            except OSError as error:
                raise EngineError(without_paths(error), where=WANTED.where) from error
            shutil.rmtree(work)
    program = find_program()
    if program is None:
        raise EngineError("what was fetched does not run here", where=WANTED.where, hint="see `make clean`")
    return program


def _fetched() -> Path:
    return paths.programs_dir() / "mysql"


@lru_cache
def _version(start: tuple[str, ...], changed: int) -> str | None:
    """The program's version, None if it is not MySQL, too old, or does not run; changed: when the file did."""
    try:
        done = subprocess.run([*start, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\bVer (\d+)\.(\d+)\.(\d+)(\S*)", done.stdout)
    if done.returncode or not found or "MariaDB" in done.stdout or tuple(map(int, found.groups()[:3])) < OLDEST:
        return None
    return found[0].removeprefix("Ver ")


def _collect(mysqld: Path, libraries: list[Path], prefix: Path, target: Path) -> None:
    """Copy a program and what it needs into a folder that is there whole or not at all."""
    places = [prefix / "share", *sorted((prefix / "share").glob("mysql*"))]
    share = next((place for place in places if (place / "english" / "errmsg.sys").is_file()), None)
    if share is None:
        raise EngineError("its messages are missing", where="MySQL", hint="share/mysql/english/errmsg.sys")
    working = Path(tempfile.mkdtemp(prefix=f"{target.name}.new-", dir=target.parent))
    try:
        for name in ("bin", "lib", "share"):
            (working / name).mkdir()
        shutil.copy(mysqld, working / "bin" / "mysqld")
        for library in libraries:
            shutil.copy(library, working / "lib" / library.name)
        for name in ("english", "charsets"):
            shutil.copytree(share / name, working / "share" / name)
        (working / "lib" / "plugin").mkdir()
        for folder in ("lib/plugin", "lib/mysql/plugin", "lib64/mysql/plugin"):
            for component in (prefix / folder).glob("component_reference_cache.so"):  # the server's own, loaded always
                shutil.copy(component, working / "lib" / "plugin")
        for private in ("lib/private", "lib/mysql/private", "lib64/mysql/private"):  # data of a bundled ICU
            if (prefix / private).is_dir():
                shutil.copytree(prefix / private, working / private, dirs_exist_ok=True)
        debian_packages.run(["chmod", "-R", "u+rwX,go+rX", str(working)], WANTED)
        if _version(command(working), 0) is None:
            raise EngineError("it does not run from its own folder", where="MySQL")
        working.rename(target)
    finally:
        shutil.rmtree(working, ignore_errors=True)


def main() -> int:
    """Fetch, and say in one line what is there or why not."""
    try:
        program = fetch()
    except EngineError as error:
        print(f"MySQL is not here: {error}", file=sys.stderr)
        return 1
    print(f"MySQL {program.version}: {program.path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
