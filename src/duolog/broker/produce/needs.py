"""The interfaces that the produce path needs of the broker."""

from typing import TYPE_CHECKING, Protocol

from duolog.broker.requests import needs

if TYPE_CHECKING:
    from duolog.broker.produce.rounds import Rounds
    from duolog.broker.schema_checks.registered import RegisteredSchemas
    from duolog.broker.topics.topics import Topics


class Transactions(Protocol):
    """The transaction coordinator, as a batch sees it."""

    def verify_produce(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        topic: str,
        partition: int,
        *,
        implicit: bool,
    ) -> None:
        """Return if a batch may be appended."""


class Broker(needs.Broker, Protocol):
    """The broker, as the produce path sees it."""

    rounds: "Rounds"
    schemas: "RegisteredSchemas"
    topics: "Topics"

    @property
    def transactions(self) -> Transactions: ...


Connection = needs.Connection[Broker]
