"""The setting `default.timestamp.extractor`: what holds for sources that say nothing themselves."""

from typing import Any, Final

PREFIX: Final = "org.apache.kafka.streams.processor."
EXTRACTORS: Final = {
    "FailOnInvalidTimestamp": "fail",
    "LogAndSkipOnInvalidTimestamp": "skip",
    "UsePartitionTimeOnInvalidTimestamp": "partition_time",
    "WallclockTimestampExtractor": "",
}
"""What becomes of invalid timestamps; of the wall clock none is."""


def with_default_extractor(sources: list[dict[str, Any]], extractor: str) -> list[dict[str, Any]]:
    """Return the sources of a spec with this extractor where they have none of their own."""
    if not extractor:
        return sources
    name = extractor.removeprefix(PREFIX)
    if name == "WallclockTimestampExtractor":
        return [{"timestamp": "duolog_wall_clock(`offset`)", **source} for source in sources]
    return [{"invalid_timestamp": EXTRACTORS[name], **source} for source in sources]
