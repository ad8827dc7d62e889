"""Fetch, API key 1, versions 4-17.

Behaviour: whole batches, from the one that holds the fetch offset; nothing beyond the high
watermark, and nothing beyond the last stable offset for read_committed. A fetch with fewer than `min_bytes` waits up to `max_wait_ms`; an error in any
partition is answered at once. Sessions are declined: session 0, every partition in every
answer; a request that goes on with a session gets FETCH_SESSION_ID_NOT_FOUND, one that begins
or closes a session is answered in full.

v5  log start offset         v7  sessions (KIP-227)
v9  current leader epoch     v10 zstd
v11 rack                     v12 flexible, last fetched epoch
v13 topic ids                v15 no replica id

Source: Kafka `KafkaApis.handleFetchRequest`, `FetchManager`.
"""

from typing import TYPE_CHECKING

from duolog.broker.api import Api
from duolog.broker.fetch_waiters import FetchWaiter
from duolog.broker.fetching import fetch
from duolog.broker.slots import Slot
from duolog.protocol.error_codes import ErrorCode
from duolog.protocol.fetch import VERSIONS, read_fetch_request, write_fetch_response

if TYPE_CHECKING:
    from duolog.broker.connection import Connection
    from duolog.broker.sending import FileSpan


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    broker = connection.broker
    request = read_fetch_request(frame, position, version)
    if request.session_epoch > 0:
        refused: list[bytes | FileSpan] = write_fetch_response(
            version, correlation_id, [], error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        )
        connection.answer(Slot(), refused)
        return
    fetched = fetch(broker, request)
    enough = fetched.failed or fetched.size_bytes >= request.bytes_min
    if enough or request.max_wait_ms <= 0 or not request.topics:
        answer: list[bytes | FileSpan] = write_fetch_response(
            version, correlation_id, fetched.results, read_committed=request.read_committed
        )
        connection.answer(Slot(), answer)
        return
    waiter = FetchWaiter(broker, connection, request, version, correlation_id)
    connection.slots.append(waiter)
    waiter.park()


API = Api(key=1, name="Fetch", versions=VERSIONS, handle_frame=handle_frame)
