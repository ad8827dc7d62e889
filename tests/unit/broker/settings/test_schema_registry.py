"""Settings of the registry that the broker asks."""

import pytest

from duolog.broker.settings.broker_settings import SETTINGS
from duolog.core.errors import ConfigError


@pytest.mark.parametrize("password", ["secret", "a/secret", "a@secret", "a,secret"])
def test_an_address_with_a_user_is_refused_without_its_password(password: str) -> None:
    with pytest.raises(ConfigError, match="must not contain a user") as raised:
        SETTINGS.row("confluent.schema.registry.url").parse(f"http://me:{password}@host:8081")

    shown = f"{raised.value} {raised.value.value}"
    assert "host:8081" in shown
    assert "secret" not in shown
