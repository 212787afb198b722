"""`workbench run CONFIG`: the notebooks in the data's order, through papermill, with the config's parameters.

Every step keeps what it has done, so a run that was stopped goes on where it stopped, and a finished one changes nothing.
The executed notebooks are kept beside the results; they replace the last ones only once they are complete.
"""

import errno
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nbclient.exceptions import DeadKernelError
from tqdm import tqdm
from traitlets.config import Config as KernelConfig
from zmq import ZMQError

from workbench import errors, paths
from workbench.backends import get_backend
from workbench.benchmarks import read_benchmark
from workbench.config import Config, read_config
from workbench.errors import EngineError, ResultsError
from workbench.generate import check_benchmark
from workbench.header import describe_run
from workbench.import_predictions import problems, read_distinct
from workbench.llm import check_model
from workbench.progress import FILE_VARIABLE, read_report
from workbench.results import Run, content_hash

NOTEBOOKS = {  # in the data's order, and the figures each draws; those of none always run, others where a figure is asked for
    "01_prepare": (),
    "02_generate": (),
    "03_score": (),
    "04_portability": ("portability", "fine_tuning"),
    "05_crossover": ("crossover",),
    "06_errors": ("errors_by_category", "errors_by_model", "failures"),
    "07_meta_analysis": ("meta_forest", "meta_coefficients", "meta_heterogeneity"),
    "08_efficiency_and_structure": (
        "accuracy",
        "jaccard",
        "ves",
        "accuracy_by_difficulty",
        "jaccard_by_difficulty",
        "ves_by_difficulty",
        "error_types",
    ),
}
TIMED = {"ves", "ves_by_difficulty"}  # figures that need right answers timed
_CELL_SECONDS = 24 * 3600  # no cell may hang for ever; steps have limits of their own


def run_config(config: Config | str | Path) -> list[Path]:
    """Run the notebooks that a configuration needs; returns the files of the figures."""
    config = config if isinstance(config, Config) else read_config(config)
    missing = [name for name in notebooks_of(config) if not (paths.NOTEBOOKS / f"{name}.ipynb").is_file()]
    if missing:
        raise ResultsError(
            f"notebook {missing[0]}.ipynb is not there",
            where=paths.NOTEBOOKS,
            hint="run from a checkout of the project",
        )
    _check_inputs(config)
    run = Run.create(config.run)
    with ExitStack() as stack:
        stack.enter_context(run.locked())
        describe_run(
            run, status="running", config=config.model_dump(), seed=config.seed, question_limit=config.question_limit
        )
        _hold_engines(config, stack)
        try:
            _run_all(run, config)
        except BaseException:
            describe_run(run, status="failed")
            raise
        describe_run(run, status="complete")
    return sorted(paths.figures_dir(run.path).glob("*.*"))


def _check_inputs(config: Config) -> None:
    """Refuse what a later notebook would stumble over: the benchmark, prediction files, models' names."""
    benchmark = read_benchmark(config.benchmark, databases=config.databases)
    if (paths.run_dir(config.run) / "run.json").is_file():
        check_benchmark(Run.open(config.run), benchmark)
    files = [(file, model.name, model.engine) for model in config.models for file in model.files]
    for problem in (*benchmark.problems, *problems(read_distinct(files, benchmark))):
        print(f"workbench: warning: {problem}", file=sys.stderr)
    for model in config.models:
        if model.provider != "predictions" and not model.is_optional:
            check_model(model, is_asking=False)


def notebooks_of(config: Config) -> list[str]:
    return [name for name, drawn in NOTEBOOKS.items() if not drawn or set(drawn) & set(config.figures)]


def parameters(run: Run, config: Config, name: str) -> dict[str, object]:
    """What a notebook's parameters cell may be given; it takes those it names. figure_names: of the config's, its own."""
    return {
        "run": str(run.path),
        "benchmark": config.benchmark,
        "databases": config.databases,
        "engines": list(config.engines),
        "models": [model.model_dump() for model in config.models],
        "question_limit": config.question_limit,
        "figure_names": [figure for figure in config.figures if figure in NOTEBOOKS[name]],
        "limits": config.limits.model_dump(),
        "repeats": config.repeats if TIMED & set(config.figures) else 0,
        "seed": config.seed,
    }


def _hold_engines(config: Config, stack: ExitStack) -> None:
    """Keep embedded servers up from the first notebook to the last; one that is absent is said here and in its rows."""
    for name in config.engines:
        backend = get_backend(name)
        try:
            backend.start()
        except EngineError as error:
            print(f"going on without {name}: {error}", file=sys.stderr)
        else:
            stack.callback(backend.stop)


def _run_all(run: Run, config: Config) -> None:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # what it says of a lost kernel is in our own line
    names = notebooks_of(config)
    folder = run.path / "notebooks"
    folder.mkdir(exist_ok=True)
    with _kernel_surroundings(run) as private, _bar(private / "progress.json", len(names)) as bar:
        for name in names:
            bar.set_description(name)
            values = parameters(run, config, name)
            source, draft = paths.NOTEBOOKS / f"{name}.ipynb", folder / f".{name}.tmp.ipynb"
            known = papermill.inspect_notebook(str(source))
            try:
                papermill.execute_notebook(
                    str(source),
                    str(draft),
                    parameters={key: value for key, value in values.items() if key in known},
                    kernel_name="python3",
                    progress_bar=False,
                    cwd=str(paths.root()),
                    execution_timeout=_CELL_SECONDS,
                    config=_private_kernel(private),
                    extra_arguments=["--log-level=50"],
                )
            except PapermillExecutionError as error:
                kept = draft.replace(folder / f"{name}.failed.ipynb")
                what = error.evalue if hasattr(errors, error.ename) else f"{error.ename}: {error.evalue}"
                raise ResultsError(f"{name} stopped: {what}", hint=f"see {kept}") from None
            except (RuntimeError, OSError, ZMQError) as error:  # the kernel's: a cell's own come as the one above
                raise ResultsError(f"{name} stopped: {_kernel_fault(error)}", hint=_kernel_hint(error)) from None
            draft.replace(folder / f"{name}.ipynb")
            (folder / f"{name}.failed.ipynb").unlink(missing_ok=True)
            (private / "progress.json").unlink(missing_ok=True)
            bar.set_postfix_str("", refresh=False)
            bar.update(int(bar.n) + 1 - bar.n)


def _kernel_fault(error: Exception) -> str:
    """Why a kernel is gone, never came or cannot be reached."""
    if isinstance(error, DeadKernelError) or "Kernel died" in str(error):
        return "its kernel died"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"its kernel: {str(error).splitlines()[0]}"


def _kernel_hint(error: Exception) -> str:
    is_long = getattr(error, "errno", None) == errno.ENAMETOOLONG
    return "set TMPDIR to a folder like /tmp" if is_long else "give the same command again"


def _private_kernel(folder: Path) -> KernelConfig:
    """Kernels are spoken to over sockets of this account's own: over TCP others on the machine could listen in."""
    connection = {"transport": "ipc", "ip": str(folder / "kernel"), "connection_file": str(folder / "kernel.json")}
    return KernelConfig({"KernelManager": connection})


@contextmanager
def _kernel_surroundings(run: Run) -> Iterator[Path]:
    """A private folder for the kernels' sockets and progress, and the variables that they inherit.

    Its path is short, since a socket's may have 107 bytes, and the run's own: what a killed one left goes first.
    """
    folder = Path(tempfile.gettempdir(), f"workbench-run-{os.getuid()}-{content_hash(str(run.path))[:12]}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    variables = {
        FILE_VARIABLE: str(folder / "progress.json"),
        "WORKBENCH_LOCKED_RUN": str(run.path),
        "WORKBENCH_RUNNER_PID": str(os.getpid()),
        "JUPYTER_RUNTIME_DIR": str(folder),
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel, not one of the same name in the home folder
        "MPLBACKEND": "agg",
        "POLARS_FMT_MAX_ROWS": "-1",
        "POLARS_FMT_MAX_COLS": "-1",
    }
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for key, value in before.items():
            os.environ.pop(key, None) if value is None else os.environ.update({key: value})


@contextmanager
def _bar(progress_file: Path, total: int) -> Iterator[tqdm]:
    """One bar over all notebooks, moved within each by what the running step reports."""
    over = threading.Event()
    form = "{desc}{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    # into a file or a pipe a line every ten seconds is enough
    every = 0.3 if sys.stderr.isatty() else 10
    with tqdm(total=total, bar_format=form, dynamic_ncols=True, mininterval=every, maxinterval=every) as bar:

        def follow() -> None:
            while not over.wait(0.3):
                report = read_report(progress_file)
                if report is not None:
                    label, done, total = report
                    bar.set_postfix_str(f"{label} {done}/{total}", refresh=False)
                    bar.update(max(0.0, int(bar.n) + 0.95 * done / max(total, 1) - bar.n))
                if sys.stderr.isatty():
                    bar.refresh()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield bar
        finally:
            over.set()
            thread.join()
