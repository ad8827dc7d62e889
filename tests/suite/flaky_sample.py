"""Tests that pass or fail as the environment says; `test_flaky.py` runs them, the suite does not collect them.

SAMPLE_STATE names a directory, in which each run of a test leaves a file.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("SAMPLE_STATE" not in os.environ, reason="run by test_flaky.py")


def _runs(name: str) -> int:
    """Return which run of this test it is, from 1."""
    state = Path(os.environ["SAMPLE_STATE"])
    count = len(list(state.glob(f"{name}.*"))) + 1
    (state / f"{name}.{count}").touch()
    return count


@pytest.fixture
def fails_in_the_first_teardown() -> Iterator[None]:
    yield
    assert _runs("teardown") > 1, "teardown of the first run"


def test_passes() -> None:
    pass


def test_fails_once() -> None:
    run = _runs("once")
    sys.stdout.write(f"printed by run {run}\n")
    assert run > 1, "failure of the first run"


def test_fails_twice() -> None:
    run = _runs("twice")
    assert run > 2, f"failure of run {run}"


def test_is_skipped_by_itself() -> None:
    if _runs("skipped") > 1:
        pytest.skip("the second run")
    pytest.fail("failure of the first run")


def test_crashes_once() -> None:
    if _runs("crash") == 1:
        os._exit(3)


def test_fails_in_its_first_teardown(fails_in_the_first_teardown: None) -> None:
    pass


@pytest.mark.parametrize("number", range(11))
def test_many_fail(number: int) -> None:
    assert _runs(f"many {number}") > 1
