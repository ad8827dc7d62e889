"""A persistent SQL query on a secured Apache Kafka, over a restart of its engine."""

from pathlib import Path
from typing import Final

import pytest

import waiting
from conformance.kafka.secured_peer import SecuredPeer
from conformance.kafka.secured_servers import ADMIN_PASSWORD
from duolog.runtime.sql.answers import Rows
from duolog.runtime.sql.engine import SqlEngine
from duolog.security.clients.profiles import brokers_of

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(540)]

SERVICE: Final = "secured_sql_"
WAIT_S: Final = 400.0
STATEMENTS: Final = """
CREATE STREAM payments (id STRING KEY, amount BIGINT)
  WITH (KAFKA_TOPIC='payments', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE sums WITH (KAFKA_TOPIC='sums', PARTITIONS=1) AS
  SELECT id, SUM(amount) AS total FROM payments GROUP BY id;
"""


def run(engine: SqlEngine, text: str) -> list[tuple[object, ...]]:
    """Return the rows of a statement's last answer."""
    found: list[tuple[object, ...]] = []
    for answer in engine.execute(text):
        found = [tuple(row) for row in answer] if isinstance(answer, Rows) else []
    return found


def await_total(engine: SqlEngine, total: int) -> None:
    def arrived() -> bool:
        return run(engine, "SELECT total FROM sums WHERE id = 'a';") == [(total,)]

    waiting.wait_until(arrived, engine.queries, WAIT_S)


def test_a_query_continues_after_a_restart(secured_peer: SecuredPeer, tmp_path: Path) -> None:
    brokers = brokers_of(secured_peer.bootstrap_servers, secured_peer.properties())

    with SqlEngine(brokers, data=tmp_path, service_id=SERVICE) as engine:
        engine.start()
        run(engine, STATEMENTS)
        run(engine, "INSERT INTO payments VALUES ('a', 1); INSERT INTO payments VALUES ('a', 2);")
        await_total(engine, 3)
    with SqlEngine(brokers, data=tmp_path, service_id=SERVICE) as engine:
        engine.start()
        run(engine, "INSERT INTO payments VALUES ('a', 4);")
        await_total(engine, 7)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if ADMIN_PASSWORD.encode() in path.read_bytes()] == []
