"""Wait for the open transactions of the source, whose records cannot be copied yet.

    offset   0 1 2 3 4 5 6
    record   a a b a b C .       (a open, b committed by the marker C)
             ^ last stable offset        ^ high watermark

Records of other transactions after the last stable offset wait, too. A transaction of a killed
producer ends when its timeout has passed, and the broker aborts it.
"""

import time
from collections.abc import Callable, Collection
from threading import Event
from typing import Final

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient

from duolog.cli.errors import MirrorIncomplete
from duolog.cli.kafka.cluster import Cluster
from duolog.cli.kafka.topics import Offsets, Place
from duolog.cli.mirror.committed_records import read_ends
from duolog.core.counts import counted

WAIT_S: Final = 90.0
"""Longer than the default `transaction.timeout.ms` and the broker's interval for the check."""
_PAUSE_S: Final = 0.5
_NAMES_MAX: Final = 5


def read_high_watermarks(
    client: AdminClient, cluster: Cluster, places: Collection[Place]
) -> Offsets:
    """Return the end of each partition, including open transactions."""
    with cluster.errors("read the offsets of topics"):
        return read_ends(client, cluster, places, isolation=IsolationLevel.READ_UNCOMMITTED)


def wait_until_stable(
    client: AdminClient,
    cluster: Cluster,
    wanted: Offsets,
    stopping: Event,
    say: Callable[[str], None],
) -> None:
    """Wait until all transactions before the given offsets have ended, at most `WAIT_S`."""
    deadline = time.monotonic() + WAIT_S
    waiting = wanted
    told = False
    while True:
        with cluster.errors("read the offsets of topics"):
            stable = read_ends(client, cluster, waiting)
        waiting = open_ranges(stable, waiting)
        if not waiting or stopping.is_set() or time.monotonic() >= deadline:
            return
        if not told:
            say(f"waiting up to {WAIT_S:.0f} s for open transactions in {_listed(stable, waiting)}")
            told = True
        stopping.wait(_PAUSE_S)


def open_ranges(stable: Offsets, wanted: Offsets) -> Offsets:
    """Return the partitions whose last stable offset is before a given offset."""
    return {place: end for place, end in wanted.items() if stable[place] < end}


def ensure_stable(stable: Offsets, wanted: Offsets) -> None:
    """Ensure that everything before the given offsets could be copied.

    Raises:
        MirrorIncomplete: open transactions have prevented it.
    """
    if waiting := open_ranges(stable, wanted):
        count = sum(end - stable[place] for place, end in waiting.items())
        raise MirrorIncomplete(
            f"{counted(count, 'offset')} in {counted(len(waiting), 'partition')} of the source not "
            "copied, because of an open transaction",
            detail=f"{_listed(stable, waiting)}. Groups and settings were not moved.",
            hint="Stop the producer of the transaction, or wait until the broker has aborted it. "
            "Then run the same command again: it continues.",
        )


def _listed(stable: Offsets, waiting: Offsets) -> str:
    listed = [
        f"{topic}-{number} from offset {stable[topic, number]} ({end - stable[topic, number]})"
        for (topic, number), end in sorted(waiting.items())
    ]
    more = len(listed) - _NAMES_MAX
    return ", ".join(listed[:_NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
