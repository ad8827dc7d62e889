"""Resolve topic patterns: which existing topics match when an application starts.

    sources of a spec                                      what the kernel gets
    {topic: "orders-.*"}  ─▶  orders-eu, orders-us  ─▶  {topic: "orders-eu", input: "orders-.*"}, …

All topics of a pattern are one Kafka source in Spark, and the checkpoint is bound to the number and
order of sources. So a new topic joins at the next start, from its first record.
"""

from collections.abc import Iterable, Mapping, Sequence

from duolog.core.errors import ConfigError
from duolog.engine.errors import SourceTopicMissing
from duolog.engine.json_object import Json
from duolog.plan.nodes import Plan


def matched_topics(
    plan: Plan, there: Iterable[str], application_id: str
) -> dict[str, tuple[str, ...]]:
    """Return the topics that each pattern of `plan` matches among those that exist.

    Internal topics, which begin with two underscores, match no pattern.

    Raises:
        SourceTopicMissing: no topic matches a pattern.
        ConfigError: a topic matches two patterns.
    """
    names = sorted(name for name in there if not name.startswith("__"))
    found: dict[str, tuple[str, ...]] = {}
    for source in plan.sources:
        if source.is_pattern:
            found[source.topic] = tuple(name for name in names if source.reads_topic(name))
            if not found[source.topic]:
                raise SourceTopicMissing(
                    f'no topic matches pattern "{source.topic}"',
                    query_id=application_id,
                    hint="Create one; topics created later join at the next start.",
                )
    _ensure_apart(found)
    return found


def topics_read(plan: Plan, matched: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of the topics that `plan` reads, without duplicates."""
    names = (matched.get(source.topic, (source.topic,)) for source in plan.sources)
    return list(dict.fromkeys(name for of_source in names for name in of_source))


def _ensure_apart(found: Mapping[str, Sequence[str]]) -> None:
    first: dict[str, str] = {}
    for pattern, topics in found.items():
        for topic in topics:
            if first.setdefault(topic, pattern) != pattern:
                raise ConfigError(
                    f'topic "{topic}" matches two patterns, "{first[topic]}" and "{pattern}"',
                    hint="Make the patterns match different topics: a topic is read only once.",
                )


def with_topics(sources: Sequence[Json], matched: Mapping[str, Sequence[str]]) -> list[Json]:
    """Return the sources of a spec, with a source for each topic of a pattern."""
    found: list[Json] = []
    for source in sources:
        pattern = source["topic"]
        for topic in matched.get(pattern, (pattern,)):
            given = {"input": pattern} if pattern in matched else {}
            found.append({**source, "id": len(found), "topic": topic, **given})
    return found
