"""Places of password checks: bounded for all, and shared between addresses."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from duolog.security.logins.check_places import CheckPlaces, NoPlace, Place

A, B, C = "192.0.2.1", "192.0.2.2", "192.0.2.3"


class Waiting:
    """Places, and the checks that were dropped."""

    def __init__(self, places: int) -> None:
        self.places = CheckPlaces(places)
        self.dropped: list[str] = []

    def take(self, host: str, name: str = "") -> Place | None:
        return self.places.take(host, lambda: self.dropped.append(name or host))


def test_one_address_takes_all_places_while_no_other_one_needs_them() -> None:
    waiting = Waiting(4)

    assert all(waiting.take(A) for _ in range(4))

    assert waiting.take(A) is None
    assert (len(waiting.places), waiting.dropped) == (4, [])


def test_another_address_takes_the_place_of_the_newest_check_of_the_heaviest_one() -> None:
    waiting = Waiting(5)
    for name in ("a1", "a2", "a3"):
        waiting.take(A, name)
    for name in ("b1", "b2"):
        waiting.take(B, name)

    assert waiting.take(C) is not None

    assert (len(waiting.places), waiting.dropped) == (5, ["a3"])


def test_addresses_with_almost_as_many_places_do_not_drop_each_other_s_checks() -> None:
    waiting = Waiting(4)
    for host in (A, A, B, B):
        waiting.take(host)

    assert waiting.take(A) is None
    assert waiting.take(B) is None
    assert waiting.dropped == []


def test_a_place_for_each_address_is_the_end_of_making_room() -> None:
    waiting = Waiting(2)
    assert waiting.take(A) is not None
    assert waiting.take(B) is not None

    assert waiting.take(C) is None
    assert waiting.dropped == []


def test_a_place_that_was_left_is_free_once() -> None:
    waiting = Waiting(2)
    first, second = waiting.take(A), waiting.take(A)
    assert first is not None
    assert second is not None

    first.leave()
    first.leave()

    assert len(waiting.places) == 1
    assert waiting.take(B) is not None
    assert waiting.take(B) is None
    assert not second.dropped


@pytest.mark.parametrize(
    ("flood", "honest"),
    [("2001:db8::{n:x}", "2001:db8:0:1::1"), ("::ffff:192.0.2.1", "192.0.2.2"), (A, "unknown")],
)
def test_the_addresses_that_one_client_has_count_as_one(flood: str, honest: str) -> None:
    waiting = Waiting(20)
    for n in range(20):
        assert waiting.take(flood.format(n=n)) is not None

    assert waiting.take(flood.format(n=20)) is None
    assert waiting.take(honest) is not None
    assert len(waiting.dropped) == 1


def test_random_arrivals_and_ends_keep_the_count_and_let_every_address_in() -> None:
    seed = random.randrange(2**32)  # noqa: S311
    chance = random.Random(seed)  # noqa: S311
    waiting = Waiting(16)
    held: list[Place] = []
    for _ in range(5000):
        host = chance.choice([A] * 20 + [B] * 3 + [C])
        counts = Counter(place.origin for place in held if not place.dropped)
        place = waiting.take(host)
        assert place is not None or len(waiting.places) == 16, seed
        if place is not None:
            held.append(place)
        else:
            assert counts[host] + 1 >= max(counts.values()), seed
        if chance.random() < 0.3:
            held.pop(chance.randrange(len(held))).leave()
        held = [place for place in held if not place.dropped]
        assert len(waiting.places) == len(held) <= 16, seed


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_dropped_check_does_not_run_and_its_caller_hears_of_it_at_once(
    threads: ThreadPoolExecutor,
) -> None:
    places, go, begun, ran = CheckPlaces(3), threading.Event(), threading.Event(), []

    def check(name: str) -> str:
        begun.set()
        assert go.wait(60)
        ran.append(name)
        return name

    async def scenario() -> None:
        checks = [
            asyncio.create_task(places.run(A, partial(check, name), threads))
            for name in ("first", "second", "third")
        ]
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 60)
        with pytest.raises(NoPlace):
            await places.run(A, lambda: check("fourth"), threads)
        honest = asyncio.create_task(places.run(B, lambda: check("honest"), threads))
        with pytest.raises(NoPlace):
            await checks[2]
        go.set()
        assert await asyncio.gather(*checks[:2], honest) == ["first", "second", "honest"]

    asyncio.run(scenario())

    assert ran == ["first", "second", "honest"]
    assert len(places) == 0


def test_a_cancelled_check_and_one_that_fails_leave_their_places(
    threads: ThreadPoolExecutor,
) -> None:
    places = CheckPlaces(2)

    def fail() -> None:
        raise ZeroDivisionError

    async def scenario() -> None:
        go, begun = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait() -> bool:
            loop.call_soon_threadsafe(begun.set)
            return go.wait(60)

        cancelled = asyncio.create_task(places.run(A, wait, threads))
        await begun.wait()
        assert len(places) == 1
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        go.set()
        with pytest.raises(ZeroDivisionError):
            await places.run(A, fail, threads)

    asyncio.run(scenario())

    assert len(places) == 0
