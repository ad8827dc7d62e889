"""A failed test runs once more by itself; if it passes then, the run is green and names it."""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SAMPLE: Final = "tests/suite/flaky_sample.py"

pytestmark = pytest.mark.timeout(600)


def _test(state: Path, *arguments: str, ci: str = "true") -> subprocess.CompletedProcess[str]:
    """Run the script, as `.ci/run` does."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    return subprocess.run(
        [str(ROOT / "scripts/test"), "-p", "no:randomly", *arguments],
        env={**environment, "CI": ci, "SAMPLE_STATE": str(state)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _closing(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.rstrip().rpartition("\n")[2].strip("= ")


def test_tests_that_pass_by_themselves_are_flaky_and_the_run_is_green(tmp_path: Path) -> None:
    """A failure, a failure of a teardown, and a crash of the worker."""
    tests = "test_passes or test_fails_once or test_crashes_once or first_teardown"

    done = _test(tmp_path, "-n2", SAMPLE, "-k", tests)

    assert done.returncode == 0, done.stdout
    assert re.fullmatch(r"1 passed, 3 flaky in .*", _closing(done))
    for name in ("test_fails_once", "test_crashes_once", "test_fails_in_its_first_teardown"):
        assert f"\nFLAKY {SAMPLE}::{name} - " in done.stdout
    assert "AssertionError: failure of the first run" in done.stdout
    assert "AssertionError: teardown of the first run" in done.stdout
    assert "crashed while running" in done.stdout
    assert "printed by run 1" in done.stdout
    assert "printed by run 2" in done.stdout


def test_tests_that_fail_twice_or_are_skipped_by_themselves_are_red(tmp_path: Path) -> None:
    tests = "test_passes or test_fails_once or test_fails_twice or skipped_by_itself"

    done = _test(tmp_path, SAMPLE, "-k", tests)

    assert done.returncode == 1
    assert re.fullmatch(r"2 failed, 1 passed, .*deselected, 1 flaky in .*", _closing(done))
    assert "AssertionError: failure of run 1" in done.stdout
    assert "AssertionError: failure of run 2" in done.stdout
    assert f"\nFLAKY {SAMPLE}::test_fails_once - " in done.stdout
    assert f"\nFLAKY {SAMPLE}::test_fails_twice" not in done.stdout


def test_many_failures_are_a_broken_build_and_none_runs_again(tmp_path: Path) -> None:
    done = _test(tmp_path, f"{SAMPLE}::test_many_fail")

    assert done.returncode == 1
    assert re.fullmatch(r"11 failed in .*", _closing(done))
    assert "11 tests failed, more than 10" in done.stdout
    assert len(list(tmp_path.iterdir())) == 11


@pytest.mark.parametrize(
    ("arguments", "ci"),
    [((), "false"), (("-x",), "true")],
    ids=["outside of CI", "a run that stopped at its first failure"],
)
def test_nothing_runs_again(tmp_path: Path, arguments: tuple[str, ...], ci: str) -> None:
    done = _test(tmp_path, f"{SAMPLE}::test_fails_once", *arguments, ci=ci)

    assert done.returncode != 0
    assert _closing(done).startswith("1 failed in ")
    assert [path.name for path in tmp_path.iterdir()] == ["once.1"]
