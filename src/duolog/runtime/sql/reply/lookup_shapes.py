"""Answer repeated look-ups without parsing: statements that differ only in their literals.

    SELECT v FROM t WHERE id = 'a' LIMIT 3     shape: SELECT v FROM t WHERE id = ?s LIMIT ?i
                                               form:  key (literal 0,), limit literal 1

A shape is learned when it is seen for the second time. The statement is bound once more with
markers in place of its literals; the places at which the markers arrive are the form. If the form
with the literals of the statement is not what the statement itself was bound to, the shape is not
used. A form is valid while the catalog has the same table.

Threads: any.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.errors import SqlError
from duolog.runtime.sql.reply.lookup import Lookup
from duolog.serde.row import Row

_LITERAL: Final = re.compile(r"'((?:[^']|'')*)'|(?<![\w.])(\d{1,18})(?![\w.])")
_NOT_PLAIN: Final = re.compile(r"[\"`$\\?@]|--|/\*|\d\.|\.\d")
"""Quoted names, variables, comments, decimal numbers: these statements are parsed."""
_TEXT_MAX: Final = 2_000
_SHAPES_MAX: Final = 1_000
_INT_MAX: Final = 2**31 - 1
_MARKED_INT: Final = 1_987_600_000
_MARKED_BIGINT: Final = 3_141_592_653_589_793

Key = tuple[object, ...]
Bind = Callable[[str], Lookup | None]
"""Parses and binds a statement; None if it is not a look-up."""


class Shaped(NamedTuple):
    """A statement without its literals, and these."""

    shape: str
    values: tuple[object, ...]


class _Slot(NamedTuple):
    """A place in a form that has a literal, converted."""

    number: int
    convert: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Form:
    """A look-up with slots instead of the values of its keys, tests and limit."""

    marked: Lookup
    keys: tuple[Row, ...]
    tests: tuple[object, ...]
    limit: object

    def lookup(self, values: Row) -> Lookup:
        """Return the look-up with these literals."""
        keys = [tuple(_resolved(part, values) for part in key) for key in self.keys]
        tests = [
            (at, compare, _resolved(part, values))
            for (at, compare, _), part in zip(self.marked.tests, self.tests, strict=True)
        ]
        limit = _resolved(self.limit, values)
        assert limit is None or isinstance(limit, int)
        return replace(
            self.marked, keys=tuple(dict.fromkeys(keys)), tests=tuple(tests), limit=limit
        )


def shape_of(text: str) -> Shaped | None:
    """Return the shape of a statement; None if it must be parsed.

    Example:
        >>> shape_of("SELECT v FROM t WHERE id = 'it''s' AND n < 5;")
        Shaped(shape='SELECT v FROM t WHERE id = ?s AND n < ?i;', values=("it's", 5))
    """
    if len(text) > _TEXT_MAX or _NOT_PLAIN.search(text) is not None:
        return None
    values: list[object] = []

    def taken(found: re.Match[str]) -> str:
        word, digits = found.groups()
        if digits is None:
            values.append(word.replace("''", "'"))
            return "?s"
        number = int(digits)
        values.append(number)
        return "?i" if number <= _INT_MAX else "?l"

    return Shaped(_LITERAL.sub(taken, text), tuple(values))


class LookupShapes:
    """Known shapes of look-ups; the least recently used are dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: OrderedDict[Key, Form | None] = OrderedDict()
        """None: seen once, or cannot be used."""
        self._tried: set[Key] = set()

    def find(
        self, shaped: Shaped, options: Key, catalog: Callable[[], Catalog], bind: Bind
    ) -> Lookup | None:
        """Return a statement as a look-up; None if it must be parsed.

        Args:
            shaped: its shape and literals.
            options: settings on which the meaning of a statement depends.
            catalog: returns the current catalog; called only if the shape is known.
            bind: parses and binds a statement in this catalog.
        """
        key = (shaped.shape, *options)
        with self._lock:
            is_known = key in self._forms
            form = self._forms.get(key)
            if is_known:
                self._forms.move_to_end(key)
        if form is not None:
            source = form.marked.source
            known = catalog().sources.get(source.name)
            if known is source or known == source:
                return form.lookup(shaped.values)
            self._keep(key, None)
            with self._lock:
                self._tried.discard(key)
            return None
        if not is_known:
            self._keep(key, None)
        elif key not in self._tried:
            self._tried.add(key)
            catalog()
            form = _learned(shaped, bind)
            self._keep(key, form)
            return None if form is None else form.lookup(shaped.values)
        return None

    def form(self, shaped: Shaped, options: Key, catalog: Catalog, bind: Bind) -> Form | None:
        """Return the form of a shape, which is learned if it is not known; None if there is none.

        Args:
            shaped: as for `find`.
            options: as for `find`.
            catalog: the current catalog.
            bind: parses and binds a statement in this catalog.
        """
        key = (shaped.shape, *options)
        with self._lock:
            form = self._forms.get(key)
        source = None if form is None else form.marked.source
        if source is None or catalog.sources.get(source.name) != source:
            form = _learned(shaped, bind)
            if form is not None:
                self._keep(key, form)
        return form

    def _keep(self, key: Key, form: Form | None) -> None:
        with self._lock:
            self._forms[key] = form
            self._forms.move_to_end(key)
            if len(self._forms) > _SHAPES_MAX:
                dropped, _ = self._forms.popitem(last=False)
                self._tried.discard(dropped)


def _learned(shaped: Shaped, bind: Bind) -> Form | None:
    """Return the form of a shape, or None if its literals are not only values of a look-up."""
    markers = [_marker(number, value) for number, value in enumerate(shaped.values)]
    try:
        marked = bind(_filled(shaped.shape, markers))
        own = bind(_filled(shaped.shape, shaped.values))
    except SqlError:
        return None
    if marked is None or own is None:
        return None
    numbers = {marker: number for number, marker in enumerate(markers)}
    form = Form(
        marked,
        tuple(tuple(_slot(value, numbers) for value in key) for key in marked.keys),
        tuple(_slot(value, numbers) for _, _, value in marked.tests),
        _slot(marked.limit, numbers),
    )
    places = [*form.tests, form.limit, *(part for key in form.keys for part in key)]
    used = {part.number for part in places if isinstance(part, _Slot)}
    if len(used) < len(markers) or form.lookup(shaped.values) != own:
        return None
    return form


def _marker(number: int, value: object) -> object:
    if isinstance(value, str):
        return f"marker {number} of a literal"
    assert isinstance(value, int), value
    return number + (_MARKED_INT if value <= _INT_MAX else _MARKED_BIGINT)


def _filled(shape: str, values: Row | list[object]) -> str:
    """Return a shape with literals."""
    left = iter(values)
    return re.sub(r"\?[sil]", lambda _: _written(next(left)), shape)


def _written(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _slot(value: object, numbers: dict[object, int]) -> object:
    """Return a slot for a marker; any other value stays as it is."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    if value in numbers:
        return _Slot(numbers[value], type(value))
    if not isinstance(value, str) and -value in numbers:
        return _Slot(numbers[-value], _negated(type(value)))
    return value


def _negated(of: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: of(-value)


def _resolved(part: object, values: Row) -> object:
    return part.convert(values[part.number]) if isinstance(part, _Slot) else part
