"""A time limit that strikes inside a call into the JVM costs its own test and no other."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("time_limit_sample.py")


@pytest.mark.deep
def test_tests_after_one_that_timed_out_have_a_working_jvm() -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(PROGRAM)]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=250
    )

    assert "1 failed, 1 passed" in done.stdout, done.stdout
