"""Information about the server and its cluster.

Source: the documentation of ksqlDB's REST API.
"""

import logging
import time
from functools import partial
from typing import Final

from duolog.core.errors import KafkaError
from duolog.server.access.client_properties import OF_THE_SERVER, prohibited
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext

logger: Final = logging.getLogger(__name__)


async def root(_request: Request, context: ServerContext) -> Response:
    """Lead browsers to /info, as ksqlDB does."""
    return Response(b"", 307, headers=(("Location", f"{context.base_path}/info"),))


async def info(_request: Request, context: ServerContext) -> Response:
    """Answer with version, cluster and service."""
    status = "TERMINATING" if context.stopping.is_set() else ending_of(context) or "RUNNING"
    return json_response(
        {
            "KsqlServerInfo": {
                "version": context.version,
                "kafkaClusterId": context.cluster_id,
                "ksqlServiceId": context.service_id,
                "serverStatus": status,
            }
        }
    )


def ending_of(context: ServerContext) -> str:
    """Return TERMINATING or TERMINATED after /ksql/terminate, else nothing."""
    return str(getattr(context.sql, "ending", ""))


async def metadata(_request: Request, context: ServerContext) -> Response:
    """Answer with the version and the ids of the clusters."""
    return json_response({"version": context.version, "clusterId": _id(context)}, media_type=JSON)


async def metadata_id(_request: Request, context: ServerContext) -> Response:
    """Answer with the ids of the clusters."""
    return json_response(_id(context), media_type=JSON)


async def cluster_status(_request: Request, context: ServerContext) -> Response:
    """Answer with the servers of the service, and the queries that each one runs.

    Without a broker, this server is the only one that is known.
    """
    now_ms = time.time_ns() // 1_000_000
    queries = await context.workers.run(partial(_queries_by_host, context))
    states = {
        host: {
            "hostAlive": True,
            "lastStatusUpdateMs": now_ms,
            "activeStandbyPerQuery": of_host,
            "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": now_ms},
        }
        for host, of_host in queries.items()
    }
    return json_response({"clusterStatus": states})


async def heartbeat(_request: Request, _context: ServerContext) -> Response:
    """Answer another server that says that it runs.

    The servers of Duolog find each other by their consumer group; clients of ksqlDB's interface may
    still send heartbeats.
    """
    return json_response({"isOk": True})


async def lag(_request: Request, _context: ServerContext) -> Response:
    """Answer another server that reports how far its stores are.

    As for heartbeats: `/v1/queries` and `/metrics` have the lag of each query.
    """
    return json_response({"isOk": True})


async def is_valid_property(request: Request, _context: ServerContext) -> Response:
    """Answer `true` if statements may set a property.

    Raises:
        RequestRefused: they may not.
    """
    name = request.path["property"]
    if name in OF_THE_SERVER:
        raise prohibited(name)
    return json_response(value=True)


def _queries_by_host(context: ServerContext) -> dict[str, dict[str, object]]:
    """Return what each server runs, by the servers' addresses and query ids."""
    found: dict[str, dict[str, object]] = {context.address: {}}
    if context.ksql is None:
        return found
    service = context.sql
    try:
        found |= {one.address: {} for one in service.members() if one.address}
    except KafkaError as error:
        logger.debug("cannot ask for the servers of the service: %s", error.message)
    for query in service.queries():
        if query.host in found:
            found[query.host][query.id] = {
                "activeStores": [],
                "activePartitions": [],
                "standByStores": [],
                "standByPartitions": [],
            }
    return found


def _id(context: ServerContext) -> dict[str, object]:
    clusters = {"kafka-cluster": context.cluster_id, "ksql-cluster": context.service_id}
    return {"scope": {"path": [], "clusters": clusters}, "id": ""}
