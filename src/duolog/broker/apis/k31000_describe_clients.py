"""DescribeClients, API key 31000, version 0: an extension that Apache Kafka does not have.

Behaviour: returns the clients of open connections, and of those closed in the last minutes: client
id, software (KIP-511), address, user, listener, counts of requests and bytes, topics written and
read lately. The newest request comes first. ApiVersions lists the API, so that a client need not
ask a broker without it: such a broker closes the connection.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import Steps, run_steps
from duolog.protocol.messages import DESCRIBE_CLIENTS

if TYPE_CHECKING:
    from duolog.protocol.describe_clients import DescribeClientsRequest as Request

(_CLUSTER,) = checks_of(DESCRIBE_CLIENTS)
_LIMIT_MAX: Final = 5_000


def handle(request: "Request", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    run_steps(context, _steps(request, context))


def _steps(request: "Request", context: RequestContext) -> Steps:
    limit = max(0, min(request.limit, _LIMIT_MAX))
    clock = context.broker.clock
    found = context.broker.clients.latest(clock.monotonic())
    rows = []
    for client in found[:limit]:
        rows.append(context.encode_item("clients", client.described(clock)))
        yield None
    context.reply(
        {
            "error_message": None,
            "now_ms": clock.now_ms(),
            "left_out": len(found) - len(rows),
            "clients": rows,
        }
    )


API = Api(
    key=DESCRIBE_CLIENTS, name="DescribeClients", versions=range(1), handle=handle, looks=True
)
