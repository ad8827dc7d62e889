"""Clients of the server's cluster as JSON, for a client that may describe the cluster.

    client    {"id", "broker", "clientId", "software", "softwareVersion", "address", "listener",
               "user", "connectedMs", "lastRequestMs", "closedMs", "requests", "bytesIn",
               "bytesOut", "requestsPerSecond", "bytesInPerSecond", "bytesOutPerSecond",
               "written": [TOPIC…], "read": [TOPIC…], "groups": [GROUP…], "roles": [ROLE…]}
    producer  {"producerId", "epoch", "topics": [TOPIC…], "partitions", "lastMs",
               "openTransactions", "oldestTransaction": [TOPIC, PARTITION, OFFSET] | null}

What a broker does not report is null, and `missing` says so. Counts are texts.

Topics are shown to who may describe them, groups likewise; producers of the topics that a client
may read, as Kafka's DescribeProducers requires.

Threads: any; calls block.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from duolog.core.counts import counted
from duolog.runtime.clients.monitor import ClientMonitor, Reported, ReportedClient
from duolog.runtime.clients.producers import ProducerAt
from duolog.runtime.consumer_groups.cluster_groups import ClusterGroups
from duolog.runtime.consumer_groups.descriptions import QUESTIONS
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks

Json = dict[str, Any]
VERSION: Final = 1
_PARTITIONS_MAX: Final = 2_000
_PRODUCERS_MAX: Final = 500
_GROUPS_MAX: Final = 500
_NO_CONNECTIONS: Final = (
    "Apache Kafka does not report connections: software, users, rates, times and topics of clients "
    "are unknown, and clients that are neither in a group nor idempotent producers are missing."
)
_NO_IDS: Final = "Kafka knows producers by number only, and not those without idempotence."


class ClientsRequest(NamedTuple):
    """The clients that a client wants to see.

    Attributes:
        search: a part of client id, software, address, user, topic or group, in lower case.
        role: `producer`, `consumer` or `other`; empty for all.
        closed: whether clients that have gone are wanted.
        topic: those that have written or read this topic lately; empty for all.
        skip, limit: the page.
    """

    search: str
    role: str
    closed: bool
    topic: str
    skip: int
    limit: int


@dataclass(frozen=True, slots=True)
class VisibleClients:
    """The clients of a cluster, for one client.

    Attributes:
        now_ms: returns the time.
    """

    monitor: ClientMonitor
    groups: ClusterGroups
    checks: Checks
    now_ms: Callable[[], int]

    def page(self, asked: ClientsRequest) -> Json:
        """Return clients and producers.

        Raises:
            BrokerUnavailable: no broker answers.
            KafkaError: a broker refuses.
        """
        reported = self.monitor.reported()
        members, problems = self._members()
        found = [self._client(one, members) for one in reported.clients]
        if reported.silent:
            known = {(one["clientId"], _host(one["address"])) for one in found}
            found += [_member(*at, names) for at, names in members.items() if at not in known]
        found = self._visible(found)
        matching = [one for one in found if _matches(one, asked)]
        producers, more, told = self._producers()
        return {
            "version": VERSION,
            "atMs": reported.now_ms or self.now_ms(),
            "clients": matching[asked.skip : asked.skip + asked.limit],
            "total": sum(one["closedMs"] is None or asked.closed for one in found),
            "matching": len(matching),
            "producers": producers,
            "missing": _missing(reported, more),
            "problems": [*reported.problems, *problems, *told],
        }

    def _client(self, one: ReportedClient, members: Mapping[tuple[str, str], list[str]]) -> Json:
        fields, rates = one.fields, one.rates
        groups = members.get((fields.client_id, _host(fields.address)), [])
        return {
            "id": f"{one.broker}/{fields.id}",
            "broker": one.broker,
            "clientId": fields.client_id,
            "software": fields.software_name or None,
            "softwareVersion": fields.software_version or None,
            "address": fields.address,
            "listener": fields.listener,
            "user": fields.user,
            "connectedMs": fields.connected_ms,
            "lastRequestMs": fields.last_request_ms,
            "closedMs": None if fields.closed_ms < 0 else fields.closed_ms,
            "requests": str(fields.requests),
            "bytesIn": str(fields.bytes_in),
            "bytesOut": str(fields.bytes_out),
            "requestsPerSecond": _rate(rates and rates.requests),
            "bytesInPerSecond": _rate(rates and rates.bytes_in),
            "bytesOutPerSecond": _rate(rates and rates.bytes_out),
            "written": list(fields.written),
            "read": list(fields.read),
            "groups": groups,
            "roles": _roles(fields.written, fields.read, groups),
        }

    def _visible(self, found: list[Json]) -> list[Json]:
        """Leave out topics that the client may not describe."""
        topics = {name for one in found for name in (*(one["written"] or ()), *(one["read"] or ()))}
        seen = self.checks.visible(ResourceType.TOPIC, topics)
        for one in found:
            for kind in ("written", "read"):
                if one[kind] is not None:
                    one[kind] = [name for name in one[kind] if name in seen]
        return found

    def _members(self) -> tuple[dict[tuple[str, str], list[str]], list[str]]:
        """Return the groups of each client id and host."""
        listed = self.groups.listed()
        seen = self.checks.visible(ResourceType.GROUP, listed.groups)
        wanted = [
            group
            for name, group in sorted(listed.groups.items())
            if name in seen and group.protocol in QUESTIONS
        ][:_GROUPS_MAX]
        found = defaultdict[tuple[str, str], list[str]](list)
        for name, described in self.groups.described(wanted).items():
            for at in {(member.client_id, member.host) for member in described.members}:
                found[at].append(name)
        return dict(found), listed.problems

    def _producers(self) -> tuple[list[Json], bool, list[str]]:
        """Return producers, the last writer first, whether some are left out, and problems."""
        led = self.monitor.metadata().leaders
        readable = self.checks.allowed(
            Operation.READ, ResourceType.TOPIC, {topic for topic, _ in led}
        )
        # The topics of the broker itself have no producers of clients.
        places = sorted(place for place in led if place[0] in readable and place[0][:2] != "__")
        found = self.monitor.producers(places[:_PARTITIONS_MAX])
        by_id = defaultdict[tuple[int, int], list[ProducerAt]](list)
        for one in found.found:
            by_id[one.producer_id, one.epoch].append(one)
        rows = sorted(map(_producer, by_id.values()), key=lambda row: -(row["lastMs"] or 0))
        more = len(places) > _PARTITIONS_MAX or len(rows) > _PRODUCERS_MAX
        return rows[:_PRODUCERS_MAX], more, found.problems


def _rate(per_second: float | None) -> float | None:
    """Return a rate with two digits, as a whole number if it is one: browsers read it exactly.

    Example:
        >>> _rate(3.0), _rate(0.126), _rate(None)
        (3, 0.13, None)
    """
    if per_second is None:
        return None
    rounded = round(per_second, 2)
    return int(rounded) if rounded.is_integer() else rounded


def _producer(places: list[ProducerAt]) -> Json:
    transactions = sorted(
        (one for one in places if one.transaction_start >= 0), key=lambda one: one.last_ms
    )
    oldest = transactions[0] if transactions else None
    last_ms = max(one.last_ms for one in places)
    return {
        "producerId": str(places[0].producer_id),
        "epoch": places[0].epoch,
        "topics": sorted({one.place[0] for one in places}),
        "partitions": len(places),
        "lastMs": last_ms if last_ms >= 0 else None,
        "openTransactions": len(transactions),
        "oldestTransaction": None
        if oldest is None
        else [*oldest.place, str(oldest.transaction_start)],
    }


def _member(client_id: str, host: str, groups: list[str]) -> Json:
    """Return a client that is known as a member of groups only."""
    unknown = dict.fromkeys(
        (
            *("software", "softwareVersion", "listener", "user", "connectedMs", "lastRequestMs"),
            *("closedMs", "requests", "bytesIn", "bytesOut", "requestsPerSecond"),
            *("bytesInPerSecond", "bytesOutPerSecond", "written", "read", "broker"),
        )
    )
    return {
        **unknown,
        "id": f"{host}/{client_id}",
        "clientId": client_id,
        "address": host,
        "groups": groups,
        "roles": ["consumer"],
    }


def _roles(written: Iterable[str], read: Iterable[str], groups: list[str]) -> list[str]:
    found = ["producer"] if [*written] else []
    found += ["consumer"] if groups or [*read] else []
    return found or ["other"]


def _matches(one: Json, asked: ClientsRequest) -> bool:
    if one["closedMs"] is not None and not asked.closed:
        return False
    if asked.topic and asked.topic not in (*(one["written"] or ()), *(one["read"] or ())):
        return False
    if asked.role and asked.role not in one["roles"]:
        return False
    texts = (
        *(one["clientId"], one["software"], one["address"], one["user"]),
        *(one["written"] or ()),
        *(one["read"] or ()),
        *one["groups"],
    )
    return any(asked.search in (text or "").lower() for text in texts)


def _missing(reported: Reported, more: bool) -> list[str]:  # noqa: FBT001 - one caller
    found = [_NO_CONNECTIONS, _NO_IDS] if reported.silent else []
    if reported.left_out:
        found.append(f"{counted(reported.left_out, 'client')} more, which requested earlier.")
    if more:
        found.append(f"Producers of more than {_PARTITIONS_MAX} partitions are not looked up.")
    return found


def _host(address: str) -> str:
    """Return the host of `HOST:PORT`.

    Example:
        >>> _host("10.0.0.7:5000"), _host("::1:5000"), _host("10.0.0.7")
        ('10.0.0.7', '::1', '10.0.0.7')
    """
    return address.rpartition(":")[0] or address
