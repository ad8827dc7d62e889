"""Clients that log in by certificates: odd ones, and the audit log."""

import json
import logging

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
