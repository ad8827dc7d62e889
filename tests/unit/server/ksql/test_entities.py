"""Entities of SHOW, DESCRIBE and EXPLAIN: names and order of their members."""

import json
from dataclasses import replace
from typing import Any

import pytest

from duolog.ksql.settings import Settings
from duolog.ksql.statements.state import SessionState
from duolog.ksql.syntax.nodes import Show
from duolog.server.ksql import descriptions, listings
from unit.server.ksql.sessions import Catalog

SQL = (
    "CREATE TYPE point AS STRUCT<x INT, y ARRAY<DOUBLE>>;"
    "CREATE STREAM orders (id STRING KEY, at point, price DECIMAL(6, 2), tags MAP<STRING, INT>,"
    " trace BYTES HEADER('trace')) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2);"
    "CREATE TABLE totals WITH (KAFKA_TOPIC='t') AS SELECT id, COUNT(*) AS n FROM orders "
    "WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY id;"
)
SIMPLE = {"fields": None, "memberSchema": None}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    made = Catalog()
    reply = made.endpoints().ksql(json.dumps({"ksql": SQL}).encode())
    assert reply.status == 200, reply.body
    return made


def one(catalog: Catalog, sql: str) -> dict[str, Any]:
    reply = catalog.endpoints().ksql(json.dumps({"ksql": sql}).encode())
    assert reply.status == 200, reply.body
    (entity,) = json.loads(reply.body)
    return dict(entity)


def test_streams_and_tables_are_listed_with_formats(catalog: Catalog) -> None:
    reply = catalog.endpoints().ksql(b'{"ksql": "LIST STREAMS;"}')

    assert reply.body == (
        b'[{"@type":"streams","statementText":"LIST STREAMS;","streams":[{"type":"STREAM",'
        b'"name":"ORDERS","topic":"orders","keyFormat":"KAFKA","valueFormat":"JSON",'
        b'"isWindowed":false}],"warnings":[]}]'
    )
    assert one(catalog, "SHOW TABLES;")["tables"] == [
        {
            "type": "TABLE",
            "name": "TOTALS",
            "topic": "t",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "isWindowed": True,
        }
    ]


def test_topics_have_their_replicas(catalog: Catalog) -> None:
    catalog.state.catalog.partitions |= {"orders": 2, "t": 1, "__consumer_offsets": 1}

    assert one(catalog, "SHOW TOPICS;") == {
        "@type": "kafka_topics",
        "statementText": "SHOW TOPICS;",
        "topics": [{"name": "orders", "replicaInfo": [1, 1]}, {"name": "t", "replicaInfo": [1]}],
        "warnings": [],
    }
    everything = one(catalog, "SHOW ALL TOPICS EXTENDED;")
    assert everything["@type"] == "kafka_topics_extended"
    assert everything["topics"] == [
        {
            "name": "__consumer_offsets",
            "replicaInfo": [1],
            "consumerCount": 0,
            "consumerGroupCount": 0,
        },
        {"name": "orders", "replicaInfo": [1, 1], "consumerCount": 1, "consumerGroupCount": 1},
        {"name": "t", "replicaInfo": [1], "consumerCount": 0, "consumerGroupCount": 0},
    ]


def test_a_topic_that_the_session_does_not_see_is_not_listed(catalog: Catalog) -> None:
    node = Show(kind="TOPICS")
    state = SessionState(Catalog().state.catalog)
    state.catalog.partitions["seen"] = 1

    found = listings.topics(node, {"hidden": [1], "seen": [1]}, state)

    assert found["topics"] == [{"name": "seen", "replicaInfo": [1]}]


def test_queries_are_listed_with_their_states(catalog: Catalog) -> None:
    assert one(catalog, "SHOW QUERIES;") == {
        "@type": "queries",
        "statementText": "SHOW QUERIES;",
        "queries": [
            {
                "queryString": SQL[SQL.index("CREATE TABLE") :],
                "sinks": ["TOTALS"],
                "sinkKafkaTopics": ["t"],
                "id": "CTAS_TOTALS_0",
                "statusCount": {"RUNNING": 1},
                "queryType": "PERSISTENT",
                "state": "RUNNING",
            }
        ],
        "warnings": [],
    }


def test_a_query_of_a_group_is_listed_and_described_with_it(catalog: Catalog) -> None:
    (query,) = catalog.state.queries.values()
    heavy = replace(query, jvm_group="heavy")

    assert listings.running_query(heavy)["jvmGroup"] == "heavy"
    assert descriptions.query_description(heavy, host="a:1")["jvmGroup"] == "heavy"
    assert "jvmGroup" not in descriptions.query_description(query, host="a:1")


def test_types_are_listed_with_their_fields(catalog: Catalog) -> None:
    double = {"type": "DOUBLE", **SIMPLE}

    assert one(catalog, "SHOW TYPES;")["types"] == {
        "POINT": {
            "type": "STRUCT",
            "fields": [
                {"name": "X", "schema": {"type": "INTEGER", **SIMPLE}},
                {"name": "Y", "schema": {"type": "ARRAY", "fields": None, "memberSchema": double}},
            ],
            "memberSchema": None,
        }
    }


def test_properties_say_what_the_session_has_changed(catalog: Catalog) -> None:
    found = one(catalog, "SHOW PROPERTIES;")

    assert [*found] == [
        "@type",
        "statementText",
        "properties",
        "overwrittenProperties",
        "defaultProperties",
        "warnings",
    ]
    assert {
        "name": "auto.offset.reset",
        "scope": "STREAMS",
        "value": "earliest",
        "editable": True,
        "level": "SERVER",
    } in found["properties"]
    assert found["overwrittenProperties"] == ["auto.offset.reset"]
    assert "auto.offset.reset" not in found["defaultProperties"]
    assert "commit.interval.ms" in found["defaultProperties"]


def test_functions_have_a_kind_and_a_category(catalog: Catalog) -> None:
    found = one(catalog, "SHOW FUNCTIONS;")

    assert found["@type"] == "function_names"
    kinds = {entry["name"]: entry["type"] for entry in found["functions"]}
    assert (kinds["ABS"], kinds["COUNT"], kinds["EXPLODE"]) == ("SCALAR", "AGGREGATE", "TABLE")


def test_a_function_is_described_with_its_overloads(catalog: Catalog) -> None:
    found = one(catalog, "DESCRIBE FUNCTION concat_ws;")

    assert [*found] == [
        "@type",
        "statementText",
        "name",
        "description",
        "author",
        "version",
        "path",
        "functions",
        "type",
        "warnings",
    ]
    assert (found["@type"], found["name"], found["type"]) == (
        "describe_function",
        "CONCAT_WS",
        "SCALAR",
    )
    texts = next(over for over in found["functions"] if over["returnType"] == "STRING")
    assert [(arg["type"], arg["isVariadic"]) for arg in texts["arguments"]][-1] == ("STRING", True)


def test_a_stream_is_described_with_columns_and_queries(catalog: Catalog) -> None:
    found = one(catalog, "DESCRIBE orders;")

    description = found["sourceDescription"]
    assert [*description] == [
        "name",
        "windowType",
        "readQueries",
        "writeQueries",
        "fields",
        "type",
        "timestamp",
        "statistics",
        "errorStats",
        "extended",
        "keyFormat",
        "valueFormat",
        "topic",
        "partitions",
        "replication",
        "statement",
        "queryOffsetSummaries",
        "sourceConstraints",
        "clusterStatistics",
        "clusterErrorStats",
    ]
    fields = {field["name"]: field for field in description["fields"]}
    assert fields["ID"] == {"name": "ID", "schema": {"type": "STRING", **SIMPLE}, "type": "KEY"}
    assert fields["PRICE"] == {
        "name": "PRICE",
        "schema": {"type": "DECIMAL", **SIMPLE, "parameters": {"precision": 6, "scale": 2}},
    }
    assert fields["TAGS"]["schema"]["memberSchema"] == {"type": "INTEGER", **SIMPLE}
    assert (fields["TRACE"]["type"], fields["TRACE"]["headerKey"]) == ("HEADER", "trace")
    assert [query["id"] for query in description["readQueries"]] == ["CTAS_TOTALS_0"]
    assert description["writeQueries"] == []
    assert description["sourceConstraints"] == ["TOTALS"]
    assert (description["partitions"], description["replication"]) == (0, 0)


def test_extended_descriptions_have_the_topic(catalog: Catalog) -> None:
    catalog.state.catalog.partitions["orders"] = 2

    description = one(catalog, "DESCRIBE orders EXTENDED;")["sourceDescription"]
    streams = one(catalog, "SHOW STREAMS EXTENDED;")
    tables = one(catalog, "DESCRIBE TABLES;")

    assert (description["extended"], description["partitions"]) == (True, 2)
    assert description["replication"] == 1
    assert streams["@type"] == "source_descriptions"
    assert [each["name"] for each in streams["sourceDescriptions"]] == ["ORDERS"]
    assert tables["sourceDescriptions"][0]["windowType"] == "TUMBLING"


def test_explain_describes_a_query_or_a_statement(catalog: Catalog) -> None:
    running = one(catalog, "EXPLAIN CTAS_TOTALS_0;")["queryDescription"]
    pushed = one(catalog, "EXPLAIN SELECT id, price FROM orders EMIT CHANGES;")["queryDescription"]
    all_queries = one(catalog, "SHOW QUERIES EXTENDED;")

    assert [*running] == [
        "id",
        "statementText",
        "windowType",
        "fields",
        "sources",
        "sinks",
        "topology",
        "executionPlan",
        "overriddenProperties",
        "ksqlHostQueryStatus",
        "queryType",
        "queryErrors",
        "tasksMetadata",
        "state",
    ]
    assert running["sources"] == ["ORDERS"]
    assert running["sinks"] == ["TOTALS"]
    assert running["ksqlHostQueryStatus"] == {"127.0.0.1:8088": "RUNNING"}
    assert (running["queryType"], running["state"]) == ("PERSISTENT", "RUNNING")
    assert (pushed["queryType"], pushed["state"], pushed["sinks"]) == ("PUSH", None, [])
    assert [field["name"] for field in pushed["fields"]] == ["ID", "PRICE"]
    assert running["statementText"].startswith("CREATE TABLE totals")
    assert pushed["statementText"] == "SELECT id, price FROM orders EMIT CHANGES;"
    assert all_queries["@type"] == "query_descriptions"
    assert all_queries["queryDescriptions"][0]["id"] == "CTAS_TOTALS_0"


def test_a_query_has_the_properties_of_its_statement_and_its_last_error() -> None:
    made = Catalog(SessionState(settings=Settings({"ksql.service.id": "default_"})))
    made.state.settings.of_server = dict(made.state.settings.given)
    given = {"auto.offset.reset": "earliest", "consumer.sasl.jaas.config": "s3cret"}
    sent = json.dumps({"ksql": SQL, "streamsProperties": given}).encode()
    assert made.endpoints().ksql(sent).status == 200

    fine = one(made, "EXPLAIN CTAS_TOTALS_0;")["queryDescription"]
    (query,) = made.state.queries.values()
    made.state.queries[query.id] = replace(
        query, state="ERROR", error="no such topic", error_kind="USER", error_at_ms=1700000000000
    )
    broken = one(made, "EXPLAIN CTAS_TOTALS_0;")["queryDescription"]

    assert fine["overriddenProperties"] == {"auto.offset.reset": "earliest"}
    assert fine["queryErrors"] == []
    assert broken["queryErrors"] == [
        {"timestamp": 1700000000000, "errorMessage": "no such topic", "type": "USER"}
    ]


@pytest.mark.parametrize(
    "name",
    [
        "ksql.ssl.keystore.password",
        "producer.sasl.jaas.config",
        "consumer.ssl.keystore.key",
        "ksql.schema.registry.ssl.key.password",
    ],
)
def test_values_of_passwords_are_hidden(name: str) -> None:
    state = SessionState(settings=Settings({name: "s3cret", "auto.offset.reset": "earliest"}))

    found = {one["name"]: one["value"] for one in listings.properties(state)["properties"]}

    assert found[name] == "[hidden]"
    assert found["auto.offset.reset"] == "earliest"


def test_properties_of_the_server_are_not_of_the_client() -> None:
    """A console shows those that the client has set in a table of their own."""
    state = SessionState(settings=Settings({"ksql.service.id": "a", "auto.offset.reset": "latest"}))
    state.settings.of_server = dict(state.settings.given)
    assert listings.properties(state)["overwrittenProperties"] == []

    state.settings.set("auto.offset.reset", "earliest")
    state.settings.set("ksql.functions.collect_list.limit", "3")

    assert listings.properties(state)["overwrittenProperties"] == [
        "auto.offset.reset",
        "ksql.functions.collect_list.limit",
    ]
