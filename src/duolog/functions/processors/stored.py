"""What the rows of a store stand for, for who looks into it from outside: interactive queries, tests."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from duolog.functions.processors.codecs import KeyCodec, ValueCodec
from duolog.functions.processors.stores import parse_rows, time_of
from duolog.plan.processors import KeptStore

_GOING: Final = ("window", "session")
"""The kinds whose rows go by time; of versions the latest stays."""
_ABOUT: Final = b""
"""The key of what a store knows of itself: no key of a row is so short."""
Shown = tuple[tuple[Any, ...], tuple[Any, ...], int]
"""Key and value columns, and the timestamp."""


class Kept(NamedTuple):
    """An entry of a store, whose it is, and when it was put."""

    task: int
    key: bytes
    data: bytes
    timestamp_ms: int


def rows_of(store: KeptStore, kept: Iterable[Kept]) -> Iterator[Shown]:
    """Yield the rows that all entries of a store stand for: of a window store a row for each window, of a versioned one the latest.

    Windows and sessions whose time is over are left out, by the time of their task, as the processor itself finds none.
    """
    entries = list(kept)
    gone_by = _gone_by(store, entries)
    values, keys = ValueCodec(store), KeyCodec(store)
    for one in entries:
        if one.key != _ABOUT:
            columns = keys.decode(one.key)
            for bounds, text, at in _texts(store, one, gone_by.get(one.task)):
                yield (*columns, *bounds), values.row(values.parse(text)), at


def _gone_by(store: KeptStore, entries: list[Kept]) -> dict[int, int]:
    """Return the last time of each task of which nothing is found any more."""
    if store.kind not in _GOING:
        return {}
    about = (one for one in entries if one.key == _ABOUT)
    return {one.task: time_of(one.data) - store.retention_ms for one in about}


def _texts(
    store: KeptStore, one: Kept, gone_by: int | None
) -> Iterator[tuple[tuple[int, ...], str, int]]:
    """Yield what an entry stands for: the bounds of a window or a session, the value as a text, the time."""
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
