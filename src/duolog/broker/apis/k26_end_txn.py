"""EndTxn, API key 26, versions 0-5.

Behaviour: commits or aborts the producer's transaction, and is answered when the markers are on
the disk. From version 5 on every end gives the producer a new epoch, or a new id when its epochs
are used up; the answer names both, also to a retry. `coordinator/transactions/transitions.py` has
the table of what is answered in which state.

v2  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH       v3  flexible
v4  TRANSACTION_ABORTABLE is known to the client            v5  producer id and epoch (KIP-890)

Source: Kafka `TransactionCoordinator.endTransaction`.
"""

from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.requests.api import Api
from duolog.broker.transactions.fencing import producer_fields
from duolog.coordinator.transactions.coordinator import NO_ONE, Answer
from duolog.coordinator.transactions.transitions import Producer

if TYPE_CHECKING:
    from kio.schema.end_txn.v0.request import EndTxnRequest as Oldest
    from kio.schema.end_txn.v5.request import EndTxnRequest as Newest

(_TRANSACTIONAL_ID,) = checks_of(26)
_FIRST_FENCED: Final = 2
_FIRST_BUMPING: Final = 5


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    def answer(found: Answer) -> None:
        context.reply(producer_fields(found, context, _FIRST_FENCED))

    if not _TRANSACTIONAL_ID.allows(context, request.transactional_id):
        answer(Answer(_TRANSACTIONAL_ID.code, NO_ONE))
        return
    context.broker.transactions.end(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        answer,
        commit=request.committed,
        bumping=context.version >= _FIRST_BUMPING,
    )


API = Api(key=26, name="EndTxn", versions=range(6), handle=handle)
