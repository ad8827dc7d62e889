"""DescribeProducers, API key 61, version 0.

Behaviour: returns the active producers of each partition, and the start offsets of their open
transactions. `kafka-transactions.sh find-hanging` and `describe-producers` ask it. A transaction of
the broker's own coordinator never hangs; one of WriteTxnMarkers' clients might.

Source: Kafka `ReplicaManager.activeProducerState`, KIP-664.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import Steps, run_steps
from duolog.broker.topics.topic_names import check_topic_name
from duolog.core.errors import DuologError

if TYPE_CHECKING:
    from kio.schema.describe_producers.v0.request import DescribeProducersRequest as Request


(_TOPIC,) = checks_of(61)


def handle(request: "Request", context: RequestContext) -> None:
    run_steps(context, _steps(request, context))


def _steps(request: "Request", context: RequestContext) -> Steps:
    topics = []
    for topic in request.topics:
        rows = []
        for index in topic.partition_indexes:
            rows.append((yield from _describe(context, topic.name, index)))
            yield None
        topics.append({"name": topic.name, "partitions": rows})
        yield None
    context.reply({"topics": topics})


def _describe(
    context: RequestContext, topic: str, index: int
) -> Generator[None, None, dict[str, object]]:
    """Return the row of a partition, in steps: it may know very many producers."""
    try:
        check_topic_name(topic)
        _TOPIC.ensure(context, topic)
        log = context.broker.log(topic, index)
    except (DuologError, OSError) as error:
        code, message = kafka_code(error)
        return {"partition_index": index, "error_code": code, "error_message": message}
    producers = []
    for producer in log.active_producers():
        row = {
            "producer_id": producer.producer_id,
            "producer_epoch": producer.producer_epoch,
            "last_sequence": producer.last_sequence,
            "last_timestamp": producer.last_timestamp_ms,
            "coordinator_epoch": producer.coordinator_epoch,
            "current_txn_start_offset": producer.transaction_start,
        }
        producers.append(context.encode_item("topics.partitions.active_producers", row))
        yield
    return {"partition_index": index, "error_message": None, "active_producers": producers}


API = Api(key=61, name="DescribeProducers", versions=range(1), handle=handle, looks=True)
