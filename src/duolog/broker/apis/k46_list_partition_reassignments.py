"""ListPartitionReassignments, API key 46, version 0.

Behaviour: no partition is ever being moved.

Source: Kafka `ReplicationControlManager.listPartitionReassignments`, KIP-455.
"""

from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api

if TYPE_CHECKING:
    from kio.schema.list_partition_reassignments.v0.request import (
        ListPartitionReassignmentsRequest as Request,
    )


(_CLUSTER,) = checks_of(46)


def handle(request: "Request", context: RequestContext) -> None:
    del request
    _CLUSTER.ensure(context)
    context.reply({"error_message": None, "topics": []})


API = Api(key=46, name="ListPartitionReassignments", versions=range(1), handle=handle)
