"""The topics of a spec by their use, and whether its nodes print or call Python functions."""

from duolog.engine.json_object import Json


def written_topics(spec: Json, dead_letter_topic: str | None) -> list[str]:
    """Return the topics that a query writes to, except those that records choose themselves."""
    sinks = [sink["topic"] for sink in spec["sinks"] if not sink.get("call")]
    return sinks if dead_letter_topic is None else [*sinks, dead_letter_topic]


def global_topics(spec: Json) -> set[str]:
    """Return the topics of global tables, whose records go to every task."""
    nodes = spec["nodes"].items()
    routes = {number for number, node in nodes if node.get("everywhere", False)}
    return {
        source["topic"] for source in spec["sources"] if routes & set(map(str, source["children"]))
    }


def inputs(spec: Json) -> list[list[str]]:
    """Return the topics of each of Spark's Kafka sources: one topic, or those of a pattern."""
    found: dict[str, list[str]] = {}
    for source in spec["sources"]:
        topics = found.setdefault(source.get("input", source["topic"]), [])
        if source["topic"] not in topics:
            topics.append(source["topic"])
    return list(found.values())


def is_table(spec: Json, topic: str) -> bool:
    """Return whether all readers of the topic read it as a table."""
    return all(source["table"] for source in spec["sources"] if source["topic"] == topic)


def prints_records(spec: Json) -> bool:
    """Return whether the topology prints records."""
    return any(node["kind"] == "print" for node in spec["nodes"].values())


def calls_python(spec: Json) -> bool:
    """Return whether Python functions, which may print, run in processes next to the kernel."""
    return bool(spec.get("functions"))
