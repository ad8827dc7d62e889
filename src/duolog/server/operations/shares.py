"""Shares of clients in what all clients of a server use, so that no client takes all of it.

    places 150   one client   at most 100, and 50 are free for others
                 two clients  at most  60 each, and 30 are free for others

A client may have twice as many places as are free. A fixed share would be small for a client that
is alone, or several clients could use up everything.

A client is a user. Without users, it is an address: all clients of one proxy that is not
trusted are then one client.

Thread: the event loop.
Source: A. K. Choudhury and E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet
switches", IEEE/ACM Transactions on Networking, 1998.
"""

from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from duolog.server.access.client import Client, Login
from duolog.server.errors import OVERLOADED, TOO_MANY_REQUESTS, RequestRefused

HOLDER: Final = ContextVar("duolog.server.holder", default="")
"""The client whose request the current task answers; set by the gate."""
_OF_FREE: Final = 2


def holder_of(client: Client, host: str) -> str:
    """Return the name by which the places of a client are counted; `host` is its address."""
    return f"address {host}" if client.login is Login.NONE else f"user {client.name}"


class Shares:
    """The places of one kind.

    Args:
        most: the number of places.
        full: the message for all clients if no place is free.
        noun: names what the places are for, in the message for a client above its share.
        hint: what such a client can do.
    """

    def __init__(self, most: int, *, full: str, noun: str, hint: str) -> None:
        self._most = most
        self._full = full
        self._noun = noun
        self._hint = hint
        self._by_holder: Counter[str] = Counter()
        self.taken = 0
        """Places in use, of all clients."""

    @property
    def holders(self) -> int:
        """The number of clients that have places."""
        return len(self._by_holder)

    def take(self) -> Callable[[], None]:
        """Take a place for the client of the current request; return what gives it back, once.

        Raises:
            RequestRefused: as `add`.
        """
        self.add(1)
        holder = HOLDER.get()
        given = False

        def give_back() -> None:
            nonlocal given
            if not given:
                given = True
                self.remove(1, holder)

        return give_back

    def add(self, number: int) -> None:
        """Take places for the client of the current request.

        Raises:
            RequestRefused: too few places are free (503), or this client has its share (429).
        """
        holder, free = HOLDER.get(), self._most - self.taken
        if number > free:
            raise RequestRefused(self._full, OVERLOADED)
        held = self._by_holder[holder]
        if held + number > _OF_FREE * free:
            raise RequestRefused(
                f"You have {held} of the server's {self._most} {self._noun}. One client may have "
                f"{_OF_FREE} times as many as are free, and {free} are. {self._hint}",
                TOO_MANY_REQUESTS,
            )
        self._by_holder[holder] = held + number
        self.taken += number

    def remove(self, number: int, holder: str | None = None) -> None:
        """Give places back, by default those of the client of the current request."""
        holder = HOLDER.get() if holder is None else holder
        self.taken -= number
        self._by_holder[holder] -= number
        if not self._by_holder[holder]:
            # Addresses of former clients would be kept for ever.
            del self._by_holder[holder]


def topic_readers(most: int) -> Shares:
    """Return the places for followers and exports of topics."""
    hint = "Stop following a topic, or wait for the end of an export."
    return Shares(
        most,
        full=f"Too many followers and exports of topics are running: at most {most}. {hint}",
        noun="places for followers and exports of topics",
        hint=hint,
    )
