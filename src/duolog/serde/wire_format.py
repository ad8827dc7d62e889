"""The frame that names the schema of a record's key or value in a registry.

    version 0   00 | id, 4 bytes big-endian | [message indexes] | payload
    version 1   01 | GUID, 16 bytes         | [message indexes] | payload

The frame is at the start of the bytes, or alone in a header of the record, whose bytes are then the
payload. `with_header` puts it where the serdes read it, so that they need no headers.

Message indexes are Protobuf's: the place of the message in its file; see
`duolog.schemas.protobuf.indexes`.

Source: Confluent's clients, which read both frames in both places, and a header first.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple
from uuid import UUID

from duolog.core.errors import RegistryError, SerdeError
from duolog.schemas.schema import InvalidSchemaError, Schema
from duolog.schemas.source import RegistryLoginError, SchemaSource, UnknownSchemaError

MAGIC_OF_ID: Final = 0
MAGIC_OF_GUID: Final = 1
ID_BYTES: Final = 5
"""Length of the frame in version 0, without message indexes."""
GUID_BYTES: Final = 17
"""Length of the frame in version 1, without message indexes."""
KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"
OF_A_REGISTRY: Final = ("AVRO", "JSON_SR", "PROTOBUF")
"""Formats that have a frame."""

Headers = tuple[tuple[str, bytes | None], ...]
SchemaKey = int | str
"""The id of a schema, or its GUID."""


class SchemaUnavailableError(RegistryError):
    """The registry does not return the schema of a record, although it may have it.

    The record may be a good one, so this is not a `SerdeError`, which stands for a bad record.
    """


class Framed(NamedTuple):
    """A payload, and the id or GUID of its schema."""

    schema: SchemaKey
    payload: bytes


def framed(schema: SchemaKey, payload: bytes) -> bytes:
    r"""Return a payload in the frame of an id or a GUID.

    Example:
        >>> framed(258, b"abc")
        b'\x00\x00\x00\x01\x02abc'
    """
    if isinstance(schema, int):
        return bytes((MAGIC_OF_ID,)) + schema.to_bytes(4, "big") + payload
    return bytes((MAGIC_OF_GUID,)) + UUID(schema).bytes + payload


def header_of(guid: str) -> bytes:
    """Return the header that names the schema of a GUID, without message indexes."""
    return framed(guid, b"")


def unframed(data: bytes) -> Framed:
    r"""Return the payload of bytes in a frame.

    Raises:
        SerdeError: the bytes have no frame.

    Example:
        >>> unframed(b"\x00\x00\x00\x01\x02abc")
        Framed(schema=258, payload=b'abc')
    """
    if len(data) >= ID_BYTES and data[0] == MAGIC_OF_ID:
        return Framed(int.from_bytes(data[1:ID_BYTES], "big"), data[ID_BYTES:])
    if len(data) >= GUID_BYTES and data[0] == MAGIC_OF_GUID:
        return Framed(str(UUID(bytes=data[1:GUID_BYTES])), data[GUID_BYTES:])
    raise SerdeError(
        "the bytes do not start with the id of a schema",
        detail="They must start with the byte 00 and the 4 bytes of an id, or with the byte 01 and "
        f"the 16 bytes of a GUID. Found {data[:ID_BYTES].hex(' ') or 'no bytes'}.",
        hint="Check that the producer uses the serializer of a schema registry.",
    )


def with_header(
    format_name: str,
    data: bytes | None,
    headers: Iterable[tuple[str, bytes | None]],
    header: str,
) -> bytes | None:
    r"""Return bytes with the frame in front that a header of their record contains, if any.

    Args:
        format_name: the format of the bytes; only formats with a frame look for the header.
        data: the bytes; None stays None.
        headers: the headers of the record; the last one of a name counts.
        header: `KEY_HEADER` or `VALUE_HEADER`.

    Example:
        >>> with_header("AVRO", b"abc", [("__key_schema_id", b"\0\0\0\0\1")], KEY_HEADER)
        b'\x00\x00\x00\x00\x01abc'
    """
    if data is None or format_name not in OF_A_REGISTRY:
        return data
    frame = None
    for name, content in headers:
        if name == header:
            frame = content
    return data if frame is None else frame + data


def without_frames(headers: Headers, key_format: str, value_format: str) -> Headers:
    """Return the headers that a record may inherit whose bytes have frames of their own.

    Example:
        >>> without_frames((("__value_schema_id", b""), ("a", b"1")), "KAFKA", "AVRO")
        (('a', b'1'),)
    """
    frames = [
        header
        for header, of in ((KEY_HEADER, key_format), (VALUE_HEADER, value_format))
        if of in OF_A_REGISTRY
    ]
    if not frames or not headers:
        return headers
    return tuple(one for one in headers if one[0] not in frames)


def schema_of(source: SchemaSource, key: SchemaKey) -> Schema:
    """Return the schema of a record, given its id or GUID.

    Raises:
        SchemaUnavailableError: the registry does not answer, or refuses the user.
        SerdeError: the registry has no such schema, or one that is invalid.
    """
    try:
        return source.by_id(key) if isinstance(key, int) else source.by_guid(key)
    except RegistryError as error:
        is_bad = isinstance(error, UnknownSchemaError | InvalidSchemaError)
        kind = SerdeError if is_bad else SchemaUnavailableError
        why = ". ".join(part for part in (error.message, error.detail) if part)
        if isinstance(error, RegistryLoginError):
            why = f"The schema registry refuses the user: {why}"
        raise kind(
            f"cannot find the schema of {named(key)}", detail=why, hint=error.hint
        ) from error


def named(key: SchemaKey) -> str:
    """Return an id or a GUID as errors name it."""
    return f"id {key}" if isinstance(key, int) else f"GUID {key}"
