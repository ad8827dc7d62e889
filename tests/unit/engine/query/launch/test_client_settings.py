"""The settings of Kafka's clients in the JVM."""

from pathlib import Path

import pytest

from duolog.engine.query.launch.client_settings import ClientSettings, as_spark_options
from duolog.engine.settings import EngineConfig

CONFIG = EngineConfig("127.0.0.1:9092", Path(), client_options={"acks": "1", "client.id": "mine"})


def test_the_user_overrides_our_defaults_but_not_the_address() -> None:
    config = EngineConfig("a:1", Path(), client_options={"acks": "1", "bootstrap.servers": "b:2"})

    producer = ClientSettings(config).producer("real-time", None)

    assert (producer["acks"], producer["bootstrap.servers"]) == ("1", "a:1")
    assert producer["enable.idempotence"] == "true"


@pytest.mark.parametrize(("accepted", "batch"), [(None, 262144), (10**6, 262144), (1000, 1000)])
def test_a_batch_is_no_larger_than_a_topic_accepts(accepted: int | None, batch: int) -> None:
    assert ClientSettings(CONFIG).producer("micro-batch", accepted)["batch.size"] == str(batch)


def test_micro_batches_wait_for_more_records_and_real_time_does_not() -> None:
    clients = ClientSettings(CONFIG)

    assert clients.producer("available-now", None)["linger.ms"] == "100"
    assert clients.producer("real-time", None)["linger.ms"] == "0"
    assert clients.commit_producer["linger.ms"] == "0"


def test_producers_of_changelogs_send_entries_of_any_size() -> None:
    without, with_changelogs = (ClientSettings(CONFIG, has_changelogs=has) for has in (False, True))

    size = with_changelogs.producer("micro-batch", None)["max.request.size"]

    assert size == with_changelogs.changelog_producer["max.request.size"]
    assert "max.request.size" not in without.producer("micro-batch", None)


def test_spark_reads_client_settings_with_a_prefix() -> None:
    assert as_spark_options({"acks": "all"}) == {"kafka.acks": "all"}
