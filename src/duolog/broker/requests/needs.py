"""The interfaces that requests need of the broker, and handlers of a connection.

Each room names what it needs of the broker in its own `needs`, so that none knows the whole: the
broker implements them, and mypy checks that where it creates these objects.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from duolog.broker.authorization.decisions import Decisions
    from duolog.broker.controller import Controller
    from duolog.broker.counters import Counters
    from duolog.broker.event_loop.background import BesideTheLoop
    from duolog.broker.event_loop.loop import Timers
    from duolog.broker.event_loop.time_slices import TimeSlices
    from duolog.broker.quotas.charge import Client
    from duolog.broker.quotas.enforcement import Enforcement
    from duolog.broker.requests.in_flight import Data, InFlightRequest
    from duolog.core.clock import Clock
    from duolog.protocol.messages import Messages
    from duolog.security.authorization.authorizer import Authorizer
    from duolog.security.identity.principal import Identity


class RequestMemory(Protocol):
    """Counts what requests hold that are not handled yet."""

    def copied(self, size_bytes: int) -> None: ...
    def decoded(self, size_bytes: int) -> None: ...


class Refusable(Protocol):
    """A request that can be answered with an error."""

    replied: bool

    @property
    def api_name(self) -> str: ...
    @property
    def secret(self) -> bool: ...
    @property
    def version(self) -> int: ...
    def reply_error(self, code: int, message: str | None = None) -> None: ...


class Broker(Protocol):
    """The broker, as requests see it."""

    authorizer: "Authorizer | None"
    """Decides what clients may do; None if every client may do everything."""
    clock: "Clock"
    controller: "Controller"
    counters: "Counters"
    enforcement: "Enforcement | None"
    """Measures what clients use; None if no client has a quota."""
    messages: "Messages"
    beside: "BesideTheLoop"
    slices: "TimeSlices"

    @property
    def timers(self) -> "Timers": ...
    @property
    def request_memory(self) -> RequestMemory: ...
    def refuse(self, context: Refusable, error: Exception) -> None: ...


B_co = TypeVar("B_co", bound=Broker, covariant=True)


class Parked(Protocol):
    """A request that waits for something to happen."""

    def check(self) -> None:
        """Answer if it can be answered now."""

    def expire(self) -> None:
        """Answer with what there is."""

    def cancel(self) -> None:
        """Stop waiting."""


class Passed(Protocol):
    """A request in flight that others need not wait for, from some time on."""

    changes_nothing: bool


class Activity(Protocol):
    """Facts that a connection notes of its client; see `network.clients`."""

    software_name: str
    software_version: str

    def note_written(self, topic: str) -> None: ...
    def note_read(self, topic: str) -> None: ...


class Connection(Protocol[B_co]):
    """One client's connection, as handlers see it; `network.connection` says what each is for."""

    host: str
    address: str
    listener: str
    advertised: tuple[str, int]
    identity: "Identity"
    may_read: "Decisions"
    may_write: "Decisions"
    metered: "Client | None"
    closed: bool
    appending: int
    in_flight: "deque[InFlightRequest]"
    parked: set[Parked]
    on_close: "list[Callable[[], None]]"

    @property
    def activity(self) -> Activity: ...
    @property
    def broker(self) -> B_co: ...
    @property
    def authorizer(self) -> "Authorizer | None": ...
    def begin(self, request: "InFlightRequest") -> None: ...
    def complete(self, request: "InFlightRequest", data: "Data") -> None: ...
    def answer(self, request: "InFlightRequest", data: "Data") -> None: ...
    def appended(self) -> None: ...
    def hold(self) -> None: ...
    def mute(self, seconds: float) -> None: ...
    def let_pass(self, fetch: Passed) -> None: ...
    def go_on(self) -> None: ...
    def refuse_bytes(self, error: Exception) -> None: ...
    def let_in(self, identity: "Identity") -> None: ...
    def shut(self) -> None: ...
    def end(self, reason: str) -> None: ...
    def close(self, reason: str = "", *, level: int = ...) -> None: ...
