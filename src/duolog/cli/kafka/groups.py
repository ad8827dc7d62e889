"""Read and change consumer groups: their list, members and offsets."""

from typing import Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, ConsumerGroupListing

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import Offsets, Place, like, read_metadata
from duolog.core.counts import counted
from duolog.core.errors import KafkaError

_NON_EMPTY_GROUP: Final = 68
_GROUP_ID_NOT_FOUND: Final = 69


def read_groups(client: AdminClient, cluster: Cluster) -> dict[str, ConsumerGroupListing]:
    """Return all groups by name.

    Raises:
        KafkaError: no broker answers, or one refuses.
    """
    with cluster.errors("read the list of groups"):
        listed = cluster.ask(client.list_consumer_groups().result)
        for error in listed.errors or ():
            # One broker of several did not answer: the client returns errors of two kinds.
            raise error if isinstance(error, KafkaException) else KafkaException(error)
    return {group.group_id: group for group in listed.valid or ()}


def describe_group(client: AdminClient, cluster: Cluster, group: str) -> ConsumerGroupDescription:
    """Return the state and members of a group.

    Raises:
        KafkaError: the group does not exist.
    """
    known = read_groups(client, cluster)
    if group not in known:
        raise KafkaError(
            f'group "{group}" does not exist',
            code=_GROUP_ID_NOT_FOUND,
            hint=f"{like(group, known)}List the groups with `duolog groups list`.",
        )
    with cluster.errors(f'describe group "{group}"'):
        described: ConsumerGroupDescription = cluster.first_result(
            client.describe_consumer_groups([group]).values()
        )
    return described


def ensure_idle(client: AdminClient, cluster: Cluster, group: str) -> None:
    """Ensure that a group has no members.

    Raises:
        KafkaError: it has members (the error names them), or it does not exist.
    """
    members = describe_group(client, cluster, group).members
    if members:
        names = sorted({f"{member.client_id} on {member.host.lstrip('/')}" for member in members})
        raise KafkaError(
            f'group "{group}" has {counted(len(members), "member")}',
            code=_NON_EMPTY_GROUP,
            detail=", ".join(names),
            hint="Stop them first. A member that was killed stays in the group until its "
            "session timeout.",
        )


def committed_offsets(client: AdminClient, cluster: Cluster, group: str) -> Offsets:
    """Return the committed offset of each partition that has one."""
    with cluster.errors(f'read the offsets of group "{group}"'):
        asked = [ConsumerGroupTopicPartitions(group)]
        found = cluster.first_result(client.list_consumer_group_offsets(asked).values())
    return {
        (place.topic, place.partition): place.offset
        for place in found.topic_partitions or ()
        if place.offset >= 0
    }


def commit_offsets(client: AdminClient, cluster: Cluster, group: str, offsets: Offsets) -> None:
    """Commit offsets for a group without members.

    Raises:
        KafkaError: an offset is refused, or a member has joined in the meantime.
    """
    places = [TopicPartition(*place, offset) for place, offset in sorted(offsets.items())]
    doing = f'reset group "{group}"'
    with cluster.errors(doing):
        request = [ConsumerGroupTopicPartitions(group, places)]
        done = cluster.first_result(client.alter_consumer_group_offsets(request).values())
    for place in done.topic_partitions or ():
        if place.error is not None:
            raise KafkaError(
                f'could not {doing} at "{place.topic}-{place.partition}"',
                code=place.error.code(),
                detail=f"{place.error.name()}: {place.error.str()}",
            )


def partitions_of_topics(client: AdminClient, cluster: Cluster) -> set[Place]:
    """Return every partition that has a leader."""
    metadata = read_metadata(client, cluster)
    return {
        (name, number)
        for name, topic in metadata.topics.items()
        for number, partition in topic.partitions.items()
        if partition.leader >= 0
    }
