"""The transactions of executors that make up an epoch on a cluster, and their recovery after a crash.

A marker decides that an epoch counts, and names its transactions; then they are committed one by
one. So a start that finds the marker but not Spark's entry asks their coordinators for their
states:

    all open or committed        the rest is committed: the epoch counts
    some ended, none committed   the open ones are aborted: the epoch is computed again
    some ended, some committed   refused: readers have seen a part of the epoch's results, the rest is lost

A broker ends a transaction by itself after `transaction.timeout.ms`: after a crash in these
milliseconds and a pause longer than that. A transaction that the broker no longer knows, after a
week, counts both as ended and as committed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

Json = Mapping[str, Any]
State = Literal["open", "committed", "ended", "forgotten"]
Outcome = Literal["commit", "again", "lost"]


@dataclass(frozen=True, slots=True)
class ExecutorTransaction:
    """A transaction of one executor: its transactional id, and the producer that wrote in it."""

    id: str
    producer: int
    epoch: int

    @classmethod
    def parse(cls, found: Json) -> Self:
        return cls(str(found["id"]), int(found["producer"]), int(found["epoch"]))

    def state(self, known: Json | None) -> State:
        """Return its state, given what its coordinator reports: `state` in Kafka's terms, `producer` and `epoch`."""
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


def states_of(parts: Iterable[ExecutorTransaction], known: Mapping[str, Json]) -> dict[str, State]:
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
