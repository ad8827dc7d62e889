"""The candidates of a completion as JSON."""

from collections.abc import Set
from dataclasses import replace
from typing import Any, Final

from duolog.ksql.editor.catalog_vocabulary import vocabulary_of
from duolog.ksql.editor.completion import completion
from duolog.server.access.guarded_session import Trial
from duolog.server.editor.places import Places

VERSION: Final = 1
_HELP_MAX: Final = 2000


def offered(text: str, offset: int, trial: Trial, topics: Set[str]) -> dict[str, Any]:
    """Return what is possible at a place.

    Args:
        text: the statements.
        offset: the place, in UTF-16 code units.
        trial: a session over what the client may see.
        topics: the topics that it may see.
    """
    known = vocabulary_of(trial.state)
    known = replace(known, topics=tuple(name for name in known.topics if name in topics))
    places = Places(text)
    at = min(places.characters(offset), len(text))
    found = completion(text, at, known)
    return {
        "version": VERSION,
        "from": places.units(found.start),
        "to": places.units(at),
        "complete": not found.is_cut,
        "candidates": [
            {
                "text": one.text,
                "kind": one.kind,
                "detail": one.detail[:_HELP_MAX],
                "help": one.help[:_HELP_MAX],
            }
            for one in found.candidates
        ],
    }
