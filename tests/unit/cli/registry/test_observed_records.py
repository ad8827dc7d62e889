"""Records that `duolog schema infer` reads: JSON, and bytes with the id of a schema."""

from typing import NamedTuple

import pytest

from duolog import TypedSerde
from duolog.cli.registry.observed_records import ObservedRecords
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.inference import propose
from duolog.schemas.schema import Schema
from duolog.schemas.source import RegistryAwayError
from duolog.serde.wire_format import SchemaUnavailableError


class Visit(NamedTuple):
    user: str
    pages: int


def types_of(seen: ObservedRecords) -> dict[str, str]:
    return {fact.path: fact.type for fact in propose(seen.values, "visits")[1]}


def test_json_objects_are_used_and_other_records_are_counted() -> None:
    seen = ObservedRecords(None)

    seen.add_all([b'{"a": 1}', b"[1]", b"{", None, b"\xff", b"[" * 10_000, b'{"a": 2}'])

    assert seen.used == 2
    assert dict(seen.skipped) == {"not an object": 1, "not JSON": 3, "without a value": 1}
    assert types_of(seen) == {"a": "int (32 bits)"}


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_records_with_the_id_of_a_schema_are_decoded(form: str) -> None:
    registry = InProcessRegistry()
    visits = TypedSerde(Visit, registry=registry, format=form, topic="visits")
    seen = ObservedRecords(registry)

    seen.add_all([visits.serialize(Visit("bob", 3)), visits.serialize(Visit("ann", 2**40))])

    assert seen.used == 2
    assert types_of(seen) == {"user": "str", "pages": "int"}


def test_records_with_an_id_need_a_registry_that_knows_it() -> None:
    seen = ObservedRecords(None)
    other = ObservedRecords(InProcessRegistry())

    seen.add(b"\0\0\0\0\1x")
    other.add(b"\0\0\0\0\1x")

    assert seen.used == other.used == 0
    assert list(seen.skipped) == ["with the id of a schema, but without a registry"]
    assert list(other.skipped) == ["without a schema: the schema registry has no schema of id 1"]


class Away(InProcessRegistry):
    """A registry that does not answer."""

    def by_id(self, schema_id: int) -> Schema:
        raise RegistryAwayError("the schema registry does not answer")


def test_a_registry_that_does_not_answer_is_an_error_and_no_skipped_record() -> None:
    seen = ObservedRecords(Away())

    with pytest.raises(SchemaUnavailableError, match="cannot find the schema of id 1"):
        seen.add(b"\0\0\0\0\1x")

    assert seen.skipped.total() == 0
