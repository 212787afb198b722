"""How near asking a model comes to what its server allows, with everything stored: `python speed/generation.py`.

    rate      answers a second over what 64 concurrent calls of 200 ms allow (320); parts, journal and extraction included
    memory    peak of the asking process for 1,000 and for 10,000 questions

In: nothing; a server in a process of its own answers after its latency. Out: a table on standard output. Start-up of the
interpreter and the reading of the benchmark are not counted, the first answer to the last part written is.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

LATENCY, CONCURRENCY = 0.2, 64  # seconds, calls
LIMIT_PERCENT = 75.0


def ask_once(url: str, questions: int, target: str, latency: float) -> dict:
    """Ask everything in a process of its own; what it measured."""
    code = [sys.executable, __file__, "child", url, str(questions), target, str(latency)]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def child(url: str, questions: int, target: str, latency: float) -> None:
    from asked_benchmark import make_benchmark

    import workbench as wb

    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORKBENCH_ROOT"] = folder
        os.environ["WORKBENCH_CACHE"] = f"{folder}/cache"
        benchmark = wb.read_benchmark(make_benchmark(Path(folder) / "benchmark", questions))
        model = {
            "name": "m",
            "provider": "openai",
            "base_url": url,
            "targets": [target],
            "is_constrained": False,
            "limits": {"concurrency": CONCURRENCY},
        }
        wb.generate("warm", benchmark, [model], limit=CONCURRENCY)  # imports, connections of the server
        begun = time.monotonic()
        done = wb.generate("r", benchmark, [model])
        seconds = time.monotonic() - begun
        assert done.rows == questions and done.is_whole, done
        rows = wb.Run.open("r").table("generations")
        assert rows.height == questions and set(rows["parse_status"]) == {"ok"}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    possible = CONCURRENCY / latency
    print(json.dumps({"rate": questions / seconds, "percent": 100 * questions / seconds / possible, "memory": memory}))


def main() -> int:
    server = subprocess.Popen(
        [sys.executable, str(HERE.parent / "tests" / "model_server.py"), str(LATENCY)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = server.stdout.readline().strip()
        print(
            f"{CONCURRENCY} calls of {LATENCY * 1000:.0f} ms at a time, at most {CONCURRENCY / LATENCY:.0f} answers a second"
        )
        worst = 100.0
        for target, questions in (("sql", 3000), ("plan", 3000)):
            found = ask_once(url, questions, target, LATENCY)
            worst = min(worst, found["percent"])
            print(
                f"{target:5} {questions:6} questions  {found['rate']:6.1f}/s  {found['percent']:5.1f} %  {found['memory']:5.0f} MB"
            )
        small, large = (ask_once(url, questions, "sql", LATENCY)["memory"] for questions in (1000, 10_000))
        print(f"memory   1,000 questions {small:.0f} MB, 10,000 questions {large:.0f} MB")
    finally:
        server.kill()
        server.wait()
    return 0 if worst >= LIMIT_PERCENT else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
    else:
        sys.exit(main())
