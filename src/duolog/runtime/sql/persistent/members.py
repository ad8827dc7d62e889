"""The processes that run the queries of a service, as their consumer group lists them.

A member's client id says who it is: `host/pid/number/mode/address`. The mode is `shares` for a
server, and `alone` for a shell, a file of statements or a program. The address is where clients
reach a server; it is empty for others.
"""

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self, cast

from confluent_kafka import KafkaException

from duolog.coordinator.consumer_groups.consumer_bytes import read_assignment
from duolog.coordinator.errors import InconsistentGroupProtocol
from duolog.core.errors import KafkaError
from duolog.core.operating_system.processes import is_alive
from duolog.registry.election.members import members_of
from duolog.runtime.sql.persistent.places import places_topic_of
from duolog.runtime.topics import admin_of, client_error
from duolog.security.clients.brokers import Brokers

SHARES: Final = "shares"
ALONE: Final = "alone"
_TIMEOUT_S: Final = 10.0
_FIELDS: Final = 5


@dataclass(frozen=True, slots=True)
class Member:
    """One process that runs queries of a service, or waits for places."""

    name: str
    places: frozenset[int] = frozenset()
    """The places that the group has assigned to it."""

    @classmethod
    def named(cls, host: str, pid: int, number: int, *, shares: bool, address: str = "") -> Self:
        """Return a member with the name of these facts."""
        mode = SHARES if shares else ALONE
        return cls(f"{host}/{pid}/{number}/{mode}/{address}")

    @property
    def shares(self) -> bool:
        """True for a server, which shares the queries with other servers."""
        return self._fields[3] == SHARES

    @property
    def address(self) -> str:
        """The address of a server, as `host:port`; empty for others."""
        return self._fields[4]

    @property
    def lives_here(self) -> bool:
        """True if it is a running process on this machine."""
        host, number = self._fields[:2]
        return host == socket.gethostname() and number.isdigit() and is_alive(int(number))

    def was_replaced_by(self, server: Self) -> bool:
        """Return true if a server listens where this one did: this one has ended.

        The broker notices the end of a killed process only after its session timeout.
        """
        same = (self._fields[0], self.address) == (server._fields[0], server.address)
        return same and bool(self.address) and self.name != server.name

    def __str__(self) -> str:
        host, number = self._fields[:2]
        return f"Process {number} on host {host}"

    @property
    def _fields(self) -> list[str]:
        return [*self.name.split("/", _FIELDS - 1), *[""] * _FIELDS][:_FIELDS]


def group_of(service_id: str) -> str:
    """Return the consumer group of a service's members."""
    return f"duolog-ksql-{service_id}"


def members_of_service(bootstrap: Brokers | str, service_id: str) -> list[Member]:
    """Return the members of a service, with the places that are assigned to each.

    Raises:
        KafkaError: the broker does not answer.
    """
    group, topic = group_of(service_id), places_topic_of(service_id)
    # Kept for the call: a client that is freed cancels its requests.
    admin = admin_of(bootstrap)
    try:
        found = members_of(admin, group, _TIMEOUT_S)
    except KafkaException as error:
        refusal = client_error(error)
        raise KafkaError(
            f'cannot ask for group "{group}"', code=refusal.code(), detail=refusal.str()
        ) from error
    return [
        # The client declares the type of the assignment as None.
        Member(str(one.client_id), _places(cast("bytes", one.assignment), topic))
        for one in found
    ]


def member_with(place: int, members: Iterable[Member]) -> Member | None:
    """Return the member to which a place is assigned; None while it moves."""
    return next((one for one in members if place in one.places), None)


def _places(assignment: bytes, topic: str) -> frozenset[int]:
    try:
        return read_assignment(assignment).get(topic, frozenset())
    except InconsistentGroupProtocol:
        return frozenset()  # A client of another kind has joined the group.
