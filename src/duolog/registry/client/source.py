"""A registry at an HTTP address, as serdes and SQL see it.

What never changes is kept for ever: the schema of an id, and the id of a schema in a subject. A
registry that is down therefore stops nothing that runs. Any thread may call it; two threads that
ask for the same schema at the same time both send a request.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar
from urllib.parse import quote

from duolog.core.errors import RegistryError
from duolog.registry.client.requests import Refused, Requests, addresses_of
from duolog.registry.json_text import Json
from duolog.schemas.schema import Language, Reference, Schema
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
            self._by_guid[guid] = resolved(_text(found), self._referenced)
        return self._by_guid[guid]

    def text_of(self, schema_id: int) -> SchemaText:
        """Return the text of the schema of an id; see `SchemaSource`."""
        if schema_id not in self._texts:
            found = self._known(f"/schemas/ids/{schema_id}", f"id {schema_id}")
            self._texts[schema_id] = _text(found)
        return self._texts[schema_id]

    def latest(self, subject: str) -> Version | None:
        """Return the last version of a subject; see `SchemaSource`."""
        path = f"{_path(subject)}/versions/latest"
        found = _or_none(lambda: _fields(self._requests.get(path)))
        if found is None:
            return None
        number, schema_id = _number(found, "version"), _number(found, "id")
        return Version(subject, number, schema_id, _text(found))

    def id_of(self, subject: str, schema: SchemaText) -> int | None:
        """Return the id of a schema in a subject; see `SchemaSource`."""
        if (subject, schema) not in self._ids:
            found = _or_none(lambda: _fields(self._requests.post(_path(subject), _body(schema))))
            if found is None:
                return None
            self._ids[subject, schema] = _number(found, "id")
        return self._ids[subject, schema]

    def register(self, subject: str, schema: SchemaText) -> int:
        """Return the id of a schema, which is registered if it is new; see `SchemaSource`."""
        if (subject, schema) not in self._ids:
            answer = self._requests.post(f"{_path(subject)}/versions", _body(schema))
            self._ids[subject, schema] = _number(_fields(answer), "id")
        return self._ids[subject, schema]

    def check(self, subject: str, schema: SchemaText) -> tuple[str, ...]:
        """Return why a subject does not accept a schema; see `SchemaSource`."""
        path = f"/compatibility{_path(subject)}/versions?verbose=true"
        found = _or_none(lambda: _fields(self._requests.post(path, _body(schema))))
        fields = found or {"is_compatible": True}
        if fields.get("is_compatible") is True:
            return ()
        messages = fields.get("messages")
        told = tuple(map(str, messages)) if isinstance(messages, list) else ()
        return told or ("the schema registry calls the schema incompatible",)

    def _known(self, path: str, what: str) -> Mapping[str, Json]:
        found = _or_none(lambda: _fields(self._requests.get(path)))
        if found is None:
            raise UnknownSchemaError(f"the schema registry has no schema of {what}")
        return found

    def _resolved(self, schema_id: int) -> Schema:
        return resolved(self.text_of(schema_id), self._referenced)

    def _referenced(self, reference: Reference) -> SchemaText:
        path = f"{_path(reference.subject)}/versions/{reference.version}"
        return _text(_fields(self._requests.get(path)))


def _path(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}"


def _or_none(ask: Callable[[], T]) -> T | None:
    """Return an answer; None if the registry does not know what was asked for."""
    try:
        return ask()
    except Refused as error:
        if error.code in _UNKNOWN:
            return None
        raise


def _body(schema: SchemaText) -> dict[str, Json]:
    body: dict[str, Json] = {"schema": schema.text}
    if schema.language != Language.AVRO:
        body["schemaType"] = schema.language.value
    if schema.references:
        body["references"] = [
            {"name": one.name, "subject": one.subject, "version": one.version}
            for one in schema.references
        ]
    return body


def _text(fields: Mapping[str, Json]) -> SchemaText:
    language, text = fields.get("schemaType") or "AVRO", fields.get("schema")
    listed = fields.get("references") or []
    if not isinstance(text, str) or language not in set(Language) or not isinstance(listed, list):
        raise _unexpected(dict(fields))
    references = tuple(
        Reference(_word(one, "name"), _word(one, "subject"), _number(one, "version"))
        for one in map(_fields, listed)
    )
    return SchemaText(Language(str(language)), text, references)


def _fields(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise _unexpected(value)
    return value


def _number(fields: Mapping[str, Json], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _unexpected(dict(fields))
    return value


def _word(fields: Mapping[str, Json], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _unexpected(dict(fields))
    return value


def _unexpected(answer: Json) -> RegistryError:
    return RegistryError(
        "the schema registry gives an answer of another form than expected",
        detail=f"It starts with {str(answer)[:100]}.",
        hint="Check that ksql.schema.registry.url is the address of a schema registry.",
    )
