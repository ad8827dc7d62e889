"""What the rows of a store stand for, for who looks into it from outside: interactive queries, tests."""

from collections.abc import Iterator
from typing import Any

from duolog.functions.processors.codecs import KeyCodec, ValueCodec
from duolog.functions.processors.stores import parse_rows
from duolog.plan.processors import KeptStore

_ABOUT = b""
Shown = tuple[tuple[Any, ...], tuple[Any, ...], int]
"""Key and value columns, and the timestamp."""


def rows_of(store: KeptStore, key: bytes, data: bytes, timestamp_ms: int) -> Iterator[Shown]:
    """Yield the rows that a kept one stands for: of a window store a row for each window, of a versioned one the latest."""
    if key == _ABOUT:
        return
    values = ValueCodec(store)
    columns = KeyCodec(store).decode(key)
    if store.kind == "key-value":
        yield columns, values.row(values.parse(data.decode())), timestamp_ms
        return
    rows = parse_rows(data)
    if store.kind == "versioned":
        at, _, text = rows[-1]
        if text is not None:
            yield columns, values.row(values.parse(text)), at
        return
    for at, beside, text in rows:
        bounds = (at, at + store.window_ms) if store.kind == "window" else (beside, at)
        yield (*columns, *bounds), values.row(values.parse(text)), at
