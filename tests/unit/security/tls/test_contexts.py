"""Keys and certificates from files and from texts; what is wrong with them is said in words."""

import os
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

import certificates
from certificates import Certificates, named, sign
from duolog.core.errors import ConfigError
from duolog.security.tls.contexts import server_context
from duolog.security.tls.reloading import ListenerTls
from duolog.security.tls.settings import TlsSettings


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("certificates") / "ca")


def parts(path: Path) -> tuple[str, str]:
    """Return the key and the certificates of a file."""
    text = path.read_text()
    place = text.index("-----BEGIN CERTIFICATE")
    return text[:place], text[place:]


def encrypted(path: Path, password: bytes) -> str:
    key = load_pem_private_key(path.read_bytes(), None)
    return key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password)
    ).decode()


def serves(settings: TlsSettings, files: Certificates) -> bool:
    """Return whether a client accepts the certificate of this context."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_context(settings, "SSL").context.wrap_bio(
        to_server, to_client, server_side=True
    )
    client = files.client_context().wrap_bio(to_client, to_server, server_hostname="localhost")
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return client.version() is not None


def test_a_file_or_texts_or_two_files_give_the_same(files: Certificates, tmp_path: Path) -> None:
    key, chain = parts(files.server)
    (tmp_path / "key.pem").write_text(key)
    (tmp_path / "chain.pem").write_text(chain)

    assert serves(TlsSettings(str(files.server)), files)
    assert serves(TlsSettings(certificate_chain=chain, key=key), files)
    both = TlsSettings(str(tmp_path / "chain.pem"), key_location=str(tmp_path / "key.pem"))
    assert serves(both, files)


def test_line_breaks_within_blocks_may_be_missing(files: Certificates) -> None:
    """So do they come out of Java's properties files."""
    key, chain = ("".join(text.splitlines()) for text in parts(files.server))

    assert serves(TlsSettings(certificate_chain=chain, key=key), files)


def test_an_encrypted_key_needs_its_password(files: Certificates) -> None:
    chain = parts(files.server)[1]
    secret = "swordfish"  # noqa: S105
    key = encrypted(files.server, secret.encode())

    assert serves(TlsSettings(certificate_chain=chain, key=key, key_password=secret), files)
    with pytest.raises(ConfigError, match="is encrypted, and no password is given"):
        server_context(TlsSettings(certificate_chain=chain, key=key), "SSL")
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        server_context(TlsSettings(certificate_chain=chain, key=key, key_password="x"), "SSL")  # noqa: S106
    assert caught.value.hint == "Check ssl.key.password."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there is no certificate in file"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"),
        (b"\xfe\xed\xfe\xed\0\0\0\2", "is not PEM text, but a key store of Java"),
        (b"\x30\x82\x01\x0a", "is not PEM text"),
        (b"{chain}", "there are 0 private keys"),
        (b"{key}", "there is no certificate"),
        (b"{key}{key}{chain}", "there are 2 private keys"),
        (b"{other}{chain}", "does not belong to the first certificate"),
    ],
)
def test_files_that_cannot_be_used_are_named(
    files: Certificates, tmp_path: Path, content: bytes, message: str
) -> None:
    key, chain = parts(files.server)
    other = parts(files.client)[0]
    for name, text in (("key", key), ("chain", chain), ("other", other)):
        content = content.replace(b"{" + name.encode() + b"}", text.encode())
    path = tmp_path / "server.pem"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=message) as caught:
        server_context(TlsSettings(str(path)), "SSL")
    assert str(path) in caught.value.message
    assert key.splitlines()[1] not in caught.value.render()


def test_a_pipe_a_device_or_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """A client that may change settings names the file: the broker must not wait or fill up."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 1 << 40)

    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / "huge", tmp_path):
        with pytest.raises(ConfigError, match=f'"{path}"'):
            server_context(TlsSettings(str(path)), "SSL")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "has no certificate to show"),
        ({"certificate_chain": "x"}, "has no certificate to show"),
        ({"keystore_location": "/none/server.pem"}, 'cannot read file "/none/server.pem"'),
        ({"keystore_location": "SERVER", "key": "x"}, "both as a file and as text"),
        ({"keystore_location": "SERVER", "client_auth": "required"}, "trusts no authority"),
        (
            {
                "keystore_location": "SERVER",
                "client_auth": "requested",
                "trusted_certificates": "x",
            },
            "there is no certificate in ssl.truststore.certificates",
        ),
        ({"keystore_location": "SERVER", "versions": ""}, "speaks no version"),
    ],
)
def test_settings_that_do_not_suffice_are_refused(
    files: Certificates, settings: dict[str, str], message: str
) -> None:
    given = {
        name: str(files.server) if value == "SERVER" else value for name, value in settings.items()
    }

    with pytest.raises(ConfigError, match=message):
        server_context(TlsSettings(**given), "SSL")


def test_malformed_rules_stop_the_start(files: Certificates) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        ListenerTls("SSL", lambda: TlsSettings(str(files.server), mapping_rules="RULE:x"))


@pytest.mark.parametrize(
    ("days", "message"),
    [((-10, 3), "a certificate expires soon"), ((-10, -1), "a certificate has expired")],
)
def test_a_certificate_at_its_end_is_a_warning(
    files: Certificates, days: tuple[int, int], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    old = sign(files, "old", named("localhost"), days=days)

    server_context(TlsSettings(str(old)), "SSL")

    (record,) = caplog.records
    assert record.message == message
    assert record.__dict__["listener"] == "SSL"


def test_a_chain_with_an_intermediate_authority_is_sent_whole(files: Certificates) -> None:
    text = files.server.read_text() + files.ca.read_text()

    context = server_context(
        TlsSettings(certificate_chain=text, key=parts(files.server)[0]), "SSL"
    ).context

    assert context.cert_store_stats()["x509"] == 0, "the chain is shown, and not trusted"
