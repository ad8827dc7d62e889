"""Certificates for tests: an authority, and keys that it has signed, in PEM files."""

import datetime as dt
import ipaddress
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

_LIFE: Final = dt.timedelta(days=2)


class Authority:
    """A certificate authority that writes its files to `directory`."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        certificate = (
            _certificate(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate: Final = directory / f"{name}.pem"
        self.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))

    def sign(self, name: str, address: str = "127.0.0.1") -> Path:
        """Return a file with a new key and its certificate, which is valid for one IP address."""
        key = ec.generate_private_key(ec.SECP256R1())
        of_host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        certificate = (
            _certificate(_named(name), self._name, key.public_key())
            .add_extension(of_host, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path = self._directory / f"{name}.pem"
        path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
        path.chmod(0o600)
        return path


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFE)
        .not_valid_after(now + _LIFE)
    )
