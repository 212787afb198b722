"""Named points at which a run can be made to die as if the power had gone, so that recovery can be proved.

`WORKBENCH_KILL_POINT=part-half-written workbench run ...` kills the process that reaches the point, and the
`workbench run` that started it, with SIGKILL: no handler, no flush. Tests use it; nothing else sets it.
"""

import os
import signal

POINTS = {
    "part-half-written": "a parquet part is partly on disk under its temporary name",
    "result-before-flush": "a statement has answered, its result is not stored yet",
    "migration-half-loaded": "some tables of a database are in the engine, others are not",
    "server-up": "an embedded server has just become ready",
}
CALL_POINTS = {  # reached where an endpoint is asked
    "answer-before-flush": "a model's answer has arrived, its line is not in the journal yet",
    "answer-half-written": "a line of the journal is partly on disk",
}


def kill_point(name: str) -> None:
    """Die here when `WORKBENCH_KILL_POINT` names this point."""
    if name not in POINTS and name not in CALL_POINTS:
        raise KeyError(name)
    if os.environ.get("WORKBENCH_KILL_POINT") == name:
        runner = os.environ.get("WORKBENCH_RUNNER_PID")
        if runner:
            os.kill(int(runner), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
