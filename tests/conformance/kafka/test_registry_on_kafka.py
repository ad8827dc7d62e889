"""The schema registry over a real Apache Kafka."""

from pathlib import Path

import pytest

from conformance.kafka.peer import KafkaPeer
from conformance.registry.conftest import registries
from conformance.registry.secured import duolog, status
from conformance.registry.test_election import replace_leaders
from conformance.registry.test_store import following, keys
from duolog.registry.store.clients import KafkaOptions
from duolog.registry.store.errors import WriterFenced
from duolog.registry.store.stored import NewRecord
from duolog.registry.store.topic import ensure_topic
from duolog.registry.store.writer import FencedWriter
from waiting import wait_until


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


def test_tokens_and_rules_about_subjects_are_kept_in_apache_kafka(
    kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    servers = kafka_peer.bootstrap_servers
    arguments = ("--cluster-users", "--topic", "_guarded", "--group", "guarded")
    with registries(servers, tmp_path) as start:
        url = start(*arguments).url
        versions, schema = "/subjects/orders-value/versions", {"schema": '"string"'}
        assert status(url, None, "GET", "/subjects")[0] == 401

        token = f"Bearer {duolog('tokens', 'create', 'alice', '-b', servers).strip()}"
        rule = ("--allow", "Role:writers", "--operation", "WRITE", "--subject-prefix", "orders-")
        duolog("acls", "add", *rule, "-b", servers)
        duolog("users", "roles", "add", "alice", "writers", "-b", servers)

        wait_until(
            lambda: status(url, token, "POST", versions, schema)[0] == 200, "the right to write"
        )
        assert status(url, token, "GET", versions) == (200, [1])
        assert status(url, token, "GET", f"{versions}/1")[0] == 404
