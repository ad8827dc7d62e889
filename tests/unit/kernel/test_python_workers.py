"""Python processes of the kernel that would be orphaned, without Spark; and syncs that are pending after a stop."""

import os
import sys
from pathlib import Path
from typing import Final

from unit.kernel.java_program import run_java

WORKER: Final = """
import struct, sys
inp, out = sys.stdin.buffer, sys.stdout.buffer
while head := inp.read(12):
    kind, _, length = struct.unpack(">iii", head)
    body = inp.read(length)
    said = (b"-no such module" if body == b"cannot" else b"+") if kind == 1 else b'+{"r":1}\\n'
    out.write(struct.pack(">i", len(said)) + said)
    out.flush()
"""


def test_a_function_that_cannot_be_loaded_leaves_no_process_and_idle_ones_end_by_themselves() -> (
    None
):
    """One stayed for each task and attempt; and those that were idle as the last query ended, for good."""
    reported = run_java("WorkerProcessCounts", sys.executable, "-c", WORKER, timeout_s=60)

    assert reported == ["failed", "0", "1", "0"]


def test_a_sync_waits_for_an_earlier_interrupted_sync(
    tmp_path: Path,
) -> None:
    """After a stop in between, the next commit used to treat unfinished writes as durable."""
    pipe = tmp_path / "entry"
    os.mkfifo(pipe)

    reported = run_java("InterruptedSync", pipe, timeout_s=60)

    # A pipe cannot be synced; that it was tried counts.
    assert reported == ["stopped", "waits", "failed"]
