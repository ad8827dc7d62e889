"""The places of password checks that wait for a thread, shared fairly between addresses.

Deriving the keys of a password takes milliseconds, so the number of waiting checks is limited. If
all places are taken, a check from an address with few of them takes the place of the address with
the most:

    waiting  a a a a a a        c arrives, from another address
             a a a a a c        the newest check of a is refused

So one address can take all places while no other one needs them, as clients do that share an
address and connect again together, and no address can keep the others out. The addresses of an
IPv6 network of 64 bits count as one: a single client has them all.

Threads: the loop. A dropped check may be running already; then its result does not count.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from duolog.security.logins.origins import origin_of

Result = TypeVar("Result")


class NoPlace(Exception):
    """Too many checks wait; the client may try again."""


class CheckPlaces:
    """The checks that wait, by address.

    Args:
        places: the number of checks that may wait.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self._by_origin: dict[str, list[Place]] = {}
        self._taken = 0

    def __len__(self) -> int:
        return self._taken

    def take(self, host: str, on_drop: Callable[[], None]) -> "Place | None":
        """Return a place for a check from an IP address; None if there is none for it.

        `on_drop` is called if the place is given to another address before it is left.
        """
        origin = origin_of(host)
        if self._taken >= self.places and not self._make_room(origin):
            return None
        place = Place(self, origin, on_drop)
        self._by_origin.setdefault(origin, []).append(place)
        self._taken += 1
        return place

    async def run(self, host: str, check: Callable[[], Result], threads: Executor) -> Result:
        """Return the result of a check that ran on a thread, for a server on asyncio.

        Raises:
            NoPlace: there was no place for it, or it was given to another address.
        """

        def cancel() -> None:
            running.cancel()

        place = self.take(host, on_drop=cancel)
        if place is None:
            raise NoPlace
        try:
            # A check that has not begun costs no time after its cancellation.
            running = asyncio.get_running_loop().run_in_executor(threads, check)
            return await running
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if place.dropped and not (task is not None and task.cancelling()):
                raise NoPlace from None
            raise
        finally:
            place.leave()

    def _make_room(self, origin: str) -> bool:
        """Drop the newest check of the address with the most, unless `origin` has almost as many.

        An exchange that only swapped the two numbers could be repeated without end.
        """
        heaviest = max(self._by_origin.values(), key=len, default=[])
        if len(self._by_origin.get(origin, ())) + 1 >= len(heaviest):
            return False
        heaviest[-1].drop()
        return True

    def remove(self, place: "Place") -> None:
        """Free a place; see `Place.leave`."""
        waiting = self._by_origin[place.origin]
        waiting.remove(place)
        if not waiting:
            del self._by_origin[place.origin]
        self._taken -= 1


class Place:
    """The place of one check."""

    __slots__ = ("_left", "_on_drop", "_places", "dropped", "origin")

    def __init__(self, places: CheckPlaces, origin: str, on_drop: Callable[[], None]) -> None:
        self._places = places
        self._on_drop = on_drop
        self._left = False
        self.origin = origin
        self.dropped = False
        """True once the place is another one's: the check need not run, and does not count."""

    def leave(self) -> None:
        """Free the place after the check; do nothing if it is free already."""
        if not self._left:
            self._left = True
            self._places.remove(self)

    def drop(self) -> None:
        """Free the place for another address."""
        self.dropped = True
        self.leave()
        self._on_drop()
