"""The rows of stores by the kind of their nodes: each position, and how it is computed.

The terms are compared with those in a checkpoint: they must stay as they are.
"""

from collections.abc import Callable
from typing import Final

from duolog.engine.json_object import Json
from duolog.engine.lowering.stores.traced_records import TracedRecord


def fills_store(node: Json) -> bool:
    """Return whether a node of a spec is the one that fills its store."""
    return node["kind"] in ROWS and bool(node.get("fills", True))


def _table_row(node: Json, record: TracedRecord) -> list[str]:
    columns = zip(record.values, node["value_types"], strict=True)
    return [f"{text} {of}" for text, of in columns]


def _fold_row(node: Json, record: TracedRecord) -> list[str]:
    init, add = record.terms(node["init"]), record.terms(node["add"])
    back = record.terms(node.get("subtract") or ()) or ("nothing",) * len(add)
    columns = zip(node["acc_types"], init, add, back, strict=True)
    return [f"{of}: {first}, adds {step}, takes back {undo}" for of, first, step, undo in columns]


def _subscription_row(node: Json, record: TracedRecord) -> list[str]:
    """Return the key of the subscriber's row, its number and its columns; not the instruction."""
    at = node["primary_columns"] + 1
    columns = list(zip(record.values, node["value_types"], strict=True))
    return [f"{text} {of}" for text, of in columns[:at] + columns[at + 1 :]]


def _number_row(_node: Json, _record: TracedRecord) -> list[str]:
    return ["number"]


ROWS: Final[dict[str, Callable[[Json, TracedRecord], list[str]]]] = {
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
