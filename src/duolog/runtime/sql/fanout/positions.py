"""Positions in a topic: for each partition, the offset of the next record.

    offset      next record to read
    given       rows of that record that the client already has

A record has several rows if the query has a table function, such as EXPLODE.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Positions = Mapping[int, int]
"""Next offset by partition."""
Mark = tuple[int, int]
"""Partition and offset of the record of a row."""


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a client in the rows of a query."""

    offsets: Positions
    given: Positions = field(default_factory=dict)
    """Number of rows that the client has of the next record, by partition, if not 0."""


def latest(one: Positions, other: Positions) -> dict[int, int]:
    """Return the greater offset of each partition."""
    return {at: max(one.get(at, 0), other.get(at, 0)) for at in {**one, **other}}


def reaches(one: Positions, other: Positions) -> bool:
    """Return true if `one` is at or after `other` in each partition of `other`."""
    return all(one.get(at, 0) >= offset for at, offset in other.items())
