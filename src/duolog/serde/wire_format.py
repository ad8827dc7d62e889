"""The frame around a record's key or value that names its schema in a registry.

    version 0   00 | id, 4 bytes big-endian | [message indexes] | payload
    version 1   01 | GUID, 16 bytes         | [message indexes]      in a header; the record's bytes
                                                                     are the payload alone

Message indexes are Protobuf's: the place of the message in its file; see
`duolog.schemas.protobuf.indexes`.

Source: Confluent's wire format.
"""

from typing import Final, NamedTuple
from uuid import UUID

from duolog.core.errors import RegistryError, SerdeError
from duolog.schemas.schema import Schema
from duolog.schemas.source import SchemaSource

MAGIC_OF_ID: Final = 0
MAGIC_OF_GUID: Final = 1
ID_BYTES: Final = 5
"""Length of the frame in version 0, without message indexes."""
GUID_BYTES: Final = 17
KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"


class Framed(NamedTuple):
    """A payload and the id of its schema."""

    schema_id: int
    payload: bytes


def framed(schema_id: int, payload: bytes) -> bytes:
    r"""Return a payload in the frame of version 0.

    Example:
        >>> framed(258, b"abc")
        b'\x00\x00\x00\x01\x02abc'
    """
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def unframed(data: bytes) -> Framed:
    r"""Return the payload of bytes in the frame of version 0.

    Raises:
        SerdeError: the bytes have no such frame.

    Example:
        >>> unframed(b"\x00\x00\x00\x01\x02abc")
        Framed(schema_id=258, payload=b'abc')
    """
    if len(data) < ID_BYTES or data[0] != MAGIC_OF_ID:
        raise SerdeError(
            "the bytes do not start with the id of a schema",
            detail="They must start with a zero byte and four bytes of the id. Found "
            f"{data[:ID_BYTES].hex(' ') or 'no bytes'}.",
            hint="Check that the producer uses the serializer of a schema registry.",
        )
    return Framed(int.from_bytes(data[1:ID_BYTES], "big"), data[ID_BYTES:])


def guid_of(header: bytes) -> str:
    """Return the GUID in the header of version 1.

    Raises:
        SerdeError: the header contains something else.
    """
    if len(header) != GUID_BYTES or header[0] != MAGIC_OF_GUID:
        raise SerdeError(
            "the header does not contain the GUID of a schema",
            detail=f"It must be the byte 01 and 16 bytes. Found {header[:GUID_BYTES].hex(' ')}.",
        )
    return str(UUID(bytes=header[1:]))


def header_of(guid: str) -> bytes:
    """Return the header of version 1 for a GUID."""
    return bytes((MAGIC_OF_GUID,)) + UUID(guid).bytes


def schema_of(source: SchemaSource, schema_id: int) -> Schema:
    """Return the schema of a record.

    Raises:
        SerdeError: the registry has no such schema, or does not answer.
    """
    try:
        return source.by_id(schema_id)
    except RegistryError as error:
        raise SerdeError(
            f"cannot find the schema of id {schema_id}", detail=error.message, hint=error.hint
        ) from error
