"""A certificate authority in a directory, and the certificates that it has signed.

    ca.pem       certificate of the authority: clients and servers trust it
    ca.key       its private key; needed only to sign
    server.pem   private key and certificate of the broker
    NAME.pem     private key and certificate of the client NAME

Keys are on the curve P-256. Each file with a private key is readable by its owner only. A file is
there whole or not at all, and none is overwritten but by `renew`, which keeps the authority.

Source: RFC 5280; what Java and OpenSSL ask of certificates of servers and clients (RFC 9525).
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from duolog.core.errors import ConfigError
from duolog.core.operating_system.files import sync
from duolog.security.certificates.names import RESERVED, ensure_user, host_names, hosts_of

CA_CERTIFICATE: Final = "ca.pem"
CA_KEY: Final = "ca.key"
SERVER: Final = "server.pem"
DEFAULT_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
CA_DAYS: Final = 3650
DAYS: Final = 397
"""Default validity: what browsers and Apple's systems accept at most."""

_CLOCK_SKEW: Final = timedelta(hours=1)
_COMMON_NAME_MAX: Final = 64


class Authority:
    """The authority of one directory."""

    def __init__(self, path: Path) -> None:
        """Open the authority of `path`.

        Raises:
            ConfigError: there is none, or its files cannot be read.
        """
        self.path = path
        key = _read(path / CA_KEY)
        certificate = _read(path / CA_CERTIFICATE)
        try:
            found = load_pem_private_key(key, None)
            self.certificate = x509.load_pem_x509_certificate(certificate)
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f'the files {CA_CERTIFICATE} and {CA_KEY} in "{path}" are no authority'
            ) from error
        assert isinstance(found, ec.EllipticCurvePrivateKey)
        self._key = found

    @classmethod
    def create(cls, path: Path, *, hosts: Sequence[str], client: str, days: int) -> "Authority":
        """Make an authority, a server's certificate for `hosts`, and one for a client.

        Raises:
            ConfigError: one of the files is there already, or a name cannot be used.
        """
        host_names(hosts)
        ensure_user(client)
        for name in (CA_CERTIFICATE, CA_KEY, SERVER, f"{client}.pem"):
            _ensure_free(path / name)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        own = _named(f"Duolog CA {secrets.token_hex(4)}")
        builder = _builder(own, own, key.public_key(), _now() + timedelta(days=CA_DAYS))
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        certificate = builder.sign(key, hashes.SHA256())
        _write_new(path / CA_KEY, _key_pem(key), mode=0o600)
        _write_new(path / CA_CERTIFICATE, certificate.public_bytes(Encoding.PEM), mode=0o644)
        made = cls(path)
        _write_new(path / SERVER, made._server(hosts, days), mode=0o600)
        made.add_client(client, days=days)
        return made

    def add_client(self, name: str, *, days: int) -> Path:
        """Make a certificate for a client, whose principal is `User:CN=NAME`; return its file.

        Raises:
            ConfigError: there is one already, or the name cannot be used.
        """
        ensure_user(name)
        path = self.path / f"{name}.pem"
        _write_new(path, self._client(name, days), mode=0o600)
        return path

    def renew(self, names: Iterable[str], *, days: int) -> Iterator[Path]:
        """Replace certificates and their keys, for the same hosts and users; yield their files.

        `names` are `server` and names of clients; none means all that this authority has signed.

        Raises:
            ConfigError: one is not there, cannot be read, or is of another authority.
        """
        for path in [self._file_of(name) for name in names] or self._signed():
            old = self._own_certificate(path)
            if path.name == SERVER:
                data = self._server(hosts_of(old), days)
            else:
                data = self._client(path.stem, days)
            _replace(path, data)
            yield path

    def _file_of(self, name: str) -> Path:
        if f"{name}.pem" == CA_CERTIFICATE:
            raise ConfigError(
                "the certificate of an authority is not renewed: no client would trust the new one",
                name="NAME",
                value=name,
                hint="Make a new authority in another directory with `duolog cert`, and let "
                "brokers and clients trust both while you replace their certificates.",
            )
        if f"{name}.pem" != SERVER:
            ensure_user(name)
        return self.path / f"{name}.pem"

    def _signed(self) -> list[Path]:
        """Return the files to renew: others, such as lists of authorities, may be next to them."""
        found = []
        for path in sorted(self.path.glob("*.pem")):
            try:
                self._own_certificate(path)
            except ConfigError:
                continue
            found.append(path)
        return found

    def _own_certificate(self, path: Path) -> x509.Certificate:
        """Return the certificate of a file, which this authority has signed for another."""
        try:
            found = x509.load_pem_x509_certificate(_certificate_of(_read(path, self._hint())))
            found.verify_directly_issued_by(self.certificate)
            own = found.public_key() == self.certificate.public_key()
            if path.name == SERVER:
                hosts_of(found)
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound) as error:
            raise self._foreign(path) from error
        if own:
            raise self._foreign(path)
        return found

    def _foreign(self, path: Path) -> ConfigError:
        return ConfigError(
            f'file "{path}" has no certificate that the authority in "{self.path}" has signed',
            value=str(path),
            hint=self._hint(),
        )

    def _hint(self) -> str:
        return f"`duolog cert client {self.path} NAME` makes a certificate for a client."

    def _server(self, hosts: Sequence[str], days: int) -> bytes:
        key = ec.generate_private_key(ec.SECP256R1())
        names = host_names(hosts)
        common = next((host for host in hosts if len(host) <= _COMMON_NAME_MAX), "server")
        builder = self._leaf(common, key, days)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return self._sign(builder, key, ExtendedKeyUsageOID.SERVER_AUTH)

    def _client(self, name: str, days: int) -> bytes:
        key = ec.generate_private_key(ec.SECP256R1())
        return self._sign(self._leaf(name, key, days), key, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _leaf(
        self, common: str, key: ec.EllipticCurvePrivateKey, days: int
    ) -> x509.CertificateBuilder:
        until = min(_now() + timedelta(days=days), self.certificate.not_valid_after_utc)
        builder = _builder(_named(common), self.certificate.subject, key.public_key(), until)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return builder.add_extension(issuer, critical=False)

    def _sign(
        self,
        builder: x509.CertificateBuilder,
        key: ec.EllipticCurvePrivateKey,
        usage: x509.ObjectIdentifier,
    ) -> bytes:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return _key_pem(key) + certificate.public_bytes(Encoding.PEM)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_now() - _CLOCK_SKEW)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _named(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _certificate_of(data: bytes) -> bytes:
    return data[max(data.find(b"-----BEGIN CERTIFICATE-----"), 0) :]


def _read(path: Path, hint: str = "") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        if path.stem == "ca":
            hint = f"Make an authority with `duolog cert {path.parent}`."
        raise ConfigError(
            f'cannot read file "{path}"', value=str(path), detail=error.strerror or "", hint=hint
        ) from error


def _ensure_free(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise _taken(path)


def _taken(path: Path) -> ConfigError:
    return ConfigError(
        f'file "{path}" is there already, and is not overwritten',
        value=str(path),
        hint="Use another directory, or `duolog cert renew` for a new certificate under its name.",
    )


def _write_new(path: Path, data: bytes, *, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise ConfigError(f'cannot write file "{path}"', detail=error.strerror or "") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        sync(file.fileno())


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    _write_new(beside, data, mode=0o600)
    beside.replace(path)


assert set(RESERVED) == {Path(CA_CERTIFICATE).stem, Path(SERVER).stem}
