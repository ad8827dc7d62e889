"""ElectLeaders, API key 43, versions 0-2.

Behaviour: the one broker leads every partition, so no election is ever needed: ELECTION_NOT_NEEDED
for each partition that is named. One that is refused for damage has no leader, and none is
eligible. A request for all partitions returns those whose leader changed, which are none.

v1  kind of election, error at the top       v2 flexible

Source: Kafka `ReplicationControlManager.electLeaders`, KIP-460.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import Steps, run_steps
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.elect_leaders.v0.request import ElectLeadersRequest as Oldest
    from kio.schema.elect_leaders.v2.request import ElectLeadersRequest as Newest

_PREFERRED: Final = 0
_NO_PREFERRED: Final = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
_NONE_ELIGIBLE: Final = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


(_CLUSTER,) = checks_of(43)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    run_steps(context, _steps(request, context))


def _steps(request: "Oldest | Newest", context: RequestContext) -> Steps:
    results: list[dict[str, object]] = []
    if request.topic_partitions is None:
        results = [{"topic": topic.name, "partition_result": []} for topic in context.broker.topics]
    preferred = getattr(request, "election_type", _PREFERRED) == _PREFERRED
    none = _NO_PREFERRED if preferred else _NONE_ELIGIBLE
    for topic in request.topic_partitions or ():
        rows = []
        for index in topic.partitions:
            rows.append(_result(context, topic.topic, index, none))
            yield None
        results.append({"topic": topic.topic, "partition_result": rows})
        yield None
    context.reply({"error_code": ErrorCode.NONE, "replica_election_results": results})


def _result(context: RequestContext, topic: str, index: int, none: ErrorCode) -> dict[str, object]:
    code: int = ErrorCode.ELECTION_NOT_NEEDED
    message: str | None = f"broker {context.broker.node_id} leads the partition"
    try:
        refused = context.broker.topics.partition(topic, index).refused
        if refused is not None:
            code, message = none, refused.message
    except KafkaError as error:
        code, message = kafka_code(error)
    return {"partition_id": index, "error_code": code, "error_message": message}


API = Api(key=43, name="ElectLeaders", versions=range(3), handle=handle, looks=True)
