"""Keys, values and headers as text, with the format that was detected or that the caller names.

    AVRO, PROTOBUF, JSON_SR   JSON, by the schema that the bytes or a header name
    JSON                      the text itself
    MSGPACK                   JSON
    INT, BIGINT, DOUBLE       the number, in the encoding of Kafka's serializers
    STRING                    the text itself
    BYTES                     hexadecimal digits

Detection: the id of a schema that the registry knows, then a JSON object or array, text, INT and
BIGINT by their length, MessagePack, else BYTES. Numbers keep all their digits: the text of JSON is
never read as numbers of JavaScript.
"""

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from duolog.core.errors import DuologError
from duolog.runtime.browsing import message_pack
from duolog.runtime.browsing.json_texts import parse_json
from duolog.runtime.browsing.record import Headers, Part
from duolog.schemas.schema import Language
from duolog.serde.wire_format import (
    GUID_BYTES,
    ID_BYTES,
    KEY_HEADER,
    MAGIC_OF_GUID,
    MAGIC_OF_ID,
    VALUE_HEADER,
)

if TYPE_CHECKING:
    from duolog.serde.readable import SchemaReader

Kind = Literal["json", "text", "hex"]
FORMATS: Final = (
    *("AUTO", "AVRO", "PROTOBUF", "JSON_SR", "JSON", "MSGPACK"),
    *("INT", "BIGINT", "DOUBLE", "STRING", "BYTES"),
)
AUTO: Final = "AUTO"
LANGUAGES: Final = {
    "AVRO": Language.AVRO,
    "JSON_SR": Language.JSON,
    "PROTOBUF": Language.PROTOBUF,
}
"""The languages of formats whose schemas are in a registry."""
_NAMES: Final = {language: name for name, language in LANGUAGES.items()}
_PACKED: Final = {"INT": ">i", "BIGINT": ">q", "DOUBLE": ">d"}
_BY_LENGTH: Final = {4: "INT", 8: "BIGINT"}
_HEADERS: Final = {"key": KEY_HEADER, "value": VALUE_HEADER}


class Decoded(NamedTuple):
    """Bytes as text.

    Attributes:
        text: see the module; the start of it if the bytes are the start of longer ones.
        form: the format.
        kind: how to read the text.
        schema: the id or GUID of its schema; None without one.
        problem: why the bytes are not of the format that was asked for; empty if they are.
    """

    text: str
    form: str
    kind: Kind
    schema: int | str | None = None
    problem: str = ""


class Decoder:
    """Decodes the parts of a topic's records.

    Args:
        reader: reads what has a schema; None without a registry.
        key, value: formats to use; AUTO to detect them.
    """

    def __init__(
        self, reader: "SchemaReader | None" = None, key: str = AUTO, value: str = AUTO
    ) -> None:
        self._reader = reader
        self._forms = {"key": key, "value": value}

    def decoded(self, which: Literal["key", "value"], part: Part, headers: Headers) -> Decoded:
        """Return a key or value as text."""
        form = self._forms[which]
        if not part.is_whole:
            return start_of(part.data)
        name = _HEADERS[which]
        header = next((data for header, data in reversed(headers) if header == name), None)
        header = header if header is not None and _is_frame(header) else None
        if form == AUTO:
            return self._detected(part.data, header)
        if form in LANGUAGES:
            return self._by_schema(part.data, header, LANGUAGES[form])
        return _READERS[form](part.data)

    def is_plain(self, which: Literal["key", "value"], part: Part, headers: Headers) -> bool:
        """Return whether `decoded` returns the bytes as they are: a text without a schema."""
        if self._forms[which] != AUTO or not part.is_whole or _is_frame(part.data):
            return False
        return not any(name == _HEADERS[which] for name, _ in headers) and (
            _text(part.data) is not None
        )

    def _detected(self, data: bytes, header: bytes | None) -> Decoded:
        # A BIGINT can start like an id.
        framed = header is not None or (_is_frame(data) and len(data) not in _BY_LENGTH)
        if framed and self._reader is not None:
            found = self._by_schema(data, header, None)
            if not found.problem:
                return found
        return detected(data)

    def _by_schema(self, data: bytes, header: bytes | None, language: Language | None) -> Decoded:
        if self._reader is None:
            return _hex(data, "the server has no schema registry")
        try:
            found = self._reader.read(data, header, language)
        except DuologError as error:
            return _hex(data, error.one_line())
        kind: Kind = "text" if found.is_string else "json"
        form = _NAMES[found.language]
        return Decoded(found.text, form, kind, _schema_of(data if header is None else header))


def detected(data: bytes) -> Decoded:
    """Return bytes without a schema as text.

    Example:
        >>> detected(b'{"a": 1.10}')
        Decoded(text='{"a": 1.10}', form='JSON', kind='json', schema=None, problem='')
        >>> detected(bytes(7) + bytes([5])).text, detected(b"bob").form, detected(bytes([255])).text
        ('5', 'STRING', 'ff')
    """
    text = _text(data)
    if text is not None:
        is_json = text[:1] in "{[ \t\n\r" and _is_json(text)
        return Decoded(text, "JSON", "json") if is_json else Decoded(text, "STRING", "text")
    if len(data) in _BY_LENGTH:
        return _packed(_BY_LENGTH[len(data)])(data)
    if (packed := message_pack.text_of(data, containers=True)) is not None:
        return Decoded(packed, "MSGPACK", "json")
    return Decoded(data.hex(), "BYTES", "hex")


def start_of(data: bytes) -> Decoded:
    """Return the start of longer bytes as text: the cut may be in the middle of a character."""
    for end in range(len(data), max(0, len(data) - 4), -1):
        text = _text(data[:end])
        if text is not None:
            return Decoded(text, "STRING", "text")
    return Decoded(data.hex(), "BYTES", "hex")


def _json_of(data: bytes) -> Decoded:
    text = _text(data)
    if text is None or not _is_json(text, anything=True):
        return _lossy(data, "it is not JSON")
    return Decoded(text, "JSON", "json")


def _string_of(data: bytes) -> Decoded:
    try:
        return Decoded(data.decode(), "STRING", "text")
    except UnicodeDecodeError:
        return _lossy(data, "it is not UTF-8")


def _pack_of(data: bytes) -> Decoded:
    text = message_pack.text_of(data)
    if text is None:
        return _hex(data, "it is not MessagePack")
    return Decoded(text, "MSGPACK", "json")


def _packed(name: str) -> Callable[[bytes], Decoded]:
    packing = _PACKED[name]
    size = struct.calcsize(packing)

    def read(data: bytes) -> Decoded:
        if len(data) != size:
            return _hex(data, f"{name} has {size} bytes, and this has {len(data)}")
        return Decoded(str(struct.unpack(packing, data)[0]), name, "text")

    return read


def _hex(data: bytes, problem: str = "") -> Decoded:
    return Decoded(data.hex(), "BYTES", "hex", problem=problem)


def _lossy(data: bytes, problem: str) -> Decoded:
    text = data.decode(errors="replace")
    return Decoded(text, "STRING", "text", problem=problem)


_READERS: Final[dict[str, Callable[[bytes], Decoded]]] = {
    "JSON": _json_of,
    "STRING": _string_of,
    "MSGPACK": _pack_of,
    "BYTES": _hex,
    **{name: _packed(name) for name in _PACKED},
}


def _text(data: bytes) -> str | None:
    """Return bytes as text; None if they are not, or have characters that no text has."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    # ANSI's escapes and marks of direction occur in texts; other controls show that it is none.
    return text if "\0" not in text else None


def _is_json(text: str, *, anything: bool = False) -> bool:
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return False
    return anything or isinstance(value, dict | list)


def _is_frame(data: bytes) -> bool:
    by_id = len(data) >= ID_BYTES and data[0] == MAGIC_OF_ID
    return by_id or (len(data) >= GUID_BYTES and data[0] == MAGIC_OF_GUID)


def _schema_of(data: bytes) -> int | str:
    if data[0] == MAGIC_OF_ID:
        return int.from_bytes(data[1:ID_BYTES])
    return data[1:GUID_BYTES].hex()
