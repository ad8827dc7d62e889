"""Turn properties by Kafka's or librdkafka's names into `ClientSecurity`.

Every security property is on a list: its value becomes a field, or it is refused. No property is
passed on that loads a class, a module or a file (CVE-2023-25194, CVE-2025-27817 to 27819), and no
value is expanded by a config provider.

Source: Kafka `CommonClientConfigs`, `SaslConfigs`, `SslConfigs`; librdkafka CONFIGURATION.md.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from duolog.core.errors import ConfigError
from duolog.security.clients.client_security import TOKEN_FILE, ClientSecurity, TokenEndpoint
from duolog.security.clients.jaas import NAME as JAAS
from duolog.security.clients.jaas import parse_jaas
from duolog.security.clients.pem import certificates_of, key_of, read_pem
from duolog.security.clients.token_file import read_token

_OF_SECURITY: Final = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.", "https.")
_LOADS_CODE: Final = re.compile(
    r"config\.providers(\..*)?|.*\.class(es)?|.*\.classes\..*|metric\.reporters|plugin\..*|"
    r"security\.providers|.*\.engine\.(id|location)|.*\.provider"
)
_PROVIDED: Final = re.compile(r"\$\{[^}]*:[^}]*\}")
_TEXTS: Final = {
    "sasl.mechanism": "mechanism",
    "sasl.mechanisms": "mechanism",
    "sasl.username": "username",
    "sasl.password": "password",
    "ssl.key.password": "key_password",
}
_TOKEN: Final = {
    "sasl.oauthbearer.token.endpoint.url": "url",
    "sasl.oauthbearer.client.id": "client_id",
    "sasl.oauthbearer.client.credentials.client.id": "client_id",
    "sasl.oauthbearer.client.secret": "client_secret",
    "sasl.oauthbearer.client.credentials.client.secret": "client_secret",
    "sasl.oauthbearer.scope": "scope",
}
_JAAS_TOKEN: Final = {"clientId": "client_id", "clientSecret": "client_secret", "scope": "scope"}
# The field of the text, and how to take it from PEM.
_PEM: Final[Mapping[str, tuple[str, Callable[[str, str], str]]]] = {
    "ssl.truststore.certificates": ("authorities", certificates_of),
    "ssl.ca.pem": ("authorities", certificates_of),
    "ssl.keystore.certificate.chain": ("chain", certificates_of),
    "ssl.certificate.pem": ("chain", certificates_of),
    "ssl.keystore.key": ("key", key_of),
    "ssl.key.pem": ("key", key_of),
}
_FILES: Final[Mapping[str, tuple[str, Callable[[str, str], str]]]] = {
    "ssl.truststore.location": ("authorities", certificates_of),
    "ssl.ca.location": ("authorities", certificates_of),
    "ssl.certificate.location": ("chain", certificates_of),
    "ssl.key.location": ("key", key_of),
}
_KEYSTORE: Final = "ssl.keystore.location"
_STORE_PASSWORDS: Final = frozenset({"ssl.keystore.password", "ssl.truststore.password"})
_ONLY: Final[Mapping[str, frozenset[str]]] = {
    # Values that mean what Duolog does anyway.
    "ssl.truststore.type": frozenset({"pem"}),
    "ssl.keystore.type": frozenset({"pem"}),
    "enable.ssl.certificate.verification": frozenset({"true"}),
    "sasl.oauthbearer.method": frozenset({"oidc"}),
    "sasl.login.callback.handler.class": frozenset(
        {
            "org.apache.kafka.common.security.oauthbearer.oauthbearerlogincallbackhandler",
            "org.apache.kafka.common.security.oauthbearer.secured.oauthbearerlogincallbackhandler",
        }
    ),
}
SECRET_NAMES: Final = frozenset(
    {
        JAAS,
        "sasl.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.key.pem",
    }
)
"""Properties whose values are secrets."""


class SplitProperties(NamedTuple):
    """The security of a client, None if no property is about it, and the other properties."""

    security: ClientSecurity | None
    others: dict[str, str]


def split_properties(
    given: Mapping[str, str], origin: str = "", base: Path | None = None
) -> SplitProperties:
    """Return the security that properties describe, and the other properties unchanged.

    Args:
        given: properties by Kafka's names or by librdkafka's.
        origin: where they are from, for errors.
        base: the directory of relative paths; by default the current one.

    Raises:
        ConfigError: a property is unknown, has no meaning for both families of clients, or could
            load code; a file cannot be read; or the properties do not fit together.
    """
    fields: dict[str, object] = {}
    token: dict[str, str] = {}
    others: dict[str, str] = {}
    for name, text in given.items():
        value = text.strip() if name not in SECRET_NAMES else text
        _ensure_plain(name, value)
        if not name.startswith(_OF_SECURITY):
            others[name] = text
        elif name in _TOKEN:
            token[_TOKEN[name]] = value
        elif name == JAAS:
            _take_jaas(value, fields, token)
        else:
            fields |= _fields_of(name, value, base or Path())
    if not fields and not token:
        return SplitProperties(None, others)
    if token:
        fields["token"] = TokenEndpoint(
            token.get("url", ""),
            token.get("client_id", ""),
            token.get("client_secret", ""),
            token.get("scope", ""),
        )
    return SplitProperties(ClientSecurity(**fields, origin=origin), others)  # type: ignore[arg-type]


def _fields_of(name: str, value: str, base: Path) -> dict[str, object]:
    """Return the fields of `ClientSecurity` that one property sets."""
    found: dict[str, object] = {}
    if name in _TEXTS:
        found[_TEXTS[name]] = value
    elif name == "security.protocol":
        found["protocol"] = value.upper()
    elif name == "ssl.endpoint.identification.algorithm":
        found["verifies_host"] = _verifies_host(value)
    elif name in _PEM:
        field, take = _PEM[name]
        found[field] = take(value, name)
    elif name in _FILES:
        field, take = _FILES[name]
        found[field] = take(read_pem(base / Path(value).expanduser(), name), name)
    elif name == TOKEN_FILE:
        found["bearer"] = read_token(base / Path(value).expanduser())
    elif name == _KEYSTORE:
        text = read_pem(base / Path(value).expanduser(), name)
        found |= {"chain": certificates_of(text, name), "key": key_of(text, name)}
    elif value.lower() not in _ONLY.get(name, ()):
        raise _refused(name, value)
    return found


def _take_jaas(value: str, fields: dict[str, object], token: dict[str, str]) -> None:
    entry = parse_jaas(value)
    if entry.module == "OAuthBearerLoginModule":
        known, target = _JAAS_TOKEN, token
        target |= {known[name]: text for name, text in entry.options.items() if name in known}
    else:
        known = {"username": "username", "password": "password"}
        fields |= {known[name]: text for name, text in entry.options.items() if name in known}
    if unknown := sorted(entry.options.keys() - known.keys()):
        raise ConfigError(
            f'option "{unknown[0]}" of {entry.module} in setting "{JAAS}" is not supported',
            name=JAAS,
            detail=f"Supported: {', '.join(known)}.",
        )


def _verifies_host(value: str) -> bool:
    if value.lower() not in {"https", "none", ""}:
        raise ConfigError(
            f'setting "ssl.endpoint.identification.algorithm" cannot be "{value}"',
            name="ssl.endpoint.identification.algorithm",
            value=value,
            hint="Use https, or none to accept any host name.",
        )
    return value.lower() == "https"


def _ensure_plain(name: str, value: str) -> None:
    """Refuse what would make a client load code, or read files and variables."""
    if _PROVIDED.search(value) and name not in SECRET_NAMES - {JAAS}:
        raise ConfigError(
            f'setting "{name}" refers to a config provider',
            name=name,
            detail="Config providers read files and variables that the value names, and are off.",
            hint="Write the value itself, in a file that only its owner can read.",
        )
    if _LOADS_CODE.fullmatch(name) and name not in _ONLY:
        raise ConfigError(
            f'setting "{name}" is not allowed: it makes a client load code',
            name=name,
            hint="Remove it.",
        )


def _refused(name: str, value: str) -> ConfigError:
    if name in _STORE_PASSWORDS:
        return ConfigError(
            f'setting "{name}" has no meaning for PEM files',
            name=name,
            hint="Remove it; the password of an encrypted key is ssl.key.password.",
        )
    if name in {"ssl.keystore.type", "ssl.truststore.type"}:
        return ConfigError(
            f'setting "{name}" must be PEM',
            name=name,
            value=value,
            hint="Convert the store: openssl pkcs12 -in STORE.p12 -nodes -out FILE.pem",
        )
    if name == "enable.ssl.certificate.verification":
        return ConfigError(
            f'setting "{name}" must be true',
            name=name,
            value=value,
            detail="Without it, an attacker on the network can read and change all traffic.",
            hint="Give the broker's authority as ssl.ca.location.",
        )
    if name.startswith("sasl.kerberos."):
        return ConfigError(
            f'setting "{name}" is not supported: Duolog has no Kerberos (GSSAPI)',
            name=name,
            hint="Use SCRAM, PLAIN, OAUTHBEARER or mutual TLS.",
        )
    return ConfigError(
        f'security setting "{name}" is unknown or not supported',
        name=name,
        detail="It must mean the same to librdkafka and to Java's clients.",
        hint="The settings are listed in docs/guide/secured-clusters.md.",
    )
