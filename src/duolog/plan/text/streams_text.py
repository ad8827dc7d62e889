"""Renders a plan like Kafka Streams' `Topology.describe()`, as the topology that would run there.

    Topologies:
       Sub-topology: 0
        Source: stream-1 (topics: [visits])
          --> aggregate-3
        Processor: aggregate-3 (stores: [aggregate-3-store])
          --> sink-4
          <-- stream-1
        Sink: sink-4 (topic: visits-by-user)
          <-- aggregate-3

Nodes that feed each other, or share a store, are a sub-topology. If records must change their task,
there is a sink to a repartition topic, and a source that reads it. Names are Duolog's. A call for
which Kafka Streams creates several nodes, or none, is one node here; so is a print.

Source: Kafka Streams `InternalTopologyBuilder`, `TopologyDescription`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from duolog.plan.nodes import GroupBy, Node, Plan, Sink, Source, driving

_NOTHING: Final = "none"


@dataclass(eq=False)
class _Box:
    """A source, processor or sink of the text."""

    kind: str
    name: str
    detail: str
    stores: tuple[str, ...] = ()
    """The stores that it fills or reads."""
    before: list["_Box"] = field(default_factory=list)
    after: list["_Box"] = field(default_factory=list)


def describe_as_streams(plan: Plan) -> str:
    """Return the text; nodes are in the plan's order."""
    boxes = _boxes(plan)
    lines = ["Topologies:"]
    for number, together in enumerate(_subtopologies(boxes)):
        lines.append(f"   Sub-topology: {number}")
        for box in together:
            lines += _lines(box)
    return "\n".join(lines)


def _lines(box: _Box) -> Iterator[str]:
    yield f"    {box.kind}: {box.name} ({box.detail})"
    if box.kind != "Sink":
        yield f"      --> {_names(box.after)}"
    if box.kind != "Source":
        yield f"      <-- {_names(box.before)}"


def _names(boxes: Iterable[_Box]) -> str:
    return ", ".join(box.name for box in boxes) or _NOTHING


def _boxes(plan: Plan) -> list[_Box]:
    """Return a box for each node, with boxes for repartition topics between them."""
    found: list[_Box] = []
    ends: dict[Node, _Box] = {}
    shuffled: dict[tuple[Node, ...], _Box] = {}

    def add(box: _Box, *before: _Box) -> _Box:
        found.append(box)
        for other in before:
            box.before.append(other)
            other.after.append(box)
        return box

    def behind_topic(driver: Node, reader: Node) -> _Box:
        """Return the source of the repartition topic after `driver`, or the box of `driver`."""
        if not (reader.reshuffles or (reader.by_key and _has_new_key(driver))):
            return ends[driver]
        # The readers of a group share its topic; others have one each.
        way = (driver,) if isinstance(driver, GroupBy) else (driver, reader)
        if way not in shuffled:
            stem = reader.stores[0] if reader.stores else reader.name
            topic = f"{stem}-repartition"
            add(_Box("Sink", f"{topic}-sink", f"topic: {topic}"), ends[driver])
            shuffled[way] = add(_Box("Source", f"{topic}-source", f"topics: [{topic}]"))
        return shuffled[way]

    for node in plan.nodes:
        before = [behind_topic(driver, node) for driver in node.drivers]
        ends[node] = add(_box(node), *before)
        if isinstance(node, Source) and node.stores:
            stores = _stores(node)
            ends[node] = add(
                _Box("Processor", f"{node.name}-rows", _kept(stores), stores), ends[node]
            )
    return found


def _box(node: Node) -> _Box:
    match node:
        case Source(topic=topic):
            topics = topic if node.is_pattern else f"[{topic}]"
            return _Box("Source", node.name, f"topics: {topics}")
        case Sink(topic_of=None, topic=topic):
            return _Box("Sink", node.name, f"topic: {topic}")
        case Sink(topic_of=topic_of):
            return _Box("Sink", node.name, f"extractor: {topic_of}")
        case _:
            stores = _stores(node)
            return _Box("Processor", node.name, _kept(stores), stores)


def _stores(node: Node) -> tuple[str, ...]:
    looked_up = (store for table in node.tables for store in _kept_by(table))
    return tuple(dict.fromkeys((*node.stores, *looked_up)))


def _kept_by(table: Node) -> list[str]:
    """Return the stores in which a row of `table` is looked up."""
    above = driving(table, lambda one: bool(one.stores))
    return [store for one in above for store in one.stores]


def _kept(stores: tuple[str, ...]) -> str:
    return f"stores: [{', '.join(stores)}]"


def _has_new_key(node: Node) -> bool:
    """Return True if Kafka Streams would repartition `node`'s records to read them by key."""
    return any(one.rekeys for one in driving(node, lambda one: one.rekeys or one.by_key))


def _subtopologies(boxes: list[_Box]) -> list[list[_Box]]:
    """Return groups of boxes that feed each other or share a store, in order."""
    first: dict[_Box, _Box] = {box: box for box in boxes}

    def root(box: _Box) -> _Box:
        while first[box] is not box:
            box = first[box]
        return box

    by_store: dict[str, _Box] = {}
    for box in boxes:
        for other in (*box.before, *(by_store.setdefault(store, box) for store in box.stores)):
            one, two = sorted((root(box), root(other)), key=boxes.index)
            first[two] = one
    found: dict[_Box, list[_Box]] = {}
    for box in boxes:
        found.setdefault(root(box), []).append(box)
    return list(found.values())
