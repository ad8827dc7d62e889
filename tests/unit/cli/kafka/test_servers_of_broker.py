"""The registry that a broker asks for the schemas of records."""

from pathlib import Path

import pytest

from duolog.cli.kafka.servers_of_broker import (
    REGISTRY_URL,
    registry_opener,
    settings_of_registry,
)
from duolog.registry.client import requests
from duolog.registry.client.requests import Address, Answer
from duolog.runtime.registry_process import RegistryOfBroker

CA = Path("certificates/ca.pem")


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, ("127.0.0.1", "broker:secret", CA)),
        ({REGISTRY_URL: "https://registry.example"}, ("registry.example", None, None)),
    ],
)
def test_only_the_own_registry_is_trusted_by_the_own_authority(
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    asked: tuple[str, str | None, Path | None],
) -> None:
    found: list[Address] = []

    def send(address: Address, *_request: object, **_more: object) -> Answer:
        found.append(address)
        return Answer(200, [{"subject": "orders-value", "version": 1}])

    monkeypatch.setattr(requests, "send", send)
    own = RegistryOfBroker("127.0.0.1:8081", (), print)
    own.url, own.user_info = "https://127.0.0.1:8081", "broker:secret"

    opened = registry_opener(settings, own, CA)
    assert opened is not None
    assert opened().subjects_of(1) == {"orders-value"}

    assert [(one.host, one.user, one.authorities) for one in found] == [asked]


def test_the_broker_asks_another_registry_as_the_user_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Address] = []

    def send(address: Address, *_request: object, **_more: object) -> Answer:
        found.append(address)
        return Answer(200, [{"subject": "orders-value", "version": 1}])

    monkeypatch.setattr(requests, "send", send)
    user = {"DUOLOG_REGISTRY_USER": "ann", "DUOLOG_REGISTRY_PASSWORD": "secret"}

    opened = registry_opener(settings_of_registry("http://registry.example:8081", user), None)
    assert opened is not None
    opened().subjects_of(1)

    assert [(one.host, one.user) for one in found] == [("registry.example", "ann:secret")]
    assert REGISTRY_URL in settings_of_registry("a", {})
    assert len(settings_of_registry("a", {})) == 1
