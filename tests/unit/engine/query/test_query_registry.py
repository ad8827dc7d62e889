"""A process runs at most one query on a checkpoint, and at most one with a name."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from duolog.engine.errors import CheckpointInUse
from duolog.engine.query import query_registry

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery


@dataclass
class FakeQuery:
    application_id: str
    has_ended: bool = False


@pytest.fixture
def sums(tmp_path: Path) -> Iterator[FakeQuery]:
    """An application `sums` that runs on the checkpoint `one`."""
    query = FakeQuery("sums")
    query_registry.note_running(tmp_path / "one", cast("RunningQuery", cast("Any", query)))
    yield query
    query.has_ended = True
    query_registry.forget_ended()


def test_a_second_one_on_a_checkpoint_is_refused(sums: FakeQuery, tmp_path: Path) -> None:
    with pytest.raises(CheckpointInUse, match='application "sums" is already running'):
        query_registry.ensure_not_running(tmp_path / "one", sums.application_id)


def test_a_second_one_of_a_name_is_refused_with_both_checkpoints(
    sums: FakeQuery, tmp_path: Path
) -> None:
    with pytest.raises(
        CheckpointInUse, match='"sums" is already running in this process'
    ) as refused:
        query_registry.ensure_not_running(tmp_path / "two", sums.application_id)

    assert str(tmp_path / "one") in (refused.value.detail or "")
    assert str(tmp_path / "two") in (refused.value.detail or "")
    assert "SQL service" in (refused.value.hint or "")


def test_other_applications_and_later_starts_run(sums: FakeQuery, tmp_path: Path) -> None:
    query_registry.ensure_not_running(tmp_path / "two", "counts")
    sums.has_ended = True

    query_registry.ensure_not_running(tmp_path / "two", sums.application_id)


def test_of_two_starts_of_one_name_the_second_waits_for_the_first(tmp_path: Path) -> None:
    begun = threading.Event()

    def second() -> None:
        with query_registry.start_of(tmp_path / "two", "sums"):
            begun.set()

    thread = threading.Thread(target=second)
    with query_registry.start_of(tmp_path / "one", "sums"):
        thread.start()
        assert not begun.wait(0.2)
    thread.join(60)

    assert begun.is_set()
