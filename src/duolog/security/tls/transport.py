"""TLS between a socket that does not block and a connection that treats it as a socket.

    recv_into   socket.recv → ciphertext → `SSLObject.read` → the caller's buffer
    send        plaintext → `SSLObject.write` → ciphertext → socket.send

Both have the meaning that they have for a socket, so a connection works on either:

- `recv_into` returns 0 when the client sends nothing more (close_notify, or the end of the
  connection), and raises BlockingIOError when nothing is here. `more` is then False; while it is
  True, bytes have been received that no poller reports: call again.
- `send` takes bytes when their ciphertext has left. If the socket takes only a part of it, `send`
  raises BlockingIOError, and the next call must offer the same bytes: it encrypts nothing, sends
  the rest and returns how many bytes the first call encrypted, as OpenSSL's `SSL_write`. At most
  `CHUNK_BYTES` of ciphertext wait here, and what a connection has still to send is in its queue.

Errors of TLS are `OSError`s. Threads: that of the connection; `scratch` may be shared by all
connections of a thread.

Source: RFC 8446; Python `ssl.SSLObject`.
"""

import socket
import ssl
from contextlib import suppress
from mmap import mmap
from typing import Final

from duolog.core.operating_system.sockets import MORE
from duolog.core.units import KIB

CHUNK_BYTES: Final = 256 * KIB
"""So much is encrypted at a time."""
SCRATCH_BYTES: Final = 256 * KIB
RECORD_BYTES_MAX: Final = 16 * KIB + 256 + 5
"""The largest record of TLS, with its header."""


class TlsTransport:
    """One client's socket, encrypted; `handshake` comes first."""

    __slots__ = (
        "_ciphertext",
        "_encrypted",
        "_ended",
        "_incoming",
        "_outgoing",
        "_socket",
        "_tls",
        "more",
        "received_bytes",
        "scratch",
    )

    def __init__(
        self, accepted: socket.socket, context: ssl.SSLContext, scratch: memoryview
    ) -> None:
        self._socket = accepted
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.scratch = scratch
        self._ciphertext: memoryview | None = None
        """What the socket did not take yet."""
        self._encrypted = 0
        """Number of bytes of plaintext in it, of which `send` has still to report."""
        self._ended = False
        self.more = False
        """True if `recv_into` may return more although the socket has nothing."""
        self.received_bytes = 0
        """Number of bytes received from the socket."""

    @property
    def unsent(self) -> bool:
        """True if ciphertext waits for the socket."""
        return self._ciphertext is not None

    @property
    def ended(self) -> bool:
        """True if the client has closed its side of the connection."""
        return self._ended

    def fileno(self) -> int:
        return self._socket.fileno()

    def peer_certificate(self) -> bytes | None:
        """Return the client's certificate in DER, or None; it has been verified."""
        return self._tls.getpeercert(binary_form=True)

    @property
    def was_resumed(self) -> bool:
        """True if the client has resumed a session: no certificate was verified again."""
        return bool(self._tls.session_reused)

    def version(self) -> str:
        """Return the version of TLS, such as `TLSv1.3`."""
        return self._tls.version() or ""

    def cipher(self) -> str:
        return (self._tls.cipher() or ("",))[0]

    def receive(self, bytes_max: int) -> int:
        """Take ciphertext from the socket; return how many bytes, 0 at its end.

        Raises:
            BlockingIOError: there is nothing now.
            OSError: the connection is broken.
        """
        view = self.scratch[:bytes_max] if bytes_max < len(self.scratch) else self.scratch
        size = self._socket.recv_into(view)
        if size:
            self.received_bytes += size
            self._incoming.write(view[:size])
        else:
            # OpenSSL does not learn it: without close_notify it would refuse to send answers.
            self._ended = True
        return size

    def drop(self, bytes_max: int) -> int:
        """Receive and forget; return how many bytes, 0 at the end.

        Raises:
            BlockingIOError: there is nothing now.
            OSError: the connection is broken.
        """
        size = self._socket.recv_into(self.scratch[:bytes_max])
        self.received_bytes += size
        return size

    def handshake(self) -> bool:
        """Continue the handshake with what was received; return whether it is finished.

        Raises:
            OSError: it has failed; the alert for the client is in `flush`.
        """
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self.more = self._incoming.pending > 0
        return True

    def recv_into(self, buffer: bytearray | memoryview | mmap) -> int:
        """Decrypt into `buffer`; return the number of bytes, 0 at the end."""
        tls, incoming = self._tls, self._incoming
        room = len(buffer)
        if not (self.more or self._ended):
            # Ciphertext is longer than what is in it, so what is received here finds room as a
            # rule. Less than a record would be nothing yet.
            self.receive(max(room, RECORD_BYTES_MAX))
        self.more = False
        filled = 0
        with memoryview(buffer) as view:
            while filled < room:
                if not (incoming.pending or tls.pending()):
                    break
                try:
                    # With a buffer it returns a number, which its published type does not say.
                    size: int = tls.read(room - filled, view[filled:])  # type: ignore[assignment]
                except ssl.SSLWantReadError:
                    break  # A record is not whole.
                if not size:  # close_notify.
                    self._ended = True
                    break
                filled += size
            else:
                self.more = True
        if filled and self._ended:
            self.more = True  # The end is reported by the next call.
        if self._outgoing.pending or self._ciphertext is not None:
            self._answer_key_updates()
        if not filled and not self._ended:
            raise BlockingIOError
        return filled

    def send(self, data: bytes | memoryview, flags: int = 0) -> int:
        """Encrypt and send; return how many bytes of `data` have left.

        With the flag MORE, bytes may wait to be sent together with those that follow.
        """
        if self._ciphertext is not None:
            return self._finish()
        size = len(data)
        if size > CHUNK_BYTES:
            size = CHUNK_BYTES
            data = memoryview(data)[:size]
        self._tls.write(data)
        if flags & MORE and self._outgoing.pending < CHUNK_BYTES:
            return size
        self._encrypted = size
        self._take_ciphertext()
        return self._finish()

    def flush(self) -> bool:
        """Send what is encrypted as far as the socket takes it; return whether all has left.

        Raises:
            OSError: the connection is broken.
        """
        if self._ciphertext is None:
            self._take_ciphertext()
        data = self._ciphertext
        if data is None:
            return True
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            return False
        self._ciphertext = data[sent:] if sent < len(data) else None
        return self._ciphertext is None

    def end_sending(self) -> None:
        """Tell the client that nothing more comes, after what was flushed."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Send close_notify if the socket takes it, and close the socket."""
        if self._ciphertext is None:
            with suppress(OSError):  # It would wait for the client's close_notify.
                self._tls.unwrap()
            with suppress(OSError):  # The client may have gone.
                self.flush()
        self._socket.close()

    def _answer_key_updates(self) -> None:
        """Send what reading has made, and what was left of it.

        Raises:
            OSError: the client asks for more answers than it reads.
        """
        if not self.flush() and self._outgoing.pending > RECORD_BYTES_MAX:
            raise OSError("the client sends messages of TLS and does not read the answers")

    def _take_ciphertext(self) -> None:
        data = self._outgoing.read()
        self._ciphertext = memoryview(data) if data else None

    def _finish(self) -> int:
        if not self.flush():
            raise BlockingIOError
        size, self._encrypted = self._encrypted, 0
        return size
