"""The ways in which a user logs in to a secured broker, in the arguments of each client of Python.

PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER   over TLS
mTLS                                               a client certificate
"""

import ssl
import warnings
from collections.abc import Callable
from typing import Any, Final

from aiokafka.abc import AbstractTokenProvider as AioTokenProvider

from conformance.secured_broker import SecuredBroker

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    from kafka.net.sasl.oauth import AbstractTokenProvider  # It warns when it is loaded.

MUTUAL_TLS: Final = "mTLS"
OAUTHBEARER: Final = "OAUTHBEARER"
LOGINS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER, MUTUAL_TLS)
USER: Final = "alice"
PASSWORD: Final = "alices-secret"  # noqa: S105 - of a broker on loopback

Arguments = dict[str, Any]


class _Tokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Tokens for kafka-python."""

    def __init__(self, broker: SecuredBroker) -> None:
        self._broker = broker

    def token(self) -> str:
        return self._broker.issuer.token(USER)[0]


class _AioTokens(AioTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    """Tokens for aiokafka."""

    def __init__(self, broker: SecuredBroker) -> None:
        self._broker = broker

    async def token(self) -> str:
        return self._broker.issuer.token(USER)[0]


def librdkafka(broker: SecuredBroker, login: str, password: str = PASSWORD) -> Arguments:
    common = {"ssl.ca.location": str(broker.ca), "log_level": 0}
    if login == MUTUAL_TLS:
        return common | {
            "bootstrap.servers": broker.mutual_servers,
            "security.protocol": "SSL",
            "ssl.certificate.location": str(broker.client_certificate(USER)),
            "ssl.key.location": str(broker.client_certificate(USER)),
        }
    if login == OAUTHBEARER:
        return common | {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": OAUTHBEARER,
            "oauth_cb": lambda _: broker.issuer.token(USER),
        }
    return common | broker.librdkafka(USER, password, login)


def kafka_python(broker: SecuredBroker, login: str, password: str = PASSWORD) -> Arguments:
    found = _of_python(broker, login, password, _Tokens)
    found["ssl_cafile"] = str(broker.ca)
    if login == MUTUAL_TLS:
        found["ssl_certfile"] = found["ssl_keyfile"] = str(broker.client_certificate(USER))
    return found


def aiokafka(broker: SecuredBroker, login: str, password: str = PASSWORD) -> Arguments:
    context = ssl.create_default_context(cafile=str(broker.ca))
    if login == MUTUAL_TLS:
        context.load_cert_chain(broker.client_certificate(USER))
    return _of_python(broker, login, password, _AioTokens) | {"ssl_context": context}


def _of_python(
    broker: SecuredBroker, login: str, password: str, tokens: Callable[[SecuredBroker], Any]
) -> Arguments:
    if login == MUTUAL_TLS:
        return {"bootstrap_servers": broker.mutual_servers, "security_protocol": "SSL"}
    found: Arguments = {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": login,
    }
    if login == OAUTHBEARER:
        return found | {"sasl_oauth_token_provider": tokens(broker)}
    return found | {"sasl_plain_username": USER, "sasl_plain_password": password}
