"""The commit topic has the right content and stays small; a list plays the topic."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from duolog.core.units import KIB
from duolog.engine.changelog.changelogs import ENTRY_BYTES_MAX
from duolog.engine.changelog.commit_topic import Committed, CommitTopic
from duolog.engine.checkpoint.generations import begun, first_log
from duolog.engine.errors import CheckpointDamaged
from duolog.engine.settings import EngineConfig

APPLICATION: Final = {"format": 2, "shape": {}}
STARTS: Final = 100_000


class Topic(CommitTopic):
    """Keeps what is written; compacted, as the broker may have it at any time."""

    def __init__(self, directory: Path) -> None:
        super().__init__(EngineConfig("nowhere:9092", directory), "app")
        self.records: dict[str, bytes] = {}
        self.left = -1
        """The number of records that may still be written; a negative number allows all."""

    def _records(self) -> list[tuple[str, bytes]]:
        return list(self.records.items())

    def _write(self, key: str, content: dict[str, Any]) -> None:
        if self.left == 0:
            raise ConnectionError
        self.left -= 1
        self.records.pop(key, None)
        self.records[key] = json.dumps(content).encode()

    def commit(self, head: dict[str, Any], epoch: int) -> bytes:
        """Write a commit record, as the kernel does."""
        reported = head | {"epoch": epoch, "number": epoch, "query": "q", "offsets": f"at {epoch}"}
        self._write("epoch", reported | {"committed_at": 5})
        return self.records["epoch"]


@pytest.fixture
def topic(tmp_path: Path) -> Topic:
    made = Topic(tmp_path)
    made.write_application(APPLICATION)
    return made


def read(topic: Topic) -> Committed:
    kept = topic.read()
    assert kept is not None
    assert kept.application == APPLICATION
    return kept.committed


START: Final = Committed(3, -1, [(1, 40), (2, 8)], "at 8", 4, "q", 8)


def test_a_start_and_its_commits_record_all_generations(topic: Topic) -> None:
    topic.write_start(START)
    assert read(topic) == START

    topic.commit(START.head(), 17)

    assert read(topic).all_generations == [(1, 40), (2, 8), (3, 17)]
    assert read(topic).offsets == "at 17"


def test_a_start_that_ends_after_its_first_record_is_recorded_completely(topic: Topic) -> None:
    topic.write_start(START)
    topic.commit(START.head(), 17)
    following = replace(
        START, generation=4, generations=[(1, 40), (2, 8), (3, 17)], offsets="at 17"
    )
    topic.left = 1

    with pytest.raises(ConnectionError):
        topic.write_start(following)

    assert read(topic) == following


def test_a_commit_after_the_next_start_has_the_generations_of_its_own(
    topic: Topic,
) -> None:
    topic.write_start(START)
    topic.write_start(replace(START, generation=5, generations=[(1, 40), (2, 8), (3, 17)]))

    topic.commit(START.head(), 18)

    assert read(topic).all_generations == [(1, 40), (2, 8), (3, 18)]


def test_files_of_an_earlier_version_are_read(topic: Topic) -> None:
    topic.commit({"generation": 3, "generations": [[1, 40], [2, 8]], "state": "spark"}, 17)

    assert read(topic).all_generations == [(1, 40), (2, 8), (3, 17)]


@pytest.mark.parametrize("listed", [None, {"generation": 2, "generations": [[1, 40]]}, {}])
def test_a_commit_whose_generations_are_not_listed_is_refused_by_name(
    topic: Topic, listed: dict[str, Any] | None
) -> None:
    topic.commit(START.head(), 17)
    if listed is not None:
        topic._write("generations", listed)  # noqa: SLF001 - its own, above

    with pytest.raises(
        CheckpointDamaged, match='"app-commits" of application "app" cannot be read'
    ):
        topic.read()


def test_a_commit_is_as_small_after_a_hundred_thousand_starts_as_after_one(topic: Topic) -> None:
    log = first_log("")
    log = begun(log, None) | {
        "generation": STARTS,
        "since": STARTS * 3,
        "generations": [(number, number * 3) for number in range(1, STARTS)],
    }
    log = begun(log, STARTS * 3 + 2)
    started = Committed(log["generation"], -1, log["generations"], "at", 4, "q", STARTS * 3 + 2)
    topic.write_application(APPLICATION | {"changelog": log})
    topic.write_start(started)

    reported = topic.commit(started.head(), STARTS * 3 + 3)

    assert len(reported) < KIB
    assert max(map(len, topic.records.values())) < ENTRY_BYTES_MAX / 4
    kept = topic.read()
    assert kept is not None
    assert len(kept.committed.all_generations) == STARTS + 1
    assert kept.committed.all_generations[-2:] == [
        (STARTS, STARTS * 3 + 2),
        (STARTS + 1, STARTS * 3 + 3),
    ]
