"""Pipelined requests of one connection: each sees the effects of the earlier ones."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic, sleep
from typing import Any, Final

import pytest

from duolog.broker.broker import Broker
from duolog.broker.network.connection import Connection
from duolog.broker.requests.api import Api, RequestContext
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.broker.router import Entrances, Router, find_apis
from duolog.protocol.headers import is_flexible
from unit.broker.conftest import Client, fetch_fields, produce_fields
from unit.broker.transactional_producer import coordinate

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH = 0, 1, 2, 3, 8, 9
CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS, DESCRIBE_CONFIGS = 19, 20, 21, 32
CREATE_PARTITIONS, INCREMENTAL_ALTER_CONFIGS, ALTER_QUOTAS, DESCRIBE_QUOTAS = 37, 44, 49, 48

Ask = tuple[int, int, dict[str, Any]]

LATEST: Final = -1
EARLIEST: Final = -2


class _Appending(InFlightRequest):
    __slots__ = ()

    appends = True


def test_only_produce_starts_before_the_previous_answer_for_all_pairs_of_apis(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[Api, InFlightRequest]] = []

    def begin(api: Api, connection: Connection[Broker], *_: Any) -> None:
        request = _Appending() if api.appends else InFlightRequest()
        connection.begin(request)
        begun.append((api, request))

    def held(api: Api) -> Api:
        return replace(api, handle=None, handle_frame=partial(begin, api))

    apis = find_apis()
    router = Router(tuple(held(api) for api in apis))
    monkeypatch.setattr(harness.broker, "router", router)
    monkeypatch.setattr(harness.broker, "entrances", Entrances(router))
    at_once = set()
    for first in apis:
        for second in apis:
            client = harness.client()
            client.socket.send(_frame(first) + _frame(second))
            harness.broker.loop.run_once(0)
            if len(begun) == 2:
                at_once.add((first.name, second.name))
            else:
                client.connection.complete(begun[0][1], b"done")
                harness.broker.loop.run_once(0)
            assert [api.key for api, _ in begun] == [first.key, second.key]
            begun.clear()
            client.connection.close()

    assert at_once == {("Produce", "Produce")}


def _frame(api: Api) -> bytes:
    version = api.versions[-1]
    content = api.key.to_bytes(2) + version.to_bytes(2) + bytes(4) + b"\xff\xff"
    content += b"\0" if is_flexible(api.key, version) else b""
    return len(content).to_bytes(4) + content


def commit(offset: int) -> Ask:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    fields = {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "t", "partitions": [partition]}],
    }
    return OFFSET_COMMIT, 8, fields


def list_offset(timestamp: int) -> Ask:
    partition = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}
    topics = [{"name": "t", "partitions": [partition]}]
    return LIST_OFFSETS, 7, {"replica_id": -1, "isolation_level": 0, "topics": topics}


def listed(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].offset)


def config(name: str, value: str) -> Ask:
    row = {"name": name, "config_operation": 0, "value": value}
    resource = {"resource_type": 2, "resource_name": "t", "configs": [row]}
    return INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource], "validate_only": False}


def describe(name: str) -> Ask:
    resource = {"resource_type": 2, "resource_name": "t", "configuration_keys": [name]}
    return DESCRIBE_CONFIGS, 4, {"resources": [resource]}


def new_topic(name: str) -> Ask:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
    return CREATE_TOPICS, 7, {"topics": [topic], "timeout": 1000}


ENTITY: Final = [{"entity_type": "user", "entity_name": "u"}]
QUOTA: Final[Ask] = (
    ALTER_QUOTAS,
    1,
    {"entries": [{"entity": ENTITY, "ops": [{"key": "producer_byte_rate", "value": 9.0}]}]},
)
QUOTAS: Final[Ask] = (DESCRIBE_QUOTAS, 1, {"components": [], "strict": False})
OFFSET_OF_G: Final[Ask] = (
    OFFSET_FETCH,
    8,
    {"groups": [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}]},
)
RECORDS_DELETED: Final[Ask] = (
    DELETE_RECORDS,
    2,
    {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": 1}]}]},
)
METADATA_OF_T: Final[Ask] = (METADATA, 12, {"topics": [{"name": "t"}]})
GROWN: Final[Ask] = (
    CREATE_PARTITIONS,
    3,
    {"topics": [{"name": "t", "count": 4, "assignments": None}], "timeout": 1000},
)


def produce(harness: Any, topic: str = "t", acks: int = -1) -> Ask:
    return PRODUCE, 9, produce_fields(topic, harness.batch(b"v"), acks=acks)


def ask(client: Client, asked: Ask) -> Any:
    key, version, fields = asked
    return client.ask(key, version, **fields)


def both(client: Client, first: Ask, second: Ask) -> tuple[Any, Any]:
    """Send both at once."""
    frames = b""
    for key, version, fields in (first, second):
        frames += client.frame(key, version, **fields)
        client.expect(key, version)
    client.send_bytes(frames)
    return client.receive(), client.receive()


CASES: Final[dict[str, tuple[Callable[[Any], Ask], Ask, Callable[[Any], Any], Any]]] = {
    "a commit and its fetch": (
        lambda _: commit(7), OFFSET_OF_G,
        lambda answer: answer.groups[0].topics[0].partitions[0].committed_offset, 7,
    ),
    "produce and the end of the log": (produce, list_offset(LATEST), listed, 2),
    "deleted records and the start of the log": (
        lambda _: RECORDS_DELETED, list_offset(EARLIEST), listed, 1,
    ),
    "produce and a fetch that does not wait": (
        produce, (FETCH, 11, fetch_fields("t", 1)),
        lambda answer: len(answer.responses[0].partitions[0].records or b"") > 0, True,
    ),
    "altered and described configs": (
        lambda _: config("retention.ms", "77"), describe("retention.ms"),
        lambda answer: answer.results[0].configs[0].value, "77",
    ),
    "more partitions and metadata": (
        lambda _: GROWN, METADATA_OF_T, lambda answer: len(answer.topics[0].partitions), 4,
    ),
    "a deleted topic and metadata": (
        lambda _: (DELETE_TOPICS, 5, {"topic_names": ["t"], "timeout": 1000}), METADATA_OF_T,
        lambda answer: answer.topics[0].error_code, 3,
    ),
    "altered and described quotas": (
        lambda _: QUOTA, QUOTAS, lambda answer: len(answer.entries or ()), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("durability", ["os", "fsync"])
def test_a_request_sees_what_the_one_before_it_did(
    open_harness: Any, case: str, durability: str
) -> None:
    first, second, read, expected = CASES[case]
    harness = open_harness(durability=durability, auto_create_topics_enable="false")
    coordinate(harness)
    harness.topic("t")
    client = harness.client()
    assert client.produce("t", harness.batch(b"first")).error_code == 0
    ask(client, commit(3))

    _, answer = both(client, first(harness), second)

    assert read(answer) == expected


def test_produce_to_a_topic_that_the_request_before_creates(harness: Any) -> None:
    client = harness.client()

    _, answer = both(client, new_topic("new"), produce(harness, "new"))

    assert answer.responses[0].partition_responses[0].error_code == 0


def test_produce_with_acks_0_is_seen_by_the_next_request(harness: Any) -> None:
    harness.topic("t")
    client = harness.client()
    key, version, fields = produce(harness, acks=0)
    list_key, list_version, list_fields = list_offset(LATEST)
    client.expect(list_key, list_version)

    client.send_bytes(
        client.frame(key, version, **fields) + client.frame(list_key, list_version, **list_fields)
    )

    assert listed(client.receive()) == 1


def test_requests_after_a_waiting_fetch_are_handled_meanwhile(harness: Any) -> None:
    coordinate(harness)
    harness.topic("t")
    client, other = harness.client(), harness.client()
    client.send(FETCH, 11, **fetch_fields("t", 0, max_wait_ms=60_000))
    key, version, fields = commit(5)
    client.send(key, version, **fields)
    client.receive_nothing()

    other.produce("t", harness.batch(b"v"))

    assert client.receive().responses[0].partitions[0].records
    assert client.receive().topics[0].partitions[0].error_code == 0


def test_a_client_with_a_waiting_request_is_not_read(harness: Any) -> None:
    """As in Kafka, the number of requests that wait on a connection is bounded."""
    harness.topic("t")
    client = harness.client()
    held = InFlightRequest()
    client.connection.begin(held)
    frame = client.frame(METADATA, 12, topics=None)
    sent = 0
    try:
        while sent < 64 << 20:
            sent += client.socket.send(frame * 1000)
            harness.turn()
    except BlockingIOError:
        pass

    assert sent < 8 << 20


def test_many_requests_of_one_connection_do_not_hold_up_others(
    harness: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, other = harness.client(), harness.client()
    api = next(api for api in harness.broker.router.apis if api.name == "DescribeCluster")

    def handle_slowly(_request: Any, context: RequestContext[Broker]) -> None:
        sleep(0.001)
        context.reply({})

    slow = replace(api, handle=handle_slowly)
    monkeypatch.setitem(harness.broker.router.routes, api.key << 16, (slow, True))
    for _ in range(200):
        busy.send(api.key, 0)

    other.send(METADATA, 12, topics=None)
    longest = 0.0
    while not other.drain():
        began = monotonic()
        harness.turn()
        longest = max(longest, monotonic() - began)

    assert longest < 0.1
    assert [busy.receive().error_code for _ in range(200)] == [0] * 200
