"""The schema registry over a real Apache Kafka."""

from pathlib import Path

import pytest

from conformance.kafka.peer import KafkaPeer
from conformance.registry.conftest import registries
from conformance.registry.test_election import replace_leaders
from conformance.registry.test_store import following, keys
from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.errors import WriterFenced
from duolog.registry.store.stored import NewRecord
from duolog.registry.store.topic import ensure_topic
from duolog.registry.store.writer import FencedWriter


def test_apache_kafka_fences_an_older_writer(kafka_peer: KafkaPeer) -> None:
    options = KafkaOptions(kafka_peer.bootstrap_servers, topic="_fenced", group="fenced")
    ensure_topic(options)
    ensure_topic(options)
    older = FencedWriter(options)
    older.append([NewRecord(b"a", b"1")])

    newer = FencedWriter(options)
    newer.append([NewRecord(b"b", b"2")])
    with pytest.raises(WriterFenced):
        older.append([NewRecord(b"late", b"x")])

    with following(options) as (follower, read):
        follower.load()
        assert keys(read) == [b"a", b"b"]


@pytest.mark.timeout(600)
def test_leaders_that_die_or_pause_never_give_away_an_id_twice_on_apache_kafka(
    kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    with registries(kafka_peer.bootstrap_servers, tmp_path) as start:
        replace_leaders(start, kafka_peer.bootstrap_servers)
