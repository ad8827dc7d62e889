"""Requests about topics to a SQL server, and topics to ask for."""

import json
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.server.processes import TIMEOUT_S, SqlServerProcess, ask
from duolog.server.access.console_token import FILE
from duolog.testing import EmbeddedCluster

MIB = 1024 * 1024
Record = tuple[bytes | None, bytes | None, int]


def token_of(server: SqlServerProcess) -> str:
    token = (server.log_path.parent / "sql" / FILE).read_text().strip()
    return f"Bearer {token}"


def asked(server: SqlServerProcess, path: str, **more: Any) -> tuple[int, Any, dict[str, str]]:
    return ask(server, path, token_of(server), **more)


def get(server: SqlServerProcess, path: str, **parameters: object) -> Any:
    status, body, _ = asked(server, f"{path}?{urlencode(parameters)}" if parameters else path)
    assert status == 200, body
    return body


def send(server: SqlServerProcess, method: str, path: str, **body: object) -> tuple[int, Any]:
    return asked(server, path, method=method, body=json.dumps(body).encode())[:2]


def records(server: SqlServerProcess, topic: str, **parameters: object) -> Any:
    given = {name.rstrip("_"): value for name, value in parameters.items()}
    return get(server, f"/v1/topics/{topic}/records", **given)


def offsets(answer: Any) -> list[tuple[int, int]]:
    return [(one["partition"], int(one["offset"])) for one in answer["records"]]


def topic_with(
    cluster: EmbeddedCluster,
    written: Sequence[Record],
    *,
    partitions: int = 1,
    headers: Sequence[tuple[str, bytes]] = (),
    **config: str,
) -> str:
    """Return a new topic with records of key, value and partition, one millisecond apart."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    # The times of the records are long ago.
    given = {"retention.ms": "-1"} | {one.replace("_", "."): two for one, two in config.items()}
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions, config=given)])[name].result(TIMEOUT_S)
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "message.max.bytes": 20 * MIB}
    )
    for at, (key, value, partition) in enumerate(written):
        producer.produce(
            name,
            key=key,
            value=value,
            partition=partition,
            timestamp=1_700_000_000_000 + at,
            headers=list(headers),
        )
    assert producer.flush(TIMEOUT_S) == 0
    return name
