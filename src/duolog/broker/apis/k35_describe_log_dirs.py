"""DescribeLogDirs, API key 35, versions 1-4.

Behaviour: the one data directory, with the size of each partition that is asked for; partitions
that do not exist are left out. A log directory that went offline is KAFKA_STORAGE_ERROR.

v2  flexible       v3 error at the top       v4 size of the volume and what is free on it

Source: Kafka `ReplicaManager.describeLogDirs`; KIP-113, KIP-827.
"""

import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.broker.topics.topics import Partition, Topic
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.describe_log_dirs.v1.request import DescribeLogDirsRequest as Oldest
    from kio.schema.describe_log_dirs.v4.request import DescribeLogDirsRequest as Newest


(_CLUSTER,) = checks_of(35)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    if not _CLUSTER.allows(context):
        context.reply({"error_code": _CLUSTER.code, "results": []})
        return
    broker = context.broker
    asked: Iterable[tuple[Topic | None, Iterable[int] | None]]
    if request.topics is None:
        asked = [(topic, None) for topic in broker.topics]
    else:
        asked = [(broker.topics.get(topic.topic), topic.partitions) for topic in request.topics]
    topics: list[bytes] = []

    def describe(item: tuple[Topic | None, Iterable[int] | None]) -> None:
        topic, indexes = item
        if topic is None:
            return
        some = (topic.partition(index) for index in indexes) if indexes is not None else None
        chosen = topic.partitions if some is None else some
        rows = [_row(found) for found in chosen if found is not None]
        if rows:
            row = {"name": topic.name, "partitions": rows}
            topics.append(context.encode_item("results.topics", row))

    def finish() -> None:
        context.reply({"results": [_result(context, topics)]})

    work_in_slices(context, asked, describe, finish)


def _row(partition: Partition) -> dict[str, object]:
    return {
        "partition_index": partition.index,
        "partition_size": 0 if partition.refused else partition.log.size_bytes,
        "offset_lag": 0,
        "is_future_key": False,
    }


def _result(context: RequestContext, topics: list[bytes]) -> dict[str, object]:
    broker = context.broker
    result: dict[str, object] = {"log_dir": broker.data_dir}
    if broker.rounds.failure is not None:
        return {**result, "error_code": ErrorCode.KAFKA_STORAGE_ERROR}
    volume = shutil.disk_usage(broker.data_dir)
    return {
        **result,
        "topics": topics,
        "total_bytes": volume.total,
        "usable_bytes": volume.free,
    }


API = Api(key=35, name="DescribeLogDirs", versions=range(1, 5), handle=handle, looks=True)
