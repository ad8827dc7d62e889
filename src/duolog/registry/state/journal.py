"""Changes of dictionaries that can be taken back.

A request that consists of several writes decides the second on the state after the first. It
replays its records within a trial, which leaves no trace.
"""

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Journal:
    """The only door to the dictionaries of the state."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] | None = None

    def put(self, mapping: MutableMapping[K, V], key: K, value: V) -> None:
        """Set an entry."""
        if self._undo is not None:
            self._remember(mapping, key)
        mapping[key] = value

    def remove(self, mapping: MutableMapping[K, V], key: K) -> None:
        """Delete an entry, if there is one."""
        if key in mapping:
            if self._undo is not None:
                self._remember(mapping, key)
            del mapping[key]

    def on_undo(self, change: Callable[[], object]) -> None:
        """Call `change` when the current trial, if there is one, is taken back."""
        if self._undo is not None:
            self._undo.append(change)

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Take back all changes that are made within."""
        outer, self._undo = self._undo, []
        try:
            yield
        finally:
            undo, self._undo = self._undo, outer
            for change in reversed(undo):
                change()

    def _remember(self, mapping: MutableMapping[K, V], key: K) -> None:
        assert self._undo is not None
        if key in mapping:
            old = mapping[key]
            self._undo.append(lambda: mapping.__setitem__(key, old))
        else:
            self._undo.append(lambda: mapping.pop(key))
