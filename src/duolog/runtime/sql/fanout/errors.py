"""Errors that end a push query, or refuse to continue one."""

import logging
from typing import Final

from duolog.core.counts import counted
from duolog.core.errors import DuologError, KafkaError, QueryError
from duolog.ksql.errors import SqlError

logger: Final = logging.getLogger(__name__)

OFFSET_OUT_OF_RANGE: Final = 1
UNKNOWN_TOPIC_ID: Final = 100


class ClientTooSlow(QueryError):
    """The client of a push query did not read its rows in time."""

    @classmethod
    def full(cls, rows: int, size: int) -> "ClientTooSlow":
        """Return the error for a full buffer of `rows` rows and about `size` bytes."""
        return cls(
            f"the client read too slowly: {counted(rows, 'row')} waited",
            detail=f"They take about {size:,} bytes.",
            hint="Read faster, select fewer rows, or continue with the continuation token.",
        )

    @classmethod
    def idle(cls, rows: int, seconds: float) -> "ClientTooSlow":
        """Return the error for a client that has read nothing for a time."""
        return cls(
            f"the client read too slowly: {counted(rows, 'row')} waited",
            detail=f"It read nothing for {seconds:.0f} s.",
            hint="Continue with the continuation token.",
        )


class ReadersClosed(QueryError):
    """The SQL engine stops, and with it its push queries."""

    def __init__(self) -> None:
        super().__init__(
            "the push query was ended: the SQL engine stops",
            hint="Continue with the continuation token after a restart.",
        )


class EvaluationTooSlow(SqlError):
    """The evaluation of a push query would delay the other queries over its topic."""


class TooManyRows(SqlError):
    """A push query makes more rows of one batch of records than fit into memory."""

    def __init__(self, rows_max: int) -> None:
        super().__init__(
            f"the query makes more than {rows_max:,} rows of one batch of records",
            hint="Use a persistent query, and select from its result.",
        )


class TokenRefused(SqlError):
    """A continuation token that does not belong to the query, or to records that exist."""


class TopicReplaced(KafkaError):
    """A topic was deleted and created again under the same name while a push query has read it."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f'topic "{topic}" was deleted and created again',
            code=UNKNOWN_TOPIC_ID,
            detail="Its records are others than those that the query has read.",
            hint="Start the query again without a continuation token.",
        )


class RecordsDeleted(KafkaError):
    """Records were deleted before a push query has read them."""

    def __init__(self, topic: str, partition: int, position: int, first: int) -> None:
        super().__init__(
            f'records of topic "{topic}" were deleted before they were read',
            code=OFFSET_OUT_OF_RANGE,
            detail=f"Partition {partition}: offsets {position} to {first - 1} are gone.",
            hint="Start the query again without a continuation token, or increase retention.ms.",
        )


def error_of_query(error: Exception) -> DuologError:
    """Return the error that ends a query; log an error that is not expected."""
    if isinstance(error, DuologError):
        return error
    logger.error("a push query cannot be evaluated", exc_info=error)
    return QueryError(
        "the push query cannot be evaluated", detail=f"{type(error).__name__}: {error}."
    )
