"""The rights of a client on subjects, which the server checks before it asks the registry.

    list subjects             DESCRIBE on each; others are left out
    versions                  DESCRIBE; as if absent without it
    a version, a check        READ, also on subjects of references; as if absent without it
    compatibility level       DESCRIBE_CONFIGS; a change ALTER_CONFIGS, on all subjects if global
    register                  WRITE, READ on subjects of references
    delete                    DELETE

The registry knows the server's login only, which may do more than the client. Therefore rights are
those of the registry's own table, and an alias counts as its target, too.

Source: `duolog.registry.operations.rights`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from duolog.registry.json_text import Json
from duolog.registry.names import GLOBAL_CONTEXT, SubjectName, context_of, normalized
from duolog.schemas.schema import Reference
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.errors import NOT_FOUND, RequestRefused

EVERY_SUBJECT: Final = ""
"""No subject has this name, so that only rules about all subjects cover it."""

ConfigOf = Callable[[str], Mapping[str, Json] | None]
"""Returns the configuration of a subject; None if it has none."""


def absent(subject: str) -> RequestRefused:
    """Return the error of a subject that does not exist, or that the client may not see."""
    return RequestRefused(f"Subject '{subject}' not found.", NOT_FOUND)


class SubjectRights:
    """The rights of one client on subjects.

    Args:
        checks: the rights of the client.
        config_of: asks the registry, for aliases.
    """

    def __init__(self, checks: Checks, config_of: ConfigOf) -> None:
        self._checks = checks
        self._config_of = config_of

    @property
    def decide(self) -> bool:
        """False if the client may do everything."""
        return self._checks.decide

    def allowed(self, operation: Operation, subjects: Iterable[str]) -> frozenset[str]:
        """Return the subjects on which the client may perform an operation."""
        names = {name: normalized(name) for name in subjects}
        allowed = self._checks.allowed(operation, ResourceType.SUBJECT, names.values())
        return frozenset(name for name, plain in names.items() if plain in allowed)

    def may_any(self, operation: Operation) -> bool:
        """Return whether there can be a subject on which the client may perform an operation."""
        return self._checks.may_any(operation, ResourceType.SUBJECT)

    def may(self, operation: Operation, subject: str) -> bool:
        """Return whether the client may perform an operation on a subject, and on its target."""
        if not self.decide:
            return True
        if not self.allowed(operation, [subject]):
            return False  # Before the registry is asked: what exists must not matter.
        names = self._names(subject)
        return self.allowed(operation, names) == names

    def ensure_sees(self, operation: Operation, subject: str) -> None:
        """Ensure that the client may read something of a subject.

        Raises:
            RequestRefused: it may not; the same as for a subject that does not exist.
        """
        if not self.may(operation, subject):
            raise absent(subject)

    def ensure_changes(self, operation: Operation, subject: str | None) -> None:
        """Ensure that the client may change a subject, or all of them.

        Raises:
            RequestRefused: it may not, whether the subject exists or not.
        """
        if not self.decide:
            return
        if subject is None or context_of(subject) == GLOBAL_CONTEXT:
            self._ensure(operation, EVERY_SUBJECT)
            return
        self._ensure(operation, normalized(subject))
        if operation is not Operation.ALTER_CONFIGS:
            for name in self._names(subject):
                self._ensure(operation, name)

    def ensure_references(self, subject: str, references: Iterable[Reference]) -> None:
        """Ensure that the client may read what a schema refers to.

        Raises:
            RequestRefused: it may not; the same as for a reference that does not exist.
        """
        parent = SubjectName.parse(normalized(subject))
        for one in references:
            if not self.may(Operation.READ, parent.child(one.subject).text):
                raise RequestRefused(
                    f'No schema reference found for subject "{one.subject}" '
                    f"and version {one.version}"
                )

    def _ensure(self, operation: Operation, subject: str) -> None:
        self._checks.ensure([Right(operation, ResourceType.SUBJECT, subject)])

    def _names(self, subject: str) -> frozenset[str]:
        """Return a subject, and the one that it is an alias of."""
        name = normalized(subject)
        alias = (self._config_of(subject) or {}).get("alias")
        if not isinstance(alias, str) or not alias:
            return frozenset({name})
        return frozenset({name, SubjectName.parse(name).child(alias).text})
