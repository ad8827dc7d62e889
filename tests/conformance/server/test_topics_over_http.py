"""Topics of a SQL server: listed, browsed, searched, followed, written and exported."""

import base64
import http.client
import json
import struct
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from conformance.server.processes import TIMEOUT_S, SqlServerProcess
from conformance.server.topic_requests import (
    MIB,
    asked,
    get,
    offsets,
    records,
    send,
    token_of,
    topic_with,
)
from duolog.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


@pytest.fixture(scope="module")
def server(
    cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlServerProcess]:
    path = tmp_path_factory.mktemp("server")
    with SqlServerProcess(cluster.bootstrap_servers, path) as running:
        yield running


@pytest.fixture(scope="module")
def orders(cluster: EmbeddedCluster) -> str:
    """Return a topic with 40 orders in 4 partitions, by turns."""
    return topic_with(
        cluster,
        [
            (f"k{at}".encode(), json.dumps({"amount": at, "name": f"n{at}"}).encode(), at % 4)
            for at in range(40)
        ],
        partitions=4,
        headers=[("trace", b"Abc"), ("trace", b"last")],
    )


def test_topics_are_listed_with_figures(server: SqlServerProcess, orders: str) -> None:
    answer = get(server, "/v1/topics", search=orders.upper(), formats="true")

    (one,) = answer["topics"]
    assert int(one.pop("bytes")) > 1_000
    assert one == {
        "name": orders,
        "partitions": 4,
        "replication": 1,
        "records": "40",
        "lastTimestamp": "1700000000039",
        "cleanupPolicy": "delete",
        "internal": False,
        "format": "JSON",
    }
    assert (answer["total"], answer["next"], answer["may"]) == (1, None, {"create": True})


def test_topics_are_listed_by_pages(server: SqlServerProcess, orders: str) -> None:
    named: list[str] = []
    after: str | None = ""
    while after is not None:
        answer = get(server, "/v1/topics", limit=1, after=after, internal="true")
        named += [one["name"] for one in answer["topics"]]
        after = answer["next"]

    assert orders in named
    assert any(name.startswith("_") for name in named)
    assert len(named) == len(set(named)) == answer["total"]
    assert named == sorted(named)
    assert not any(one["internal"] for one in get(server, "/v1/topics", limit=500)["topics"])


def test_a_topic_is_described(server: SqlServerProcess, orders: str) -> None:
    answer = get(server, f"/v1/topics/{orders}")

    assert [
        (one["partition"], one["logStart"], one["end"], one["records"], len(one["inSync"]))
        for one in answer["partitions"]
    ] == [(number, "0", "10", "10", 1) for number in range(4)]
    configs = {one["name"]: one for one in answer["configs"]}
    assert configs["cleanup.policy"]["source"] == "default"
    assert all(answer["may"].values())


def test_topics_are_created_changed_and_deleted(server: SqlServerProcess) -> None:
    name = f"made-{uuid.uuid4().hex[:8]}"
    wanted = {"name": name, "partitions": 2, "configs": {"cleanup.policy": "compact"}}

    assert send(server, "POST", "/v1/topics", **wanted) == (201, {"name": name})
    status, told = send(server, "POST", "/v1/topics", **wanted)
    assert status == 409
    assert name in told["message"]
    path = f"/v1/topics/{name}"
    changed = {"configs": {"retention.ms": "60000", "cleanup.policy": None}, "partitions": 3}
    assert send(server, "PATCH", path, dryRun=True, **changed)[0] == 200
    assert len(get(server, path)["partitions"]) == 2
    assert send(server, "PATCH", path, **changed)[0] == 200
    after = get(server, path)
    configs = {one["name"]: (one["value"], one["source"]) for one in after["configs"]}
    assert len(after["partitions"]) == 3
    assert configs["retention.ms"] == ("60000", "topic")
    assert configs["cleanup.policy"] == ("delete", "default")
    assert send(server, "PATCH", path, configs={"retention.ms": "soon"})[0] == 400
    assert send(server, "PATCH", path, partitions=1)[0] == 400
    assert asked(server, path, method="DELETE")[0] == 200
    assert asked(server, path)[0] == 404
    assert asked(server, path, method="DELETE")[0] == 404


def test_the_newest_records_come_first_and_are_paged_backwards(
    server: SqlServerProcess, orders: str
) -> None:
    found: list[int] = []
    cursor: dict[str, object] = {}
    pages = 0
    while True:
        answer = records(server, orders, limit=7, **cursor)
        found += [json.loads(one["value"]["text"])["amount"] for one in answer["records"]]
        pages += 1
        if answer["next"] is None:
            break
        cursor = {"cursor": answer["next"]}

    assert found == list(range(39, -1, -1))
    assert pages == 6
    assert answer["end"] is True


def test_records_are_read_forward_in_the_order_of_their_times(
    server: SqlServerProcess, orders: str
) -> None:
    first = records(server, orders, from_="beginning", limit=10)
    second = records(server, orders, cursor=first["next"], limit=100)

    amounts = [
        json.loads(one["value"]["text"])["amount"]
        for one in [*first["records"], *second["records"]]
    ]
    assert amounts == list(range(40))
    assert (first["stopped"], first["end"]) == ("limit", False)
    assert (second["stopped"], second["end"]) == (None, True)
    assert second["next"] is not None  # More may be written.
    one = first["records"][3]
    assert (one["partition"], one["offset"], one["timestamp"]) == (3, "0", "1700000000003")
    assert one["timestampType"] == "create"
    assert one["key"] == {
        "text": "k3",
        "format": "STRING",
        "kind": "text",
        "bytes": 2,
        "truncated": False,
    }
    assert [name for name, _ in one["headers"]] == ["trace", "trace"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"from_": "-1"}, [36, 37, 38, 39]),
        ({"from_": "8"}, [32, 33, 34, 35, 36, 37, 38, 39]),
        ({"from_": "@1700000000037"}, [37, 38, 39]),
        ({"from_": "@1700000000003", "order": "newest"}, [2, 1, 0]),
        ({"from_": "99"}, []),
        ({"from_": "beginning", "partition": "1,2", "limit": 3}, [1, 2, 5]),
        ({"search": "N37"}, [37]),
        ({"search": "k37", "in_": "value"}, []),
        ({"search": "k37", "in_": "key"}, [37]),
        ({"search": "abc", "in_": "headers", "limit": 1}, [39]),
        ({"where": "value->amount > 37"}, [39, 38]),
        ({"where": "amount = 5 OR partition = 1 AND offset = 9"}, [37, 5]),
        ({"where": "key LIKE 'k1%' AND amount > 17 AND headers['trace'] = 'last'"}, [19, 18]),
        ({"where": "ts >= '2023-11-14T22:13:20.039'"}, [39]),
        ({"where": "rowtime = 1700000000004", "search": "n"}, [4]),
        ({"where": "name = 'n7'", "search": "n8"}, []),
    ],
)
def test_records_are_sought_searched_and_selected(
    server: SqlServerProcess, orders: str, given: dict[str, object], expected: list[int]
) -> None:
    answer = records(server, orders, **given)

    found = [json.loads(one["value"]["text"])["amount"] for one in answer["records"]]
    assert found == expected
    assert answer["matched"] == len(expected)


def test_an_invalid_predicate_names_its_position(server: SqlServerProcess, orders: str) -> None:
    def refused(where: str) -> tuple[int, Any]:
        path = f"/v1/topics/{orders}/records?{urlencode({'where': where})}"
        return asked(server, path)[:2]

    status, told = refused("amount > 3\nAND amuont = 5")
    assert status == 400
    assert told["position"] == {"line": 2, "column": 5, "length": 6}
    assert told["hint"] == "Did you mean AMOUNT?"
    status, told = refused("amount >")
    assert (status, told["position"]) == (400, {"line": 1, "column": 8, "length": 0})
    for where in (
        "1 = 1; DROP TABLE x",
        "1 = 1 LIMIT 1",
        "EXISTS (SELECT 1 FROM RECORDS)",
        "COUNT(*) > 1",
        "read_text('/etc/passwd') = 'x'",
        "amount",
    ):
        assert refused(where)[0] == 400, where


def test_formats_are_detected_and_can_be_overridden(
    server: SqlServerProcess, cluster: EmbeddedCluster
) -> None:
    big = b'{"id": 12345678901234567890, "price": 1.10}'
    topic = topic_with(
        cluster,
        [
            (struct.pack(">q", 5), big, 0),
            (struct.pack(">i", 7), b"\xff\xfe<script>", 0),
            (None, None, 0),
            (b"", "\u202egnp.exe\x1b[31m".encode(), 0),
            (b"k", b"\x82\xa1a\x01\xa1b\xc3", 0),
        ],
    )

    found = records(server, topic, from_="beginning")["records"]

    assert [one["key"] and (one["key"]["text"], one["key"]["format"]) for one in found] == [
        ("5", "BIGINT"),
        ("7", "INT"),
        None,
        ("", "STRING"),
        ("k", "STRING"),
    ]
    assert found[0]["value"]["text"] == big.decode()  # All digits.
    assert [one["value"] and one["value"]["format"] for one in found] == [
        "JSON",
        "BYTES",
        None,
        "STRING",
        "MSGPACK",
    ]
    assert found[1]["value"]["text"] == "fffe" + b"<script>".hex()
    assert found[4]["value"]["text"] == '{"a":1,"b":true}'
    changed = records(server, topic, from_="beginning", value_format="STRING", key_format="BYTES")
    assert changed["records"][1]["value"]["text"] == "\ufffd\ufffd<script>"
    assert changed["records"][1]["value"]["problem"]
    assert changed["records"][0]["key"]["text"] == "0000000000000005"


def test_large_values_are_cut_and_can_be_downloaded(
    server: SqlServerProcess, cluster: EmbeddedCluster
) -> None:
    large = b'{"text": "' + b"x" * (10 * MIB) + b'", "last": "needle"}'
    topic = topic_with(
        cluster, [(b"k", large, 0), (b"\xff\x00<b>", b"small", 0)], max_message_bytes=str(20 * MIB)
    )

    shown = records(server, topic, from_="beginning")["records"]

    value = shown[0]["value"]
    assert (value["bytes"], value["truncated"]) == (len(large), True)
    assert len(value["text"]) <= 64 * 1024
    assert [one["offset"] for one in records(server, topic, search="needle")["records"]] == ["0"]
    assert offsets(records(server, topic, where="last = 'needle'")) == [(0, 0)]
    host, port = server.address
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    connection.request(
        "GET", f"/v1/topics/{topic}/records/0/0/value", headers={"Authorization": token_of(server)}
    )
    response = connection.getresponse()
    assert response.read() == large
    assert response.getheader("content-type") == "application/octet-stream"
    assert (response.getheader("content-disposition") or "").startswith("attachment")
    assert response.getheader("x-content-type-options") == "nosniff"
    connection.close()
    for missing in ("0/2/value", "1/0/value", "0/0/headers", "x/0/value", "0/-1/value"):
        assert asked(server, f"/v1/topics/{topic}/records/{missing}")[0] == 404, missing


def test_aborted_records_are_shown_on_request_only(
    server: SqlServerProcess, cluster: EmbeddedCluster
) -> None:
    topic = topic_with(cluster, [(b"a", b"plain", 0)])
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": f"x-{topic}"}
    )
    producer.init_transactions(TIMEOUT_S)
    for value, commits in ((b"aborted", False), (b"committed", True)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(TIMEOUT_S)
        if commits:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)

    def values(**given: object) -> list[str]:
        return [one["value"]["text"] for one in records(server, topic, **given)["records"]]

    assert values() == ["committed", "plain"]
    assert values(from_="beginning") == ["plain", "committed"]
    assert values(isolation="read_uncommitted") == ["committed", "aborted", "plain"]
    # The end is a marker: there is nothing after the last record.
    assert records(server, topic, from_="beginning")["end"] is True


def test_300_partitions_are_merged(server: SqlServerProcess, cluster: EmbeddedCluster) -> None:
    topic = topic_with(
        cluster, [(None, str(at).encode(), at % 300) for at in range(600)], partitions=300
    )

    newest = records(server, topic, limit=400)
    older = records(server, topic, limit=400, cursor=newest["next"])

    texts = [one["value"]["text"] for one in [*newest["records"], *older["records"]]]
    assert texts == [str(at) for at in range(599, -1, -1)]


def test_new_records_are_followed(
    server: SqlServerProcess, cluster: EmbeddedCluster, orders: str
) -> None:
    del orders
    topic = topic_with(cluster, [(b"k", b"before", 0)])
    host, port = server.address
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    connection.request(
        "GET",
        f"/v1/topics/{topic}/live?where={quote('n >= 100')}",
        headers={"Authorization": token_of(server)},
    )
    response = connection.getresponse()
    assert response.getheader("content-type") == "text/event-stream"
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for at in range(1_000):
        producer.produce(topic, f'{{"n": {at}}}'.encode())
    assert producer.flush(TIMEOUT_S) == 0

    shown, read, left_out = [], 0, 0
    while read < 1_000:
        line = response.readline()
        if line.startswith(b"data: "):
            event = json.loads(line[len(b"data: ") :])
            shown += [json.loads(one["value"]["text"])["n"] for one in event["records"]]
            read += event["read"]
            left_out += event["leftOut"]

    assert read == 1_000
    assert len(shown) + left_out == 900
    assert 0 < len(shown) < 900
    assert min(shown) >= 100
    connection.close()


def test_records_of_added_partitions_are_followed(
    server: SqlServerProcess, cluster: EmbeddedCluster
) -> None:
    topic = topic_with(cluster, [(b"k", b"before", 0)])
    host, port = server.address
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    connection.request(
        "GET", f"/v1/topics/{topic}/live", headers={"Authorization": token_of(server)}
    )
    response = connection.getresponse()
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    (added,) = admin.create_partitions([NewPartitions(topic, 2)]).values()
    added.result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce(topic, b"in a new partition", partition=1)
    assert producer.flush(TIMEOUT_S) == 0

    while not (line := response.readline()).startswith(b"data: "):
        pass

    (record,) = json.loads(line[len(b"data: ") :])["records"]
    assert (record["partition"], record["offset"]) == (1, "0")
    assert record["value"]["text"] == "in a new partition"
    connection.close()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_records_are_exported(server: SqlServerProcess, orders: str, form: str) -> None:
    host, port = server.address
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    given = urlencode({"as": form, "where": "amount >= 30"})
    connection.request(
        "GET", f"/v1/topics/{orders}/export?{given}", headers={"Authorization": token_of(server)}
    )
    response = connection.getresponse()
    body = response.read()
    connection.close()

    assert response.status == 200, body
    assert response.getheader("content-disposition") == f'attachment; filename="{orders}.{form}"'
    rows: list[Any]
    match form:
        case "csv":
            lines = body.decode().splitlines()
            assert lines[0].startswith("partition,offset,timestamp,key,value")
            assert lines[1].startswith("2,7,2023-11-14T22:13:20.030Z,k30,")
            rows = lines[1:]
        case "jsonl":
            rows = [json.loads(line) for line in body.splitlines()]
            assert [one["value"]["amount"] for one in rows] == list(range(30, 40))
            assert rows[0]["headers"] == [["trace", "Abc"], ["trace", "last"]]
        case _:
            pq = pytest.importorskip("pyarrow.parquet")
            pa = pytest.importorskip("pyarrow")
            rows = pq.read_table(pa.BufferReader(body)).to_pylist()
            assert [json.loads(one["value"])["amount"] for one in rows] == list(range(30, 40))
            assert rows[0]["offset"] == 7
    assert len(rows) == 10


def test_records_are_written(server: SqlServerProcess, cluster: EmbeddedCluster) -> None:
    topic = topic_with(cluster, [], partitions=2)
    path = f"/v1/topics/{topic}/records"

    status, first = send(
        server,
        "POST",
        path,
        key={"format": "BIGINT", "text": "5"},
        value={"format": "JSON", "text": '{"a": 1.10}'},
        headers=[["from", "page"], ["none", None]],
        partition=1,
        timestamp="1700000000000",
    )
    second = send(server, "POST", path, key={"text": "k"}, value=None, partition=0)

    assert (status, first) == (201, {"partition": 1, "offset": "0", "timestamp": "1700000000000"})
    assert second[0] == 201
    found = {one["partition"]: one for one in records(server, topic)["records"]}
    assert (found[1]["key"]["text"], found[1]["value"]["text"]) == ("5", '{"a": 1.10}')
    assert [(name, part and part["text"]) for name, part in found[1]["headers"]] == [
        ("from", "page"),
        ("none", None),
    ]
    assert (found[0]["key"]["text"], found[0]["value"]) == ("k", None)
    for body, told in (
        ({"value": {"format": "JSON", "text": "{"}}, "the value is not JSON"),
        ({"key": {"format": "INT", "text": "x"}}, "the key is not of type INT"),
        ({"value": {"format": "XML", "text": ""}}, "'value.format' is not one of"),
        ({"value": {"format": "AVRO", "text": "{}"}}, "no schema registry"),
        ({"partition": -1}, "'partition' is not between"),
        ({"headers": ["x"]}, "'headers' has an item"),
        ({"vaule": None}, "'vaule' is not a parameter"),
    ):
        status, answer = send(server, "POST", path, **body)
        assert (status, told in answer["message"]) == (400, True), (body, answer)
    assert send(server, "POST", path, partition=7, value={"text": "x"})[0] == 404


@pytest.mark.parametrize(
    "query",
    [
        "from=x",
        "from=@x",
        "from=--1",
        "limit=0",
        "limit=1001",
        "partition=x",
        "order=up",
        "cursor=x",
        f"cursor={base64.urlsafe_b64encode(json.dumps({'o': 'newest', 'p': {'0': -1}}).encode()).decode()}",
        "isolation=dirty",
        "key_format=XML",
        "in=all",
        "wehre=1",
    ],
)
def test_invalid_parameters_are_refused(server: SqlServerProcess, orders: str, query: str) -> None:
    assert asked(server, f"/v1/topics/{orders}/records?{query}")[0] == 400


def test_a_missing_topic_or_partition_is_not_found(server: SqlServerProcess, orders: str) -> None:
    for path in ("missing", "missing/records", "missing/live", "missing/export?as=csv"):
        assert asked(server, f"/v1/topics/{path}")[0] == 404, path
    assert asked(server, f"/v1/topics/{orders}/records?partition=9")[0] == 404
    assert send(server, "POST", "/v1/topics/missing/records", value={"text": "x"})[0] == 404
