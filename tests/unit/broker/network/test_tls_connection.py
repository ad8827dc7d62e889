"""Requests over TLS, handshakes of all kinds of clients, and what each may cost."""

import logging
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

import certificates
from certificates import Certificates, named, sign
from duolog.broker.network import unauthenticated
from duolog.broker.network.tls_connection import HANDSHAKE_BYTES_MAX, TlsConnection
from duolog.security.identity.principal import ANONYMOUS, Principal
from duolog.security.tls.settings import TlsSettings
from unit.broker.conftest import Client, Harness, fetch_fields, produce_fields
from unit.broker.network.tls_clients import client_of, connect, listener_tls

METADATA, FETCH = 3, 1


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates of an authority that the broker does not trust."""
    return certificates.make(tmp_path_factory.mktemp("strangers") / "ca")


@pytest.fixture
def client(harness: Harness, files: Certificates) -> Client:
    return client_of(harness, listener_tls(files), files.client_context())


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.__dict__["reason"] for record in caplog.records if record.levelno >= logging.WARNING
    ]


def receive_alert(harness: Harness, client: Client) -> None:
    for _ in range(10):
        with suppress(BlockingIOError):
            client.socket.recv(100)
        harness.turn()


def test_records_are_produced_and_fetched(harness: Harness, client: Client) -> None:
    harness.topic("orders")
    batch = harness.batch(b"value")

    assert client.produce("orders", batch).error_code == 0
    answer = client.fetch("orders", 0)

    assert answer.error_code == 0
    assert bytes(answer.records)[61:] == batch[61:]
    assert client.connection.identity.principal == ANONYMOUS
    assert client.connection not in harness.broker.connections.unauthenticated
    assert harness.broker.connections.unauthenticated.succeeded == 1


def test_large_fetches_reach_a_slow_reader_whole(harness: Harness, client: Client) -> None:
    """Spans of files are read, encrypted and sent in parts; the socket takes little at a time."""
    harness.topic("orders", 3, max_message_bytes=str(4 << 20))
    values = [os.urandom(3 << 20) for _ in range(3)]
    for partition, value in enumerate(values):
        answer = client.produce("orders", harness.batch(value), partition=partition)
        assert answer.error_code == 0
    fields = fetch_fields("orders", 0, partition_max_bytes=4 << 20)
    template = fields["topics"][0]["partitions"][0]
    fields["topics"][0]["partitions"] = [{**template, "partition": index} for index in range(3)]

    answer = client.ask(FETCH, 11, **fields)

    for partition, value in zip(answer.responses[0].partitions, values, strict=True):
        assert bytes(partition.records).endswith(value + b"\0")


def test_requests_that_fill_the_buffer_are_all_answered(harness: Harness, client: Client) -> None:
    """They wait decrypted, where no poller sees them."""
    frames = b""
    for _ in range(300):
        frames += client.frame(METADATA, 12, topics=[{"name": "t" * 200}])
        client.expect(METADATA, 12)
    client.send_bytes(frames)

    for _ in range(300):
        assert len(client.receive().topics) == 1


RECORD = 16 * 1024
"""The plaintext of the largest record of TLS, and the size of a new receive buffer."""


def produce_frame(harness: Harness, client: Client, size: int) -> tuple[bytes, bytes]:
    """Return a request of `size` bytes to topic `orders`, and the value of its record."""
    value = os.urandom(size - 200)
    for _ in range(3):
        frame = client.frame(0, 9, **produce_fields("orders", harness.batch(value)))
        value = os.urandom(len(value) + size - len(frame))
    frame = client.frame(0, 9, **produce_fields("orders", harness.batch(value)))
    assert len(frame) == size
    return frame, value


@pytest.mark.parametrize("memory", [RECORD, 16 * RECORD])
def test_bytes_that_only_tls_has_are_read_after_the_batches_before_them_are_written(
    harness: Harness, client: Client, memory: int
) -> None:
    """The buffer has no room for the end of the second request, and the socket has nothing more.

    To read that end moves the second request over the first one, whose batch must be written. A
    buffer that has grown before moves it in place.
    """
    client.connection._received.data = bytearray(memory)  # noqa: SLF001
    harness.topic("orders")
    first, one = produce_frame(harness, client, 8_500)
    second, two = produce_frame(harness, client, RECORD + 100 - 8_500)
    client.expect(0, 9)
    client.expect(0, 9)
    client.send_bytes(first[:100])
    client.receive_nothing()

    client.send_bytes(first[100:] + second)

    for _ in range(2):
        assert client.receive().responses[0].partition_responses[0].error_code == 0
    records = bytes(client.fetch("orders", 0).records)
    assert one in records
    assert two in records


def test_batches_that_are_still_in_the_buffer_are_written_before_it_is_reused(
    harness: Harness, client: Client
) -> None:
    harness.topic("orders")
    values = [os.urandom(5000) for _ in range(60)]
    frames = b""
    for value in values:
        frames += client.frame(0, 9, **produce_fields("orders", harness.batch(value)))
        client.expect(0, 9)
    # At once, so that records of TLS hold parts of several requests.
    client.send_bytes(frames)
    answers = [client.receive().responses[0].partition_responses[0] for _ in values]

    assert [answer.error_code for answer in answers] == [0] * 60
    records = bytes(client.fetch("orders", 0).records)
    for value in values:
        assert value in records


def test_a_client_that_closed_its_side_gets_its_answer(
    harness: Harness, client: Client, files: Certificates
) -> None:
    del files
    harness.topic("orders")
    client.send(FETCH, 11, **fetch_fields("orders", 0, max_wait_ms=60_000))
    client.receive_nothing()
    near = client.socket.tls  # type: ignore[attr-defined]
    with suppress(ssl.SSLWantReadError):
        near.unwrap()  # Sends close_notify.

    harness.turn_until(lambda: client.connection.closed)

    # Python's client reads nothing after its own close_notify: what came is in the socket.
    assert len(socket.socket.recv(near, 1 << 16)) > 50


def test_plain_bytes_close_the_connection_with_one_line_and_no_answer(
    harness: Harness, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    near, connection = connect(harness, listener_tls(files))
    plain = harness.client()

    near.send(plain.frame(METADATA, 12, topics=None))
    harness.turn_until(lambda: connection.closed)

    assert near.recv(100) == b""
    assert warnings_of(caplog) == ["the client does not speak TLS, and this listener does"]
    near.close()


def test_tls_on_a_plaintext_listener_closes_the_connection_with_one_line(
    harness: Harness, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    outgoing = ssl.MemoryBIO()
    tls = files.client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    client = harness.client()

    client.send_bytes(outgoing.read())

    assert client.closed_by_broker
    assert warnings_of(caplog) == ["the client speaks TLS, and this listener does not"]


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_close_their_connection_and_no_other(
    harness: Harness, files: Certificates, client: Client, seed: int
) -> None:
    noise = bytes([0x16, 3, 1]) if seed % 2 else b""
    noise += os.urandom(seed * 97 + 1)
    near, connection = connect(harness, listener_tls(files))

    near.send(noise)
    near.shutdown(socket.SHUT_WR)
    harness.turn_until(lambda: connection.closed)

    assert client.ask(METADATA, 12, topics=[]).brokers
    near.close()


def test_a_client_of_another_authority_is_told_so(
    harness: Harness,
    files: Certificates,
    strangers: Certificates,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In TLS 1.3 the client hears of it after its handshake: the alert must not be lost."""
    context = files.client_context(strangers.client)
    client = client_of(harness, listener_tls(files, "required"), context)

    client.socket.send(client.frame(METADATA, 12, topics=None))
    harness.turn()
    with pytest.raises(ssl.SSLError, match=r"(?i)unknown.ca"):
        receive_alert(harness, client)
    client.socket.close()
    harness.turn_until(lambda: client.connection.closed)

    (reason,) = warnings_of(caplog)
    assert "the client's certificate is refused" in reason
    assert harness.broker.connections.unauthenticated.failed == 1


def test_a_client_without_a_certificate_is_refused_if_one_is_required(
    harness: Harness, files: Certificates
) -> None:
    client = client_of(harness, listener_tls(files, "required"), files.client_context())

    with pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"):
        receive_alert(harness, client)


def test_an_expired_certificate_is_refused(
    harness: Harness, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    expired = sign(files, "expired", named("old"), days=(-10, -1))
    client = client_of(harness, listener_tls(files, "required"), files.client_context(expired))
    client.socket.close()
    harness.turn_until(lambda: client.connection.closed)

    assert "expired" in warnings_of(caplog)[0]


def test_a_client_may_come_without_a_certificate_if_one_is_requested(
    harness: Harness, files: Certificates
) -> None:
    tls = listener_tls(files, "requested")

    without = client_of(harness, tls, files.client_context())
    shown = client_of(harness, tls, files.client_context(files.client))

    assert without.ask(METADATA, 12, topics=[]).brokers
    assert without.connection.identity.principal == ANONYMOUS
    assert shown.connection.identity.principal == Principal("User", "CN=client")
    assert shown.connection.identity.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("rules", "user"),
    [
        ("DEFAULT", "CN=Alice,OU=Payments,O=Example"),
        ("RULE:^CN=(.*?),OU=Payments.*$/$1/L,DEFAULT", "alice"),
        ("RULE:^CN=(.*?),OU=Others.*$/$1/L,DEFAULT", "CN=Alice,OU=Payments,O=Example"),
    ],
)
def test_the_user_is_the_mapped_subject(
    harness: Harness, files: Certificates, rules: str, user: str
) -> None:
    name = x509.Name.from_rfc4514_string("CN=Alice,OU=Payments,O=Example")
    alice = sign(files, "alice", name)
    tls = listener_tls(files, "required", mapping_rules=rules)

    client = client_of(harness, tls, files.client_context(alice))

    assert client.ask(METADATA, 12, topics=[]).brokers
    assert client.connection.identity.principal == Principal("User", user)


def test_a_subject_that_no_rule_fits_is_refused(
    harness: Harness, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    tls = listener_tls(files, "required", mapping_rules="RULE:^OU=.*$/x/")
    client = client_of(harness, tls, files.client_context(files.client))

    assert client.connection.closed
    assert 'fits the certificate of "CN=client"' in warnings_of(caplog)[0]


def test_the_handshake_works_byte_by_byte(harness: Harness, files: Certificates) -> None:
    near, connection = connect(harness, listener_tls(files))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = files.client_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    for _ in range(4):
        with suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        for byte in outgoing.read():
            near.send(bytes([byte]))
            harness.turn()
        with suppress(BlockingIOError):
            incoming.write(near.recv(1 << 16))

    harness.turn_until(lambda: not connection.handshaking)
    near.close()


def test_a_client_that_stops_in_its_handshake_is_closed_in_time(
    open_harness: Callable[..., Harness], files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    harness = open_harness(connection_authentication_timeout_ms="100")
    near, connection = connect(harness, listener_tls(files))
    near.send(b"\x16\x03\x01")

    with caplog.at_level(logging.INFO):
        harness.turn_until(lambda: connection.closed)

    assert [record.__dict__.get("reason") for record in caplog.records] == [
        "not authenticated within 0.1 s"
    ]
    assert harness.broker.connections.unauthenticated.expired == 1
    assert len(harness.broker.connections.unauthenticated) == 0
    near.close()


def test_five_hundred_half_open_handshakes_keep_no_client_out(
    open_harness: Callable[..., Harness], files: Certificates
) -> None:
    harness = open_harness(max_connections_unauthenticated="100")
    tls = listener_tls(files)
    outgoing = ssl.MemoryBIO()
    hello = files.client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    first_flight = outgoing.read()
    opened = []
    for _ in range(500):
        near, connection = connect(harness, tls)
        near.send(first_flight)
        opened.append((near, connection))

    clients = harness.broker.connections.unauthenticated
    assert len(clients) == 100
    assert clients.evicted == 400
    assert [connection.closed for _, connection in opened] == [True] * 400 + [False] * 100
    client = client_of(harness, tls, files.client_context())
    assert client.ask(METADATA, 12, topics=[]).brokers
    for near, _ in opened:
        near.close()


def test_handshakes_get_only_a_part_of_each_round(
    harness: Harness, files: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request of an honest client is served between them."""
    monkeypatch.setattr(unauthenticated, "_ROUND_S", 1e-9)
    tls = listener_tls(files)
    outgoing = ssl.MemoryBIO()
    hello = files.client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    first_flight = outgoing.read()
    opened = [connect(harness, tls) for _ in range(3)]
    for near, _ in opened:
        near.send(first_flight)

    def answered() -> int:
        return sum(connection._transport.received_bytes > 0 for _, connection in opened)  # noqa: SLF001

    counts = []
    for _ in range(3):
        harness.turn()
        counts.append(answered())

    assert counts == [1, 2, 3]
    for near, _ in opened:
        near.close()


def test_a_handshake_that_never_ends_is_refused_after_so_many_bytes(
    harness: Harness, files: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    near, connection = connect(harness, listener_tls(files))
    # Records of one byte each: OpenSSL waits for a message of 100,000 bytes.
    message = b"\x01" + (100_000).to_bytes(3) + bytes(100_000)
    records = [b"\x16\x03\x01\0\1" + message[place : place + 1] for place in range(50_000)]
    data = memoryview(b"".join(records))
    sent = 0
    while not connection.closed and sent < len(data):
        try:
            sent += near.send(data[sent : sent + 4096])
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            harness.turn()

    harness.turn_until(lambda: connection.closed)
    assert connection._transport.received_bytes <= HANDSHAKE_BYTES_MAX + (1 << 16)  # noqa: SLF001
    assert len(warnings_of(caplog)) == 1
    near.close()


def test_new_certificates_serve_new_connections(
    harness: Harness, files: Certificates, tmp_path: Path
) -> None:
    path = tmp_path / "server.pem"
    path.write_bytes(files.server.read_bytes())
    later = Certificates(files.path)
    tls = listener_tls(files)
    tls._read = lambda: TlsSettings(str(path))  # noqa: SLF001
    tls.reload()
    before = client_of(harness, tls, files.client_context())
    other = certificates.make(tmp_path / "other")
    path.write_bytes(other.server.read_bytes())

    tls.follow_files()

    assert client_of(harness, tls, other.client_context()).ask(METADATA, 12, topics=[]).brokers
    with pytest.raises(ssl.SSLCertVerificationError):
        client_of(harness, tls, later.client_context())
    assert before.ask(METADATA, 12, topics=[]).brokers


def test_a_half_written_file_keeps_the_old_certificate(
    harness: Harness, files: Certificates, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "server.pem"
    path.write_bytes(files.server.read_bytes())
    tls = listener_tls(files)
    tls._read = lambda: TlsSettings(str(path))  # noqa: SLF001
    tls.reload()
    path.write_bytes(files.server.read_bytes()[:100])

    tls.follow_files()
    tls.follow_files()

    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == [
        "certificates are not reloaded; the old ones stay"
    ]
    assert client_of(harness, tls, files.client_context()).ask(METADATA, 12, topics=[]).brokers


def test_a_closed_connection_leaves_nothing_behind(
    harness: Harness, files: Certificates, watch: Callable[[Any], Callable[[], list[Any]]]
) -> None:
    tls = listener_tls(files)
    new = watch(TlsConnection)
    for _ in range(3):
        near = connect(harness, tls)[0]
        near.send(b"plain")
        harness.turn()
        near.close()
    harness.turn()
    harness.turn()

    assert new() == []
