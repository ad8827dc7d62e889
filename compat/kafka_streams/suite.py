"""Kafka Streams' own system tests, see `lib/streams.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.streams import SETTINGS, run_checks
from lib.suite import fetch


class KafkaStreams:
    """The system tests' programs, started as those tests start them."""

    client = "Kafka Streams 4.1.2"
    settings: Mapping[str, str] = MappingProxyType(SETTINGS)

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        return run_checks(bootstrap_servers, cache, selection)


SUITE = KafkaStreams()
