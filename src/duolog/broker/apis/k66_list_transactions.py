"""ListTransactions, API key 66, versions 0-2.

Behaviour: lists what passes every filter that is given. States that do not exist are named in the
answer. An expression that cannot be read is INVALID_REGULAR_EXPRESSION.

v0  states, producer ids
v1  transactions that run for longer than a number of milliseconds
v2  an expression that the whole transactional id must match, in RE2's syntax

Source: Kafka `TransactionStateManager.listTransactionStates`; KIP-664, KIP-994, KIP-1152.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from duolog.broker.apis.context import RequestContext
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import work_in_slices
from duolog.coordinator.transactions.records import TransactionRecord
from duolog.coordinator.transactions.states import TransactionState
from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.list_transactions.v0.request import ListTransactionsRequest as Oldest
    from kio.schema.list_transactions.v2.request import ListTransactionsRequest as Newest

_NAMES = frozenset(state.value for state in TransactionState) | {"Dead", "PrepareEpochFence"}


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    unknown = [name for name in request.state_filters if name not in _NAMES]
    try:
        matches = _matcher(getattr(request, "transactional_id_pattern", None))
        records = context.broker.transactions.records()
    except KafkaError as error:
        context.reply({"error_code": error.code})
        return
    passes = _filter(request, context.broker.clock.now_ms())
    rows: list[bytes] = []

    def add(item: tuple[str, TransactionRecord]) -> None:
        transactional_id, record = item
        if passes(record) and matches(transactional_id):
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


def _matcher(pattern: str | None) -> Callable[[str], object]:
    if not pattern:
        return lambda _: True
    import re2  # noqa: PLC0415  Few ask, and it takes a moment to load.

    options = re2.Options()
    options.log_errors = False
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        raise KafkaError(
            f'expression "{pattern}" cannot be read', code=ErrorCode.INVALID_REGULAR_EXPRESSION
        ) from error
    found: Callable[[str], object] = expression.fullmatch
    return found


API = Api(key=66, name="ListTransactions", versions=range(3), handle=handle, looks=True)
