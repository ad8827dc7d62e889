"""Running the query tests as streaming queries: their topics and records."""

from duolog.ksql.session import SqlSession
from duolog.testing.client import Client
from duolog.testing.cluster import EmbeddedCluster
from duolog.testing.qtt.on_spark import apart
from duolog.testing.qtt.written import Writer
from duolog.testing.reference import SourceRecord

JOINED = """
CREATE STREAM a (k STRING KEY, x INT) WITH (kafka_topic='a', value_format='JSON');
CREATE TABLE b (k STRING PRIMARY KEY, y INT) WITH (kafka_topic='b', value_format='JSON');
CREATE STREAM o AS SELECT a.k AS k, x, y FROM a JOIN b ON a.k = b.k UNION ALL SELECT k, x, x + 1 FROM a;
"""


def test_a_separated_plan_differs_only_in_its_topics() -> None:
    plan = next(done.query.planned.plan for done in SqlSession().run(JOINED) if done.query)

    own = apart(plan, "q1-")

    assert [str(node) for node in own.nodes] == [str(node) for node in plan.nodes]
    assert [node.schema for node in own.nodes] == [node.schema for node in plan.nodes]
    assert {source.topic for source in own.sources} == {"q1-a", "q1-b"}
    assert [sink.topics for sink in own.sinks] == [("q1-O",)]
    assert {source.topic for source in plan.sources} == {"a", "b"}
    assert not set(own.nodes) & set(plan.nodes)
    assert all(parent in own.nodes for node in own.nodes for parent in node.parents)


def test_records_may_have_timestamp_0_and_null_values() -> None:
    headers = (("h", b"x"), ("none", None))
    records = [
        SourceRecord("t", 0, 0, 0, b"k", b"v", headers),
        SourceRecord("t", 0, 1, 5, None, None),
    ]

    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        client = Client(cluster.bootstrap_servers)
        client.create_topic("t", configs={"retention.ms": "-1"})
        with Writer(cluster.bootstrap_servers) as writer:
            for record in records:
                writer.write("t", record)
        found = client.read("t")

    assert [(one.timestamp_ms, one.key, one.value, tuple(one.headers)) for one in found] == [
        (record.timestamp_ms, record.key, record.value, record.headers) for record in records
    ]
