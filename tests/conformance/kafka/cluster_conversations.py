"""Conversations about DeleteRecords, log directories, elections, quotas and the quorum."""

from typing import Any, Final

from conformance.kafka.wire_client import ConnectionClosed, WireClient
from conformance.kafka.wire_helpers import (
    FETCH,
    LIST_OFFSETS,
    PRODUCE,
    batch,
    create_and_wait,
    new_topic,
    plain,
)

SASL_HANDSHAKE, SASL_AUTHENTICATE, DELETE_RECORDS = 17, 36, 21
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS, ALTER_REPLICA_LOG_DIRS = 29, 30, 31, 34
DESCRIBE_LOG_DIRS, ELECT_LEADERS = 35, 43
DESCRIBE_SCRAM_USERS, ALTER_SCRAM_USERS = 50, 51
ALTER_REASSIGNMENTS, LIST_REASSIGNMENTS = 45, 46
DESCRIBE_QUOTAS, ALTER_QUOTAS, DESCRIBE_QUORUM, LIST_RESOURCES = 48, 49, 55, 74
PREFERRED, UNCLEAN = 0, 1
ANYTHING: Final = {"path", "leader_epoch", "log_dir", "total_bytes", "usable_bytes"}


def produce(client: WireClient, topic: str, count: int, *, acks: int = -1) -> Any:
    rows = [{"index": 0, "records": batch(*(b"v%d" % i for i in range(count)))}]
    data = [{"name": topic, "partition_data": rows}]
    return plain(client.ask(PRODUCE, 9, acks=acks, timeout=5000, topic_data=data))


def deleted_records(client: WireClient) -> Any:
    create_and_wait(
        client,
        new_topic("cut_a", 2),
        new_topic("cut_compact", cleanup_policy="compact"),
        new_topic("cut_both", cleanup_policy="compact,delete"),
    )
    for topic in ("cut_a", "cut_compact", "cut_both"):
        produce(client, topic, 5)

    def delete(*rows: tuple[str, int, int], version: int = 2) -> Any:
        topics = [
            {"name": name, "partitions": [{"partition_index": index, "offset": offset}]}
            for name, index, offset in rows
        ]
        answer = plain(client.ask(DELETE_RECORDS, version, topics=topics, timeout=5000))
        return sorted(answer["topics"], key=lambda topic: topic["name"])

    def earliest(topic: str) -> Any:
        asked = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -2}
        topics = [{"name": topic, "partitions": [asked]}]
        answer = client.ask(LIST_OFFSETS, 7, replica_id=-1, isolation_level=0, topics=topics)
        return answer.topics[0].partitions[0].offset

    def fetch(offset: int) -> Any:
        partition = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": offset,
                     "last_fetched_epoch": -1, "log_start_offset": -1, "partition_max_bytes": 9999}  # fmt: skip
        answer = client.ask(
            FETCH, 11, replica_id=-1, max_wait=0, min_bytes=0, max_bytes=9999, isolation_level=0,
            session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
            topics=[{"topic": "cut_a", "partitions": [partition]}],
        )  # fmt: skip
        row = answer.responses[0].partitions[0]
        return row.error_code, row.log_start_offset

    return [
        *(delete(("cut_a", 0, version + 1), version=version) for version in range(3)),
        earliest("cut_a"), fetch(2), fetch(3), fetch(4),
        delete(("cut_a", 0, 2)), delete(("cut_a", 0, 6)), delete(("cut_a", 0, -2)),
        delete(("cut_a", 9, 0)), delete(("nope", 0, 0)), delete(("a/b", 0, 0)),
        delete(("cut_a", 0, -1)), earliest("cut_a"), delete(("cut_a", 0, -1)),
        delete(("cut_a", 1, -1), ("nope", 0, 1), ("cut_compact", 0, 1), ("cut_both", 0, 1)),
        delete(), earliest("cut_compact"), earliest("cut_both"),
    ]  # fmt: skip


def log_dirs(client: WireClient) -> Any:
    create_and_wait(client, new_topic("dirs_a", 2), new_topic("dirs_b"))
    produce(client, "dirs_a", 5)

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: "any" if key in ANYTHING else without(item) for key, item in value.items()}
        return [without(item) for item in value] if isinstance(value, list) else value

    def ask(version: int, **asked: list[int]) -> Any:
        topics = [{"topic": name, "partitions": rows} for name, rows in asked.items()]
        answer = plain(client.ask(DESCRIBE_LOG_DIRS, version, topics=topics))
        for result in answer["results"]:
            for topic in result["topics"]:
                topic["partitions"].sort(key=lambda row: row["partition_index"])
            result["topics"].sort(key=lambda topic: topic["name"])
        return without(answer)

    everything = client.ask(DESCRIBE_LOG_DIRS, 4, topics=None)
    names = {topic.name for result in everything.results for topic in result.topics}
    result = everything.results[0]
    return [
        *(ask(version, dirs_a=[0, 1], dirs_b=[0]) for version in range(1, 5)),
        ask(4, dirs_a=[1]), ask(4, dirs_a=[7], nope=[0]), ask(4),
        names >= {"dirs_a", "dirs_b"},
        result.total_bytes > result.usable_bytes > 0,
        len(everything.results),
    ]  # fmt: skip


OF_ELECTIONS: Final = {"elect_a", "nope"}


def elections(client: WireClient) -> Any:
    create_and_wait(client, new_topic("elect_a", 2))

    def elect(version: int, rows: Any, kind: int = PREFERRED) -> Any:
        topics = None
        if rows is not None:
            topics = [{"topic": name, "partitions": indexes} for name, indexes in rows]
        more = {"election_type": kind} if version else {}
        answer = plain(
            client.ask(ELECT_LEADERS, version, topic_partitions=topics, timeout=5000, **more)
        )
        answer["replica_election_results"] = sorted(
            (row for row in answer["replica_election_results"] if row["topic"] in OF_ELECTIONS),
            key=lambda row: str(row["topic"]),
        )
        return answer

    return [
        *(elect(version, [("elect_a", [0, 1])]) for version in range(3)),
        elect(2, [("elect_a", [0])], UNCLEAN), elect(2, None), elect(2, None, UNCLEAN),
        elect(2, [("nope", [0]), ("elect_a", [9])]), elect(2, []),
    ]  # fmt: skip


def reassignments(client: WireClient) -> Any:
    create_and_wait(client, new_topic("moved", 2))

    def move(name: str, index: int, replicas: list[int] | None, version: int = 1) -> Any:
        partitions = [{"partition_index": index, "replicas": replicas}]
        topics = [{"name": name, "partitions": partitions}]
        return plain(client.ask(ALTER_REASSIGNMENTS, version, timeout=5000, topics=topics))

    def listed(topics: Any) -> Any:
        return plain(client.ask(LIST_REASSIGNMENTS, 0, timeout=5000, topics=topics))

    return [
        move("moved", 0, [1], 0), move("moved", 0, [1]), move("moved", 0, [2]),
        move("moved", 0, [1, 1]), move("moved", 0, [1, 2]), move("moved", 0, []),
        move("moved", 0, None), move("moved", 9, [1]), move("moved", 9, None),
        move("nope", 0, [1]), move("nope", 0, None), move("moved", 0, [-1]),
        listed(None), listed([{"name": "moved", "partition_indexes": [0, 1]}]),
        listed([{"name": "nope", "partition_indexes": [0]}]), listed([]),
    ]  # fmt: skip


Entity = dict[str, str | None]


def quotas(client: WireClient) -> Any:
    changed = False

    def alter(
        entity: Entity | list[tuple[str, str | None]],
        *ops: tuple[str, float | None],
        version: int = 1,
        validate_only: bool = False,
    ) -> Any:
        nonlocal changed
        changed = True
        pairs = list(entity.items()) if isinstance(entity, dict) else entity
        entry = {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in pairs],
            "ops": [{"key": key, "value": value or 0.0, "remove": value is None}
                    for key, value in ops],
        }  # fmt: skip
        answer = client.ask(ALTER_QUOTAS, version, entries=[entry], validate_only=validate_only)
        found = plain(answer)
        for row in found["entries"]:
            row["entity"].sort(key=lambda item: item["entity_type"])
        return found

    def describe(*components: tuple[str, int, str | None], strict: bool = False) -> Any:
        nonlocal changed
        rows = [
            {"entity_type": kind, "match_type": how, "match": name}
            for kind, how, name in components
        ]
        client.settle(changed=changed)
        changed = False
        found = plain(client.ask(DESCRIBE_QUOTAS, 1, components=rows, strict=strict))
        for entry in found["entries"] or ():
            entry["entity"].sort(key=lambda item: item["entity_type"])
            entry["values"].sort(key=lambda item: item["key"])
        if found["entries"]:
            found["entries"].sort(key=str)
        return found

    exact, default, any_ = 0, 1, 2
    produced, consumed, percent = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
    answers = [
        alter({"user": "quota_u"}, (produced, 1000.0), version=0),
        alter({"user": "quota_u", "client-id": "quota_c"}, (produced, 2000.0), (consumed, 5.0)),
        alter({"client-id": "quota_c"}, (percent, 12.5)),
        alter({"client-id": None}, (consumed, 7.0)), alter({"user": None}, (consumed, 8.0)),
        alter({"ip": "127.0.0.9"}, ("connection_creation_rate", 3.0)),
        alter({"user": "quota_u"}, ("controller_mutation_rate", 1.5), validate_only=True),
        alter({"user": "quota_v"}, (produced, None)), alter({"user": "quota_v"}),
        alter({"user": "quota_v"}, ("nope", 1.0)), alter({"user": "quota_v"}, (produced, -1.0)),
        alter({"user": "quota_v"}, (produced, 1.5)), alter({"user": "quota_v"}, (produced, 1e30)),
        alter({"user": "quota_v"}, ("connection_creation_rate", 3.0)),
        alter({"ip": "127.0.0.9"}, (produced, 3.0)),
        alter({"ip": "127.0.0.9", "user": "u"}, ("connection_creation_rate", 3.0)),
        alter({"ip": "not an address"}, ("connection_creation_rate", 3.0)),
        alter({"ip": "127.0.0.9"}, ("connection_creation_rate", 3.5)),
        alter({}, (produced, 1.0)), alter({"user": ""}, (produced, 1.0)),
        alter({"group": "g"}, (produced, 1.0)),
        alter([("user", "a"), ("user", "b")], (produced, 1.0)),
        alter({"user": "quota_w"}, (produced, 1.0), (produced, 2.0)),
    ]  # fmt: skip
    answers += [
        describe(), describe(strict=True), describe(("user", exact, "quota_u")),
        describe(("user", exact, "quota_u"), strict=True), describe(("user", default, None)),
        describe(("client-id", any_, None)), describe(("client-id", any_, None), strict=True),
        describe(("user", any_, None), ("client-id", any_, None)),
        describe(("ip", any_, None)), describe(("nope", any_, None)),
        describe(("user", 7, None)), describe(("user", exact, None)),
        describe(("user", exact, "quota_u"), ("user", any_, None)),
        describe(("ip", any_, None), ("user", any_, None)), describe(("", any_, None)),
    ]  # fmt: skip
    answers += [
        alter({"user": "quota_u"}, (produced, None)), describe(("user", exact, "quota_u")),
        alter({"user": "quota_u", "client-id": "quota_c"}, (produced, None), (consumed, None)),
        alter({"client-id": "quota_c"}, (percent, None)),
        alter({"client-id": None}, (consumed, None)), alter({"user": None}, (consumed, None)),
        alter({"ip": "127.0.0.9"}, ("connection_creation_rate", None)),
        alter({"user": "b"}, (produced, None)), describe(),
    ]  # fmt: skip
    return answers


def quorum(client: WireClient) -> Any:
    def ask(version: int, **asked: list[int]) -> Any:
        topics = [
            {
                "topic_name": name,
                "partitions": [{"partition_index": index} for index in rows],
            }
            for name, rows in asked.items()
        ]
        return client.ask(DESCRIBE_QUORUM, version, topics=topics)

    def known(answer: Any) -> Any:
        (partition,) = answer.topics[0].partitions
        (voter,) = partition.current_voters
        return (
            answer.error_code, partition.error_code, partition.leader_id,
            partition.high_watermark >= 0, voter.replica_id, voter.log_end_offset >= 0,
            partition.observers,
            [(node.node_id, len(node.listeners)) for node in getattr(answer, "nodes", ())],
        )  # fmt: skip

    return [
        *(known(ask(version, __cluster_metadata=[0])) for version in range(3)),
        plain(ask(2, nope=[0])), plain(ask(2, __cluster_metadata=[1])), plain(ask(2)),
        plain(ask(0, nope=[0], __cluster_metadata=[0])),
    ]  # fmt: skip


def acls_without_authorizer(client: WireClient) -> Any:
    every = {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
        "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip
    acl = {
        "resource_type": 2, "resource_name": "t", "resource_pattern_type": 3, "operation": 3,
        "principal": "User:u", "host": "*", "permission_type": 3,
    }  # fmt: skip
    return [
        [plain(client.ask(DESCRIBE_ACLS, version, **every)) for version in (1, 2, 3)],
        [plain(client.ask(CREATE_ACLS, version, creations=[acl, acl])) for version in (1, 2, 3)],
        [plain(client.ask(DELETE_ACLS, version, filters=[every])) for version in (1, 2, 3)],
    ]


def users_of_scram(client: WireClient) -> Any:
    def ask(*names: str) -> Any:
        users = [{"name": name} for name in names] or None
        return plain(client.ask(DESCRIBE_SCRAM_USERS, 0, users=users))

    return [ask(), ask("u"), ask("u", "u"), *_altered_users(client), ask()]


def _altered_users(client: WireClient) -> list[Any]:
    """Alter users, some of them twice in a request; delete them."""

    def put(name: str, mechanism: int = 1, iterations: int = 4096) -> dict[str, Any]:
        salted = b"x" * (64 if mechanism == 2 else 32)
        row = {"name": name, "mechanism": mechanism, "iterations": iterations}
        return {**row, "salt": b"salt", "salted_password": salted}

    def gone(name: str, mechanism: int = 1) -> dict[str, Any]:
        return {"name": name, "mechanism": mechanism}

    def alter(*rows: dict[str, Any]) -> Any:
        deletions = [row for row in rows if "salt" not in row]
        upsertions = [row for row in rows if "salt" in row]
        answer = client.ask(ALTER_SCRAM_USERS, 0, deletions=deletions, upsertions=upsertions)
        client.settle()
        return sorted((row.user, row.error_code) for row in answer.results)

    return [
        alter(), alter(put("s1")), alter(put("s2", 2), put("s3")),
        alter(put("s1"), put("s1", 2)), alter(put("s1"), put("s1"), put("s4")),
        alter(gone("s1"), put("s1")), alter(gone("s1"), put("s1", 2)), alter(gone("s1", 2)),
        alter(gone("s1", 2), put("s1")), alter(put("s1", 2)), alter(gone("s1"), gone("s1", 2)),
        alter(put("s5"), put("s5", 9)), alter(put("s5", 9), put("s5")), alter(put("s5", 0)),
        alter(gone("s5", 0), gone("s5")), alter(gone("s5"), gone("s5", 0)), alter(put("")),
        alter(put("s5", 1, 4095)), alter(put("s5", 1, 16385)), alter(put("s5", 1, 16384)),
        alter(gone("s1", 1), gone("s2", 2), gone("s3"), gone("s4"), gone("s5")),
        alter(gone("s1", 2)),
    ]  # fmt: skip


def sasl_on_a_plaintext_listener(client: WireClient) -> Any:
    host, port = client.socket.getpeername()[:2]

    def ask(key: int, version: int, **fields: Any) -> Any:
        with WireClient(f"{host}:{port}") as other:
            try:
                answer = plain(other.ask(key, version, **fields))
                again = plain(other.ask(key, version, **fields))
            except ConnectionClosed:
                return None
            return answer, again

    return [
        *(ask(SASL_HANDSHAKE, version, mechanism="PLAIN") for version in range(2)),
        *(ask(SASL_AUTHENTICATE, version, auth_bytes=b"\0u\0p") for version in range(3)),
    ]


def config_resources(client: WireClient) -> Any:
    create_and_wait(client, new_topic("listed_topic"))

    def ask(version: int, *kinds: int) -> Any:
        answer = client.ask(LIST_RESOURCES, version, resource_types=kinds)
        rows = plain(answer)["config_resources"]
        return answer.error_code, sorted(
            (row.get("resource_type"), row["resource_name"])
            for row in rows
            if row["resource_name"] in {"listed_topic", "1"}
        )

    return [ask(0), ask(1), *(ask(1, kind) for kind in (0, 2, 4, 8, 16, 32, 99)), ask(1, 2, 4)]


def replicas_to_other_directories(client: WireClient) -> Any:
    create_and_wait(client, new_topic("dirs_move"))
    here = client.ask(DESCRIBE_LOG_DIRS, 4, topics=None).results[0].log_dir

    def move(path: str, name: str, index: int, version: int = 2) -> Any:
        dirs = [{"path": path, "topics": [{"name": name, "partitions": [index]}]}]
        return plain(client.ask(ALTER_REPLICA_LOG_DIRS, version, dirs=dirs))

    return [
        move(here, "dirs_move", 0, 1), move(here, "dirs_move", 0), move("/other", "dirs_move", 0),
        move("other", "dirs_move", 0), move("", "dirs_move", 0), move(here, "dirs_move", 9),
        move(here, "nope", 0), move("/other", "nope", 0),
        plain(client.ask(ALTER_REPLICA_LOG_DIRS, 2, dirs=[])),
    ]  # fmt: skip
