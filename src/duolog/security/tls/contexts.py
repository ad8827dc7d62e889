"""Contexts of OpenSSL for servers: what is spoken, what is shown, and who is trusted.

Only TLS 1.2 and 1.3, with Python's choice of ciphers. No renegotiation (TLS 1.2; 1.3 has none) and
no compression. A listener that asks for client certificates issues no session tickets: in TLS 1.3,
each connection shows its certificate. In TLS 1.2, a client can resume a session by its id as long
as the context lives, at most 2 h. A changed truststore or mapping rule makes a new context, which
knows no sessions; the validity of the certificate is for the caller to check (`was_resumed`).

Source: RFC 8446; Kafka `DefaultSslEngineFactory`.
"""

import logging
import os
import ssl
import stat
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from duolog.core.errors import ConfigError
from duolog.core.operating_system.files import CLOEXEC, NONBLOCK
from duolog.core.operating_system.private_files import private_path
from duolog.core.units import KIB
from duolog.security.tls.pem import read_certificates, read_key_pair
from duolog.security.tls.settings import NONE, REQUESTED, REQUIRED, TlsSettings

logger = logging.getLogger(__name__)

_VERIFY: Final = {
    NONE: ssl.CERT_NONE,
    REQUESTED: ssl.CERT_OPTIONAL,
    REQUIRED: ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_SOON: Final = timedelta(days=14)
_FILE_BYTES_MAX: Final = 1024 * KIB
"""All authorities of a system have 250 KiB."""


class ServerContext(NamedTuple):
    """A context, and the end of the validity of its certificate."""

    context: ssl.SSLContext
    expires_at: datetime


def server_context(settings: TlsSettings, listener: str) -> ServerContext:
    """Return the context of a listener.

    Raises:
        ConfigError: a key, a certificate or a setting is missing or cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    versions = [_VERSIONS[name] for name in settings.versions.split(",") if name]
    if not versions:
        raise ConfigError(
            f'listener "{listener}" speaks no version of TLS',
            name="ssl.enabled.protocols",
            hint=f"Name some of {', '.join(_VERSIONS)}.",
        )
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    expires_at = _load_key_pair(context, settings, listener)
    context.verify_mode = _VERIFY[settings.client_auth]
    if settings.client_auth != NONE:
        _load_trusted(context, settings, listener)
        context.num_tickets = 0  # TLS 1.3
        context.options |= ssl.OP_NO_TICKET  # TLS 1.2
    return ServerContext(context, expires_at)


def warn_of_expiry(listener: str, expires_at: datetime, now: datetime) -> None:
    """Log a warning if the certificate of a listener has expired, or expires within two weeks."""
    left = expires_at - now
    if left < _SOON:
        logger.warning(
            "a certificate has expired" if left < timedelta(0) else "a certificate expires soon",
            extra={"listener": listener, "expires_at": str(expires_at)},
        )


def _load_key_pair(context: ssl.SSLContext, settings: TlsSettings, listener: str) -> datetime:
    if settings.keystore_location and (settings.certificate_chain or settings.key):
        raise ConfigError(
            f'listener "{listener}" has a keystore both as a file and as text',
            name="ssl.keystore.location",
            hint="Keep ssl.keystore.location, or ssl.keystore.certificate.chain and "
            "ssl.keystore.key.",
        )
    if settings.keystore_location:
        where = f'file "{settings.keystore_location}"'
        chain = _read(settings.keystore_location, "the certificate")
        key = _read(settings.key_location, "the private key") if settings.key_location else b""
    elif settings.certificate_chain and settings.key:
        where = "ssl.keystore.certificate.chain and ssl.keystore.key"
        chain, key = settings.certificate_chain.encode(), settings.key.encode()
    else:
        raise ConfigError(
            f'listener "{listener}" has no certificate to show to clients',
            name="ssl.keystore.location",
            hint="Set ssl.keystore.location to a PEM file with the private key and the "
            "certificates; `duolog cert` makes one.",
        )
    pair = read_key_pair(chain, key, settings.key_password, where)
    warn_of_expiry(listener, pair.expires_at, datetime.now(UTC))
    try:
        with private_path(pair.pem()) as path:
            context.load_cert_chain(path)
    except ssl.SSLError as error:
        raise ConfigError(
            f"OpenSSL refuses the certificate in {where}", detail=error.reason or ""
        ) from error
    return pair.expires_at


def _load_trusted(context: ssl.SSLContext, settings: TlsSettings, listener: str) -> None:
    if settings.truststore_location:
        where = f'file "{settings.truststore_location}"'
        data = _read(settings.truststore_location, "the trusted authorities")
    elif settings.trusted_certificates:
        where = "ssl.truststore.certificates"
        data = settings.trusted_certificates.encode()
    else:
        raise ConfigError(
            f'listener "{listener}" asks for client certificates, and trusts no authority',
            name="ssl.truststore.location",
            hint="Set ssl.truststore.location to a PEM file with the certificates of authorities.",
        )
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    for certificate in read_certificates(data, where):
        context.load_verify_locations(cadata=certificate.public_bytes(Encoding.DER))


def _read(path: str, use: str) -> bytes:
    """Read a file that a client may name at run time: a pipe or a device could block the broker.

    `use` says what it is for, for errors.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | CLOEXEC | NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = file.read(_FILE_BYTES_MAX + 1) if regular else b""
    except OSError as error:
        raise ConfigError(
            f'cannot read file "{path}" with {use}', value=path, detail=error.strerror or str(error)
        ) from error
    if not regular or len(data) > _FILE_BYTES_MAX:
        raise ConfigError(
            f'"{path}" is not a file of at most {_FILE_BYTES_MAX // KIB} KiB', value=path
        )
    return data
