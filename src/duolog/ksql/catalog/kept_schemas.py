"""Answers of the schema registry to a statement, kept for replays.

A replay must mean the same as the statement did when it was accepted: with the columns that it
inferred then, the schemas that it registered, and without a registry that answers.

    {"id": 7, "text": "{…}", "columns": [["A", "INT", "VALUE"], ["B", ["ARRAY", "INT"], "VALUE"]]}
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

from duolog.core.types import BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INT, STRING, TIME, TIMESTAMP
from duolog.ksql.catalog.catalog import Registered, SqlColumn, SqlFormat
from duolog.plan.types import Array, Column, Decimal, Map, Struct, Type

Found = tuple[SqlFormat, tuple[SqlColumn, ...]]
"""A format with the schema to write, and the columns that were inferred, if any."""
Kept = dict[str, Any]
"""One answer as JSON."""

_PLAIN: Final = {
    of.name: of for of in (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)
}


class KeptSchemas:
    """The answers to a statement, in the order in which it asks.

    Args:
        answers: those of an earlier run to give again; None to keep new ones.
    """

    def __init__(self, answers: Sequence[Kept] | None = None) -> None:
        self.answers: list[Kept] = list(answers or ())
        self._left = None if answers is None else iter(self.answers)

    @property
    def repeats(self) -> bool:
        """True in a replay: the statement was accepted, whatever the registry has today."""
        return self._left is not None

    def answer(self, find: Callable[[], Found], of: SqlFormat, address: str) -> Found:
        """Return what `find` returns, or what it returned in the earlier run."""
        if self._left is None:
            found = find()
            self.answers.append(_written(found))
            return found
        kept = next(self._left, None)
        if kept is None:  # an older version of the statement asked for less
            return find()
        registered = Registered(address, kept["id"], kept["text"])
        columns = tuple(
            SqlColumn(name, _read_type(kind), role) for name, kind, role in kept["columns"]
        )
        return replace(of, registered=registered), columns


_KEPT: Final[ContextVar[KeptSchemas | None]] = ContextVar("kept schemas", default=None)


@contextlib.contextmanager
def keeping(kept: KeptSchemas) -> Iterator[None]:
    """Keep or repeat the answers to the statement that this thread runs inside the block."""
    before = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(before)


def kept_or_found(find: Callable[[], Found], of: SqlFormat, address: str) -> Found:
    """Return what `find` returns; inside `keeping`, keep it or return what was kept."""
    kept = _KEPT.get()
    return find() if kept is None else kept.answer(find, of, address)


def replays() -> bool:
    """Return whether this thread runs a statement again that was accepted before."""
    kept = _KEPT.get()
    return kept is not None and kept.repeats


def _written(found: Found) -> Kept:
    of, columns = found
    assert of.registered is not None, of
    return {
        "id": of.registered.schema_id,
        "text": of.registered.text,
        "columns": [[one.name, _written_type(one.type), one.role] for one in columns],
    }


def _written_type(of: Type) -> Any:
    match of:
        case Array(element=element):
            return ["ARRAY", _written_type(element)]
        case Map(key=key, value=value):
            return ["MAP", _written_type(key), _written_type(value)]
        case Struct(fields=fields):
            return ["STRUCT", *([field.name, _written_type(field.type)] for field in fields)]
        case Decimal(precision=precision, scale=scale):
            return ["DECIMAL", precision, scale]
        case _:
            return of.name


def _read_type(written: Any) -> Type:
    match written:
        case ["ARRAY", element]:
            return Array(_read_type(element))
        case ["MAP", key, value]:
            return Map(_read_type(key), _read_type(value))
        case ["STRUCT", *fields]:
            return Struct(tuple(Column(name, _read_type(kind)) for name, kind in fields))
        case ["DECIMAL", precision, scale]:
            return Decimal(precision, scale)
        case _:
            return _PLAIN[written]
