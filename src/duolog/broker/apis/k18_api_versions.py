"""ApiVersions, API key 18, versions 0-4.

Behaviour: the answer is constant for each version, so it is written once. A version that is not
served (Java 4.4 and franz-go open with 5) is answered in version 0 with UNSUPPORTED_VERSION.
From v3 the client's software name and version must be letters, digits, dots and dashes, else
INVALID_REQUEST.

v1  throttle time
v3  flexible; client software name and version; the response header stays version 0
v4  supported features whose minimum is 0

Finalized are `transaction.version` 2, by which clients leave the adding of partitions to Produce
and take a new epoch at every end (KIP-890), and `group.version` 1, the new consumer protocol
(KIP-848). The older flows are served as well.

Source: Kafka `ApiVersionsRequest`, `ApiVersionManager`; KIP-511, KIP-584, KAFKA-18659, KAFKA-17011.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from duolog.broker.requests.api import Api
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.protocol.api_versions import (
    VERSIONS,
    Feature,
    write_api_versions,
    write_unsupported_version,
)
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.frames import write_frame
from duolog.protocol.wire import INT32, read_string

if TYPE_CHECKING:
    from duolog.broker.apis.context import Connection

_SOFTWARE: Final = re.compile(rb"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_SOFTWARE: Final = 3
_TEXT_MAX: Final = 255
"""Longer names are cut: they are kept as long as the connection."""
_FEATURES: Final = (Feature("group.version", 1), Feature("transaction.version", 2))


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    broker = connection.broker
    if version not in VERSIONS:
        body = write_unsupported_version()
    else:
        apis = tuple((api.key, api.advertised) for api in broker.router.apis)
        error_code = ErrorCode.NONE
        if version >= _FIRST_SOFTWARE and not _note_software(connection, frame, position):
            error_code = ErrorCode.INVALID_REQUEST
        if error_code != ErrorCode.NONE:
            apis = ()
        throttle_ms = _throttle_ms(connection, frame)
        write = _write if throttle_ms else _body  # Throttle times differ, so those are not kept.
        body = write(version, apis, error_code, throttle_ms)
    connection.answer(InFlightRequest(), write_frame(INT32.pack(correlation_id), body))
    broker.counters.cold["ApiVersions"].observe(0.0)


def _throttle_ms(connection: "Connection", frame: memoryview) -> int:
    """Return the throttle time of a client that has logged in: before, it is any user's."""
    broker = connection.broker
    if broker.enforcement is None or connection in broker.connections.unauthenticated:
        return 0
    return broker.enforcement.charge_frame(connection, frame).answered()


def _write(
    version: int, apis: tuple[tuple[int, range], ...], error_code: int, throttle_ms: int
) -> bytes:
    features = _FEATURES if error_code == ErrorCode.NONE else ()
    return write_api_versions(
        version, apis, features, error_code=error_code, throttle_ms=throttle_ms
    )


_body: Final = lru_cache(maxsize=2 * len(VERSIONS))(_write)


def _note_software(connection: "Connection", frame: memoryview, position: int) -> bool:
    """Note what the client says it is; return whether it says so in the right form."""
    name, position = read_string(frame, position, flexible=True)
    version, _ = read_string(frame, position, flexible=True)
    if name is None or version is None:
        return False
    if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
        return False
    activity = connection.activity
    activity.software_name = name[:_TEXT_MAX].decode()
    activity.software_version = version[:_TEXT_MAX].decode()
    return True


API = Api(key=18, name="ApiVersions", versions=VERSIONS, handle_frame=handle_frame)
