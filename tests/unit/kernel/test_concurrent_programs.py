"""Instances of the same program have separate state in any task: in Java, without Spark."""

import pytest

from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)


def test_twins_that_write_json_in_two_threads_write_each_their_own() -> None:
    assert run_java("ConcurrentPrograms", 100_000) == ["0"]
