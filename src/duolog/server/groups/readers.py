"""The groups that read one topic, each with its lag in this topic only.

    {"topic", "atMs", "groups": [{"group", "state", "protocol", …, "assigned", "lag"}…], "problems"}

A group reads a topic if it has committed an offset there, or if a member has a partition of it.
`assigned` counts the members that have one. The lag leaves out the partitions of other
topics, so that its trend is known only for groups that read nothing else.

Rights: DESCRIBE on the topic, and on each group.

Threads: any; calls block.
"""

from typing import Final

from duolog.runtime.consumer_groups.groups import Described, Listed
from duolog.runtime.consumer_groups.lags import GroupLag
from duolog.runtime.consumer_groups.monitor import GroupMonitor
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.groups.shown import Json, shown_group, shown_lag

READERS_MAX: Final = 500


def readers_of(topic: str, monitor: GroupMonitor, checks: Checks, now_ms: int) -> Json:
    """Return the groups that read a topic, by name; at most `READERS_MAX`.

    Raises:
        RequestRefused: the client may not describe the topic.
        KafkaError, BrokerUnavailable: a coordinator does not answer.
    """
    checks.ensure([Right(Operation.DESCRIBE, ResourceType.TOPIC, topic)])
    listed = monitor.groups.listed()
    visible = checks.visible(ResourceType.GROUP, listed.groups)
    seen = [group for name, group in sorted(listed.groups.items()) if name in visible]
    committed = monitor.groups.committed(seen)
    members = monitor.groups.described(seen)
    found = [
        group
        for group in seen
        if any(place[0] == topic for place in committed.get(group.name, ()))
        or _assigned(members.get(group.name), topic)
    ]
    shown = found[:READERS_MAX]
    lags = monitor.watch.look(shown)
    return {
        "topic": topic,
        "atMs": now_ms,
        "groups": [
            _row(topic, group, members.get(group.name), lags.get(group.name), monitor)
            for group in shown
        ],
        "total": len(found),
        "problems": listed.problems,
    }


def _row(
    topic: str,
    group: Listed,
    described: Described | None,
    whole: GroupLag | None,
    monitor: GroupMonitor,
) -> Json:
    places = {} if whole is None else whole.partitions
    here = {place: one for place, one in places.items() if place[0] == topic}
    history = monitor.watch.history(group.name) if len(here) == len(places) else None
    return {
        **shown_group(group, described),
        "assigned": _assigned(described, topic),
        "lag": None if whole is None else shown_lag(whole._replace(partitions=here), history),
    }


def _assigned(described: Described | None, topic: str) -> int:
    """Return how many members have a partition of a topic."""
    members = () if described is None else described.members
    return sum(any(place[0] == topic for place in member.assigned) for member in members)
