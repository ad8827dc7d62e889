"""Authentication and encryption of a Kafka client, independent of the client's family.

Secrets are in no `repr`. A text in an error names a setting, and never repeats a secret.

Source: Kafka `SaslConfigs`, `SslConfigs`; librdkafka CONFIGURATION.md.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from duolog.core.errors import ConfigError

PLAINTEXT: Final = "PLAINTEXT"
PROTOCOLS: Final = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
OAUTHBEARER: Final = "OAUTHBEARER"
PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS: Final = (*PASSWORD_MECHANISMS, OAUTHBEARER)
TOKEN_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - a setting's name
TOKEN_FILE: Final = "sasl.oauthbearer.token.location"  # noqa: S105 - a setting's name
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750, section 2.1."""
_TOKEN_S: Final = 3600.0
"""How long librdkafka uses a token until it asks for it again. The broker checks its real end."""


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """The endpoint that issues tokens for a client id and secret (RFC 6749, section 4.4)."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """The security of all clients of one user.

    Attributes:
        protocol: Kafka's `security.protocol`.
        mechanism: SASL mechanism; empty without SASL.
        token: the endpoint that issues tokens for OAUTHBEARER.
        bearer: a token for OAUTHBEARER that was issued before, in place of `token`.
        authorities: PEM text of the trusted certificates; empty for those of the system.
        chain: PEM text of the client's certificates, for mutual TLS.
        key: PEM text of the client's private key, in PKCS#8.
        key_password: password of `key`; empty if it is not encrypted.
        verifies_host: whether the broker's certificate must contain its host name.
        origin: where the settings are from, for errors.
    """

    protocol: str = PLAINTEXT
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    token: TokenEndpoint | None = None
    bearer: str = field(default="", repr=False)
    authorities: str = field(default="", repr=False)
    chain: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)
    verifies_host: bool = True
    origin: str = field(default="", compare=False)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "ClientSecurity":
        """Read the fields as JSON, for another process of ours.

        Raises:
            TypeError: it has another form.
        """
        token = found["token"]
        given = {**found, "token": None if token is None else TokenEndpoint(**token)}
        return cls(**given)

    def __post_init__(self) -> None:
        """Check that the settings fit together.

        Raises:
            ConfigError: one is unknown or missing, or has no effect with this protocol.
        """
        if self.protocol not in PROTOCOLS:
            raise ConfigError(
                f'security.protocol "{self.protocol}" is unknown',
                name="security.protocol",
                value=self.protocol,
                hint=f"Use one of {', '.join(PROTOCOLS)}.",
            )
        self._check_sasl()
        self._check_tls()

    @property
    def encrypts(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_login(self) -> bool:
        return self.protocol.startswith("SASL")

    @property
    def where(self) -> str:
        """The origin as the end of a sentence; empty if unknown."""
        return f" in {self.origin}" if self.origin else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that must appear nowhere."""
        token = self.token.client_secret if self.token is not None else ""
        found = (self.password, token, self.bearer, self.key_password, self.key)
        return tuple(text for text in found if text)

    def librdkafka(self) -> dict[str, Any]:
        """Return the settings by librdkafka's names."""
        found: dict[str, Any] = {"security.protocol": self.protocol.lower()}
        if self.has_login:
            found["sasl.mechanisms"] = self.mechanism
        if self.token is not None:
            found |= {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": self.token.url,
                "sasl.oauthbearer.client.id": self.token.client_id,
                "sasl.oauthbearer.client.secret": self.token.client_secret,
                "sasl.oauthbearer.scope": self.token.scope,
            }
        if self.bearer:
            found["oauth_cb"] = self._issued
        if self.encrypts:
            found["ssl.endpoint.identification.algorithm"] = (
                "https" if self.verifies_host else "none"
            )
        texts = {
            "sasl.username": self.username,
            "sasl.password": self.password,
            "ssl.ca.pem": self.authorities,
            "ssl.certificate.pem": self.chain,
            "ssl.key.pem": self.key,
            "ssl.key.password": self.key_password,
        }
        return found | {name: text for name, text in texts.items() if text}

    def _issued(self, _config: str) -> tuple[str, float]:
        """Return the token and until when librdkafka may use it, in seconds since 1970."""
        return self.bearer, time.time() + _TOKEN_S

    def _check_sasl(self) -> None:
        if not self.has_login:
            if self.mechanism or self.username or self.password or self.token or self.bearer:
                raise self._without_effect("sasl.mechanism, sasl.username or sasl.password", "SASL")
            return
        if self.mechanism not in MECHANISMS:
            known = ", ".join(MECHANISMS)
            kind = "is not supported" if self.mechanism else "is missing"
            raise ConfigError(
                f'setting "sasl.mechanism" {kind}{self.where}',
                name="sasl.mechanism",
                value=self.mechanism,
                detail=f"Supported: {known}. Kerberos (GSSAPI) and delegation tokens are not.",
                hint="Set sasl.mechanism to the mechanism that the broker offers.",
            )
        if self.mechanism == OAUTHBEARER:
            self._check_token()
        elif not (self.username and self.password):
            missing = "sasl.password" if self.username else "sasl.username"
            raise ConfigError(
                f'setting "{missing}" is missing{self.where}',
                name=missing,
                hint="Give sasl.username and sasl.password, or sasl.jaas.config with "
                f"{'Plain' if self.mechanism == 'PLAIN' else 'Scram'}LoginModule.",
            )

    def _check_token(self) -> None:
        token = self.token
        name = TOKEN_ENDPOINT
        if self.bearer:
            self._check_bearer()
            return
        if token is None or not (token.url and token.client_id and token.client_secret):
            raise ConfigError(
                f"the client credentials of OAUTHBEARER are missing{self.where}",
                name=name,
                hint=f"Give {name}, sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret; "
                f"or {TOKEN_FILE}, a file with a token.",
            )
        parts = urlsplit(token.url)
        loopback = parts.hostname in {"127.0.0.1", "::1", "localhost"}
        if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
            raise ConfigError(
                f'setting "{name}" must be an https address',
                name=name,
                detail="The client sends its secret there. Files are not read (CVE-2025-27817).",
                hint="Write https://HOST/PATH.",
            )

    def _check_bearer(self) -> None:
        if self.token is not None:
            raise ConfigError(
                f"{TOKEN_FILE} and the settings of a token endpoint are both given{self.where}",
                name=TOKEN_FILE,
                hint=f"Give only {TOKEN_FILE}, or only {TOKEN_ENDPOINT} with client id and secret.",
            )
        if _TOKEN.fullmatch(self.bearer) is None:
            raise ConfigError(
                f'the file of setting "{TOKEN_FILE}" has no token{self.where}',
                name=TOKEN_FILE,
                detail="A token is one line of letters, digits and - . _ ~ + / =.",
                hint="Write a token there: duolog tokens create USER > FILE",
            )

    def _check_tls(self) -> None:
        if not self.encrypts:
            if self.authorities or self.chain or self.key:
                raise self._without_effect("ssl.…", "SSL")
            return
        if bool(self.chain) != bool(self.key):
            missing = "ssl.key.location" if self.chain else "ssl.certificate.location"
            raise ConfigError(
                f'setting "{missing}" is missing{self.where}',
                name=missing,
                hint="Mutual TLS needs the client's certificate and its key: "
                "ssl.keystore.location names a PEM file with both.",
            )

    def _without_effect(self, names: str, kind: str) -> ConfigError:
        wanted = " or ".join(protocol for protocol in PROTOCOLS if kind in protocol)
        return ConfigError(
            f"{names} is given{self.where}, but security.protocol is {self.protocol}",
            name="security.protocol",
            value=self.protocol,
            detail="The client would connect without it.",
            hint=f"Set security.protocol to {wanted}.",
        )
