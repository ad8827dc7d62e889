"""The broker under test: Duolog, or an Apache Kafka for comparison, on a free port."""

import re
import sys
import tempfile
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conformance.kafka.peer import KafkaPeer  # noqa: E402  It lives among the tests.
from duolog.testing import EmbeddedCluster  # noqa: E402

_REQUESTS = re.compile(
    r"^kafka_network_requestmetrics_requests_total\{(?P<labels>[^}]*)\} (?P<count>\S+)",
    re.MULTILINE,
)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Target(NamedTuple):
    """What a suite runs against."""

    bootstrap_servers: str
    metrics_port: int

    def versions_used(self) -> dict[str, list[int]]:
        """Return the versions of each API that clients have used; empty on an Apache Kafka."""
        if not self.metrics_port:
            return {}
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
        used: dict[str, set[int]] = defaultdict(set)
        for found in _REQUESTS.finditer(text):
            labels = dict(_LABEL.findall(found["labels"]))
            if float(found["count"]) > 0:
                used[labels["request"]].add(int(labels["version"]))
        return {name: sorted(versions) for name, versions in sorted(used.items())}


@contextmanager
def duolog(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run a Duolog broker for one suite."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    all_settings = {"metrics.listen": f"127.0.0.1:{port}", **settings}
    with EmbeddedCluster(settings=all_settings) as cluster:
        yield Target(cluster.bootstrap_servers, port)


@contextmanager
def apache_kafka(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run an Apache Kafka for one suite, to see what a suite expects of its own accord."""
    with (
        tempfile.TemporaryDirectory() as directory,
        KafkaPeer(Path(directory) / "kafka", settings=settings) as peer,
    ):
        yield Target(peer.bootstrap_servers, 0)
