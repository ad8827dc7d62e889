"""A restore waits for open transactions for a limited time; the clock is simulated."""

from dataclasses import dataclass

import pytest

from duolog.engine.errors import QueryFailed
from duolog.engine.exactly_once.fencing import ensure_ended


@dataclass
class Changelogs:
    """Partitions with an open transaction, until some second."""

    ends_at: float
    now: float = 0.0

    def open_partitions(self) -> list[str]:
        return ["app-totals-changelog-1"] if self.now < self.ends_at else []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def wait(logs: Changelogs, within_s: float) -> None:
    ensure_ended(logs.open_partitions, "app", within_s, clock=logs.clock, sleep=logs.sleep)


@pytest.mark.parametrize("ends_at", [0.0, 0.2, 7.0, 59.9])
def test_changelogs_are_not_read_before_the_last_transaction_has_ended_in_them(
    ends_at: float,
) -> None:
    logs = Changelogs(ends_at)

    wait(logs, 60)

    assert ends_at <= logs.now <= ends_at + 1


def test_a_transaction_that_does_not_end_is_reported_with_its_partition() -> None:
    logs = Changelogs(ends_at=61)

    with pytest.raises(QueryFailed, match='"app" has not ended in 60 s') as refused:
        wait(logs, 60)

    assert "app-totals-changelog-1" in refused.value.detail
    assert refused.value.kind.may_pass
