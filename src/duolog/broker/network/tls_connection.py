"""A client's connection with TLS: the handshake, then a `Connection` over a `TlsTransport`.

    handshake ─ done ─▶ open ─▶ closed
        └ failed ─▶ lingering: the alert has been sent, the client may read it ─▶ closed

Bytes that TLS has received and not handed on are in no socket, so no poller reports them. They are
read when the connection is flushed: then the round has written the record batches that are slices
of the receive buffer, and it may be reused.

A handshake is bounded in time, in bytes, in its part of a round, and in the number of clients that
are in it (`unauthenticated`). A client that does not speak TLS is refused after its first byte.

Source: RFC 8446 section 4; Kafka `SslTransportLayer`.
"""

import logging
import ssl
from typing import TYPE_CHECKING, Final

from duolog.broker.network.connection import Connection
from duolog.broker.network.endpoints import SSL
from duolog.broker.network.needs import B_co
from duolog.broker.network.send_queue import SendQueue
from duolog.core.operating_system.files import pread
from duolog.core.operating_system.polling import HANG_UP, READ, WRITE
from duolog.core.operating_system.sockets import MORE
from duolog.core.units import KIB
from duolog.security.identity.principal import ANONYMOUS, USER, Identity, Principal
from duolog.security.tls.transport import CHUNK_BYTES, SCRATCH_BYTES, TlsTransport

if TYPE_CHECKING:
    import socket

    from duolog.broker.requests.in_flight import FileSpan
    from duolog.core.listening import Address
    from duolog.security.tls.reloading import ListenerTls

logger = logging.getLogger(__name__)

HANDSHAKE_BYTES_MAX: Final = 128 * KIB
"""What a client may send before its handshake is finished. A chain of ten large certificates has
20 KiB."""
_STEP_BYTES: Final = 16 * KIB
_LINGER_S: Final = 1.0
_LINGER_BYTES_MAX: Final = 64 * KIB
_HANDSHAKE_RECORD: Final = 0x16

_scratch: Final = memoryview(bytearray(SCRATCH_BYTES))
"""Used within one call only, on the loop's thread."""


class TlsConnection(Connection[B_co]):
    """One client's connection, encrypted."""

    def __init__(
        self,
        broker: B_co,
        accepted: "socket.socket",
        address: str,
        advertised: "Address | None",
        listener: str,
        *,
        tls: "ListenerTls",
    ) -> None:
        self._transport = TlsTransport(accepted, tls.context, _scratch)
        super().__init__(broker, self._transport, address, advertised, listener)
        self._queue = self.activity.queue = TlsSendQueue(self._transport)
        self._tls = tls
        self.handshaking = True
        """True until the handshake is finished; it stays True if it fails."""
        self._failure = ""
        """Why the handshake has failed, while the client may read so."""
        self._reading_due = False

    def flush(self) -> None:
        # Slices of the receive buffer that were staged have been written before this.
        if self._reading_due:
            self._reading_due = False
            if not self.closed and self._transport.more and self._events & READ:
                self._receive()
        super().flush()

    def _watch(self) -> None:
        super()._watch()
        if self._transport.more and self._events & READ and not self.closed:
            self._reading_due = True
            self.flush_soon()

    def _on_ready(self, events: int) -> None:
        if not self.handshaking:
            super()._on_ready(events)
        elif not events & (READ | WRITE):
            if events & HANG_UP:
                self.close("hung up")
        elif self._failure:
            self._linger()
        else:
            try:
                self._continue_handshake()
            except Exception:  # noqa: BLE001  An unknown client must not stop the broker.
                lines, fields = self.broker.connections.lines, {"client": self.address}
                lines.log(logger, logging.ERROR, "TLS handshake failed", fields, exc_info=True)
                self.close("unexpected error in the TLS handshake")

    def _continue_handshake(self) -> None:
        clients = self.broker.connections.unauthenticated
        if clients.round_is_full:
            return
        monotonic = self.broker.clock.monotonic
        begun = monotonic()
        try:
            done = self._step()
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        finally:
            clients.spent(monotonic() - begun)
        if done:
            self._open()
        else:
            self._events = self._asked(WRITE if self._transport.unsent else READ)

    def _step(self) -> bool:
        """Receive, continue, answer; return whether the handshake is finished."""
        transport = self._transport
        if transport.unsent:
            if not transport.flush():
                return False
            if self._events != READ:
                return False  # It waited for this only.
        first = not transport.received_bytes
        size = transport.receive(_STEP_BYTES)
        self.active = True
        if not size:
            raise _Gone("the client closed the connection")
        if first and transport.scratch[0] != _HANDSHAKE_RECORD:
            raise _Refused("the client does not speak TLS, and this listener does")
        if transport.received_bytes > HANDSHAKE_BYTES_MAX:
            raise _Refused(f"more than {HANDSHAKE_BYTES_MAX} bytes before the end of the handshake")
        done = transport.handshake()
        transport.flush()
        return done

    def _asked(self, events: int) -> int:
        if events != self._events:
            self.broker.loop.modify(self._fd, events)
        return events

    def _open(self) -> None:
        """Serve the client: the handshake is finished."""
        clients = self.broker.connections.unauthenticated
        clients.succeeded += 1
        self.handshaking = False
        self._events = self._asked(READ)
        refusal = self._identify()
        if refusal:
            self._note_failure(refusal)
            self.close(refusal, level=logging.WARNING)
            return
        if self.identity.principal != ANONYMOUS and not self._tls.then_sasl:
            self.broker.note_login(self.identity, SSL, self.listener)
        if not self._tls.then_sasl:
            clients.discard(self)
        logger.debug(
            "TLS handshake",
            extra={
                "client": self.address,
                "listener": self.listener,
                "version": self._transport.version(),
                "cipher": self._transport.cipher(),
                "principal": str(self.identity.principal),
            },
        )
        self._watch()

    def _identify(self) -> str:
        """Set the identity by the client's certificate; return why it cannot be, or nothing."""
        certificate = self._transport.peer_certificate()
        if certificate is None:
            return ""
        # Loaded here: only a listener with ssl.client.auth needs it.
        from duolog.security.identity.distinguished_names import (  # noqa: PLC0415
            is_valid_at,
            subject_of,
        )

        try:
            subject = subject_of(certificate)
            resumed = self._transport.was_resumed
            if resumed and not is_valid_at(certificate, self.broker.clock.now_ms()):
                return f'the certificate of "{subject}" has expired since its session began'
        except ValueError as error:
            return f"the client's certificate cannot be read: {error}"
        name = self._tls.rules.user(subject)
        if not name:
            return f'no rule of ssl.principal.mapping.rules fits the certificate of "{subject}"'
        self.identity = Identity(Principal(USER, name), self.host)
        return ""

    def _fail(self, error: OSError) -> None:
        self.broker.connections.unauthenticated.failed += 1
        if isinstance(error, _Gone):
            self.close(str(error))
            return
        if isinstance(error, _Refused):
            self.close(str(error), level=logging.WARNING)
            return
        if not isinstance(error, ssl.SSLError):
            self.close(f"TLS handshake failed: {error}")
            return
        self._failure = f"TLS handshake failed: {_reason(error)}"
        if isinstance(error, ssl.SSLCertVerificationError):
            self._note_failure(_reason(error))
        try:
            # A close with unread bytes would reset the connection, and the alert could be lost.
            if self._transport.flush():
                self._transport.end_sending()
        except OSError:
            self.close(self._failure, level=logging.WARNING)
            return
        self._events = self._asked(READ)
        timer = self.broker.timers.call_later(_LINGER_S, self._end_linger)
        self.on_close.append(timer.cancel)

    def _note_failure(self, reason: str) -> None:
        self.broker.note_login(Identity(Principal(USER, ""), self.host), SSL, self.listener, reason)

    def _linger(self) -> None:
        """Drop what the client still sends, until it has closed its side."""
        before = self._transport.received_bytes
        try:
            size = self._transport.drop(_STEP_BYTES)
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if not size or before > HANDSHAKE_BYTES_MAX + _LINGER_BYTES_MAX:
            self._end_linger()

    def _end_linger(self) -> None:
        self.close(self._failure, level=logging.WARNING)


class _Refused(OSError):
    """Bytes that no client of TLS sends; they get no answer."""


class _Gone(OSError):
    """The client has closed the connection in its handshake."""


class TlsSendQueue(SendQueue):
    """A queue whose spans are read and encrypted: sendfile cannot do that."""

    __slots__ = ("_transport",)

    def __init__(self, transport: TlsTransport) -> None:
        super().__init__(transport)
        self._transport = transport

    def _send_span(self, span: "FileSpan") -> int:
        transport = self._transport
        if transport.unsent:
            data = b""  # What was read before is encrypted already.
        else:
            descriptor = span.file.fileno()
            assert descriptor is not None, "a file in memory is sent as bytes"
            data = pread(descriptor, min(span.size_bytes, CHUNK_BYTES), span.position)
            if not data:
                raise OSError("segment file is shorter than the span that was promised")
        # MORE gathers the headers and the small spans of many partitions.
        more = span.size_bytes > len(data) or len(self.pieces) > 1
        sent = transport.send(data, MORE if more else 0)
        span.position += sent
        span.size_bytes -= sent
        if span.size_bytes == 0:
            self.pieces.popleft()
        return sent


def _reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    return (error.reason or str(error)).replace("_", " ").lower()
