"""The frame that names the schema of a record."""

import io
from uuid import UUID

import pytest
from confluent_kafka.schema_registry.serde import SchemaId

from duolog.core.errors import RegistryError, SerdeError
from duolog.registry.in_process import InProcessRegistry
from duolog.schemas.protobuf import decode_indexes
from duolog.schemas.schema import InvalidSchemaError, Language, Schema
from duolog.schemas.source import (
    RegistryAwayError,
    RegistryLoginError,
    SchemaText,
    UnknownSchemaError,
)
from duolog.serde.wire_format import (
    KEY_HEADER,
    VALUE_HEADER,
    Headers,
    SchemaUnavailableError,
    framed,
    schema_of,
    unframed,
    with_header,
    without_frames,
)

GUID = "89791762-2336-4186-9674-299b90a802e2"


def test_a_frame_has_the_id_of_the_schema() -> None:
    assert framed(2**31 - 1, b"x") == b"\0\x7f\xff\xff\xffx"
    assert unframed(framed(7, b"")) == (7, b"")


def test_a_frame_has_the_guid_of_the_schema() -> None:
    assert framed(GUID, b"x") == b"\1" + UUID(GUID).bytes + b"x"
    assert unframed(framed(GUID, b"x")) == (GUID, b"x")


@pytest.mark.parametrize("key", [7, GUID])
def test_confluents_client_writes_and_reads_the_same_frames(key: int | str) -> None:
    theirs = SchemaId("AVRO", *((key,) if isinstance(key, int) else (None, key)))
    written = theirs.id_to_bytes() if isinstance(key, int) else theirs.guid_to_bytes()

    read = SchemaId("AVRO")
    rest = read.from_bytes(io.BytesIO(framed(key, b"x")))

    assert written + b"x" == framed(key, b"x")
    assert rest.read() == b"x"
    assert (read.id, read.guid and str(read.guid)) == (theirs.id, theirs.guid and str(theirs.guid))


def test_message_indexes_are_in_the_header_with_the_guid() -> None:
    theirs = SchemaId("PROTOBUF", None, GUID, [1, 0])

    data = with_header("PROTOBUF", b"x", [(VALUE_HEADER, theirs.guid_to_bytes())], VALUE_HEADER)

    assert data is not None
    key, rest = unframed(data)
    indexes, at = decode_indexes(rest)
    assert (key, indexes, rest[at:]) == (GUID, (1, 0), b"x")


@pytest.mark.parametrize(
    "data", [b"", b"\0\0\0\0", b"\1\0\0\0\1", b"\1" + bytes(15), b"\2" + bytes(20), b"{}    "]
)
def test_bytes_without_a_frame_are_an_error_with_a_hint(data: bytes) -> None:
    with pytest.raises(SerdeError) as caught:
        unframed(data)

    assert "serializer of a schema registry" in str(caught.value.hint)


def test_the_last_header_of_the_name_is_the_frame() -> None:
    headers = [
        (VALUE_HEADER, b"first"),
        (KEY_HEADER, b"of key"),
        (VALUE_HEADER, b"last"),
        ("other", None),
    ]

    assert with_header("AVRO", b"x", headers, VALUE_HEADER) == b"lastx"
    assert with_header("AVRO", None, headers, VALUE_HEADER) is None
    assert with_header("JSON", b"x", headers, VALUE_HEADER) == b"x"
    assert (
        with_header("AVRO", b"x", [(KEY_HEADER, b"k"), (VALUE_HEADER, None)], VALUE_HEADER) == b"x"
    )


def test_bytes_with_frames_do_not_inherit_the_headers_of_other_bytes() -> None:
    headers: Headers = ((KEY_HEADER, b"k"), ("a", b"1"), (VALUE_HEADER, b"v"))

    assert without_frames(headers, "JSON_SR", "AVRO") == (("a", b"1"),)
    assert without_frames(headers, "KAFKA", "PROTOBUF") == headers[:2]
    assert without_frames(headers, "KAFKA", "JSON") == headers


def test_a_schema_is_found_by_id_and_by_guid() -> None:
    registry = InProcessRegistry()
    number = registry.register("s", SchemaText(Language.AVRO, '"int"'))
    guid = str(registry.rules.version("s", "1").guid)

    assert schema_of(registry, number).canonical == schema_of(registry, guid).canonical == '"int"'


@pytest.mark.parametrize(("key", "name"), [(7, "id 7"), (GUID, f"GUID {GUID}")])
def test_an_unknown_schema_is_named_in_the_error(key: int | str, name: str) -> None:
    with pytest.raises(SerdeError, match=f"cannot find the schema of {name}") as caught:
        schema_of(InProcessRegistry(), key)

    assert isinstance(caught.value.__cause__, RegistryError)


class Failing(InProcessRegistry):
    """A registry that answers every question with an error."""

    def __init__(self, error: RegistryError) -> None:
        super().__init__()
        self._error = error

    def by_id(self, schema_id: int) -> Schema:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        RegistryAwayError("the schema registry does not answer", detail="http://a: refused"),
        RegistryLoginError("Unauthorized", hint="Name a user."),
        RegistryError("the schema registry gives an answer of another form than expected"),
    ],
)
def test_a_registry_that_does_not_return_a_schema_makes_no_bad_record(error: RegistryError) -> None:
    with pytest.raises(SchemaUnavailableError) as caught:
        schema_of(Failing(error), 7)

    assert not isinstance(caught.value, SerdeError)
    assert caught.value.message == "cannot find the schema of id 7"
    assert error.message in caught.value.detail
    assert error.detail in caught.value.detail
    assert caught.value.hint == error.hint


@pytest.mark.parametrize("error", [UnknownSchemaError("no such id"), InvalidSchemaError("bad")])
def test_an_unknown_or_invalid_schema_makes_a_bad_record(error: RegistryError) -> None:
    with pytest.raises(SerdeError, match="cannot find the schema of id 7"):
        schema_of(Failing(error), 7)
