"""Records of topics, as the reference implementation reads and writes them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from duolog.plan.cutting.levels import Ingress
from duolog.testing.reference.evaluation import Headers


class SourceRecord(NamedTuple):
    """A record in a topic."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class SinkRecord(NamedTuple):
    """A record for a topic. `task` wrote it; in an ingress, this is the source's partition."""

    topic: str
    task: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    """The partition that it chose; None: that of its key."""


def latest(written: Iterable[SinkRecord], topic: str) -> dict[bytes | None, bytes]:
    """Return the table that results from the changelog in `topic`: the latest value of each key."""
    table: dict[bytes | None, bytes] = {}
    for record in written:
        if record.topic == topic and record.value is None:
            table.pop(record.key, None)
        elif record.topic == topic and record.value is not None:
            table[record.key] = record.value
    return table


def topics_read(ingresses: Iterable[Ingress], topics: Sequence[str]) -> list[str]:
    """Return the topics with records, in the order of the sources that read them."""
    read = (filter(ingress.source.reads_topic, topics) for ingress in ingresses)
    return list(dict.fromkeys(topic for of_source in read for topic in of_source))


def by_topic_and_partition(
    records: Iterable[SourceRecord],
) -> dict[str, dict[int, list[SourceRecord]]]:
    found: dict[str, dict[int, list[SourceRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in sorted(records, key=lambda record: (record.partition, record.offset)):
        found[record.topic][record.partition].append(record)
    return found
