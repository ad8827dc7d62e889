"""The outcome of an epoch of several transactions, for each state they can have: without a broker."""

import itertools
import json
from pathlib import Path
from typing import Any, Final

import pytest

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.pending_commit import prepared_path
from duolog.engine.errors import CheckpointDamaged, CheckpointMismatch
from duolog.engine.exactly_once.epochs import last_committed
from duolog.engine.exactly_once.executor_transactions import (
    Description,
    ExecutorTransaction,
    Outcome,
    State,
    outcome,
)
from duolog.engine.exactly_once.transactions import Transactions

PART: Final = ExecutorTransaction("orders-1", 7, 3)
QUERY: Final = "6f1c"


@pytest.mark.parametrize(
    ("known", "state"),
    [
        ({"state": "Ongoing", "producer": 7, "epoch": 3}, "open"),
        ({"state": "PrepareCommit", "producer": 7, "epoch": 3}, "committed"),
        # Version 2 of transactions has another epoch at every end, and another producer when they
        # are used up.
        ({"state": "CompleteCommit", "producer": 7, "epoch": 4}, "committed"),
        ({"state": "CompleteCommit", "producer": 9, "epoch": 0}, "committed"),
        ({"state": "Ongoing", "producer": 7, "epoch": 4}, "ended"),
        ({"state": "CompleteAbort", "producer": 7, "epoch": 4}, "ended"),
        ({"state": "PrepareAbort", "producer": 7, "epoch": 4}, "ended"),
        ({"state": "PrepareEpochFence", "producer": 7, "epoch": 4}, "ended"),
        ({"state": "Empty", "producer": 7, "epoch": 5}, "ended"),
        (None, "forgotten"),
    ],
)
def test_a_transaction_is_open_committed_ended_or_forgotten(
    known: Description | None, state: State
) -> None:
    assert PART.state(known) == state


@pytest.mark.parametrize(
    "states", list(itertools.product(("open", "committed", "ended", "forgotten"), repeat=2))
)
def test_nothing_is_committed_next_to_a_loss_and_nothing_visible_is_recomputed(
    states: tuple[State, State],
) -> None:
    found = set(states)
    expected: Outcome = "lost"
    if found <= {"open", "committed"}:
        expected = "commit"
    elif not found & {"committed", "forgotten"}:
        expected = "again"

    assert outcome(dict(zip("ab", states, strict=True))) == expected


class Coordinator:
    """The kernel's door, with transactions that are as a test wants them; it keeps what it was asked to do, in order."""

    def __init__(self, marker: dict[str, Any], states: dict[str, str]) -> None:
        self.marker = marker
        self.states = states
        self.asked: list[str] = []

    def markers(self, _name: str, _settings: object) -> str:
        return json.dumps({"epoch": self.marker})

    def open(self, *_: object) -> str:
        self.asked.append("open")
        return json.dumps({"epoch": self.marker})

    def describe(self, parts: str, _settings: object) -> str:
        wanted = [part["id"] for part in json.loads(parts)]
        return json.dumps(
            {
                name: {"state": state, "producer": 7, "epoch": 3}
                for name, state in self.states.items()
                if name in wanted
            }
        )

    def commitParts(self, parts: str, _settings: object) -> None:
        self.asked.append(f"commit {','.join(part['id'] for part in json.loads(parts))}")

    def abortParts(self, parts: str, _settings: object) -> None:
        self.asked.append(f"abort {','.join(part['id'] for part in json.loads(parts))}")

    def mark(self, _spark_dir: str, _query: str, epoch: int) -> None:
        self.asked.append(f"mark {epoch}")

    def endOthers(self, *_: object) -> None:
        self.asked.append("end others")

    def close(self, _spark_dir: str) -> None:
        self.asked.append("close")


def checkpoint_at(directory: Path, *, committed: int, prepared: str | None) -> Checkpoint:
    """Return one that has planned epoch 5."""
    checkpoint = Checkpoint(directory / "orders")
    for log, last in (("offsets", 5), ("commits", committed)):
        (checkpoint.spark_dir / log).mkdir(parents=True)
        for number in range(last + 1):
            (checkpoint.spark_dir / log / str(number)).write_text("v2\n{}")
    (checkpoint.spark_dir / "metadata").write_text(json.dumps({"id": QUERY}))
    if prepared is not None:
        prepared_path(checkpoint.directory, 5).write_text(prepared)
    return checkpoint


def opened(
    checkpoint: Checkpoint, states: dict[str, str], parts: tuple[str, ...] = ("a", "b")
) -> Coordinator:
    """Start after a marker of epoch 5 that names `parts`."""
    named = [{"id": name, "producer": 7, "epoch": 3} for name in parts]
    kernel = Coordinator({"query": QUERY, "epoch": 5, "parts": named}, states)
    Transactions(kernel, {}, checkpoint, "orders").open("here", clustered=True)
    return kernel


def test_open_transactions_are_committed_before_the_epoch_ends(tmp_path: Path) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=4, prepared="v2\n{}")

    kernel = opened(checkpoint, {"a": "CompleteCommit", "b": "Ongoing"})

    assert kernel.asked == ["open", "commit a,b", "mark 5", "end others"]
    assert last_committed(checkpoint) == 5


def test_an_epoch_of_which_nothing_was_seen_is_taken_back_and_computed_again(
    tmp_path: Path,
) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=4, prepared="v2\n{}")

    kernel = opened(checkpoint, {"a": "CompleteAbort", "b": "Ongoing"})

    assert kernel.asked == ["open", "abort b", "mark 4", "end others"]
    assert last_committed(checkpoint) == 4


@pytest.mark.parametrize(
    "states", [{"a": "CompleteCommit", "b": "CompleteAbort"}, {"a": "CompleteCommit"}]
)
def test_an_epoch_that_was_seen_in_part_and_lost_in_part_is_refused(
    tmp_path: Path, states: dict[str, str]
) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=4, prepared="v2\n{}")

    with pytest.raises(CheckpointMismatch, match="results of epoch 5 were lost") as refused:
        opened(checkpoint, states)

    assert "a committed, b " in refused.value.detail
    assert last_committed(checkpoint) == 4
    assert prepared_path(checkpoint.directory, 5).is_file(), "it can be brought to an end by hand"


def test_fenced_transactions_are_not_queried_if_the_epoch_is_done(tmp_path: Path) -> None:
    checkpoint = checkpoint_at(tmp_path, committed=5, prepared=None)

    kernel = opened(checkpoint, {"a": "Empty", "b": "Empty"})

    assert kernel.asked == ["open", "mark 5", "end others"]


def test_a_flipped_bit_in_what_is_to_be_put_down_is_refused_before_anybody_is_fenced(
    tmp_path: Path,
) -> None:
    entry = "v2\n{}"
    head = f"duolog-prepared 1 {'0' * 64}"
    checkpoint = checkpoint_at(tmp_path, committed=4, prepared=f"{head}\n{entry}")
    kernel = Coordinator({"query": QUERY, "epoch": 5}, {})

    with pytest.raises(CheckpointDamaged, match=r"prepared\.5.*is damaged"):
        Transactions(kernel, {}, checkpoint, "orders").open("here", clustered=False)

    assert kernel.asked == []
    assert last_committed(checkpoint) == 4
