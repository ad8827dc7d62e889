"""Subscriptions by expression, matched by the broker."""

import pytest

from duolog.coordinator.consumer_groups.errors import InvalidRegularExpression
from unit.coordinator.consumer_groups.harness import ConsumerGroupHarness


@pytest.fixture
def harness() -> ConsumerGroupHarness:
    return ConsumerGroupHarness(orders=2, orders_eu=1, other=1)


def test_an_expression_matches_whole_names(harness: ConsumerGroupHarness) -> None:
    assert harness.joined("a", topics=None, regex="orders").has == {"orders": [0, 1]}
    assert harness.joined("b", topics=None, regex="o.*r").has == {"other": [0]}


def test_names_and_an_expression_add_up(harness: ConsumerGroupHarness) -> None:
    member = harness.joined("a", topics=("other",), regex="orders_.*")

    assert member.has == {"orders_eu": [0], "other": [0]}


def test_an_empty_expression_is_none(harness: ConsumerGroupHarness) -> None:
    member = harness.joined("a", topics=("other",), regex="")

    assert member.has == {"other": [0]}
    assert harness.group.regexes == {}


@pytest.mark.parametrize("regex", ["(", "a**", "(?=a)", r"(a)\1"])
def test_expressions_unsupported_by_re2_are_refused(
    harness: ConsumerGroupHarness, regex: str
) -> None:
    with pytest.raises(InvalidRegularExpression, match="is not a valid regular expression"):
        harness.joined("a", topics=None, regex=regex)

    assert harness.log == []


def test_an_expression_that_would_take_ages_elsewhere_is_harmless(
    harness: ConsumerGroupHarness,
) -> None:
    harness.topics.create("a" * 200, 1)

    assert harness.joined("m", topics=None, regex="(a|aa|a+)*b").has == {}


def test_a_topic_that_comes_later_is_found_after_a_pause(harness: ConsumerGroupHarness) -> None:
    member = harness.joined("a", topics=None, regex="orders.*")
    harness.topics.create("orders_us", 1)

    member.beat()
    assert "orders_us" not in (member.has or {})
    harness.advance(10_000)
    harness.settle(member)

    assert member.has == {"orders": [0, 1], "orders_eu": [0], "orders_us": [0]}


def test_a_topic_that_goes_is_taken_away_at_once(harness: ConsumerGroupHarness) -> None:
    member = harness.joined("a", topics=None, regex="orders.*")

    harness.topics.delete("orders_eu")
    harness.settle(member)

    assert member.has == {"orders": [0, 1]}


def test_a_second_expression_is_looked_for_at_once(harness: ConsumerGroupHarness) -> None:
    harness.joined("a", topics=None, regex="orders.*")

    assert harness.joined("b", topics=None, regex="other").has == {"other": [0]}


def test_members_of_one_expression_share_its_topics(harness: ConsumerGroupHarness) -> None:
    a = harness.joined("a", topics=None, regex="o.*")
    b = harness.joined("b", topics=None, regex="o.*")

    harness.settle(a, b)

    assert sum(len(p) for p in a.owned.values()) == 2
    assert sum(len(p) for p in b.owned.values()) == 2


def test_an_expression_is_forgotten_with_its_last_member(harness: ConsumerGroupHarness) -> None:
    a = harness.joined("a", topics=None, regex="o.*")
    b = harness.joined("b", topics=None, regex="o.*")
    a.leave()
    assert harness.group.regexes.keys() == {"o.*"}

    b.beat(regex="other", topics=())
    assert harness.group.regexes.keys() == {"other"}
    b.leave()

    assert harness.group.regexes == {}
    harness.restart()
    assert harness.group.regexes == {}


def test_a_restart_keeps_what_expressions_matched(harness: ConsumerGroupHarness) -> None:
    member = harness.joined("a", topics=None, regex="o.*")
    had = member.owned

    harness.restart()
    member.beat()

    assert harness.group.subscribes_to("other")
    assert not harness.group.subscribes_to("o")
    assert member.owned == had
    assert member.epoch == 1
