"""Subscriptions by expression, matched by the broker."""

import pytest

from duolog.coordinator.consumer_groups.errors import InvalidRegularExpression
from unit.coordinator.consumer_groups.desk import ConsumerDesk


@pytest.fixture
def desk() -> ConsumerDesk:
    return ConsumerDesk(orders=2, orders_eu=1, other=1)


def test_an_expression_matches_whole_names(desk: ConsumerDesk) -> None:
    assert desk.joined("a", topics=None, regex="orders").has == {"orders": [0, 1]}
    assert desk.joined("b", topics=None, regex="o.*r").has == {"other": [0]}


def test_names_and_an_expression_add_up(desk: ConsumerDesk) -> None:
    member = desk.joined("a", topics=("other",), regex="orders_.*")

    assert member.has == {"orders_eu": [0], "other": [0]}


def test_an_empty_expression_is_none(desk: ConsumerDesk) -> None:
    member = desk.joined("a", topics=("other",), regex="")

    assert member.has == {"other": [0]}
    assert desk.group.regexes == {}


@pytest.mark.parametrize("regex", ["(", "a**", "(?=a)", r"(a)\1"])
def test_what_re2_does_not_know_is_refused(desk: ConsumerDesk, regex: str) -> None:
    with pytest.raises(InvalidRegularExpression, match="is not a valid regular expression"):
        desk.joined("a", topics=None, regex=regex)

    assert desk.log == []


def test_an_expression_that_would_take_ages_elsewhere_is_harmless(desk: ConsumerDesk) -> None:
    desk.topics.create("a" * 200, 1)

    assert desk.joined("m", topics=None, regex="(a|aa|a+)*b").has == {}


def test_a_topic_that_comes_later_is_found_after_a_pause(desk: ConsumerDesk) -> None:
    member = desk.joined("a", topics=None, regex="orders.*")
    desk.topics.create("orders_us", 1)

    member.beat()
    assert "orders_us" not in (member.has or {})
    desk.advance(10_000)
    desk.settle(member)

    assert member.has == {"orders": [0, 1], "orders_eu": [0], "orders_us": [0]}


def test_a_topic_that_goes_is_taken_away_at_once(desk: ConsumerDesk) -> None:
    member = desk.joined("a", topics=None, regex="orders.*")

    desk.topics.delete("orders_eu")
    desk.settle(member)

    assert member.has == {"orders": [0, 1]}


def test_a_second_expression_is_looked_for_at_once(desk: ConsumerDesk) -> None:
    desk.joined("a", topics=None, regex="orders.*")

    assert desk.joined("b", topics=None, regex="other").has == {"other": [0]}


def test_members_of_one_expression_share_its_topics(desk: ConsumerDesk) -> None:
    a = desk.joined("a", topics=None, regex="o.*")
    b = desk.joined("b", topics=None, regex="o.*")

    desk.settle(a, b)

    assert sum(len(p) for p in a.owned.values()) == 2
    assert sum(len(p) for p in b.owned.values()) == 2


def test_an_expression_is_forgotten_with_its_last_member(desk: ConsumerDesk) -> None:
    a = desk.joined("a", topics=None, regex="o.*")
    b = desk.joined("b", topics=None, regex="o.*")
    a.leave()
    assert desk.group.regexes.keys() == {"o.*"}

    b.beat(regex="other", topics=())
    assert desk.group.regexes.keys() == {"other"}
    b.leave()

    assert desk.group.regexes == {}
    desk.restart()
    assert desk.group.regexes == {}


def test_a_restart_keeps_what_expressions_matched(desk: ConsumerDesk) -> None:
    member = desk.joined("a", topics=None, regex="o.*")
    had = member.owned

    desk.restart()
    member.beat()

    assert desk.group.subscribes_to("other")
    assert not desk.group.subscribes_to("o")
    assert member.owned == had
    assert member.epoch == 1
