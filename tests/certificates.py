"""Certificates for tests: an authority in a directory, and odd ones that `duolog cert` never makes."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from duolog.security.certificates.authority import Authority


@dataclass(frozen=True)
class Certificates:
    """The files of an authority."""

    path: Path

    @property
    def ca(self) -> Path:
        return self.path / "ca.pem"

    @property
    def server(self) -> Path:
        return self.path / "server.pem"

    @property
    def client(self) -> Path:
        return self.path / "client.pem"

    def settings(self, client_auth: str = "none", **more: str) -> dict[str, str]:
        """Return the settings of a broker with these."""
        return {
            "ssl.keystore.location": str(self.server),
            "ssl.truststore.location": str(self.ca),
            "ssl.client.auth": client_auth,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def client_context(self, certificate: Path | None = None) -> ssl.SSLContext:
        """Return the context of a client that checks the broker, and shows a certificate."""
        context = ssl.create_default_context(cafile=str(self.ca))
        if certificate is not None:
            context.load_cert_chain(certificate)
        return context


def make(path: Path, *hosts: str) -> Certificates:
    """Make an authority, with certificates for a server and a client called `client`."""
    Authority.create(path, hosts=hosts or ("localhost", "127.0.0.1"), client="client", days=30)
    return Certificates(path)


def sign(
    certificates: Certificates,
    name: str,
    subject: x509.Name,
    *,
    host: str = "localhost",
    days: tuple[int, int] = (-1, 30),
) -> Path:
    """Sign a certificate for any subject and time, as NAME.pem; return its file."""
    issuer_key = load_pem_private_key((certificates.path / "ca.key").read_bytes(), None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    issuer = x509.load_pem_x509_certificate(certificates.ca.read_bytes())
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    path = certificates.path / f"{name}.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(secret + signed.public_bytes(Encoding.PEM))
    return path


def sign_changed(certificates: Certificates, name: str, old: bytes, new: bytes) -> Path:
    """Sign the certificate of `name` again after a change of its bytes, of the same length."""
    path = certificates.path / f"{name}.pem"
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    issuer_key = load_pem_private_key((certificates.path / "ca.key").read_bytes(), None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    body = certificate.tbs_certificate_bytes
    assert old in body
    body = body.replace(old, new)
    signature = issuer_key.sign(body, ec.ECDSA(hashes.SHA256()))
    whole = certificate.public_bytes(Encoding.DER)
    start = whole.index(certificate.tbs_certificate_bytes) + len(body)
    algorithm = whole[start : start + 2 + whole[start + 1]]
    value = b"\0" + signature
    changed = body + algorithm + b"\x03" + bytes([len(value)]) + value
    data = b"\x30\x82" + len(changed).to_bytes(2) + changed
    text = path.read_text()
    secret = text[: text.index("-----BEGIN CERTIFICATE")]
    path.write_text(secret + ssl.DER_cert_to_PEM_cert(data))
    return path


def named(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])
