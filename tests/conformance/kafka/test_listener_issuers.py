"""The audience that each listener expects of a token: Kafka's names of settings on both brokers.

One issuer signs all tokens. Each setting of the audience has its own value, so that a token shows
which of them a listener uses.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from joserfc import jws
from joserfc.jwk import ECKey

from conformance.kafka.peer import JVM_OPTIONS, KafkaPeer, free_ports
from conformance.kafka.wire_client import WireClient
from conftest import RequireProgram
from duolog.runtime.broker_process import BrokerProcess

HANDSHAKE, AUTHENTICATE = 17, 36
LISTENERS: Final = ("INSIDE", "MIDDLE", "OUTSIDE")
AUDIENCE: Final = "sasl.oauthbearer.expected.audience"
AUDIENCES: Final = {
    AUDIENCE: "all",
    f"listener.name.inside.{AUDIENCE}": "of-listener",
    f"listener.name.inside.oauthbearer.{AUDIENCE}": "of-mechanism",
    f"listener.name.middle.{AUDIENCE}": "middle",
}
ISSUER: Final = "https://issuer.example"
_MODULES: Final = "org.apache.kafka.common.security.oauthbearer"
KEY: Final = ECKey.generate_key("P-256", {"kid": "of-tests", "alg": "ES256"})


def token(audience: str) -> str:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": audience, "sub": "alice", "iat": now, "exp": now + 600}
    return jws.serialize_compact({"alg": "ES256", "kid": "of-tests"}, json.dumps(claims), KEY)


def keys(directory: Path) -> Path:
    path = directory / "jwks.json"
    path.write_text(json.dumps({"keys": [KEY.as_dict(private=False)]}))
    return path


def common(url: str) -> dict[str, str]:
    return {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": url,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "connection.failed.authentication.delay.ms": "0",
        **AUDIENCES,
    }


@pytest.fixture
def kafka(require_program: RequireProgram, tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """The addresses of Apache Kafka's listeners."""
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    path = keys(tmp_path)
    port, controller, *ports = free_ports(2 + len(LISTENERS))
    found = {name: f"127.0.0.1:{each}" for name, each in zip(LISTENERS, ports, strict=True)}
    listeners = [f"{name}://{address}" for name, address in found.items()]
    internal = f"INTERNAL://127.0.0.1:{port}"
    settings = common(path.as_uri()) | {
        "listeners": ",".join((internal, f"CONTROLLER://127.0.0.1:{controller}", *listeners)),
        "advertised.listeners": ",".join((internal, *listeners)),
        "listener.security.protocol.map": "INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        + ",".join(f"{name}:SASL_PLAINTEXT" for name in LISTENERS),
        "inter.broker.listener.name": "INTERNAL",
    }
    for name in LISTENERS:
        prefix = f"listener.name.{name.lower()}.oauthbearer.sasl"
        settings[f"{prefix}.jaas.config"] = f"{_MODULES}.OAuthBearerLoginModule required;"
        settings[f"{prefix}.server.callback.handler.class"] = (
            f"{_MODULES}.OAuthBearerValidatorCallbackHandler"
        )
    allowed = (
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={path.as_uri()}",
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={path}",
    )
    with KafkaPeer(
        tmp_path / "kafka",
        jvm_options=(*JVM_OPTIONS, *allowed),
        settings=settings,
        ports=(port, controller),
    ):
        yield found


class _Duolog(BrokerProcess):
    """A broker with the same listeners."""

    def __init__(self, directory: Path) -> None:
        path = keys(directory)
        ports = free_ports(len(LISTENERS))
        self.listeners = {
            name: f"127.0.0.1:{port}" for name, port in zip(LISTENERS, ports, strict=True)
        }
        protocols = ",".join(f"{name}:SASL_PLAINTEXT" for name in LISTENERS)
        settings = common(str(path)) | {"listener.security.protocol.map": protocols}
        first, *self._others = (f"{name}://{address}" for name, address in self.listeners.items())
        super().__init__(directory / "duolog", first, settings=settings)

    def command(self) -> list[str]:
        more = [word for one in self._others for word in ("--listen", one)]
        return [*super().command(), *more]


@pytest.fixture
def duolog(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """The addresses of Duolog's listeners."""
    with _Duolog(tmp_path) as broker:
        yield broker.listeners


def accepted(listeners: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the audiences that each listener accepts."""

    def accepts(address: str, audience: str) -> bool:
        with WireClient(address) as client:
            shaken = client.ask(HANDSHAKE, 1, mechanism="OAUTHBEARER")
            assert shaken.error_code == 0
            data = f"n,,\x01auth=Bearer {token(audience)}\x01\x01".encode()
            answer = client.ask(AUTHENTICATE, 2, auth_bytes=data)
        return answer.error_code == 0 and not answer.auth_bytes  # Else it has the reason.

    return {
        name: [audience for audience in AUDIENCES.values() if accepts(address, audience)]
        for name, address in listeners.items()
    }


def test_listeners_choose_the_same_settings_on_both_brokers(
    kafka: Mapping[str, str], duolog: Mapping[str, str]
) -> None:
    found = accepted(duolog)

    assert found == {"INSIDE": ["of-mechanism"], "MIDDLE": ["middle"], "OUTSIDE": ["all"]}
    assert found == accepted(kafka)
