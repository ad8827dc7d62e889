"""The interfaces that the group coordinator needs of the broker."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from duolog.broker.requests import needs

if TYPE_CHECKING:
    from duolog.broker.configs.resource_types import Configs
    from duolog.broker.expressions.expressions import Expressions
    from duolog.broker.produce.rounds import Rounds
    from duolog.broker.settings import BrokerSettings
    from duolog.broker.topics.topics import Topic, Topics
    from duolog.record.batch import BatchHeader


class CoordinatorBroker(needs.Broker, Protocol):
    """The broker, as a coordinator sees it whose state is a topic."""

    rounds: "Rounds"
    settings: "BrokerSettings"
    topics: "Topics"

    def append_internal(
        self,
        topic: str,
        partition: int,
        batch: bytearray,
        on_durable: Callable[[Exception | None], None],
    ) -> None: ...
    def create_topic(self, name: str, partitions: int, configs: dict[str, str]) -> "Topic": ...


class Broker(CoordinatorBroker, Protocol):
    """The broker, as groups see it."""

    configs: "Configs"
    expressions: "Expressions"

    def replay_batches(
        self, topic: str, partition: int
    ) -> "Iterator[tuple[BatchHeader, memoryview]]": ...
