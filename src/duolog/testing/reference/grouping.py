"""Grouping of records by a new key, for aggregates.

Source: Kafka Streams `KTableRepartitionMap`.
"""

from collections.abc import Sequence
from dataclasses import replace

from duolog.plan.nodes import AggregateNode, GroupBy
from duolog.serde.row import Row
from duolog.testing.reference.aggregating import fold_of
from duolog.testing.reference.entries import Entry, Run, Stores
from duolog.testing.reference.row_functions import columns_at, row_function


def grouped(node: GroupBy) -> Run:
    return _group_table(node) if node.is_table else _group_stream(node)


def _group_stream(node: GroupBy) -> Run:
    keys = row_function(node.parent.schema, node.keys)
    values = row_function(node.parent.schema, node.values)

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        if entry.value is None:
            return []
        row = columns_at(entry)
        key = keys(*row)
        return [] if None in key else [replace(entry, key=key, value=values(*row))]

    return run


def _group_table(node: GroupBy) -> Run:
    keys = row_function(node.parent.schema, node.keys)
    values = row_function(node.parent.schema, node.values)

    def side(of: Row, row: Row | None, time: int) -> tuple[Row, Row] | None:
        if row is None:
            return None
        key = keys(of, row, time)
        return None if None in key else (key, values(of, row, time))

    def run(entry: Entry, _stores: Stores) -> Sequence[Entry]:
        if not entry.latest:
            return []
        old = side(entry.key, entry.old, entry.old_timestamp_ms)
        new = side(entry.key, entry.value, entry.timestamp_ms)
        if old and new and old[0] == new[0]:
            return [replace(entry, key=new[0], value=new[1], old=old[1])]
        found = []
        if old:
            found.append(replace(entry, key=old[0], value=None, old=old[1]))
        if new:
            found.append(replace(entry, key=new[0], value=new[1], old=None))
        return found

    return run


def aggregated(node: AggregateNode) -> Run:
    fold = fold_of(node)
    if node.group.rekeys:
        return fold
    group = grouped(node.group)
    return lambda entry, stores: [
        result for one in group(entry, stores) for result in fold(one, stores)
    ]
