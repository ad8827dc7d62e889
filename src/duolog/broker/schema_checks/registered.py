"""Answers of a registry about schemas, and questions to it on a thread of their own.

    known      subjects of a schema; kept for ever, as ids are never reused
    unknown    asked again after `UNKNOWN_S`: a schema may have been registered meanwhile
    refused    an answer that says nothing about the schema, such as to a user; this one is asked
               again after `AWAY_S`, others are asked for
    away       no answer: for `AWAY_S` nothing is asked, so that a line of questions ends soon

Threads: `known` and `look_up` belong to the loop. The thread writes single entries of the two
dictionaries, which the loop only reads.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.broker.event_loop.background import BesideTheLoop
from duolog.core.errors import RegistryError
from duolog.schemas.schema import InvalidSchemaError
from duolog.schemas.source import RegistryAwayError, UnknownSchemaError
from duolog.schemas.subjects import SchemaKey, SubjectsSource

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Loop
    from duolog.core.clock import Clock
    from duolog.schemas.schema import Schema

logger = logging.getLogger(__name__)

UNKNOWN_S: Final = 5.0
AWAY_S: Final = 1.0
MISSES_MAX: Final = 16
"""Number of unknown schemas in one request after which no more are looked up: it is refused."""
_UNKNOWN_MAX: Final = 10_000

OpenRegistry = Callable[[], SubjectsSource]
"""Returns the registry. Raises RegistryError if it cannot be reached yet."""
Done = Callable[[object, Exception | None], None]


class Registered(NamedTuple):
    """The known facts about one schema."""

    subjects: frozenset[str]
    schema: "Schema | None"
    """The parsed schema, if its name was needed."""
    asked_at: float
    problem: str = ""
    """Why the schema cannot be parsed, if its name was needed."""


class RegisteredSchemas:
    """The schemas of a registry, as far as records have named them.

    Args:
        loop: the event loop of the broker.
        clock: the clock of the broker.
        open_registry: returns the registry; None if this broker has none.
    """

    def __init__(self, loop: "Loop", clock: "Clock", open_registry: OpenRegistry | None) -> None:
        self._clock = clock
        self._open = open_registry
        self._beside = BesideTheLoop(loop)
        self._known: dict[SchemaKey, Registered] = {}
        self._unknown: dict[SchemaKey, float] = {}
        self._refused: dict[SchemaKey, tuple[float, RegistryError]] = {}
        """Used by the thread only."""
        self._away_until = float("-inf")
        self._away: RegistryError | None = None
        self._closed = False

    @property
    def available(self) -> bool:
        """True if this broker has a registry, reachable or not."""
        return self._open is not None

    def known(self, key: SchemaKey) -> Registered | None:
        """Return what is known about a schema; None if nothing is."""
        return self._known.get(key)

    def is_missing(self, key: SchemaKey) -> bool:
        """Say whether the registry has just answered that it does not have a schema."""
        asked_at = self._unknown.get(key)
        return asked_at is not None and self._clock.monotonic() - asked_at < UNKNOWN_S

    def is_recent(self, registered: Registered) -> bool:
        """Say whether the subjects of a schema have just been asked for."""
        return self._clock.monotonic() - registered.asked_at < UNKNOWN_S

    def look_up(self, wanted: Mapping[SchemaKey, bool], done: Done) -> None:
        """Ask for schemas off the loop, then call `done` on it.

        The value says whether the schema itself is needed. `done` gets a RegistryError if some of
        them are not known because the registry does not answer, or refuses the user.
        """
        self._beside.call(partial(self._ask_all, dict(wanted)), done)

    def close(self) -> None:
        """End the thread; questions in the line are given up."""
        self._closed = True
        self._beside.close()

    def _ask_all(self, wanted: Mapping[SchemaKey, bool]) -> None:
        misses = 0
        refused: RegistryError | None = None
        for key, with_schema in wanted.items():
            if misses == MISSES_MAX:
                break
            self._ensure_there()
            if (recent := self._refusal_of(key)) is not None:
                misses += 1
                refused = recent
                continue
            try:
                assert self._open is not None, "see _ensure_there"
                misses += not self._ask(self._open(), key, with_schema=with_schema)
            except RegistryError as error:
                logger.warning(
                    "cannot look up a schema id of a record", extra={"reason": error.one_line()}
                )
                if isinstance(error, RegistryAwayError):
                    self._away, self._away_until = error, self._clock.monotonic() + AWAY_S
                    raise
                misses += 1
                refused = error
                if len(self._refused) >= _UNKNOWN_MAX:
                    self._refused.clear()
                self._refused[key] = self._clock.monotonic(), error
        if refused is not None:
            raise refused

    def _refusal_of(self, key: SchemaKey) -> RegistryError | None:
        """Return the error for a schema about which the registry has just refused to answer."""
        refused_at, error = self._refused.get(key, (float("-inf"), None))
        return error if self._clock.monotonic() - refused_at < AWAY_S else None

    def _ensure_there(self) -> None:
        if self._open is None:
            raise RegistryError("this broker has no schema registry")
        if self._closed:
            raise RegistryError("the broker stops")
        if self._away is not None and self._clock.monotonic() < self._away_until:
            raise self._away

    def _ask(self, registry: SubjectsSource, key: SchemaKey, *, with_schema: bool) -> bool:
        """Ask for one schema; return whether the registry has it."""
        if self.is_missing(key):  # Another request has asked meanwhile.
            return False
        known = self._known.get(key)
        problem = ""
        try:
            if known is not None and self.is_recent(known):
                subjects = known.subjects
            else:
                subjects = registry.subjects_of(key)
            schema = known.schema if known is not None else None
            if subjects and with_schema and schema is None:
                schema = registry.schema_of(key)
        except UnknownSchemaError:
            subjects = frozenset()
        except InvalidSchemaError as error:
            # The registry has answered: other producers do not wait as if it were away.
            problem = error.message
            logger.warning(
                "schema of a record cannot be read", extra={"schema": key, "reason": problem}
            )
        now = self._clock.monotonic()
        if subjects:
            if known is not None:  # What was accepted once stays accepted.
                subjects |= known.subjects
            self._known[key] = Registered(subjects, schema, now, problem)
            return True
        if known is None:
            if len(self._unknown) >= _UNKNOWN_MAX:
                self._unknown.clear()
            self._unknown[key] = now
        else:
            self._known[key] = known._replace(asked_at=now)
        return False
