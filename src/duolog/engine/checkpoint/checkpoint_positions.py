"""Offsets of source topics, as a checkpoint keeps them: in Spark's log of offsets, and beside it."""

import json
from pathlib import Path
from typing import Any

from duolog.engine.lowering.ticks import TICKS
from duolog.engine.topics.topic_reader import EndOffsets

Json = dict[str, Any]


def starts_in(pin: Json) -> dict[str, dict[int, int]]:
    """Return the offsets that `as_kept` has made of those where a checkpoint began."""
    return {
        topic: {int(partition): offset for partition, offset in offsets.items()}
        for topic, offsets in pin.get("starts", {}).items()
        if topic != TICKS  # An upgrade has kept its offset once.
    }


def positions_of_last(
    spark_dir: Path, log: str, starts: dict[str, dict[int, int]]
) -> dict[str, dict[int, int]]:
    """Return where sources go on behind the last entry of one of Spark's logs, `offsets` or `commits`; else `starts`."""
    try:
        last = max(int(path.name) for path in (spark_dir / log).iterdir() if path.name.isdigit())
        return positions_in((spark_dir / "offsets" / str(last)).read_text(), starts)
    except (OSError, ValueError):
        return starts


def positions_in(entry: str, before: EndOffsets) -> dict[str, dict[int, int]]:
    """Return where sources go on behind an entry of Spark's log of offsets: the furthest of it and of `before`.

    Raises:
        ValueError: a line is no JSON.
    """
    # A version, metadata, then a line for each source; "-" where it has nothing yet.
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
    """Return offsets as JSON has them, whose keys are texts."""
    return {topic: {str(n): at for n, at in of.items()} for topic, of in offsets.items()}
