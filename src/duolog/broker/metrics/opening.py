"""The endpoint of metrics that the settings ask for.

metrics.listen                             HTTP, for anyone on this machine
+ metrics.tls.cert, metrics.require.token  HTTPS with a login: also beyond loopback
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.metrics.http import MetricsEndpoint, danger_of
from duolog.core.errors import ConfigError
from duolog.core.listening import open_listener, parse_address
from duolog.security.logins.issuer_settings import ISSUER_SETTINGS

if TYPE_CHECKING:
    from duolog.broker.metrics.tls import EndpointTls
    from duolog.broker.settings import BrokerSettings

_SECURE_HINT: Final = (
    "Listen on 127.0.0.1; or set metrics.tls.cert and metrics.require.token=true; or accept the "
    "risk with --insecure."
)


def open_metrics(settings: "BrokerSettings", *, insecure: bool) -> MetricsEndpoint:
    """Listen at `metrics.listen`.

    Raises:
        ConfigError: the address is beyond loopback without TLS or login, or cannot be had; the
            certificate cannot be used; or no token could ever be valid.
    """
    tls = _tls(settings)
    requires_token = settings.boolean("metrics.require.token")
    if requires_token and not _knows_tokens(settings):
        raise ConfigError(
            "metrics need a token, and this broker knows none",
            name="metrics.require.token",
            hint=f"Set authorizer.class.name=acl for tokens of `duolog tokens`, or "
            f"{ISSUER_SETTINGS[0]} for those of an issuer.",
        )
    danger = danger_of(encrypts=tls is not None, requires_token=requires_token)
    listening = open_listener(
        parse_address(settings.text("metrics.listen"), option="metrics.listen"),
        insecure=insecure or not danger,
        danger=danger,
        secure_hint=_SECURE_HINT,
    )
    return MetricsEndpoint(listening, tls, requires_token=requires_token)


def _tls(settings: "BrokerSettings") -> "EndpointTls | None":
    certificate, key = settings.text("metrics.tls.cert"), settings.text("metrics.tls.key")
    if not certificate:
        if key:
            raise ConfigError(
                "metrics have a private key, and no certificate",
                name="metrics.tls.key",
                hint="Set metrics.tls.cert to the PEM file with the certificate.",
            )
        return None
    # Loaded here: a broker without TLS needs no OpenSSL.
    from duolog.broker.metrics.tls import EndpointTls  # noqa: PLC0415

    return EndpointTls(certificate, key)


def _knows_tokens(settings: "BrokerSettings") -> bool:
    # Without an authorizer, no client can write the topic of tokens.
    return bool(settings.text("authorizer.class.name") or settings.text(ISSUER_SETTINGS[0]))
