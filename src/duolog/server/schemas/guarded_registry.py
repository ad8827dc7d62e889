"""The schema registry as one client may see and change it.

The registry is asked with the login of the server, as SQL statements ask it: a session of a browser
has no password that could be passed on, and other registries do not know the users of the cluster.
So every call checks the client's rights first (`rights.py`). Then it checks the subject of the
answer: an alias may have changed meanwhile, and other registries look into other contexts.

Threads: one call at a time; calls block.
"""

from typing import Any, Final

from duolog.registry.client.admin import Registered, RegistryAdmin
from duolog.registry.client.incompatibilities import incompatibilities
from duolog.registry.client.requests import LoginRefused, Refused
from duolog.registry.errors import CONCEALED
from duolog.registry.json_text import Json
from duolog.registry.names import SubjectName, normalized
from duolog.schemas.schema import Reference
from duolog.security.authorization.operations import Operation
from duolog.server.administration.requests import Page
from duolog.server.errors import RequestRefused
from duolog.server.schemas.requests import LATEST, Draft
from duolog.server.schemas.rights import SubjectRights, absent

CHECKED_MAX: Final = 50
"""Versions that a draft is compared with, the latest ones; each is a request to the registry."""
_INCOMPATIBLE: Final = frozenset({409, 40901})
_ABSENT: Final = frozenset({404, 40401, 40402, 40403})
_LEVEL: Final = "compatibilityLevel"

_READ, _DESCRIBE = Operation.READ, Operation.DESCRIBE


class GuardedRegistry:
    """One client's view. Every method raises as `RegistryAdmin`, and RequestRefused."""

    def __init__(self, registry: RegistryAdmin, rights: SubjectRights) -> None:
        self._registry = registry
        self._rights = rights

    def subjects(self, page: Page, *, deleted: bool) -> dict[str, Any]:
        """Return a page of subjects; soft-deleted ones have `deleted`."""
        known = self._registry.subjects(deleted=deleted)
        visible = self._rights.allowed(_DESCRIBE, known)
        alive = set(self._registry.subjects()) if deleted else visible
        names, total = page.of(sorted(visible), str)
        rows = [{"subject": name, "deleted": name not in alive} for name in names]
        return {
            "subjects": rows,
            "total": total,
            "mayRegister": self._rights.may_any(Operation.WRITE),
        }

    def versions(self, subject: str, *, deleted: bool) -> dict[str, Any]:
        """Return the numbers of a subject's versions, its level, and what the client may do."""
        self._rights.ensure_sees(_DESCRIBE, subject)
        numbers = self._registry.numbers(subject, deleted=deleted)
        alive = set(numbers)
        if deleted:
            alive = set(self._numbers(subject))
        if self._rights.decide and numbers:
            # Names of other contexts are not those that the client may describe.
            self._seen(self._registry.version(subject, str(numbers[-1]), deleted=True), _DESCRIBE)
        may = {
            name: self._rights.may(operation, subject)
            for name, operation in {
                "read": _READ,
                "register": Operation.WRITE,
                "delete": Operation.DELETE,
                "describeConfigs": Operation.DESCRIBE_CONFIGS,
                "alterConfigs": Operation.ALTER_CONFIGS,
            }.items()
        }
        return {
            "subject": subject,
            "versions": [{"version": one, "deleted": one not in alive} for one in numbers],
            "may": may,
        }

    def version(self, subject: str, number: str) -> dict[str, Any]:
        """Return a version with its text, what it refers to, and what refers to it."""
        found = self._version(subject, number)
        references = [self._reference(found.subject, one) for one in found.schema.references]
        return {
            "subject": found.subject,
            "version": found.version,
            "id": found.schema_id,
            "guid": found.guid or None,
            "deleted": found.deleted,
            "schemaType": found.schema.language.value,
            "schema": found.schema.text,
            "references": references,
            "referencedBy": self._referenced_by(found),
        }

    def difference(self, subject: str, old: str, new: str) -> dict[str, Any]:
        """Return two versions, to be compared."""
        rows = [self._version(subject, number) for number in (old, new)]
        return {
            name: {
                "version": one.version,
                "schemaType": one.schema.language.value,
                "schema": one.schema.text,
            }
            for name, one in zip(("from", "to"), rows, strict=True)
        }

    def level(self, subject: str | None) -> dict[str, Any]:
        """Return the compatibility level of a subject, or the global one."""
        if subject is not None:
            self._rights.ensure_sees(Operation.DESCRIBE_CONFIGS, subject)
        own = self._registry.config(subject)
        used = own if own and _LEVEL in own else self._registry.config(None)
        return {
            "subject": subject,
            "level": (used or {}).get(_LEVEL),
            "inherited": subject is not None and used is not own,
            "mayChange": self._may_change_level(subject),
        }

    def set_level(self, subject: str | None, level: str | None) -> dict[str, Any]:
        """Set the level of a subject, or the global one; None sets it back."""
        self._rights.ensure_changes(Operation.ALTER_CONFIGS, subject)
        if level is None:
            self._registry.unset_config(subject)
        else:
            self._registry.set_config(subject, {"compatibility": level})
        return {"subject": subject, "level": level}

    def check(self, draft: Draft) -> dict[str, Any]:
        """Return whether a subject accepts a draft, and why not, for each of its versions."""
        self.ensure_drafts(_READ, draft)
        numbers = self._numbers(draft.subject)
        messages = self._registry.check(draft.subject, draft.schema) if numbers else ()
        compared = numbers[-CHECKED_MAX:]
        rows = []
        for number in reversed(compared):
            found = self._registry.check(draft.subject, draft.schema, str(number))
            rows.append({"version": number, "compatible": not found, "messages": _in_words(found)})
        return {
            "subject": draft.subject,
            "compatible": not messages,
            "messages": _in_words(messages),
            "versions": rows,
            "versionsLeftOut": len(numbers) - len(compared),
            "known": self._known_as(draft),
        }

    def register(self, draft: Draft) -> dict[str, Any]:
        """Register a draft; return its id and version."""
        self.ensure_drafts(Operation.WRITE, draft)
        try:
            schema_id = self._registry.register(draft.subject, draft.schema)
        except Refused as error:
            if error.code in _INCOMPATIBLE and not self._rights.may(_READ, draft.subject):
                raise Refused(
                    "Schema being registered is incompatible with an earlier schema for subject "
                    f'"{draft.subject}", details: [{CONCEALED}]',
                    error.code,
                ) from None
            raise
        return {"subject": draft.subject, "id": schema_id}

    def delete(self, subject: str, version: str, *, permanent: bool) -> dict[str, Any]:
        """Delete a version of a subject, or all; a permanent deletion follows a soft one."""
        self._rights.ensure_changes(Operation.DELETE, subject)
        found = self._registry.delete(subject, version, permanent=permanent)
        return {"subject": subject, "versions": found, "permanent": permanent}

    def ensure_drafts(self, operation: Operation, draft: Draft) -> None:
        """Ensure that the client may do something with a draft.

        Raises:
            RequestRefused: it may not.
        """
        if operation is _READ:
            self._rights.ensure_sees(operation, draft.subject)
        else:
            self._rights.ensure_changes(operation, draft.subject)
        self._rights.ensure_references(draft.subject, draft.schema.references)

    def _version(self, subject: str, number: str) -> Registered:
        self._rights.ensure_sees(_READ, subject)
        if number == LATEST:
            return self._seen(self._registry.version(subject, number), _READ)
        return self._seen(self._registry.version(subject, number, deleted=True), _READ)

    def _seen(self, found: Registered, operation: Operation) -> Registered:
        if not self._rights.allowed(operation, [found.subject]):
            raise absent(found.subject)
        return found

    def _reference(self, subject: str, one: Reference) -> dict[str, Any]:
        """Return a reference, with its text if the client may read it."""
        name = SubjectName.parse(normalized(subject)).child(one.subject).text
        text = None
        try:
            text = self._version(name, str(one.version)).schema.text
        except LoginRefused:
            raise
        except (Refused, RequestRefused):
            pass  # It is missing, or hidden from the client.
        return {"name": one.name, "subject": name, "version": one.version, "schema": text}

    def _referenced_by(self, found: Registered) -> list[dict[str, Any]]:
        rows = []
        for schema_id in self._registry.referenced_by(found.subject, found.version):
            pairs = self._registry.versions_of_id(schema_id)
            visible = self._rights.allowed(_READ, [subject for subject, _ in pairs])
            rows += [
                {"subject": subject, "version": version}
                for subject, version in pairs
                if subject in visible
            ]
        return sorted(rows, key=lambda row: (row["subject"], row["version"]))

    def _numbers(self, subject: str) -> list[int]:
        """Return the numbers of a subject's versions; none if it does not exist."""
        try:
            return self._registry.numbers(subject)
        except Refused as error:
            if error.code in _ABSENT:
                return []
            raise

    def _known_as(self, draft: Draft) -> int | None:
        """Return the version that has exactly this schema."""
        found = self._registry.look_up(draft.subject, draft.schema)
        return None if found is None else found.version

    def _may_change_level(self, subject: str | None) -> bool:
        name = "" if subject is None else subject
        return bool(self._rights.allowed(Operation.ALTER_CONFIGS, [name]))


def _in_words(messages: tuple[str, ...]) -> list[dict[str, Json]]:
    return [dict(one._asdict()) for one in incompatibilities(messages)]
