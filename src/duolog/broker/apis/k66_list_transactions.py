"""ListTransactions, API key 66, versions 0-2.

Behaviour: lists what passes every filter that is given. States that do not exist are named in the
answer. An expression that is invalid or takes too long is INVALID_REGULAR_EXPRESSION; it is matched
in a helper process.

v0  states, producer ids
v1  transactions that run for longer than a number of milliseconds
v2  an expression that the whole transactional id must match, in RE2's syntax

Source: Kafka `TransactionStateManager.listTransactionStates`; KIP-664, KIP-994, KIP-1152.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.expressions.expressions import InvalidExpression
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.coordinator.transactions.records import TEXT_BYTES_MAX, TransactionRecord
from duolog.coordinator.transactions.states import TransactionState
from duolog.core.errors import KafkaError

if TYPE_CHECKING:
    from kio.schema.list_transactions.v0.request import ListTransactionsRequest as Oldest
    from kio.schema.list_transactions.v2.request import ListTransactionsRequest as Newest

(_TRANSACTIONAL_ID,) = checks_of(66)
_NAMES = frozenset(state.value for state in TransactionState) | {"Dead", "PrepareEpochFence"}


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    pattern = getattr(request, "transactional_id_pattern", None) or ""

    def done(found: frozenset[str] | None, error: Exception | None) -> None:
        if error is None:
            _list(request, context, records, found)
        elif isinstance(error, KafkaError):
            context.reply({"error_code": error.code})
        else:
            context.broker.refuse(context, error)

    records: Mapping[str, TransactionRecord] = {}
    try:
        records = context.broker.transactions.records()
    except KafkaError as error:
        done(None, error)
        return
    if len(pattern.encode()) > TEXT_BYTES_MAX:
        done(None, InvalidExpression("it is too long"))
    elif pattern:
        context.broker.expressions.match(pattern, list(records), done)
    else:
        done(None, None)


def _list(
    request: "Oldest | Newest",
    context: RequestContext,
    records: Mapping[str, TransactionRecord],
    found: frozenset[str] | None,
) -> None:
    """Answer with the transactions that pass; `found` are the ids that match, or None for all."""
    unknown = [name for name in request.state_filters if name not in _NAMES]
    passes = _filter(request, context.broker.clock.now_ms())
    rows: list[bytes] = []

    def add(item: tuple[str, TransactionRecord]) -> None:
        transactional_id, record = item
        if (
            passes(record)
            and (found is None or transactional_id in found)
            and _TRANSACTIONAL_ID.allows(context, transactional_id)
        ):
            row = {
                "transactional_id": transactional_id,
                "producer_id": record.producer_id,
                "transaction_state": record.state.value,
            }
            rows.append(context.encode_item("transaction_states", row))

    def finish() -> None:
        context.reply({"unknown_state_filters": unknown, "transaction_states": rows})

    work_in_slices(context, records.items(), add, finish)


def _filter(request: "Oldest | Newest", now_ms: int) -> Callable[[TransactionRecord], bool]:
    states, producer_ids = set(request.state_filters), set(request.producer_id_filters)
    duration_ms = getattr(request, "duration_filter", -1)

    def passes(record: TransactionRecord) -> bool:
        return (
            (not states or record.state.value in states)
            and (not producer_ids or record.producer_id in producer_ids)
            and (duration_ms < 0 or now_ms - record.started_at_ms > duration_ms)
        )

    return passes


API = Api(key=66, name="ListTransactions", versions=range(3), handle=handle, looks=True)
