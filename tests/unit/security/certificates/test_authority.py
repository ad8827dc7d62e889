"""Certificates are what Java and OpenSSL ask for, keys are private, and nothing is overwritten."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from duolog.core.errors import ConfigError
from duolog.security.certificates.authority import Authority

HOSTS = ("broker.example", "*.brokers.example", "192.0.2.7", "2001:db8::7")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "ca", hosts=HOSTS, client="alice", days=90)


def certificate(path: Path) -> x509.Certificate:
    data = path.read_bytes()
    return x509.load_pem_x509_certificate(data[data.index(b"-----BEGIN CERTIFICATE") :])


def extension(found: x509.Certificate, kind: type[x509.ExtensionType]) -> x509.Extension:  # type: ignore[type-arg]
    return found.extensions.get_extension_for_class(kind)


def test_a_servers_certificate_has_its_names_and_addresses(authority: Authority) -> None:
    found = certificate(authority.path / "server.pem")
    names = extension(found, x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == list(HOSTS[:2])
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == list(HOSTS[2:])
    assert list(extension(found, x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    key = found.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    usage = extension(found, x509.KeyUsage)
    assert usage.critical
    assert usage.value.digital_signature
    assert not usage.value.key_cert_sign
    assert timedelta(days=89) < found.not_valid_after_utc - datetime.now(UTC) < timedelta(days=91)


def test_a_clients_certificate_serves_clients_only(authority: Authority) -> None:
    found = certificate(authority.path / "alice.pem")

    assert found.subject.rfc4514_string() == "CN=alice"
    assert list(extension(found, x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert not extension(found, x509.BasicConstraints).value.ca


def test_the_authority_may_sign_and_no_other(authority: Authority) -> None:
    constraints = extension(authority.certificate, x509.BasicConstraints)
    assert constraints.critical
    assert (constraints.value.ca, constraints.value.path_length) == (True, 0)
    usage = extension(authority.certificate, x509.KeyUsage).value
    assert usage.key_cert_sign
    assert not usage.digital_signature
    for name in ("server.pem", "alice.pem"):
        certificate(authority.path / name).verify_directly_issued_by(authority.certificate)


def test_only_the_owner_reads_private_keys(authority: Authority) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in authority.path.iterdir()}

    assert modes == {"ca.pem": 0o644, "ca.key": 0o600, "server.pem": 0o600, "alice.pem": 0o600}
    assert authority.path.stat().st_mode & 0o777 == 0o700
    assert b"PRIVATE" not in (authority.path / "ca.pem").read_bytes()


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "server.pem", "alice.pem"])
def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")

    with pytest.raises(ConfigError, match="not overwritten"):
        Authority.create(tmp_path, hosts=HOSTS, client="alice", days=90)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "precious"}


def test_further_clients_get_certificates_of_their_own(authority: Authority) -> None:
    path = authority.add_client("bob", days=30)

    assert certificate(path).subject.rfc4514_string() == "CN=bob"
    with pytest.raises(ConfigError, match="not overwritten"):
        authority.add_client("bob", days=30)


@pytest.mark.parametrize("name", ["", "a/b", "../x", "server", "CA", ".hidden", "a b", "x" * 65])
def test_names_that_are_no_file_names_are_refused(authority: Authority, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a client"):
        authority.add_client(name, days=30)


@pytest.mark.parametrize("host", ["", "a b", "https://a", "a:9092", "-a", "a" * 254, "a..b"])
def test_hosts_that_no_client_can_check_are_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="neither a host name nor an IP address"):
        Authority.create(tmp_path / "ca", hosts=(host,), client="alice", days=90)

    assert not (tmp_path / "ca").exists()


def test_renewal_keeps_names_and_authority_and_changes_keys(authority: Authority) -> None:
    paths = [authority.path / name for name in ("alice.pem", "server.pem")]
    before = [certificate(path) for path in paths]

    assert list(authority.renew((), days=200)) == paths

    for path, old in zip(paths, before, strict=True):
        new = certificate(path)
        assert new.subject == old.subject
        assert new.public_key() != old.public_key()
        assert new.not_valid_after_utc > old.not_valid_after_utc
        assert path.stat().st_mode & 0o777 == 0o600
        new.verify_directly_issued_by(authority.certificate)
        assert load_pem_private_key(path.read_bytes(), None).public_key() == new.public_key()
    names = extension(certificate(paths[1]), x509.SubjectAlternativeName)
    assert names == extension(before[1], x509.SubjectAlternativeName)
    assert {path.name for path in authority.path.iterdir()} == {
        "ca.pem",
        "ca.key",
        "server.pem",
        "alice.pem",
    }


def test_renewal_of_what_is_not_there_is_refused(authority: Authority) -> None:
    with pytest.raises(ConfigError, match="cannot read file"):
        list(authority.renew(("bob",), days=30))


def test_renewal_of_the_authority_is_refused_and_changes_nothing(authority: Authority) -> None:
    before = (authority.path / "ca.pem").read_bytes()

    with pytest.raises(ConfigError, match="certificate of an authority") as refused:
        list(authority.renew(["server", "ca"], days=30))

    assert "another directory" in (refused.value.hint or "")
    assert (authority.path / "ca.pem").read_bytes() == before


def test_renewal_leaves_files_alone_that_the_authority_has_not_signed(
    authority: Authority, tmp_path: Path
) -> None:
    other = Authority.create(tmp_path / "other", hosts=["localhost"], client="client", days=30)
    foreign = {
        "trusted.pem": (authority.path / "ca.pem").read_bytes(),
        "strange.pem": (other.path / "client.pem").read_bytes(),
        "note.pem": b"not a certificate",
    }
    for name, data in foreign.items():
        (authority.path / name).write_bytes(data)

    renewed = {path.name for path in authority.renew([], days=30)}

    assert renewed == {"server.pem", "alice.pem"}
    assert {name: (authority.path / name).read_bytes() for name in foreign} == foreign
    for name in foreign:
        with pytest.raises(ConfigError, match="no certificate that the authority in"):
            list(authority.renew([Path(name).stem], days=30))


def test_renewal_takes_names_and_not_paths(authority: Authority, tmp_path: Path) -> None:
    outside = tmp_path / "outside.pem"
    outside.write_bytes((authority.path / "alice.pem").read_bytes())
    before = outside.read_bytes()

    with pytest.raises(ConfigError, match="cannot be the name of a client"):
        list(authority.renew(["../outside"], days=30))

    assert outside.read_bytes() == before


def test_nothing_outlives_the_authority(authority: Authority) -> None:
    path = authority.add_client("bob", days=100_000)

    assert certificate(path).not_valid_after_utc == authority.certificate.not_valid_after_utc


def test_a_directory_without_authority_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read file") as caught:
        Authority(tmp_path)

    assert "duolog cert" in caught.value.hint


def test_openssl_takes_the_files_as_they_are(authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.path / "ca.pem"))
    context.load_cert_chain(authority.path / "alice.pem")
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(authority.path / "server.pem")
