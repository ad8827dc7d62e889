"""Why a reader cannot read what a writer wrote: Java's `SchemaCompatibility`, place by place.

- A pair of types is compared once. A second place with the same pair reports the first place, as
  in Java; a pair that contains itself is compatible unless something else in it is not.
- Java compares a writer's type with each type of a reader's union, with all their fields. Of large
  schemas that is too much: after `_EXACT_PAIRS_MAX` pairs the comparison starts again and skips the
  types of a union that have another kind or name. It ends after `_PAIRS_MAX` pairs with
  `SCHEMAS_TOO_LARGE`. At most `_REASONS_MAX` reasons are reported: a type with two fields of a type
  with two fields and so on has its reasons once for each path.
- A reader's field that finds two fields of the writer by its name and aliases is the only reason
  that is reported, `AMBIGUOUS_FIELD_ALIAS`. Java's library throws an exception there.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Final, NamedTuple

from duolog.schemas.avro.json_text import in_java_order
from duolog.schemas.avro.steps import run
from duolog.schemas.avro.types import (
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Missing,
    Named,
    Primitive,
    Record,
    Type,
    Union,
)
from duolog.schemas.schema import Incompatibility

_EXACT_PAIRS_MAX: Final = 20_000
_PAIRS_MAX: Final = 500_000
_REASONS_MAX: Final = 1_000

# What a reader's primitive accepts.
_PROMOTED: Final = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
_ACCEPTED: Final = {kind: {kind, *_PROMOTED.get(kind, ())} for kind in PRIMITIVES}

_Reasons = tuple[Incompatibility, ...]


class _Place(NamedTuple):
    """A place in the reader: what leads to it from the place around it."""

    around: "_Place | None"
    token: str

    def path(self, *more: str) -> str:
        tokens = [*reversed(more)]
        place: _Place | None = self
        while place is not None and place.around is not None:
            tokens.append(place.token)
            place = place.around
        return "/" + "/".join(
            token.replace("~", "~0").replace("/", "~1") for token in reversed(tokens)
        )


_ROOT: Final = _Place(None, "")
_Pair = tuple[Type, Type, _Place]
_Steps = Generator[_Pair, _Reasons, _Reasons]


class _TooManyPairsError(Exception):
    pass


class _AmbiguousFieldError(Exception):
    def __init__(self, reason: Incompatibility) -> None:
        super().__init__(reason)
        self.reason = reason


def incompatibilities(reader: Type, writer: Type) -> _Reasons:
    """Return why a reader cannot read what a writer wrote; empty if it can."""
    for pairs_max, names_first in ((_EXACT_PAIRS_MAX, False), (_PAIRS_MAX, True)):
        comparison = _Comparison(pairs_max, names_first=names_first)
        try:
            return run(comparison.compare, (reader, writer, _ROOT))
        except _TooManyPairsError:
            continue
        except _AmbiguousFieldError as ambiguous:
            return (ambiguous.reason,)
    return (
        Incompatibility(
            "SCHEMAS_TOO_LARGE",
            "The {reader} schema and the {writer} schema have too many pairs of types to compare",
            f"limit: {_PAIRS_MAX}",
        ),
    )


class _Comparison:
    def __init__(self, pairs_max: int, *, names_first: bool) -> None:
        self._pairs_max = pairs_max
        self._names_first = names_first
        self._compared: dict[tuple[int, int], _Reasons] = {}
        self._candidates: dict[int, _Candidates] = {}

    def compare(self, pair: _Pair) -> _Steps:
        reader, writer, place = pair
        reasons = _primitive_reasons(reader, writer, place)
        if reasons is not None:
            return reasons
        key = (id(reader), id(writer))
        known = self._compared.get(key)
        if known is not None:
            return known
        if len(self._compared) >= self._pairs_max:
            raise _TooManyPairsError
        self._compared[key] = ()  # while it is being compared, for types that contain themselves
        if reader.kind == writer.kind:
            reasons = yield from self._same_kind(reader, writer, place)
        elif isinstance(writer, Union):
            reasons = ()
            for number, branch in enumerate(writer.branches):
                reasons += yield (reader, branch, _Place(place, str(number)))
                reasons = reasons[:_REASONS_MAX]
        elif isinstance(reader, Union):
            reasons = yield from self._union_of_type(reader, writer, place)
        else:
            reasons = (_type_mismatch(reader, writer, place.path()),)
        self._compared[key] = reasons
        return reasons

    def _same_kind(self, reader: Type, writer: Type, place: _Place) -> _Steps:  # noqa: PLR0911 - a table of cases
        match reader, writer:
            case Array(), Array():
                return (yield (reader.items, writer.items, _Place(place, "items")))
            case Map(), Map():
                return (yield (reader.values, writer.values, _Place(place, "values")))
            case Union(), Union():
                return (yield from self._unions(reader, writer, place))
            case Record(), Record():
                return (yield from self._records(reader, writer, place))
            case Enum(), Enum():
                return (
                    *_name_reasons(reader, writer, place),
                    *_symbol_reasons(reader, writer, place),
                )
            case Fixed(), Fixed():
                return (
                    *_name_reasons(reader, writer, place),
                    *_size_reasons(reader, writer, place),
                )
            case _:
                return ()

    def _records(self, reader: Record, writer: Record, place: _Place) -> _Steps:
        reasons = tuple(_name_reasons(reader, writer, place))
        of_writer = {field.name: field for field in writer.fields}
        place = _Place(place, "fields")
        for number, field in enumerate(reader.fields):
            same = of_writer.get(field.name)
            if same is not None and not field.aliases and _reads_primitive(field.type, same.type):
                continue
            at = _Place(place, str(number))
            found = [of_writer[name] for name in (field.name, *field.aliases) if name in of_writer]
            if len(found) > 1:
                raise _AmbiguousFieldError(_ambiguous_field(field, at.path()))
            if found:
                reasons += yield (field.type, found[0].type, _Place(at, "type"))
            elif not isinstance(field.default, Missing):
                continue
            elif isinstance(field.type, Enum) and field.type.default is not None:
                # Java compares the enum with the record here, which never succeeds.
                reasons += yield (field.type, writer, _Place(at, "type"))
            else:
                reasons += (_missing_default(field, at.path()),)
            reasons = reasons[:_REASONS_MAX]
        return reasons

    def _unions(self, reader: Union, writer: Union, place: _Place) -> _Steps:
        reasons: _Reasons = ()
        for number, branch in enumerate(writer.branches):
            if _reads_primitive(reader, branch):
                continue
            if (yield (reader, branch, _ROOT)) and len(reasons) < _REASONS_MAX:
                reasons += (_missing_branch(branch, _Place(place, str(number)).path()),)
        return reasons

    def _union_of_type(self, reader: Union, writer: Type, place: _Place) -> _Steps:
        for branch in self._branches(reader, writer):
            if not (yield (branch, writer, _ROOT)):
                return ()
        return (_missing_branch(writer, place.path()),)

    def _branches(self, reader: Union, writer: Type) -> Iterable[Type]:
        if not self._names_first:
            return reader.branches
        candidates = self._candidates.get(id(reader))
        if candidates is None:
            candidates = self._candidates[id(reader)] = _Candidates(reader)
        return candidates.of(writer)


class _Candidates:
    """The types of a reader's union that may accept a type, by kind and name."""

    def __init__(self, union: Union) -> None:
        self._by_key: dict[tuple[str, str], list[Type]] = {}
        for branch in union.branches:
            for key in dict.fromkeys(_accepted_keys(branch)):
                self._by_key.setdefault(key, []).append(branch)

    def of(self, writer: Type) -> list[Type]:
        if not isinstance(writer, Named):
            return self._by_key.get((writer.kind, ""), [])
        by_name = self._by_key.get((writer.kind, writer.name.simple), [])
        by_alias = self._by_key.get((writer.kind, f"={writer.name.full}"), [])
        return [*by_name, *by_alias]


def _accepted_keys(reader: Type) -> Iterator[tuple[str, str]]:
    if isinstance(reader, Named):
        yield reader.kind, reader.name.simple
        for alias in reader.alias_texts:
            yield reader.kind, f"={alias}"
    else:
        yield reader.kind, ""
        for kind in _PROMOTED.get(reader.kind, ()) if reader.kind in PRIMITIVES else ():
            yield kind, ""


def _reads_primitive(reader: Type, writer: Type) -> bool:
    """Tell whether a type reads what a primitive has written; the answer needs no comparison."""
    if not isinstance(writer, Primitive):
        return False
    if isinstance(reader, Union):
        return any(_reads_primitive(branch, writer) for branch in reader.branches)
    return isinstance(reader, Primitive) and writer.kind in _ACCEPTED[reader.kind]


def _primitive_reasons(reader: Type, writer: Type, place: _Place) -> _Reasons | None:
    """Return the reasons for a primitive writer; None for other writers.

    No other places lead to the same pair, so there is nothing to remember.
    """
    if not isinstance(writer, Primitive):
        return None
    if _reads_primitive(reader, writer):
        return ()
    if isinstance(reader, Union):
        return (_missing_branch(writer, place.path()),)
    return (_type_mismatch(reader, writer, place.path()),)


def _name_reasons(reader: Named, writer: Named, place: _Place) -> Iterator[Incompatibility]:
    if reader.name.simple != writer.name.simple and writer.name.full not in reader.alias_texts:
        path = place.path("name")
        yield Incompatibility(
            "NAME_MISMATCH",
            f"The name of the schema has changed (path '{path}')",
            f"expected: {writer.name.full}",
        )


def _symbol_reasons(reader: Enum, writer: Enum, place: _Place) -> Iterator[Incompatibility]:
    missing = set(writer.symbols) - set(reader.symbols)
    if missing and reader.default is None:
        path = place.path("symbols")
        symbols = f"[{', '.join(in_java_order(missing))}]"
        yield Incompatibility(
            "MISSING_ENUM_SYMBOLS",
            f"The {{reader}} schema is missing enum symbols '{symbols}' at path '{path}'"
            " in the {writer} schema",
            symbols,
        )


def _size_reasons(reader: Fixed, writer: Fixed, place: _Place) -> Iterator[Incompatibility]:
    if reader.size != writer.size:
        path = place.path("size")
        yield Incompatibility(
            "FIXED_SIZE_MISMATCH",
            f"The size of FIXED type field at path '{path}' in the {{reader}} schema does not match"
            " with the {writer} schema",
            f"expected: {writer.size}, found: {reader.size}",
        )


def _type_mismatch(reader: Type, writer: Type, path: str) -> Incompatibility:
    return Incompatibility(
        "TYPE_MISMATCH",
        f"The type (path '{path}') of a field in the {{reader}} schema does not match with the"
        " {writer} schema",
        f"reader type: {reader.kind.upper()} not compatible with writer type:"
        f" {writer.kind.upper()}",
    )


def _missing_branch(writer: Type, path: str) -> Incompatibility:
    return Incompatibility(
        "MISSING_UNION_BRANCH",
        f"The {{reader}} schema is missing a type inside a union field at path '{path}' in the"
        " {writer} schema",
        f"reader union lacking writer type: {writer.kind.upper()}",
    )


def _missing_default(field: Field, path: str) -> Incompatibility:
    return Incompatibility(
        "READER_FIELD_MISSING_DEFAULT_VALUE",
        f"The field '{field.name}' at path '{path}' in the {{reader}} schema has no default value"
        " and is missing in the {writer} schema",
        field.name,
    )


def _ambiguous_field(field: Field, path: str) -> Incompatibility:
    return Incompatibility(
        "AMBIGUOUS_FIELD_ALIAS",
        f"The field '{field.name}' at path '{path}' in the {{reader}} schema matches more than one"
        " field of the {writer} schema by its name and aliases",
        field.name,
    )
