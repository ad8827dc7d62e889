"""Streams and tables over a connection, and what a user without rights sees."""

import asyncio
import json
from typing import Any

from duolog.core.clock import SystemClock
from duolog.runtime.sql.figures.query_figures import QueryFigures
from duolog.runtime.sql.figures.topic_growth import TopicSize
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.security.identity.principal import Identity
from unit.server.memory import MemoryServer, Reply, context
from unit.server.operations.catalog_service import Names, Service
from unit.server.users import BOB, Rules, access_with_users


class NamesAndTopics(Names):
    """As `Names`, and bob may describe all topics."""

    def allows(
        self, client: Identity, operation: Operation, resource: ResourceType, name: str
    ) -> bool:
        is_topic = (operation, resource) == (Operation.DESCRIBE, ResourceType.TOPIC)
        return is_topic or super().allows(client, operation, resource, name)


def service() -> Service:
    found = Service()
    found.figures.growth = {"orders": TopicSize(120, 2.5), "LARGE": TopicSize(7, None)}
    return found


def ask(path: str, rules: Rules | None = None, of: Service | None = None) -> Reply:
    async def run() -> Reply:
        access = None if rules is None else access_with_users(rules)
        server = MemoryServer(context(access, sql=of or service()))
        headers = {} if rules is None else {"Authorization": BOB}
        return await server.client().ask("GET", path, b"", **headers)

    return asyncio.run(run())


def found(reply: Reply) -> dict[str, Any]:
    assert reply.status == 200, reply
    value: dict[str, Any] = json.loads(reply.body)
    return value


def test_a_stream_has_its_columns_its_topic_and_its_queries() -> None:
    one = found(ask("/v1/sources/ORDERS"))

    assert one["statement"].startswith("CREATE STREAM orders (id STRING KEY")
    del one["statement"]
    assert one == {
        "version": 1,
        "name": "ORDERS",
        "type": "STREAM",
        "topics": ["orders"],
        "isPattern": False,
        "pattern": None,
        "isReadOnly": False,
        "keyFormat": "KAFKA",
        "valueFormat": "JSON",
        "windowType": None,
        "windowMs": None,
        "timestamp": None,
        "columns": [
            {"name": "ID", "type": "STRING", "role": "KEY"},
            {"name": "N", "type": "INTEGER", "role": "VALUE"},
        ],
        "partitions": 1,
        "records": 120,
        "recordsPerSecond": 2.5,
        "lastResultAgeMs": None,
        "writtenBy": [],
        "readBy": ["CSAS_LARGE_0"],
    }


def test_a_stream_of_a_query_has_the_age_of_its_last_result() -> None:
    of = service()
    now_ms = SystemClock().now_ms()
    of.figures.found = {
        "CSAS_LARGE_0": QueryFigures("CSAS_LARGE_0", now_ms, last_result_at_ms=now_ms - 30_000)
    }

    one = found(ask("/v1/sources/large", of=of))

    assert (one["writtenBy"], one["readBy"]) == (["CSAS_LARGE_0"], ["CSAS_PAID_1"])
    assert one["lastResultAgeMs"] >= 30_000
    assert (one["records"], one["recordsPerSecond"]) == (7, None)


def test_all_sources_are_sorted_and_unknown_sizes_are_null() -> None:
    all_found = found(ask("/v1/sources"))["sources"]

    assert [(one["name"], one["records"]) for one in all_found] == [
        *(("LARGE", 7), ("ORDERS", 120), ("PAID", None), ("SALARIES", None)),
    ]


def test_a_stream_over_several_topics_has_the_sum_of_all() -> None:
    of = service()
    of.run(
        "CREATE STREAM both (n INT) WITH (KAFKA_TOPIC='orders,LARGE', VALUE_FORMAT='JSON');"
        "CREATE STREAM more (n INT) WITH (KAFKA_TOPIC='orders,salaries', VALUE_FORMAT='JSON');"
    )

    both, more = (found(ask(f"/v1/sources/{name}", of=of)) for name in ("both", "more"))

    assert (both["topics"], both["partitions"], both["records"]) == (["orders", "LARGE"], 2, 127)
    # One of the rates is unknown, or one of the sizes.
    assert both["recordsPerSecond"] is None
    assert (more["records"], more["recordsPerSecond"]) == (None, None)


def test_hidden_streams_and_queries_are_not_there() -> None:
    seen = ask("/v1/sources", NamesAndTopics("ORDERS", "LARGE", "PAID"))

    assert [one["name"] for one in found(seen)["sources"]] == ["LARGE", "ORDERS", "PAID"]
    for secret in (b"SALARIES", b"salaries", b"CSAS_PAID_1"):
        assert secret not in seen.body
    assert found(seen)["sources"][1]["records"] == 120


def test_a_hidden_stream_looks_like_a_missing_one() -> None:
    rules = NamesAndTopics("ORDERS")
    hidden, missing = ask("/v1/sources/SALARIES", rules), ask("/v1/sources/NOPE", rules)

    assert (hidden.status, missing.status) == (404, 404)
    assert hidden.body.replace(b"SALARIES", b"NOPE") == missing.body


def test_the_size_of_a_topic_needs_the_right_to_describe_it() -> None:
    one = found(ask("/v1/sources/ORDERS", Names("ORDERS")))

    assert (one["records"], one["recordsPerSecond"]) == (None, None)
