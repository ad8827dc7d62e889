"""Web pages cannot use a registry on loopback, neither blindly nor by DNS rebinding."""

import pytest

from duolog.registry.http.hosts import AllowedHosts

HOSTS = AllowedHosts(["127.0.0.1", "registry.example", "UPPER.example."])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8081",
        "[::1]:8081",
        "[::1]",
        "10.1.2.3:8081",
        "localhost:8081",
        "LocalHost",
        "schema-registry:8081",
        "schema-registry",
        "registry.example:8081",
        "Registry.Example.:8081",
        "upper.example",
        "a.localhost",
        "mac.local:8081",
        "registry.team.svc.cluster.local",
        "registry.team.svc",
        "vm.google.internal",
    ],
)
def test_addresses_private_names_and_listed_names_are_served(host: str) -> None:
    assert HOSTS.allows_host(host)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        ":8081",
        "evil.example",
        "evil.example:8081",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8081",
        "notregistry.example",
        "127.0.0.1:x",
        "[::1",
        "[evil.example]:80",
        "evil.example:80:80",
        "evil.example/127.0.0.1",
        "evil.example?a=.local",
        "evil.com#.local",
    ],
)
def test_names_of_public_dns_are_not_served(host: str | None) -> None:
    assert not HOSTS.allows_host(host)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("http://registry.example", True),
        ("http://registry.example:3000", True),
        ("http://127.0.0.1:3000", True),
        ("http://evil.example", False),
        ("http://localhost.evil.example", False),
        ("null", False),
        ("file://", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_pages_of_other_sites_are_refused(origin: str | None, *, allowed: bool) -> None:
    assert HOSTS.allows_origin(origin) is allowed
