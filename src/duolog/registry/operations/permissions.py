"""The user of a call may see and change some subjects only.

    a subject that the user may not read    is answered like one that does not exist
    a list                                  lacks these subjects, and pages are counted without them
    a schema by its id or GUID              exists if the user may read a subject that has it
    a reference to such a subject           is answered like a missing reference
    a change that the user may not make     403, for all such names alike

Whether a name is refused depends on the user's patterns alone, never on what exists.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from duolog.registry.access.users import User
from duolog.registry.errors import (
    RequestError,
    invalid_schema,
    schema_not_found,
    subject_not_found,
)
from duolog.registry.names import normalized
from duolog.registry.rules.registry import Registry
from duolog.registry.rules.requests import Page, RegisterRequest

Item = TypeVar("Item")

_PAGE: Final = 1000
_DENIED: Final = 40301


def denied(user: User, what: str) -> RequestError:
    """Return the refusal of a change."""
    return RequestError(f"User '{user.name}' is not allowed to {what}", _DENIED)


class Permissions:
    """The part of a registry that one user may see."""

    def __init__(self, user: User, rules: Registry) -> None:
        self._user = user
        self._rules = rules

    def readable(self, subject: str) -> str:
        """Return the subject.

        Raises:
            RequestError: the user may not read it.
        """
        if not self._user.may_read(normalized(subject)):
            raise subject_not_found(subject)
        return subject

    def writable(self, subject: str | None) -> str | None:
        """Return the subject; None is the global configuration or mode.

        Raises:
            RequestError: the user may not change it.
        """
        if subject is None and not self._user.administers:
            raise denied(self._user, "change global settings")
        if subject is not None and not self._user.may_write(normalized(subject)):
            raise denied(self._user, f"change subject '{subject}'")
        return subject

    def ensure_alias(self, alias: object) -> None:
        """Ensure that an alias leads to a subject that the user may read.

        Raises:
            RequestError: it does not.
        """
        if isinstance(alias, str) and alias and not self._user.may_read(normalized(alias)):
            raise denied(self._user, f"use subject '{alias}' as an alias")

    def ensure_everything(self, what: str) -> None:
        """Ensure that the user may read every subject.

        Raises:
            RequestError: the user may not.
        """
        if not self._user.reads_everything:
            raise denied(self._user, what)

    def references(self, request: RegisterRequest) -> RegisterRequest:
        """Return a request whose references the user may read.

        Raises:
            RequestError: the user may not.
        """
        for reference in request.references:
            if not self._user.may_read(normalized(reference.subject)):
                raise invalid_schema(
                    f'No schema reference found for subject "{reference.subject}" '
                    f"and version {reference.version}"
                )
        return request

    def ensure_id(self, schema_id: int, subject: str | None = None) -> None:
        """Ensure that the user may read a subject with this id.

        Raises:
            RequestError: the user may not, or the id does not exist.
        """
        if not self._sees_id(schema_id, subject):
            raise schema_not_found(schema_id)

    def ensure_guid(self, guid: str) -> None:
        """Ensure that the user may read a subject with this GUID.

        Raises:
            RequestError: the user may not, or the GUID does not exist.
        """
        if not self._user.reads_everything and not any(
            self._sees_id(found.id, "" if found.context == "." else f":{found.context}:")
            for found in self._rules.ids_of_guid(guid)
        ):
            raise schema_not_found(guid)

    def ids(self, ids: Iterable[int], subject: str) -> tuple[int, ...]:
        """Return the ids that the user sees, in the context of a subject."""
        return tuple(schema_id for schema_id in ids if self._sees_id(schema_id, subject))

    def listed(
        self,
        fetch: Callable[[Page], Sequence[Item]],
        page: Page,
        subject_of: Callable[[Item], str],
    ) -> Sequence[Item]:
        """Return a page of those items whose subject the user may read."""
        if self._user.reads_everything:
            return fetch(page)
        found = [item for item in _all(fetch) if self._user.may_read(subject_of(item))]
        end = page.offset + page.limit if page.limit > 0 else None
        return found[page.offset : end]

    def _sees_id(self, schema_id: int, subject: str | None) -> bool:
        if self._user.reads_everything:
            return True
        subjects = self._rules.subjects_of_id(schema_id, subject=subject, deleted=True)
        return any(self._user.may_read(name) for name in subjects)


def _all(fetch: Callable[[Page], Sequence[Item]]) -> Iterable[Item]:
    offset = 0
    while items := fetch(Page(offset, _PAGE)):
        yield from items
        offset += len(items)
