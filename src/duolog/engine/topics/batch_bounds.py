"""Bound the records that a micro-batch reads of each topic, so that it fits the JVM's memory.

Spark bounds a micro-batch in records and not in bytes, but a task holds its part of one in memory
while it merges its inputs: 200,000 records of 3.5 KB ended a JVM of 2 GiB. So the bound in records
is computed from the bytes of sampled records:

    bytes of a micro-batch ─▶ shared among topics by their backlogs ─▶ ÷ mean bytes of a topic's
    records

A topic gets at least a quarter of an even share, however small its backlog. If no record of a topic
can be sampled, its records are assumed to be large: many small micro-batches are slow, but one that
is too large ends the JVM. A query that such a guess slows down, or whose records grow later,
restarts with new bounds.

Bounds per topic can let a short topic run ahead of a long one by hours of event time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from duolog.core.units import KIB

UNKNOWN_RECORD_BYTES: Final = 16 * KIB


@dataclass(frozen=True, slots=True)
class Backlog:
    """The backlog of a topic: the number of records, and their mean size in bytes (0: unknown)."""

    records: int
    mean_bytes: float


def records_max_by_topic(
    backlogs: Mapping[str, Backlog],
    *,
    records_max: int,
    bytes_max: int,
    unknown_bytes: float = UNKNOWN_RECORD_BYTES,
) -> dict[str, int]:
    """Return how many records of each topic together fit into `bytes_max`; at least one of each.

    `unknown_bytes` is the assumed size of records that could not be sampled.

    Example:
        >>> large, small = Backlog(1_000_000, 4000), Backlog(10, 100)
        >>> records_max_by_topic({"a": large, "b": small}, records_max=500_000, bytes_max=4_000_000)
        {'a': 999, 'b': 5000}
    """
    means = {topic: known.mean_bytes or unknown_bytes for topic, known in backlogs.items()}
    total = sum(backlog.records * means[topic] for topic, backlog in backlogs.items())
    found = {}
    for topic, backlog in backlogs.items():
        share = backlog.records * means[topic] / total if total else 1 / len(backlogs)
        bytes_of_topic = bytes_max * max(share, 1 / (4 * len(backlogs)))
        found[topic] = max(1, min(records_max, int(bytes_of_topic / means[topic])))
    return found
