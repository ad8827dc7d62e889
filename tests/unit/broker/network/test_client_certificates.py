"""Clients that log in by certificates: odd ones, and the audit log."""

import json
import logging
import ssl
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

import certificates
from certificates import Certificates, sign, sign_changed
from unit.broker.conftest import Harness
from unit.broker.network.tls_clients import client_of, listener_tls

METADATA = 3


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "other")


def test_logins_by_certificates_are_in_the_audit_log(
    harness: Harness,
    files: Certificates,
    strangers: Certificates,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    required, requested = (listener_tls(files, auth) for auth in ("required", "requested"))
    unmapped = listener_tls(files, "required", mapping_rules="RULE:^OU=.*$/x/")

    client_of(harness, requested, files.client_context())
    client_of(harness, required, files.client_context(files.client))
    client_of(harness, unmapped, files.client_context(files.client))
    stranger = client_of(harness, required, files.client_context(strangers.client))
    harness.turn()

    rows = [json.loads(row.getMessage()) for row in caplog.records if row.name == "duolog.audit"]
    assert [(row["mechanism"], row["outcome"], row["principal"]) for row in rows] == [
        ("SSL", "success", "User:CN=client"),
        ("SSL", "failure", "User:"),
        ("SSL", "failure", "User:"),
    ]
    assert "no rule of ssl.principal.mapping.rules fits" in rows[1]["reason"]
    assert "certificate is refused" in rows[2]["reason"]
    stranger.socket.close()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\x0c\x05alice", b"\x03\x05\0lice"),
        (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x03"),
    ],
    ids=["a name that is a BIT STRING", "version 4"],
)
def test_an_odd_certificate_ends_its_connection_and_not_the_broker(
    harness: Harness, files: Certificates, old: bytes, new: bytes
) -> None:
    """OpenSSL accepts both; the library that reads the subject does not."""
    sign(files, "odd", x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "alice")]))
    odd = sign_changed(files, "odd", old, new)
    tls = listener_tls(files, "required")

    client = client_of(harness, tls, files.client_context(odd))

    assert client.connection.closed
    assert (
        client_of(harness, tls, files.client_context(files.client))
        .ask(METADATA, 12, topics=[])
        .brokers
    )


def resumable(
    harness: Harness, files: Certificates, tls: Any
) -> tuple[ssl.SSLContext, ssl.SSLSession]:
    """Return a client's context of TLS 1.2, and a session that it had."""
    context = files.client_context(files.client)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    session = sessions(client_of(harness, tls, context)).session
    assert session is not None
    return context, session


def sessions(client: Any) -> ssl.SSLSocket:
    tls: ssl.SSLSocket = client.socket.tls
    return tls


def test_a_session_does_not_outlive_the_validity_of_the_certificate(
    harness: Harness, files: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed session of TLS 1.2 verifies no certificate again."""
    tls = listener_tls(files, "required")
    context, session = resumable(harness, files, tls)

    resumed = client_of(harness, tls, context, session=session)
    assert sessions(resumed).session_reused
    assert str(resumed.connection.identity.principal) == "User:CN=client"

    now_ms, clock = harness.broker.clock.now_ms(), harness.broker.clock
    monkeypatch.setattr(clock, "now_ms", lambda: now_ms + 31 * 24 * 3600 * 1000)
    expired = client_of(harness, tls, context, session=session)
    assert sessions(expired).session_reused
    assert expired.connection.closed


def test_a_session_does_not_outlive_the_truststore_and_the_mapping_rules(
    harness: Harness, files: Certificates
) -> None:
    tls = listener_tls(files, "required")
    context, session = resumable(harness, files, tls)

    tls.reload()

    assert not session.has_ticket
    renewed = client_of(harness, tls, context, session=session)
    assert not sessions(renewed).session_reused
    assert renewed.ask(METADATA, 12, topics=[]).brokers
