"""ApiVersions, API key 18, versions 0-4: answered by constant bytes, written by hand.

    v0  error i16 · [key, min, max]      v1  + throttle_ms
    v3  flexible; + supported and finalized features, as tagged fields

A client that asks in a version we lack is answered in version 0 with UNSUPPORTED_VERSION and
the range of ApiVersions itself; it then asks again (KIP-511). No feature is listed:
`transaction.version` would switch clients to a flow that is not served (KIP-890).

Source: Kafka `ApiVersionsResponse.json`; the bytes of the error from Apache Kafka 4.1.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.wire import INT16, INT32, write_array_length

VERSIONS: Final = range(5)

_FIRST_THROTTLE: Final = 1
_FIRST_FLEXIBLE: Final = 3
_RANGE: Final = Struct(">hhh")
_KEY: Final = 18


def write_api_versions(
    version: int, apis: Iterable[tuple[int, range]], *, error_code: int = 0
) -> bytes:
    """Return the body of the answer for `(key, versions)` pairs."""
    flexible = version >= _FIRST_FLEXIBLE
    tags = b"\0" if flexible else b""
    rows = [_RANGE.pack(key, served[0], served[-1]) + tags for key, served in apis]
    parts = [INT16.pack(error_code), write_array_length(len(rows), flexible=flexible), *rows]
    if version >= _FIRST_THROTTLE:
        parts.append(INT32.pack(0))
    parts.append(tags)
    return b"".join(parts)


def write_unsupported_version() -> bytes:
    """Return the body for a client that asked in a version that is not served."""
    return write_api_versions(0, [(_KEY, VERSIONS)], error_code=ErrorCode.UNSUPPORTED_VERSION)
