"""Compare two schemas field by field, with the effect of each change on readers.

    path     change    old             new      backward                  forward
    note     removed   string                   ok                        READER_FIELD_MISSING_…
    amount   changed   int             string   TYPE_MISMATCH             TYPE_MISMATCH

backward: a reader with the new schema reads records of the old one. forward: the other way round.
An incompatibility that belongs to no changed field has a row of its own.
"""

import difflib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from duolog.cli.registry.schema_fields import fields_of, place_of
from duolog.cli.registry.shown import pretty
from duolog.schemas.schema import Incompatibility, Schema
from duolog.schemas.source import SchemaText

OK: Final = "ok"


class Difference(NamedTuple):
    """One difference: `backward` and `forward` are "ok" or names of broken rules."""

    path: str
    change: str
    old: str | None
    new: str | None
    backward: str = OK
    forward: str = OK


class Comparison(NamedTuple):
    """The differences of two schemas, and whether each reads the other's records."""

    differences: tuple[Difference, ...]
    backward: tuple[Incompatibility, ...]
    forward: tuple[Incompatibility, ...]


def compare(old: Schema, new: Schema) -> Comparison:
    """Return the differences between two schemas of one language."""
    before, after = fields_of(old), fields_of(new)
    backward, forward = new.incompatibilities(old), old.incompatibilities(new)
    found = {one.path: one for one in _changes(before, after)}
    for reasons, sides, way in (
        (backward, (new, old), "backward"),
        (forward, (old, new), "forward"),
    ):
        for reason in reasons:
            # What only one of the two schemas has is found in that one.
            places = [place_of(side, _path_in(reason)) for side in sides]
            path = next((place for place in places if place in found), places[0])
            row = found.get(path) or Difference(
                path, "unchanged", before.get(path), after.get(path)
            )
            broken = [] if getattr(row, way) == OK else getattr(row, way).split(", ")
            kinds = ", ".join(dict.fromkeys([*broken, reason.kind]))
            found[path] = row._replace(**{way: kinds})
    return Comparison(tuple(found.values()), backward, forward)


def text_difference(old: Schema, new: Schema, names: tuple[str, str]) -> str:
    """Return the unified difference of the canonical texts; empty if they are equal."""
    before, after = (
        pretty(SchemaText(one.language, one.canonical)).splitlines() for one in (old, new)
    )
    return "\n".join(difflib.unified_diff(before, after, names[0], names[1], lineterm=""))


def _changes(before: dict[str, str], after: dict[str, str]) -> Iterator[Difference]:
    for path in _in_order(before, after):
        old, new = before.get(path), after.get(path)
        if old is None:
            yield Difference(path, "added", None, new)
        elif new is None:
            yield Difference(path, "removed", old, None)
        elif old != new:
            yield Difference(path, "changed", old, new)


def _in_order(before: Iterable[str], after: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the new schema, each removed one after the path that it followed."""
    removed: dict[str, list[str]] = {}
    last, known = "", set(after)
    for path in before:
        if path in known:
            last = path
        else:
            removed.setdefault(last, []).append(path)
    yield from removed.get("", [])
    for path in after:
        yield path
        yield from removed.get(path, [])


def _path_in(reason: Incompatibility) -> str:
    _, _, rest = reason.description.partition("path '")
    return rest.partition("'")[0]
