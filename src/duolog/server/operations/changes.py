"""Notices what has changed on this server, for pages that show it.

    topics ───────────────────┐
    command topic ────────────┼─▶ digest of each, once a second ─▶ the names of those that differ
    states of queries ────────┘   while a client listens

The names alone are sent: who listens reads the lists again, with its own rights.

Thread: the event loop; digests are made on the threads of statements.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from duolog.core.errors import DuologError
from duolog.server.errors import OVERLOADED, RequestRefused
from duolog.server.operations.workers import Workers

logger = logging.getLogger(__name__)

EVERY_S: Final = 1.0
LISTENERS_MAX: Final = 200
Digests = Mapping[str, str]
"""The name of what may change ─▶ a digest of its present state."""


class Changes:
    """The listeners of one server.

    Args:
        digests: returns the digests of now; it blocks.
        workers: threads for it.
        every_s: the pause between two calls.
    """

    def __init__(
        self, digests: Callable[[], Digests], workers: Workers, every_s: float = EVERY_S
    ) -> None:
        self._digests = digests
        self._workers = workers
        self._every_s = every_s
        self._listeners: set[_Listener] = set()
        self._watching: asyncio.Task[None] | None = None

    @property
    def listeners(self) -> int:
        """The number of streams that are open."""
        return len(self._listeners)

    def listen(self) -> "_Listener":
        """Return a listener, whose changes are those after this call; close it at the end.

        Raises:
            RequestRefused: too many listen.
        """
        self.ensure_room()
        listener = _Listener(self._forget)
        self._listeners.add(listener)
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._watch())
        return listener

    def ensure_room(self) -> None:
        """Ensure that one more may listen; raises as `listen`."""
        if len(self._listeners) >= LISTENERS_MAX:
            raise RequestRefused(
                f"Too many pages listen to this server: at most {LISTENERS_MAX}", OVERLOADED
            )

    def _forget(self, listener: "_Listener") -> None:
        self._listeners.discard(listener)
        if not self._listeners and self._watching is not None:
            self._watching.cancel()
            self._watching = None

    async def _watch(self) -> None:
        known: Digests | None = None
        while True:
            try:
                found = await self._workers.run(self._digests)
            except DuologError as error:
                # The broker is away, or all threads are busy. The next round sees the changes.
                logger.debug("cannot look for changes", extra={"reason": error.one_line()})
            else:
                changed = differing(known, found)
                known = found
                for listener in tuple(self._listeners) if changed else ():
                    listener.add(changed)
            await asyncio.sleep(self._every_s)


class _Listener:
    """Collects the names of what has changed, each once, until they are fetched."""

    def __init__(self, forget: Callable[["_Listener"], None]) -> None:
        self._forget = forget
        self._names: set[str] = set()
        self._woken = asyncio.Event()

    def add(self, names: set[str]) -> None:
        """Add names and wake the one who waits."""
        self._names |= names
        self._woken.set()

    async def next(self, timeout_s: float, ended: asyncio.Event) -> list[str]:
        """Wait for changes; return their names, none after the time or at the end."""
        waits = [asyncio.ensure_future(one.wait()) for one in (self._woken, ended)]
        try:
            await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
        found, self._names = sorted(self._names), set()
        self._woken.clear()
        return found

    def close(self) -> None:
        """Listen no longer."""
        self._forget(self)


def differing(known: Digests | None, found: Digests) -> set[str]:
    """Return the names whose digests differ; none if nothing was known before.

    Example:
        >>> differing({"a": "1", "b": "2"}, {"a": "1", "b": "3"})
        {'b'}
    """
    return set() if known is None else {name for name in found if found[name] != known.get(name)}


def digest_of(parts: Iterable[str]) -> str:
    """Return the digest of some texts.

    Example:
        >>> digest_of(["a", "b"]) == digest_of(["ab"])
        False
    """
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        total.update(f"{len(part)}:{part}".encode(errors="surrogatepass"))
    return total.hexdigest()
