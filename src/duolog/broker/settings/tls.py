"""Settings of TLS on listeners, under Kafka's names. Keys and certificates are PEM.

Each may be given for one listener only, as `listener.name.NAME.ssl…`; see `listener_prefix`.

Source: Kafka `SslConfigs`, `BrokerSecurityConfigs`; KIP-651 (PEM).
"""

from typing import Final

from duolog.core.setting_types import Kind, Setting, Value, at_least, one_of
from duolog.core.units import SECOND_MS

PEM: Final = "PEM"
CLIENT_AUTH: Final = ("required", "requested", "none")
VERSIONS: Final = ("TLSv1.2", "TLSv1.3")


def _pem(value: Value) -> str | None:
    if value == PEM:
        return None
    return "must be PEM, because Java's key stores are not read"


def _no_store_password(value: Value) -> str | None:
    return "must be empty: PEM files have only ssl.key.password" if value else None


def _text(name: str, doc: str) -> Setting:
    return Setting(name, default="", kind=Kind.STRING, doc=doc)


def _secret(name: str, doc: str) -> Setting:
    return Setting(name, default="", kind=Kind.PASSWORD, doc=doc)


def _no_password(name: str) -> Setting:
    doc = "Must be empty: a PEM file has only ssl.key.password."
    return Setting(name, default="", kind=Kind.PASSWORD, doc=doc, check=_no_store_password)


def _type(name: str) -> Setting:
    doc = "The format of keys and certificates: only PEM."
    return Setting(name, default=PEM, kind=Kind.STRING, doc=doc, check=_pem)


STORE_ROWS: Final = (
    _text(
        "ssl.keystore.location",
        "A PEM file with the private key of the broker and its certificate chain. It is read "
        "again when it changes, when this setting is set again, and on SIGHUP.",
    ),
    _secret(
        "ssl.keystore.certificate.chain",
        "The certificate chain as PEM text, instead of ssl.keystore.location.",
    ),
    _secret("ssl.keystore.key", "The private key as PEM text (PKCS#8), for the chain."),
    _secret("ssl.key.password", "The password of an encrypted private key."),
    _type("ssl.keystore.type"),
    _no_password("ssl.keystore.password"),
    _text(
        "ssl.truststore.location",
        "A PEM file with the certificates of the authorities that sign clients' certificates.",
    ),
    _secret(
        "ssl.truststore.certificates",
        "The certificates of authorities as PEM text, instead of ssl.truststore.location.",
    ),
    _type("ssl.truststore.type"),
    _no_password("ssl.truststore.password"),
    Setting(
        "ssl.client.auth",
        default="none",
        kind=Kind.STRING,
        doc="Whether clients show a certificate: required, requested (a client without one is "
        "anonymous) or none.",
        check=one_of(*CLIENT_AUTH),
    ),
    Setting(
        "ssl.enabled.protocols",
        default=VERSIONS,
        kind=Kind.LIST,
        doc="The versions of TLS that are served.",
        check=one_of(*VERSIONS),
    ),
    Setting(
        "ssl.principal.mapping.rules",
        default="DEFAULT",
        kind=Kind.STRING,
        doc="Rules that make a user's name of the subject of a client's certificate: "
        "RULE:pattern/replacement/ with an optional L or U at the end, or DEFAULT for the "
        "subject itself, separated by commas. The first that matches applies.",
    ),
)

UNAUTHENTICATED_ROWS: Final = (
    Setting(
        "connection.authentication.timeout.ms",
        default=10 * SECOND_MS,
        kind=Kind.LONG,
        doc="The time in which a client of a listener with TLS or SASL must have finished the TLS "
        "handshake and its authentication. Then its connection is closed.",
        check=at_least(100),
    ),
    Setting(
        "max.connections.unauthenticated",
        default=1000,
        kind=Kind.INT,
        doc="The maximum number of connections whose TLS handshake or authentication is not "
        "finished. Beyond it, the oldest of them is closed for each new one.",
        check=at_least(1),
    ),
)

DYNAMIC_TLS: Final = frozenset(
    row.name for row in STORE_ROWS if row.name != "ssl.principal.mapping.rules"
)
"""Settings of TLS that can be changed at run time, as in Kafka."""
WITHOUT_TLS_DEFAULT: Final = frozenset(row.name for row in STORE_ROWS if row.default == "")
"""Those that are null until they are set."""
