"""Information about the server and its cluster.

Source: the documentation of ksqlDB's REST API.
"""

import time

from duolog.server.access.client_properties import OF_THE_SERVER, prohibited
from duolog.server.messages import JSON, Request, Response, json_response
from duolog.server.operations.context import ServerContext


async def root(_request: Request, context: ServerContext) -> Response:
    """Lead browsers to /info, as ksqlDB does."""
    return Response(b"", 307, headers=(("Location", f"{context.base_path}/info"),))


async def info(_request: Request, context: ServerContext) -> Response:
    """Answer with version, cluster and service."""
    status = "TERMINATING" if context.stopping.is_set() else "RUNNING"
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


async def metadata(_request: Request, context: ServerContext) -> Response:
    """Answer with the version and the ids of the clusters."""
    return json_response({"version": context.version, "clusterId": _id(context)}, media_type=JSON)


async def metadata_id(_request: Request, context: ServerContext) -> Response:
    """Answer with the ids of the clusters."""
    return json_response(_id(context), media_type=JSON)


async def cluster_status(_request: Request, context: ServerContext) -> Response:
    """Answer with this server as the only one: servers of a service do not know each other."""
    now_ms = time.time_ns() // 1_000_000
    state = {
        "hostAlive": True,
        "lastStatusUpdateMs": now_ms,
        "activeStandbyPerQuery": {},
        "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": now_ms},
    }
    return json_response({"clusterStatus": {context.address: state}})


async def is_valid_property(request: Request, _context: ServerContext) -> Response:
    """Answer `true` if statements may set a property.

    Raises:
        RequestRefused: they may not.
    """
    name = request.path["property"]
    if name in OF_THE_SERVER:
        raise prohibited(name)
    return json_response(value=True)


def _id(context: ServerContext) -> dict[str, object]:
    clusters = {"kafka-cluster": context.cluster_id, "ksql-cluster": context.service_id}
    return {"scope": {"path": [], "clusters": clusters}, "id": ""}
