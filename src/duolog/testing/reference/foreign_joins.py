"""The nodes of a foreign-key join, in plain Python.

A subscription's value is (left key…, number, instruction, left row), an answer's (number, outcome,
left row, right row), and an announcement's (number, whether the row can be joined).

Source: Kafka Streams `SubscriptionSendProcessorSupplier`, `SubscriptionReceiveProcessorSupplier`,
`SubscriptionJoinProcessorSupplier`, `ForeignTableJoinProcessorSupplier`,
`ResponseJoinProcessorSupplier`.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any, Final

from duolog.plan.expressions import Scope
from duolog.plan.nodes import (
    Announce,
    ForeignJoin,
    ForeignTable,
    Newest,
    Numbered,
    Subscribe,
    Subscriptions,
)
from duolog.serde.row import Row
from duolog.testing.reference.entries import (
    Entry,
    LookUp,
    NewRowFailed,
    Run,
    Stores,
    TimestampedRow,
    after,
    is_null,
    made,
)
from duolog.testing.reference.evaluation import Values, compile_expression
from duolog.testing.reference.scalars import RecordError

_LAST: Final[Row] = ()
"""The key under which stores keep the last number: records have no such key."""


class Instruction(IntEnum):
    """The request in a subscription."""

    DELETE = 0
    DELETE_AND_ANSWER = 1
    ANSWER = 2
    ANSWER_IF_THERE = 3


class Outcome(IntEnum):
    """The state of the right row in an answer, or GONE, the state of the left one."""

    GONE = 0
    MISSING = 1
    STILL_MISSING = 2
    THERE = 3


def numbered(node: Numbered) -> Run:
    """Append the foreign key and the number to both sides of a change."""
    names = node.left.schema.names
    compiled = [compile_expression(of, Scope(node.left.schema.columns)) for _, of in node.keys]

    def side(entry: Entry, row: Row | None, time: int, number: int) -> Row | None:
        if row is None:
            return None
        columns = dict(zip(names, entry.key + row, strict=True))
        at_hand = Values(columns, timestamp_ms=time)
        return (*row, *(of(at_hand) for of in compiled), number)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if not entry.latest:
            return []
        last = stores[node.store].setdefault(_LAST, TimestampedRow((0,), 0))
        number = int(str(last.row[0])) + 1
        last.row = (number,)
        try:
            old = side(entry, entry.old, entry.old_timestamp_ms, number)
        except RecordError:  # reported when the row was new
            old = None
        try:
            now = side(entry, entry.value, entry.timestamp_ms, number)
        except RecordError as error:
            raise NewRowFailed(replace(entry, value=None, old=old)) from error
        return [replace(entry, value=now, old=old)]

    return run


def _foreign_key(node: Numbered, row: Row | None) -> Row | None:
    """Return the foreign key in a numbered row; None if it is missing or contains a null."""
    key = row[-1 - len(node.keys) : -1] if row is not None else (None,)
    return None if None in key else key


def announce(node: Announce) -> Run:
    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        row = entry.value or entry.old
        if row is None or entry.value == entry.old:
            return []
        joinable = node.kind == "left" or _foreign_key(node.numbered, entry.value) is not None
        value = (row[-1], entry.value is not None and joinable)
        return [made(entry, value, entry.timestamp_ms)]

    return run


def newest(node: Newest) -> Run:
    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        assert entry.value is not None
        number, there = entry.value
        store = stores[node.store]
        store[_LAST] = TimestampedRow((number,), 0)
        known = store.get(entry.key)
        if known is None or known.row <= (number,):
            store.pop(entry.key, None)
            if there:
                store[entry.key] = TimestampedRow((number,), 0)
        return []

    return run


def subscribe(node: Subscribe) -> Run:
    of = node.numbered
    columns = len(of.left.schema.value)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        row = entry.value or entry.old
        if row is None:
            return []
        old, now = _foreign_key(of, entry.old), _foreign_key(of, entry.value)
        asking = entry.value and entry.value[:columns]
        return [
            made(
                entry,
                (*entry.key, row[-1], instruction, asking),
                entry.timestamp_ms,
                to if to is not None else (None,) * len(of.keys),
            )
            for to, instruction in _instructions(node, old, now, deleted=entry.value is None)
        ]

    return run


def _instructions(
    node: Subscribe, old: Row | None, now: Row | None, *, deleted: bool
) -> list[tuple[Row | None, Instruction]]:
    moved = [(old, Instruction.DELETE)] if old is not None and old != now else []
    if node.kind == "left":
        last = Instruction.DELETE_AND_ANSWER if deleted else Instruction.ANSWER
        return [*moved, (now, last)]
    if now is None:
        return [(old, Instruction.DELETE_AND_ANSWER)] if old is not None else []
    return [*moved, (now, Instruction.ANSWER if moved else Instruction.ANSWER_IF_THERE)]


def subscriptions(node: Subscriptions, look_up: LookUp) -> Run:
    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        assert entry.value is not None
        *primary, number, instruction, row = entry.value
        keeps = instruction in (Instruction.ANSWER, Instruction.ANSWER_IF_THERE)
        right = None
        if not is_null(entry.key):
            store = stores[node.store]
            subscription = (*entry.key, *primary)
            store.pop(subscription, None)
            if keeps:
                store[subscription] = TimestampedRow((number, row), entry.timestamp_ms)
            right = look_up(entry.key, stores, None)
        if instruction == Instruction.DELETE:
            return []
        if not keeps:
            outcome = Outcome.GONE
        elif right is not None:
            outcome = Outcome.THERE
        elif instruction == Instruction.ANSWER:
            outcome = Outcome.MISSING
        else:
            outcome = Outcome.STILL_MISSING
        time = max(entry.timestamp_ms, right.timestamp_ms) if right else entry.timestamp_ms
        answer: Row = (number, outcome, row, right and right.row)
        return [made(entry, answer, time, tuple(primary))]

    return run


def foreign_table(node: ForeignTable) -> Run:
    keys = len(node.right.schema.key)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        if not entry.latest:
            return []
        kept = stores[node.subscriptions.store]
        outcome = Outcome.MISSING if entry.value is None else Outcome.THERE
        return [
            made(entry, (number, outcome, row, entry.value), entry.timestamp_ms, key[keys:])
            for key in sorted((one for one in kept if one[:keys] == entry.key), key=_nulls_first)
            for number, row in [kept[key].row]
        ]

    return run


def _nulls_first(key: Row) -> list[tuple[bool, object]]:
    """Return the sort key of a key: some of its columns may be null."""
    return [(part is not None, part) for part in key]


def foreign_join(node: ForeignJoin) -> Run:
    left, right = node.left.schema, node.right.schema.value
    scope = Scope(left.columns, table_columns=right)
    values = [compile_expression(expression, scope) for _, expression in node.values]

    def joined(entry: Entry, row: Row, found: Row | None) -> Row:
        at_hand = Values(
            dict(zip(left.names, entry.key + row, strict=True)),
            dict(zip((of.name for of in right), found or (None,) * len(right), strict=True)),
            timestamp_ms=entry.timestamp_ms,
        )
        return tuple(value(at_hand) for value in values)

    def upsert(entry: Entry, stores: Stores, value: Row | None) -> Entry:
        kept = stores[node.store].pop(entry.key, None)
        if value is not None:
            stores[node.store][entry.key] = TimestampedRow(value, entry.timestamp_ms)
        return after(replace(entry, value=value), kept)

    def run(entry: Entry, stores: Stores) -> Sequence[Entry]:
        assert entry.value is not None
        answer: Any = entry.value
        number, outcome, row, found = answer
        if not _accepts(stores[node.newest.store], entry.key, number, gone=outcome == Outcome.GONE):
            return []
        if outcome == Outcome.STILL_MISSING and entry.key not in stores[node.store]:
            return []
        is_joined = outcome == Outcome.THERE or (node.kind == "left" and outcome != Outcome.GONE)
        try:
            value = joined(entry, row, found) if is_joined else None
        except RecordError as error:
            raise NewRowFailed(upsert(entry, stores, None)) from error
        return [upsert(entry, stores, value)]

    return run


def _accepts(store: dict[Row, TimestampedRow], key: Row, number: int, *, gone: bool) -> bool:
    """Return True if an answer to the row of this number is not stale; store a new number."""
    known, last = store.get(key), store.get(_LAST, TimestampedRow((0,), 0))
    is_new = (number,) > last.row
    if (number,) < known.row if known else not gone and not is_new:
        return False
    if is_new:
        store[key] = TimestampedRow((number,), 0)
    return True
