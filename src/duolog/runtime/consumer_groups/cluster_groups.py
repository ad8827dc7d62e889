"""The groups of a cluster: list, members, committed offsets, and changes of them.

Every coordinator is asked for its own groups. Nothing is kept between two calls but connections.

Source: Kafka `Admin.listGroups`, `alterConsumerGroupOffsets`, `deleteConsumerGroupOffsets`; KIP-518
for states, KIP-709 for the offsets of many groups in one request, KIP-848, KIP-932, KIP-1071.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from duolog.core.errors import DuologError, KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.runtime.consumer_groups.connections import Connections
from duolog.runtime.consumer_groups.descriptions import QUESTIONS, ensure_no_error
from duolog.runtime.consumer_groups.groups import CLASSIC, SHARE, Described, Listed
from duolog.runtime.consumer_groups.metadata import Place

Offsets = dict[Place, int]

_LIST: Final = (16, 5)
_OFFSETS: Final = (9, 9)
_OFFSETS_OF_MANY: Final = 8
_SHARE_OFFSETS: Final = (90, 1)
_COMMIT: Final = (8, 8)
_DELETE: Final = (42, 2)
_DELETE_OFFSETS: Final = (47, 0)
_NO_GENERATION: Final = -1


class GroupList(NamedTuple):
    """The groups of a cluster.

    Attributes:
        problems: the reason for each coordinator that has not answered.
    """

    groups: dict[str, Listed]
    problems: list[str]


class ClusterGroups:
    """The groups of one cluster. Threads: any; calls block."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def listed(self) -> GroupList:
        """Return all groups by name; brokers that do not answer are named.

        Raises:
            BrokerUnavailable: no broker answers.
        """
        found: dict[str, Listed] = {}
        problems: list[str] = []
        for address in self._connections.metadata().nodes.values():
            try:
                answer = self._connections.ask(address, *_LIST)
                ensure_no_error(answer.error_code, None, f"list the groups of {address}")
            except DuologError as error:
                problems.append(error.one_line())
                continue
            for group in answer.groups:
                found[group.group_id] = Listed(
                    group.group_id,
                    getattr(group, "group_state", ""),
                    getattr(group, "group_type", "").lower() or CLASSIC,
                    group.protocol_type,
                    address,
                )
        return GroupList(found, problems)

    def described(self, groups: Collection[Listed]) -> dict[str, Described]:
        """Return groups with their members; those that have gone meanwhile are missing.

        Raises:
            KafkaError: a broker refuses.
            BrokerUnavailable: one does not answer.
        """
        found: dict[str, Described] = {}
        for (address, protocol), names in _by_question(groups).items():
            question = QUESTIONS[protocol]
            fields = {question.names: names, "include_authorized_operations": False}
            answer = self._connections.ask(address, question.key, question.newest, **fields)
            for group in answer.groups:
                if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                    continue
                found[group.group_id] = question.read(group)
        return found

    def committed(self, groups: Collection[Listed]) -> dict[str, Offsets]:
        """Return the committed offset of each partition that has one, by group.

        Of a share group it is the first offset that is not yet acknowledged (KIP-932). Raises as
        `described`.
        """
        found: dict[str, Offsets] = {}
        for address, names in _by_address(one for one in groups if one.protocol == SHARE).items():
            wanted = [{"group_id": name, "topics": None} for name in names]
            answer = self._connections.ask(address, *_SHARE_OFFSETS, groups=wanted)
            for group in answer.groups:
                ensure_no_error(group.error_code, group.error_message, _reading(group.group_id))
                found[group.group_id] = _share_offsets(group)
        for address, names in _by_address(one for one in groups if one.protocol != SHARE).items():
            found |= self._committed(address, names)
        return found

    def _committed(self, address: str, names: list[str]) -> dict[str, Offsets]:
        if not self._connections.serves(address, _OFFSETS[0], _OFFSETS_OF_MANY):
            found = {}
            for name in names:
                answer = self._connections.ask(
                    address, *_OFFSETS, group_id=name, topics=None, require_stable=False
                )
                ensure_no_error(answer.error_code, None, _reading(name))
                found[name] = _offsets(answer.topics)
            return found
        wanted = [{"group_id": name, "topics": None} for name in names]
        answer = self._connections.ask(address, *_OFFSETS, groups=wanted, require_stable=False)
        found = {}
        for group in answer.groups:
            if group.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                ensure_no_error(group.error_code, None, _reading(group.group_id))
                found[group.group_id] = _offsets(group.topics)
        return found

    def commit(self, group: Listed, offsets: Offsets) -> None:
        """Commit offsets for a group without members.

        Raises:
            KafkaError: an offset is refused, or a member has joined.
        """
        doing = f'reset group "{group.name}"'
        answer = self._connections.ask(
            group.coordinator,
            *_COMMIT,
            group_id=group.name,
            generation_id_or_member_epoch=_NO_GENERATION,
            member_id="",
            topics=[
                {
                    "name": topic,
                    "partitions": [
                        {
                            "partition_index": number,
                            "committed_offset": offset,
                            "committed_metadata": "",
                        }
                        for number, offset in partitions
                    ],
                }
                for topic, partitions in _by_topic(offsets)
            ],
        )
        for topic in answer.topics:
            for row in topic.partitions:
                ensure_no_error(
                    row.error_code, None, f"{doing} at {topic.name}-{row.partition_index}"
                )

    def delete(self, group: Listed) -> None:
        """Delete a group without members, and its offsets.

        Raises:
            KafkaError: it has members, or is gone.
        """
        answer = self._connections.ask(group.coordinator, *_DELETE, groups_names=[group.name])
        for row in answer.results:
            ensure_no_error(row.error_code, None, f'delete group "{group.name}"')

    def delete_offsets(self, group: Listed, places: Collection[Place]) -> None:
        """Delete the committed offsets of partitions to which no member is subscribed.

        Raises:
            KafkaError: a member is subscribed to a topic, or the group is gone.
        """
        doing = f'delete offsets of group "{group.name}"'
        answer = self._connections.ask(
            group.coordinator,
            *_DELETE_OFFSETS,
            group_id=group.name,
            topics=[
                {
                    "name": topic,
                    "partitions": [{"partition_index": number} for number, _ in partitions],
                }
                for topic, partitions in _by_topic(dict.fromkeys(places, 0))
            ],
        )
        ensure_no_error(answer.error_code, None, doing)
        for topic in answer.topics:
            for row in topic.partitions:
                ensure_no_error(
                    row.error_code, None, f"{doing} at {topic.name}-{row.partition_index}"
                )


def _reading(name: str) -> str:
    return f'read the offsets of group "{name}"'


def _offsets(topics: Iterable[Any]) -> Offsets:
    return {
        (topic.name, row.partition_index): row.committed_offset
        for topic in topics
        for row in topic.partitions
        if row.committed_offset >= 0 and not row.error_code
    }


def _share_offsets(group: Any) -> Offsets:
    return {
        (topic.topic_name, row.partition_index): row.start_offset
        for topic in group.topics
        for row in topic.partitions
        if row.start_offset >= 0 and not row.error_code
    }


def _by_question(groups: Iterable[Listed]) -> Mapping[tuple[str, str], list[str]]:
    found = defaultdict[tuple[str, str], list[str]](list)
    for group in groups:
        if group.protocol not in QUESTIONS:
            raise KafkaError(
                f'group "{group.name}" has a protocol that is not known here',
                code=ErrorCode.UNSUPPORTED_VERSION,
                detail=group.protocol,
            )
        found[group.coordinator, group.protocol].append(group.name)
    return found


def _by_address(groups: Iterable[Listed]) -> Mapping[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for group in groups:
        found[group.coordinator].append(group.name)
    return found


def _by_topic(offsets: Mapping[Place, int]) -> list[tuple[str, list[tuple[int, int]]]]:
    found = defaultdict[str, list[tuple[int, int]]](list)
    for (topic, number), offset in sorted(offsets.items()):
        found[topic].append((number, offset))
    return list(found.items())
