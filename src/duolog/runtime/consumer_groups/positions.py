"""Ends of partitions, and the time of the first record from an offset on.

Kafka has no request for the time of an offset: the record is read (`runtime.sql.figures.unread`).
That costs a fetch for each partition with a lag, so a call looks at a bounded number of them,
the most delayed ones first.

Threads: any; calls block, and wait for each other.
"""

from collections.abc import Collection, Mapping
from threading import Lock
from typing import Final

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from duolog.runtime.consumer_groups.connections import Connections
from duolog.runtime.consumer_groups.metadata import Metadata, Place
from duolog.runtime.renewed_admin import STALE
from duolog.runtime.sql.figures.unread import NO_RECORD, UnreadOnBroker
from duolog.security.clients.brokers import Brokers

EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final[OffsetSpec] = OffsetSpec.latest()  # type: ignore[no-untyped-call]
Behind = Mapping[tuple[Place, int], int]
"""The end of each partition by partition and position."""
_TIMEOUT_S: Final = 10.0
_READ_MAX: Final = 200
_TURNS_MAX: Final = 3
"""Groups at different positions of one partition are looked at in turns."""


class Positions:
    """Answers questions about offsets of a cluster."""

    def __init__(self, brokers: Brokers, connections: Connections) -> None:
        self._connections = connections
        self._unread = UnreadOnBroker(brokers)
        self._lock = Lock()

    def metadata(self) -> Metadata:
        """Return brokers and leaders; raises as `read_metadata`."""
        return self._connections.metadata()

    def offsets(self, places: Collection[Place], spec: OffsetSpec) -> dict[Place, int]:
        """Return the offset of each partition that its leader reports; others are missing.

        A time after the last record has the offset -1.
        """
        if not places:
            return {}
        found, stale = self._ask(places, spec)
        if stale:
            self._connections.admin.renew()
            found |= self._ask(stale, spec)[0]
        return found

    def _ask(
        self, places: Collection[Place], spec: OffsetSpec
    ) -> tuple[dict[Place, int], set[Place]]:
        answers = self._connections.admin.client.list_offsets(
            {TopicPartition(*place): spec for place in places},
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=_TIMEOUT_S,
        )
        found: dict[Place, int] = {}
        stale: set[Place] = set()
        for at, answer in answers.items():
            place = (at.topic, at.partition)
            try:
                found[place] = answer.result(_TIMEOUT_S).offset
            except KafkaException as error:
                if error.args[0].code() in STALE:
                    stale.add(place)
            except TimeoutError:
                continue
        return found, stale

    def first_times(self, behind: Behind) -> dict[tuple[Place, int], int]:
        """Return the time in ms of the first committed record from each position on.

        `NO_RECORD` if there is none up to the end. Positions that were not looked at are missing.
        """
        largest = sorted(behind, key=lambda at: behind[at] - at[1], reverse=True)[:_READ_MAX]
        found: dict[tuple[Place, int], int] = {}
        with self._lock:
            for _ in range(_TURNS_MAX):
                turn: dict[Place, int] = {}
                for place, position in largest:
                    if (place, position) not in found:
                        turn.setdefault(place, position)
                if not turn:
                    break
                ends = {place: behind[place, position] for place, position in turn.items()}
                times = self._unread.first_timestamps(turn, ends)
                found |= {(place, turn[place]): time_ms for place, time_ms in times.items()}
        return found

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._unread.close()


__all__ = ["EARLIEST", "LATEST", "NO_RECORD", "Behind", "Positions"]
