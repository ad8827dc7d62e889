"""Members and assignments of groups, from the answers of each protocol.

    classic     DescribeGroups          the assignment is in bytes of the client
    consumer    ConsumerGroupDescribe   KIP-848
    share       ShareGroupDescribe      KIP-932
    streams     StreamsGroupDescribe    KIP-1071: tasks, which read the topics of a sub-topology

Source: Kafka `DescribeConsumerGroupsHandler`, `ConsumerProtocol`, `DescribeStreamsGroupsHandler`.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.runtime.consumer_groups.groups import (
    CLASSIC,
    CONSUMER,
    SHARE,
    STREAMS,
    Described,
    Member,
)
from duolog.runtime.consumer_groups.metadata import Place

_CONSUMER_TYPE: Final = "consumer"
_ASSIGNMENT_VERSIONS: Final = 3
"""The newest version of a classic assignment; later ones only add fields at the end."""


class Question(NamedTuple):
    """The request that describes groups of one protocol.

    Attributes:
        read: returns a group of its response.
    """

    key: int
    newest: int
    names: str
    read: Callable[[Any], Described]


def ensure_no_error(code: int, message: str | None, doing: str) -> None:
    """Return if an error code is 0.

    Raises:
        KafkaError: it is not.
    """
    if code:
        name = ErrorCode(code).name
        raise KafkaError(
            f"could not {doing}", code=int(code), detail=f"{name}: {message}" if message else name
        )


def _classic(group: Any) -> Described:
    ensure_no_error(group.error_code, None, f'describe group "{group.group_id}"')
    consumers = group.protocol_type == _CONSUMER_TYPE
    return Described(
        group.group_id,
        group.group_state,
        CLASSIC,
        group.protocol_data,
        None,
        tuple(
            Member(
                member.member_id,
                getattr(member, "group_instance_id", None) or "",
                member.client_id,
                member.client_host.lstrip("/"),
                assignment_of(member.member_assignment) if consumers else (),
            )
            for member in group.members
        ),
    )


def assignment_of(data: bytes) -> tuple[Place, ...]:
    """Return the partitions of a classic assignment; none if the bytes are not one.

    Example:
        >>> of_a = bytes.fromhex("0000 00000001 000161 00000002 00000000 00000003 ffffffff")
        >>> assignment_of(of_a), assignment_of(b"of connect")
        ((('a', 0), ('a', 3)), ())
    """
    if not data:
        return ()
    from kio.serial import entity_reader  # noqa: PLC0415 - it loads asyncio

    version = min(int.from_bytes(data[:2]), _ASSIGNMENT_VERSIONS)
    module = import_module(f"kio.schema.consumer_protocol_assignment.v{version}.data")
    try:
        found, _ = entity_reader(module.ConsumerProtocolAssignment)(bytes(data), 2)
    except Exception:  # noqa: BLE001 - kio raises errors of any kind for bytes of a client
        return ()
    return _places((one.topic, one.partitions) for one in found.assigned_partitions)


def _modern(protocol: str) -> Callable[[Any], Described]:
    """Return the reader of groups that a broker assigns."""

    def read(group: Any) -> Described:
        ensure_no_error(group.error_code, group.error_message, f'describe group "{group.group_id}"')
        return Described(
            group.group_id,
            group.group_state,
            protocol,
            group.assignor_name,
            group.group_epoch,
            tuple(
                Member(
                    member.member_id,
                    getattr(member, "instance_id", None) or "",
                    member.client_id,
                    member.client_host.lstrip("/"),
                    _places(
                        (one.topic_name, one.partitions)
                        for one in member.assignment.topic_partitions
                    ),
                    _subscribed(member),
                )
                for member in group.members
            ),
        )

    return read


def _subscribed(member: Any) -> tuple[str, ...]:
    expression = getattr(member, "subscribed_topic_regex", None)
    return (*sorted(member.subscribed_topic_names), *([expression] if expression else ()))


def _streams(group: Any) -> Described:
    ensure_no_error(group.error_code, group.error_message, f'describe group "{group.group_id}"')
    subtopologies = () if group.topology is None else group.topology.subtopologies or ()
    topics = {
        one.subtopology_id: (
            *one.source_topics,
            *(topic.name for topic in one.repartition_source_topics),
        )
        for one in subtopologies
    }
    return Described(
        group.group_id,
        group.group_state,
        STREAMS,
        "",
        group.group_epoch,
        tuple(
            Member(
                member.member_id,
                member.instance_id or "",
                member.client_id,
                member.client_host.lstrip("/"),
                _places_of_tasks(member.assignment.active_tasks, topics),
            )
            for member in group.members
        ),
    )


def _places_of_tasks(
    tasks: Iterable[Any], topics: Mapping[str, tuple[str, ...]]
) -> tuple[Place, ...]:
    return _places(
        (topic, task.partitions) for task in tasks for topic in topics.get(task.subtopology_id, ())
    )


def _places(found: Iterable[tuple[str, Iterable[int]]]) -> tuple[Place, ...]:
    return tuple(sorted((topic, number) for topic, numbers in found for number in numbers))


QUESTIONS: Final[Mapping[str, Question]] = {
    CLASSIC: Question(15, 5, "groups", _classic),
    CONSUMER: Question(69, 1, "group_ids", _modern(CONSUMER)),
    SHARE: Question(77, 1, "group_ids", _modern(SHARE)),
    STREAMS: Question(89, 0, "group_ids", _streams),
}
"""By protocol of the group."""
