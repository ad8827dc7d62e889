"""A request for each row of the table: it names an open resource and a secret one.

`SAMPLES` has, by API key and number of the row, what makes the fields of a request in any version
for some kinds (`open`, `secret`). APIs that name one resource take the last kind.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from duolog.protocol.error_codes import ErrorCode
from unit.broker.authorization.world import World, committed, joining

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
Make = Callable[[World, int, Sequence[str]], dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """A request for one row.

    Args:
        key: the API key.
        make: makes the fields for a version and kinds.
        first: the first version in which the row applies; `last` is the last one.
        name: the secret resource, if it is not the usual one of its type.
        item: what the answer names, if it is not the secret resource.
        others: the code of the open items while the secret one is forbidden.
    """

    key: int
    make: Make
    first: int = 0
    last: int = 99
    name: str | None = None
    item: str | None = None
    others: int = 0


def _groups(kinds: Sequence[str]) -> list[str]:
    return [f"{kind}-group" for kind in kinds]


def _group(kinds: Sequence[str]) -> str:
    return f"{kinds[-1]}-group"


def _tx(kinds: Sequence[str]) -> str:
    return f"{kinds[-1]}-tx"


def _produce(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
    batch = world.harness.batch(b"v")
    data = [{"index": 0, "records": batch}]
    topics = [{"name": kind, "partition_data": data} for kind in kinds]
    return {"acks": -1, "timeout": 1000, "topic_data": topics}


def _produce_in_transaction(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
    kind = kinds[-1] if kinds[-1] in world.producers else "open"
    data = [{"index": 0, "records": world.transactional_batch(kind)}]
    topics = [{"name": "open", "partition_data": data}]
    return {
        "transactional_id": _tx(kinds),
        "acks": -1,
        "timeout": 1000,
        "topic_data": topics,
    }


def _fetch(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
    ids = {topic.name: topic.id for topic in world.broker.topics}
    rows = [
        {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": 0,
            "partition_max_bytes": 1 << 20,
        }
    ]
    return {
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [
            {"topic": kind, "topic_id": ids.get(kind), "partitions": rows} for kind in kinds
        ],
    }


def _list_offsets(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    rows = [{"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}]
    return {"topics": [{"name": kind, "partitions": rows} for kind in kinds]}


def _metadata(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [{"name": kind, "topic_id": None} for kind in kinds]
    return {"topics": topics, "allow_auto_topic_creation": False}


def _all_metadata(_: World, version: int, __: Sequence[str]) -> dict[str, Any]:
    return {"topics": None if version else [], "allow_auto_topic_creation": False}


def _creating_metadata(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [{"name": f"{kind}-new", "topic_id": None} for kind in kinds]
    return {"topics": topics, "allow_auto_topic_creation": True}


def _cluster_metadata(_: World, __: int, ___: Sequence[str]) -> dict[str, Any]:
    return {"topics": [], "include_cluster_authorized_operations": True}


def _commit(group_id: Callable[[Sequence[str]], str]) -> Make:
    def make(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
        return {
            "group_id": group_id(kinds),
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": [committed(kind, 7) for kind in kinds],
        }

    return make


def _fetch_offsets(*, topics: bool | None) -> Make:
    """Topics: those of the kinds, all (None), or of the open group (False)."""

    def make(_: World, version: int, kinds: Sequence[str]) -> dict[str, Any]:
        rows = [{"name": kind, "partition_indexes": [0]} for kind in kinds]
        if topics is False:
            rows = [{"name": "open", "partition_indexes": [0]}]
        names = _groups(kinds) if topics is False else ["open-group"]
        asked = None if topics is None else rows
        if version < 8:
            return {"group_id": names[-1], "topics": asked}
        return {
            "groups": [
                {"group_id": name, "member_id": None, "member_epoch": -1, "topics": asked}
                for name in names
            ]
        }

    return make


def _coordinators(key_type: int, name: str) -> Make:
    def make(_: World, version: int, kinds: Sequence[str]) -> dict[str, Any]:
        keys = [f"{kind}-{name}" for kind in kinds]
        one = {"key": keys[-1]} if version < 4 else {"coordinator_keys": keys}
        return {"key_type": key_type, **one}

    return make


def _join(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    return {
        "group_id": _group(kinds),
        "session_timeout": 10_000,
        "rebalance_timeout": 10_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }


def _member(_: World, version: int, kinds: Sequence[str]) -> dict[str, Any]:
    return {
        "group_id": _group(kinds),
        "generation_id": 1,
        "member_id": "m",
        "members": [{"member_id": "m", "group_instance_id": None, "reason": None}],
        "assignments": [],
        "protocol_type": "consumer",
        "protocol_name": "range",
    }


def _create_topics(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [
        {
            "name": f"{kind}-new",
            "num_partitions": 1,
            "replication_factor": 1,
            "assignments": [],
            "configs": [],
        }
        for kind in kinds
    ]
    return {"topics": topics, "timeout": 1000}


def _delete_topics(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [{"name": kind, "topic_id": None} for kind in kinds]
    return {"topic_names": list(kinds), "topics": topics, "timeout": 1000}


def _delete_records(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    rows = [{"partition_index": 0, "offset": -1}]
    return {"topics": [{"name": k, "partitions": rows} for k in kinds], "timeout": 1000}


def _init(*, transactional: bool) -> Make:
    def make(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
        return {
            "transactional_id": _tx(kinds) if transactional else None,
            "transaction_timeout": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }

    return make


def _epochs(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    rows = [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]
    return {"topics": [{"topic": kind, "partitions": rows} for kind in kinds]}


def _add_partitions(row: int) -> Make:
    def make(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
        kind = kinds[-1] if row == 0 else "open"
        topics = kinds if row else ["open"]
        return {
            "v3_and_below_transactional_id": f"{kind}-tx",
            **{f"v3_and_below_{k}": v for k, v in world.producer_fields(kind).items()},
            "v3_and_below_topics": [{"name": topic, "partitions": [1]} for topic in topics],
        }

    return make


def _in_transaction(row: int) -> Make:
    """Row 0: the transactional id is secret; 1: the group; 2: a topic."""

    def make(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
        kind = kinds[-1] if row == 0 else "open"
        return {
            "transactional_id": f"{kind}-tx",
            **world.producer_fields(kind),
            "group_id": _group(kinds) if row == 1 else "open-group",
            "generation_id": -1,
            "member_id": "",
            "committed": True,
            "topics": [committed(k, 9) for k in (kinds if row == 2 else ["open"])],
        }

    return make


def _markers(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [{"name": "open", "partition_indexes": [0]}]
    marker = {
        **world.producer_fields("open"),
        "transaction_result": False,
        "topics": topics,
        "coordinator_epoch": 0,
    }
    return {"markers": [marker]}


def _acls(_: World, __: int, ___: Sequence[str]) -> dict[str, Any]:
    filter_ = {
        "resource_type_filter": TOPIC,
        "resource_name_filter": None,
        "pattern_type_filter": 3,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    creation = {
        "resource_type": TOPIC,
        "resource_name": "open",
        "resource_pattern_type": 3,
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return {**filter_, "creations": [creation], "filters": [filter_]}


def _resources(kind: int) -> Make:
    def make(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
        if kind == TOPIC:
            named, config = [(TOPIC, k) for k in kinds], ("retention.ms", "1000")
        elif kind == GROUP:
            named = [(GROUP, name) for name in _groups(kinds)]
            config = ("consumer.session.timeout.ms", "50000")
        else:
            named, config = [(BROKER, "")], ("log.retention.ms", "100000")
        row = {"name": config[0], "config_operation": 0, "value": config[1]}
        rows = [
            {
                "resource_type": number,
                "resource_name": name,
                "configuration_keys": None,
                "configs": [row],
            }
            for number, name in named
        ]
        return {"resources": rows, "validate_only": False}

    return make


def _log_dirs(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [{"name": "open", "partitions": [0]}]
    return {"dirs": [{"path": world.broker.data_dir, "topics": topics}], "topics": None}


def _grow(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [{"name": kind, "count": 5, "assignments": None} for kind in kinds]
    return {"topics": topics, "timeout": 1000, "validate_only": False}


def _elect(_: World, __: int, ___: Sequence[str]) -> dict[str, Any]:
    return {"topic_partitions": [{"topic": "open", "partitions": [0]}], "timeout": 1000}


def _reassign(world: World, _: int, __: Sequence[str]) -> dict[str, Any]:
    rows = [{"partition_index": 0, "replicas": [world.broker.node_id]}]
    return {"topics": [{"name": "open", "partitions": rows}], "timeout": 1000}


def _delete_offsets(row: int) -> Make:
    def make(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
        topics = [{"name": k, "partitions": [{"partition_index": 0}]} for k in kinds]
        return {"group_id": "open-group" if row else _group(kinds), "topics": topics}

    return make


def _quotas(_: World, __: int, ___: Sequence[str]) -> dict[str, Any]:
    entity = [{"entity_type": "user", "entity_name": "a"}]
    ops = [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}]
    return {"entries": [{"entity": entity, "ops": ops}], "components": [], "strict": False}


def _users(_: World, __: int, ___: Sequence[str]) -> dict[str, Any]:
    # Kafka does not answer a client without the right that names no user.
    return {"users": [{"name": "a"}]}


def _quorum(_: World, __: int, ___: Sequence[str]) -> dict[str, Any]:
    partitions = [{"partition_index": 0}]
    return {"topics": [{"topic_name": "__cluster_metadata", "partitions": partitions}]}


def _cluster(_: World, __: int, ___: Sequence[str]) -> dict[str, Any]:
    return {"include_cluster_authorized_operations": True}


def _producers(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
    return {"topics": [{"name": kind, "partition_indexes": [0]} for kind in kinds]}


def _transactions(*, all_: bool) -> Make:
    def make(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
        names = [f"{kind}-tx" for kind in kinds] if all_ else ["open-tx"]
        return {"transactional_ids": names}

    return make


def _heartbeat(row: int) -> Make:
    def make(_: World, __: int, kinds: Sequence[str]) -> dict[str, Any]:
        if row == 0:
            return joining(f"{kinds[-1]}-new-cg", subscribed_topic_names=["open"])
        if row == 1:
            return joining("new-cg", subscribed_topic_names=list(kinds))
        return joining("new-cg", subscribed_topic_regex=".*e.*")

    return make


def _plain(**fields: Any) -> Make:
    return lambda _, __, ___: fields


def _group_names(field: str, suffix: str = "group") -> Make:
    return lambda _, __, kinds: {field: [f"{kind}-{suffix}" for kind in kinds]}


def _topic_partitions(world: World, _: int, kinds: Sequence[str]) -> dict[str, Any]:
    topics = [{"name": kind} for kind in kinds]
    return {"topics": topics, "response_partition_limit": 1000, "cursor": None}


_NOT_ATTEMPTED = int(ErrorCode.OPERATION_NOT_ATTEMPTED)

SAMPLES: dict[tuple[int, int], Sample] = {
    (0, 0): Sample(0, _produce_in_transaction, first=11),
    (0, 1): Sample(0, _produce),
    (1, 0): Sample(1, _fetch),
    (2, 0): Sample(2, _list_offsets),
    (3, 0): Sample(3, _metadata),
    (3, 1): Sample(3, _all_metadata),
    (3, 2): Sample(3, _creating_metadata, name="secret-new"),
    (3, 3): Sample(3, _cluster_metadata, first=8, last=10),
    (8, 0): Sample(8, _commit(_group)),
    (8, 1): Sample(8, _commit(lambda _: "open-group")),
    (9, 0): Sample(9, _fetch_offsets(topics=False)),
    (9, 1): Sample(9, _fetch_offsets(topics=True)),
    (9, 2): Sample(9, _fetch_offsets(topics=None), first=2),
    (10, 0): Sample(10, _coordinators(0, "group")),
    (10, 1): Sample(10, _coordinators(1, "tx"), first=1),
    (11, 0): Sample(11, _join),
    (12, 0): Sample(12, _member),
    (13, 0): Sample(13, _member),
    (14, 0): Sample(14, _member),
    (15, 0): Sample(15, _group_names("groups")),
    (16, 0): Sample(16, _plain(states_filter=[], types_filter=[])),
    (19, 0): Sample(19, _create_topics, name="secret-new"),
    (19, 1): Sample(19, _create_topics, first=5, name="secret-new"),
    (20, 0): Sample(20, _delete_topics),
    (20, 1): Sample(20, _delete_topics),
    (21, 0): Sample(21, _delete_records),
    (22, 0): Sample(22, _init(transactional=True)),
    (22, 1): Sample(22, _init(transactional=False)),
    (23, 0): Sample(23, _epochs),
    (24, 0): Sample(24, _add_partitions(0)),
    (24, 1): Sample(24, _add_partitions(1), others=_NOT_ATTEMPTED),
    (25, 0): Sample(25, _in_transaction(0)),
    (25, 1): Sample(25, _in_transaction(1)),
    (26, 0): Sample(26, _in_transaction(0)),
    (27, 0): Sample(27, _markers),
    (28, 0): Sample(28, _in_transaction(0)),
    (28, 1): Sample(28, _in_transaction(1)),
    # The group is not part of the transaction; from version 5 on it joins.
    (28, 2): Sample(28, _in_transaction(2), others=int(ErrorCode.INVALID_TXN_STATE)),
    (29, 0): Sample(29, _acls),
    (30, 0): Sample(30, _acls),
    (31, 0): Sample(31, _acls),
    **{
        (key, row): Sample(key, _resources(kind))
        for key in (32, 33, 44)
        for row, kind in enumerate((TOPIC, GROUP, BROKER))
    },
    (34, 0): Sample(34, _log_dirs),
    (35, 0): Sample(35, _log_dirs, first=3),
    (37, 0): Sample(37, _grow),
    (42, 0): Sample(42, _group_names("groups_names")),
    (43, 0): Sample(43, _elect),
    (45, 0): Sample(45, _reassign),
    (46, 0): Sample(46, _plain(timeout=1000, topics=None)),
    (47, 0): Sample(47, _delete_offsets(0)),
    (47, 1): Sample(47, _delete_offsets(1)),
    (48, 0): Sample(48, _quotas),
    (49, 0): Sample(49, _quotas),
    (50, 0): Sample(50, _users),
    (51, 0): Sample(51, _plain(deletions=[{"name": "a", "mechanism": 1}], upsertions=[])),
    (55, 0): Sample(55, _quorum),
    (60, 0): Sample(60, _cluster),
    (61, 0): Sample(61, _producers),
    (31_000, 0): Sample(31_000, _plain(limit=10)),
    (65, 0): Sample(65, _transactions(all_=True)),
    (65, 1): Sample(65, _transactions(all_=False)),
    (66, 0): Sample(66, _plain(state_filters=[], producer_id_filters=[], duration_filter=-1)),
    (68, 0): Sample(68, _heartbeat(0), name="secret-new-cg"),
    (68, 1): Sample(68, _heartbeat(1)),
    (68, 2): Sample(68, _heartbeat(2), first=1),
    (69, 0): Sample(69, _group_names("group_ids", "cg"), name="secret-cg"),
    (69, 1): Sample(69, _group_names("group_ids", "cg"), item="secret-cg"),
    (74, 0): Sample(74, _plain(resource_types=[])),
    (75, 0): Sample(75, _topic_partitions),
    (75, 1): Sample(75, _plain(topics=[], response_partition_limit=1000, cursor=None)),
}
