"""InitProducerId, API key 22, versions 0-5.

Behaviour: an idempotent producer gets an id that nobody has had, with epoch 0, each time it
asks. Ids are reserved in blocks on the disk, so a crash never gives one twice.

A transactional id gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED: transactions are not served yet,
and this is the one answer that every client takes as final and shows (Java and librdkafka try
most other errors again until their timeout). An empty transactional id is INVALID_REQUEST.

v2  flexible       v3 producer id and epoch to go on with (KIP-360), for transactions only
v4  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH

Source: Kafka `TransactionCoordinator.handleInitProducerId`, `RPCProducerIdManager`.
"""

from typing import Any

from duolog.broker.api import Api, RequestContext
from duolog.protocol.error_codes import ErrorCode

_NO_PRODUCER = -1
_NO_EPOCH = -1


def handle(request: Any, context: RequestContext) -> None:
    code = _refusal(request)
    if code == ErrorCode.NONE:
        context.reply({"producer_id": context.broker.producer_ids.take(), "producer_epoch": 0})
        return
    context.reply({"error_code": code, "producer_id": _NO_PRODUCER, "producer_epoch": _NO_EPOCH})


def _refusal(request: Any) -> ErrorCode:
    if request.transactional_id is not None:
        if not request.transactional_id:
            return ErrorCode.INVALID_REQUEST
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    # Without transactions both of these mean nothing, but there must be both or none.
    producer_id = getattr(request, "producer_id", _NO_PRODUCER)
    epoch = getattr(request, "producer_epoch", _NO_EPOCH)
    if (producer_id == _NO_PRODUCER) != (epoch == _NO_EPOCH):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


API = Api(key=22, name="InitProducerId", versions=range(6), handle=handle)
