"""Workers that bring clients to the position of a shared reader."""

from typing import Any
from unittest.mock import MagicMock

import pytest

from duolog.runtime.sql.fanout import catch_up
from duolog.runtime.sql.fanout.catch_up import CatchUps
from duolog.security.clients.brokers import Brokers
from waiting import wait_until


class Reader:
    """Notes what a worker does with it."""

    made: list["Reader"] = []  # noqa: RUF012 - set by the test

    def __init__(self, _brokers: Brokers) -> None:
        self.calls: list[str] = []
        self.made.append(self)

    def seek(self, *_: object) -> None:
        self.calls.append("seek")

    def read(self, *_: object) -> Any:
        self.calls.append("read")
        return [], {0: 5}

    def rest(self) -> None:
        self.calls.append("rest")

    def close(self) -> None: ...


def test_the_reader_fetches_nothing_after_the_last_client_has_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A consumer without a reader would fill its queue with all further records."""
    monkeypatch.setattr(Reader, "made", [])
    monkeypatch.setattr(catch_up, "OffsetReader", Reader)
    monkeypatch.setattr(catch_up, "Decoder", MagicMock())
    member, feed = MagicMock(needs_snapshot=False, in_snapshot=False, positions={0: 0}), MagicMock()
    member.buffer.ended = False
    member.buffer.when_room.return_value = False
    feed.admit.side_effect = ["too early", "joined"]
    workers = CatchUps(Brokers("127.0.0.1:9092"), MagicMock())

    workers.add(member, feed)
    wait_until(lambda: Reader.made and Reader.made[0].calls[-1:] == ["rest"], "a rest")
    workers.close()

    assert Reader.made[0].calls == ["seek", "read", "rest"]
