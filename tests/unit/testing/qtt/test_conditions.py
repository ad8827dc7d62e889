"""Expectations of a query test about the catalog at its end."""

from typing import Any

import pytest

from duolog.ksql.session import SqlSession
from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.conditions import (
    Mismatch,
    declared_partitions,
    ensure_conditions,
    skipped_topics,
)
from duolog.testing.qtt.topic_schemas import TopicSchemas

STATEMENTS = """
    CREATE STREAM rides (id INT KEY, fare DECIMAL(6, 2)) WITH (kafka_topic='rides', format='JSON', partitions=2);
    CREATE TABLE fares AS SELECT id, COUNT(*) AS paid FROM rides WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id;
"""


def case_of(post: dict[str, Any]) -> Case:
    spec = {"post": post, "topics": [{"name": "a", "partitions": 7}, {"name": "b"}]}
    return Case("f", "c", "n", (), spec)


def check(post: dict[str, Any]) -> None:
    session = SqlSession()
    list(session.run(STATEMENTS))
    case = case_of(post)
    schemas = TopicSchemas(case, {})
    try:
        ensure_conditions(case, session.catalog, schemas)
    finally:
        schemas.close()


KEY = {"format": "JSON", "windowType": "TUMBLING", "windowSize": 10_000}
FARES = {
    "name": "FARES",
    "type": "table",
    "schema": "PAID BIGINT, ID INT KEY",
    "keyFormat": KEY,
}


def test_matching_conditions_pass() -> None:
    check(
        {
            "sources": [
                FARES
                | {"valueFormat": "JSON", "keyFeatures": ["UNWRAP_SINGLES"], "valueFeatures": []}
            ]
        }
    )
    check({"topics": {"topics": [{"name": "FARES", "keyFormat": {"format": "JSON", "windowInfo": {"type": "TUMBLING"}},
                                  "valueFormat": {"format": "JSON"}, "partitions": 2}]}})  # fmt: skip
    check({"topics": {"blacklist": ".*-repartition"}})


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"name": "NOWHERE", "type": "stream"}, "there is no stream NOWHERE"),
        (FARES | {"type": "stream"}, "kind"),
        (FARES | {"schema": "ID INT KEY, PAID DOUBLE"}, "columns"),
        (FARES | {"keyFormat": {"format": "KAFKA"}}, "key format"),
        (FARES | {"keyFormat": {"format": "JSON"}}, "window"),
        (FARES | {"keyFormat": KEY | {"windowSize": 5}}, "size of windows"),
        (FARES | {"valueFormat": "DELIMITED"}, "value format"),
        (FARES | {"valueFeatures": ["WRAP_SINGLES"]}, "value features"),
        (FARES | {"isSource": True}, "read-only"),
    ],
)
def test_differences_are_reported(wanted: dict[str, Any], expected: str) -> None:
    with pytest.raises(Mismatch, match=expected):
        check({"sources": [wanted]})


def test_topics_are_compared() -> None:
    with pytest.raises(Mismatch, match="partitions"):
        check({"topics": {"topics": [{"name": "FARES", "partitions": 4}]}})
    with pytest.raises(Mismatch, match="which matches"):
        check({"topics": {"blacklist": "FA.*"}})


def test_internal_topics_of_queries_are_ignored() -> None:
    post = {"topics": {"topics": [{"name": "x-Join-repartition", "partitions": 1}]}}
    check(post)
    assert skipped_topics(case_of(post)) == ["x-Join-repartition"]
    assert declared_partitions(case_of(post)) == {"a": 7, "b": 1}
