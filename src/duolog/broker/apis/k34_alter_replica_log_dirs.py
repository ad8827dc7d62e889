"""AlterReplicaLogDirs, API key 34, versions 1-2.

Behaviour: there is one log directory. A replica can be moved to where it is; any other directory is
LOG_DIR_NOT_FOUND.

v2  flexible

Source: Kafka `ReplicaManager.alterReplicaLogDirs`, KIP-113.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.alter_replica_log_dirs.v1.request import AlterReplicaLogDirsRequest as Oldest
    from kio.schema.alter_replica_log_dirs.v2.request import AlterReplicaLogDirsRequest as Newest


(_CLUSTER,) = checks_of(34)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    allowed = _CLUSTER.allows(context)
    results: dict[str, list[dict[str, int]]] = defaultdict(list)
    for directory in request.dirs:
        for topic in directory.topics:
            results[topic.name] += [
                {
                    "partition_index": index,
                    "error_code": _code(context, directory.path, topic.name, index)
                    if allowed
                    else _CLUSTER.code,
                }
                for index in topic.partitions
            ]
    context.reply(
        {
            "results": [
                {"topic_name": name, "partitions": partitions}
                for name, partitions in results.items()
            ]
        }
    )


def _code(context: RequestContext, path: str, topic: str, index: int) -> int:
    if path != context.broker.data_dir:
        return ErrorCode.LOG_DIR_NOT_FOUND
    try:
        context.broker.topics.partition(topic, index)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


API = Api(key=34, name="AlterReplicaLogDirs", versions=range(1, 3), handle=handle)
