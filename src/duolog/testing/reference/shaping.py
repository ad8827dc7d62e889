"""Nodes that shape records: filter, project, explode, split, select the key.

Source: Kafka Streams `KTableFilter`, `KTableMapValues`, `KStreamFlatMapValues`, `KStreamBranch`.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import cast

from duolog.plan.nodes import (
    Branch,
    Explode,
    Filter,
    Node,
    ProcessOutput,
    Project,
    SelectKey,
    Split,
    ToStream,
)
from duolog.serde.row import Row
from duolog.testing.reference.entries import Entry, Run, Stores, named
from duolog.testing.reference.row_functions import columns_at, row_function
from duolog.testing.reference.scalars import RecordError


def pass_on(_node: Node) -> Run:
    return lambda entry, _stores: [entry]


def to_stream(_node: ToStream) -> Run:
    return lambda entry, _stores: [replace(entry, old=None)]


def without_failed_old(run: Run, entry: Entry) -> Entry:
    """Return a change without its old row if that row failed and was never forwarded."""
    try:
        run(replace(entry, value=None), {})
    except RecordError:
        return replace(entry, old=None)
    return entry


def filtered(node: Filter) -> Run:
    holds = row_function(node.schema, (("", node.predicate),))

    def kept(key: Row, row: Row | None, time: int) -> Row | None:
        return row if row is not None and holds(key, row, time) == (True,) else None

    def run_table(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        new = kept(entry.key, entry.value, entry.timestamp_ms)
        old = kept(entry.key, entry.old, entry.old_timestamp_ms)
        if new is None and old is None and node.history_ms is None:
            return []
        return [replace(entry, value=new, old=old)]

    def run_stream(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        return [entry] if holds(*columns_at(entry)) == (True,) else []

    return run_table if node.is_table else run_stream


def projected(node: Project) -> Run:
    values = row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        key = entry.key
        new = None if entry.value is None else values(*columns_at(entry))
        old = None if entry.old is None else values(key, entry.old, entry.old_timestamp_ms)
        return [replace(entry, value=new, old=old)]

    return run


def exploded(node: Explode) -> Run:
    of = row_function(node.parent.schema, tuple(("", array) for array in node.arrays))
    kept, names = node.parent.schema, node.schema.value

    def elements(entry: Entry) -> list[Row]:
        found = of(*columns_at(entry))
        if isinstance(found[0], dict):
            return list(found[0].items())
        arrays = cast("list[Sequence[object]]", [array or () for array in found])
        return list(zip_longest(*arrays))

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return [entry] if node.outer else []
        nulls = [(None,) * len(node.into)] if node.outer else []
        row = named(kept, entry.key, entry.value)
        rows = (
            row | dict(zip(node.into, found, strict=True)) for found in elements(entry) or nulls
        )
        return [replace(entry, value=tuple(one[name.name] for name in names)) for one in rows]

    return run


def split(node: Split) -> Run:
    conditions = [row_function(node.schema, (("", of),)) for of in node.predicates]

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        row = columns_at(entry)
        first = next((n for n, holds in enumerate(conditions) if holds(*row) == (True,)), None)
        return [replace(entry, branch=len(conditions) if first is None else first)]

    return run


def branch(node: Branch | ProcessOutput) -> Run:
    return lambda entry, _stores: [entry] if entry.branch == node.number else []


def select_key(node: SelectKey) -> Run:
    keys = row_function(node.parent.schema, node.keys)
    values = row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        row = columns_at(entry)
        value = None if entry.value is None else values(*row)
        return [replace(entry, key=keys(*row), value=value)]

    return run
