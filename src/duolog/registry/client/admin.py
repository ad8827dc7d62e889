"""Requests of tools to a registry: lists, versions, deletions and settings.

Serdes use `HttpRegistry`, which keeps answers. Nothing is kept here: a person wants the answer of
this moment.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from duolog.registry.client.answers import fields_of, number_of, text_of, unexpected, word_of
from duolog.registry.client.requests import Refused, Requests
from duolog.registry.json_text import Json
from duolog.schemas.schema import Language, Reference, Schema
from duolog.schemas.source import SchemaText, resolved

EXTENDED: Final = {"Confluent-Accept-Unknown-Properties": "true"}
"""The header for all fields of an answer, such as the GUID."""
_PAGE: Final = 1000
_ANY_CONTEXT: Final = ":*:"


@dataclass(frozen=True, slots=True)
class Registered:
    """A version of a subject, as a registry answers.

    Attributes:
        guid: the GUID of the schema; empty if the registry does not return it.
        deleted: whether the version was soft-deleted.
        more: the fields of the answer that have no attribute here, such as `metadata`.
    """

    subject: str
    version: int
    schema_id: int
    guid: str
    schema: SchemaText
    deleted: bool
    more: Mapping[str, Json]


class RegistryAdmin:
    """Asks a registry, and changes what it holds.

    Every method raises `Refused` if the registry refuses, and `Unanswered` if none answers.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def versions(
        self, prefix: str = _ANY_CONTEXT, *, deleted: bool = False
    ) -> Iterator[Registered]:
        """Yield all versions of the subjects whose names start with a prefix.

        Args:
            prefix: the start of the names; by default, all subjects of all contexts.
            deleted: whether to include soft-deleted versions.
        """
        offset = 0
        while True:
            query = urlencode(
                {"subjectPrefix": prefix, "offset": offset, "limit": _PAGE, **_deleted(deleted)}
            )
            found = self._requests.get(f"/schemas?{query}")
            if not isinstance(found, list):
                raise unexpected(found)
            for one in found:
                yield _registered(fields_of(one))
            if len(found) < _PAGE:
                return
            offset += len(found)

    def subjects(self, prefix: str = _ANY_CONTEXT, *, deleted: bool = False) -> list[str]:
        """Return the names of subjects; see `versions` for the arguments."""
        query = urlencode({"subjectPrefix": prefix, **_deleted(deleted)})
        found = self._requests.get(f"/subjects?{query}")
        if not isinstance(found, list):
            raise unexpected(found)
        return [str(name) for name in found]

    def numbers(self, subject: str, *, deleted: bool = False) -> list[int]:
        """Return the numbers of a subject's versions."""
        query = urlencode(_deleted(deleted))
        found = self._requests.get(f"{path_of(subject)}/versions?{query}")
        if not isinstance(found, list):
            raise unexpected(found)
        return [int(str(number)) for number in found]

    def version(self, subject: str, number: str = "latest", *, deleted: bool = False) -> Registered:
        """Return a version of a subject, by its number or `latest`."""
        query = urlencode(_deleted(deleted))
        path = f"{path_of(subject)}/versions/{quote(number, safe='')}?{query}"
        return _registered(fields_of(self._requests.get(path)))

    def by_id(self, schema_id: int) -> tuple[SchemaText, str]:
        """Return the schema of an id, and its GUID."""
        found = fields_of(self._requests.get(f"/schemas/ids/{schema_id}"))
        return text_of(found), _guid(found)

    def by_guid(self, guid: str) -> SchemaText:
        """Return the schema of a GUID."""
        return text_of(fields_of(self._requests.get(f"/schemas/guids/{quote(guid, safe='')}")))

    def versions_of_id(self, schema_id: int, *, deleted: bool = False) -> list[tuple[str, int]]:
        """Return the subjects and versions that have an id."""
        query = urlencode(_deleted(deleted))
        found = self._requests.get(f"/schemas/ids/{schema_id}/versions?{query}")
        if not isinstance(found, list):
            raise unexpected(found)
        return [
            (word_of(one, "subject"), number_of(one, "version")) for one in map(fields_of, found)
        ]

    def referenced_by(self, subject: str, version: int) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        found = self._requests.get(f"{path_of(subject)}/versions/{version}/referencedby")
        if not isinstance(found, list):
            raise unexpected(found)
        return [int(str(one)) for one in found]

    def look_up(
        self, subject: str, schema: SchemaText, *, normalize: bool = False
    ) -> Registered | None:
        """Return the version of a subject that has a schema; None if there is none."""
        path = f"{path_of(subject)}?{_normalized(normalize)}"
        try:
            return _registered(fields_of(self._requests.post(path, body_of(schema))))
        except Refused as error:
            if error.code // 100 == 404 or error.code == 404:
                return None
            raise

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        """Return the id of a schema, which becomes the last version of its subject if it is new."""
        path = f"{path_of(subject)}/versions?{_normalized(normalize)}"
        return number_of(fields_of(self._requests.post(path, body_of(schema))), "id")

    def check(
        self, subject: str, schema: SchemaText, against: str = "", *, normalize: bool = False
    ) -> tuple[str, ...]:
        """Return why a subject does not accept a schema, in the registry's words.

        Args:
            subject: the subject.
            schema: the schema.
            against: the number of a version, or `latest`; by default, those that the compatibility
                level of the subject names.
            normalize: whether to compare the normalized form.
        """
        below = f"/{quote(against, safe='')}" if against else ""
        path = f"/compatibility{path_of(subject)}/versions{below}?verbose=true"
        answer = self._requests.post(f"{path}&{_normalized(normalize)}", body_of(schema))
        found = fields_of(answer)
        if found.get("is_compatible") is True:
            return ()
        messages = found.get("messages")
        told = tuple(map(str, messages)) if isinstance(messages, list) else ()
        return told or ("the schema registry calls the schema incompatible",)

    def delete(self, subject: str, version: str = "", *, permanent: bool = False) -> list[int]:
        """Delete a version of a subject, or all of them; return their numbers."""
        below = f"/versions/{quote(version, safe='')}" if version else ""
        query = urlencode({"permanent": "true"} if permanent else {})
        found = self._requests.delete(f"{path_of(subject)}{below}?{query}")
        return [int(str(one)) for one in (found if isinstance(found, list) else [found])]

    def config(self, subject: str | None, *, default: bool = False) -> Mapping[str, Json] | None:
        """Return the configuration of a subject, or the global one; None if a subject has none.

        Args:
            subject: the subject; None for the global configuration.
            default: whether to return the configuration that holds for a subject without its own.
        """
        return self._setting("config", subject, default=default)

    def set_config(self, subject: str | None, changes: Mapping[str, Json]) -> None:
        """Change some fields of a configuration."""
        self._requests.put(_setting_path("config", subject), dict(changes))

    def unset_config(self, subject: str | None) -> None:
        """Reset a configuration."""
        self._requests.delete(_setting_path("config", subject))

    def mode(self, subject: str | None, *, default: bool = False) -> str | None:
        """Return the mode of a subject, or the global one; see `config`."""
        found = self._setting("mode", subject, default=default)
        return None if found is None else word_of(found, "mode")

    def set_mode(self, subject: str | None, mode: str, *, force: bool = False) -> None:
        """Set a mode; `force` allows IMPORT although there are schemas."""
        query = urlencode({"force": "true"} if force else {})
        self._requests.put(f"{_setting_path('mode', subject)}?{query}", {"mode": mode})

    def unset_mode(self, subject: str | None) -> None:
        """Reset a mode."""
        self._requests.delete(_setting_path("mode", subject))

    def resolved(self, schema: SchemaText) -> Schema:
        """Return a parsed schema, with everything that it refers to.

        Raises:
            RegistryError: a schema is invalid, or a reference leads to nothing.
        """
        return resolved(schema, self.referenced)

    def referenced(self, reference: Reference) -> SchemaText:
        """Return the text of a reference, which may be a deleted version."""
        return self.version(reference.subject, str(reference.version), deleted=True).schema

    def _setting(
        self, kind: str, subject: str | None, *, default: bool
    ) -> Mapping[str, Json] | None:
        query = urlencode({"defaultToGlobal": "true"} if default else {})
        try:
            return fields_of(self._requests.get(f"{_setting_path(kind, subject)}?{query}"))
        except Refused as error:
            if error.code // 100 == 404:
                return None
            raise


def path_of(subject: str) -> str:
    """Return the path of a subject."""
    return f"/subjects/{quote(subject, safe='')}"


def body_of(schema: SchemaText) -> dict[str, Json]:
    """Return the body of a request with a schema."""
    body: dict[str, Json] = {"schema": schema.text}
    if schema.language != Language.AVRO:
        body["schemaType"] = schema.language.value
    if schema.references:
        body["references"] = [
            {"name": one.name, "subject": one.subject, "version": one.version}
            for one in schema.references
        ]
    return body


def _setting_path(kind: str, subject: str | None) -> str:
    return f"/{kind}" if subject is None else f"/{kind}/{quote(subject, safe='')}"


def _deleted(deleted: bool) -> dict[str, str]:  # noqa: FBT001 - its callers have it by name
    return {"deleted": "true"} if deleted else {}


def _normalized(normalize: bool) -> str:  # noqa: FBT001 - its callers have it by name
    return urlencode({"normalize": "true"} if normalize else {})


_KNOWN: Final = {
    "subject",
    "version",
    "id",
    "guid",
    "schemaType",
    "references",
    "schema",
    "deleted",
}


def _registered(fields: Mapping[str, Json]) -> Registered:
    return Registered(
        word_of(fields, "subject"),
        number_of(fields, "version"),
        number_of(fields, "id"),
        _guid(fields),
        text_of(fields),
        fields.get("deleted") is True,
        {name: value for name, value in fields.items() if name not in _KNOWN},
    )


def _guid(fields: Mapping[str, Json]) -> str:
    guid = fields.get("guid")
    return guid if isinstance(guid, str) else ""
