"""Errors of refused logins name the settings."""

import pytest
from confluent_kafka import KafkaError

from duolog.runtime.broker_login import ensure_login, refused
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity, TokenEndpoint

SCRAM = ClientSecurity("SASL_SSL", "SCRAM-SHA-512", "ann", "planted", origin="client.properties")
TOKENS = ClientSecurity(
    "SASL_SSL", "OAUTHBEARER", token=TokenEndpoint("https://a/t", "id", "planted")
)
AUTHENTICATION, TLS, TRANSPORT = -169, -181, -195
AT = "sasl_ssl://a:1/bootstrap: "


@pytest.mark.parametrize(
    ("security", "code", "text", "message", "hint"),
    [
        (SCRAM, AUTHENTICATION, "Authentication failed", 'user "ann"', "sasl.password"),
        (TOKENS, AUTHENTICATION, "Authentication failed", 'user "id"', "client.secret"),
        (
            SCRAM,
            AUTHENTICATION,
            "handshake failed: Broker: Unsupported SASL mechanism: PLAIN",
            "does not offer SASL mechanism SCRAM-SHA-512",
            "sasl.mechanism",
        ),
        (
            SCRAM,
            AUTHENTICATION,
            "handshake failed: Broker: Request not valid in current SASL state",
            "takes no login",
            "security.protocol",
        ),
        (SCRAM, TLS, "certificate verify failed", "verified", "ssl.truststore.location"),
        (SCRAM, TLS, "handshake failed: Disconnected", "speak TLS", "security.protocol"),
        (SCRAM, TRANSPORT, "SSL handshake failed: Disconnected", "speak TLS", "security.protocol"),
        (
            ClientSecurity("SASL_PLAINTEXT", "PLAIN", "ann", "planted"),
            TRANSPORT,
            "Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol",
            "closes the connection of a client of security protocol SASL_PLAINTEXT",
            "SASL_SSL",
        ),
        (SCRAM, TRANSPORT, "SSL alert number 42", "refuses the TLS", "ssl.keystore.location"),
    ],
)
def test_a_refusal_names_the_setting(
    security: ClientSecurity, code: int, text: str, message: str, hint: str
) -> None:
    error = refused(security, "a:1", KafkaError(code, f"{AT}{text} (after 3ms in state AUTH)"))

    assert message in error.message
    assert hint in error.hint
    assert (security.origin in error.hint) or not security.origin
    assert error.detail == f"{text}."
    assert "planted" not in error.render()


def test_a_client_without_login_and_tls_does_not_connect() -> None:
    ensure_login(Brokers("127.0.0.1:1"))
    ensure_login(Brokers("127.0.0.1:1", ClientSecurity()))
