import re

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import ConfigSource

from duolog.cli.errors import MirrorConflict
from duolog.cli.mirror.plan import Plan, Planner
from duolog.cli.mirror.progress import (
    Entry,
    Progress,
    TopicProgress,
    copied_entry,
    read_entry,
    topic_entry,
)
from duolog.core.errors import KafkaError
from unit.cli.mirror.fake_kafka import FakeKafka, Log, Topic

PLACE = ("orders", 0)
COPIED = [
    topic_entry("orders", TopicProgress("here", "there", 1)),
    copied_entry(PLACE, 0, [0, 10], records=10, checksum=1, last=0),
]
OF_TOPIC = ConfigSource.DYNAMIC_TOPIC_CONFIG


def progress(*entries: Entry) -> Progress:
    found = Progress()
    found.replay_all(entries or COPIED)
    return found


def planned(source: FakeKafka, target: FakeKafka, copied: Progress | None = None) -> Plan:
    return Planner(source.side, target.side, None).plan(copied or Progress())


def orders(topic_id: str = "here", *logs: Log) -> FakeKafka:
    return FakeKafka(orders=Topic(topic_id, list(logs) or [Log(0, 20)]))


def test_a_copy_continues_after_the_copied_records() -> None:
    (topic,) = planned(orders(), orders("there", Log(0, 11)), progress()).topics

    assert (topic.action, topic.is_new_copy) == ("copy", False)
    assert topic.starts == {PLACE: 10}
    assert topic.last_copied == {PLACE: 9}
    assert topic.target_nexts == {PLACE: 10}


@pytest.mark.parametrize("ends", [(20,), (10,)], ids=["new records", "nothing new"])
def test_a_topic_that_was_created_again_on_the_target_is_copied_from_the_beginning(
    ends: tuple[int, ...],
) -> None:
    """Brokers create a deleted topic again when a consumer or producer asks for it."""
    moved = TopicProgress("here", "there", 1, moved=True, settled=True, ends=(10,))
    copied = progress(*COPIED, topic_entry("orders", moved))

    (topic,) = planned(
        orders("here", *(Log(0, end) for end in ends)), orders("other", Log(0, 0)), copied
    ).topics

    assert (topic.action, topic.is_new_copy) == ("copy", True)
    assert topic.starts == {PLACE: 0}
    assert topic.target_nexts == {PLACE: 0}


def test_a_topic_that_was_created_again_on_the_source_is_refused() -> None:
    with pytest.raises(MirrorConflict, match="of the source was deleted and created again"):
        planned(orders("other"), orders("there", Log(0, 11)), progress())


def test_a_source_that_was_truncated_is_refused() -> None:
    with pytest.raises(MirrorConflict, match="has lost records that were copied"):
        planned(orders("here", Log(0, 9)), orders("there", Log(0, 11)), progress())


def test_offsets_that_the_source_deleted_before_they_were_copied_are_lost() -> None:
    plan = planned(orders("here", Log(15, 20)), orders("there", Log(0, 11)), progress())

    assert plan.topics[0].lost == {PLACE: (10, 15)}
    assert plan.topics[0].starts == {PLACE: 15}
    assert any("deleted offsets 10 to 14" in note for note in plan.notes())


def test_markers_and_aborted_records_are_not_lost_records() -> None:
    """Retention deletes segments with the last markers, after all records were copied."""
    copied = progress(*COPIED, read_entry(PLACE, 15))

    (topic,) = planned(orders("here", Log(15, 20)), orders("there", Log(0, 11)), copied).topics

    assert (topic.lost, topic.last_copied) == ({}, {})


def test_a_first_copy_of_a_partition_loses_nothing() -> None:
    (topic,) = planned(orders("here", Log(15, 20)), FakeKafka()).topics

    assert (topic.lost, topic.starts) == ({}, {PLACE: 15})


def test_a_deletion_before_the_first_record_was_copied_is_noticed() -> None:
    copied = progress(
        topic_entry("orders", TopicProgress("here", "there", 1)), read_entry(PLACE, 0)
    )

    (topic,) = planned(orders("here", Log(15, 20)), orders("there", Log(0, 0)), copied).topics

    assert topic.lost == {PLACE: (0, 15)}


def test_partitions_without_new_offsets_and_known_settings_are_not_read_again() -> None:
    source, target = orders("here", Log(0, 10)), orders("there", Log(0, 11))
    planner = Planner(source.side, target.side, None)
    planner.plan(progress(), reads_settings=False)
    source.requests.clear()

    planner.plan(progress(), reads_settings=False)

    assert source.requests == {}


@pytest.mark.parametrize(
    "of", [ConfigSource.STATIC_BROKER_CONFIG, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG]
)
def test_settings_of_the_sources_broker_are_set_on_the_topic(of: ConfigSource) -> None:
    source = orders()
    source.topics["orders"].settings = {
        "retention.ms": ("-1", of),
        "segment.bytes": ("1000", of),
        "min.insync.replicas": ("2", OF_TOPIC),
        "cleanup.policy": ("delete", ConfigSource.DEFAULT_CONFIG),
    }

    (topic,) = planned(source, FakeKafka()).topics

    assert topic.settings == {"min.insync.replicas": "2", "retention.ms": "-1"}


def test_settings_that_a_policy_refuses_are_named() -> None:
    source, target = orders(), FakeKafka()
    source.topics["orders"].settings = {"max.message.bytes": ("5000", OF_TOPIC)}
    target.refused = {"retention.ms": 44}

    plan = planned(source, target)

    assert "retention.ms" not in plan.topics[0].while_copying
    assert any("does not accept retention.ms=-1, which protects" in at for at in plan.notes())


def test_a_limited_record_size_is_replaced_by_the_topics_own() -> None:
    source, target = orders(), FakeKafka()
    source.topics["orders"].settings = {"max.message.bytes": ("5000", OF_TOPIC)}

    target.refused = {"max.message.bytes=104857600": 44}
    own = planned(source, target).topics[0].while_copying
    target.refused = {"max.message.bytes": 44}
    none = planned(source, target).topics[0].while_copying

    assert own["max.message.bytes"] == "5000"
    assert "max.message.bytes" not in none


def test_a_policy_that_refuses_every_topic_says_nothing_about_settings() -> None:
    source, target = orders(), FakeKafka()
    source.topics["orders"].settings = {"max.message.bytes": ("5000", OF_TOPIC)}
    target.refused = {"*": 44}

    (topic,) = planned(source, target).topics

    assert topic.settings == {"max.message.bytes": "5000"}
    assert topic.refused == {}


def test_an_error_that_is_not_about_settings_ends_the_plan() -> None:
    target = FakeKafka()
    target.refused = {"*": 38}

    with pytest.raises(KafkaError, match="validate the settings"):
        planned(orders(), target)


@pytest.mark.parametrize("verified", [True, False])
def test_a_topic_that_was_deleted_on_the_source_is_reported(*, verified: bool) -> None:
    moved = TopicProgress("here", "there", 1, moved=verified)

    plan = planned(FakeKafka(), orders("there"), progress(topic_entry("orders", moved)))

    assert plan.gone == {"orders": verified}
    assert 'topic "orders" was deleted on the source; its copy stays as it is' in plan.notes()


def test_a_topic_that_was_deleted_on_both_sides_is_not_reported() -> None:
    assert planned(FakeKafka(), FakeKafka(), progress()).gone == {}


def test_topics_that_do_not_match_are_not_read() -> None:
    source = FakeKafka(orders=Topic("a", [Log(0, 1)]), users=Topic("b", [Log(0, 1)]))

    plan = Planner(source.side, FakeKafka().side, re.compile("ord.*")).plan(Progress())

    assert [topic.topic for topic in plan.topics] == ["orders"]
    assert source.requests == {"earliest": 1, "settings": 1}


@pytest.mark.parametrize(
    "topic",
    [
        Topic("id", [Log(0, 1)], leader=-1),
        Topic("id", []),
        Topic("id", [Log(0, 1)], error=ClientError(5)),
    ],
    ids=["no leader", "no partitions", "an error"],
)
def test_a_topic_that_cannot_be_read_is_not_left_out_in_silence(topic: Topic) -> None:
    with pytest.raises(KafkaError, match='"orders" of the source'):
        planned(FakeKafka(orders=topic), FakeKafka())


def test_a_plan_without_topics_says_so() -> None:
    assert list(planned(FakeKafka(), FakeKafka()).notes()) == ["the source has no topic to copy"]
