"""DescribeTransactions, API key 65, version 0.

Behaviour: each transactional id has its own error: INVALID_REQUEST for an empty one,
TRANSACTIONAL_ID_NOT_FOUND for one that is not known. What is shown may still be on its way to the
disk.

Source: Kafka `TransactionCoordinator.handleDescribeTransactions`; KIP-664.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.core.errors import KafkaError

if TYPE_CHECKING:
    from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest as Request


_TRANSACTIONAL_ID, _TOPIC = checks_of(65)


def handle(request: "Request", context: RequestContext) -> None:
    states: list[dict[str, object]] = []
    work_in_slices(
        context,
        request.transactional_ids,
        lambda name: states.append(_described(name, context)),
        lambda: context.reply({"transaction_states": states}),
    )


def _described(transactional_id: str, context: RequestContext) -> dict[str, object]:
    row: dict[str, object] = {"transactional_id": transactional_id}
    try:
        _TRANSACTIONAL_ID.ensure(context, transactional_id)
        record = context.broker.transactions.describe(transactional_id)
    except KafkaError as error:
        return {**row, "error_code": error.code}
    topics: dict[str, list[int]] = defaultdict(list)
    denied = _TOPIC.denied(context, (topic for topic, _ in record.partitions))
    for topic, partition in sorted(record.partitions):
        if topic in denied:
            continue
        topics[topic].append(partition)
    return {
        **row,
        "error_code": 0,
        "transaction_state": record.state.value,
        "transaction_timeout": record.timeout_ms,
        "transaction_start_time": record.started_at_ms,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "topics": [
            {"topic": topic, "partitions": partitions} for topic, partitions in topics.items()
        ],
    }


API = Api(key=65, name="DescribeTransactions", versions=range(1), handle=handle, looks=True)
