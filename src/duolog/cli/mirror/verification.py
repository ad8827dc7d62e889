"""Compare the records of the target with the progress of the mirror."""

from collections.abc import Iterable
from typing import cast

from confluent_kafka.admin import AdminClient

from duolog.cli.errors import MirrorMismatch
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import EARLIEST, Offsets, Place
from duolog.cli.mirror.checksum import Headers, add_record
from duolog.cli.mirror.committed_records import read_committed, read_ends
from duolog.cli.mirror.copier import written_by_others
from duolog.cli.mirror.progress import Progress


def ensure_unmixed(
    client: AdminClient, target: Cluster, progress: Progress, places: Iterable[Place]
) -> None:
    """Ensure that the target's partitions have no records after those that the mirror copied.

    Raises:
        MirrorConflict: another program has written records.
    """
    found = list(places)
    with target.errors("read the target's topics"):
        first = read_ends(client, target, found, EARLIEST)
        ends = read_ends(client, target, found)
        ranges = {
            place: (max(first[place], progress.partition(place).target_next), ends[place])
            for place in found
        }
        for records in read_committed(target, ranges):
            for (topic, number), message in records:
                raise written_by_others(
                    f'partition {number} of topic "{topic}"',
                    f"(offset {message.offset()})",
                )


def verify(
    client: AdminClient, target: Cluster, progress: Progress, places: Iterable[Place]
) -> Offsets:
    """Read the copied records again, compare counts and checksums; return the ends that were read.

    Raises:
        MirrorMismatch: a partition contains other records than its source.
    """
    found = list(places)
    with target.errors("verify the target's records"):
        ends = read_ends(client, target, found)
        ranges = {place: (progress.partition(place).checked_to, ends[place]) for place in found}
        counts, checksums = dict.fromkeys(found, 0), dict.fromkeys(found, 0)
        for records in read_committed(target, ranges):
            for place, message in records:
                counts[place] += 1
                headers = cast("Headers", message.headers() or [])
                checksums[place] = add_record(
                    checksums[place],
                    message.key(),
                    message.value(),
                    message.timestamp()[1],
                    headers,
                )
    for place in found:
        at = progress.partition(place)
        if (counts[place], checksums[place]) != (at.records, at.checksum):
            raise MirrorMismatch(
                f'partition {place[1]} of topic "{place[0]}" differs from its source',
                detail=f"Copied: {at.records} records, checksum {at.checksum:08x}. Found on the "
                f"target: {counts[place]} records, checksum {checksums[place]:08x}.",
                hint="Check that no other program writes to the topic or deletes its records. Then "
                "delete the topic on the target and run the same command again.",
            )
    return ends
