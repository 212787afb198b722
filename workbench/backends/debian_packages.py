"""Fetches a program of Debian's, or of a relative's, into a private folder, without installing anything.

In: a pattern of package names, and the package mirror that the machine already uses. Out: unpacked packages with every library
that they need. apt works with lists and a cache of its own and checks signatures with the machine's keys; nothing outside the
project's own folders is written.
"""

import fcntl
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workbench.backends.base import without_paths
from workbench.errors import EngineError

ARCHITECTURES = ("amd64", "arm64")
SUITE = "sid"  # Debian's only suite with MySQL and with llama.cpp's server
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
class Wanted:
    """title: in messages; prefix and pattern: of the package's name, the newest of several is taken; size: to fetch, in words."""

    title: str
    prefix: str
    pattern: str
    size: str
    otherwise: str  # how to get it where apt is not there

    @property
    def where(self) -> str:
        return f"fetching {self.title}"


def architecture(wanted: Wanted) -> str:
    """The machine's, where there are packages for it. EngineError where there are none, or no apt."""
    missing = [name for name in ("apt-get", "apt-cache", "apt-config", "dpkg", "dpkg-deb") if not shutil.which(name)]
    if missing:
        raise EngineError(f"no {missing[0]} here to fetch it with", where=wanted.where, hint=wanted.otherwise)
    found = run(["dpkg", "--print-architecture"], wanted).strip()
    if found not in ARCHITECTURES or platform.libc_ver()[0] != "glibc":
        raise EngineError(f"not for {found}", where=wanted.where, hint=f"for {', '.join(ARCHITECTURES)}")
    return found


def download(work: Path, wanted: Wanted, architecture: str) -> list[Path]:
    """The package and all it needs, checked by apt against the mirror's signature."""
    print(f"fetching {wanted.title}, about {wanted.size}", file=sys.stderr, flush=True)
    for name in ("parts", "empty", "log", "state/lists/partial", "cache/archives/partial"):
        (work / name).mkdir(parents=True, exist_ok=True)
    for name in ("none", "status"):  # an empty status: no library of this machine counts as present
        (work / name).touch()
    (work / "parts" / "mirror.sources").write_text(_source(wanted))
    text = "".join(
        line for line in run(["apt-config", "dump"], wanted).splitlines(True) if line.startswith("Acquire::")
    )
    text += APT.format(folder=work, architecture=architecture)
    if os.geteuid() == 0 and not all(path.stat().st_mode & stat.S_IXOTH for path in (work, *work.parents)):
        text += 'APT::Sandbox::User "root";\n'  # apt's own user could not enter the folder
    (work / "apt.conf").write_text(text)
    environment = os.environ | {
        "APT_CONFIG": str(work / "apt.conf"),
        "LC_ALL": "C",
        "DEBIAN_FRONTEND": "noninteractive",
    }
    run(["apt-get", "-q", "update", "-o", "APT::Update::Error-Mode=any"], wanted, environment)
    names = run(["apt-cache", "pkgnames", wanted.prefix], wanted, environment).split()
    names = [name for name in names if re.fullmatch(wanted.pattern, name)]
    if not names:
        raise EngineError(f"the mirror of this machine has no package {wanted.prefix}", where=wanted.where)
    package = max(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)] or [99])
    run(["apt-get", "-q", "-y", "--download-only", "install", package], wanted, environment)
    return sorted((work / "cache" / "archives").glob("*.deb"))


def _source(wanted: Wanted) -> str:
    """The machine's own entry for its distribution's packages in apt's newer form; on Debian, its suite changed."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.MULTILINE))
    code_names = {release.get("VERSION_CODENAME"), "stable", "testing", "unstable", "sid"}
    for entry in sources(Path("/etc/apt")):
        suites = entry.get("Suites", "").split()
        if "deb" in entry.get("Types", "").split() and code_names & set(suites):
            wanted = SUITE if release.get("ID") == "debian" else " ".join(suites)
            kept = {"Components": entry.get("Components", "main"), "URIs": entry["URIs"], "Suites": wanted}
            if "Signed-By" in entry:
                kept["Signed-By"] = entry["Signed-By"]
            return "Types: deb\n" + "".join(f"{key}: {value}\n" for key, value in kept.items())
    raise EngineError("no package mirror of its distribution in the machine's sources", where=wanted.where)


def sources(folder: Path) -> Iterator[dict[str, str]]:
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


def unpack(packages: list[Path], root: Path, wanted: Wanted) -> None:
    """All packages into one root, but for what is large and holds no library."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for package in packages:
        if not re.match(r"(lib)?perl|libicu-dev|debconf|.*-data_", package.name):  # large, and no library among them
            run(["dpkg-deb", "-x", str(package), str(root)], wanted)


def own_libraries(program: Path, root: Path, wanted: Wanted) -> list[Path]:
    """The libraries that an unpacked program needs, all of them from the same folder; its loader comes last."""
    loader = next(path for path in sorted(root.rglob("ld-linux-*.so.*")) if path.exists())
    folders = {str(path.parent) for path in root.rglob("lib*.so*")}
    listing = [str(loader), "--library-path", ":".join(sorted(folders)), "--list", str(program)]
    return [path for path in libraries(listing, wanted) if not path.name.startswith("ld-")] + [loader]


def libraries(listing: list[str], wanted: Wanted) -> list[Path]:
    """The files in what a loader lists."""
    text = run(listing, wanted, os.environ | {"LC_ALL": "C"})
    if missing := re.search(r"(\S+) => not found", text):
        raise EngineError(f"its library {missing[1]} is missing", where=wanted.title)
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", text, re.MULTILINE)]


@contextmanager
def lock(target: Path) -> Iterator[None]:
    """Be the only one who makes a folder; what killed makers left of it goes."""
    with open(target.with_name(f"{target.name}.lock"), "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for remains in target.parent.glob(f"{target.name}.new-*"):
            shutil.rmtree(remains)
        yield


def run(arguments: list[str], wanted: Wanted, environment: dict | None = None) -> str:
    """A command's output. EngineError with its first complaint if it fails."""
    done = subprocess.run(
        arguments, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        check=False,
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit status {done.returncode}"]
        loud = [line for line in lines if line.startswith("E:")]
        what = without_paths((loud or lines)[0].removeprefix("E: "))
        raise EngineError(f"{Path(arguments[0]).name}: {what}", where=wanted.where)
    return done.stdout
