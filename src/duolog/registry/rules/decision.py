"""The result of a write: the answer, and the records that make it true."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from duolog.registry.records import Record

A_co = TypeVar("A_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Decision(Generic[A_co]):
    """An accepted write.

    The caller appends `records`, all or none, replays them, and sends `answer` then. Without
    records the answer can be sent at once. Nothing has changed yet: a decision that is not
    appended is as if it had never been made.
    """

    answer: A_co
    records: tuple[Record, ...] = ()
