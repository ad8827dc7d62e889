"""Groups as JSON. Offsets and lags are texts, because they may exceed 2^53; times are numbers.

    lag        {"records", "ms", "recordsTrend", "msTrend", "complete", "atMs",
                "history": {"records": [[AT_MS, RECORDS]…], "ms": [[AT_MS, MS]…]}}
    partition  {"topic", "partition", "committed", "end", "lag", "lagMs", "member", "host",
                "trend", "history": [[AT_MS, RECORDS]…]}

What is unknown is null: the lag of a partition without a leader, the age of a record that was not
read in time (then `complete` is false), a trend in the first seconds. The history of a group is
null for a client that does not see all of its topics.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from duolog.runtime.consumer_groups.groups import Described, Listed, Member
from duolog.runtime.consumer_groups.lags import GroupLag
from duolog.runtime.consumer_groups.metadata import Place
from duolog.runtime.consumer_groups.resets import Move
from duolog.runtime.consumer_groups.watch import History
from duolog.runtime.sql.figures.trends import Sample, trend_of_records

Json = dict[str, Any]
_TOPICS_MAX: Final = 20


def shown_group(group: Listed, described: Described | None) -> Json:
    """Return what the list of groups shows of one, but for its lag."""
    return {
        "group": group.name,
        "state": group.state if described is None else described.state,
        "protocol": group.protocol,
        "protocolType": group.protocol_type,
        "coordinator": group.coordinator,
        "members": None if described is None else len(described.members),
        "assignor": None if described is None else described.assignor or None,
        "epoch": None if described is None else described.epoch,
    }


def shown_topics(lag: GroupLag | None) -> list[str]:
    """Return the first topics with committed offsets."""
    return [] if lag is None else sorted({topic for topic, _ in lag.partitions})[:_TOPICS_MAX]


def shown_lag(lag: GroupLag | None, history: History | None) -> Json | None:
    """Return the lag of a group; None if it has no committed offsets."""
    if lag is None or not lag.partitions:
        return None
    return {
        "records": _text(lag.records),
        "ms": lag.ms,
        "recordsTrend": None if history is None else history.records_trend,
        "msTrend": None if history is None else history.ms_trend,
        "complete": lag.complete,
        "atMs": lag.at_ms,
        "history": None
        if history is None
        else {"records": _samples(history.records), "ms": [list(one) for one in history.ms]},
    }


def shown_member(member: Member) -> Json:
    """Return a member with its partitions."""
    return {
        "memberId": member.member_id,
        "instanceId": member.instance_id or None,
        "clientId": member.client_id,
        "host": member.host,
        "assigned": [list(place) for place in member.assigned],
        "subscribed": list(member.subscribed),
    }


def shown_partitions(
    lag: GroupLag,
    members: Collection[Member],
    histories: Mapping[Place, Sequence[Sample]],
    places: Sequence[Place],
) -> list[Json]:
    """Return partitions of a group; those that are only assigned have no committed offset."""
    owners = {place: member for member in members for place in member.assigned}
    return [_partition(place, lag, owners.get(place), histories.get(place, ())) for place in places]


def _partition(
    place: Place, lag: GroupLag, owner: Member | None, history: Sequence[Sample]
) -> Json:
    one = lag.partitions.get(place)
    return {
        "topic": place[0],
        "partition": place[1],
        "committed": None if one is None else str(one.committed),
        "end": None if one is None else _text(one.end),
        "lag": None if one is None else _text(one.records),
        "lagMs": None if one is None else one.ms,
        "member": None if owner is None else owner.client_id,
        "host": None if owner is None else owner.host,
        "trend": trend_of_records(history),
        "history": _samples(history),
    }


def shown_move(move: Move) -> Json:
    """Return the change of one partition by a reset."""
    return {
        "topic": move.place[0],
        "partition": move.place[1],
        "old": _text(move.old),
        "new": str(move.new),
        "end": str(move.end),
        "records": str(move.end - move.new),
        "limited": move.limited,
    }


def _samples(samples: Sequence[Sample]) -> list[list[int | str]]:
    return [[at_ms, str(value)] for at_ms, value in samples]


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
