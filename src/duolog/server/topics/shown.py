"""Records in answers.

    {"partition", "offset", "timestamp", "timestampType", "size", "key": part, "value": part,
     "headers": [[name, part]…], "headersLeftOut"}
    part: null, or {"text", "format", "kind", "bytes", "truncated"}, perhaps "schemaId", "problem"

Offsets and times are texts: JSON's numbers lose digits in browsers. A decoded value is JSON as a
text for the same reason. All bytes of a key or value have an address of their own.
"""

from typing import Any, Final

from duolog.core.units import KIB, MIB
from duolog.runtime.browsing.decoding import Decoded, Decoder, detected, start_of
from duolog.runtime.browsing.record import BrowsedRecord, Part

Json = dict[str, Any]
TEXT_MAX: Final = 64 * KIB
_TEXT_LEAST: Final = KIB
_ANSWER_MAX: Final = 32 * MIB
_HEADERS_MAX: Final = 100
_HEADER_SHARE: Final = 16
"""Headers are shorter than values by this factor."""


def text_max(records: int) -> int:
    """Return how many characters of each text an answer with many records has room for.

    Example:
        >>> text_max(50), text_max(1_000)
        (65536, 16777)
    """
    return min(TEXT_MAX, max(_TEXT_LEAST, _ANSWER_MAX // (2 * max(1, records))))


def shown_record(record: BrowsedRecord, decoder: Decoder, most: int = TEXT_MAX) -> Json:
    """Return a record as a JSON object, with at most `most` characters of each text."""
    key, value = record.key, record.value
    headers = record.headers
    return {
        "partition": record.partition,
        "offset": str(record.offset),
        "timestamp": str(record.timestamp_ms),
        "timestampType": record.time_kind,
        "size": record.size,
        "key": None if key is None else _shown(decoder.decoded("key", key, headers), key, most),
        "value": (
            None if value is None else _shown(decoder.decoded("value", value, headers), value, most)
        ),
        "headers": [
            [name[:most], _header(data, most // _HEADER_SHARE)]
            for name, data in headers[:_HEADERS_MAX]
        ],
        "headersLeftOut": max(0, len(headers) - _HEADERS_MAX),
    }


def _shown(found: Decoded, part: Part, most: int) -> Json:
    shown = {
        "text": found.text[:most],
        "format": found.form,
        "kind": found.kind,
        "bytes": part.size,
        "truncated": len(found.text) > most or not part.is_whole,
    }
    if found.schema is not None:
        shown["schemaId"] = found.schema
    if found.problem:
        shown["problem"] = found.problem[:most]
    return shown


def _header(data: bytes | None, most: int) -> Json | None:
    if data is None:
        return None
    part = Part(data[:most], len(data))
    return _shown(detected(part.data) if part.is_whole else start_of(part.data), part, most)
