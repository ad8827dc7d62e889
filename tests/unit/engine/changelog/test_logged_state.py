"""A start with slow brokers or missing changelog topics; the changelogs and the commit topic are simulated."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException

from duolog.engine.changelog import logged_state
from duolog.engine.changelog.commit_topic import Committed, CommitTopic, StoredCommits
from duolog.engine.changelog.logged_state import LoggedState
from duolog.engine.checkpoint.checkpoint import Checkpoint, StartFacts
from duolog.engine.checkpoint.pending_upgrade import Upgraded
from duolog.engine.errors import BrokerUnreachable, ChangelogMismatch, CheckpointMismatch
from duolog.engine.settings import EngineConfig
from duolog.engine.topics.topic_client import GLANCE_S
from duolog.engine.topics.topic_reader import TopicReader

SHAPE = {"tasks": 2, "sources": ["t"], "levels": 1, "stores": {"totals": {}, "rows": {}}}
SPEC: dict[str, Any] = {
    "application_id": "app",
    "tasks": 2,
    "stores": ["totals", "rows"],
    "sinks": [],
}
APPLICATION = {"format": 1, "shape": SHAPE, "tasks": 2, "changelog": {"topics": {}}}
ALL = {"app-totals-changelog": 2, "app-rows-changelog": 2, "app-commits": 1}


class SlowTopics(TopicReader):
    """A cluster that answers after some seconds; None: never."""

    def __init__(self, there: dict[str, int], answers_after_s: float | None = 0) -> None:
        super().__init__("nowhere:9092", {})
        self._client.list_topics = self._answer  # type: ignore[method-assign]
        self.there = dict(there)
        self.answers_after_s = answers_after_s
        self.policies: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    def _answer(self, timeout_s: float) -> dict[str, Any]:
        if self.answers_after_s is None or timeout_s < self.answers_after_s:
            raise BrokerUnreachable("no broker answers at nowhere:9092")
        return {
            topic: SimpleNamespace(partitions=dict.fromkeys(range(count)))
            for topic, count in self.there.items()
        }

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def cleanup_policies(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: self.policies.get(topic, "compact") for topic in topics}


@dataclass
class Kafka:
    """Content of the simulated commit topic, and the changes made to topics."""

    kept: StoredCommits | None = None
    created: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    made = Kafka()

    def create(_config: object, spec: Any, commits: str, there: Any) -> None:
        wanted = [*(sink["topic"] for sink in spec["sinks"] if sink.get("store")), commits]
        made.created += [name for name in wanted if name not in there]

    monkeypatch.setattr(logged_state, "create_internal_topics", create)
    monkeypatch.setattr(CommitTopic, "read", lambda _self: made.kept)
    monkeypatch.setattr(
        CommitTopic, "write_application", lambda _self, _content: made.written.append("application")
    )
    return made


def kept_at(offsets: str | None, generation: int = 7) -> StoredCommits:
    return StoredCommits(APPLICATION, Committed(generation, 3, [(6, 2)], offsets, number=3))


def state_of(directory: Path, topics: TopicReader, *, started: bool = False) -> LoggedState:
    checkpoint = Checkpoint(directory / "app")
    if started:
        checkpoint.pin(
            "app", StartFacts(SHAPE, {"duolog": "1", "pyspark": "4"}, {}, changelog=True)
        )
    config = EngineConfig("nowhere:9092", directory, changelog="on")
    return LoggedState(config, topics, checkpoint, "app")


def commit(checkpoint: Checkpoint, number: int = 0) -> None:
    for log in ("offsets", "commits"):
        (checkpoint.spark_dir / log).mkdir(parents=True, exist_ok=True)
        (checkpoint.spark_dir / log / str(number)).write_text("v1\n{}")


def without(*topics: str) -> dict[str, int]:
    return {topic: count for topic, count in ALL.items() if topic not in topics}


def make_all(state: LoggedState) -> None:
    """Start for the first time, and commit."""
    state.begin(SPEC, is_restored=False)
    commit(state.checkpoint)


def test_a_lost_checkpoint_is_restored_even_if_the_broker_is_slow(
    tmp_path: Path, kafka: Kafka
) -> None:
    kafka.kept = kept_at("v1\n{}")
    topics = SlowTopics({"app-commits": 1}, answers_after_s=GLANCE_S + 1)

    assert state_of(tmp_path, topics).lost() is kafka.kept


def test_without_a_broker_nothing_counts_as_a_first_start(tmp_path: Path, kafka: Kafka) -> None:
    state = state_of(tmp_path, SlowTopics({}, answers_after_s=None), started=True)

    with pytest.raises(BrokerUnreachable):
        state.lost()
    with pytest.raises(BrokerUnreachable):
        state.begin(SPEC, is_restored=False)
    assert kafka.created == kafka.written == []


def test_numbers_of_generations_are_not_used_again_though_the_broker_is_slow(
    tmp_path: Path, kafka: Kafka
) -> None:
    kafka.kept = kept_at(None, generation=41)
    topics = SlowTopics({"app-commits": 1}, answers_after_s=GLANCE_S + 1)
    state = state_of(tmp_path, topics, started=True)

    state.begin(SPEC, is_restored=False)

    content = state.checkpoint.file.content()
    assert content is not None
    assert content["changelog"]["generation"] == 41


def test_a_first_start_over_what_was_committed_is_refused_and_changes_nothing(
    tmp_path: Path, kafka: Kafka
) -> None:
    kafka.kept = kept_at("v1\n{}")
    state = state_of(tmp_path, SlowTopics({"app-commits": 1}), started=True)

    with pytest.raises(CheckpointMismatch, match='"app" has commits that') as refused:
        state.begin(SPEC, is_restored=False)

    assert "commit 3" in refused.value.detail
    assert kafka.created == kafka.written == []


def test_a_first_start_makes_its_changelogs_and_one_before_the_first_commit_makes_them_again(
    tmp_path: Path, kafka: Kafka
) -> None:
    for _ in range(2):
        state = state_of(tmp_path, SlowTopics({}), started=True)
        state.begin(SPEC, is_restored=False)

    assert sorted(kafka.created) == sorted([*ALL, *ALL])


def test_a_missing_changelog_is_not_created_again_while_the_state_exists(
    tmp_path: Path, kafka: Kafka
) -> None:
    make_all(state_of(tmp_path, SlowTopics({}), started=True))
    kafka.created.clear()
    kafka.written.clear()
    state = state_of(tmp_path, SlowTopics(without("app-totals-changelog")))

    with pytest.raises(
        ChangelogMismatch, match=r'"app-totals-changelog" of .* is missing'
    ) as refused:
        state.begin(SPEC, is_restored=False)

    assert "duolog repartition FILE" in (refused.value.hint or ""), "the checkpoint has it all"
    assert kafka.created == kafka.written == []


def test_a_topic_of_commits_that_is_missing_is_written_again_from_the_checkpoint(
    tmp_path: Path, kafka: Kafka
) -> None:
    make_all(state_of(tmp_path, SlowTopics({}), started=True))
    kafka.created.clear()

    state_of(tmp_path, SlowTopics(without("app-commits"))).begin(SPEC, is_restored=False)

    assert kafka.created == ["app-commits"]


def test_a_checkpoint_of_before_topics_were_kept_in_mind_lacks_none_either(
    tmp_path: Path, kafka: Kafka
) -> None:
    state = state_of(tmp_path, SlowTopics(without("app-rows-changelog")), started=True)
    commit(state.checkpoint)

    with pytest.raises(ChangelogMismatch, match='"app-rows-changelog"'):
        state.begin(SPEC, is_restored=False)

    assert kafka.created == []


@pytest.mark.parametrize("log", [{}, {"made": sorted(without("app-commits"))}])
def test_state_is_not_restored_if_a_changelog_is_missing(
    tmp_path: Path, kafka: Kafka, log: dict[str, Any]
) -> None:
    state = state_of(tmp_path, SlowTopics(without("app-rows-changelog")))
    kept = StoredCommits(APPLICATION | {"changelog": log}, kept_at("v1\n{}").committed)

    with pytest.raises(
        ChangelogMismatch, match=r'"app-rows-changelog" of .* is missing'
    ) as refused:
        state.ensure_restores(kept, SHAPE)

    assert (refused.value.hint or "").startswith("Restore it")
    assert kafka.written == []
    assert not state.checkpoint.directory.exists(), "nothing was put back, or aside"


@pytest.mark.parametrize("topic", sorted(ALL))
@pytest.mark.parametrize("policy", ["delete", "compact,delete", "delete, compact"])
def test_an_internal_topic_that_loses_records_by_their_age_is_refused(
    tmp_path: Path, kafka: Kafka, topic: str, policy: str
) -> None:
    topics = SlowTopics(ALL)
    topics.policies[topic] = policy
    state = state_of(tmp_path, topics, started=True)

    with pytest.raises(ChangelogMismatch, match=f'"{topic}" has cleanup.policy={policy}'):
        state.begin(SPEC, is_restored=False)
    with pytest.raises(ChangelogMismatch, match=f'"{topic}" has cleanup.policy={policy}'):
        state.ensure_restores(kept_at("v1\n{}"), SHAPE)
    assert kafka.written == []


def test_an_upgrade_creates_new_changelogs_and_keeps_those_it_continues(
    tmp_path: Path, kafka: Kafka
) -> None:
    make_all(state_of(tmp_path, SlowTopics({}), started=True))
    upgraded(tmp_path)
    kafka.created.clear()
    topics = SlowTopics(ALL)

    state_of(tmp_path, topics).begin(SPEC, is_restored=False)
    assert kafka.created == ["app-rows-changelog-0"], "of what is new, and it was never there"

    topics.there["app-rows-changelog-0"] = 2
    del topics.there["app-totals-changelog"]
    with pytest.raises(ChangelogMismatch, match=r'"app-totals-changelog" of .* is missing'):
        state_of(tmp_path, topics).begin(SPEC, is_restored=False)


def upgraded(directory: Path) -> None:
    """Keep the totals, and no rows."""
    going_on = Upgraded(
        starts={},
        versions={"duolog": "1", "pyspark": "4"},
        topic_ids={},
        initial=[{"store": "totals", "becomes": "totals"}],
        stores=["totals", "rows"],
        kept={"totals": "totals"},
    )
    Checkpoint(directory / "app").upgrade.begin(SHAPE | {"levels": 2}, going_on)


class Answer(NamedTuple):
    """A future of librdkafka's."""

    reported: str | KafkaError

    def result(self, _timeout_s: float) -> dict[str, Any]:
        if isinstance(self.reported, KafkaError):
            raise KafkaException(self.reported)
        return {"cleanup.policy": SimpleNamespace(value=self.reported)}


def test_cleanup_policies_are_skipped_without_authorization(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {
        "a": Answer("compact"),
        "b": Answer(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)),
    }
    client = SimpleNamespace(
        describe_configs=lambda asked, **_: {of: answers[of.name] for of in asked}
    )
    topics = TopicReader("nowhere:9092", {})
    monkeypatch.setattr(topics._client, "admin", lambda: client)  # noqa: SLF001

    assert topics.cleanup_policies(["a", "b"]) == {"a": "compact"}

    answers["a"] = Answer(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - its only name
    with pytest.raises(BrokerUnreachable):
        topics.cleanup_policies(["a", "b"])


IDS = {"app-totals-changelog": "a", "app-rows-changelog": "b"}


def test_a_changelog_that_was_recreated_between_two_starts_is_refused(
    tmp_path: Path, kafka: Kafka
) -> None:
    topics = SlowTopics(ALL)
    topics.ids = IDS
    state = state_of(tmp_path, topics, started=True)
    make_all(state)
    state.begin(SPEC, is_restored=False)
    before = state.checkpoint.file.content()

    topics.ids = IDS | {"app-rows-changelog": "c"}

    with pytest.raises(
        ChangelogMismatch, match=r'"app-rows-changelog" of .* created again'
    ) as refused:
        state.begin(SPEC, is_restored=False)
    assert "duolog repartition FILE" in (refused.value.hint or ""), "the checkpoint has it all"
    assert state.checkpoint.file.content() == before


def test_an_unreported_id_is_skipped_and_recorded_later(tmp_path: Path, kafka: Kafka) -> None:
    topics = SlowTopics(ALL)
    state = state_of(tmp_path, topics, started=True)
    make_all(state)

    for ids in (IDS, {}, IDS):
        topics.ids = ids
        state.begin(SPEC, is_restored=False)

    topics.ids = {"app-totals-changelog": "z"}
    with pytest.raises(ChangelogMismatch, match="created again"):
        state.begin(SPEC, is_restored=False)


def test_before_the_first_commit_a_changelog_may_be_another_one(
    tmp_path: Path, kafka: Kafka
) -> None:
    topics = SlowTopics(ALL)
    topics.ids = IDS
    state = state_of(tmp_path, topics, started=True)
    state.begin(SPEC, is_restored=False)
    topics.ids = {"app-totals-changelog": "z"}
    state.begin(SPEC, is_restored=False)
    commit(state.checkpoint)

    state.begin(SPEC, is_restored=False)


def test_state_is_restored_from_recreated_changelogs_only_on_request(
    tmp_path: Path, kafka: Kafka
) -> None:
    topics = SlowTopics(ALL)
    topics.ids = {"app-totals-changelog": "z"}
    log = {"topics": {}, "made": list(IDS), "ids": IDS}
    kept = StoredCommits(APPLICATION | {"changelog": log}, kept_at("v1\n{}").committed)
    state = state_of(tmp_path, topics)

    with pytest.raises(
        ChangelogMismatch, match=r'"app-totals-changelog" of .* created again'
    ) as refused:
        state.ensure_restores(kept, SHAPE)
    state.ensure_restores(kept, SHAPE, from_others=True)

    hint = refused.value.hint or ""
    assert hint.startswith("If it was restored completely")
    assert "duolog state restore FILE" in hint
