import pytest

from duolog.broker.errors import InvalidTopic
from duolog.broker.settings import BrokerSettings
from duolog.broker.topics.topic_config import TopicConfigs
from duolog.broker.topics.topic_names import check_topic_name
from duolog.core.errors import ConfigError


def test_the_defaults_are_those_of_the_issue() -> None:
    settings = BrokerSettings()

    assert settings.text("durability") == "fsync"
    assert settings.boolean("auto.create.topics.enable")
    assert settings.integer("num.partitions") == 1
    assert settings.integer("node.id") == 0
    assert settings.integer("group.initial.rebalance.delay.ms") == 0


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerSettings({"durabilty": "os"})

    assert "durability" in caught.value.hint


def test_a_topic_takes_its_own_value_then_the_brokers_then_the_default() -> None:
    configs = TopicConfigs(BrokerSettings({"log.retention.ms": "7", "message.max.bytes": "99"}))

    texts = configs.effective({"retention.ms": "5"})

    assert (texts["retention.ms"], texts["max.message.bytes"]) == ("5", "99")
    assert texts["cleanup.policy"] == "delete"
    assert configs.for_produce({}).batch_bytes_max == 99


def test_a_topic_may_have_no_cleanup_policy_as_in_kafka() -> None:
    TopicConfigs(BrokerSettings()).check({"cleanup.policy": ""})


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a b", "ü", "a\0", "a" * 250])
def test_a_name_that_could_be_a_path_or_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidTopic):
        check_topic_name(name)


@pytest.mark.parametrize("name", ["._security", "_.security", "_.consumer.offsets"])
def test_a_name_that_would_keep_the_broker_from_its_own_topic_is_refused(name: str) -> None:
    """Their names in metrics would be the same: no user could become an administrator."""
    with pytest.raises(InvalidTopic):
        check_topic_name(name)


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "a" * 249, "...", "__security", "_security"])
def test_kafkas_names_are_taken(name: str) -> None:
    check_topic_name(name)
