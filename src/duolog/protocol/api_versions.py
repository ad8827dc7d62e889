"""ApiVersions, API key 18, versions 0-4: hand-written encoder.

    v0  error i16 · [key, min, max]      v1  + throttle_ms
    v3  flexible; tagged fields: 0 supported features, 1 epoch and 2 levels of finalized ones

The response to an unsupported version has version 0, the error UNSUPPORTED_VERSION and the
supported range of ApiVersions itself, so that the client can retry (KIP-511). A supported feature
with minimum 0 is omitted before version 4, because older clients treat the 0 as an error
(KAFKA-17011).

Source: Kafka `ApiVersionsResponse.json`; the bytes of the error response are those of Apache Kafka
4.1.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.wire import (
    INT16,
    INT32,
    INT64,
    write_array_length,
    write_string,
    write_uvarint,
)

VERSIONS: Final = range(5)

_FIRST_THROTTLE: Final = 1
_FIRST_FLEXIBLE: Final = 3
_RANGE: Final = Struct(">hhh")
_KEY: Final = 18

_FIRST_ZERO_MINIMUM: Final = 4
_EPOCH: Final = 0
"""Features never change while a broker runs, and clients accept any epoch from 0."""
_LEVELS: Final = Struct(">hh")
_SUPPORTED: Final = 0
_FINALIZED_EPOCH: Final = 1
_FINALIZED: Final = 2


class Feature(NamedTuple):
    """A cluster feature, supported from 0 to `level` and finalized at `level`."""

    name: str
    level: int


def write_api_versions(
    version: int,
    apis: Iterable[tuple[int, range]],
    features: Sequence[Feature] = (),
    *,
    error_code: int = 0,
    throttle_ms: int = 0,
) -> bytes:
    """Return the body of the response for `(key, versions)` pairs."""
    flexible = version >= _FIRST_FLEXIBLE
    tags = b"\0" if flexible else b""
    rows = [_RANGE.pack(key, served[0], served[-1]) + tags for key, served in apis]
    parts = [INT16.pack(error_code), write_array_length(len(rows), flexible=flexible), *rows]
    if version >= _FIRST_THROTTLE:
        parts.append(INT32.pack(throttle_ms))
    if flexible:
        parts.append(_write_features(version, features))
    return b"".join(parts)


def _write_features(version: int, features: Sequence[Feature]) -> bytes:
    """Return the tagged fields, without those that have the default value."""
    finalized = [(name, level, level) for name, level in features]
    supported = [(name, 0, level) for name, level in features]
    fields = []
    if supported and version >= _FIRST_ZERO_MINIMUM:
        fields.append((_SUPPORTED, _write_levels(supported)))
    if finalized:
        fields.append((_FINALIZED_EPOCH, INT64.pack(_EPOCH)))
        fields.append((_FINALIZED, _write_levels(finalized)))
    parts = [write_uvarint(len(fields))]
    for tag, data in fields:
        parts += (write_uvarint(tag), write_uvarint(len(data)), data)
    return b"".join(parts)


def _write_levels(rows: list[tuple[str, int, int]]) -> bytes:
    parts = [write_array_length(len(rows), flexible=True)]
    for name, first, second in rows:
        parts += (write_string(name, flexible=True), _LEVELS.pack(first, second), b"\0")
    return b"".join(parts)


def write_unsupported_version() -> bytes:
    """Return the body of the response to an unsupported version."""
    return write_api_versions(0, [(_KEY, VERSIONS)], error_code=ErrorCode.UNSUPPORTED_VERSION)
