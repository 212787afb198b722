"""Places: links are followed, and what cannot be followed is no crash."""

import tempfile
from pathlib import Path

import pytest

from workbench import paths
from workbench.backends import server
from workbench.errors import ConfigError
from workbench.results import Run


def test_the_tests_leave_nothing_in_the_systems_temporary_folder(cache):
    """What servers and runs make lies in the session's own, also as root, whose servers run as somebody else."""
    assert Path(tempfile.gettempdir()) == server._short_temporary() == cache.parent / "tmp"


def test_a_loop_of_links_stays_a_path(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert paths.real(tmp_path / "loop" / "x") == tmp_path / "loop" / "x"


@pytest.mark.parametrize("use", [paths.real, paths.run_dir, Run.open, Run.create], ids=lambda use: use.__qualname__)
def test_a_nul_is_refused(use):
    with pytest.raises(ConfigError, match=r"'./a\\x00b' is no path"):
        use("./a\0b")
