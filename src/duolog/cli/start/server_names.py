"""The names in the certificate of `duolog start`: those of `--host` must be among them."""

from collections.abc import Sequence
from pathlib import Path

from cryptography import x509

from duolog.core.errors import ConfigError
from duolog.core.listening import plain_host
from duolog.security.certificates.names import hosts_of


def ensure_named(certificate: Path, hosts: Sequence[str]) -> None:
    """Ensure that a certificate is valid for all hosts: clients would refuse it otherwise.

    A file that cannot be read as a certificate is left to the server that loads it.

    Raises:
        ConfigError: it does not name a host.
    """
    try:
        found = hosts_of(x509.load_pem_x509_certificate(certificate.read_bytes()))
    except (ValueError, x509.ExtensionNotFound, OSError):
        return
    for host in hosts:
        if not is_named(host, found):
            raise ConfigError(
                f'the certificate "{certificate}" does not name "{host}"',
                name="host",
                value=host,
                detail=f"It names {', '.join(found)}.",
                hint=f"Start with one of these names. Or remove the directory "
                f'"{certificate.parent}": the next start makes a new authority, and all clients '
                "need its ca.pem.",
            )


def is_named(host: str, names: Sequence[str]) -> bool:
    """Return true if a certificate with these names is valid for a host.

    Example:
        >>> is_named("::1", ["0:0::1"]), is_named("A.example", ["*.example"])
        (True, True)
        >>> is_named("a.b.example", ["*.example", "b.example"])
        False
    """
    plain = plain_host(host).lower()
    known = {plain_host(name).lower() for name in names}
    return plain in known or f"*.{plain.partition('.')[2]}" in known
