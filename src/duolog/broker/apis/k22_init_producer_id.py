"""InitProducerId, API key 22, versions 0-5.

Behaviour: an idempotent producer gets a new id, with epoch 0, for each request. Ids are reserved in
blocks on disk, so that no id is given twice after a crash.

A transactional id keeps its producer id and gets the next epoch, which fences the previous
producer. An open transaction is aborted first: the client gets CONCURRENT_TRANSACTIONS and retries.
The errors are INVALID_REQUEST for an empty transactional id, and INVALID_TRANSACTION_TIMEOUT for a
timeout that is not positive or exceeds transaction.max.timeout.ms.

v2  flexible       v3 producer id and epoch of a producer that continues after an error (KIP-360)
v4  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
v5  the client knows TRANSACTION_ABORTABLE

Source: Kafka `TransactionCoordinator.handleInitProducerId`, `RPCProducerIdManager`.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import Check
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.transactions.fencing import producer_fields
from duolog.coordinator.transactions.coordinator import NO_ONE, Answer
from duolog.coordinator.transactions.transitions import Producer
from duolog.core.units import SECOND_MS
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.init_producer_id.v0.request import InitProducerIdRequest as Oldest
    from kio.schema.init_producer_id.v5.request import InitProducerIdRequest as Newest

_TRANSACTIONAL_ID, _IDEMPOTENT = checks_of(22)
_FIRST_FENCED: Final = 4


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    def answer(found: Answer) -> None:
        context.reply(producer_fields(found, context, _FIRST_FENCED))

    denied = _denied(request.transactional_id, context)
    if denied is not None:
        answer(Answer(denied.code, NO_ONE))
        return
    producer = Producer(getattr(request, "producer_id", -1), getattr(request, "producer_epoch", -1))
    if (producer.producer_id == -1) != (producer.epoch == -1):
        answer(Answer(ErrorCode.INVALID_REQUEST, NO_ONE))
    elif request.transactional_id is None:
        # Without transactions what the producer had means nothing.
        answer(Answer(ErrorCode.NONE, Producer(context.broker.producer_ids.take(), 0)))
    else:
        context.broker.transactions.initialize(
            request.transactional_id,
            round(request.transaction_timeout.total_seconds() * SECOND_MS),
            None if producer == NO_ONE else producer,
            answer,
        )


def _denied(transactional_id: str | None, context: RequestContext) -> Check | None:
    """Return the right that the client has not, if any."""
    if transactional_id is None:
        return None if _IDEMPOTENT.allows(context) else _IDEMPOTENT
    return None if _TRANSACTIONAL_ID.allows(context, transactional_id) else _TRANSACTIONAL_ID


API = Api(key=22, name="InitProducerId", versions=range(6), handle=handle)
