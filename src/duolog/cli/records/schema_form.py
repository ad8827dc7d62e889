"""Keys and values that have a schema in a registry, as JSON. See `record_schemas` for the bytes."""

import json
from collections.abc import Callable
from typing import Final

from duolog.core.errors import DuologError, SerdeError
from duolog.schemas.schema import Language

LANGUAGES: Final = {
    "AVRO": Language.AVRO,
    "JSON_SR": Language.JSON,
    "PROTOBUF": Language.PROTOBUF,
}
"""The language of each format's schemas."""
Decode = Callable[[bytes], object]
Encode = Callable[[str], bytes]


class SchemaForm:
    """The form of keys or values that have a schema in a registry.

    Args:
        decode: returns the JSON value of bytes; raises DuologError.
        encode: returns the bytes of JSON text; None if the form only reads. Raises SerdeError with
            a message that continues "the value".
        is_text: whether the schema is a string, which is not in quotes outside of JSON.
    """

    def __init__(
        self, decode: Decode, encode: Encode | None = None, *, is_text: bool = False
    ) -> None:
        self._decode = decode
        self._encode = encode
        self._is_text = is_text
        self._last: tuple[bytes, object] | None = None

    def decode(self, data: bytes) -> object:
        """Return the JSON value; see `FieldForm`. The same bytes are decoded once."""
        if self._last is None or self._last[0] is not data:
            try:
                self._last = data, self._decode(data)
            except DuologError as error:
                raise ValueError(error.one_line()) from error
        return self._last[1]

    def encode(self, text: str) -> bytes:
        """Return the bytes for a text; see `FieldForm`."""
        return self.encode_json(json.dumps(text) if self._is_text else text)

    def encode_json(self, text: str) -> bytes:
        """Return the bytes for the text of a JSON value; see `FieldForm`."""
        assert self._encode is not None, "the form only reads"
        try:
            return self._encode(text)
        except DuologError as error:
            raise SerdeError(
                "a line is not a record", detail=error.message, hint=error.hint
            ) from error
