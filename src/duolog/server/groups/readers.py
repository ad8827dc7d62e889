"""The groups that read one topic, each with its lag in this topic only.

    {"topic", "atMs", "groups": [{"group", "state", "protocol", …, "assigned", "lag"}…], "problems"}

A group reads a topic if it has committed an offset there, or if a member has a partition of it.
`assigned` counts the members that have one. The lag leaves out the partitions of other
topics, so that its trend is known only for groups that read nothing else.

Rights: DESCRIBE on the topic, and on each group.

Threads: any; calls block.
"""

from typing import TYPE_CHECKING, Final

from duolog.runtime.consumer_groups.groups import Described, Listed
from duolog.runtime.consumer_groups.lags import GroupLag
from duolog.runtime.consumer_groups.monitor import GroupMonitor
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.groups.coordinators import ask_each
from duolog.server.groups.shown import Json, shown_group, shown_lag

if TYPE_CHECKING:
    from duolog.runtime.consumer_groups.metadata import Place

READERS_MAX: Final = 500


def readers_of(topic: str, monitor: GroupMonitor, checks: Checks, now_ms: int) -> Json:
    """Return the groups that read a topic, by name; at most `READERS_MAX`.

    Raises:
        RequestRefused: the client may not describe the topic.
        BrokerUnavailable: no broker answers. If one does not, its groups are missing, and a
            problem names it.
    """
    checks.ensure([Right(Operation.DESCRIBE, ResourceType.TOPIC, topic)])
    listed = monitor.groups.listed()
    visible = checks.visible(ResourceType.GROUP, listed.groups)
    seen = [group for name, group in sorted(listed.groups.items()) if name in visible]
    problems = list(listed.problems)
    committed: dict[str, dict[Place, int]] = {}
    members: dict[str, Described] = {}
    lags: dict[str, GroupLag] = {}

    def read(led: list[Listed]) -> None:
        committed.update(monitor.groups.committed(led))
        members.update(monitor.groups.described(led))

    ask_each(seen, read, problems)
    found = [
        group
        for group in seen
        if any(place[0] == topic for place in committed.get(group.name, ()))
        or _assigned(members.get(group.name), topic)
    ]
    shown = found[:READERS_MAX]
    ask_each(shown, lambda led: lags.update(monitor.watch.look(led)), problems)
    return {
        "topic": topic,
        "atMs": now_ms,
        "groups": [
            _row(topic, group, members.get(group.name), lags.get(group.name), monitor)
            for group in shown
        ],
        "total": len(found),
        "problems": problems,
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
