"""Builds the indexes of a segment from the positions of its batches."""

from typing import Final, NamedTuple

from duolog.log.segments.index import OffsetIndex, TimeIndex

NO_TIMESTAMP: Final = -1


class Place(NamedTuple):
    """The position of a batch in its segment."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    max_timestamp: int


class IndexBuilder:
    """Builds both indexes from batches in order, as appending them would have."""

    def __init__(self, base_offset: int, interval_bytes: int = 4096) -> None:
        self.offset_index = OffsetIndex()
        self.time_index = TimeIndex()
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self._base_offset = base_offset
        self._interval_bytes = interval_bytes
        self._last_position = 0

    def resume(self, offset_index: OffsetIndex, time_index: TimeIndex) -> None:
        """Go on from indexes that cover the batches so far."""
        self.offset_index, self.time_index = offset_index, time_index
        if offset_index:
            self._last_position = offset_index.positions[-1]
        if time_index:
            self.max_timestamp = time_index.timestamps[-1]
            self.max_timestamp_offset = self._base_offset + time_index.offsets[-1]

    def add(self, place: Place) -> None:
        if place.max_timestamp > self.max_timestamp:
            self.max_timestamp = place.max_timestamp
            self.max_timestamp_offset = place.last_offset
        if place.position - self._last_position > self._interval_bytes:
            self.offset_index.append(place.last_offset - self._base_offset, place.position)
            self.seal()
            self._last_position = place.position

    def seal(self) -> None:
        """Put the largest timestamp so far into the time index."""
        if self.max_timestamp != NO_TIMESTAMP:
            self.time_index.maybe_append(
                self.max_timestamp, self.max_timestamp_offset - self._base_offset
            )
