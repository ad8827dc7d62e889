"""A registry at an HTTP address, as serdes and SQL see it.

What never changes is kept for ever: the schema of an id, and the id of a schema in a subject. A
registry that is down therefore stops nothing that runs. Any thread may call it; two threads that
ask for the same schema at the same time both send a request.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar
from urllib.parse import quote

from duolog.registry.client.admin import body_of, path_of
from duolog.registry.client.answers import fields_of, number_of, text_of
from duolog.registry.client.requests import Refused, Requests, addresses_of
from duolog.registry.json_text import Json
from duolog.schemas.schema import Reference, Schema
from duolog.schemas.source import CachedSchemas, SchemaText, UnknownSchemaError, Version, resolved

T = TypeVar("T")
_UNKNOWN: Final = (404, 40401, 40402, 40403)


class HttpRegistry:
    """A `SchemaSource` over HTTP.

    Args:
        address: one address or several, separated by commas, each with a user if it needs one.
        requests: sends the requests; by default to this address.
    """

    def __init__(self, address: str, requests: Requests | None = None) -> None:
        self._requests = requests or Requests(addresses_of(address))
        self._schemas = CachedSchemas(self._resolved)
        self._texts: dict[int, SchemaText] = {}
        self._by_guid: dict[str, Schema] = {}
        self._ids: dict[tuple[str, SchemaText], int] = {}

    def by_id(self, schema_id: int) -> Schema:
        """Return the schema of an id; see `SchemaSource`."""
        return self._schemas[schema_id]

    def by_guid(self, guid: str) -> Schema:
        """Return the schema of a GUID; see `SchemaSource`."""
        if guid not in self._by_guid:
            found = self._known(f"/schemas/guids/{quote(guid, safe='')}", f'GUID "{guid}"')
            self._by_guid[guid] = resolved(text_of(found), self._referenced)
        return self._by_guid[guid]

    def text_of(self, schema_id: int) -> SchemaText:
        """Return the text of the schema of an id; see `SchemaSource`."""
        if schema_id not in self._texts:
            found = self._known(f"/schemas/ids/{schema_id}", f"id {schema_id}")
            self._texts[schema_id] = text_of(found)
        return self._texts[schema_id]

    def latest(self, subject: str) -> Version | None:
        """Return the last version of a subject; see `SchemaSource`."""
        path = f"{path_of(subject)}/versions/latest"
        found = _or_none(lambda: fields_of(self._requests.get(path)))
        if found is None:
            return None
        number, schema_id = number_of(found, "version"), number_of(found, "id")
        return Version(subject, number, schema_id, text_of(found))

    def id_of(self, subject: str, schema: SchemaText) -> int | None:
        """Return the id of a schema in a subject; see `SchemaSource`."""
        if (subject, schema) not in self._ids:
            found = _or_none(
                lambda: fields_of(self._requests.post(path_of(subject), body_of(schema)))
            )
            if found is None:
                return None
            self._ids[subject, schema] = number_of(found, "id")
        return self._ids[subject, schema]

    def register(self, subject: str, schema: SchemaText) -> int:
        """Return the id of a schema, which is registered if it is new; see `SchemaSource`."""
        if (subject, schema) not in self._ids:
            answer = self._requests.post(f"{path_of(subject)}/versions", body_of(schema))
            self._ids[subject, schema] = number_of(fields_of(answer), "id")
        return self._ids[subject, schema]

    def check(self, subject: str, schema: SchemaText) -> tuple[str, ...]:
        """Return why a subject does not accept a schema; see `SchemaSource`."""
        path = f"/compatibility{path_of(subject)}/versions?verbose=true"
        found = _or_none(lambda: fields_of(self._requests.post(path, body_of(schema))))
        fields = found or {"is_compatible": True}
        if fields.get("is_compatible") is True:
            return ()
        messages = fields.get("messages")
        told = tuple(map(str, messages)) if isinstance(messages, list) else ()
        return told or ("the schema registry calls the schema incompatible",)

    def _known(self, path: str, what: str) -> Mapping[str, Json]:
        found = _or_none(lambda: fields_of(self._requests.get(path)))
        if found is None:
            raise UnknownSchemaError(f"the schema registry has no schema of {what}")
        return found

    def _resolved(self, schema_id: int) -> Schema:
        return resolved(self.text_of(schema_id), self._referenced)

    def _referenced(self, reference: Reference) -> SchemaText:
        path = f"{path_of(reference.subject)}/versions/{reference.version}"
        what = f'reference "{reference.name}"'
        return text_of(self._known(path, what))


def _or_none(ask: Callable[[], T]) -> T | None:
    """Return an answer; None if the registry does not know what was asked for."""
    try:
        return ask()
    except Refused as error:
        if error.code in _UNKNOWN:
            return None
        raise
