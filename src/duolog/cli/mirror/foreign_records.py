"""Find records of other programs in the partitions that the mirror writes to.

A plan is checked when it is made: no record may follow those that the mirror has copied. From then
on, `Copier` checks the offsets of what it writes: between two of its transactions there is only the
marker of the first one.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka.admin import AdminClient

from duolog.cli.errors import MirrorConflict
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import EARLIEST, Offsets, Place
from duolog.cli.mirror.committed_records import Range, read_committed, read_ends

MARKER: Final = 1
"""The number of offsets between the records of two transactions."""


def ensure_unmixed(client: AdminClient, target: Cluster, nexts: Offsets) -> None:
    """Ensure that partitions of the target have no committed records from given offsets on.

    Raises:
        MirrorConflict: another program has written records.
    """
    with target.errors("read the offsets of topics"):
        ends = read_ends(client, target, nexts)
    ensure_no_records(client, target, {place: (at, ends[place]) for place, at in nexts.items()})


def ensure_no_records(client: AdminClient, target: Cluster, ranges: Mapping[Place, Range]) -> None:
    """Ensure that ranges of the target's partitions have no committed records.

    Raises:
        MirrorConflict: they have, or they contain an open transaction of another program.
    """
    with target.errors("look for records of other programs"):
        first = read_ends(client, target, ranges, EARLIEST)
        stable = read_ends(client, target, ranges)
        for (topic, number), (_, end) in ranges.items():
            if stable[topic, number] < end:
                raise written_by_others(
                    f'partition {number} of topic "{topic}"',
                    f"(open transaction at offset {stable[topic, number]})",
                )
        found = {place: (max(first[place], at), end) for place, (at, end) in ranges.items()}
        for records in read_committed(target, found):
            for (topic, number), message in records:
                raise written_by_others(
                    f'partition {number} of topic "{topic}"', f"(offset {message.offset()})"
                )


def written_by_others(what: str, when: str) -> MirrorConflict:
    return MirrorConflict(
        f"{what} of the target was written to by another program {when}",
        hint="Mirror into topics that no other program writes to. To start over, delete the topic "
        "on the target, or leave it out with --topics.",
    )
