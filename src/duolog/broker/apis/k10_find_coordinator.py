"""FindCoordinator, API key 10, versions 0-5.

Behaviour: this broker coordinates every group and every transaction. Other kinds of keys (share
groups) are an INVALID_REQUEST.

v1  key type, error message
v3  flexible
v4  several keys, an error for each
v5  TRANSACTION_ABORTABLE is known to the client

Source: Kafka FindCoordinatorRequest.json; KafkaApis.handleFindCoordinatorRequest.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.coordinator.errors import NONE
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.find_coordinator.v0.request import FindCoordinatorRequest as Oldest
    from kio.schema.find_coordinator.v5.request import FindCoordinatorRequest as Newest

_GROUP_CHECK, _TRANSACTION_CHECK = checks_of(10)
_GROUP: Final = 0
_TRANSACTION: Final = 1
_NOWHERE: Final = {"node_id": -1, "host": "", "port": -1}


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    key_type = getattr(request, "key_type", _GROUP)
    if hasattr(request, "coordinator_keys"):
        coordinators = [
            {"key": key, **_coordinator(key_type, key, context)} for key in request.coordinator_keys
        ]
        context.reply({"throttle_time": 0, "coordinators": coordinators})
    else:
        context.reply({"throttle_time": 0, **_coordinator(key_type, request.key, context)})


def _coordinator(key_type: int, key: str, context: RequestContext) -> Mapping[str, object]:
    if key_type not in (_GROUP, _TRANSACTION):
        message = f"there is no coordinator for keys of type {key_type}"
        return {"error_code": ErrorCode.INVALID_REQUEST, "error_message": message, **_NOWHERE}
    check = _GROUP_CHECK if key_type == _GROUP else _TRANSACTION_CHECK
    if not check.allows(context, key):
        refusal = check.refusal(context, key)
        return {"error_code": refusal.code, "error_message": refusal.message, **_NOWHERE}
    host, port = context.advertised
    return {
        "error_code": NONE,
        "error_message": None,
        "node_id": context.broker.node_id,
        "host": host,
        "port": port,
    }


API = Api(key=10, name="FindCoordinator", versions=range(6), handle=handle)
