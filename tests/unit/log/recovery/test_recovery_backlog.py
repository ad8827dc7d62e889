"""The logs that a start would read longest set their recovery points early."""

from dataclasses import dataclass

from duolog.log.recovery.recovery_backlog import LOGS_AT_ONCE, logs_to_save


@dataclass
class Log:
    unsaved_bytes: int


def test_nothing_is_saved_within_the_bound() -> None:
    assert logs_to_save([Log(40), Log(0), Log(60)], 100) == []


def test_above_the_limit_the_largest_are_saved_first() -> None:
    logs = [Log(size) for size in (0, 10, 70, 30, 50, 20, 60)]

    chosen = logs_to_save(logs, 200)

    assert [log.unsaved_bytes for log in chosen] == [70, 60, 50, 30]
    assert len(chosen) == LOGS_AT_ONCE


def test_a_log_with_nothing_to_save_is_never_chosen() -> None:
    assert [log.unsaved_bytes for log in logs_to_save([Log(0), Log(9)], 5)] == [9]
