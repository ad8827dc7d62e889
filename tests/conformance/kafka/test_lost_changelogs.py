"""A changelog that is deleted under its query is found on either broker: by its absence, and by its id when it is back."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from duolog.engine import topic_ids
from duolog.engine.errors import ChangelogLost
from duolog.engine.topic_ids import TopicWatch
from duolog.engine.topics import TopicReader
from duolog.testing import EmbeddedCluster

pytestmark = pytest.mark.timeout(180)

LOOKS = 100
CHANGELOG = "app-totals-changelog"


@pytest.fixture(params=["duolog", "kafka"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "kafka":
        yield str(request.getfixturevalue("kafka_peer").bootstrap_servers)
        return
    with EmbeddedCluster(settings={"durability": "os"}) as cluster:
        yield cluster.bootstrap_servers


def test_a_changelog_that_is_deleted_is_missed_and_known_as_another_when_it_is_back(
    servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_ids, "LOOK_EVERY_S", 0.0)
    admin, topics = AdminClient({"bootstrap.servers": servers}), TopicReader(servers, {})
    admin.create_topics([NewTopic(CHANGELOG, 2)])[CHANGELOG].result(30)
    watch = watch_over(topics)
    look(watch)
    known = watch.changelogs[CHANGELOG]
    assert known, "its id was told"
    look(watch)

    admin.delete_topics([CHANGELOG])[CHANGELOG].result(30)

    with pytest.raises(ChangelogLost, match=rf'"{CHANGELOG}" was deleted\n'):
        look(watch, times=LOOKS)
    admin.create_topics([NewTopic(CHANGELOG, 2)])[CHANGELOG].result(30)
    back = watch_over(topics, known)
    with pytest.raises(ChangelogLost, match=f'"{CHANGELOG}" was deleted and made anew'):
        look(back, times=LOOKS)


def watch_over(topics: TopicReader, known: str = "") -> TopicWatch:
    return TopicWatch({}, topics.topic_ids, "app", {}, {CHANGELOG: known}, topics.gone)


def look(watch: TopicWatch, times: int = 10) -> None:
    """Look some times: a broker tells of a topic that was made or deleted a moment later."""
    for _ in range(times):
        watch.look()
