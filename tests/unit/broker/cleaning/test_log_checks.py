"""Periodic checks of the logs continue after one of them fails."""

from time import monotonic
from typing import Any

import pytest

from duolog.broker.cleaning.cleaner import Cleaner
from duolog.broker.cleaning.recovery_point_task import RecoveryPoints
from duolog.broker.cleaning.retention_task import Retention
from duolog.log.group_commit import GroupCommit


@pytest.mark.parametrize(
    ("task", "part"),
    [(Retention, "_retain"), (Cleaner, "_cleanable"), (GroupCommit, "request_points")],
)
def test_a_look_that_fails_is_followed_by_another(
    task: type, part: str, open_harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = open_harness(
        log_retention_check_interval_ms="100", log_cleaner_backoff_ms="0", durability="fsync"
    )
    harness.topic("orders", cleanup_policy="compact")
    broker = harness.broker
    looks: list[object] = []

    def fail(*_: Any, **__: Any) -> None:
        looks.append(None)
        raise AssertionError("unexpected")

    monkeypatch.setattr(task, part, fail)
    monkeypatch.setattr("duolog.broker.cleaning.recovery_point_task._LOOK_SECONDS", 0.001)
    broker.retention.start()
    broker.cleaner.start()
    RecoveryPoints(broker.timers, broker._log_manager, broker.group_commit, 0).start()  # noqa: SLF001
    until = monotonic() + 60
    while len(looks) < 3 and monotonic() < until:
        harness.turn()

    assert len(looks) >= 3


def test_one_look_reports_when_expired_records_are_deleted(open_harness: Any) -> None:
    harness = open_harness()
    harness.topic("orders", partitions=3, retention_ms="1000")
    old = harness.batch_at(harness.broker.clock.now_ms() - 60_000, b"1")
    client = harness.client()
    for partition in range(3):
        client.produce("orders", old, partition=partition)
    logs = [harness.broker.log("orders", partition) for partition in range(3)]
    starts: list[int] = []

    harness.broker.retention.look_once(lambda: starts.extend(log.log_start_offset for log in logs))
    harness.turn_until(lambda: starts)

    assert starts == [1, 1, 1]
