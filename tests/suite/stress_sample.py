"""Run by `test_stress.py` as `scripts/test --stress`; the suite does not collect it."""

import os
from pathlib import Path


def test_the_parent_keeps_each_core_busy() -> None:
    parent = os.getppid()
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()

    assert len(children) == 1 + len(os.sched_getaffinity(0))
