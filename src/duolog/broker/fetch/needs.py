"""The interfaces that fetches need of the broker."""

from typing import TYPE_CHECKING, Protocol

from duolog.broker.requests import needs

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings
    from duolog.broker.topics.topics import Topics, Waiter


class Broker(needs.Broker, Protocol):
    """The broker, as fetches see it."""

    fetch_bytes_max: int
    settings: "BrokerSettings"
    topics: "Topics"

    def check_soon(self, waiter: "Waiter") -> None: ...
