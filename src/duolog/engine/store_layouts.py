"""What the stores of a lowered plan hold: the part of a spec that a checkpoint is bound to.

    spec ─▶ walk from each source ─▶ columns in terms of topics ─▶ a layout for each store
                                     v1 ─▶ flights.delay

A store holds bytes by position. So its layout says, in order, what stands at each position and how
it is computed from the columns of topics, wherever the spec has moved these on the way. It also says
where keys lie: sub-topology, level, and the bytes that choose a task.

What a store takes back must be what was once added: the layout of an aggregate over a table holds
the filters since the store above, and so does a copy of a table's rows. An aggregate over a stream takes nothing back, and filters in
front of it may change, unless its name is only its place and another store would fit that place.

Works on what the kernel gets, so that nothing stored is left out; names are for people.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from duolog.engine.lowering.required import needed_values, required_columns
from duolog.engine.lowering.windows import laid_out
from duolog.plan.cuts import TableCopy
from duolog.plan.expressions import AccumulatorRef, Expression, walk
from duolog.plan.levels import Levels
from duolog.plan.nodes import (
    AggregateNode,
    Filter,
    Newest,
    Node,
    Numbered,
    Plan,
    Project,
    Sink,
    Source,
    StreamJoinSide,
    StreamTableJoin,
    Subscriptions,
    Suppress,
    ToStream,
    ToTable,
)

Json = dict[str, Any]

# A text or a quoted name stays as it is; a column is a letter and its position.
_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\b([kvrx])(\d+)\b")
_TEXT_MAX: Final = 300
_EVERYTHING: Final = "true"
FOR_PEOPLE: Final = ("names", "called", "results")
"""What a layout says in words; it binds nothing."""


@dataclass(frozen=True, slots=True)
class Names:
    """What people call the columns of each source and the accumulators of each store."""

    sources: Sequence[tuple[Sequence[str], Sequence[str]]]
    accumulators: Mapping[str, Sequence[str]]
    stores: Mapping[str, str] = field(default_factory=dict)
    """What a store is the store of: `aggregate of topic "totals"`."""
    results: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Of an aggregate's store: each result, and the accumulators that it is made of."""

    @classmethod
    def of(cls, levels: Levels) -> "Names":
        required = required_columns(levels.plan)
        sources = [ingress.source for ingress in levels.ingresses]
        aggregates = [node for node in levels.plan.nodes if isinstance(node, AggregateNode)]
        return cls(
            [
                (
                    [column.name for column in source.schema.key],
                    [column.name for column in needed_values(source, required)],
                )
                for source in sources
            ],
            {node.store: [kept.name for kept in node.accumulators] for node in aggregates},
            {store: _called(node, levels.plan) for node in levels.nodes for store in node.stores},
            {
                node.store: {name: _accumulators_in(of) for name, of in node.results}
                for node in aggregates
            },
        )


def _called(node: Node, plan: Plan) -> str:  # noqa: PLR0911 - a table of cases
    """Return what people call what a store is of: by the topic that they know it by, if any."""
    match node:
        case TableCopy(table=table):
            return f"copy of the {_called(table, plan)}"
        case Source(topic=topic):
            return f'table of topic "{topic}"'
        case ToTable(stream=stream):
            return f"table of stream {stream}"
        case AggregateNode() if topic := _written_to(node, plan):
            return f'aggregate of topic "{topic}"'
        case Suppress(parent=parent):
            return f"suppressed {_called(parent, plan)}"
        case AggregateNode():
            return f"aggregate {node.group.action}"
        case Numbered() | Newest() | Subscriptions():
            return _called_for_a_join(node, plan)
        case StreamJoinSide(of_left=of_left):
            return (
                f"{'left' if of_left else 'right'} side of the join of {node.left} and {node.right}"
            )
        case _:
            return f"{'buffer of' if isinstance(node, StreamTableJoin) else 'table'} {node}"


def _called_for_a_join(node: Numbered | Newest | Subscriptions, plan: Plan) -> str:
    """Return what a foreign-key join keeps for itself."""
    match node:
        case Numbered():
            return f"numbers of the {_called(node.left, plan)}"
        case Newest():
            return f"newest numbers of the {_called(node.announce.numbered.left, plan)}"
        case Subscriptions():
            return f"subscriptions to the {_called(node.right, plan)}"


def _written_to(node: Node, plan: Plan) -> str:
    """Return the first topic that shows the rows of `node`, or an empty text."""
    for child in plan.children(node):
        if isinstance(child, Sink):
            return child.topic
        if isinstance(child, ToStream | Filter | Project) and (topic := _written_to(child, plan)):
            return topic
    return ""


def _accumulators_in(result: Expression) -> list[str]:
    return sorted({part.name for part in walk(result) if isinstance(part, AccumulatorRef)})


@dataclass(frozen=True, slots=True)
class _Record:
    """A record on its way: its columns in terms of topics and stores, and what it has passed."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    filters: tuple[str, ...] = ()
    """Since the last store."""
    task: str = ""
    """What chooses the task of its key."""

    def terms(
        self, expressions: Sequence[str], table: Sequence[str] = (), arrays: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return expressions over this record, over a row of `table` and `arrays`, in those terms."""

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
    """Return the part of `spec` that state depends on; two that are equal read each other's."""
    walk = _Walk(spec, names)
    for source, (keys, values) in zip(spec["sources"], names.sources, strict=True):
        topic = source["topic"]
        key, value = (tuple(f"{topic}.{name}" for name in part) for part in (keys, values))
        walk.follow_all(source, _Record(key, value), None)
    return {
        "tasks": spec["tasks"],
        # Spark knows a topic by its place among those it reads.
        "sources": list(dict.fromkeys(source["topic"] for source in spec["sources"])),
        "levels": len(spec["levels"]),
        "stores": walk.layouts(),
    }


@dataclass(slots=True)
class _Walk:
    spec: Json
    names: Names
    stores: dict[str, Json] = field(default_factory=dict)
    by_place: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Stores over streams that are named after their place, and the filters in front of them."""
    followed: set[tuple[int, _Record]] = field(default_factory=set)

    def follow_all(self, parent: Json, record: _Record, edge: Json | None) -> None:
        for place, child in enumerate(parent["children"]):
            self._follow(child, _branched(parent, place, record), edge)

    def _follow(self, node_id: int, record: _Record, edge: Json | None) -> None:
        if (node_id, record) in self.followed:
            return
        self.followed.add((node_id, record))
        node = self.spec["nodes"][str(node_id)]
        leaving = _LEAVING[node["kind"]](node, record)
        if node["kind"] == "route":
            across = self.spec["edges"][node["edge"]]
            self._follow(across["node"], leaving, across)
            return
        if node["kind"] in _ROWS and node.get("fills", True):
            assert edge is not None, f"store {node['store']} stands in front of the first cut"
            self._keep(node, record, edge)
        self.follow_all(node, leaving, edge)

    def _keep(self, node: Json, record: _Record, edge: Json) -> None:
        store, subtopology = node["store"], edge["subtopology"]
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
            # How long they live may change.
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
            # What is taken back behind it must have been told.
            layout["windows"] = f"{layout['windows']}, emitted on close"
        if node["kind"] == "stream_join":
            layout["windows"] = _join_window(node)
            self.by_place[store] = record.filters
        if node["kind"] in {"table", "wait"} and node["bucket_ms"]:
            # How long that is may change.
            layout["by_time"] = f"in buckets of {node['bucket_ms']} ms"
        if node["table"] or node["kind"] == "table":
            layout["filters"] = list(record.filters)
        elif store == f"{node['name']}-store":
            self.by_place[store] = record.filters
        known = self.stores.setdefault(store, layout)
        if known != layout:
            self.stores[store] = _either(known, layout)

    def layouts(self) -> dict[str, Json]:
        """Return the layout of each store; by name and place together no two are alike."""
        alike = Counter(map(self._likeness, self.by_place))
        for store, filters in self.by_place.items():
            if alike[self._likeness(store)] > 1:
                self.stores[store]["filters"] = list(filters)
        return self.stores

    def _likeness(self, store: str) -> str:
        layout = self.stores[store]
        return repr([layout["key"], layout["row"]])


def _waiting(node: Json) -> str:
    """Return how long rows are held back, and so where they lie."""
    if node["until_close"]:
        return f"until their window closes, in buckets of {node['bucket_ms']} ms"
    return f"for {node['delay_ms']} ms"


def _either(one: Json, other: Json) -> Json:
    """Return the layout of a store that is filled in two ways, as behind a join of two tables."""

    def columns(part: str) -> list[str]:
        both = zip(one[part], other[part], strict=True)
        return [text if text == also else _bounded(f"{text}, or {also}") for text, also in both]

    layout = one | {"key": columns("key"), "row": columns("row")}
    if one.get("filters") != other.get("filters"):
        layout["filters"] = [*one["filters"], "or", *other["filters"]]
    return layout


def _filtered(node: Json, record: _Record) -> _Record:
    predicate: str = node["predicate"]
    return record if predicate == _EVERYTHING else record.filtered(*record.terms([predicate]))


def _projected(node: Json, record: _Record) -> _Record:
    return replace(record, values=record.terms(node["values"]))


def _exploded(node: Json, record: _Record) -> _Record:
    arrays = record.terms(node["arrays"])
    return replace(record, values=record.terms(node["values"], arrays=arrays))


def _branched(node: Json, place: int, record: _Record) -> _Record:
    """Return the record on its way to the child in this place."""
    if node.get("kind") != "split":
        return record
    before = record.terms(node["predicates"][: node["branches"][place] + 1])
    return record.filtered(f"branch {node['branches'][place]} of {', '.join(before)}")


def _rekeyed(node: Json, record: _Record) -> _Record:
    return replace(record, keys=record.terms(node["keys"]))


def _routed(node: Json, record: _Record) -> _Record:
    arriving = _rekeyed(node, record) if node["keys"] is not None else record
    return replace(arriving, task="every task" if node["everywhere"] else node["key_bytes"])


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
    """Return which records of the other stream are joined, and what becomes of one without any.

    The grace period may change: it is no part of what is stored.
    """
    window = f"from {node['before_ms']} ms before to {node['after_ms']} ms after"
    waiting = [name for name in (node["unmatched"], node["other_unmatched"]) if name]
    return f"{window}, unmatched in {', '.join(waiting)}" if waiting else window


def _needs_row(node: Json) -> bool:
    """Tell if a join drops a record for which the other side has no row."""
    needed: bool = node["needs_other"] if node["kind"] == "join" else not node["left"]
    return needed


def _looked_up(node: Json, record: _Record, store: str) -> _Record:
    """Return the row of the table that a join reads: a store's, or what is computed from it."""
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


def _as_it_is(_node: Json, record: _Record) -> _Record:
    return record


_LEAVING: Final[dict[str, Callable[[Json, _Record], _Record]]] = {
    "filter": _filtered,
    "project": _projected,
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
    """Return the key of the row that asked, its number and its columns; not the instruction."""
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
    """Return a text that differs where `text` differs, and does not grow with what it contains."""
    if len(text) <= _TEXT_MAX:
        return text
    return f"{text[:_TEXT_MAX]}… {hashlib.sha256(text.encode()).hexdigest()[:16]}"
