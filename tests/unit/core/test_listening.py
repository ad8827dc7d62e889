import socket

import pytest

from duolog.core.errors import ConfigError
from duolog.core.listening import Address, open_listener, parse_address


@pytest.mark.parametrize("text", ["", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not an address"):
        parse_address(text, option="listen")


def test_the_endpoint_listens_beyond_loopback_only_if_configured() -> None:
    with pytest.raises(ConfigError, match="beyond loopback"):
        open_listener(Address("0.0.0.0", 0), insecure=False)  # noqa: S104

    open_listener(Address("0.0.0.0", 0), insecure=True).close()  # noqa: S104


def test_a_name_is_resolved_to_ipv4_first() -> None:
    with open_listener(Address("localhost", 0), insecure=False) as listening:
        assert listening.family == socket.AF_INET
