import asyncio
import socket

import pytest

from duolog.core.errors import ConfigError
from duolog.core.listening import Address, advertised, open_listener, parse_address
from waiting import DEADLINE_S


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


def test_connections_of_an_event_loop_send_each_part_at_once() -> None:
    """Responses took 44 ms: the body waited for the acknowledgement of the headers."""

    async def delays() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            of_client: socket.socket = writer.get_extra_info("socket")
            accepted.set_result(of_client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with open_listener(Address("127.0.0.1", 0), insecure=False) as listening:
            server = await asyncio.start_server(connected, sock=listening)
            _, writer = await asyncio.open_connection(*listening.getsockname())
            async with asyncio.timeout(DEADLINE_S):
                found = await accepted
            writer.close()
            server.close()
        return found

    assert asyncio.run(delays()) == 1


@pytest.mark.parametrize(
    ("listening", "given", "wanted"),
    [
        ("10.0.0.7:8088", "", "10.0.0.7:8088"),
        ("0.0.0.0:8088", "", f"{socket.gethostname()}:8088"),
        ("[::]:8088", "", f"{socket.gethostname()}:8088"),
        ("0.0.0.0:8088", "db.example:80", "db.example:80"),
        ("0.0.0.0:8088", "db.example:0", "db.example:8088"),
        ("127.0.0.1:8088", "[fd00::7]:0", "[fd00::7]:8088"),
    ],
)
def test_others_get_an_address_to_which_they_can_connect(
    listening: str, given: str, wanted: str
) -> None:
    assert str(advertised(parse_address(listening, option="listen"), given)) == wanted


@pytest.mark.parametrize("given", ["0.0.0.0:8088", "[::]:8088", ":8088"])
def test_an_address_of_all_interfaces_is_not_advertised(given: str) -> None:
    with pytest.raises(ConfigError, match="others cannot connect"):
        advertised(Address("127.0.0.1", 8088), given)
