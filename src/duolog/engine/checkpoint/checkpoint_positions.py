"""Offsets of source topics in a checkpoint: in Spark's log, and in the pinned facts."""

import json
from pathlib import Path

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.ticks import TICKS
from duolog.engine.topics.offsets import EndOffsets


def starts_in(pin: Json) -> dict[str, dict[int, int]]:
    """Return the start positions of a checkpoint, converted back from `as_kept`."""
    return {
        topic: {int(partition): offset for partition, offset in offsets.items()}
        for topic, offsets in pin.get("starts", {}).items()
        if topic != TICKS  # An earlier version stored the offset of ticks in an upgrade.
    }


def positions_of_last(
    spark_dir: Path, log: str, starts: dict[str, dict[int, int]]
) -> dict[str, dict[int, int]]:
    """Return the positions after the last entry of a log, `offsets` or `commits`, of Spark's.

    Without entries, `starts`.
    """
    try:
        last = max(int(path.name) for path in (spark_dir / log).iterdir() if path.name.isdigit())
        return positions_in((spark_dir / "offsets" / str(last)).read_text(), starts)
    except (OSError, ValueError):
        return starts


def positions_in(entry: str, before: EndOffsets) -> dict[str, dict[int, int]]:
    """Return the positions after an entry of Spark's log of offsets, but not before `before`.

    Raises:
        ValueError: a line is not JSON.
    """
    # A version, metadata, then a line for each source; "-" if it has no offsets yet.
    lines = entry.splitlines()[2:]
    sources = [json.loads(line) for line in lines if line.startswith("{")]
    positions = {topic: dict(offsets) for topic, offsets in before.items()}
    for topic, partitions in (item for source in sources for item in source.items()):
        if topic == TICKS:
            continue
        furthest = positions.setdefault(topic, {})
        for partition, offset in partitions.items():
            furthest[int(partition)] = max(int(offset), furthest.get(int(partition), 0))
    return positions


def as_kept(offsets: EndOffsets) -> dict[str, dict[str, int]]:
    """Convert offsets to JSON form, whose keys are strings."""
    return {topic: {str(n): at for n, at in of.items()} for topic, of in offsets.items()}
