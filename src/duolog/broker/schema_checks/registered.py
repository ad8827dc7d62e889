"""Answers of a registry about schemas, and questions to it on a thread of their own.

    known      subjects of a schema; kept for ever, as ids are never reused
    unknown    a schema that the registry does not have
    lacking    a subject that does not have a schema of other subjects
    refused    an answer that says nothing about the schema, such as to a user; this one is asked
               again after `AWAY_S`, others are asked for
    away       no answer: for `AWAY_S` nothing is asked, so that a line of questions ends soon

What is unknown or lacking is asked again after `UNKNOWN_S`: it may have been registered meanwhile.
It is asked again at once if something was written to the topic of a registry that keeps its schemas
in this broker, as the one of `--registry` does: a producer that has just registered is not refused.

Threads: all public methods belong to the loop. The thread writes single entries of `_known` and
`_unknown`, which the loop only reads.
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

TOPIC_OF_REGISTRY: Final = "_schemas"
"""Where a registry keeps its schemas, unless it is started with another topic."""
UNKNOWN_S: Final = 1.0
AWAY_S: Final = 1.0
MISSES_MAX: Final = 16
"""Number of unknown schemas in one request after which no more are looked up: it is refused."""
_UNKNOWN_MAX: Final = 10_000

OpenRegistry = Callable[[], SubjectsSource]
"""Returns the registry. Raises RegistryError if it cannot be reached yet."""
Done = Callable[[object, Exception | None], None]


class Asked(NamedTuple):
    """The moment of a question."""

    number: int
    """Questions so far, with this one."""
    at_s: float
    written: int
    """Records in the topic of the registry, if it is in this broker."""


class Registered(NamedTuple):
    """The known facts about one schema."""

    subjects: frozenset[str]
    schema: "Schema | None"
    """The parsed schema, if its name was needed."""
    asked: Asked
    """When all subjects were asked for last."""
    problem: str = ""
    """Why the schema cannot be parsed, if its name was needed."""


class RegisteredSchemas:
    """The schemas of a registry, as far as records have named them.

    Args:
        loop: the event loop of the broker.
        clock: the clock of the broker.
        open_registry: returns the registry; None if this broker has none.
        written: returns the number of records in the topic of the registry; always the same if
            the topic is not in this broker.
    """

    def __init__(
        self,
        loop: "Loop",
        clock: "Clock",
        open_registry: OpenRegistry | None,
        written: Callable[[], int],
    ) -> None:
        self._clock = clock
        self._open = open_registry
        self._written = written
        self._beside = BesideTheLoop(loop)
        self._known: dict[SchemaKey, Registered] = {}
        self._unknown: dict[SchemaKey, Asked] = {}
        self._lacking: dict[tuple[SchemaKey, str | None], Asked] = {}
        self._last = Asked(0, float("-inf"), -1)
        self._refused: dict[SchemaKey, tuple[float, RegistryError]] = {}
        """Used by the thread only."""
        self._away_until = float("-inf")
        self._away: RegistryError | None = None
        self._closed = False

    @property
    def available(self) -> bool:
        """True if this broker has a registry, reachable or not."""
        return self._open is not None

    @property
    def questions(self) -> int:
        """The number of questions so far; an answer to a later one is newer than this moment."""
        return self._last.number

    def known(self, key: SchemaKey) -> Registered | None:
        """Return what is known about a schema; None if nothing is."""
        return self._known.get(key)

    def is_missing(self, key: SchemaKey, before: int) -> bool:
        """Say whether the registry has just answered that it does not have a schema.

        Answers to questions after the one with the number `before` hold, however slow they were.
        """
        return self._holds(self._unknown.get(key), before)

    def is_recent(self, registered: Registered, before: int) -> bool:
        """Say whether a schema has just been asked for; `before` as in `is_missing`."""
        return self._holds(registered.asked, before)

    def lacks(self, key: SchemaKey, subject: str | None, before: int) -> bool:
        """Say whether the registry has just answered that a subject does not have a known schema.

        `before` as in `is_missing`. The subject is one that `known` does not name.
        """
        asked = self._known[key].asked
        if asked.number > before:
            if len(self._lacking) >= _UNKNOWN_MAX:
                self._lacking.clear()
            self._lacking[key, subject] = asked
        return self._holds(self._lacking.get((key, subject)), before)

    def look_up(self, wanted: Mapping[SchemaKey, bool], done: Done) -> None:
        """Ask for schemas off the loop, then call `done` on it.

        The value says whether the schema itself is needed. `done` gets a RegistryError if some of
        them are not known because the registry does not answer, or refuses the user.
        """
        self._last = Asked(self._last.number + 1, self._clock.monotonic(), self._written())
        self._beside.call(partial(self._ask_all, dict(wanted), self._last.number), done)

    def close(self) -> None:
        """End the thread; questions in the line are given up."""
        self._closed = True
        self._beside.close()

    def _holds(self, asked: Asked | None, before: int) -> bool:
        """Return whether what was answered to a question need not be asked again."""
        if asked is None:
            return False
        return asked.number > before or (
            self._clock.monotonic() - asked.at_s < UNKNOWN_S and asked.written == self._written()
        )

    def _ask_all(self, wanted: Mapping[SchemaKey, bool], number: int) -> None:
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
                misses += not self._ask(self._open(), key, number, with_schema=with_schema)
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

    def _ask(
        self, registry: SubjectsSource, key: SchemaKey, number: int, *, with_schema: bool
    ) -> bool:
        """Ask for one schema; return whether the registry has it.

        An answer to a question that was asked after this one, for another request, is good enough.
        """
        unknown, known = self._unknown.get(key), self._known.get(key)
        if known is None and unknown is not None and unknown.number >= number:
            return False
        asked = self._last  # Questions that come from now on are not answered with this one.
        problem = ""
        try:
            if known is not None and known.asked.number >= number:
                subjects, asked = known.subjects, known.asked
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
        if subjects:
            if known is not None:  # What was accepted once stays accepted.
                subjects |= known.subjects
            self._known[key] = Registered(subjects, schema, asked, problem)
            return True
        if known is None:
            if len(self._unknown) >= _UNKNOWN_MAX:
                self._unknown.clear()
            self._unknown[key] = asked
        else:
            self._known[key] = known._replace(asked=asked)
        return False
