"""`duolog topics` with a broker that a test plays."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.main import main

STORAGE_ERROR = 56


class FullDisk:
    """An admin client of a broker that cannot write."""

    def list_topics(self, **_: object) -> Any:
        return SimpleNamespace(topics={"orders": SimpleNamespace(partitions={})})

    def describe_topics(self, _topics: object) -> dict[str, Future[Any]]:
        done: Future[Any] = Future()
        done.set_result(SimpleNamespace(topic_id="AAAAAAAAAAAAAAAAAAAAAg"))
        return {"orders": done}

    def delete_topics(self, _names: list[str]) -> dict[str, Future[Any]]:
        failed: Future[Any] = Future()
        failed.set_exception(KafkaException(ClientError(STORAGE_ERROR)))
        return {"orders": failed}


def test_a_failed_deletion_on_a_full_disk_explains_how_to_free_space(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Cluster, "admin", lambda _self: FullDisk())

    status = main(["topics", "delete", "orders", "--yes"])

    reported = capsys.readouterr().err
    assert status == 5
    assert 'could not delete topic "orders"' in reported
    assert "Free space by" in reported
    # What failed once to write is offline until then.
    assert "restart the broker, then delete the topic again" in reported
    assert "topics/00000000-0000-0000-0000-000000000002" in reported
