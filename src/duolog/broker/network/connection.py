"""One client's connection: a receive buffer, requests in flight, a queue to send.

    recv_into → buffer → every whole frame → handlers → in flight → send queue → one send

Invariants:
- Answers leave in the order of the requests: requests in flight are queued, and only answered ones
  at the head move to the send queue.
- A request begins when every earlier one has been done, so that it sees what they did; only a
  produce request may begin while earlier ones wait for the disk. See `requests.api`.
- The receive buffer is moved or reused only by the next `recv`. Record batches are staged as
  slices of it, and the round that staged them has written them before the loop polls again.
- A client that does not read gets no more handled: while something waits to be sent, or too many
  requests are in flight, or answers hold too much memory, the connection is not read, so that it
  holds a bounded amount of memory.
- A client that has closed its side of the connection still gets the answers that it waits for,
  however long the disk takes. Long polls are answered at once. The connection is closed if the
  client reads nothing for some seconds, or if only other clients can complete what it waits for.

A frame that cannot be read closes this connection with one log line, and no other.

Source: Kafka's `Selector` handles what a client sent before it closed its side, but sends it no
answers; `KafkaChannel.ChannelMuteState`.
"""

import logging
from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, Final, Generic

from duolog.broker.authorization.decisions import Decisions
from duolog.broker.authorization.table import READ_RECORDS, WRITE_RECORDS
from duolog.broker.event_loop.time_slices import SLICE_S
from duolog.broker.network.clients import Activity
from duolog.broker.network.last_answers import LastAnswers
from duolog.broker.network.muting import Muting
from duolog.broker.network.needs import B_co
from duolog.broker.network.receive_buffer import USUAL_BYTES, ReceiveBuffer
from duolog.broker.network.send_queue import SendQueue, Transport
from duolog.broker.requests.api import Api, RequestContext, answer_failed_frame, handle_cold
from duolog.broker.requests.in_flight import ClientsAwaited, Data, InFlightRequest, held_bytes
from duolog.core.operating_system.polling import HANG_UP, READ, WRITE
from duolog.core.units import MIB
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.frames import HEADER_BYTES_MIN, SIZE_BYTES, next_frame_end
from duolog.protocol.headers import read_request_header
from duolog.protocol.wire import skip_tagged_fields
from duolog.security.identity.principal import ANONYMOUS, Identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from duolog.broker.quotas.charge import Client
    from duolog.broker.requests.needs import Parked, Passed
    from duolog.core.listening import Address
    from duolog.security.authorization.authorizer import Authorizer

logger = logging.getLogger(__name__)

_LARGE_BUFFER_S: Final = 5.0
"""A larger buffer is given back when it was not needed for so long: to make it costs as much as
to fill it, and who sends one large frame sends others."""

_IN_FLIGHT_MAX: Final = 256
_HELD_BYTES_MAX: Final = 1 * MIB
"""Answers above this wait to be sent before further requests are handled."""
_LAST_WORD_S: Final = 0.2
"""The time between the last response and the end of a connection that the broker ends."""
_HEAD: Final = Struct(">iIih")
"""Size, api_key and api_version as one number, correlation_id, length of client_id."""
_HEAD_BYTES: Final = _HEAD.size
_read_head: Final = _HEAD.unpack_from


class Connection(Generic[B_co]):
    """One client's connection."""

    def __init__(
        self,
        broker: B_co,
        connection_socket: Transport,
        address: str,
        advertised: "Address | None" = None,
        listener: str = "",
    ) -> None:
        self.broker = broker
        self.advertised: tuple[str, int] = advertised or broker.advertised
        """The address that the client is asked to connect to; it depends on the listener of the
        connection.
        """
        self.listener = listener
        self.active = True
        """True if any bytes moved since the flag was last reset."""
        self.host = address.rpartition(":")[0]
        self.address = address
        self.identity = Identity(ANONYMOUS, self.host)
        """The client, as an authorizer sees it."""
        self.router = broker.entrances.of(listener)
        """The APIs that the client may use now."""
        self._frame_bytes_max = min(broker.frame_bytes_max, self.router.frame_bytes_max)
        self._end_reason = ""
        """If not empty, the connection is closed when all responses have been sent."""
        self.may_read = Decisions(READ_RECORDS)
        """The topics that the client may fetch from."""
        self.may_write = Decisions(WRITE_RECORDS)
        """The topics that the client may produce to."""
        self.metered: Client | None = None
        """The meters of the quotas of the client."""
        self.closed = False
        self.on_close: list[Callable[[], None]] = []
        self.parked: set[Parked] = set()
        self.in_flight: deque[InFlightRequest] = deque()
        self.appending = 0
        """Requests in flight that only append, with those that get no answer."""
        self._unfinished = 0
        """Other requests in flight whose effect later ones must see."""
        self._out_of_turn = False
        """True while the next frame waits for requests in flight."""
        self._rests = False
        """True while nothing is handled or read: others are served, or a request is in work."""
        self._socket, self._fd = connection_socket, connection_socket.fileno()
        self._queue = SendQueue(connection_socket)
        self._received = ReceiveBuffer(broker.request_memory, self)
        self._waits_for_memory = False
        self.received_bytes = 0
        self.activity = Activity(broker.clock.monotonic(), self._queue)
        self._events, self.flushing_due = READ, False
        self._in_flight_max = _IN_FLIGHT_MAX
        """0 while no request is handled or read: answers hold too much memory, or it is muted."""
        self._muting: Muting | None = None
        self._held_bytes = 0
        self._last_answers: LastAnswers | None = None
        """Ends the connection of a client that has closed its side."""
        broker.loop.register(self._fd, READ, self._on_ready)

    @property
    def authorizer(self) -> "Authorizer | None":
        """Decides what the client may do; None if it may do everything."""
        return self.broker.authorizer

    @property
    def waits_for_us(self) -> bool:
        """True if the client waits for a response, rather than the broker for the client."""
        unanswered = bool(self.in_flight) and not self._queue.pieces
        return unanswered or self._waits_for_memory or self._rests

    @property
    def sends(self) -> bool:
        """True if the client has not read all of its responses."""
        return bool(self._queue.pieces)

    def hold(self) -> None:
        """Handle and read nothing more until `go_on`: a request is worked through in the buffer."""
        self._rests = True
        self._unfinished += 1

    def go_on(self) -> None:
        """End what `hold` began."""
        self._rests = False
        self._unfinished -= 1
        self.flush_soon()

    def mute(self, seconds: float) -> None:
        """Handle and read nothing more for some time: the client is above a quota."""
        if self.closed:
            return
        if self._muting is None:
            self._muting = Muting(self.broker.timers, self._unmute)
            self.on_close.append(self._muting.cancel)
        self._in_flight_max = 0
        self._muting.extend(self.broker.clock.monotonic() + seconds)

    def _unmute(self) -> None:
        if self._held_bytes <= _HELD_BYTES_MAX:
            self._in_flight_max = _IN_FLIGHT_MAX
        self.flush_soon()

    def answer(self, request: InFlightRequest, data: Data) -> None:
        """Put a request in the line and answer it at once."""
        self.begin(request)
        self.complete(request, data)

    def begin(self, request: InFlightRequest) -> None:
        """Put a request in the line; later ones wait for what it does."""
        self.in_flight.append(request)
        if request.appends:
            self.appending += 1
        elif not request.changes_nothing:
            self._unfinished += 1

    def let_pass(self, fetch: "Passed") -> None:
        """Let later requests begin: this one waits, and changes nothing."""
        fetch.changes_nothing = True
        self._unfinished -= 1
        if self._out_of_turn:
            self.flush_soon()

    def complete(self, request: InFlightRequest, data: Data) -> None:
        """Answer a request; the answer leaves at the end of the round, when its turn has come."""
        if self.closed:
            return
        assert request.data is None, "a request was answered twice"
        request.data = data
        if request.appends:
            self.appending -= 1
        elif not request.changes_nothing:
            self._unfinished -= 1
        self._held_bytes += len(data) if data.__class__ is bytes else held_bytes(data)
        if self._held_bytes > _HELD_BYTES_MAX:
            self._in_flight_max = 0
        if self._out_of_turn or self.in_flight[0] is request:
            self.flush_soon()

    def appended(self) -> None:
        """Note that the records of a request without a response are durable."""
        self.appending -= 1
        if self._out_of_turn:
            self.flush_soon()

    def flush_soon(self) -> None:
        if not self.flushing_due:
            self.flushing_due = True
            self.broker.connections_to_flush.append(self)

    def flush(self) -> None:
        """Send the responses that are next in order, then handle the frames that had to wait."""
        self.flushing_due = False
        if self.closed:
            return
        in_flight, queue = self.in_flight, self._queue
        pieces = queue.pieces
        while in_flight:
            data = in_flight[0].data
            if data is None:
                break
            in_flight.popleft()
            if isinstance(data, bytes):
                pieces.append(data)
            else:
                pieces.extend(data)
        try:
            sent = queue.send()
        except OSError as error:
            self.close(f"send failed: {error}")
            return
        if sent:
            self.active = True
            if not in_flight:
                self._held_bytes = 0
                muted = self._muting is not None and self._muting.active
                self._in_flight_max = 0 if muted else _IN_FLIGHT_MAX
                if self._end_reason:
                    reason = self._end_reason
                    self.broker.timers.call_later(_LAST_WORD_S, lambda: self.close(reason))
                    return
            if self._received.end > self._received.start:
                self._handle_frames()
        if self._last_answers is not None:
            self._last_answers.progressed = True
            self.maybe_end()
        self._watch()

    def let_in(self, identity: Identity) -> None:
        """Serve a client that has logged in."""
        self.identity = identity
        self.router = self.broker.router
        self._frame_bytes_max = self.broker.frame_bytes_max
        self.broker.connections.unauthenticated.discard(self)

    def shut(self) -> None:
        """Serve nothing but another login, which is due."""
        self.router = self.broker.entrances.again

    def end(self, reason: str) -> None:
        """Close the connection soon after all responses have been sent; handle nothing more.

        kafka-python drops a response that it reads together with the end of the stream.
        """
        self._end_reason = reason
        self._rests = True
        self.flush_soon()

    def close(self, reason: str = "", *, level: int = logging.DEBUG) -> None:
        """Close the connection; what was not sent is dropped."""
        if self.closed:
            return
        self.closed = True
        self.broker.loop.unregister(self._fd)
        self.broker.connections.discard(self)
        self._socket.close()
        self._queue.clear()
        self.in_flight.clear()
        for waiter in list(self.parked):
            waiter.cancel()
        self._received.close()
        fields = {"client": self.address, "reason": reason}
        self.broker.connections.lines.log(logger, level, "closed connection", fields)
        for callback in self.on_close:
            callback()

    def _on_ready(self, events: int) -> None:
        if events & WRITE:
            self.active = True  # The client has read something.
            self.flush_soon()
        if events & READ and self._events & READ:
            self._receive()
        elif events & HANG_UP:
            self.close("hung up")

    def _receive(self) -> None:
        received = self._received
        room = received.room
        try:
            if not received.make_room():
                self._waits_for_memory = True
                self._watch()
                return
            if room <= USUAL_BYTES < received.room:
                self.broker.timers.call_later(_LARGE_BUFFER_S, self._maybe_give_back)
            data, end, room = received.data, received.end, received.room
            # Most often the buffer is empty: a slice of it would cost as much as the check.
            buffer = data if not end and room == len(data) else memoryview(data)[end:room]
            size = self._socket.recv_into(buffer)
        except BlockingIOError:
            return
        except (OSError, MemoryError) as error:  # Also of a buffer, which the system has not.
            self.close(f"receive failed: {error}")
            return
        if size == 0:
            self._on_end()
            return
        received.end += size
        self.received_bytes += size
        self.active = True
        self._handle_frames()
        self._watch()

    def _on_end(self) -> None:
        """The client sends nothing more; it may still read. All that it has sent was handled."""
        self._last_answers = LastAnswers(self, self.broker.timers)
        self.maybe_end()
        if not self.closed:
            self._watch()
            self._last_answers.check_later()

    def maybe_end(self) -> None:
        """Answer long polls; close the connection if the client has all that it asked for."""
        for waiter in list(self.parked):
            waiter.expire()
        if not (self.in_flight or self._queue.pieces or self._unfinished or self._out_of_turn):
            self.close_by_client()

    def close_by_client(self) -> None:
        cut_off = self._received.end > self._received.start
        self.close(
            "frame is cut off" if cut_off else "closed by the client",
            level=logging.WARNING if cut_off else logging.DEBUG,
        )

    @property
    def handled(self) -> int:
        """A number that grows when requests have been handled."""
        return self._received.handled

    @property
    def waits_for_client(self) -> bool:
        """True if the client must send the rest of a request, or read its responses."""
        return self._events == READ or self.sends

    def read_on(self) -> None:
        """Take notice that there is memory again for what comes."""
        self._waits_for_memory = False
        self._watch()

    def give_back_memory(self) -> None:
        """Give back the memory of a buffer that is empty, or nearly."""
        if not self._rests:
            self._received.give_back()

    def _maybe_give_back(self) -> None:
        """Give a large buffer back, or look again."""
        if self.closed:
            return
        needed, self._received.needed = self._received.needed, False
        if needed or self._rests or not self._received.give_back():
            self.broker.timers.call_later(_LARGE_BUFFER_S, self._maybe_give_back)

    def _handle_frames(self) -> None:  # noqa: PLR0912, PLR0915  Each call less is felt by a producer.
        """Handle every whole frame in the buffer, unless the client must first read."""
        self._out_of_turn = False
        if self._queue.pieces or self._rests:
            return
        received, in_flight = self._received, self.in_flight
        buffer, end, activity = received.data, received.end, self.activity
        view, frame_bytes_max = memoryview(buffer), self._frame_bytes_max
        routes, counts = self.router.routes, self.broker.router.counts
        clock = self.broker.clock
        until = activity.came(view, received.start, clock.monotonic()) + SLICE_S
        try:
            while (taken := len(in_flight)) < self._in_flight_max and not self.closed:
                start = received.start
                if end - start < _HEAD_BYTES:
                    if end > start:
                        next_frame_end(view, start, end, frame_bytes_max)
                    return
                size, code, correlation_id, client_id_size = _read_head(buffer, start)
                frame_end = start + SIZE_BYTES + size
                if size < HEADER_BYTES_MIN or size > frame_bytes_max or frame_end > end:
                    # Not whole yet, or no frame: then this raises.
                    next_frame_end(view, start, end, frame_bytes_max)
                    return
                route = routes.get(code)
                if route is None:
                    if self._unfinished:  # A login under way may open more APIs.
                        self._out_of_turn = True
                        return
                    route = self.router.find(code)
                api, flexible = route
                if self._unfinished or (self.appending and not api.appends):
                    self._out_of_turn = True
                    return
                received.start = frame_end
                frame = view[start + SIZE_BYTES : frame_end]
                position = 10 + client_id_size if client_id_size > 0 else 10
                counts[code] += 1
                activity.requests += 1
                if flexible:
                    if position < size and not frame[position]:
                        position += 1  # No tagged fields, as always.
                    else:
                        position = skip_tagged_fields(frame, position)
                if api.handle_frame is None:
                    self._handle_cold(api, frame)
                    if self._end_reason:
                        break  # What was sent after a refused login is not served.
                    routes = self.router.routes  # A login changes them.
                else:
                    try:
                        api.handle_frame(self, frame, code & 0xFFFF, correlation_id, position)
                    except (MalformedRequest, AssertionError):
                        # A broken invariant of the log: to continue could write wrong bytes.
                        raise
                    except Exception as error:  # noqa: BLE001  One of the four edges: the request.
                        answer_failed_frame(self, api, frame, taken, error)
                if not api.appends and clock.monotonic() >= until:
                    self._rest()
                    return
        except MalformedRequest as error:
            self.refuse_bytes(error)
        except AssertionError:
            raise
        except Exception:  # noqa: BLE001  The error answer failed, too; the broker must not stop.
            lines, fields = self.broker.connections.lines, {"client": self.address}
            lines.log(logger, logging.ERROR, "a request failed", fields, exc_info=True)
            self.broker.timers.failures += 1
            self.close("unexpected error", level=logging.ERROR)

    def refuse_bytes(self, error: Exception) -> None:
        """Close the connection after bytes that are not a request."""
        if isinstance(error, MalformedRequest):
            self.close(f"{error.message} {error.detail}".strip(), level=logging.WARNING)
        else:
            self.close(f"request cannot be decoded: {error}", level=logging.ERROR)

    def _rest(self) -> None:
        """Let others be served before the next frame is handled."""
        self._rests = True
        self.broker.timers.call_later(0.0, self._rested)

    def _rested(self) -> None:
        self._rests = bool(self._end_reason)
        self.flush_soon()

    def _handle_cold(self, api: Api, frame: memoryview) -> None:
        header = read_request_header(frame)
        request = ClientsAwaited() if api.awaits_clients else InFlightRequest()
        self.begin(request)
        context = RequestContext(self.broker, self, request, api, header)
        handle_cold(self.broker, api, context, frame[header.body_position :])

    def _watch(self) -> None:
        """Ask the loop for what the connection can use now."""
        if self.closed:
            return
        if self.broker.request_memory.pressed:
            self.give_back_memory()
        if self._queue.pieces:
            events = WRITE
        elif (
            self._last_answers is not None
            or self._out_of_turn
            or self._rests
            or self._waits_for_memory
            or len(self.in_flight) >= self._in_flight_max
        ):
            events = 0
        else:
            events = READ
        if events != self._events:
            self._events = events
            self.broker.loop.modify(self._fd, events)
