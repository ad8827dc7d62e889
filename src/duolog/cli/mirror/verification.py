"""Compare the records of the target with the progress of the mirror."""

import time
from collections.abc import Collection, Iterable
from typing import Final

from confluent_kafka.admin import AdminClient

from duolog.cli.errors import MirrorMismatch
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import EARLIEST, Offsets, Place
from duolog.cli.mirror.checksum import add_record
from duolog.cli.mirror.committed_records import read_committed, read_ends
from duolog.cli.mirror.headers import read_headers
from duolog.cli.mirror.progress import Progress
from duolog.core.counts import counted
from duolog.core.errors import KafkaError

_MARKERS_S: Final = 60.0
_PAUSE_S: Final = 0.1
_TIMED_OUT: Final = 7


def verify(
    client: AdminClient, target: Cluster, progress: Progress, places: Iterable[Place]
) -> Offsets:
    """Read the copied records again, compare counts and checksums; return the ends that were read.

    Raises:
        MirrorMismatch: a partition contains other records than its source.
        KafkaError: a partition cannot be read, or a transaction on it does not end.
    """
    found = list(places)
    with target.errors("verify the copied records"):
        ends = _stable_ends(client, target, progress, found)
        first = read_ends(client, target, found, EARLIEST)
        ranges = {
            place: (max(first[place], progress.partition(place).checked_to), ends[place])
            for place in found
        }
        counts, checksums = dict.fromkeys(found, 0), dict.fromkeys(found, 0)
        for records in read_committed(target, ranges):
            for place, message in records:
                counts[place] += 1
                checksums[place] = add_record(
                    checksums[place],
                    message.key(),
                    message.value(),
                    message.timestamp()[1],
                    read_headers(message),
                )
    for place in found:
        at = progress.partition(place)
        if (counts[place], checksums[place]) != (at.records, at.checksum):
            raise MirrorMismatch(
                f'partition {place[1]} of topic "{place[0]}" differs from its source',
                detail=f"Copied: {counted(at.records, 'record')}, checksum "
                f"{at.checksum:08x}. Found on the "
                f"target: {counted(counts[place], 'record')}, checksum {checksums[place]:08x}.",
                hint="Check that no other program writes to the topic or deletes its records. Then "
                "delete the topic on the target and run the same command again.",
            )
    return ends


def _stable_ends(
    client: AdminClient, target: Cluster, progress: Progress, places: Collection[Place]
) -> Offsets:
    """Return the ends of the partitions when they are after all copied records.

    Apache Kafka answers a commit before it writes the markers, which make the records readable.
    """
    deadline = time.monotonic() + _MARKERS_S
    while True:
        ends = read_ends(client, target, places)
        early = [place for place in places if ends[place] <= progress.partition(place).target_next]
        if not early:
            return ends
        if time.monotonic() > deadline:
            topic, number = early[0]
            raise KafkaError(
                f'partition {number} of topic "{topic}" of the target still has an open '
                "transaction",
                code=_TIMED_OUT,
                retriable=True,
                detail=f"It can be read up to offset {ends[early[0]]}.",
                hint="Check that no other program writes to the topic. Then run the same command "
                "again: it continues.",
            )
        time.sleep(_PAUSE_S)
