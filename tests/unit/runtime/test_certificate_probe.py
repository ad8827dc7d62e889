"""The reason why a broker's certificate is not accepted, and what to do about it."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server

import pytest
from confluent_kafka import KafkaError
from cryptography import x509
from cryptography.x509.oid import NameOID

import certificates
from duolog.runtime import broker_login
from duolog.runtime.broker_login import ensure_login
from duolog.runtime.certificate_probe import why_unverified
from duolog.runtime.errors import LoginRefused
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")])


@pytest.fixture
def made(tmp_path: Path) -> certificates.Certificates:
    return certificates.make(tmp_path / "certificates")


def client(authority: Path) -> ClientSecurity:
    return ClientSecurity("SSL", authorities=authority.read_text(), origin="client.properties")


@contextmanager
def serving(certificate: Path) -> Iterator[int]:
    """Accept TLS connections with a certificate, and close each; yields the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                try:
                    context.wrap_socket(connection, server_side=True).close()
                except OSError:
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(2)
    thread.join(60)


def test_a_certificate_that_is_accepted_has_no_reason(made: certificates.Certificates) -> None:
    with serving(made.server) as port:
        assert why_unverified(client(made.ca), f"127.0.0.1:{port}") == ""


def test_a_server_that_does_not_answer_has_no_reason(made: certificates.Certificates) -> None:
    with create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    assert why_unverified(client(made.ca), f"127.0.0.1:{port}") == ""


@pytest.mark.parametrize(
    ("host", "days", "reason", "hint"),
    [
        ("elsewhere.example", (-1, 30), "mismatch", "`duolog cert DIR --host NAME`"),
        ("localhost", (-9, -1), "certificate has expired", "`duolog cert renew DIR server`"),
        ("localhost", (1, 30), "certificate is not yet valid", "Check the clocks"),
    ],
)
def test_the_error_of_a_command_has_the_reason_and_what_to_do(
    made: certificates.Certificates, host: str, days: tuple[int, int], reason: str, hint: str
) -> None:
    """All three were reported as an authority that is missing."""
    wrong = certificates.sign(made, "wrong", NAME, host=host, days=days)

    with serving(wrong) as port, pytest.raises(LoginRefused, match="cannot be verified") as error:
        ensure_login(Brokers(f"localhost:{port}", client(made.ca)))

    assert error.value.detail.startswith(f"localhost:{port}: ")
    assert reason in error.value.detail
    assert hint in error.value.hint


def test_an_unknown_authority_is_looked_for_in_the_trust_store(
    made: certificates.Certificates, tmp_path: Path
) -> None:
    other = certificates.make(tmp_path / "other")

    with serving(made.server) as port, pytest.raises(LoginRefused) as error:
        ensure_login(Brokers(f"localhost:{port}", client(other.ca)))

    assert "unable to get local issuer certificate" in error.value.detail
    assert "ssl.truststore.location (ssl.ca.location) in client.properties" in error.value.hint


def test_the_reason_is_found_if_librdkafka_reports_only_that_all_brokers_are_down(
    made: certificates.Certificates,
) -> None:
    """The error named security.protocol, which was right."""
    wrong = certificates.sign(made, "wrong", NAME, host="elsewhere.example")
    down = KafkaError(KafkaError._ALL_BROKERS_DOWN)  # noqa: SLF001

    with serving(wrong) as port:
        found = broker_login._unverified(client(made.ca), f"localhost:{port}", down)  # noqa: SLF001
    with serving(made.server) as port:
        accepted = broker_login._unverified(client(made.ca), f"localhost:{port}", down)  # noqa: SLF001

    assert found is not None
    assert "mismatch" in found.detail
    assert accepted is None
