"""workbench: measuring text-to-SQL across database engines.

Names load on first use, so that a command needs only the libraries of its own step.
"""

from importlib import import_module

_HOMES = {
    "read_benchmark": "benchmarks",
    "Schema": "schema",
    "read_predictions": "predictions",
    "import_predictions": "import_predictions",
    "prepare": "migrate",
    "generate": "generate",
    "score": "score",
    "explain": "score",
    "study": "study",
    "accuracy": "study",
    "figures": "study",
    "show": "study",
    "Limits": "backends",
    "connect": "results",
    "Run": "results",
    "run_config": "run_notebooks",
    "WorkbenchError": "errors",
}
__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    return getattr(import_module(f"workbench.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
