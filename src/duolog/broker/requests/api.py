"""The declaration of an API in a file of `apis/`, and the arguments of its handler.

A cold API has `handle(request, context)`: the request is a kio entity, decoded; the handler
calls `context.reply(...)` exactly once, at once or later. Produce and Fetch have `handle_frame`
instead and read the bytes themselves.

A client may send requests without waiting for answers. Each sees what all earlier ones of its
connection have done: none begins before those are answered. Two kinds need not wait, and say so:
what only appends does not wait for what only appends, and nothing waits for a fetch that waits.

A handler runs on the broker's loop and holds it: it must not wait for anything. What it raises
becomes an error answer to that request, never a dropped connection.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from duolog.broker.requests.in_flight import Data, InFlightRequest
from duolog.broker.requests.needs import B_co
from duolog.core.units import KIB
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.headers import RequestHeader, read_request_header, response_header
from duolog.protocol.throttle_time import throttle_time_position, with_throttle_time

if TYPE_CHECKING:
    from kio.static.protocol import Entity

    from duolog.broker.quotas.charge import Charge
    from duolog.broker.requests.needs import Broker, Connection
    from duolog.protocol.schema import Fields
    from duolog.security.authorization.authorizer import Authorizer
    from duolog.security.identity.principal import Identity

logger = logging.getLogger(__name__)

LARGE_BYTES: Final = 4 * KIB
"""A larger request of a cold API is decoded off the event loop, and so is its answer encoded."""

Request = TypeVar("Request")

# Any: each handler takes the request class of its API, and the broker that it needs.
Handler = Callable[[Any, "RequestContext[Any]"], None]
FrameHandler = Callable[["Connection[Any]", memoryview, int, int, int], None]
"""Takes a frame's content, the version, the correlation id and where the body begins.

It puts its own request in flight, and raises MalformedRequest for bytes that it cannot read."""


@dataclass(frozen=True, slots=True)
class Api:
    """One API key: its versions, and what handles a request.

    `listed` differs from `versions` only where Kafka lists versions that it refuses (KAFKA-18659).
    """

    key: int
    name: str
    versions: range
    handle: Handler | None = None
    handle_frame: FrameHandler | None = None
    listed: range | None = None
    appends: bool = False
    """True if the request may start while earlier requests of this kind wait for the disk."""
    looks: bool = False
    """True if the request changes nothing: it is abandoned when its client disconnects."""
    awaits_clients: bool = False
    """True if the answer may have to wait for what other clients do."""
    exempt: bool = False
    """True if no quota counts the request: a login, or what only brokers send."""
    secret: bool = False
    """True if requests contain secrets: no log line shows a part of one, at no level."""

    @property
    def advertised(self) -> range:
        return self.versions if self.listed is None else self.listed


class RequestContext(Generic[B_co]):
    """One request of a cold API on its way to its answer."""

    __slots__ = (
        "_came_at",
        "_in_flight_request",
        "api",
        "broker",
        "charge",
        "client_id",
        "connection",
        "header",
        "large",
        "replied",
        "request",
    )

    def __init__(
        self,
        broker: B_co,
        connection: "Connection[Broker]",
        in_flight_request: "InFlightRequest",
        api: Api,
        header: RequestHeader,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.api = api
        self.header = header
        self.client_id = header.client_id or ""
        self.request: Any = None  # The request class of the API.
        self.replied = False
        self.large = False
        """True if the response is encoded in a helper thread, as the request was decoded."""
        self.charge: Charge | None = None
        """The account of the request; None if its client has no quota."""
        self._in_flight_request = in_flight_request
        self._came_at = broker.clock.monotonic()

    @property
    def api_name(self) -> str:
        return self.api.name

    @property
    def secret(self) -> bool:
        """True if the request contains secrets."""
        return self.api.secret

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def authorizer(self) -> "Authorizer | None":
        """Decides what the client may do; None if it may do everything."""
        return self.broker.authorizer

    @property
    def identity(self) -> "Identity":
        """The client, as an authorizer sees it."""
        return self.connection.identity

    @property
    def advertised(self) -> tuple[str, int]:
        """The address at which the client finds this broker."""
        return self.connection.advertised

    @property
    def client_host(self) -> str:
        """The client's address, as Kafka shows it: `/127.0.0.1`."""
        return f"/{self.connection.host}"

    def wanted(self) -> bool:
        """Return whether the rest of the request is still needed."""
        return not (self.connection.closed and self.api.looks)

    def reply(self, response: "Fields | Entity") -> None:
        """Answer the request.

        `response` is a kio response entity of this version, or a mapping of field names to
        plain values (see `protocol.messages.build`): fields that this version does not have
        are left out, fields that are not given take the schema's default.
        """
        assert not self.replied, f"{self.api.name} was answered twice"
        if self.large:
            self.replied = True
            if self.connection.closed:
                return
            self.broker.beside.call(
                lambda: self.broker.messages.encode_response(self.header, response), self._encoded
            )
            return
        body = self.broker.messages.encode_response(self.header, response)
        self.replied = True
        self._complete(body)

    def _encoded(self, body: bytes | None, error: Exception | None) -> None:
        if error is None:
            assert body is not None
            self._complete(body)
            return
        self.replied = self.large = False
        self.broker.refuse(self, error)

    def encode_item(self, path: str, item: "Fields") -> bytes:
        """Return an item of an array of the answer as bytes, which `reply` takes in its place."""
        return self.broker.messages.encode_item(self.header, path, item)

    def reply_pieces(self, body: Iterable[bytes]) -> None:
        """Answer with a body that lies in pieces, which are not put together."""
        assert not self.replied, f"{self.api.name} was answered twice"
        self.replied = True
        head = response_header(self.api.key, self.version, self.header.correlation_id)
        size = len(head) + sum(map(len, body))
        self._complete([size.to_bytes(4) + head, *body])

    def _complete(self, frame: Data) -> None:
        took_s = self.broker.clock.monotonic() - self._came_at
        self.broker.counters.cold[self.api.name].observe(took_s)
        if self.charge is not None:
            frame = self._throttled(frame, self.charge.answered())
        self.connection.complete(self._in_flight_request, frame)

    def _throttled(self, frame: Data, throttle_ms: int) -> Data:
        """Return the response with its throttle time, if its version has one."""
        header = self.header
        position = throttle_time_position(self.broker.messages.response_type(header))
        if not throttle_ms or position is None:
            return frame
        key, version = header.api_key, header.api_version
        return with_throttle_time(frame, key, version, throttle_ms, position_in_body=position)

    def mutate(self, partitions: int, *, strict_from: int) -> None:
        """Count partitions that are created or deleted towards the client's quota.

        Raises:
            KafkaError: THROTTLING_QUOTA_EXCEEDED, if the version of the request is at least
                `strict_from` and the client must wait first.
        """
        if self.charge is not None:
            self.charge.mutate(partitions, strict=self.version >= strict_from)

    def timed(self, steps: Iterator[None]) -> Iterator[None]:
        """Return the same steps; their time on the loop counts towards the client's quota."""
        return steps if self.charge is None else self.charge.timed(steps)

    def reply_error(self, code: int, message: str | None = None) -> None:
        """Answer every entity of the request with one error."""
        self.reply(self.broker.messages.error_response(self.header, self.request, code, message))


def answer_failed_frame(
    connection: "Connection[Broker]",
    api: Api,
    frame: memoryview,
    in_flight_before: int,
    error: Exception,
) -> None:
    """Answer UNKNOWN_SERVER_ERROR if a frame handler raised an unexpected error.

    `in_flight_before` is how many requests the connection had in flight when the handler began: it
    may have put its own there. A producer that expects no response notices it by the closed
    connection.

    Raises:
        MalformedRequest: the bytes are no such request.
    """
    in_flight = connection.in_flight
    if len(in_flight) == in_flight_before:
        connection.begin(InFlightRequest())
    answer_failure(connection, api, frame, in_flight[-1], error)


def answer_failure(
    connection: "Connection[Broker]",
    api: Api,
    frame: memoryview | bytes,
    waiting: InFlightRequest,
    error: Exception,
) -> None:
    """Answer the request that is `waiting` as `answer_failed_frame` does.

    Raises:
        MalformedRequest: the bytes are no such request.
    """
    view = memoryview(frame)
    header = read_request_header(view)
    request = connection.broker.messages.decode_request(header, view[header.body_position :])
    context = RequestContext(connection.broker, connection, waiting, api, header)
    context.request = request
    context.replied = waiting.data is not None or getattr(request, "acks", -1) == 0
    connection.broker.refuse(context, error)
    if waiting.data is None:
        connection.close("a produce request with acks=0 failed", level=logging.WARNING)


def handle_cold(
    broker: "Broker", api: Api, context: "RequestContext[Broker]", body: memoryview
) -> None:
    """Decode the request and run the handler; what it raises becomes an error answer.

    A large request is decoded off the event loop, and so is the first one of its API and version,
    whose schema must be loaded. The handler then runs in a later round.

    Raises:
        MalformedRequest: the bytes are no such request.
    """
    messages = broker.messages
    if broker.enforcement is not None and not api.exempt:
        context.charge = broker.enforcement.charge(context.connection, context.client_id)
    large = len(body) > LARGE_BYTES
    if not large and messages.loaded(context.header):
        with _hidden(api):
            context.request = broker.messages.decode_request(context.header, body)
        _run_handler(broker, api, context)
        return

    def decode(data: memoryview) -> object:
        messages.load(context.header)
        with _hidden(api):
            return messages.decode_request(context.header, data, large=large)

    def decoded(request: object) -> None:
        context.request = request
        _run_handler(broker, api, context)

    context.large = large
    decode_beside(context.connection, body, decode, decoded)
    if context.charge is not None:
        context.charge.pause()


@contextmanager
def _hidden(api: Api) -> Iterator[None]:
    """Let an error about the bytes of a request show nothing of it, if it contains secrets."""
    try:
        yield
    except Exception as error:
        if not api.secret:
            raise
        reason = type(error).__name__
        raise MalformedRequest(f"request {api.name} cannot be decoded", detail=reason) from None


def decode_beside(
    connection: "Connection[Broker]",
    frame: memoryview,
    decode: Callable[[memoryview], Request],
    then: Callable[[Request], None],
) -> None:
    """Let a thread `decode` a copy of what was received, and give the request to `then`.

    Nothing is done for a client that has gone meanwhile.
    """
    broker = connection.broker
    data = memoryview(bytes(frame))  # The receive buffer is written again.

    def work() -> Request | None:
        return None if connection.closed else decode(data)

    def done(request: Request | None, error: Exception | None) -> None:
        broker.request_memory.decoded(len(data))
        if error is not None:
            connection.refuse_bytes(error)
        elif request is not None and not connection.closed:
            then(request)

    broker.request_memory.copied(len(data))
    broker.beside.call(work, done)


def _run_handler(broker: "Broker", api: Api, context: "RequestContext[Broker]") -> None:
    assert api.handle is not None
    charge = context.charge
    if charge is not None:
        charge.go_on()
    try:
        api.handle(context.request, context)
    except Exception as error:  # noqa: BLE001  One of the four edges: the request.
        broker.refuse(context, error)
    if charge is not None:
        charge.pause()
