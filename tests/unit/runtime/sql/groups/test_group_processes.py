import time
from unittest.mock import MagicMock

import pytest

from duolog.runtime.sql.groups.group_processes import GroupProcesses
from duolog.runtime.sql.groups.limits import JvmLimits


@pytest.mark.parametrize(
    ("silent_s", "has_answered", "is_killed"),
    [(5.0, False, False), (61.0, False, True), (5.0, True, True), (1.0, True, False)],
)
def test_a_process_that_still_loads_its_modules_is_not_silent(
    silent_s: float, *, has_answered: bool, is_killed: bool
) -> None:
    """On a busy machine it was killed before its first message, again and again."""
    process = MagicMock(group="heavy", has_ended=False, is_closing=False)
    process.has_answered = has_answered
    process.silent_s.return_value = silent_s
    processes = GroupProcesses(JvmLimits(answer_timeout_s=1.5), lambda _group, _limits: process)
    processes.get("heavy")

    processes.look({"heavy"})

    assert process.kill.called == is_killed
    assert process.silent_s.call_args.args[0] <= time.monotonic()
