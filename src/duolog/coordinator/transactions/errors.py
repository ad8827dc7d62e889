"""Errors of the transaction coordinator, with Kafka's error codes.

Source: Kafka `org.apache.kafka.common.protocol.Errors`.
"""

from typing import ClassVar

from duolog.core.errors import KafkaError
from duolog.protocol.error_codes import ErrorCode


class TransactionError(KafkaError):
    """A request that a transaction refuses; the code is the class's own."""

    CODE: ClassVar[ErrorCode]
    RETRIABLE: ClassVar[bool] = False

    def __init__(self, message: str) -> None:
        super().__init__(message, code=self.CODE, retriable=self.RETRIABLE)


class TransactionsLoadInProgress(TransactionError):
    """The state is still being replayed from `__transaction_state`."""

    CODE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    RETRIABLE = True


class TransactionsNotHere(TransactionError):
    """This coordinator cannot write any more."""

    CODE = ErrorCode.NOT_COORDINATOR
    RETRIABLE = True


class InvalidTransactionRequest(TransactionError):
    """The transactional id is empty, or too long for a record."""

    CODE = ErrorCode.INVALID_REQUEST


class InvalidTransactionState(TransactionError):
    """The transaction is not in a state for this request."""

    CODE = ErrorCode.INVALID_TXN_STATE


class InvalidProducerIdMapping(TransactionError):
    """The transactional id is not known, or another producer id has it."""

    CODE = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class InvalidTransactionTimeout(TransactionError):
    """The timeout is not above 0, or longer than the broker allows."""

    CODE = ErrorCode.INVALID_TRANSACTION_TIMEOUT


class ConcurrentTransactions(TransactionError):
    """The last transaction of this transactional id is not complete yet."""

    CODE = ErrorCode.CONCURRENT_TRANSACTIONS
    RETRIABLE = True


class ProducerFenced(TransactionError):
    """A newer producer has the transactional id, or the transaction took too long."""

    CODE = ErrorCode.PRODUCER_FENCED


class TransactionalIdNotFound(TransactionError):
    """There is no such transactional id."""

    CODE = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


class NotInTransaction(TransactionError):
    """The partition is not part of the transaction; the client can only abort it."""

    CODE = ErrorCode.TRANSACTION_ABORTABLE
