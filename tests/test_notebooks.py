"""Notebooks call, show and say why: one parameters cell, no logic, no outputs."""

import ast
import re

import nbformat
import pytest

from workbench import paths
from workbench.config import Config
from workbench.figures import FIGURES
from workbench.run_notebooks import NOTEBOOKS, notebooks_of

FILES = sorted(paths.NOTEBOOKS.glob("*.ipynb"))


def _cells(path, kind="code"):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def test_the_run_takes_every_notebook_in_order():
    numbered = [path.stem for path in FILES if path.stem[0].isdigit()]
    assert numbered == list(NOTEBOOKS)  # the others wait for a person


def test_every_figure_has_one_notebook():
    assert sorted(figure for drawn in NOTEBOOKS.values() for figure in drawn) == sorted(FIGURES)


@pytest.mark.parametrize(
    "figures", [[], ["portability"], ["crossover"], list(FIGURES)], ids=lambda names: "+".join(names)[:20]
)
def test_a_run_takes_the_notebooks_that_its_figures_need(figures):
    config = Config(
        run="r", benchmark="bundled", models=[{"name": "simulated-3b", "provider": "simulated"}], figures=figures
    )
    taken = notebooks_of(config)
    assert taken[:3] == ["01_prepare", "02_generate", "03_score"]
    assert taken[3:] == [name for name in NOTEBOOKS if set(NOTEBOOKS[name]) & set(figures)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
class TestNotebook:
    def test_is_valid_and_stored_without_outputs(self, path):
        nbformat.validate(nbformat.read(path, as_version=4))
        for cell in _cells(path):
            assert cell.outputs == [] and cell.execution_count is None

    def test_has_one_parameters_cell(self, path):
        tagged = ["parameters" in cell.metadata.get("tags", []) for cell in _cells(path)]
        assert tagged[0] and sum(tagged) == 1

    def test_holds_no_logic_and_one_call_a_cell(self, path):
        for cell in _cells(path)[1:]:
            tree = ast.parse(cell.source)
            logic = (
                ast.FunctionDef,
                ast.ClassDef,
                ast.For,
                ast.While,
                ast.If,
                ast.With,
                ast.Try,
                ast.Lambda,
                ast.ListComp,
            )
            assert not [node for node in ast.walk(tree) if isinstance(node, logic)], cell.source
            lines = [line for line in cell.source.splitlines() if line.strip() and not line.startswith("import ")]
            assert len(lines) <= 3, cell.source

    def test_names_no_path(self, path):
        for cell in _cells(path)[1:]:
            assert not re.search(r"[\"'][^\"']*[/\\][^\"']*[\"']", cell.source), cell.source

    def test_says_why(self, path):
        assert len(_cells(path, "markdown")) >= 3
