"""Fetch, API key 1, versions 4-17.

Behaviour: whole batches, from the one that holds the fetch offset; nothing beyond the high
watermark, and nothing beyond the last stable offset for read_committed. A fetch with fewer than
`min_bytes` waits up to `max_wait_ms`; an error in any partition is answered at once. A client may
begin a session and then name and hear of changes only (see `fetch_sessions`).

v5  log start offset         v7  sessions (KIP-227)
v9  current leader epoch     v10 zstd
v11 rack                     v12 flexible, last fetched epoch
v13 topic ids                v15 no replica id

Source: Kafka `KafkaApis.handleFetchRequest`, `FetchManager`.
"""

from typing import TYPE_CHECKING

from duolog.broker.fetch.delayed_fetch import DelayedFetch, write_response
from duolog.broker.fetch.fetch_sessions import Response
from duolog.broker.requests.api import Api
from duolog.broker.requests.in_flight import InFlightRequest
from duolog.protocol.fetch import FIRST_TOPIC_ID, VERSIONS, read_fetch_request

if TYPE_CHECKING:
    from duolog.broker.network.connection import Connection


def handle_frame(
    connection: "Connection", frame: memoryview, version: int, correlation_id: int, position: int
) -> None:
    broker = connection.broker
    request = read_fetch_request(frame, position, version)
    plan = broker.fetch_sessions.plan(request, by_id=version >= FIRST_TOPIC_ID)
    if isinstance(plan, Response):
        refused = write_response(version, correlation_id, plan, read_committed=False)
        connection.answer(InFlightRequest(), refused)
        return
    fetched = plan.fetch()
    enough = fetched.failed or fetched.size_bytes >= request.bytes_min
    if enough or request.max_wait_ms <= 0 or not plan.waits:
        broker.counters.fetch_at_once += 1
        response = plan.respond(fetched)
        answer = write_response(
            version, correlation_id, response, read_committed=request.read_committed
        )
        connection.answer(InFlightRequest(), answer)
        return
    waiter = DelayedFetch(broker, connection, plan, version, correlation_id)
    connection.begin(waiter)
    waiter.park()


API = Api(key=1, name="Fetch", versions=VERSIONS, handle_frame=handle_frame)
