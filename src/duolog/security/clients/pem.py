"""Read PEM files of certificates and keys.

Both families of clients get the contents, never a path: executors of a Spark cluster have no such
file, and a client in the JVM should open no file that a setting names (CVE-2025-27817).
"""

import re
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError

_BYTES_MAX: Final = 1024 * 1024
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
_CERTIFICATE: Final = "CERTIFICATE"
_KEYS: Final = frozenset({"PRIVATE KEY", "ENCRYPTED PRIVATE KEY"})
"""PKCS#8, the only form that Java reads."""


def read_pem(path: Path, name: str) -> str:
    """Return the text of the file that setting `name` gives.

    Raises:
        ConfigError: it cannot be read, or is not PEM.
    """
    try:
        data = path.expanduser().read_bytes()[: _BYTES_MAX + 1]
    except OSError as error:
        raise ConfigError(
            f'file "{path}" of setting "{name}" cannot be read',
            name=name,
            value=str(path),
            detail=f"{error.strerror}.",
        ) from error
    text = data.decode("ascii", errors="replace")
    if len(data) > _BYTES_MAX or _BLOCK.search(text) is None:
        raise ConfigError(
            f'file "{path}" of setting "{name}" is not PEM',
            name=name,
            value=str(path),
            hint="Convert a Java or PKCS#12 store: keytool -importkeystore -srckeystore STORE "
            "-destkeystore STORE.p12 -deststoretype PKCS12, then openssl pkcs12 -in STORE.p12 "
            "-nodes -out FILE.pem",
        )
    return text


def certificates_of(text: str, name: str) -> str:
    """Return the certificates of a PEM text, which may also have a key.

    Raises:
        ConfigError: there is none.
    """
    return _blocks(text, name, frozenset({_CERTIFICATE}), "certificate", "")


def key_of(text: str, name: str) -> str:
    """Return the private key of a PEM text, which may also have certificates.

    Raises:
        ConfigError: there is none in PKCS#8.
    """
    hint = "Convert it: openssl pkcs8 -topk8 -in KEY -out KEY.pem"
    return _blocks(text, name, _KEYS, "private key in PKCS#8", hint)


def _blocks(text: str, name: str, kinds: frozenset[str], what: str, hint: str) -> str:
    found = [block[0] for block in _BLOCK.finditer(text) if block[1] in kinds]
    if not found:
        raise ConfigError(f'setting "{name}" has no {what}', name=name, hint=hint)
    return "\n".join(found) + "\n"
