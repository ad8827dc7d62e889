"""The account of one request: what it costs its client, and how long the client must wait for it.

    resume ─▶ handled on the loop ─▶ pause        any number of times
                  └─ produced, fetched or answered, once: the throttle time of the response

A client above a limit gets its response at once, with the throttle time in it, and its connection
is muted for that time: nothing more is read from it. Time on the loop counts for
`request_percentage`; what is used after the response is added without throttling, and is felt by
the next request.

Threads: the loop.

Source: Kafka `KafkaApis`, `RequestHandlerHelper`, `ThrottledChannel`; KIP-124, KIP-219.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from duolog.core.errors import KafkaError
from duolog.core.units import INT32_MAX, SECOND_MS
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from duolog.broker.quotas.meters import MutationMeter, RateMeter, Throttles
    from duolog.core.clock import Clock
    from duolog.security.identity.principal import Identity

_PERCENT: Final = 100.0


class Connection(Protocol):
    """A client's connection, as quotas see it."""

    identity: "Identity"
    metered: "Client | None"

    def mute(self, seconds: float) -> None:
        """Read and handle nothing more for some time."""


class Client:
    """The meters of one client id of a connection."""

    __slots__ = (
        "client_id",
        "epoch",
        "fetch",
        "head",
        "identity",
        "mutation",
        "produce",
        "request",
    )

    def __init__(self, identity: "Identity", client_id: str, head: bytes) -> None:
        self.identity: Final = identity
        self.client_id: Final = client_id
        self.head: Final = head
        """Length and client id, as they are in the header of a request."""
        self.epoch = -1
        """The epoch of the quotas when the meters were looked up."""
        self.produce: RateMeter | None = None
        self.fetch: RateMeter | None = None
        self.request: RateMeter | None = None
        self.mutation: MutationMeter | None = None


class Fetch(NamedTuple):
    """A decision about a fetch response."""

    throttle_ms: int
    withheld: bool
    """True if the response contains no records: the client asks again after the throttle time."""


class Needs(Protocol):
    """The interface that a charge needs of `Enforcement`."""

    epoch: int
    """Grows when the meters of any client may be others than before."""

    @property
    def clock(self) -> "Clock": ...
    def refresh(self, client: Client) -> None: ...


class Charge:
    """The account of one request."""

    __slots__ = ("_client", "_clock", "_connection", "_needs", "_since", "_wait_until_ms")

    def __init__(self, needs: Needs, connection: Connection, client: Client) -> None:
        """Begin an account, whose request is being handled from now on."""
        self._needs = needs
        self._clock = needs.clock
        self._connection = connection
        self._client = client
        self._since = None if client.request is None else self._clock.monotonic()
        """When the loop began to work on the request, if its time is counted."""
        self._wait_until_ms = 0
        """When the client has tokens again."""

    def resume(self) -> None:
        """Begin to count time on the loop."""
        if self._client.request is not None:
            self._since = self._clock.monotonic()

    def go_on(self) -> None:
        """Begin to count, unless it has begun."""
        if self._since is None:
            self.resume()

    def pause(self) -> None:
        """Count the time on the loop since `resume`."""
        percents = self._percents(self._clock.monotonic())
        if percents and self._client.request is not None:
            self._client.request.rate.record(percents, self._now_ms())
        self._since = None

    def timed(self, steps: Iterator[None]) -> Iterator[None]:
        """Yield what `steps` yield, and count the time of each step."""
        while True:
            counts_already = self._since is not None  # The first steps may run within a handler.
            if not counts_already:
                self.resume()
            try:
                next(steps)
            except StopIteration:
                return
            finally:
                if not counts_already:
                    self.pause()
            yield

    def produced(self, size_bytes: int, *, answered: bool) -> int:
        """Return the throttle time of a produce request, in ms.

        The time of a request that is not `answered` is not limited, as in Kafka: its client would
        not know why it waits.
        """
        client = self._client
        if client.epoch != self._needs.epoch:
            self._needs.refresh(client)
        now = self._clock.monotonic()
        now_ms = int(now * SECOND_MS)
        bytes_ms = request_ms = 0
        if client.produce is not None:
            bytes_ms = client.produce.record(size_bytes, now_ms)
        if answered and client.request is not None:
            request_ms = client.request.record(self._percents(now), now_ms)
        if not (bytes_ms or request_ms):
            return 0
        if client.produce is not None and bytes_ms > request_ms:
            return self._throttle(client.produce.throttles, bytes_ms, now_ms)
        return self._throttle_request(request_ms, now_ms)

    def fetched(self, size_bytes: int) -> Fetch:
        """Return the throttle time of a fetch response with this number of bytes of records.

        Records above the limit are withheld and not counted. Only if the client got nothing within
        the windows they are sent: a batch that is larger than the limit of all windows would never
        be read otherwise.
        """
        self._needs.refresh(self._client)
        now_ms = self._now_ms()
        request_ms = self._request_ms(now_ms)
        meter = self._client.fetch
        if meter is None or not size_bytes:
            return Fetch(self._throttle_request(request_ms, now_ms), withheld=request_ms > 0)
        is_first = not meter.rate.total(now_ms)
        bytes_ms = meter.record(size_bytes, now_ms)
        withheld = request_ms > 0 or (bytes_ms > 0 and not is_first)
        if withheld:
            meter.rate.record(-size_bytes, now_ms)
        if bytes_ms > request_ms:
            return Fetch(self._throttle(meter.throttles, bytes_ms, now_ms), withheld)
        return Fetch(self._throttle_request(request_ms, now_ms), withheld)

    def fetch_bytes_max(self) -> int:
        """Return how many bytes of records a fetch may get, however long it has waited."""
        meter = self._client.fetch
        return INT32_MAX if meter is None else min(INT32_MAX, int(meter.at_once))

    def mutate(self, partitions: int, *, strict: bool) -> None:
        """Count partitions that the request creates or deletes.

        Raises:
            KafkaError: THROTTLING_QUOTA_EXCEEDED, if `strict` and the client must wait first.
        """
        self._needs.refresh(self._client)
        meter = self._client.mutation
        if meter is None:
            return
        now_ms = self._now_ms()
        wait_ms = meter.take(partitions, now_ms, strict=strict)
        if not wait_ms:
            return
        self._wait_until_ms = now_ms + wait_ms
        if strict:
            raise KafkaError(
                "more partitions are created or deleted than the quota of "
                f"{meter.limit:g} per second allows",
                code=ErrorCode.THROTTLING_QUOTA_EXCEEDED,
                retriable=True,
                hint=f"Try again in {wait_ms} ms.",
            )

    def answered(self) -> int:
        """Return the throttle time of the response to any other request, in ms."""
        self._needs.refresh(self._client)
        now_ms = self._now_ms()
        request_ms = self._request_ms(now_ms)
        wait_ms = max(0, self._wait_until_ms - now_ms)
        meter = self._client.mutation
        if meter is not None and wait_ms > request_ms:
            return self._throttle(meter.throttles, wait_ms, now_ms)
        return self._throttle_request(request_ms, now_ms)

    def _request_ms(self, now_ms: int) -> int:
        meter = self._client.request
        if meter is None:
            return 0
        return meter.record(self._percents(self._clock.monotonic()), now_ms)

    def _percents(self, now: float) -> float:
        """Return the time on the loop that is not counted yet, in hundredths of seconds."""
        if self._since is None:
            return 0.0
        seconds, self._since = now - self._since, now
        return seconds * _PERCENT

    def _throttle_request(self, throttle_ms: int, now_ms: int) -> int:
        meter = self._client.request
        return 0 if meter is None else self._throttle(meter.throttles, throttle_ms, now_ms)

    def _throttle(self, throttles: "Throttles", throttle_ms: int, now_ms: int) -> int:
        if throttle_ms:
            throttles.record(throttle_ms, now_ms)
            self._connection.mute(throttle_ms / SECOND_MS)
        return throttle_ms

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * SECOND_MS)
