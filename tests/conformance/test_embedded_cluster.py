import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from duolog.runtime.errors import BrokerUnavailable
from duolog.testing import Client, EmbeddedCluster


def test_killed_cluster_keeps_acknowledged_records() -> None:
    with EmbeddedCluster() as cluster:
        address = cluster.bootstrap_servers
        client = Client(address)
        client.create_topic("orders")
        client.produce("orders", "a", "1", timestamp_ms=7, headers=[("h", b"x")])

        cluster.kill()
        cluster.restart()

        assert cluster.bootstrap_servers == address
        (record,) = Client(address).read("orders")
        assert (record.key_text, record.value_text) == ("a", "1")
        assert (record.timestamp_ms, record.headers) == (7, [("h", b"x")])


@pytest.mark.parametrize("end", [EmbeddedCluster.kill, EmbeddedCluster.stop])
def test_port_of_a_stopped_cluster_stays_reserved(
    end: Callable[[EmbeddedCluster], None],
) -> None:
    with EmbeddedCluster() as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        end(cluster)
        end(cluster)

        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=60)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((host, int(port)))


def test_a_stopped_cluster_leaves_no_files() -> None:
    with EmbeddedCluster() as cluster:
        pid, data_dir = cluster.pid, cluster.data_dir

    assert not data_dir.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_given_data_directory_is_kept(tmp_path: Path) -> None:
    with EmbeddedCluster(tmp_path / "broker") as cluster:
        Client(cluster.bootstrap_servers).create_topic("orders")

    with EmbeddedCluster(tmp_path / "broker") as cluster:
        assert Client(cluster.bootstrap_servers).read("orders") == []


def test_unknown_setting_raises_the_error_of_the_broker() -> None:
    with (
        pytest.raises(BrokerUnavailable, match="did not start") as caught,
        EmbeddedCluster(settings={"durabilty": "os"}),
    ):
        pass

    assert '"durability"' in caught.value.detail


def test_two_brokers_do_not_share_a_data_directory(tmp_path: Path) -> None:
    with (
        EmbeddedCluster(tmp_path / "broker"),
        pytest.raises(BrokerUnavailable, match="did not start"),
        EmbeddedCluster(tmp_path / "broker"),
    ):
        pass
