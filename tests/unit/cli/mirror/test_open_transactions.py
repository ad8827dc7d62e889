from threading import Event

import pytest

from duolog.cli.errors import MirrorIncomplete
from duolog.cli.mirror import open_transactions
from duolog.cli.mirror.open_transactions import (
    ensure_stable,
    read_high_watermarks,
    wait_until_stable,
)
from unit.cli.mirror.fake_kafka import CLUSTER, FakeKafka, Log, Topic

PLACE = ("orders", 0)


def with_open_transaction() -> FakeKafka:
    return FakeKafka(orders=Topic("id", [Log(0, 7, 10)]))


def test_the_end_includes_open_transactions() -> None:
    found = read_high_watermarks(*with_open_transaction().side, [PLACE])

    assert found == {PLACE: 10}


def test_the_wait_ends_with_the_transaction() -> None:
    kafka, said = with_open_transaction(), list[str]()

    def end_it(text: str) -> None:
        said.append(text)
        kafka.topics["orders"].logs[0] = Log(0, 12)

    wait_until_stable(*kafka.side, {PLACE: 10}, Event(), end_it)

    assert said == ["waiting up to 90 s for open transactions in orders-0 from offset 7 (3)"]


def test_the_wait_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_transactions, "WAIT_S", 0)

    wait_until_stable(*with_open_transaction().side, {PLACE: 10}, Event(), lambda _: None)


def test_the_wait_can_be_interrupted() -> None:
    stopping = Event()
    stopping.set()

    wait_until_stable(*with_open_transaction().side, {PLACE: 10}, stopping, lambda _: None)


def test_nothing_is_said_without_open_transactions() -> None:
    said: list[str] = []

    wait_until_stable(
        cluster=CLUSTER,
        client=with_open_transaction().side[0],
        wanted={PLACE: 7},
        stopping=Event(),
        say=said.append,
    )

    assert said == []


def test_records_of_open_transactions_are_reported_as_missing() -> None:
    ensure_stable({PLACE: 10}, {PLACE: 10})
    wanted = {("orders", number): 10 for number in range(7)}

    with pytest.raises(MirrorIncomplete) as caught:
        ensure_stable(dict.fromkeys(wanted, 8), wanted)

    assert caught.value.message.startswith("14 offsets in 7 partitions of the source")
    assert "orders-0 from offset 8 (2)" in caught.value.detail
    assert "and 2 more" in caught.value.detail
