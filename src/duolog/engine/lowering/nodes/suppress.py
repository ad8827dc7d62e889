"""Suppress: rows are buffered in the order of time, then of key."""

from duolog.engine.lowering.expressions.expressions import key_names
from duolog.engine.lowering.formats.formats import encode_key
from duolog.engine.lowering.nodes.rows import Lowered, Row, Surroundings
from duolog.engine.lowering.spec.operators import SuppressOperator
from duolog.plan.formats import internal_key_format
from duolog.plan.nodes import Suppress


def lower_suppress(node: Suppress, row: Row, _around: Surroundings) -> Lowered:
    key = internal_key_format(node.schema.inner_key)
    entry = row.entry(
        node.name,
        SuppressOperator(
            store=node.store,
            key_bytes=encode_key(key, node.schema, key_names(row.key)),
            until_close=node.time_limit_ms is None,
            delay_ms=node.delay_ms,
            bucket_ms=node.bucket_ms,
            max_records=node.max_records,
            max_bytes=node.max_bytes,
            shut_down=node.shut_down,
        ),
    )
    return Lowered([entry], row)
