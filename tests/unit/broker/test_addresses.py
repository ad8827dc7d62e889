import socket

import pytest

from duolog.broker.addresses import Address, advertised_address, open_listener, parse_address
from duolog.core.errors import ConfigError


@pytest.mark.parametrize("text", ["", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no address"):
        parse_address(text, option="listen")


def test_beyond_loopback_it_listens_only_when_told() -> None:
    with pytest.raises(ConfigError, match="beyond loopback"):
        open_listener(Address("0.0.0.0", 0), insecure=False)  # noqa: S104

    open_listener(Address("0.0.0.0", 0), insecure=True).close()  # noqa: S104


def test_clients_are_told_a_number_and_the_port_that_is_open() -> None:
    with open_listener(Address("localhost", 0), insecure=False) as listening:
        port = listening.getsockname()[1]

        assert listening.family == socket.AF_INET
        assert advertised_address(listening, None) == Address("127.0.0.1", port)
        assert advertised_address(listening, "broker.example:9000") == ("broker.example", 9000)
        assert advertised_address(listening, "10.0.0.5:0") == Address("10.0.0.5", port)
