"""The setting `default.timestamp.extractor`, for sources that do not specify an extractor."""

from typing import Final

from duolog.engine.json_object import Json

PREFIX: Final = "org.apache.kafka.streams.processor."
EXTRACTORS: Final = {
    "FailOnInvalidTimestamp": "fail",
    "LogAndSkipOnInvalidTimestamp": "skip",
    "UsePartitionTimeOnInvalidTimestamp": "partition_time",
    "WallclockTimestampExtractor": "",
}
"""The handling of invalid timestamps; with the wall clock there are none."""


def with_default_extractor(sources: list[Json], extractor: str) -> list[Json]:
    """Return the sources of a spec with this extractor, unless they have their own."""
    if not extractor:
        return sources
    name = extractor.removeprefix(PREFIX)
    if name == "WallclockTimestampExtractor":
        return [{"timestamp": "duolog_wall_clock(`offset`)", **source} for source in sources]
    return [{"invalid_timestamp": EXTRACTORS[name], **source} for source in sources]
