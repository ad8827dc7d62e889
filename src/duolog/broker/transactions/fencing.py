"""Map the coordinator's errors to those of older versions of the transaction APIs."""

from duolog.broker.requests.api import RequestContext
from duolog.broker.transactions.needs import Broker
from duolog.coordinator.transactions.coordinator import Answer
from duolog.protocol.error_codes import ErrorCode


def fenced_by_version(code: int, context: RequestContext[Broker], first_fenced: int) -> int:
    """Return the code, with INVALID_PRODUCER_EPOCH for what older clients do not know (KIP-588)."""
    if code == ErrorCode.PRODUCER_FENCED and context.version < first_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def producer_fields(
    found: Answer, context: RequestContext[Broker], first_fenced: int
) -> dict[str, int]:
    """Return what an answer says of a producer."""
    return {
        "error_code": fenced_by_version(found.error_code, context, first_fenced),
        "producer_id": found.producer.producer_id,
        "producer_epoch": found.producer.epoch,
    }
