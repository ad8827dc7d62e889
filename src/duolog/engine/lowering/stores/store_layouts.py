"""The layouts of a lowered plan's stores: the part of a spec to which a checkpoint is bound.

    spec ─▶ walk from each source ─▶ columns in terms of topics ─▶ a layout for each store
                                     v1 ─▶ flights.delay

A store holds bytes by position. So its layout describes, in order, the content of each position and
how it is computed from the columns of topics, wherever the spec has moved these on the way. It also
describes where keys are stored: sub-topology, level, and the bytes that choose a task.

An aggregate may only take back what it once added: the layout of an aggregate over a table includes
the filters downstream of the previous store, and so does that of a copy of a table. An aggregate
over a stream takes nothing back, so filters upstream of it may change, unless its name is only its
position and another store would fit that position.

Layouts are derived from the kernel's spec, so that no stored column is left out; names are for
people. Expressions are compared by their pinned texts (`pinned_texts`): the spec must have been
lowered for that.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.spec.spec_graph import children_of, parents_first, subtopologies_of
from duolog.engine.lowering.spec.windows import laid_out
from duolog.engine.lowering.stores.record_steps import LEAVING, branched
from duolog.engine.lowering.stores.store_names import Names
from duolog.engine.lowering.stores.stored_rows import ROWS, fills_store
from duolog.engine.lowering.stores.traced_records import TracedRecord, one_or_other, united

# The maximum number of paths to a node that are described one by one. Repeated splits and merges
# have exponentially many.
_WAYS_MAX: Final = 64
FOR_PEOPLE: Final = ("names", "called", "results")
"""Parts of a layout for people; they are not compared."""
UNPINNED: Final = "unpinned_stores"
"""Part of a shape: its stores in the texts before pinned texts, if these differ. Never written."""


def shape_of(spec: Json, names: Names) -> Json:
    """Return the part of `spec` that state depends on; equal shapes can read each other's state."""
    walk = _Walk(spec, names)
    for place, (source, (keys, values)) in enumerate(
        zip(spec["sources"], names.sources, strict=True)
    ):
        topic = source["topic"]
        key, value = (tuple(f"{topic}.{name}" for name in part) for part in (keys, values))
        walk.leave(source, (place,), TracedRecord(key, value))
    walk.follow()
    return {
        "tasks": spec["tasks"],
        # Spark identifies a topic by its position in this list.
        "sources": list(dict.fromkeys(source["topic"] for source in spec["sources"])),
        "levels": len(spec["levels"]),
        "stores": walk.layouts(),
        # An additional source in Spark.
        **({"ticks": True} if "ticks" in spec else {}),
    }


_Way = tuple[int, ...]
"""The path of a record: its source, and the index of the child taken at each node."""


@dataclass(slots=True)
class _Walk:
    """Visits the nodes, parents first, with all records that arrive at each."""

    spec: Json
    names: Names
    stores: dict[str, Json] = field(default_factory=dict)
    by_place: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Stores over streams that are named after their position, and the filters upstream of them."""
    coming: dict[int, dict[TracedRecord, _Way]] = field(default_factory=dict)
    """The records that arrive at each node, and the first path of each."""

    def leave(self, parent: Json, way: _Way, record: TracedRecord) -> None:
        for place, child in enumerate(children_of(parent, self.spec)):
            coming = self.coming.setdefault(child, {})
            forwarded = branched(parent, place, record)
            coming[forwarded] = min((*way, place), coming.get(forwarded, (*way, place)))

    def follow(self) -> None:
        subtopologies = subtopologies_of(self.spec)
        kept: list[tuple[_Way, Json, TracedRecord, int]] = []
        for node_id in parents_first(self.spec):
            node = self.spec["nodes"][str(node_id)]
            for record, way in _ways(self.coming.pop(node_id, {})):
                if node["kind"] == "process":
                    self._keep_processor(node, record, subtopologies[node_id])
                elif fills_store(node):
                    assert node_id in subtopologies, f"{node['store']} is in front of the first cut"
                    kept.append((way, node, record, subtopologies[node_id]))
                self.leave(node, way, LEAVING[node["kind"]](node, record))
        for _, node, record, subtopology in sorted(kept, key=lambda one: one[0]):
            self._keep(node, record, subtopology)

    def _keep(self, node: Json, record: TracedRecord, subtopology: int) -> None:
        store = node["store"]
        level = next(n for n, ids in enumerate(self.spec["levels"]) if subtopology in ids)
        layout = {
            "place": f"sub-topology {subtopology} of level {level}",
            "task": f"{record.task} of {', '.join(node['key_types'])}",
            "key": list(record.keys),
            "row": ROWS[node["kind"]](node, record),
            "names": list(self.names.accumulators.get(store, ())),
            "called": self.names.stores.get(store, ""),
            "results": {name: list(of) for name, of in self.names.results.get(store, {}).items()},
        }
        if node.get("ttl_ms") is not None:
            # The time to live may change.
            layout["expiry"] = "by time"
        if node["kind"] == "window_fold":
            layout["windows"] = laid_out(node["windows"])
        if node["kind"] == "sliding_fold":
            layout["windows"] = f"sliding, {node['difference_ms']} ms"
        if node["kind"] == "session_fold":
            merge = ", ".join(node["merge"])
            layout["windows"] = f"sessions {node['gap_ms']} ms apart, merged by {merge}"
        if node["kind"] == "suppress":
            layout["waits"] = _waiting(node)
        if node.get("on_close"):
            # A result that is taken back later must have been emitted.
            layout["windows"] = f"{layout['windows']}, emitted on close"
        if node["kind"] == "stream_join":
            layout["windows"] = _join_window(node)
            self.by_place[store] = record.filters
        if node["kind"] in {"table", "wait"} and node["bucket_ms"]:
            # The duration may change.
            layout["by_time"] = f"in buckets of {node['bucket_ms']} ms"
        if node["table"] or node["kind"] == "table":
            layout["filters"] = list(record.filters)
        elif store == f"{node['name']}-store":
            self.by_place[store] = record.filters
        known = self.stores.setdefault(store, layout)
        if known != layout:
            self.stores[store] = _either(known, layout)

    def _keep_processor(self, node: Json, record: TracedRecord, subtopology: int) -> None:
        """Lay out the stores of a processor, whose rows the plan defines, and not the records."""
        level = next(n for n, ids in enumerate(self.spec["levels"]) if subtopology in ids)
        for store in (node["store"], *node["stores"]):
            layout = {
                "place": f"sub-topology {subtopology} of level {level}",
                "task": f"{record.task} of {', '.join(node['key_types'])}",
                "key": [],
                "row": [self.names.processors.get(store, "stream time and schedules")],
                "names": [],
                "called": self.names.stores.get(store, ""),
                "results": {},
            }
            self.stores.setdefault(store, layout)

    def layouts(self) -> dict[str, Json]:
        """Return the layout of each store; name and position together are unique."""
        alike = Counter(map(self._likeness, self.by_place))
        for store, filters in self.by_place.items():
            if alike[self._likeness(store)] > 1:
                self.stores[store]["filters"] = list(filters)
        return self.stores

    def _likeness(self, store: str) -> str:
        layout = self.stores[store]
        return repr([layout["key"], layout["row"]])


def _ways(coming: Mapping[TracedRecord, _Way]) -> list[tuple[TracedRecord, _Way]]:
    """Return the records that arrive at a node, by their paths; too many are combined into one."""
    records = sorted(coming.items(), key=lambda item: item[1])
    if len(records) <= _WAYS_MAX:
        return records
    return [(reduce(united, (record for record, _ in records)), records[0][1])]


def _waiting(node: Json) -> str:
    """Return how long rows are buffered, which determines where they are stored."""
    if node["until_close"]:
        return f"until their window closes, in buckets of {node['bucket_ms']} ms"
    return f"for {node['delay_ms']} ms"


def _join_window(node: Json) -> str:
    """Return which records of the other stream are joined, and how unmatched records are treated.

    The grace period may change: it does not affect what is stored.
    """
    window = f"from {node['before_ms']} ms before to {node['after_ms']} ms after"
    waiting = [name for name in (node["unmatched"], node["other_unmatched"]) if name]
    return f"{window}, unmatched in {', '.join(waiting)}" if waiting else window


def _either(one: Json, other: Json) -> Json:
    """Combine two layouts of a store that is filled in two ways, as after a join of two tables."""
    layout = one | {part: list(one_or_other(one[part], other[part])) for part in ("key", "row")}
    if one.get("filters") != other.get("filters"):
        layout["filters"] = [*one["filters"], "or", *other["filters"]]
    return layout
