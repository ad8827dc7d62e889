"""Fetch, API key 1, versions 4-17.

Behaviour: whole batches, from the one that holds the fetch offset; nothing beyond the high
watermark, and nothing beyond the last stable offset for read_committed. A fetch with fewer than
`min_bytes` waits up to `max_wait_ms`; an error in any partition is answered at once. A client may
begin a session and then name and hear of changes only (see `fetch_sessions`). A client above its
quota gets no records, and a throttle time.

v5  log start offset         v7  sessions (KIP-227)
v9  current leader epoch     v10 zstd
v11 rack                     v12 flexible, last fetched epoch
v13 topic ids                v15 no replica id

Source: Kafka `KafkaApis.handleFetchRequest`, `FetchManager`.
"""

from functools import partial
from typing import TYPE_CHECKING

from duolog.broker.fetch.delayed_fetch import DelayedFetch
from duolog.broker.requests.api import LARGE_BYTES, Api, decode_beside
from duolog.protocol.fetch import VERSIONS, read_fetch_request

if TYPE_CHECKING:
    from duolog.broker.apis.context import Connection


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    enforcement = connection.broker.enforcement
    charge = None if enforcement is None else enforcement.charge_frame(connection, frame)
    if len(frame) <= LARGE_BYTES:
        request = read_fetch_request(frame, position, version)
        waiting = DelayedFetch(connection, version, correlation_id, charge)
        connection.begin(waiting)
        waiting.serve(request)
        if charge is not None:
            charge.pause()
        return
    if charge is not None:
        charge.pause()
    waiting = DelayedFetch(connection, version, correlation_id, charge)
    connection.begin(waiting)
    decode = partial(read_fetch_request, position=position, version=version)
    decode_beside(connection, frame, decode, waiting.serve)


API = Api(key=1, name="Fetch", versions=VERSIONS, handle_frame=handle_frame)
