"""The settings of TLS of one listener, from any source that has Kafka's names.

Source: Kafka `SslConfigs`, `DefaultSslEngineFactory`; KIP-651 (PEM).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final

REQUIRED: Final = "required"
REQUESTED: Final = "requested"
NONE: Final = "none"

_NAMES: Final = {
    "keystore_location": "ssl.keystore.location",
    "certificate_chain": "ssl.keystore.certificate.chain",
    "key": "ssl.keystore.key",
    "key_password": "ssl.key.password",
    "truststore_location": "ssl.truststore.location",
    "trusted_certificates": "ssl.truststore.certificates",
    "client_auth": "ssl.client.auth",
    "versions": "ssl.enabled.protocols",
    "mapping_rules": "ssl.principal.mapping.rules",
}


@dataclass(frozen=True, slots=True, repr=False)
class TlsSettings:
    """One listener's settings, each as text. Its `repr` shows no value: some are secrets."""

    keystore_location: str = ""
    certificate_chain: str = ""
    key: str = ""
    key_password: str = ""
    truststore_location: str = ""
    trusted_certificates: str = ""
    client_auth: str = NONE
    versions: str = "TLSv1.2,TLSv1.3"
    mapping_rules: str = "DEFAULT"
    key_location: str = ""
    """A file with the private key only; then `keystore_location` has only the chain."""

    @classmethod
    def read(cls, text: Callable[[str], str]) -> "TlsSettings":
        """Read all settings; `text` returns the value of one by Kafka's name, or nothing."""
        return cls(**{field: text(name) for field, name in _NAMES.items()})

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read."""
        found = (self.keystore_location, self.key_location, self.truststore_location)
        return tuple(path for path in found if path)


NAMES: Final = frozenset(_NAMES.values())
assert set(_NAMES) < {field.name for field in fields(TlsSettings)}
