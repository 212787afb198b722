"""Where things lie: the only module that knows the project's folders.

ROOT is the checkout. `WORKBENCH_ROOT` moves results/ and figures/ elsewhere, `WORKBENCH_CACHE` moves the cache
(engines' data, copied databases, executed results); both are made when first needed.
"""

import os
import sys
from pathlib import Path

from workbench.errors import ConfigError

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent
NOTEBOOKS = CHECKOUT / "notebooks"
PUBLISHED = "published"  # stands where a run's name would


def real(path: str | Path) -> Path:
    """The absolute path, its links followed. `Path.resolve` before Python 3.13 ends with RuntimeError at a loop of links;
    here it stays, so that whoever opens the path says what is wrong with it. ConfigError for what no path can hold.
    """
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:  # a NUL
        raise ConfigError(f"{str(path)[:60]!a} is no path: {error}") from error


def root() -> Path:
    """The folder that holds results/ and figures/."""
    return real(os.environ.get("WORKBENCH_ROOT") or CHECKOUT)


def results_dir() -> Path:
    return root() / "results"


def published_dir() -> Path:
    """Figures printed in the papers, as parquet; part of the checkout, no run."""
    return CHECKOUT / "results" / PUBLISHED


def run_dir(run: str | Path) -> Path:
    """A run's folder: a bare name lies under results/, anything with a separator is a path. ConfigError for no name."""
    text = str(run)
    if os.sep not in text and text not in (".", ".."):
        return results_dir() / check_name(text, "a run")
    path = real(text)
    check_name(path.name, "a run")
    return path


def check_name(name: str, of_what: str) -> str:
    """The name, if files, tables and terminals can all hold it: 1 to 100 printable characters."""
    encodable = name.encode(sys.getfilesystemencoding(), "ignore").decode(sys.getfilesystemencoding())
    if not name.strip() or len(name) > 100 or not name.isprintable() or name[0] in "-." or encodable != name:
        hint = "1 to 100 printable characters that this system can write, not beginning with - or ."
        raise ConfigError(f"{name[:60]!a} cannot be the name of {of_what}", hint=hint)
    return name


def figures_dir(run: str | Path) -> Path:
    """Where the figures of a run are drawn."""
    return root() / "figures" / run_dir(run).name


def programs_dir() -> Path:
    """Programs that were fetched because the machine lacks them; they outlive every cache but `make clean`."""
    path = CHECKOUT / ".cache" / "programs" if (CHECKOUT / "pyproject.toml").exists() else cache_dir("programs")
    path.mkdir(parents=True, exist_ok=True)
    return path


def cache_path(*parts: str) -> Path:
    """A place in the cache, whether anything is there or not. Everything in it can be deleted and comes back."""
    return real(os.environ.get("WORKBENCH_CACHE") or root() / ".cache" / "workbench").joinpath(*parts)


def cache_dir(*parts: str) -> Path:
    """A folder of the cache, made if it is not there."""
    path = cache_path(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path
