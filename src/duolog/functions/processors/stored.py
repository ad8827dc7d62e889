"""Rows of a processor's store for readers outside of it: interactive queries and tests."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from duolog.functions.processors.codecs import KeyCodec, ValueCodec
from duolog.functions.processors.segments import parse_rows, time_of
from duolog.plan.processors import KeptStore
from duolog.serde.row import Row

_GOING: Final = ("window", "session")
"""The kinds whose rows expire; the latest version of a versioned store does not."""
_ABOUT: Final = b""
"""The key of a store's metadata, shorter than any key of a row."""
Shown = tuple[Row, Row, int]
"""Key and value columns, and the timestamp."""


class StoreEntry(NamedTuple):
    """An entry of a store, with its task and timestamp."""

    task: int
    key: bytes
    data: bytes
    timestamp_ms: int


def rows_of(store: KeptStore, kept: Iterable[StoreEntry]) -> Iterator[Shown]:
    """Yield the rows of a store: one per window, and the latest version of versioned values.

    Expired windows and sessions are left out, by the time of their task, as they are for the
    processor.
    """
    entries = list(kept)
    gone_by = _gone_by(store, entries)
    values, keys = ValueCodec(store), KeyCodec(store)
    for one in entries:
        if one.key != _ABOUT:
            columns = keys.decode(one.key)
            for bounds, text, at in _texts(store, one, gone_by.get(one.task)):
                yield (*columns, *bounds), values.row(values.parse(text)), at


def _gone_by(store: KeptStore, entries: list[StoreEntry]) -> dict[int, int]:
    """Return, for each task, the latest time whose rows have expired."""
    if store.kind not in _GOING:
        return {}
    about = (one for one in entries if one.key == _ABOUT)
    return {one.task: time_of(one.data) - store.retention_ms for one in about}


def _texts(
    store: KeptStore, one: StoreEntry, gone_by: int | None
) -> Iterator[tuple[tuple[int, ...], str, int]]:
    """Yield the rows of an entry: the bounds of window or session, the value as text, the time."""
    if store.kind == "key-value":
        yield (), one.data.decode(), one.timestamp_ms
        return
    rows = parse_rows(one.data)
    if store.kind == "versioned":
        at, _, text = rows[-1]
        if text is not None:
            yield (), text, at
        return
    for at, beside, text in rows:
        if gone_by is None or at > gone_by:
            yield (at, at + store.window_ms) if store.kind == "window" else (beside, at), text, at
