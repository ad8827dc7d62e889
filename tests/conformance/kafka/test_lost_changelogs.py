"""Detect on both brokers that a changelog is missing or was recreated with another id."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.engine.checkpoint import topic_ids
from duolog.engine.checkpoint.topic_ids import TopicWatch
from duolog.engine.errors import ChangelogLost
from duolog.engine.topics.topic_reader import TopicReader
from duolog.testing import EmbeddedCluster
from waiting import wait_until

pytestmark = pytest.mark.timeout(180)

CHANGELOG = "app-totals-changelog"


@pytest.fixture(params=["duolog", "kafka"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "kafka":
        yield str(request.getfixturevalue("kafka_peer").bootstrap_servers)
        return
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster.bootstrap_servers


def test_deleted_and_recreated_changelogs_are_detected(
    servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_ids, "LOOK_EVERY_S", 0.0)
    admin, topics = AdminClient({"bootstrap.servers": servers}), TopicReader(servers, {})
    admin.create_topics([NewTopic(CHANGELOG, 2)])[CHANGELOG].result(30)
    wait_until(lambda: topics.topic_ids([CHANGELOG]), "the new topic is known")
    watch = watch_over(topics)

    def id_told() -> str:
        watch.look()
        return watch.changelogs[CHANGELOG]

    known = wait_until(id_told, "its id is reported")
    watch.look()

    admin.delete_topics([CHANGELOG])[CHANGELOG].result(30)

    assert lost(watch) == f'changelog "{CHANGELOG}" was deleted'
    admin.create_topics([NewTopic(CHANGELOG, 2)])[CHANGELOG].result(30)
    wait_until(lambda: topics.topic_ids([CHANGELOG]), "the topic is back")
    assert (
        lost(watch_over(topics, known)) == f'changelog "{CHANGELOG}" was deleted and created again'
    )


def watch_over(topics: TopicReader, known: str = "") -> TopicWatch:
    return TopicWatch({}, topics.topic_ids, "app", {}, {CHANGELOG: known}, topics.gone)


def lost(watch: TopicWatch) -> str:
    """Poll until a changelog is missing: a deletion is visible only after its answer."""

    def message() -> str:
        try:
            watch.look()
        except ChangelogLost as error:
            return error.message
        return ""

    return wait_until(message, "the changelog is lost")
