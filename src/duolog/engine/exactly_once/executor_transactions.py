"""The transactions of executors that make up an epoch on a cluster, and their recovery.

A marker decides that an epoch counts, and names its transactions; then they are committed one by
one. So a start that finds the marker but not Spark's entry asks their coordinators for their
states:

    all open or committed        the rest is committed: the epoch counts
    some ended, none committed   the open ones are aborted: the epoch is computed again
    some ended, some committed   refused: readers have seen some results, and the rest is lost

A broker ends a transaction by itself after `transaction.timeout.ms`: after a crash in these
milliseconds and a pause longer than that. A transaction that the broker no longer knows, after a
week, counts both as ended and as committed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self, TypedDict

State = Literal["open", "committed", "ended", "forgotten"]
Outcome = Literal["commit", "again", "lost"]


class Part(TypedDict):
    """A transaction in a marker."""

    id: str
    producer: int
    epoch: int


class Description(TypedDict):
    """The report of a transaction's coordinator, with Kafka's name of its state."""

    state: str
    producer: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ExecutorTransaction:
    """A transaction of one executor: its transactional id, and the producer that wrote in it."""

    id: str
    producer: int
    epoch: int

    @classmethod
    def parse(cls, found: Part) -> Self:
        return cls(str(found["id"]), int(found["producer"]), int(found["epoch"]))

    def state(self, known: Description | None) -> State:
        """Return its state, given what its coordinator reports; None if that is nothing."""
        if known is None:
            return "forgotten"
        match known["state"]:
            # The transactional id is used by this executor only, so it is this transaction that was
            # committed.
            case "CompleteCommit" | "PrepareCommit":
                return "committed"
            case "Ongoing" if (known["producer"], known["epoch"]) == (self.producer, self.epoch):
                return "open"
        return "ended"


def states_of(
    parts: Iterable[ExecutorTransaction], known: Mapping[str, Description]
) -> dict[str, State]:
    """Return the state of each transaction, by its id."""
    return {part.id: part.state(known.get(part.id)) for part in parts}


def outcome(states: Mapping[str, State]) -> Outcome:
    """Return what to do with transactions in these states.

    Example:
        >>> outcome({"a": "open", "b": "committed"}), outcome({"a": "open", "b": "ended"})
        ('commit', 'again')
        >>> outcome({"a": "committed", "b": "ended"}), outcome({"a": "open", "b": "forgotten"})
        ('lost', 'lost')
    """
    found = set(states.values())
    if found <= {"open", "committed"}:
        return "commit"
    return "again" if found <= {"open", "ended"} else "lost"
