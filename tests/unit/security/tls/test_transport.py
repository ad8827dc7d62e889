"""TLS over a socket has the interface and the meaning of a socket."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import certificates
from certificates import Certificates
from duolog.core.operating_system.sockets import MORE
from duolog.security.tls.contexts import server_context
from duolog.security.tls.settings import TlsSettings
from duolog.security.tls.transport import CHUNK_BYTES, RECORD_BYTES_MAX, TlsTransport


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


class Pair:
    """A transport, and the client at the other end, whose socket does not block."""

    def __init__(
        self,
        files: Certificates,
        client_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        **settings: str,
    ) -> None:
        read = TlsSettings(str(files.server), truststore_location=str(files.ca), **settings)
        near, self.far = socket.socketpair()
        near.settimeout(0)
        self.far.settimeout(0)
        self.transport = TlsTransport(
            self.far, server_context(read, "SSL").context, memoryview(bytearray(CHUNK_BYTES))
        )
        self.context = files.client_context(files.client)
        self.context.maximum_version = client_version
        self.client = self.context.wrap_socket(
            near,
            server_hostname="localhost",
            do_handshake_on_connect=False,
            suppress_ragged_eofs=False,
        )

    def shake(self) -> None:
        done = False
        for _ in range(20):
            with suppress(ssl.SSLWantReadError):
                self.client.do_handshake()
                if done:
                    return
            with suppress(BlockingIOError):
                self.transport.receive(1 << 14)
            done = self.transport.handshake()
            self.transport.flush()
        raise AssertionError("no handshake")

    def close(self) -> None:
        self.transport.close()
        self.client.close()


@pytest.fixture
def pair(files: Certificates) -> Iterator[Pair]:
    made = Pair(files)
    made.shake()
    yield made
    made.close()


def everything(pair: Pair, room: int) -> bytes:
    """Read until nothing more is here, as a connection does."""
    found = bytearray()
    buffer = bytearray(room)
    while True:
        try:
            size = pair.transport.recv_into(buffer)
        except BlockingIOError:
            try:
                pair.far.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return bytes(found)
            continue
        assert size
        found += buffer[:size]


@pytest.mark.parametrize("room", [100, 16_384, 1 << 20])
def test_what_the_client_sends_arrives_whole_in_buffers_of_any_size(pair: Pair, room: int) -> None:
    data = bytes(range(256)) * 200

    pair.client.send(data)

    assert everything(pair, room) == data
    assert not pair.transport.more


def test_bytes_that_no_poller_reports_are_announced(pair: Pair) -> None:
    pair.client.send(b"x" * 10_000)
    buffer = bytearray(6000)

    assert pair.transport.recv_into(buffer) == 6000
    assert pair.transport.more
    with pytest.raises(BlockingIOError):
        pair.far.recv(1, socket.MSG_PEEK)
    assert pair.transport.recv_into(buffer) == 4000
    assert not pair.transport.more


def test_nothing_to_read_is_a_blocking_error_as_of_a_socket(pair: Pair) -> None:
    with pytest.raises(BlockingIOError):
        pair.transport.recv_into(bytearray(100))


def test_half_a_record_is_nothing_yet(pair: Pair, files: Certificates) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    other = Pair(files)
    client = other.context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    near = other.client
    raw = socket.socket(fileno=near.detach())
    for _ in range(10):
        with suppress(ssl.SSLWantReadError):
            client.do_handshake()
        raw.send(outgoing.read() or b"")
        with suppress(BlockingIOError):
            other.transport.receive(1 << 14)
        other.transport.handshake()
        other.transport.flush()
        with suppress(BlockingIOError):
            incoming.write(raw.recv(1 << 16))
    client.write(b"a whole record")
    record = outgoing.read()

    raw.send(record[:10])
    with pytest.raises(BlockingIOError):
        other.transport.recv_into(bytearray(100))
    raw.send(record[10:])
    buffer = bytearray(100)

    assert other.transport.recv_into(buffer) == 14
    assert buffer[:14] == b"a whole record"
    raw.close()
    other.transport.close()


def test_a_client_that_reads_nothing_stops_the_sending_and_loses_nothing(pair: Pair) -> None:
    """`send` repeats what it could not send, and takes each byte once."""
    data = memoryview(bytes(range(256)) * (4 << 12))
    sent, received, blocked = 0, bytearray(), 0

    while len(received) < len(data):
        try:
            if sent < len(data):
                sent += pair.transport.send(data[sent:])
                continue
        except BlockingIOError:
            blocked += 1
            assert pair.transport.unsent
        with suppress(ssl.SSLWantReadError):
            received += pair.client.recv(1 << 16)

    assert blocked
    assert received == data


@pytest.mark.skipif(not MORE, reason="only Linux lets bytes wait")
def test_bytes_that_may_wait_leave_with_those_that_follow(pair: Pair) -> None:
    assert pair.transport.send(b"header", MORE) == 6
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.recv(100)
    assert pair.transport.send(b"records") == 7

    assert pair.client.recv(6) + pair.client.recv(7) == b"headerrecords"


@pytest.mark.parametrize("notified", [True, False])
def test_the_end_of_what_a_client_sends_comes_after_its_last_bytes(
    pair: Pair, *, notified: bool
) -> None:
    pair.client.send(b"last words")
    if notified:
        with suppress(ssl.SSLWantReadError):
            pair.client.unwrap()
    else:
        pair.client.shutdown(socket.SHUT_WR)
    buffer = bytearray(100)

    assert pair.transport.recv_into(buffer) == 10
    assert pair.transport.recv_into(buffer) == 0
    assert pair.transport.ended
    assert pair.transport.recv_into(buffer) == 0


def test_a_client_that_sends_nothing_more_can_still_read(pair: Pair) -> None:
    pair.client.send(b"question")
    raw = pair.client
    pair.transport.recv_into(bytearray(100))
    raw.shutdown(socket.SHUT_WR)
    assert pair.transport.recv_into(bytearray(100)) == 0

    pair.transport.send(b"answer")

    # Python's client forgets TLS with `shutdown`; what it receives shows that something was sent.
    assert socket.socket.recv(raw, 100)[:3] == b"\x17\x03\x03"


def test_closing_tells_the_client_that_nothing_was_cut_off(pair: Pair) -> None:
    pair.transport.send(b"all")
    pair.transport.close()

    assert pair.client.recv(10) == b"all"
    assert pair.client.recv(10) == b"", "close_notify; without it this raises SSLEOFError"


def test_changed_ciphertext_is_an_error(pair: Pair) -> None:
    pair.client.send(b"x")
    data = bytearray(pair.far.recv(1000))
    data[-1] ^= 1
    pair.transport._incoming.write(data)  # noqa: SLF001
    pair.transport.more = True

    with pytest.raises(ssl.SSLError):
        pair.transport.recv_into(bytearray(100))


def test_only_versions_from_1_2_on_are_spoken(files: Certificates) -> None:
    for version in ("TLSv1.2", "TLSv1.3"):
        pair = Pair(files, ssl.TLSVersion[version.replace(".", "_")])
        pair.shake()
        assert pair.transport.version() == version
        pair.close()
    pair = Pair(files, ssl.TLSVersion.TLSv1_2, versions="TLSv1.3")
    with pytest.raises(ssl.SSLError):
        pair.shake()
    pair.close()


def test_a_client_cannot_renegotiate(files: Certificates) -> None:
    context = server_context(TlsSettings(str(files.server)), "SSL").context

    assert context.options & ssl.OP_NO_RENEGOTIATION
    assert context.options & ssl.OP_NO_COMPRESSION
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_the_certificate_of_the_client_is_known_in_both_versions(files: Certificates) -> None:
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        pair = Pair(files, version, client_auth="required")
        pair.shake()
        certificate = pair.transport.peer_certificate()
        assert certificate
        assert ssl.DER_cert_to_PEM_cert(certificate).strip() in files.client.read_text()
        pair.close()


def test_settings_do_not_show_their_secrets() -> None:
    settings = TlsSettings(key="secret", key_password="secret")  # noqa: S106

    assert "secret" not in repr(settings)


def test_a_private_key_leaves_no_file(
    files: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server_context(TlsSettings(str(files.server)), "SSL")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("client_auth", ["required", "requested", "none"])
def test_a_client_that_shows_a_certificate_resumes_no_session(
    files: Certificates, client_auth: str
) -> None:
    """A resumed session of TLS 1.3 shows no certificate: an authority that was removed would count."""
    pair = Pair(files, client_auth=client_auth)
    pair.shake()
    with suppress(ssl.SSLWantReadError):
        pair.client.recv(1)  # Session tickets arrive after the handshake.

    session = pair.client.session

    assert bool(session and session.has_ticket) == (client_auth == "none")
    pair.close()


def test_bytes_that_come_with_the_end_of_the_handshake_are_announced(files: Certificates) -> None:
    pair = Pair(files)
    with suppress(ssl.SSLWantReadError):
        pair.client.do_handshake()
    pair.transport.receive(1 << 14)
    assert not pair.transport.handshake()
    pair.transport.flush()
    pair.client.do_handshake()
    pair.client.send(b"early")

    pair.transport.receive(1 << 14)

    assert pair.transport.handshake()
    assert pair.transport.more
    assert everything(pair, 100) == b"early"
    pair.close()


def test_an_end_that_comes_with_the_last_bytes_is_announced(pair: Pair) -> None:
    """No poller reports it: the client has sent close_notify, and its socket is open."""
    pair.client.send(b"last")
    with suppress(ssl.SSLWantReadError):
        pair.client.unwrap()
    buffer = bytearray(100)

    assert pair.transport.recv_into(buffer) == 4
    assert pair.transport.more
    assert pair.transport.recv_into(buffer) == 0


def test_answers_that_a_client_does_not_read_are_bounded(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of TLS 1.3 may ask for new keys with each record, and each is answered."""
    outgoing = pair.transport._outgoing  # noqa: SLF001
    record = bytes(RECORD_BYTES_MAX)
    read = pair.transport._tls.read  # noqa: SLF001

    class AsksForKeys:
        """OpenSSL, whose every read makes an answer."""

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def read(self, size: int, buffer: memoryview) -> object:
            outgoing.write(record)
            return read(size, buffer)

    real = pair.transport._tls  # noqa: SLF001
    monkeypatch.setattr(pair.transport, "_tls", AsksForKeys())
    pair.far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    def ask_on() -> None:
        for _ in range(100):
            pair.client.send(b"x")
            pair.transport.recv_into(bytearray(10))

    with pytest.raises(OSError, match="does not read the answers"):
        ask_on()
    assert outgoing.pending < 4 * RECORD_BYTES_MAX
