"""Records that look as if they had schemas do not make an answer wait for each of them."""

from typing import NoReturn

import pytest

from duolog.core.errors import DuologError
from duolog.runtime.sql.reply.printing import guessed_by_schema
from duolog.schemas.source import RegistryAwayError, UnknownSchemaError
from duolog.serde.patient_schemas import FAILED_MAX, PatientSchemas
from duolog.serde.readable import SchemaReader


class Registry:
    """A registry that fails; it counts the requests."""

    def __init__(self, error: DuologError) -> None:
        self._error = error
        self.asked: list[object] = []

    def by_id(self, schema_id: int) -> NoReturn:
        self.asked.append(schema_id)
        raise self._error

    def by_guid(self, guid: str) -> NoReturn:
        self.asked.append(guid)
        raise self._error


def framed(number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + b"payload\xff"


@pytest.mark.parametrize(
    ("error", "requests"),
    [(RegistryAwayError("away"), 1), (UnknownSchemaError("unknown"), FAILED_MAX)],
)
def test_a_registry_is_asked_a_few_times(error: DuologError, requests: int) -> None:
    registry = Registry(error)
    reader = SchemaReader(PatientSchemas(registry))

    for number in [*range(1_000), *range(1_000)]:
        assert guessed_by_schema(reader, framed(number))[1] == "KAFKA_BYTES"

    assert len(registry.asked) == requests


def test_an_unknown_schema_is_asked_for_once() -> None:
    registry = Registry(UnknownSchemaError("unknown"))
    schemas = PatientSchemas(registry)

    for _ in range(2):
        with pytest.raises(DuologError):
            schemas.by_id(7)
        with pytest.raises(DuologError):
            schemas.by_guid("g")

    assert registry.asked == [7, "g"]
