"""A call with the rules that decide it, and the checked values of its parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from duolog.registry.errors import malformed
from duolog.registry.http.gate import Call
from duolog.registry.http.parameters import MalformedParameter, Parameters, java_int
from duolog.registry.names import in_context, normalized
from duolog.registry.operations.permissions import Permissions
from duolog.registry.operations.rights import RIGHTS
from duolog.registry.rules.association_requests import AssociationRequest
from duolog.registry.rules.association_requests import Operation as Change
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.reader import RegistryReader
from duolog.registry.rules.registry import Registry
from duolog.registry.rules.requests import Page, RegisterRequest
from duolog.security.authorization.operations import Operation

AnyDecision = Decision[Any]
"""Each request has its own type of answer."""

E = TypeVar("E", bound=Enum)


@dataclass(frozen=True)
class Asked:
    """A call together with the rules that decide it."""

    call: Call
    rules: Registry

    @property
    def query(self) -> Parameters:
        return self.call.query

    @cached_property
    def allows(self) -> Permissions:
        return Permissions(self.call.client, self.rules)

    @property
    def operation(self) -> Operation:
        """The operation that the client must be allowed, by the first of the endpoint's rights."""
        return RIGHTS[self.call.endpoint.operation][0].operation

    @cached_property
    def seen(self) -> RegistryReader:
        """The part of the registry that the client may see."""
        return self.allows.seen(self.operation)

    @property
    def subject(self) -> str:
        """The subject of the path, not yet checked."""
        return self.call.path["subject"]

    @property
    def readable(self) -> str:
        return self.allows.readable(self.operation, self.subject)

    @property
    def writable(self) -> str:
        self.allows.writable(self.operation, self.subject)
        return self.subject

    @property
    def version(self) -> str:
        return self.call.path["version"]

    @property
    def id(self) -> int:
        return java_int(self.call.path["id"])

    @property
    def guid(self) -> str:
        return self.call.path["guid"]

    @property
    def page(self) -> Page:
        return Page(self.query.integer("offset", 0), self.query.integer("limit", -1))

    @cached_property
    def schema(self) -> RegisterRequest:
        return self.allows.references(self.subject, RegisterRequest.from_json(self.call.body))

    @cached_property
    def association(self) -> AssociationRequest:
        """The body, whose subjects the user may change."""
        request = AssociationRequest.from_json(self.call.body)
        resource_id = self.call.path.get("resource_id", request.resource_id)
        self.ensure_associations([replace(request, resource_id=resource_id)])
        return request

    def ensure_associations(self, requests: Sequence[AssociationRequest]) -> None:
        """Ensure that the user may change all subjects; those of default names need all rights."""
        context = self.text("context")
        for request in requests:
            found = self.rules.associations_of_resource_id(request.resource_id or "")
            for item in request.associations:
                kind = item.association_type or "value"
                old = [row.value for row in found if row.value.association_type == kind]
                if item.operation is Change.DELETE:
                    # Its subject is that of the existing association, whatever the item names.
                    self.allows.change_associations(old, Operation.DELETE)
                    continue
                subject = None if item.subject is None else _qualified(context, item.subject)
                self.allows.writable(Operation.WRITE, subject)
                self.allows.change_associations(old, Operation.WRITE)
                if item.schema is not None:
                    self.allows.references(subject or "", item.schema)

    def subjects_of(self, requests: Sequence[AssociationRequest]) -> set[str | None]:
        """Return the subjects that requests name; None stands for those of default names."""
        context = self.text("context")
        return {
            None if item.subject is None else normalized(_qualified(context, item.subject))
            for request in requests
            for item in request.associations
        }

    def flag(self, name: str) -> bool:
        return self.query.flag(name)

    def text(self, name: str) -> str:
        return self.query.text(name) or ""


def choice(kinds: type[E], text: str | None) -> E | None:
    """Return a member of an enumeration by its name, or None if there is no text.

    Raises:
        MalformedParameter: no member has the name.
    """
    if not text:
        return None
    if text not in kinds.__members__:
        raise MalformedParameter
    return kinds[text]


def _qualified(context: str, subject: str) -> str:
    try:
        return in_context(context, subject)
    except ValueError as error:
        raise malformed(str(error)) from error
