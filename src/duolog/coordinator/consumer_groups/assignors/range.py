"""The range assignor: each topic is cut into ranges, one for each member that reads it.

Members are in the same order for every topic, so that members of topics with equally many
partitions get the same partitions of each. Static members come first, by instance id: who comes
back gets what it had.

Source: Kafka `RangeAssignor`.
"""

from collections.abc import Mapping
from uuid import UUID

from duolog.coordinator.consumer_groups.assignors.spec import MemberSpec
from duolog.coordinator.consumer_groups.records import Assignment


def assign_range(
    members: Mapping[str, MemberSpec], partitions: Mapping[UUID, int]
) -> dict[str, Assignment]:
    """Return what each member shall own; `partitions` counts the partitions of each topic."""
    found: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in members}
    ordered = sorted(members, key=lambda member_id: _place(member_id, members[member_id]))
    for topic_id in {topic_id for spec in members.values() for topic_id in spec.topics}:
        readers = [member_id for member_id in ordered if topic_id in members[member_id].topics]
        size, extra = divmod(partitions[topic_id], len(readers))
        start = 0
        for place, member_id in enumerate(readers):
            end = start + size + (place < extra)
            if start < end:
                found[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(found)


def _place(member_id: str, spec: MemberSpec) -> tuple[bool, str]:
    return spec.instance_id is None, spec.instance_id or member_id
