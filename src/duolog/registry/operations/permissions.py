"""The client of a call may see and change some subjects only.

    a subject that the client may not read  is answered like one that does not exist
    a list                                  lacks these subjects, and pages are counted without them
    a schema by its id or GUID              exists if the client may read a subject that has it
    an alias, or another context            does not lead to such a subject
    a reference to such a subject           is answered like a missing reference
    a change that the client may not make   403, for all such names alike
    an incompatible schema                  refused without details if the client may only write

Whether a name is refused depends on the client's rights alone, never on what exists. `rights.py`
has the operation that each endpoint needs.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from duolog.registry.access.client import Client
from duolog.registry.errors import (
    CONCEALED,
    IncompatibleSchema,
    RequestError,
    association_not_found,
    invalid_schema,
    subject_not_found,
)
from duolog.registry.names import GLOBAL_CONTEXT, SubjectName, context_of, normalized
from duolog.registry.records.values import AssociationValue
from duolog.registry.rules.answers import BatchAnswer
from duolog.registry.rules.reader import RegistryReader
from duolog.registry.rules.registry import Registry
from duolog.registry.rules.requests import RegisterRequest
from duolog.security.authorization.operations import Operation

DENIED: Final = 40301
INCOMPATIBLE: Final = 40901
"""Of an item of a batch; see `IncompatibleSchema`."""


def denied(client: Client, what: str) -> RequestError:
    """Return the refusal of a change."""
    return RequestError(f"User '{client.name}' is not allowed to {what}", DENIED)


class Permissions:
    """The part of a registry that one client may see and change."""

    def __init__(self, client: Client, rules: Registry) -> None:
        self._client = client
        self._rules = rules

    def seen(self, operation: Operation) -> RegistryReader:
        """Return the part of the registry on which the client may perform an operation."""
        client = self._client
        if client.reads_everything:
            return self._rules
        return self._rules.seen_by(lambda subject: client.may(operation, subject))

    def readable(self, operation: Operation, subject: str) -> str:
        """Return the subject.

        Raises:
            RequestError: the client may not perform the operation, which only reads.
        """
        if not self._client.may(operation, normalized(subject)):
            raise subject_not_found(subject)
        return subject

    def writable(self, operation: Operation, subject: str | None) -> str | None:
        """Return the subject; None is the global configuration or mode.

        Raises:
            RequestError: the client may not perform the operation, which changes something.
        """
        for name in self._changed(operation, subject):
            if not self._client.may(operation, name):
                self._client.note_refusal(operation, name)
                what = "global settings" if subject is None else f"subject '{subject}'"
                raise denied(self._client, f"change {what}")
        return subject

    def _changed(self, operation: Operation, subject: str | None) -> set[str | None]:
        """Return the subjects that a change concerns; None is all of them."""
        if subject is None or context_of(subject) == GLOBAL_CONTEXT:
            return {None}
        if operation is Operation.ALTER_CONFIGS:
            return {normalized(subject)}
        # Other changes follow an alias, whose owner may not be allowed to change its target.
        return {normalized(subject), self._rules.target(subject)}

    def ensure_alias(self, subject: str | None, alias: object) -> None:
        """Ensure that an alias leads to a subject that the client may read.

        Raises:
            RequestError: it does not.
        """
        if not isinstance(alias, str) or not alias:
            return
        target = SubjectName.parse(subject or "").child(alias).text
        if not self._client.may(Operation.READ, target):
            raise denied(self._client, f"use subject '{alias}' as an alias")

    def references(self, subject: str, request: RegisterRequest) -> RegisterRequest:
        """Return a request for a subject whose references the client may read.

        Raises:
            RequestError: the client may not.
        """
        parent = SubjectName.parse(normalized(subject))
        for reference in request.references:
            if not self._client.may(Operation.READ, parent.child(reference.subject).text):
                raise invalid_schema(
                    f'No schema reference found for subject "{reference.subject}" '
                    f"and version {reference.version}"
                )
        return request

    @contextmanager
    def concealing(self) -> Iterator[None]:
        """Refuse a schema without the text of an earlier one that the client may not read.

        Raises:
            IncompatibleSchema: with details only if the client may read the subject.
        """
        try:
            yield
        except IncompatibleSchema as error:
            if self._client.may(Operation.READ, error.subject):
                raise
            raise error.concealed() from None

    def concealed(self, results: BatchAnswer, subjects: Iterable[str | None]) -> BatchAnswer:
        """Return the answer to a batch, as `concealing` if not all subjects may be read."""
        if all(self._client.may(Operation.READ, subject) for subject in subjects):
            return results
        return BatchAnswer(
            tuple(
                replace(row, message=f"[{CONCEALED}]") if row.error_code == INCOMPATIBLE else row
                for row in results.results
            )
        )

    def change_associations(self, found: Iterable[AssociationValue], operation: Operation) -> None:
        """Ensure that the client may change the associations that a resource has.

        Raises:
            RequestError: the client may not.
        """
        for value in found:
            if not self._client.may(operation, value.subject):
                self._client.note_refusal(operation, value.subject)
                raise denied(self._client, f"change associations of '{value.resource_id}'")

    def delete_associations(self, resource_id: str, found: Iterable[AssociationValue]) -> None:
        """Ensure that the client may delete the associations that a resource has.

        Raises:
            RequestError: the client may not, or sees none of them.
        """
        values = list(found)
        if values and not any(
            self._client.may(Operation.DESCRIBE, value.subject) for value in values
        ):
            raise association_not_found(resource_id)
        self.change_associations(values, Operation.DELETE)
