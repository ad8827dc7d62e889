"""Each program under `examples/` runs alone, succeeds, and prints what to notice.

Those that need nothing but the JVM of the test run are in `test_examples_on_one_jvm.py` too; here
they start their own with `--deep`, as does a program that takes minutes.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
PROGRAMS: Final = sorted(path.name for path in EXAMPLES.glob("[0-9]*.py"))
ON_ONE_JVM: Final = (
    "02_ledger_and_total.py",
    "03_chess.py",
    "04_duality.py",
    "05_visited_places.py",
    "06_last_known_place.py",
    "07_enrichment.py",
    "08_alert.py",
    "13_skew_and_compaction.py",
    "14_exactly_once.py",
    "17_lookups.py",
    "18_quiet_sensors.py",
)
# Kills and restarts its engine several times.
LONG: Final = ("11_crash.py",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.deep] * (name in ON_ONE_JVM or name in LONG))
        for name in PROGRAMS
    ],
)
def test_example_runs_by_itself(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    assert "Note: " in done.stdout


@pytest.mark.parametrize(
    "words", [["-k", "not engine"], pytest.param(["-k", "engine"], marks=pytest.mark.deep)]
)
def test_the_tests_of_a_topology_pass(words: list[str]) -> None:
    """Run the command of the examples' README, without the JVM test, which needs `--deep`."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words, "examples/testing"],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_every_example_is_listed_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text()

    assert [name for name in PROGRAMS if f"`{name}`" not in readme] == []
