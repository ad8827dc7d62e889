"""A follower sends the requests of its clients to the leader, with their passwords."""

import socket

import pytest

from duolog.registry.election.forwarding import Forwarder, ForwardingFailed


def test_what_came_encrypted_is_not_forwarded_in_clear() -> None:
    """The address of the leader is what a member of the group says."""
    with socket.create_server(("127.0.0.1", 0)) as leader:
        leader.settimeout(0)
        url = f"http://127.0.0.1:{leader.getsockname()[1]}"
        forwarder = Forwarder(encrypted=True)

        with pytest.raises(ForwardingFailed, match="has no HTTPS") as caught:
            forwarder.send(url, "POST", "/subjects/a", {"authorization": "Basic eDp5"}, b"{}")

        assert not caught.value.sent
        with pytest.raises(BlockingIOError):
            leader.accept()
        forwarder.close()
