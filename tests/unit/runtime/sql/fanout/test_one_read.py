"""500 push queries over one topic cost one read of it, counted by the broker."""

import json
import re
import socket
import urllib.request
from collections.abc import Iterator

import pytest

from duolog.runtime.sql.fanout.shared_readers import SharedReaders
from duolog.security.clients.brokers import Brokers
from duolog.testing import EmbeddedCluster
from unit.runtime.sql.fanout.pushed_topic import PushedTopic, take
from waiting import wait_until

_SUBSCRIBERS = 500
_RECORDS = 1_500
"""Fewer than may wait for one client: they are read one client after the other."""


@pytest.fixture(scope="module")
def measured() -> Iterator[tuple[EmbeddedCluster, str]]:
    """A broker with an endpoint for its metrics."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {"durability": "os", "metrics.listen": address}
    with EmbeddedCluster(settings=settings) as cluster:
        yield cluster, f"http://{address}/metrics"


def _bytes_out(url: str, topic: str) -> float:
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - an address of this test
        text = answer.read().decode()
    name = re.escape("kafka_server_brokertopicmetrics_bytesout_total")
    found = re.findall(rf'^{name}{{[^}}]*topic="{topic}"[^}}]*}} (\S+)$', text, re.MULTILINE)
    return sum(map(float, found))


def test_500_subscribers_cost_one_read_of_the_topic(measured: tuple[EmbeddedCluster, str]) -> None:
    cluster, url = measured
    topic = PushedTopic(cluster, "shared")
    readers = SharedReaders(Brokers(cluster.bootstrap_servers))
    try:
        selects = [f"SELECT v, {at % 10} AS n FROM s" for at in range(_SUBSCRIBERS)]
        clients = [topic.subscribe(readers, select) for select in selects]
        topic.numbers(range(_RECORDS))
        for at, rows in enumerate(clients):
            assert take(rows, _RECORDS) == [(v, at % 10) for v in range(_RECORDS)]
        shared = wait_until(lambda: _bytes_out(url, topic.name), "bytes in the metrics")
    finally:
        readers.close()

    topic.read_by_a_consumer()
    twice = wait_until(
        lambda: (now := _bytes_out(url, topic.name)) > shared and now, "the bytes of a consumer"
    )

    written = sum(len(json.dumps({"v": v})) for v in range(_RECORDS))
    assert shared >= written
    # The consumer reads large batches, the shared reader small ones as they are written.
    assert shared < 5 * (twice - shared), "500 reads would be 500 times as much"
