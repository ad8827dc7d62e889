"""The clients of one cluster: what its brokers report of connections, with rates.

Only Duolog's brokers report connections (DescribeClients). Of Apache Kafka, the members of groups
and the producers of partitions are known.

Threads: any; calls block.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from duolog.core.errors import DuologError
from duolog.protocol.messages import DESCRIBE_CLIENTS
from duolog.runtime.clients.producers import Producers, read_producers
from duolog.runtime.clients.rates import ClientKey, ClientRates, Counts, Rates
from duolog.runtime.consumer_groups.connections import Connections
from duolog.runtime.consumer_groups.metadata import Metadata, Place

_LIMIT: Final = 5_000


class ReportedClient(NamedTuple):
    """A connection as its broker reports it.

    Attributes:
        broker: the address of the broker.
        fields: see `DescribedClient`.
        rates: None until two reports have it, or after it was closed.
    """

    broker: str
    fields: Any
    rates: Rates | None


class Reported(NamedTuple):
    """The clients of all brokers that report them.

    Attributes:
        now_ms: the time of the last report; 0 without one.
        left_out: clients that brokers have left out, because there are too many.
        silent: addresses of brokers that do not know the request.
        problems: the reason for each broker that has not answered.
    """

    now_ms: int
    clients: list[ReportedClient]
    left_out: int
    silent: list[str]
    problems: list[str]


class ClientMonitor:
    """The clients of a cluster."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._rates = ClientRates()

    def metadata(self) -> Metadata:
        """Return brokers and leaders; raises as `read_metadata`."""
        return self._connections.metadata()

    def reported(self) -> Reported:
        """Return what the brokers report.

        Raises:
            BrokerUnavailable: no broker answers.
        """
        rows: list[tuple[str, Any]] = []
        silent: list[str] = []
        problems: list[str] = []
        now_ms = left_out = 0
        for address in self._connections.metadata().nodes.values():
            try:
                if not self._connections.serves(address, DESCRIBE_CLIENTS):
                    silent.append(address)
                    continue
                answer = self._connections.ask(address, DESCRIBE_CLIENTS, 0, limit=_LIMIT)
            except DuologError as error:
                problems.append(error.one_line())
                continue
            if answer.error_code:
                problems.append(f"{address}: {answer.error_message or answer.error_code}")
                continue
            now_ms = max(now_ms, answer.now_ms)
            left_out += answer.left_out
            rows += [(address, row) for row in answer.clients]
        counts: dict[ClientKey, Counts] = {
            (address, row.id): Counts(row.requests, row.bytes_in, row.bytes_out)
            for address, row in rows
            if row.closed_ms < 0
        }
        rates = self._rates.note(now_ms, counts)
        clients = [
            ReportedClient(address, row, rates.get((address, row.id))) for address, row in rows
        ]
        return Reported(now_ms, clients, left_out, silent, problems)

    def producers(self, places: Iterable[Place]) -> Producers:
        """Return the producers of partitions; raises as `read_producers`."""
        return read_producers(self._connections, places)
