"""The checks of a schema, one for each keyword."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from duolog.schemas.json_schema.documents import Documents, Node
from duolog.schemas.json_schema.json_text import JsonValue
from duolog.schemas.json_schema.validation.arrays import ARRAYS
from duolog.schemas.json_schema.validation.combinations import COMBINATIONS
from duolog.schemas.json_schema.validation.objects import OBJECTS
from duolog.schemas.json_schema.validation.place import Place
from duolog.schemas.json_schema.validation.references import reference_checks
from duolog.schemas.json_schema.validation.run import Check, Checks
from duolog.schemas.json_schema.validation.scalars import SCALARS

_Factory: TypeAlias = Callable[[Place, JsonValue], Check | None]

_FACTORIES: Final[dict[str, _Factory]] = SCALARS | COMBINATIONS | OBJECTS | ARRAYS
_LAST: Final = ("unevaluatedProperties", "unevaluatedItems")


def checks_of(documents: Documents, node: Node) -> Checks:
    """Return the checks of a schema that is an object."""
    place = Place(documents, node)
    collects = node.draft.modern and any(keyword in place.raw for keyword in _LAST)
    return tuple(_checks(place)), collects


def _checks(place: Place) -> Iterator[Check]:
    references = reference_checks(place)
    yield from references
    if references and not place.node.draft.modern:
        return
    # They ask what the other keywords have accepted.
    last = [keyword for keyword in _LAST if keyword in place.raw]
    for keyword in (*(key for key in place.raw if key not in _LAST), *last):
        factory = _FACTORIES.get(keyword)
        check = None if factory is None else factory(place, place.raw[keyword])
        if check is not None:
            yield check
