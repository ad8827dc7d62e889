"""Checks of rights from threads that run statements.

An authorizer belongs to the event loop: rules change there. A thread asks the loop for all that it
wants to know of a statement at once, and waits some microseconds.

Threads: any; on the loop itself, the check is made at once.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Final, TypeVar

from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.client import NOBODY, Client, Right
from duolog.server.errors import SHUTTING_DOWN, RequestRefused

_LOOK_S: Final = 1.0
"""A thread that waits for the loop looks so often whether it still runs."""
T = TypeVar("T")


class Checks:
    """The rights of one client, as of now.

    Args:
        loop: the event loop of the authorizer; None if the caller runs there.
    """

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop | None) -> None:
        self._client = client
        self._loop = loop

    @property
    def client(self) -> str:
        """The name of the client."""
        return self._client.name

    @property
    def decide(self) -> bool:
        """False if the client may do everything, so that nothing needs to be checked."""
        return self._client.authorizer is not None

    def ensure(self, rights: Iterable[Right]) -> None:
        """Ensure that the client has all these rights.

        Raises:
            RequestRefused: it lacks one, the same for all; or the server has stopped.
        """
        if not self.decide:
            return
        wanted = tuple(rights)

        def check() -> None:
            for right in wanted:
                self._client.ensure(right)

        self._on_loop(check)

    def lacking(self, rights: Iterable[Right]) -> Right | None:
        """Return the first of these rights that the client does not have; no refusal is noted.

        Raises:
            RequestRefused: the server has stopped.
        """
        if not self.decide:
            return None
        wanted, may = tuple(rights), self._client.may
        return self._on_loop(lambda: next((one for one in wanted if not may(*one)), None))

    def visible(self, resource: ResourceType, names: Iterable[str]) -> frozenset[str]:
        """Return the names of resources that the client may describe."""
        return self.allowed(Operation.DESCRIBE, resource, names)

    def allowed(
        self, operation: Operation, resource: ResourceType, names: Iterable[str]
    ) -> frozenset[str]:
        """Return the names of resources on which the client may do something."""
        given = tuple(names)
        if not self.decide:
            return frozenset(given)
        may = self._client.may
        return self._on_loop(
            lambda: frozenset(name for name in given if may(operation, resource, name))
        )

    def may_any(self, operation: Operation, resource: ResourceType) -> bool:
        """Return whether there can be a resource of a type on which the client may do something."""
        authorizer = self._client.authorizer
        if authorizer is None:
            return True
        identity = self._client.identity
        return self._on_loop(lambda: authorizer.allows_any(identity, operation, resource))

    def _on_loop(self, call: Callable[[], T]) -> T:
        if self._loop is None or _running() is self._loop:
            return call()
        done: Future[T] = Future()

        def answer() -> None:
            try:
                done.set_result(call())
            except Exception as error:  # noqa: BLE001 - raised by the thread that asks
                done.set_exception(error)

        try:
            self._loop.call_soon_threadsafe(answer)
        except RuntimeError as error:
            raise _stopped() from error
        while True:
            try:
                return done.result(_LOOK_S)
            except TimeoutError:
                # A loop that ends drops calls. The process would wait for this thread.
                if done.done() or self._loop.is_closed():
                    raise _stopped() from None


def _stopped() -> RequestRefused:
    return RequestRefused("The server is shutting down", SHUTTING_DOWN)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


EVERYTHING: Final = Checks(NOBODY, None)
"""The rights of a client that may do everything."""
