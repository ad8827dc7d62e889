"""The broker under test: Duolog, or an Apache Kafka for comparison, on a free port."""

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conformance.kafka.peer import KafkaPeer  # noqa: E402  It lives among the tests.
from duolog.testing import EmbeddedCluster  # noqa: E402

_REQUEST_LOG = {"logging.format": "json", "logging.requests": "true"}


class Target(NamedTuple):
    """What a suite runs against."""

    bootstrap_servers: str
    log: Path | None

    def versions_used(self) -> dict[str, list[int]]:
        """Return the versions of each API that clients have used; empty on an Apache Kafka."""
        used: dict[str, set[int]] = defaultdict(set)
        if self.log is not None:
            with self.log.open() as lines:
                for line in lines:
                    if '"api"' in line and '"version"' in line:
                        fields = json.loads(line)
                        used[fields["api"]].add(fields["version"])
        return {name: sorted(versions) for name, versions in sorted(used.items())}


@contextmanager
def duolog(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run a Duolog broker for one suite."""
    with tempfile.TemporaryDirectory() as directory:
        data_dir = Path(directory) / "broker"
        with EmbeddedCluster(data_dir, {**_REQUEST_LOG, **settings}) as cluster:
            yield Target(cluster.bootstrap_servers, cluster.broker.log_path)


@contextmanager
def apache_kafka(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run an Apache Kafka for one suite, to see what a suite expects of its own accord."""
    with (
        tempfile.TemporaryDirectory() as directory,
        KafkaPeer(Path(directory) / "kafka", settings=settings) as peer,
    ):
        yield Target(peer.bootstrap_servers, None)


@contextmanager
def none(settings: Mapping[str, str]) -> Iterator[Target]:
    """Run no broker: the suite starts its own with `duolog.testing.containers`."""
    assert not settings
    yield Target("", None)
