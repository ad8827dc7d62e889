"""Terminate the service: POST /ksql/terminate.

    {}                                         queries end, internal topics are deleted
    {"deleteTopicList": ["TOTALS", "late.*"]}  topics of CREATE … AS that match, too

Names are regular expressions, which match whole names. The server then refuses statements with
error 50304 until it is restarted; it starts with an empty catalog. While other servers of the
service run, the request is refused with error 40900.

Source: ksqlDB's documentation of this endpoint.
"""

from collections.abc import Callable

import re2

from duolog.core.errors import DuologError
from duolog.runtime.sql.errors import ServiceShared
from duolog.server.access.visible_service import ensure_runs
from duolog.server.errors import CONFLICT, NOT_READY, RequestRefused
from duolog.server.failures import bad_request, failure_of, message_of
from duolog.server.ksql.requests import json_object
from duolog.server.messages import Request, Response, json_response
from duolog.server.operations.context import ServerContext

_TEXT = "TERMINATE CLUSTER;"


async def terminate(request: Request, context: ServerContext) -> Response:
    """End the queries of the service, and delete its topics.

    Raises:
        RequestRefused: the body is not such a request; the service is terminated already; other
            servers run it; or the broker refuses to delete a topic, and a second request continues.
    """
    if context.ksql is None:
        raise RequestRefused("The server has no SQL service", NOT_READY)
    doomed = _matching(request.body)
    running, service = context.ksql.running, context.sql
    if service.ending == "TERMINATED":
        ensure_runs(service)
    try:
        await context.workers.run(service.terminate, doomed, running.interrupt_all)
    except ServiceShared as error:
        raise RequestRefused(message_of(error), CONFLICT) from error
    except DuologError as error:
        raise failure_of(error) from error
    return json_response([_entity(service.last_command)])


def _matching(body: bytes) -> Callable[[str], bool]:
    """Return the test of topics that a body asks for; an empty body deletes none."""
    names = (json_object(body) if body.strip() else {}).get("deleteTopicList") or []
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise bad_request("deleteTopicList must be a list of names or regular expressions")
    patterns = [_compiled(name) for name in names]
    return lambda topic: any(pattern.fullmatch(topic) for pattern in patterns)


def _compiled(name: str) -> "re2._Regexp[str]":
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(name, options)
    except re2.error as error:
        raise bad_request(f"Invalid pattern: {name}") from error


def _entity(number: int) -> dict[str, object]:
    return {
        "@type": "currentStatus",
        "statementText": _TEXT,
        "commandId": "cluster/TerminateCluster/terminate",
        "commandStatus": {"status": "SUCCESS", "message": "Cluster terminated", "queryId": None},
        "commandSequenceNumber": number,
        "warnings": [],
    }
