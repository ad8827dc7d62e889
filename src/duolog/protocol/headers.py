"""Request and response headers.

    request  v1   api_key i16 · api_version i16 · correlation_id i32 · client_id nullable string
    request  v2   the same, then tagged fields                          (flexible versions)
    response v0   correlation_id i32
    response v1   the same, then tagged fields                          (flexible versions)

ApiVersions always uses response header v0, because a client reads it before it knows any versions.

Source: Kafka `RequestHeader.json`, `ResponseHeader.json`; KIP-482, KIP-511.
"""

from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple

from duolog.protocol.errors import MalformedRequest
from duolog.protocol.wire import INT32, read_string, skip_tagged_fields

FIXED_HEADER: Final = Struct(">hhi")
"""api_key, api_version, correlation_id."""

API_VERSIONS: Final = 18

FIRST_FLEXIBLE: Final = {
    0: 9,
    1: 12,
    2: 6,
    3: 9,
    8: 8,
    9: 6,
    10: 3,
    11: 6,
    12: 4,
    13: 4,
    14: 4,
    15: 5,
    16: 3,
    18: 3,
    19: 5,
    20: 4,
    21: 2,
    22: 2,
    23: 4,
    24: 3,
    25: 3,
    26: 3,
    28: 3,
    29: 2,
    30: 2,
    31: 2,
    32: 4,
    33: 2,
    34: 2,
    35: 2,
    36: 2,
    37: 2,
    42: 2,
    43: 2,
    44: 1,
    48: 1,
    49: 1,
}
"""First flexible version of each API; API keys from 45 on that are missing here begin flexible."""

_NEVER_FLEXIBLE: Final = frozenset({17, 47})


class RequestHeader(NamedTuple):
    """The header of a request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int


def is_flexible(api_key: int, version: int) -> bool:
    """Return whether this version uses compact types and tagged fields."""
    if api_key in _NEVER_FLEXIBLE:
        return False
    return version >= FIRST_FLEXIBLE.get(api_key, 0)


def read_request_header(buffer: memoryview) -> RequestHeader:
    """Decode the header at the start of a frame's content.

    Raises:
        MalformedRequest: the frame ends inside its header.
    """
    try:
        api_key, version, correlation_id = FIXED_HEADER.unpack_from(buffer, 0)
    except struct_error as error:
        raise MalformedRequest("frame is shorter than a request header") from error
    client_id, position = read_string(buffer, 8, flexible=False)
    if is_flexible(api_key, version):
        position = skip_tagged_fields(buffer, position)
    text = None if client_id is None else client_id.decode("utf-8", "replace")
    return RequestHeader(api_key, version, correlation_id, text, position)


def response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """Return the header of the response to a request."""
    header = INT32.pack(correlation_id)
    if api_key != API_VERSIONS and is_flexible(api_key, version):
        header += b"\0"
    return header
