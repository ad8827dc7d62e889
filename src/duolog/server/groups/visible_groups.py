"""The groups of the server's cluster, as one client may see and change them.

    list            DESCRIBE on the group, or on the cluster (then without members and lag)
    show            DESCRIBE on the group; partitions only with DESCRIBE on their topics
    reset           READ on the group and on each topic; a preview needs only DESCRIBE
    delete          DELETE on the group; of offsets also READ on each topic

These are the rights of Kafka's requests. The server asks with its own login.

Threads: any; calls block.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from duolog.core.counts import counted
from duolog.runtime.consumer_groups.groups import SHARE, Described, Listed
from duolog.runtime.consumer_groups.lags import GroupLag
from duolog.runtime.consumer_groups.metadata import Place
from duolog.runtime.consumer_groups.monitor import GroupMonitor
from duolog.runtime.consumer_groups.resets import Moves, Scope, command_of, moves_of, time_of
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.errors import CONFLICT, NOT_FOUND, RequestRefused
from duolog.server.groups.coordinators import ask_each
from duolog.server.groups.readers import readers_of
from duolog.server.groups.requests import ListRequest, ResetRequest
from duolog.server.groups.shown import (
    Json,
    shown_group,
    shown_lag,
    shown_member,
    shown_move,
    shown_partitions,
    shown_topics,
)

VERSION: Final = 1
_HOSTS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class VisibleGroups:
    """The groups of a cluster, for one client.

    Attributes:
        now_ms: returns the time.
    """

    monitor: GroupMonitor
    checks: Checks
    now_ms: Callable[[], int]

    def page(self, asked: ListRequest) -> Json:
        """Return a page of groups, by name.

        Raises:
            BrokerUnavailable: no broker answers. If one does not, its groups have neither
                members nor lag, and a problem names it.
        """
        listed = self.monitor.groups.listed()
        described = self.checks.allowed(Operation.DESCRIBE, ResourceType.GROUP, listed.groups)
        visible = listed.groups.keys() if self._sees_cluster() else described
        found = sorted(
            (listed.groups[name] for name in visible if asked.search in name.lower()),
            key=lambda group: group.name,
        )
        states: dict[str, int] = {}
        for group in found:
            states[group.state] = states.get(group.state, 0) + 1
        matching = [
            group
            for group in found
            if (not asked.states or group.state.lower() in asked.states)
            and (not asked.protocols or group.protocol in asked.protocols)
        ]
        following = [group for group in matching if group.name > asked.after]
        shown = following[: asked.limit]
        more = len(following) > len(shown)
        problems = list(listed.problems)
        return {
            "version": VERSION,
            "atMs": self.now_ms(),
            "groups": self._rows(shown, described if asked.lag else frozenset(), problems),
            "total": len(visible),
            "matching": len(matching),
            "states": states,
            "next": shown[-1].name if more else None,
            "problems": problems,
        }

    def one(self, name: str, skip: int, limit: int) -> Json:
        """Return a group with its members and partitions.

        Raises:
            RequestRefused: the client sees no such group.
            KafkaError, BrokerUnavailable: its coordinator does not answer.
        """
        group = self._group(name)
        described = self._described(group)
        lag = self.monitor.watch.look([group], partitions=True).get(name) or GroupLag(
            self.now_ms(), {}
        )
        places = {*lag.partitions, *(at for member in described.members for at in member.assigned)}
        seen = self._topics_seen(places)
        visible = sorted(place for place in places if place[0] in seen)
        mine = self._only(lag, seen)
        hidden = len(places) - len(visible)
        page = visible[skip : skip + limit]
        histories = self.monitor.watch.partition_history(name)
        return {
            "version": VERSION,
            **shown_group(group, described),
            "memberList": [
                shown_member(
                    one._replace(assigned=tuple(at for at in one.assigned if at[0] in seen))
                )
                for one in described.members
            ],
            "lag": shown_lag(mine, None if hidden else self.monitor.watch.history(name)),
            "partitions": shown_partitions(mine, described.members, histories, page),
            "partitionsTotal": len(visible),
            "hidden": hidden,
            "may": self._may(name),
            "resetRefusal": _refusal(group, described),
        }

    def readers(self, topic: str) -> Json:
        """Return the groups that read a topic; raises as `readers_of`."""
        return {
            "version": VERSION,
            **readers_of(topic, self.monitor, self.checks, self.now_ms()),
        }

    def reset(self, name: str, asked: ResetRequest) -> Json:
        """Reset committed offsets, or show what would change.

        A group that does not exist yet gets offsets, as with Kafka's tool: then topics are needed.

        Raises:
            RequestRefused: the client lacks a right, the group has members, or a topic is unknown.
            KafkaError, BrokerUnavailable: a broker refuses, or does not answer.
        """
        verb = Operation.DESCRIBE if asked.preview else Operation.READ
        self.checks.ensure([Right(verb, ResourceType.GROUP, name)])
        topics = sorted({scope.topic for scope in asked.scopes})
        self.checks.ensure(Right(verb, ResourceType.TOPIC, topic) for topic in topics)
        group = self._group(name)
        described = self._described(group)
        refusal = _refusal(group, described)
        if refusal and not asked.preview:
            raise RequestRefused(refusal, CONFLICT)
        old = self.monitor.groups.committed([group]).get(name, {})
        places = self._places(asked.scopes, old)
        if not asked.scopes:
            seen = self.checks.allowed(verb, ResourceType.TOPIC, {topic for topic, _ in places})
            places = [place for place in places if place[0] in seen]
        now_ms = self.now_ms()
        found = moves_of(asked.target, places, old, self.monitor.positions, now_ms)
        if not asked.preview and found.moves:
            self.monitor.groups.commit(group, {move.place: move.new for move in found.moves})
            self.monitor.watch.forget(name)
        return self._outcome(name, asked, found, refusal, now_ms)

    def delete(self, name: str) -> Json:
        """Delete a group without members; raises as `reset`."""
        self.checks.ensure([Right(Operation.DELETE, ResourceType.GROUP, name)])
        group = self._group(name, Operation.DELETE)
        self.monitor.groups.delete(group)
        self.monitor.watch.forget(name)
        return {"group": name, "deleted": True}

    def delete_offsets(self, name: str, scopes: Collection[Scope]) -> Json:
        """Delete committed offsets; raises as `reset`."""
        self.checks.ensure(
            [
                Right(Operation.DELETE, ResourceType.GROUP, name),
                *(Right(Operation.READ, ResourceType.TOPIC, scope.topic) for scope in scopes),
            ]
        )
        group = self._group(name, Operation.DELETE)
        old = self.monitor.groups.committed([group]).get(name, {})
        wanted = [
            place for place in sorted(old) if any(_in_scope(place, scope) for scope in scopes)
        ]
        if not wanted:
            raise RequestRefused(
                f'Group "{name}" has no committed offsets for these partitions', NOT_FOUND
            )
        self.monitor.groups.delete_offsets(group, wanted)
        self.monitor.watch.forget(name)
        return {"group": name, "deleted": [list(place) for place in wanted]}

    def _rows(
        self, groups: list[Listed], described: Collection[str], problems: list[str]
    ) -> list[Json]:
        members: dict[str, Described] = {}
        lags: dict[str, GroupLag] = {}

        def look(led: list[Listed]) -> None:
            members.update(self.monitor.groups.described(led))
            lags.update(self.monitor.watch.look(led))

        ask_each((group for group in groups if group.name in described), look, problems)
        topics = {topic for lag in lags.values() for topic, _ in lag.partitions}
        seen = self.checks.visible(ResourceType.TOPIC, topics)
        rows = []
        for group in groups:
            whole = lags.get(group.name)
            lag = None if whole is None else self._only(whole, seen)
            hides = (
                whole is not None
                and lag is not None
                and len(lag.partitions) < len(whole.partitions)
            )
            history = None if hides else self.monitor.watch.history(group.name)
            rows.append(
                {
                    **shown_group(group, members.get(group.name)),
                    "topics": shown_topics(lag),
                    "lag": shown_lag(lag, history),
                }
            )
        return rows

    def _group(self, name: str, verb: Operation = Operation.DESCRIBE) -> Listed:
        """Return a group that the client may describe, or delete.

        Raises:
            RequestRefused: there is none.
        """
        listed = self.monitor.groups.listed()
        group = listed.groups.get(name)
        if group is None or name not in self.checks.allowed(verb, ResourceType.GROUP, [name]):
            problems = "".join(f"\n{problem}" for problem in listed.problems)
            raise RequestRefused(f'Group "{name}" does not exist{problems}', NOT_FOUND)
        return group

    def _described(self, group: Listed) -> Described:
        found = self.monitor.groups.described([group]).get(group.name)
        # A classic group that only has offsets may be described as missing.
        return found or Described(group.name, group.state, group.protocol, "", None, ())

    def _places(self, scopes: Collection[Scope], old: Collection[Place]) -> list[Place]:
        led = self.monitor.positions.metadata().leaders
        if not scopes:
            return sorted(place for place in old if place in led)
        found: set[Place] = set()
        for scope in scopes:
            there = {place for place in led if place[0] == scope.topic}
            wanted = {(scope.topic, number) for number in scope.partitions} or there
            if not there:
                raise RequestRefused(f'Topic "{scope.topic}" does not exist', NOT_FOUND)
            if missing := sorted(wanted - there):
                raise RequestRefused(
                    f'Partition {missing[0][1]} of topic "{scope.topic}" does not exist, or has no '
                    "leader",
                    NOT_FOUND,
                )
            found |= wanted
        return sorted(found)

    def _outcome(
        self, name: str, asked: ResetRequest, found: Moves, refusal: str, now_ms: int
    ) -> Json:
        return {
            "group": name,
            "preview": asked.preview,
            "partitions": [shown_move(move) for move in found.moves],
            "unchanged": [list(place) for place in found.unchanged],
            "timeMs": time_of(asked.target, now_ms),
            "refusal": refusal or None,
            "command": command_of(name, asked.scopes, asked.target, self.monitor.servers),
        }

    def _topics_seen(self, places: Iterable[Place]) -> frozenset[str]:
        return self.checks.visible(ResourceType.TOPIC, {topic for topic, _ in places})

    def _only(self, lag: GroupLag, topics: frozenset[str]) -> GroupLag:
        """Return the lag in topics that the client may describe."""
        kept = {place: one for place, one in lag.partitions.items() if place[0] in topics}
        return lag._replace(partitions=kept)

    def _sees_cluster(self) -> bool:
        return bool(self.checks.visible(ResourceType.CLUSTER, [CLUSTER_NAME]))

    def _may(self, name: str) -> Json:
        return {
            verb: bool(self.checks.allowed(operation, ResourceType.GROUP, [name]))
            for verb, operation in (("reset", Operation.READ), ("delete", Operation.DELETE))
        }


def _in_scope(place: Place, scope: Scope) -> bool:
    return place[0] == scope.topic and (not scope.partitions or place[1] in scope.partitions)


def _refusal(group: Listed, described: Described) -> str:
    """Return why the offsets of a group cannot be reset; empty if they can."""
    if group.protocol == SHARE:
        return (
            f'Offsets of share group "{group.name}" are not reset here\n'
            "Use kafka-share-groups.sh of Apache Kafka."
        )
    members = described.members
    if not members:
        return ""
    hosts = sorted({f"{member.client_id} on {member.host}" for member in members})
    more = f" and {len(hosts) - _HOSTS_MAX} more" if len(hosts) > _HOSTS_MAX else ""
    return (
        f'Group "{group.name}" has {counted(len(members), "member")}: '
        f"{', '.join(hosts[:_HOSTS_MAX])}{more}\n"
        "Stop them first. A member that was killed stays in the group until its session timeout."
    )
