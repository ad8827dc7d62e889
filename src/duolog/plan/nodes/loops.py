"""Detects topics that feed themselves: records read from them cause records written to them."""

from collections.abc import Iterable, Mapping

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.topics import Sink, Source


def ensure_no_loop(sinks: Iterable[Sink], places: Mapping[str, str]) -> None:
    """Raise a StatementError if a topic feeds itself and no sink on the way permits it.

    A table that is only looked up feeds nothing: its records cause no others.
    """
    sinks = list(sinks)
    written = {topic for sink in sinks for topic in sink.topics}
    fed_by: dict[str, set[str]] = {}
    for sink in sinks:
        for topic in () if sink.loop else sink.topics:
            fed_by.setdefault(topic, set()).update(_topics_above(sink, written))
    for sink in sinks:
        for topic in sink.topics:
            way = None if sink.loop else _way_back(topic, fed_by)
            if way is not None:
                raise InvalidPlan(
                    f'topic "{topic}" feeds itself',
                    detail=f"Records read from it are written back to it: {' → '.join(way)}. "
                    "Without a condition, a record would loop forever.",
                    hint=f'Write to another topic, or permit the loop: to("{topic}", loop=True).',
                    place=places.get(sink.name, ""),
                )


def _way_back(topic: str, fed_by: Mapping[str, set[str]]) -> list[str] | None:
    """Return the shortest path of topics from `topic` back to itself; None if there is none."""
    ways = [[topic]]
    seen: set[str] = set()
    for way in ways:
        for before in sorted(fed_by.get(way[0], ())):
            if before == topic:
                return [topic, *way]
            if before not in seen:
                seen.add(before)
                ways.append([before, *way])
    return None


def _topics_above(sink: Sink, written: Iterable[str]) -> set[str]:
    """Return the topics whose records cause a sink's; for patterns, the matches in `written`."""
    above = list(sink.drivers)
    for node in above:
        above += [driver for driver in node.drivers if driver not in above]
    sources = [node for node in above if isinstance(node, Source)]
    return {
        topic
        for source in sources
        for topic in (filter(source.reads_topic, written) if source.is_pattern else (source.topic,))
    }
