import asyncio
import socket

import pytest

from duolog.core.errors import ConfigError
from duolog.core.listening import Address, open_listener, parse_address
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
