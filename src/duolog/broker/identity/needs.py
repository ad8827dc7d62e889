"""The interfaces that users and logins need of the broker and of connections."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from duolog.broker.requests import needs

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Loop
    from duolog.broker.produce.rounds import Rounds
    from duolog.broker.settings import BrokerSettings
    from duolog.broker.topics.topics import Topic, Topics
    from duolog.log.partition.partition_log import PartitionLog
    from duolog.security.identity.principal import Identity


class Broker(needs.Broker, Protocol):
    """The broker, as users and logins see it."""

    loop: "Loop"
    rounds: "Rounds"
    settings: "BrokerSettings"
    topics: "Topics"

    def log(self, topic: str, partition: int) -> "PartitionLog": ...
    def append_internal(
        self,
        topic: str,
        partition: int,
        batch: bytearray,
        on_durable: Callable[[Exception | None], None],
    ) -> None: ...
    def create_topic(self, name: str, partitions: int, configs: dict[str, str]) -> "Topic": ...
    def rights_changed(self) -> None: ...


class Connection(Protocol):
    """A connection whose client logs in."""

    host: str
    address: str
    listener: str
    closed: bool
    identity: "Identity"
    on_close: list[Callable[[], None]]

    def let_in(self, identity: "Identity") -> None: ...
    def shut(self) -> None: ...
    def end(self, reason: str) -> None: ...
    def close(self, reason: str = "", *, level: int = ...) -> None: ...
