"""Every API with the rights that it needs: handlers check by these rows, and a page shows them.

`checks_of` returns the rows of one API in the order in which a handler asks. An API that every
client may use has none. `tests/unit/broker/authorization` walks the table: each row is denied
alone, through real frames.

Source: Kafka 4.1 `KafkaApis`, `ControllerApis`, `AclApis`, `ConfigHelper`.
"""

from typing import Final

from duolog.broker.authorization.checks import Check, Effect, Instead, Named
from duolog.security.authorization.operations import Operation, ResourceType

_REQUEST, _ITEM, _LEFT_OUT, _PART = Effect.REQUEST, Effect.ITEM, Effect.LEFT_OUT, Effect.PART
_THE_CLUSTER: Final = "the cluster"


def _cluster(operation: Operation, effect: Effect = _REQUEST, *, note: str = "") -> Check:
    return Check(operation, ResourceType.CLUSTER, _THE_CLUSTER, effect, note=note)


def _topic(
    operation: Operation,
    named_by: str,
    effect: Effect = _ITEM,
    *instead: Instead,
    note: str = "",
) -> Check:
    return Check(operation, ResourceType.TOPIC, named_by, effect, instead, note)


def _group(
    operation: Operation,
    named_by: str,
    effect: Effect = _REQUEST,
    *instead: Instead,
    note: str = "",
) -> Check:
    return Check(operation, ResourceType.GROUP, named_by, effect, instead, note)


def _transactional_id(
    operation: Operation, named_by: str, effect: Effect = _REQUEST, *, note: str = ""
) -> Check:
    return Check(operation, ResourceType.TRANSACTIONAL_ID, named_by, effect, note=note)


def _or_cluster(operation: Operation) -> Instead:
    return Instead(operation, ResourceType.CLUSTER, Named.CLUSTER)


_MEMBER: Final = (_group(Operation.READ, "group id"),)
_CONFIG_KINDS: Final = ("topic", "group", "broker, logger or client metrics")


def _configs(operation: Operation) -> tuple[Check, ...]:
    topic, group, others = _CONFIG_KINDS
    return (
        _topic(operation, f"resource of type {topic}"),
        _group(operation, f"resource of type {group}", _ITEM),
        _cluster(operation, _ITEM, note=f"resources of type {others}"),
    )


_DELETES_ANY: Final = _or_cluster(Operation.DELETE)

TABLE: Final[dict[int, tuple[Check, ...]]] = {
    0: (  # Produce
        _transactional_id(
            Operation.WRITE, "transactional id", note="if a batch belongs to a transaction"
        ),
        _topic(Operation.WRITE, "topic name"),
    ),
    1: (_topic(Operation.READ, "topic name or id", note="asked again when rights change"),),
    2: (_topic(Operation.DESCRIBE, "topic name"),),
    3: (  # Metadata
        _topic(Operation.DESCRIBE, "topic name or id", note="by id, the name is left out"),
        _topic(Operation.DESCRIBE, "every topic, if none is named", _LEFT_OUT),
        _topic(
            Operation.CREATE,
            "topic name",
            _ITEM,
            _or_cluster(Operation.CREATE),
            note="if the topic is missing and would be created",
        ),
        _cluster(Operation.DESCRIBE, _PART, note="the authorized operations are 0"),
    ),
    8: (  # OffsetCommit
        _group(Operation.READ, "group id"),
        _topic(Operation.READ, "topic name"),
    ),
    9: (  # OffsetFetch
        _group(Operation.DESCRIBE, "group id", _ITEM),
        _topic(Operation.DESCRIBE, "topic name"),
        _topic(Operation.DESCRIBE, "every topic, if none is named", _LEFT_OUT),
    ),
    10: (  # FindCoordinator
        _group(Operation.DESCRIBE, "key of type 0", _ITEM),
        _transactional_id(Operation.DESCRIBE, "key of type 1", _ITEM),
    ),
    11: _MEMBER,
    12: _MEMBER,
    13: _MEMBER,
    14: _MEMBER,
    15: (_group(Operation.DESCRIBE, "group id", _ITEM),),
    16: (_group(Operation.DESCRIBE, "every group", _LEFT_OUT, _or_cluster(Operation.DESCRIBE)),),
    17: (),
    18: (),
    19: (  # CreateTopics
        _topic(Operation.CREATE, "topic name", _ITEM, _or_cluster(Operation.CREATE)),
        _topic(
            Operation.DESCRIBE_CONFIGS,
            "topic name",
            _PART,
            note="counts and configs are left out, with an error of their own",
        ),
    ),
    20: (  # DeleteTopics
        _topic(Operation.DESCRIBE, "topic name", _ITEM, _DELETES_ANY),
        _topic(
            Operation.DELETE,
            "topic name or id",
            _ITEM,
            _DELETES_ANY,
            note="by id, the name is left out without DESCRIBE",
        ),
    ),
    21: (_topic(Operation.DELETE, "topic name"),),
    22: (  # InitProducerId
        _transactional_id(Operation.WRITE, "transactional id", note="if there is one"),
        Check(
            Operation.IDEMPOTENT_WRITE,
            ResourceType.CLUSTER,
            _THE_CLUSTER,
            _REQUEST,
            (Instead(Operation.WRITE, ResourceType.TOPIC, Named.ANY),),
            note="without a transactional id",
        ),
    ),
    23: (_topic(Operation.DESCRIBE, "topic name", _ITEM, _or_cluster(Operation.CLUSTER_ACTION)),),
    24: (  # AddPartitionsToTxn
        _transactional_id(Operation.WRITE, "transactional id"),
        _topic(Operation.WRITE, "topic name", note="the other partitions are not attempted"),
    ),
    25: (  # AddOffsetsToTxn
        _transactional_id(Operation.WRITE, "transactional id"),
        _group(Operation.READ, "group id"),
    ),
    26: (_transactional_id(Operation.WRITE, "transactional id"),),
    27: (  # WriteTxnMarkers
        Check(
            Operation.ALTER,
            ResourceType.CLUSTER,
            _THE_CLUSTER,
            _REQUEST,
            (_or_cluster(Operation.CLUSTER_ACTION),),
        ),
    ),
    28: (  # TxnOffsetCommit
        _transactional_id(Operation.WRITE, "transactional id"),
        _group(Operation.READ, "group id"),
        _topic(Operation.READ, "topic name"),
    ),
    29: (_cluster(Operation.DESCRIBE),),
    30: (_cluster(Operation.ALTER),),
    31: (_cluster(Operation.ALTER),),
    32: _configs(Operation.DESCRIBE_CONFIGS),
    33: _configs(Operation.ALTER_CONFIGS),
    34: (_cluster(Operation.ALTER),),
    35: (_cluster(Operation.DESCRIBE, note="before version 3, the answer is empty"),),
    36: (),
    37: (_topic(Operation.ALTER, "topic name"),),
    42: (_group(Operation.DELETE, "group id", _ITEM),),
    43: (_cluster(Operation.ALTER),),
    44: _configs(Operation.ALTER_CONFIGS),
    45: (_cluster(Operation.ALTER),),
    46: (_cluster(Operation.DESCRIBE),),
    47: (  # OffsetDelete
        _group(Operation.DELETE, "group id"),
        _topic(Operation.READ, "topic name"),
    ),
    48: (_cluster(Operation.DESCRIBE_CONFIGS),),
    49: (_cluster(Operation.ALTER_CONFIGS),),
    50: (_cluster(Operation.DESCRIBE),),
    51: (_cluster(Operation.ALTER),),
    55: (_cluster(Operation.DESCRIBE),),
    60: (_cluster(Operation.DESCRIBE, _PART, note="the authorized operations are 0"),),
    61: (_topic(Operation.READ, "topic name"),),
    65: (  # DescribeTransactions
        _transactional_id(Operation.DESCRIBE, "transactional id", _ITEM),
        _topic(Operation.DESCRIBE, "every topic of the transaction", _LEFT_OUT),
    ),
    66: (_transactional_id(Operation.DESCRIBE, "every transactional id", _LEFT_OUT),),
    68: (  # ConsumerGroupHeartbeat
        _group(Operation.READ, "group id"),
        _topic(Operation.DESCRIBE, "topic name", _REQUEST),
        _topic(
            Operation.DESCRIBE,
            "every topic that the regular expression matches",
            _LEFT_OUT,
            note="not assigned to the group",
        ),
    ),
    69: (  # ConsumerGroupDescribe
        _group(Operation.DESCRIBE, "group id", _ITEM),
        _topic(
            Operation.DESCRIBE,
            "every topic of an assignment",
            _ITEM,
            note="the group fails, and its members are left out",
        ),
    ),
    74: (_cluster(Operation.DESCRIBE_CONFIGS),),
    75: (  # DescribeTopicPartitions
        _topic(Operation.DESCRIBE, "topic name"),
        _topic(Operation.DESCRIBE, "every topic, if none is named", _LEFT_OUT),
    ),
    31_000: (_cluster(Operation.DESCRIBE),),  # DescribeClients
}


TRANSACTIONAL_RECORDS, WRITE_RECORDS = TABLE[0]
(READ_RECORDS,) = TABLE[1]


def checks_of(api_key: int) -> tuple[Check, ...]:
    """Return the rights that an API needs, in the order in which its handler asks."""
    return TABLE[api_key]
