"""A call with the rules that decide it, and the checked values of its parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from duolog.registry.errors import malformed
from duolog.registry.http.gate import Call
from duolog.registry.http.parameters import MalformedParameter, Parameters, java_int
from duolog.registry.names import in_context
from duolog.registry.operations.permissions import Permissions
from duolog.registry.rules.association_requests import AssociationRequest
from duolog.registry.rules.decision import Decision
from duolog.registry.rules.registry import Registry
from duolog.registry.rules.requests import Page, RegisterRequest

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
        return Permissions(self.call.user, self.rules)

    @property
    def subject(self) -> str:
        """The subject of the path, not yet checked."""
        return self.call.path["subject"]

    @property
    def readable(self) -> str:
        return self.allows.readable(self.subject)

    @property
    def writable(self) -> str:
        self.allows.writable(self.subject)
        return self.subject

    @property
    def version(self) -> str:
        return self.call.path["version"]

    @property
    def id(self) -> int:
        """The id of the path, which the user sees."""
        schema_id = java_int(self.call.path["id"])
        self.allows.ensure_id(schema_id, self.query.text("subject"))
        return schema_id

    @property
    def guid(self) -> str:
        self.allows.ensure_guid(self.call.path["guid"])
        return self.call.path["guid"]

    @property
    def page(self) -> Page:
        return Page(self.query.integer("offset", 0), self.query.integer("limit", -1))

    @cached_property
    def schema(self) -> RegisterRequest:
        return self.allows.references(RegisterRequest.from_json(self.call.body))

    @cached_property
    def association(self) -> AssociationRequest:
        """The body, whose subjects the user may change."""
        request = AssociationRequest.from_json(self.call.body)
        self.ensure_associations([request])
        return request

    def ensure_associations(self, requests: Sequence[AssociationRequest]) -> None:
        """Ensure that the user may change all subjects; those of default names need all rights."""
        context = self.text("context")
        for request in requests:
            for item in request.associations:
                subject = item.subject
                self.allows.writable(None if subject is None else _qualified(context, subject))
                if item.schema is not None:
                    self.allows.references(item.schema)

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
