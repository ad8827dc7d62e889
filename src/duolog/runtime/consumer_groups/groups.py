"""A group of consumers: as it is listed, and with its members."""

from typing import Final, NamedTuple

from duolog.runtime.consumer_groups.metadata import Place

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"
STREAMS: Final = "streams"

EMPTY: Final = frozenset({"Empty", "Dead", ""})
"""States of groups without members; brokers before Kafka 2.6 do not list states."""


class Listed(NamedTuple):
    """A group in the list of its coordinator.

    Attributes:
        state: Kafka's name, such as `Stable`; empty if the broker is older than Kafka 2.6.
        protocol: `classic`, `consumer`, `share` or `streams`.
        protocol_type: of classic groups `consumer`, `connect` or another client's word; empty if
            the group only has committed offsets.
        coordinator: the address of its broker.
    """

    name: str
    state: str
    protocol: str
    protocol_type: str
    coordinator: str


class Member(NamedTuple):
    """A member of a group.

    Attributes:
        instance_id: the name of a static member; empty otherwise.
        host: its address, without a slash.
        assigned: what it reads, sorted.
        subscribed: topics or the regular expression; empty if the protocol has none.
    """

    member_id: str
    instance_id: str
    client_id: str
    host: str
    assigned: tuple[Place, ...]
    subscribed: tuple[str, ...] = ()


class Described(NamedTuple):
    """A group with its members.

    Attributes:
        epoch: the epoch of the group; None if its protocol has none.
    """

    name: str
    state: str
    protocol: str
    assignor: str
    epoch: int | None
    members: tuple[Member, ...]
