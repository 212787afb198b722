"""Places: links are followed, and what cannot be followed is no crash."""

import pytest

from workbench import paths
from workbench.errors import ConfigError
from workbench.results import Run


def test_a_loop_of_links_stays_a_path(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert paths.real(tmp_path / "loop" / "x") == tmp_path / "loop" / "x"


@pytest.mark.parametrize("use", [paths.real, paths.run_dir, Run.open, Run.create], ids=lambda use: use.__qualname__)
def test_a_nul_is_refused(use):
    with pytest.raises(ConfigError, match=r"'./a\\x00b' is no path"):
        use("./a\0b")
