"""A replica replays in order, wakes those who wait, and stops at what it does not understand."""

import asyncio

import pytest

from duolog.registry.service.replica import Replica
from duolog.registry.store.stored import StoredRecord
from unit.registry.turns import turns


def record(offset: int, key: bytes = b"k") -> StoredRecord:
    return StoredRecord(offset, key, b"v", 0)


def test_records_are_replayed_at_once_before_there_is_a_loop() -> None:
    read: list[StoredRecord] = []
    replica = Replica(read.append)

    replica.deliver([record(0), record(3)])

    assert [found.offset for found in read] == [0, 3]
    assert replica.next_offset == 4


def test_an_error_of_the_first_reading_reaches_the_caller() -> None:
    def refuse(_record: StoredRecord) -> None:
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        Replica(refuse).deliver([record(0)])


def test_those_who_wait_are_woken_by_their_record_or_a_later_one() -> None:
    async def scenario() -> None:
        replica = Replica(lambda _record: None)
        replica.attach(asyncio.get_running_loop())
        waiting = {offset: asyncio.create_task(replica.reached(offset)) for offset in (5, 1, 2, 9)}
        await turns()

        replica.deliver([record(0), record(1), record(4)])
        await waiting[1]
        await waiting[2]
        assert not waiting[5].done()
        replica.deliver([record(9)])
        await asyncio.gather(*waiting.values())
        await replica.reached(3)

    asyncio.run(scenario())


def test_one_who_no_longer_waits_disturbs_no_other() -> None:
    async def scenario() -> None:
        replica = Replica(lambda _record: None)
        replica.attach(asyncio.get_running_loop())
        given_up = asyncio.create_task(replica.reached(0))
        waiting = asyncio.create_task(replica.reached(0))
        await turns()

        given_up.cancel()
        replica.deliver([record(0)])

        await waiting

    asyncio.run(scenario())


def test_nothing_is_replayed_after_a_record_that_has_no_meaning() -> None:
    async def scenario() -> None:
        read: list[int] = []

        def replay(found: StoredRecord) -> None:
            if found.key == b"damaged":
                raise ValueError("damaged")
            read.append(found.offset)

        replica = Replica(replay)
        replica.attach(asyncio.get_running_loop())
        waiting = asyncio.create_task(replica.reached(2))
        await turns()

        replica.deliver([record(0), record(1, b"damaged"), record(2)])
        with pytest.raises(ValueError, match="damaged"):
            await waiting
        replica.deliver([record(3)])
        with pytest.raises(ValueError, match="damaged"):
            await replica.reached(3)

        assert read == [0]
        assert replica.next_offset == 1

    asyncio.run(scenario())


def test_records_after_the_end_of_the_loop_are_dropped() -> None:
    """The follower ends after the loop, and may read records in between."""
    read: list[StoredRecord] = []
    replica = Replica(read.append)
    loop = asyncio.new_event_loop()
    replica.attach(loop)
    loop.close()

    replica.deliver([record(0)])
    replica.fail(ValueError("gone"))

    assert read == []
