"""The basis of all rules: state, settings, parsed schemas, and common questions."""

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, Protocol, Self, TypeVar

from duolog.registry.errors import invalid_version, not_permitted
from duolog.registry.names import DEFAULT_CONTEXT, SubjectName, context_of, normalized
from duolog.registry.records.keys import SchemaKey
from duolog.registry.records.values import ConfigValue, Mode, SchemaValue
from duolog.registry.rules.parsing import ParseLanguage, SchemaParser
from duolog.registry.rules.requests import Page
from duolog.registry.rules.settings import RulesSettings
from duolog.registry.state import State

T = TypeVar("T")

LATEST: Final = -1

Sees = Callable[[str], bool]
"""Returns whether a client may see a subject, by its shortest qualified name."""


class OfSubject(Protocol):
    """Something that belongs to a subject."""

    @property
    def subject(self) -> str: ...


S = TypeVar("S", bound=OfSubject)


class Basis:
    """The state and what interprets it."""

    def __init__(
        self,
        state: State,
        settings: RulesSettings,
        parse: ParseLanguage,
        new_guid: Callable[[], str],
    ) -> None:
        self.state = state
        self.settings = settings
        self.new_guid = new_guid
        self.versions = state.versions
        self.parser = SchemaParser(state, parse, settings.parsed_chars_max)
        self.sees: Sees | None = None
        """The subjects that the client of a request sees; None if it sees all."""

    def seen_by(self, sees: Sees) -> Self:
        """Return the part of it that a client sees: no alias, context or id leads elsewhere."""
        seen = copy.copy(self)
        seen.sees = sees
        return seen

    def shows(self, subject: str) -> bool:
        """Return whether the client sees a subject."""
        return self.sees is None or self.sees(subject)

    def shown(self, values: Iterable[S]) -> Iterable[S]:
        """Return the values whose subjects the client sees."""
        return values if self.sees is None else [v for v in values if self.sees(v.subject)]

    def contexts(self) -> list[str]:
        """Return the default context, and those with a subject that the client sees."""
        found = self.state.contexts()
        if self.sees is None:
            return found
        seen = {context_of(name) for name in self.versions.subjects() if self.sees(name)}
        return [each for each in found if each == DEFAULT_CONTEXT or each in seen]

    def config(self, subject: str | None) -> ConfigValue:
        """Return the configuration that holds for a subject."""
        return self.state.scopes.config_in_scope(subject, self.settings.compatibility_level)

    def own_config(self, subject: str | None) -> ConfigValue | None:
        """Return the configuration of a subject or context itself."""
        return self.state.scopes.config(subject, self.settings.compatibility_level)

    def mode(self, subject: str | None) -> Mode:
        """Return the mode that holds for a subject."""
        return self.state.scopes.mode_in_scope(subject)

    def resolved(self, subject: str) -> str:
        """Return the qualified subject that a name stands for, through its alias if it has one."""
        subject = normalized(subject)
        config = self.state.scopes.configs.get(subject)
        if config is None or not config.alias or not subject:
            return subject
        target = SubjectName.parse(subject).child(config.alias).text
        return target if self.shows(target) else subject

    def find(self, subject: str, version: int, *, deleted: bool) -> SchemaValue | None:
        """Return a version; -1 is the latest one that is not deleted."""
        if version == LATEST:
            return self.versions.latest(subject)
        value = self.versions.get(SchemaKey(subject, version))
        return value if value is not None and (deleted or not value.deleted) else None

    def places(self, subject: str) -> Iterator[str]:
        """Yield a subject, and if it is unqualified, the same name in every other context."""
        yield subject
        name = SubjectName.parse(subject)
        if name.context == DEFAULT_CONTEXT:
            for context in self.state.contexts()[1:]:
                other = SubjectName(context, name.name).text
                if self.shows(other):
                    yield other

    def ensure_writable(self, subject: str) -> None:
        """Raise an error if the mode of the subject is READONLY.

        Raises:
            RequestError: 42205.
        """
        if self.mode(subject).is_read_only:
            context = SubjectName.parse(subject).prefix
            raise not_permitted(f"Subject {subject} in context {context} is in read-only mode")

    def schema_page(self, entries: Iterable[T], page: Page) -> tuple[T, ...]:
        """Return a page of a list that is never sent as a whole."""
        most = self.settings.schema_page_max
        limit = page.limit if 0 < page.limit <= most else most
        return tuple(islice(entries, max(page.offset, 0), max(page.offset, 0) + limit))


def list_page(entries: Iterable[T], page: Page) -> tuple[T, ...]:
    """Return a page of a list; all of it without a limit."""
    first = max(page.offset, 0)
    return tuple(islice(entries, first, first + page.limit if page.limit > 0 else None))


def version_number(text: str) -> int:
    """Return the number of a version as a request writes it; -1 for `latest`.

    Raises:
        RequestError: 42202.
    """
    text = text.strip()
    if text.lower() == "latest":
        return LATEST
    if re.fullmatch(r"[+-]?[0-9]{1,10}", text, re.ASCII):
        number = int(text)
        if 0 < number < 2**31 or number == LATEST:
            return number
        text = str(number)
    raise invalid_version(text[:100])
