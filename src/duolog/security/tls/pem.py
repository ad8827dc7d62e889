r"""Private keys and certificates as PEM text, checked before OpenSSL gets them.

    -----BEGIN PRIVATE KEY-----  …  -----END PRIVATE KEY-----      PKCS#8, also encrypted
    -----BEGIN CERTIFICATE-----  …  -----END CERTIFICATE-----      the server's, then its issuers'

The line breaks within a block may be missing, as after the `\` at the end of lines of Java's
properties files. Errors name the file or setting, and never show what is in it.

Source: RFC 7468; Kafka `DefaultSslEngineFactory.PemParser`, KIP-651.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from duolog.core.errors import ConfigError

_BLOCK: Final = re.compile(
    r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL | re.ASCII
)
_CERTIFICATE: Final = "CERTIFICATE"
_JAVA_STORE: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_LINE: Final = 64


class KeyPair(NamedTuple):
    """A server's private key, and its certificate with those of its issuers."""

    key: PrivateKeyTypes
    chain: Sequence[x509.Certificate]

    @property
    def expires_at(self) -> datetime:
        """The end of the validity of the first certificate."""
        return self.chain[0].not_valid_after_utc

    def pem(self) -> bytes:
        """Return the key, unencrypted, and the chain: a secret."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + b"".join(one.public_bytes(Encoding.PEM) for one in self.chain)


def read_key_pair(data: bytes, key_data: bytes, password: str, where: str) -> KeyPair:
    """Read a chain, and the key from `key_data` or, if that is empty, from `data`.

    Raises:
        ConfigError: there is no key or no certificate, or they do not belong together.
    """
    chain = read_certificates(data, where)
    key = _read_key(key_data or data, password, where)
    if _public_bytes(key) != chain[0].public_key().public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    ):
        raise ConfigError(
            f"the private key in {where} does not belong to the first certificate there",
            detail=f"The certificate is that of {chain[0].subject.rfc4514_string()}.",
            hint="Put the server's own certificate first, and those of its issuers after it.",
        )
    return KeyPair(key, chain)


def read_certificates(data: bytes, where: str) -> list[x509.Certificate]:
    """Read all certificates.

    Raises:
        ConfigError: there is none, or one cannot be read.
    """
    blocks = [block for label, block in _blocks(data, where) if label == _CERTIFICATE]
    if not blocks:
        raise ConfigError(
            f"there is no certificate in {where}", hint="Give PEM: -----BEGIN CERTIFICATE-----."
        )
    try:
        return [x509.load_pem_x509_certificate(block) for block in blocks]
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"a certificate in {where} cannot be read") from error


def _read_key(data: bytes, password: str, where: str) -> PrivateKeyTypes:
    blocks = [block for label, block in _blocks(data, where) if label.endswith("PRIVATE KEY")]
    if len(blocks) != 1:
        raise ConfigError(
            f"there are {len(blocks)} private keys in {where}, and there must be one",
            hint="Give PEM: -----BEGIN PRIVATE KEY-----.",
        )
    encrypted = b"ENCRYPTED" in blocks[0][:200]
    if encrypted and not password:
        raise ConfigError(
            f"the private key in {where} is encrypted, and no password is given",
            name="ssl.key.password",
            hint="Set ssl.key.password.",
        )
    try:
        return load_pem_private_key(blocks[0], password.encode() if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        hint = "Check ssl.key.password." if encrypted else "Give it as PKCS#8."
        # The cause is left out: it could show what is in the file.
        raise ConfigError(f"the private key in {where} cannot be read", hint=hint) from (
            error if isinstance(error, UnsupportedAlgorithm) else None
        )


def _blocks(data: bytes, where: str) -> list[tuple[str, bytes]]:
    if data.startswith(_JAVA_STORE) or data[:1] == b"\x30":
        raise ConfigError(
            f"{where} is not PEM text, but a key store of Java or a binary certificate",
            hint="Convert it, for example: openssl pkcs12 -in store.p12 -out store.pem -nodes.",
        )
    text = data.decode("ascii", "replace")
    return [(match[1], _wrapped(match[1], match[2])) for match in _BLOCK.finditer(text)]


def _wrapped(label: str, body: str) -> bytes:
    """Return a block with lines as OpenSSL wants them; old encrypted keys keep their headers."""
    if ":" not in body:
        packed = "".join(body.split())
        lines = [packed[start : start + _LINE] for start in range(0, len(packed), _LINE)]
        body = "\n" + "\n".join(lines) + "\n"
    return f"-----BEGIN {label}-----{body}-----END {label}-----\n".encode("ascii", "replace")


def _public_bytes(key: PrivateKeyTypes) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
