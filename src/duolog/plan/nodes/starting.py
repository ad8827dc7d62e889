"""Checks of sources that share a topic, which is read once: with one start and subscription."""

from collections.abc import Iterable, Mapping

from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes.topics import Source


def ensure_one_start(sources: Iterable[Source], places: Mapping[str, str]) -> None:
    """Raise a StatementError if two sources of one topic have different start positions."""
    first: dict[str, Source] = {}
    for source in sources:
        other = first.setdefault(source.topic, source)
        if other.start != source.start:
            raise InvalidPlan(
                f'topic "{source.topic}" has two start positions',
                detail="A topic is read once: one source is "
                f'"{other.action}", the other "{source.action}".',
                hint="Use the same start= for all of them.",
                place=places.get(source.name, ""),
            )


def ensure_one_name(sources: Iterable[Source], places: Mapping[str, str]) -> None:
    """Raise a StatementError if a topic is read both by name and by a matching pattern."""
    known = list(sources)
    for pattern in (source for source in known if source.is_pattern):
        for source in known:
            if not source.is_pattern and pattern.reads_topic(source.topic):
                raise InvalidPlan(
                    f'topic "{source.topic}" matches pattern "{pattern.topic}" and is also read by '
                    "its name",
                    detail="A topic is read once, in one way.",
                    hint="Change the pattern so that it does not match this topic, or filter by "
                    "topic().",
                    place=places.get(pattern.name, ""),
                )
