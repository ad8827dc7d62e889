"""Ask a registry which subjects have a schema, as the broker does for the schema ids of records.

Requests are tried once, for a short time: producers wait for the answer, and send again. Only the
default context is asked, as by Confluent Server.
"""

from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import quote

from duolog.core.errors import RegistryError
from duolog.registry.client.requests import Address, Refused, Requests, addresses_of, send
from duolog.registry.client.source import HttpRegistry
from duolog.registry.json_text import Json
from duolog.schemas.schema import Schema
from duolog.schemas.subjects import SchemaKey

TIMEOUT_S: Final = 5.0
_UNKNOWN: Final = (404, 40403)
_DEFAULT_CONTEXT: Final = "."


def with_user(addresses: tuple[Address, ...], user: str) -> tuple[Address, ...]:
    """Return the addresses; those without a user have `user`, which is `NAME:PASSWORD` or empty."""
    if not user:
        return addresses
    return tuple(replace(one, user=one.user or user) for one in addresses)


class HttpSubjects:
    """A `SubjectsSource` over HTTP.

    Args:
        address: one address or several, separated by commas.
        user: `NAME:PASSWORD`, for addresses without a user of their own; empty for none.
        requests: sends the requests; by default to this address.
    """

    def __init__(self, address: str, user: str = "", requests: Requests | None = None) -> None:
        self._requests = requests or Requests(
            with_user(addresses_of(address), user), partial(send, timeout_s=TIMEOUT_S), rounds=1
        )
        self._registry = HttpRegistry(address, self._requests)

    def subjects_of(self, key: SchemaKey) -> frozenset[str]:
        """Return the subjects of a schema; see `SubjectsSource`."""
        ids = [key] if isinstance(key, int) else self._ids(key)
        return frozenset(subject for one in ids for subject in self._subjects(one))

    def schema_of(self, key: SchemaKey) -> Schema:
        """Return a schema; see `SubjectsSource`."""
        if isinstance(key, int):
            return self._registry.by_id(key)
        return self._registry.by_guid(key)

    def _ids(self, guid: str) -> list[int]:
        rows = self._rows(f"/schemas/guids/{quote(guid, safe='')}/ids")
        ids = [row.get("id") for row in rows if row.get("context") == _DEFAULT_CONTEXT]
        return [one for one in ids if isinstance(one, int)]

    def _subjects(self, schema_id: int) -> list[str]:
        subjects = [row.get("subject") for row in self._rows(f"/schemas/ids/{schema_id}/versions")]
        return [one for one in subjects if isinstance(one, str)]

    def _rows(self, path: str) -> list[dict[str, Json]]:
        try:
            answer = self._requests.get(path)
        except Refused as error:
            if error.code in _UNKNOWN:
                return []
            raise
        if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
            raise RegistryError(
                "the schema registry gives an answer of another form than expected",
                detail=f"It starts with {str(answer)[:100]}.",
                hint="Check that confluent.schema.registry.url is its address.",
            )
        return [row for row in answer if isinstance(row, dict)]
