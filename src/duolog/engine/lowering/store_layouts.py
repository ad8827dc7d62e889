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

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from graphlib import TopologicalSorter
from typing import Any, Final

from duolog.engine.lowering.store_names import Names
from duolog.engine.lowering.windows import laid_out

Json = dict[str, Any]

# A string literal or a quoted name is kept; a column is a letter and its position.
_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\b([kvrx])(\d+)\b")
_TEXT_MAX: Final = 300
_EVERYTHING: Final = "true"
# The maximum number of paths to a node that are described one by one. Repeated splits and merges
# have exponentially many.
_WAYS_MAX: Final = 64
FOR_PEOPLE: Final = ("names", "called", "results")
"""Parts of a layout for people; they are not compared."""
UNPINNED: Final = "unpinned_stores"
"""Part of a shape: its stores in the texts before pinned texts, if these differ. Never written."""


@dataclass(frozen=True, slots=True)
class _Record:
    """A record on its path: its columns in terms of topics and stores, and the filters passed."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    filters: tuple[str, ...] = ()
    """Filters since the last store."""
    task: str = ""
    """How the task of its key is chosen."""

    def terms(
        self, expressions: Sequence[str], table: Sequence[str] = (), arrays: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return expressions over this record, a row of `table` and `arrays`, in those terms."""

        def term(token: re.Match[str]) -> str:
            match token[1]:
                case "k":
                    return self.keys[int(token[2])]
                case "v":
                    return self.values[int(token[2])]
                case "r":
                    return table[int(token[2])]
                case "x":
                    return arrays[int(token[2])]
                case _:
                    return token[0]

        return tuple(_bounded(_TOKEN.sub(term, expression)) for expression in expressions)

    def filtered(self, condition: str) -> "_Record":
        return replace(self, filters=(*self.filters, condition))


def shape_of(spec: Json, names: Names) -> Json:
    """Return the part of `spec` that state depends on; equal shapes can read each other's state."""
    walk = _Walk(spec, names)
    for place, (source, (keys, values)) in enumerate(
        zip(spec["sources"], names.sources, strict=True)
    ):
        topic = source["topic"]
        key, value = (tuple(f"{topic}.{name}" for name in part) for part in (keys, values))
        walk.leave(source, (place,), _Record(key, value))
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
    coming: dict[int, dict[_Record, _Way]] = field(default_factory=dict)
    """The records that arrive at each node, and the first path of each."""

    def leave(self, parent: Json, way: _Way, record: _Record) -> None:
        for place, child in enumerate(children_of(parent, self.spec)):
            coming = self.coming.setdefault(child, {})
            branched = _branched(parent, place, record)
            coming[branched] = min((*way, place), coming.get(branched, (*way, place)))

    def follow(self) -> None:
        subtopologies = subtopologies_of(self.spec)
        kept: list[tuple[_Way, Json, _Record, int]] = []
        for node_id in _parents_first(self.spec):
            node = self.spec["nodes"][str(node_id)]
            for record, way in _ways(self.coming.pop(node_id, {})):
                if node["kind"] == "process":
                    self._keep_processor(node, record, subtopologies[node_id])
                elif fills_store(node):
                    assert node_id in subtopologies, f"{node['store']} is in front of the first cut"
                    kept.append((way, node, record, subtopologies[node_id]))
                self.leave(node, way, _LEAVING[node["kind"]](node, record))
        for _, node, record, subtopology in sorted(kept, key=lambda one: one[0]):
            self._keep(node, record, subtopology)

    def _keep(self, node: Json, record: _Record, subtopology: int) -> None:
        store = node["store"]
        level = next(n for n, ids in enumerate(self.spec["levels"]) if subtopology in ids)
        layout = {
            "place": f"sub-topology {subtopology} of level {level}",
            "task": f"{record.task} of {', '.join(node['key_types'])}",
            "key": list(record.keys),
            "row": _ROWS[node["kind"]](node, record),
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

    def _keep_processor(self, node: Json, record: _Record, subtopology: int) -> None:
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


def fills_store(node: Json) -> bool:
    """Return whether a node of a spec is the one that fills its store."""
    return node["kind"] in _ROWS and bool(node.get("fills", True))


def children_of(parent: Json, spec: Json) -> list[int]:
    """Return the children of a node, including those over an edge."""
    if parent.get("kind") == "route":
        return [spec["edges"][parent["edge"]]["node"]]
    children: list[int] = parent["children"]
    return children


def _parents_first(spec: Json) -> list[int]:
    sorter = TopologicalSorter[int]()
    for node_id, node in spec["nodes"].items():
        sorter.add(int(node_id))
        for child in children_of(node, spec):
            sorter.add(child, int(node_id))
    return list(sorter.static_order())


def subtopologies_of(spec: Json) -> dict[int, int]:
    """Return the sub-topology of each node; nodes upstream of the first cut have none."""
    found: dict[int, int] = {}
    for edge in spec["edges"]:
        inside = [edge["node"]]
        for node_id in inside:
            node = spec["nodes"][str(node_id)]
            if node_id not in found:
                found[node_id] = edge["subtopology"]
                inside += node["children"]
    return found


def _ways(coming: Mapping[_Record, _Way]) -> list[tuple[_Record, _Way]]:
    """Return the records that arrive at a node, by their paths; too many are combined into one."""
    records = sorted(coming.items(), key=lambda item: item[1])
    if len(records) <= _WAYS_MAX:
        return records
    return [(reduce(_united, (record for record, _ in records)), records[0][1])]


def _united(one: _Record, other: _Record) -> _Record:
    filters = [" and ".join(record.filters) for record in (one, other)]
    return _Record(
        _one_or_other(one.keys, other.keys),
        _one_or_other(one.values, other.values),
        one.filters if one.filters == other.filters else (_bounded(", or ".join(filters)),),
        *_one_or_other([one.task], [other.task]),
    )


def _one_or_other(texts: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    both = zip(texts, others, strict=True)
    return tuple(text if text == also else _bounded(f"{text}, or {also}") for text, also in both)


def _waiting(node: Json) -> str:
    """Return how long rows are buffered, which determines where they are stored."""
    if node["until_close"]:
        return f"until their window closes, in buckets of {node['bucket_ms']} ms"
    return f"for {node['delay_ms']} ms"


def _either(one: Json, other: Json) -> Json:
    """Combine two layouts of a store that is filled in two ways, as after a join of two tables."""
    layout = one | {part: list(_one_or_other(one[part], other[part])) for part in ("key", "row")}
    if one.get("filters") != other.get("filters"):
        layout["filters"] = [*one["filters"], "or", *other["filters"]]
    return layout


def _filtered(node: Json, record: _Record) -> _Record:
    predicate: str = node["predicate"]
    return record if predicate == _EVERYTHING else record.filtered(*record.terms([predicate]))


def _projected(node: Json, record: _Record) -> _Record:
    return replace(record, values=record.terms(node["values"]))


def _called(node: Json, record: _Record) -> _Record:
    (arguments,) = record.terms([node["arguments"]])
    given = f"{node['function']}({arguments})"
    return replace(record, values=record.terms(node["values"], [given]))


def _exploded(node: Json, record: _Record) -> _Record:
    arrays = record.terms(node["arrays"])
    return replace(record, values=record.terms(node["values"], arrays=arrays))


def _branched(node: Json, place: int, record: _Record) -> _Record:
    """Return the record as forwarded to the child at this index."""
    if node.get("kind") != "split":
        return record
    before = record.terms(node["predicates"][: node["branches"][place] + 1])
    return record.filtered(f"branch {node['branches'][place]} of {', '.join(before)}")


def _rekeyed(node: Json, record: _Record) -> _Record:
    return replace(record, keys=record.terms(node["keys"]))


def _routed(node: Json, record: _Record) -> _Record:
    arriving = _rekeyed(node, record) if node["keys"] is not None else record
    if node["everywhere"]:
        return replace(arriving, task="every task")
    chosen = str(node["key_bytes"])
    if node["partition"] is not None:
        (partition,) = record.terms([node["partition"]])
        chosen = f"partition {partition}, else {chosen}"
    if node["partitions"] is not None:
        chosen += f" among {node['partitions']}"
    return replace(arriving, task=chosen)


def _joined(node: Json, record: _Record) -> _Record:
    table = _looked_up(node, record, node["store"])
    joined = replace(record, values=record.terms(node["values"], table.values))
    if not _needs_row(node):
        return joined
    return replace(joined, filters=(*record.filters, f"a row in {node['store']}", *table.filters))


def _stream_joined(node: Json, record: _Record) -> _Record:
    other = [f"{node['other_store']}[{at}]" for at in range(len(node["right_types"]))]
    return replace(record, values=record.terms(node["values"], other))


def _join_window(node: Json) -> str:
    """Return which records of the other stream are joined, and how unmatched records are treated.

    The grace period may change: it does not affect what is stored.
    """
    window = f"from {node['before_ms']} ms before to {node['after_ms']} ms after"
    waiting = [name for name in (node["unmatched"], node["other_unmatched"]) if name]
    return f"{window}, unmatched in {', '.join(waiting)}" if waiting else window


def _needs_row(node: Json) -> bool:
    """Return whether a join drops a record without a row on the other side."""
    needed: bool = node["needs_other"] if node["kind"] == "join" else not node["left"]
    return needed


def _looked_up(node: Json, record: _Record, store: str) -> _Record:
    """Return the row of the table that a join reads: that of a store, or one computed from it."""
    kept = [*(step["value_types"] for step in node["getter"]), node["right_types"]][0]
    row = _Record(record.keys, tuple(f"{store}[{at}]" for at in range(len(kept))))
    for step in node["getter"]:
        row = _LEAVING[step["kind"]](step, row)
    return row


def _announced(_node: Json, record: _Record) -> _Record:
    return replace(record, values=("number", "there"))


def _subscribed(node: Json, record: _Record) -> _Record:
    return replace(record, keys=record.terms(node["keys"]), values=record.terms(node["values"]))


def _answered(node: Json, record: _Record) -> _Record:
    table = _looked_up(node, record, node["table_store"])
    primary = node["primary_columns"]
    left = record.values[primary + 2 :]
    right = record.terms(node["values"], table.values)
    return replace(
        record, keys=record.values[:primary], values=("number", "outcome", *left, *right)
    )


def _answered_to_all(node: Json, record: _Record) -> _Record:
    store = node["subscriptions"]
    primary = tuple(f"key {at} of {store}" for at in range(len(node["primary_types"])))
    left = tuple(f"{store}[{at + 1}]" for at in range(len(node["left_types"])))
    right = record.terms(node["values"])
    return replace(record, keys=primary, values=("number", "outcome", *left, *right))


def _kept(_node: Json, record: _Record) -> _Record:
    return replace(record, filters=())


def _folded(node: Json, record: _Record) -> _Record:
    results = record.terms(node["results"])
    store = node["store"]
    return replace(record, values=tuple(f"{store}: {text}" for text in results), filters=())


def _window_folded(node: Json, record: _Record) -> _Record:
    keys = (*record.keys, "window start", "window end")
    return _folded(node, replace(record, keys=keys))


def _processed(node: Json, record: _Record) -> _Record:
    parts = ("output", "key", "value")
    values = tuple(f"{part} of {node['name']}" for part in parts)
    return replace(record, keys=(), values=values, filters=())


def _forwarded(node: Json, record: _Record) -> _Record:
    return replace(record, keys=record.terms(node["keys"]), values=record.terms(node["values"]))


def _as_it_is(_node: Json, record: _Record) -> _Record:
    return record


_LEAVING: Final[dict[str, Callable[[Json, _Record], _Record]]] = {
    "filter": _filtered,
    "project": _projected,
    "python": _called,
    "process": _processed,
    "process_output": _forwarded,
    "explode": _exploded,
    "split": _as_it_is,
    "select_key": _rekeyed,
    "route": _routed,
    "lookup": _joined,
    "wait": _as_it_is,
    "join": _joined,
    "number": _projected,
    "announce": _announced,
    "subscribe": _subscribed,
    "subscriptions": _answered,
    "foreign_table": _answered_to_all,
    "foreign_join": _projected,
    "stream_join": _stream_joined,
    "table": _kept,
    "fold": _folded,
    "window_fold": _window_folded,
    "session_fold": _window_folded,
    "suppress": _kept,
    "headers": _as_it_is,
    "time": _as_it_is,
    "sliding_fold": _window_folded,
    "to_stream": _as_it_is,
    "print": _as_it_is,
    "newest": _as_it_is,
    "sink": _as_it_is,
}


def _table_row(node: Json, record: _Record) -> list[str]:
    columns = zip(record.values, node["value_types"], strict=True)
    return [f"{text} {of}" for text, of in columns]


def _fold_row(node: Json, record: _Record) -> list[str]:
    init, add = record.terms(node["init"]), record.terms(node["add"])
    back = record.terms(node.get("subtract") or ()) or ("nothing",) * len(add)
    columns = zip(node["acc_types"], init, add, back, strict=True)
    return [f"{of}: {first}, adds {step}, takes back {undo}" for of, first, step, undo in columns]


def _subscription_row(node: Json, record: _Record) -> list[str]:
    """Return the key of the subscriber's row, its number and its columns; not the instruction."""
    at = node["primary_columns"] + 1
    columns = list(zip(record.values, node["value_types"], strict=True))
    return [f"{text} {of}" for text, of in columns[:at] + columns[at + 1 :]]


def _number_row(_node: Json, _record: _Record) -> list[str]:
    return ["number"]


_ROWS: Final[dict[str, Callable[[Json, _Record], list[str]]]] = {
    "table": _table_row,
    "stream_join": _table_row,
    "wait": _table_row,
    "fold": _fold_row,
    "window_fold": _fold_row,
    "session_fold": _fold_row,
    "suppress": _table_row,
    "sliding_fold": _fold_row,
    "number": _number_row,
    "subscriptions": _subscription_row,
    "newest": _number_row,
}


def _bounded(text: str) -> str:
    """Return a text of limited length that differs if `text` differs."""
    if len(text) <= _TEXT_MAX:
        return text
    return f"{text[:_TEXT_MAX]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"
