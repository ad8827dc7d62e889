"""Starts that are refused: rights that would mean hosts instead of users."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from duolog.broker.network.endpoints import OpenEndpoint, endpoints, open_endpoints
from duolog.broker.network.start_checks import ensure_rights_mean_users
from duolog.broker.settings import BrokerSettings
from duolog.core.errors import ConfigError

INNER = "INNER://127.0.0.1:0"
OUTER = "OUTER://127.0.0.1:0"
ACL = {"authorizer.class.name": "acl"}


@contextmanager
def opened(settings: BrokerSettings) -> Iterator[list[OpenEndpoint]]:
    found = open_endpoints(endpoints(settings), insecure=False)
    yield found
    for endpoint in found:
        endpoint.listening.close()


@pytest.mark.parametrize(
    ("inner", "more"),
    [
        ("PLAINTEXT", {}),
        ("SSL", {}),
        ("SSL", {"ssl.client.auth": "requested"}),
        ("SSL", {"ssl.client.auth": "required", "listener.name.inner.ssl.client.auth": "none"}),
    ],
)
def test_an_inner_listener_that_authenticates_nobody_is_refused_with_an_authorizer(
    inner: str, more: dict[str, str]
) -> None:
    settings = BrokerSettings(
        {
            "listeners": f"{OUTER},{INNER}",
            "listener.security.protocol.map": f"OUTER:SASL_SSL,INNER:{inner}",
            **ACL,
            **more,
        }
    )
    with opened(settings) as listeners:
        with pytest.raises(ConfigError, match='listener "INNER" does not authenticate') as caught:
            ensure_rights_mean_users(settings, listeners, insecure=False)
        ensure_rights_mean_users(settings, listeners, insecure=True)

    assert "their hosts" in caught.value.detail
    assert "--insecure" in caught.value.hint


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        ("SASL_PLAINTEXT", ACL),
        ("SASL_SSL", ACL),
        ("SSL", {"listener.name.outer.ssl.client.auth": "required", **ACL}),
        ("PLAINTEXT", {}),
    ],
)
def test_other_starts_are_accepted(protocol: str, more: dict[str, str]) -> None:
    settings = BrokerSettings(
        {"listeners": OUTER, "listener.security.protocol.map": f"OUTER:{protocol}", **more}
    )
    with opened(settings) as listeners:
        ensure_rights_mean_users(settings, listeners, insecure=False)
