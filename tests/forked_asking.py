"""Asks a model again and again, each time in a fork of this process, which has imported everything already.

In: a line [folder, url, kill point] of JSON for each go. Out: its process id as it starts, its exit code when it has ended.
"""

import json
import os
import sys
from pathlib import Path

import workbench as wb
import workbench.calls
import workbench.endpoint
import workbench.generate
import workbench.llm_openai


def ask(folder: str, url: str, point: str) -> None:
    os.environ |= {"WORKBENCH_ROOT": folder, "WORKBENCH_CACHE": f"{folder}/cache", "WORKBENCH_KILL_POINT": point}
    model = {"name": "m", "provider": "openai", "base_url": url, "limits": {"concurrency": 4}}
    wb.generate("r", wb.read_benchmark(Path(folder) / "benchmark"), [model])


for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        ask(*json.loads(line))
        os._exit(0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
