"""workbench: measuring text-to-SQL across database engines.

Names load on first use, so that a command needs only the libraries of its own step.
"""

import sys
from importlib import import_module
from types import ModuleType

_HOMES = {
    "read_benchmark": "benchmarks",
    "Schema": "schema",
    "Plan": "plan",
    "sql_to_plan": "sql_to_plan",
    "plan_to_sql": "plan_to_sql",
    "read_predictions": "predictions",
    "import_predictions": "import_predictions",
    "prepare": "migrate",
    "generate": "generate",
    "compare": "compare",
    "Limits": "backends",
    "score": "score",
    "explain": "explain",
    "time_pairs": "timing",
    "study": "study",
    "accuracy": "study",
    "figures": "study",
    "show": "study",
    "tables": "write_tables",
    "show_tables": "write_tables",
    "annotation_session": "annotations",
    "annotate": "annotations",
    "connect": "results",
    "Run": "results",
    "run_config": "run_notebooks",
    "WorkbenchError": "errors",
    "ParseError": "errors",
    "PlanError": "errors",
    "UnsupportedError": "errors",
}
__all__ = list(_HOMES)


class _Package(ModuleType):
    """A call may have its file's name (`score` in score.py): the call wins, the file is `from workbench.score import ...`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    return getattr(import_module(f"workbench.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
