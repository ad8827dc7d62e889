from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.commands import FIRST, Command
from duolog.runtime.sql.errors import CommandDamaged
from duolog.testing import EmbeddedCluster
from duolog.testing.client import Client

Open = Callable[[], CommandTopic]


@pytest.fixture
def opened(cluster: EmbeddedCluster, service: str) -> Iterator[Open]:
    topics: list[CommandTopic] = []

    def open_one() -> CommandTopic:
        topics.append(CommandTopic(cluster.bootstrap_servers, service))
        return topics[-1]

    yield open_one
    for topic in topics:
        topic.close()


def test_a_missing_topic_has_no_commands(opened: Open) -> None:
    topic = opened()

    assert list(topic.read()) == []
    assert topic.last == FIRST


def test_appended_commands_are_read_in_order_by_every_reader(opened: Open) -> None:
    one, other = opened(), opened()
    commands = [Command(f"CREATE STREAM s{number};", number - 1) for number in range(3)]

    assert [one.append(command) for command in commands] == [0, 1, 2]

    assert list(one.read()) == list(other.read()) == list(enumerate(commands))
    assert list(one.read()) == []
    assert one.last == 2


def test_the_second_of_two_concurrent_commands_is_void(opened: Open) -> None:
    one, other = opened(), opened()
    first, late = Command("CREATE STREAM a;", FIRST), Command("CREATE STREAM b;", FIRST)
    one.append(first)
    other.append(late)

    again = Command("CREATE STREAM b;", 1)
    other.append(again)

    assert list(one.read()) == [(0, first), (2, again)]


def test_a_damaged_command_is_refused_with_its_offset_and_those_before_it_count(
    opened: Open, cluster: EmbeddedCluster
) -> None:
    topic = opened()
    first = Command("CREATE STREAM a;", FIRST)
    topic.append(first)
    Client(cluster.bootstrap_servers).produce(topic.name, None, b'{"statement":"DROP STREAM a;"}')

    read = topic.read()
    assert next(read) == (0, first)
    with pytest.raises(CommandDamaged, match="offset 1"):
        next(read)


def test_deleted_commands_are_detected(opened: Open, cluster: EmbeddedCluster) -> None:

    topic = opened()
    for number in range(3):
        topic.append(Command(f"CREATE STREAM s{number};", number - 1))
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for done in admin.delete_records([TopicPartition(topic.name, 0, 2)]).values():
        done.result(60)

    with pytest.raises(CommandDamaged, match="offset 0"):
        list(topic.read())


def test_a_deleted_topic_is_detected(
    opened: Open, cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an error for good: each request would wait for the topic once more."""
    topic = opened()
    topic.append(Command("CREATE STREAM s;", FIRST))
    assert len(list(topic.read())) == 1
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.delete_topics([topic.name])[topic.name].result(60)
    monkeypatch.setattr("duolog.runtime.sql.command_log.command_topic._TIMEOUT_S", 2.0)

    with pytest.raises(CommandDamaged) as damaged:
        list(topic.read())

    assert damaged.value.detail == "It had 1 record, and now has 0."
