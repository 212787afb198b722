"""Shared fixtures: a private results root and cache for every test, and the real benchmark slices where they are."""

import shutil
import tempfile
import time
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


# begun first, so that the others fill in beside them
LONGEST = (
    "test_run",
    "test_mutation_study",
    "test_local_model",
    "test_attacks",
    "test_mysql",
    "test_gate",
    "test_secrets",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first; the rest stays in order. What needs Apache Calcite runs when it is asked for."""
    if "calcite" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("calcite"):
                item.add_marker(pytest.mark.skip(reason="opt in with -m calcite"))
    place = {name: index for index, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real benchmark slices and predictions; tests that need it skip by name without it."""
    if not (SHARED / "data").is_dir():
        pytest.skip("../shared/data is not here: real benchmark slices are needed")
    return SHARED


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """An empty place for results/ and figures/."""
    monkeypatch.setenv("WORKBENCH_ROOT", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """One cache for the whole test session, apart from the user's own, and one temporary folder beside it.

    A server's unprivileged user can enter both and write into the latter; short names leave room for sockets. At the end
    both are gone; the tests' own folders stay where pytest keeps them.
    """
    tmp_path_factory.getbasetemp()
    folder = Path(tempfile.mkdtemp(prefix="workbench-test-"))
    for each, mode in ((folder, 0o711), (folder / "cache", 0o711), (folder / "tmp", 0o1777)):
        each.mkdir(exist_ok=True)
        each.chmod(mode)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(folder / "cache"))
        patch.setenv("TMPDIR", str(folder / "tmp"))
        patch.setattr(tempfile, "tempdir", None)  # so that the variable is read again
        yield folder / "cache"
    deadline = time.monotonic() + 30
    while folder.exists() and time.monotonic() < deadline:  # a server that is just ending may still write there
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)
    assert not folder.exists(), f"left behind: {list(folder.rglob('*'))[:9]}"
