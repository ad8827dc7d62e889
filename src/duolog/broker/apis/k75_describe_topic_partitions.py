"""DescribeTopicPartitions, API key 75, version 0.

Behaviour: topics in the order of their names, at most `response_partition_limit` partitions;
what is left is asked for by the cursor of the answer. No topic named means all. A cursor that names
another topic than those asked for is INVALID_REQUEST. Lists are never null: Java's admin client
fails on null.

Source: Kafka `DescribeTopicPartitionsRequestHandler`, KIP-966.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import authorized_operations
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import InvalidTopic
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.broker.topics.topic_names import check_topic_name
from duolog.broker.topics.topics import Partition, Topic
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.wire import INT16, INT32
from duolog.security.authorization.operations import ResourceType

if TYPE_CHECKING:
    from kio.schema.describe_topic_partitions.v0.request import (
        DescribeTopicPartitionsRequest as Request,
    )

_TOPIC, _EVERY_TOPIC = checks_of(75)
_NO_LEADER: Final = -1


def handle(request: "Request", context: RequestContext) -> None:
    cursor = request.cursor
    topics = context.broker.topics
    named: set[str] = {topic.name for topic in request.topics}
    if cursor is not None and (
        cursor.partition_index < 0 or (named and cursor.topic_name not in named)
    ):
        raise KafkaError(
            f'cursor "{cursor.topic_name}" {cursor.partition_index} is not among what is asked for',
            code=ErrorCode.INVALID_REQUEST,
        )
    first_name = cursor.topic_name if cursor else ""
    limit = context.broker.settings.integer("max.request.partition.size.limit")
    names = sorted(name for name in named or {topic.name for topic in topics} if name >= first_name)
    page = _Page(context, max(1, min(request.response_partition_limit, limit)), named=bool(named))
    first = cursor.partition_index if cursor else 0
    work_in_slices(
        context, names, lambda name: page.add(name, first if name == first_name else 0), page.send
    )


class _Page:
    """An answer that grows until its limit of partitions is reached."""

    def __init__(self, context: RequestContext, limit: int, *, named: bool) -> None:
        self._context = context
        self._named = named
        self._denied_rows: list[bytes] = []
        self._left = limit
        self._rows: list[bytes] = []
        self._next_cursor: dict[str, object] | None = None

    def add(self, name: str, first: int) -> None:
        """Add a topic from its partition `first` on, as far as there is room."""
        if self._next_cursor is not None:
            return
        context = self._context
        if not (_TOPIC if self._named else _EVERY_TOPIC).allows(context, name):
            if self._named:
                row = {"name": name, "error_code": _TOPIC.code}
                self._denied_rows.append(context.encode_item("topics", row))
            return
        topic = context.broker.topics.get(name)
        if topic is None:
            self._rows.append(context.encode_item("topics", _missing_row(name, context)))
            return
        if self._left:
            partitions = topic.partitions[first : first + self._left]
            self._left -= len(partitions)
            self._rows.append(context.encode_item("topics", _row(topic, partitions, context)))
            first += len(partitions)
        elif first == len(topic.partitions):
            return
        if first < len(topic.partitions):
            self._next_cursor = {"topic_name": name, "partition_index": first}

    def send(self) -> None:
        rows = self._rows + self._denied_rows
        self._context.reply({"topics": rows, "next_cursor": self._next_cursor})


def _missing_row(name: str, context: RequestContext) -> dict[str, object]:
    return {
        "name": name,
        "error_code": _missing(name),
        "topic_authorized_operations": authorized_operations(context, ResourceType.TOPIC, name),
    }


def _missing(name: str) -> int:
    try:
        check_topic_name(name)
    except InvalidTopic as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _row(topic: Topic, partitions: list[Partition], context: RequestContext) -> dict[str, object]:
    return {
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.internal,
        "topic_authorized_operations": authorized_operations(
            context, ResourceType.TOPIC, topic.name
        ),
        "partitions": list(_partition_rows(partitions, context)),
    }


def _partition_rows(partitions: list[Partition], context: RequestContext) -> Iterator[bytes]:
    """Yield rows made after two models, which differ only in the index."""
    served, offline = _model(context, served=True), _model(context, served=False)
    for partition in partitions:
        model = served if partition.refused is None else offline
        yield model[: INT16.size] + INT32.pack(partition.index) + model[INT16.size + INT32.size :]


def _model(context: RequestContext, *, served: bool) -> bytes:
    """Return the row of a partition; a damaged one may be led again after it is restored."""
    node_ids = [context.broker.node_id]
    row = {
        "leader_id": node_ids[0] if served else _NO_LEADER,
        "leader_epoch": context.broker.leader_epoch,
        "replica_nodes": node_ids,
        "isr_nodes": node_ids if served else [],
        "eligible_leader_replicas": [] if served else node_ids,
        "last_known_elr": [] if served else node_ids,
        "offline_replicas": [] if served else node_ids,
    }
    return context.encode_item("topics.partitions", row)


API = Api(key=75, name="DescribeTopicPartitions", versions=range(1), handle=handle, looks=True)
