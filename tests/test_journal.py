"""The journal on a disk that fills up: what was kept stays readable, what was not is said."""

import subprocess
import sys

CODE = """
import resource, signal, sys
from pathlib import Path
from workbench.errors import ResultsError
from workbench.journal import Journal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file's limit behaves as a disk's: a part is written, the next call fails
path = Path(sys.argv[1])
journal = Journal(path)
journal.answered(journal.begin("aa"), "aa", {"text": "kept"})
room = path.stat().st_size
number = journal.begin("bb")
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 40, hard))
try:
    journal.answered(number, "bb", {"text": "lost" * 100})
    raise SystemExit("a part was taken for the whole")
except ResultsError as error:
    assert "cannot be written" in str(error), error
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
journal.answered(journal.begin("cc"), "cc", {"text": "after"})
for each in (journal, Journal(path)):
    assert [each.find(key) and each.find(key)["text"] for key in ("aa", "bb", "cc")] == ["kept", None, "after"]
"""


def test_a_part_of_an_answer_is_none(tmp_path):
    subprocess.run([sys.executable, "-c", CODE, str(tmp_path / "m.jsonl")], check=True)
