"""Finds a MySQL server's program, and fetches Debian's where there is none: `python -m workbench.backends.mysql_fetch`.

In: the machine's PATH, and on Debian, Ubuntu and their like the package mirror that the machine already uses. Out: a
private folder with bin/mysqld, lib/ (every library it needs, and the loader that runs it) and share/ (its messages and
character sets). apt works with lists and a cache of its own and checks signatures with the machine's keys; nothing is
installed, and nothing outside the project's own folders is written. What was fetched before a break is kept and used.

A mysqld on PATH comes first; it is copied into such a folder too when it is used: its user may lack the right to enter
where it lies, and on Ubuntu AppArmor forbids /usr/sbin/mysqld a data folder elsewhere.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workbench import paths
from workbench.backends.base import without_paths
from workbench.errors import EngineError

OLDEST = (8, 0, 17)  # the first with the collation utf8mb4_0900_bin
ARCHITECTURES = ("amd64", "arm64")
PACKAGE = r"mysql-server-core(-\d+\.\d+)?"
SUITE = "sid"  # Debian's only suite with MySQL; every other one has MariaDB
FOLDERS = "/usr/sbin:/usr/local/sbin"  # often not on the PATH of a user who is not root
APT = """
Dir::Etc::sourcelist "{folder}/none";
Dir::Etc::sourceparts "{folder}/parts";
Dir::Etc::preferences "{folder}/none";
Dir::Etc::preferencesparts "{folder}/empty";
Dir::Etc::main "{folder}/none";
Dir::Etc::parts "{folder}/empty";
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Log "{folder}/log";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
"""


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
    with _lock(target):
        if not target.is_dir():
            libraries = _libraries(["ldd", str(program.path)])
            _collect(program.path, libraries, program.path.parents[1], target)
    return target


def fetch() -> Program:
    """The machine's MySQL program, fetched if there is none. EngineError in one line if that is not possible."""
    program = find_program()
    if program is not None:
        return program
    architecture = _architecture()
    target, work = _fetched(), paths.programs_dir() / "mysql.apt"
    with _lock(target):
        if not target.is_dir():
            try:
                _unpack(_download(work, architecture), work / "root")
                mysqld = next((work / "root").glob("usr/*bin/mysqld"))
                _collect(mysqld, _own_libraries(mysqld, work / "root"), work / "root" / "usr", target)
            except OSError as error:
                raise EngineError(without_paths(error), where="fetching MySQL") from error
            shutil.rmtree(work)
    program = find_program()
    if program is None:
        raise EngineError("what was fetched does not run here", where="fetching MySQL", hint="see `make clean`")
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


def _architecture() -> str:
    missing = [name for name in ("apt-get", "apt-cache", "apt-config", "dpkg", "dpkg-deb") if not shutil.which(name)]
    if missing:
        hint = "conda install -c conda-forge mysql-server"
        raise EngineError(f"no {missing[0]} here to fetch it with", where="fetching MySQL", hint=hint)
    architecture = _run(["dpkg", "--print-architecture"]).strip()
    if architecture not in ARCHITECTURES or platform.libc_ver()[0] != "glibc":
        raise EngineError(f"not for {architecture}", where="fetching MySQL", hint=f"for {', '.join(ARCHITECTURES)}")
    return architecture


def _download(work: Path, architecture: str) -> list[Path]:
    """The packages of the server and all it needs, checked by apt against the mirror's signature."""
    print("fetching MySQL, about 80 MB", file=sys.stderr, flush=True)
    for name in ("parts", "empty", "log", "state/lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    for name in ("none", "status"):  # an empty status: no library of this machine counts as present
        (work / name).touch()
    (work / "parts" / "mirror.sources").write_text(_source())
    text = "".join(line for line in _run(["apt-config", "dump"]).splitlines(True) if line.startswith("Acquire::"))
    text += APT.format(folder=work, architecture=architecture)
    if os.geteuid() == 0 and not all(path.stat().st_mode & stat.S_IXOTH for path in (work, *work.parents)):
        text += 'APT::Sandbox::User "root";\n'  # apt's own user could not enter the folder
    (work / "apt.conf").write_text(text)
    environment = os.environ | {
        "APT_CONFIG": str(work / "apt.conf"),
        "LC_ALL": "C",
        "DEBIAN_FRONTEND": "noninteractive",
    }
    _run(["apt-get", "-q", "update", "-o", "APT::Update::Error-Mode=any"], environment)
    names = _run(["apt-cache", "pkgnames", "mysql-server-core"], environment).split()
    names = [name for name in names if re.fullmatch(PACKAGE, name)]
    if not names:
        raise EngineError("the mirror of this machine has no MySQL server", where="fetching MySQL")
    package = max(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)] or [99])
    _run(["apt-get", "-q", "-y", "--download-only", "install", package], environment)
    return sorted((work / "cache" / "archives").glob("*.deb"))


def _source() -> str:
    """The machine's own entry for its distribution's packages in apt's newer form; on Debian, its suite changed."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.MULTILINE))
    code_names = {release.get("VERSION_CODENAME"), "stable", "testing", "unstable", "sid"}
    for entry in _sources(Path("/etc/apt")):
        suites = entry.get("Suites", "").split()
        if "deb" in entry.get("Types", "").split() and code_names & set(suites):
            wanted = SUITE if release.get("ID") == "debian" else " ".join(suites)
            kept = {"Components": entry.get("Components", "main"), "URIs": entry["URIs"], "Suites": wanted}
            if "Signed-By" in entry:
                kept["Signed-By"] = entry["Signed-By"]
            return "Types: deb\n" + "".join(f"{key}: {value}\n" for key, value in kept.items())
    raise EngineError("no package mirror of its distribution in the machine's sources", where="fetching MySQL")


def _sources(folder: Path) -> Iterator[dict[str, str]]:
    """The entries of apt's source files, both forms (https://manpages.debian.org/sources.list.5)."""
    for file in sorted(folder.glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE)):
            entry = dict(re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE))
            if entry.get("Enabled", "yes").strip() != "no":
                yield entry
    for file in [folder / "sources.list", *sorted(folder.glob("sources.list.d/*.list"))]:
        text = file.read_text() if file.is_file() else ""
        for options, uri, suite, components in re.findall(
            r"^deb[ \t]+(?:\[([^]]*)\][ \t]+)?(\S+)[ \t]+(\S+)[ \t]+([^#\n]+)", text, re.MULTILINE
        ):
            entry = {"Types": "deb", "URIs": uri, "Suites": suite, "Components": components}
            if signed := re.search(r"signed-by=(\S+)", options):
                entry["Signed-By"] = signed[1]
            yield entry


def _unpack(packages: list[Path], root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for package in packages:
        if not re.match(r"(lib)?perl|libicu-dev|debconf|.*-data_", package.name):  # large, and no library among them
            _run(["dpkg-deb", "-x", str(package), str(root)])


def _own_libraries(mysqld: Path, root: Path) -> list[Path]:
    """The libraries that an unpacked program needs, all of them from the same folder; its loader comes last."""
    loader = next(path for path in sorted(root.rglob("ld-linux-*.so.*")) if path.exists())
    folders = {str(path.parent) for path in root.rglob("lib*.so*")}
    listing = [str(loader), "--library-path", ":".join(sorted(folders)), "--list", str(mysqld)]
    return [path for path in _libraries(listing) if not path.name.startswith("ld-")] + [loader]


def _libraries(listing: list[str]) -> list[Path]:
    """The files in what a loader lists."""
    text = _run(listing, os.environ | {"LC_ALL": "C"})
    if missing := re.search(r"(\S+) => not found", text):
        raise EngineError(f"its library {missing[1]} is missing", where="MySQL")
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", text, re.MULTILINE)]


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
        _run(["chmod", "-R", "u+rwX,go+rX", str(working)])
        if _version(command(working), 0) is None:
            raise EngineError("it does not run from its own folder", where="MySQL")
        working.rename(target)
    finally:
        shutil.rmtree(working, ignore_errors=True)


@contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Be the only one who makes a folder; what killed makers left of it goes."""
    with open(target.with_name(f"{target.name}.lock"), "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for remains in target.parent.glob(f"{target.name}.new-*"):
            shutil.rmtree(remains)
        yield


def _run(arguments: list[str], environment: dict | None = None) -> str:
    """A command's output. EngineError with its first complaint if it fails."""
    done = subprocess.run(
        arguments, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        check=False,
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit status {done.returncode}"]
        loud = [line for line in lines if line.startswith("E:")]
        what = without_paths((loud or lines)[0].removeprefix("E: "))
        raise EngineError(f"{Path(arguments[0]).name}: {what}", where="fetching MySQL")
    return done.stdout


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
