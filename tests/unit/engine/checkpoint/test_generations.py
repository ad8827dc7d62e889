"""Generations of changelogs over upgrades, and what their topics are called."""

from duolog.engine.checkpoint.generations import (
    BEFORE_ALL,
    InternalTopics,
    begun,
    closed,
    first_log,
    held_topics,
    taken_back,
    upgraded,
    with_made,
    with_topics,
    without_dropped,
)


def test_topics_are_called_as_kafka_streams_calls_them_and_by_their_service() -> None:
    plain, of_service = InternalTopics("shop"), InternalTopics("CTAS_A_0", "_duolog-ksql-one_")

    assert plain.changelog("totals") == "shop-totals-changelog"
    assert of_service.changelog("totals") == "_duolog-ksql-one_CTAS_A_0-totals-changelog"


def test_a_checkpoint_that_was_written_before_topics_were_kept_has_the_names_of_then() -> None:
    log = {"generation": 3, "since": 4, "generations": [[1, 4]]}

    assert InternalTopics.of("shop", log).changelog("totals") == "shop-totals-changelog"
    assert with_topics(log, "shop", ["totals"])["topics"] == {"totals": "shop-totals-changelog"}


def test_a_kept_store_keeps_its_changelog_and_a_new_one_gets_a_fresh_topic() -> None:
    log = begun(with_topics(first_log(""), "shop", ["a", "b"]), None)

    found = upgraded(log, 7, log, application_id="shop", stores=["x", "b", "c"], kept={"x": "a"})

    assert found["topics"] == {
        "x": "shop-a-changelog",
        "b": "shop-b-changelog-1",
        "c": "shop-c-changelog-1",
    }
    assert found["dropped"] == ["shop-b-changelog"]
    assert (found["since"], found["generations"]) == (BEFORE_ALL, [(1, 7)])
    assert begun(found, None)["generation"] == 2


def test_no_number_is_reused_when_an_upgrade_is_reverted() -> None:
    """Else what the upgrade had written, and never committed, would count once the old one has come so far."""
    log = begun(with_topics(first_log(""), "shop", ["a"]), None)
    tried = begun(upgraded(log, 7, log, application_id="shop", stores=["a"], kept={}), None)
    tried = begun(tried, None)

    back = taken_back(log, 7, tried)

    assert (back["topics"], back["dropped"]) == (
        {"a": "shop-a-changelog"},
        ["shop-a-changelog-1"],
    )
    again = begun(back, 7)
    assert again["generation"] == 4
    assert again["generations"] == [(1, 7)], "and not those of the upgrade"


def test_another_upgrade_in_the_place_of_one_that_came_to_nothing_has_topics_of_its_own() -> None:
    log = begun(with_topics(first_log(""), "shop", ["a"]), None)
    tried = begun(upgraded(log, 7, log, application_id="shop", stores=["a"], kept={}), None)

    second = upgraded(log, 7, tried, application_id="shop", stores=["a"], kept={})

    assert tried["topics"] == {"a": "shop-a-changelog-1"}
    assert second["topics"] == {"a": "shop-a-changelog-2"}
    assert second["dropped"] == ["shop-a-changelog", "shop-a-changelog-1"]
    assert taken_back(log, 7, second)["dropped"] == ["shop-a-changelog-1", "shop-a-changelog-2"]


def test_no_topic_is_dropped_that_a_checkpoint_without_names_may_need() -> None:
    log = {"generation": 3, "since": 4, "generations": [(1, 4)]}
    tried = upgraded(log, 7, log, application_id="shop", stores=["a"], kept={"a": "a"})

    assert taken_back(log, 7, tried)["dropped"] == []


def test_the_topic_of_the_old_one_is_dropped_only_by_what_has_taken_its_place() -> None:
    log = begun(with_topics(first_log(""), "shop", ["a"]), None)

    assert "dropped" not in closed(log, 7)
    found = upgraded(log, 7, log, application_id="shop", stores=["a"], kept={})
    assert found["dropped"] == ["shop-a-changelog"]


def test_topics_count_as_created_until_dropped_and_only_after_an_upgrade_creates_them() -> None:
    log = with_made(
        with_topics(first_log(""), "shop", ["a", "b"]), ["shop-a-changelog", "shop-b-changelog"]
    )
    found = upgraded(log, 7, log, application_id="shop", stores=["a", "c"], kept={"a": "a"})
    topics = list(found["topics"].values())

    assert held_topics(found, topics, ()) == ["shop-a-changelog"]
    assert held_topics(with_made(found, topics), topics, ()) == topics
    assert without_dropped(with_made(found, topics))["made"] == sorted(topics)
    assert without_dropped(found)["dropped"] == []


def test_without_a_record_of_topics_those_before_the_upgrade_or_all_are_assumed() -> None:
    topics = ["shop-a-changelog", "shop-c-changelog-1"]

    assert held_topics({}, topics, ()) == topics
    assert held_topics({}, topics, ["shop-a-changelog", "shop-b-changelog"]) == topics[:1]
