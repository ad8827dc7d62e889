"""A client with a token of an issuer logs in at the listener of this issuer, and at no other."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from conformance.kafka.peer import free_ports
from conformance.token_issuer import TokenIssuer
from duolog.runtime.broker_process import BrokerProcess

TIMEOUT_S = 60
REFUSED_S = 2


class TwoListeners(BrokerProcess):
    """A broker with the listeners INSIDE and OUTSIDE, which have an issuer each."""

    def __init__(self, directory: Path) -> None:
        self.inside, self.outside = (TokenIssuer(directory / name) for name in ("in", "out"))
        self.outside_servers = f"127.0.0.1:{free_ports(1)[0]}"
        prefix = "listener.name.inside.oauthbearer."
        settings = {
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.security.protocol.map": "INSIDE:SASL_PLAINTEXT,OUTSIDE:SASL_PLAINTEXT",
            **self.outside.settings(),
            **{f"{prefix}{name}": value for name, value in self.inside.settings().items()},
        }
        super().__init__(directory / "data", "INSIDE://127.0.0.1:0", settings=settings)

    def command(self) -> list[str]:
        return [*super().command(), "--listen", f"OUTSIDE://{self.outside_servers}"]


def topics(servers: str, issuer: TokenIssuer, timeout_s: float) -> Any:
    """Return what a client with a token of the issuer reads; raises if it cannot log in."""
    config: dict[str, Any] = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": lambda _: issuer.token("alice"),
        "log_level": 0,
    }
    client = AdminClient(config)
    client.poll(0)  # It calls `oauth_cb`.
    return client.list_topics(timeout=timeout_s).topics


def test_a_client_logs_in_at_the_listener_of_its_issuer(tmp_path: Path) -> None:
    with TwoListeners(tmp_path) as broker:
        inside, outside = broker.bootstrap_servers, broker.outside_servers

        assert topics(inside, broker.inside, TIMEOUT_S) is not None
        assert topics(outside, broker.outside, TIMEOUT_S) is not None
        with pytest.raises(KafkaException):
            topics(inside, broker.outside, REFUSED_S)
        with pytest.raises(KafkaException):
            topics(outside, broker.inside, REFUSED_S)
