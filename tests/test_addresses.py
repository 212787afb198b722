"""Wrong addresses of users' own servers: one line, in time, without the password, and the other engines go on."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import quote

import pytest

from workbench.backends import get_backend
from workbench.errors import EngineError

PASSWORD = "s3cr&t/p@ss#w:rd"
SCHEMES = {"postgres": "postgresql", "mysql": "mysql", "clickhouse": "clickhouse"}
NO_ADDRESS = {
    "postgres": "not a connection string",
    "mysql": "not a MySQL address",
    "clickhouse": "not a ClickHouse address",
}
SECONDS = 60  # a driver waits 5 for an answer, not for ever; the rest is for a busy machine

# id -> address; {s}: scheme, {p}: the password as it must be written
GARBAGE = {
    "words": f"{PASSWORD} is garbage",
    "a word": "s3cr&t",
    "a scheme": "{s}://",
    "another scheme": "redis://me:{p}@127.0.0.1:6379/",
    "an unescaped password": "{s}://me:" + PASSWORD + "@127.0.0.1:5432/x",
    "a port that is no number": "{s}://me:{p}@127.0.0.1:port/x",
    "half an address": "{s}://me:{p}@[half",
}


def refused(engine: str, address: str, monkeypatch) -> str:
    """The line with which an engine refuses an address."""
    text = address.format(s=SCHEMES[engine], p=quote(PASSWORD, safe=""))
    monkeypatch.setenv(f"WORKBENCH_{engine.upper()}_DSN", text)
    started = time.monotonic()
    with pytest.raises(EngineError) as caught:
        get_backend(engine).start()
    assert time.monotonic() - started < SECONDS
    line = str(caught.value)
    assert line.isprintable() and len(line) < 400
    assert not [part for part in (PASSWORD, quote(PASSWORD, safe=""), "s3cr", "p@ss", "w:rd") if part in line]
    assert caught.value.__cause__ is None  # whose text a traceback would print
    return line


@pytest.mark.parametrize("engine", SCHEMES)
@pytest.mark.parametrize("address", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_not_quoted(engine, address, monkeypatch, capfd):
    line = refused(engine, address, monkeypatch)
    assert line.startswith(f"WORKBENCH_{engine.upper()}_DSN: {NO_ADDRESS[engine]} (like {SCHEMES[engine]}://user")
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def ports():
    """Ports of this machine: one that nobody listens on, one that never answers, one of a web server."""
    with socket.socket() as closed, socket.socket() as silent:
        for each in (closed, silent):
            each.bind(("127.0.0.1", 0))
        silent.listen(50)
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        web.RequestHandlerClass.log_message = lambda *_: None
        threading.Thread(target=web.serve_forever, daemon=True).start()
        names = {"closed": closed, "silent": silent}
        yield {name: each.getsockname()[1] for name, each in names.items()} | {"web": web.server_port}
        web.shutdown()
        web.server_close()


WAIT = "a web server"  # for which PostgreSQL's and MySQL's drivers wait five seconds
WRONG = {
    "nobody listens": ("127.0.0.1", "closed", dict.fromkeys(SCHEMES, "Connection refused")),
    "no answer": (
        "127.0.0.1",
        "silent",
        {"postgres": "timeout expired", "mysql": "timed out", "clickhouse": "timed out"},
    ),
    WAIT: (
        "127.0.0.1",
        "web",
        {"postgres": "timeout expired", "mysql": "timed out", "clickhouse": "no answer of a ClickHouse server"},
    ),
    "no such host": (
        "no.such.host.invalid",
        "closed",
        {"postgres": "failed to resolve host", "mysql": "not known", "clickhouse": "not known"},
    ),
}


CASES = [
    pytest.param(
        engine,
        *case,
        id=f"{name}-{engine}",
        marks=[pytest.mark.slow] if name == WAIT and engine != "clickhouse" else [],
    )
    for name, case in WRONG.items()
    for engine in SCHEMES
]


@pytest.mark.parametrize(("engine", "host", "port", "words"), CASES)
def test_a_wrong_place_is_named(engine, host, port, words, ports, monkeypatch, capfd):
    line = refused(engine, "{s}://me:{p}@" + f"{host}:{ports[port]}/x", monkeypatch)
    assert line.startswith(f"{engine} at {host}:{ports[port]}: ") and words[engine] in line
    assert line.endswith(f"(see WORKBENCH_{engine.upper()}_DSN)")
    assert capfd.readouterr() == ("", "")  # no driver's own lines


def test_the_other_engines_are_listed_beside_garbage():
    addresses = {f"WORKBENCH_{engine.upper()}_DSN": PASSWORD for engine in SCHEMES}
    command = [sys.executable, "-m", "workbench.cli", "engines", "--json"]
    done = subprocess.run(command, env=os.environ | addresses, capture_output=True, text=True)
    rows = {row["engine"]: row for row in json.loads(done.stdout)}
    assert done.returncode == 0 and done.stderr == "" and "s3cr" not in done.stdout
    assert all(rows[engine]["version"] and rows[engine]["problem"] is None for engine in ("sqlite", "duckdb"))
    assert all(NO_ADDRESS[engine] in rows[engine]["problem"] for engine in SCHEMES)
