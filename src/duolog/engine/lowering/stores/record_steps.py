"""The change of a record's columns by each kind of node, in terms of topics and stores.

The terms are compared with those in a checkpoint: they must stay as they are.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.stores.traced_records import TracedRecord

_EVERYTHING: Final = "true"


def _filtered(node: Json, record: TracedRecord) -> TracedRecord:
    predicate: str = node["predicate"]
    return record if predicate == _EVERYTHING else record.filtered(*record.terms([predicate]))


def _projected(node: Json, record: TracedRecord) -> TracedRecord:
    return replace(record, values=record.terms(node["values"]))


def _called(node: Json, record: TracedRecord) -> TracedRecord:
    (arguments,) = record.terms([node["arguments"]])
    given = f"{node['function']}({arguments})"
    return replace(record, values=record.terms(node["values"], [given]))


def _exploded(node: Json, record: TracedRecord) -> TracedRecord:
    arrays = record.terms(node["arrays"])
    return replace(record, values=record.terms(node["values"], arrays=arrays))


def branched(node: Json, place: int, record: TracedRecord) -> TracedRecord:
    """Return the record as forwarded to the child at this index."""
    if node.get("kind") != "split":
        return record
    before = record.terms(node["predicates"][: node["branches"][place] + 1])
    return record.filtered(f"branch {node['branches'][place]} of {', '.join(before)}")


def _rekeyed(node: Json, record: TracedRecord) -> TracedRecord:
    return replace(record, keys=record.terms(node["keys"]))


def _routed(node: Json, record: TracedRecord) -> TracedRecord:
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


def _joined(node: Json, record: TracedRecord) -> TracedRecord:
    table = _looked_up(node, record, node["store"])
    joined = replace(record, values=record.terms(node["values"], table.values))
    if not _needs_row(node):
        return joined
    return replace(joined, filters=(*record.filters, f"a row in {node['store']}", *table.filters))


def _stream_joined(node: Json, record: TracedRecord) -> TracedRecord:
    other = [f"{node['other_store']}[{at}]" for at in range(len(node["right_types"]))]
    return replace(record, values=record.terms(node["values"], other))


def _needs_row(node: Json) -> bool:
    """Return whether a join drops a record without a row on the other side."""
    needed: bool = node["needs_other"] if node["kind"] == "join" else not node["left"]
    return needed


def _looked_up(node: Json, record: TracedRecord, store: str) -> TracedRecord:
    """Return the row of the table that a join reads: that of a store, or one computed from it."""
    kept = [*(step["value_types"] for step in node["getter"]), node["right_types"]][0]
    row = TracedRecord(record.keys, tuple(f"{store}[{at}]" for at in range(len(kept))))
    for step in node["getter"]:
        row = LEAVING[step["kind"]](step, row)
    return row


def _announced(_node: Json, record: TracedRecord) -> TracedRecord:
    return replace(record, values=("number", "there"))


def _subscribed(node: Json, record: TracedRecord) -> TracedRecord:
    return replace(record, keys=record.terms(node["keys"]), values=record.terms(node["values"]))


def _answered(node: Json, record: TracedRecord) -> TracedRecord:
    table = _looked_up(node, record, node["table_store"])
    primary = node["primary_columns"]
    left = record.values[primary + 2 :]
    right = record.terms(node["values"], table.values)
    return replace(
        record, keys=record.values[:primary], values=("number", "outcome", *left, *right)
    )


def _answered_to_all(node: Json, record: TracedRecord) -> TracedRecord:
    store = node["subscriptions"]
    primary = tuple(f"key {at} of {store}" for at in range(len(node["primary_types"])))
    left = tuple(f"{store}[{at + 1}]" for at in range(len(node["left_types"])))
    right = record.terms(node["values"])
    return replace(record, keys=primary, values=("number", "outcome", *left, *right))


def _kept(_node: Json, record: TracedRecord) -> TracedRecord:
    return replace(record, filters=())


def _folded(node: Json, record: TracedRecord) -> TracedRecord:
    results = record.terms(node["results"])
    store = node["store"]
    return replace(record, values=tuple(f"{store}: {text}" for text in results), filters=())


def _window_folded(node: Json, record: TracedRecord) -> TracedRecord:
    keys = (*record.keys, "window start", "window end")
    return _folded(node, replace(record, keys=keys))


def _processed(node: Json, record: TracedRecord) -> TracedRecord:
    parts = ("output", "key", "value")
    values = tuple(f"{part} of {node['name']}" for part in parts)
    return replace(record, keys=(), values=values, filters=())


def _forwarded(node: Json, record: TracedRecord) -> TracedRecord:
    return replace(record, keys=record.terms(node["keys"]), values=record.terms(node["values"]))


def _as_it_is(_node: Json, record: TracedRecord) -> TracedRecord:
    return record


LEAVING: Final[dict[str, Callable[[Json, TracedRecord], TracedRecord]]] = {
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
