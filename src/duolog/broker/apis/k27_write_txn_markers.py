"""WriteTxnMarkers, API key 27, versions 1-2.

Behaviour: appends the marker that ends a producer's transaction to each partition, and answers
when all of them are on the disk. Here the coordinator needs no request for that; an admin's
`abortTransaction` sends it, for a transaction that hangs. Each partition has its own error:

    there is no such partition                     UNKNOWN_TOPIC_OR_PARTITION
    the producer has written in a newer epoch      INVALID_PRODUCER_EPOCH
    a newer coordinator has ended a transaction    TRANSACTION_COORDINATOR_FENCED
    v2, transaction version 2: the epoch of an open transaction must be below the marker's

v1  flexible       v2  transaction version (KIP-1228)

Source: Kafka `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.table import checks_of
from duolog.broker.errors import kafka_code
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import do_nothing, work_in_slices
from duolog.broker.transactions.markers import EndedTransaction, append_marker
from duolog.core.errors import DuologError, KafkaError
from duolog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kio.schema.write_txn_markers.v1.request import WritableTxnMarker as OldestMarker
    from kio.schema.write_txn_markers.v1.request import WriteTxnMarkersRequest as Oldest
    from kio.schema.write_txn_markers.v2.request import WritableTxnMarker as NewestMarker
    from kio.schema.write_txn_markers.v2.request import WriteTxnMarkersRequest as Newest

(_CLUSTER,) = checks_of(27)
_BUMPS_EPOCH: Final = 2
"""The first transaction version whose markers have a new epoch."""

_Results = dict[int, dict[str, dict[int, int]]]
"""Error by producer id, topic and partition."""


class _Markers:
    """The markers of one request on their way to the disk."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._results: _Results = {}
        self._waiting = 1

    def append(self, marker: "OldestMarker | NewestMarker", topic: str, partition: int) -> None:
        results = self._results.setdefault(marker.producer_id, {}).setdefault(topic, {})
        results[partition] = ErrorCode.NONE
        ended = EndedTransaction(
            marker.producer_id,
            marker.producer_epoch,
            marker.transaction_result,
            marker.coordinator_epoch,
        )

        def on_durable(error: Exception | None) -> None:
            if error is not None:
                results[partition] = kafka_code(error)[0]
            self.done()

        try:
            self._check_epoch(marker, topic, partition)
            append_marker(self._context.broker, topic, partition, ended, on_durable)
        except (DuologError, OSError) as error:
            results[partition] = kafka_code(error)[0]
        else:
            self._waiting += 1

    def _check_epoch(
        self, marker: "OldestMarker | NewestMarker", topic: str, partition: int
    ) -> None:
        if getattr(marker, "transaction_version", 0) < _BUMPS_EPOCH:
            return
        for transaction in self._context.broker.log(topic, partition).open_transactions():
            if (
                transaction.producer_id == marker.producer_id
                and transaction.producer_epoch >= marker.producer_epoch
            ):
                raise KafkaError(
                    f"marker of producer {marker.producer_id} has the epoch of its transaction",
                    code=ErrorCode.INVALID_PRODUCER_EPOCH,
                )

    def done(self) -> None:
        """Answer when this was the last that was waited for."""
        self._waiting -= 1
        if not self._waiting:
            told: list[Mapping[str, object]] = []
            work_in_slices(
                self._context,
                self._encode(told),
                do_nothing,
                lambda: self._context.reply({"markers": told}),
            )

    def _encode(self, told: list[Mapping[str, object]]) -> Iterator[None]:
        encode = self._context.encode_item
        for producer_id, topics in self._results.items():
            rows = []
            for topic, partitions in topics.items():
                codes = []
                for index, code in partitions.items():
                    row = {"partition_index": index, "error_code": code}
                    codes.append(encode("markers.topics.partitions", row))
                    yield
                rows.append({"name": topic, "partitions": codes})
            told.append({"producer_id": producer_id, "topics": rows})


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    _CLUSTER.ensure(context)
    markers = _Markers(context)
    asked = (
        (marker, topic.name, partition)
        for marker in request.markers
        for topic in marker.topics
        for partition in topic.partition_indexes
    )
    work_in_slices(context, asked, lambda one: markers.append(*one), markers.done)


API = Api(key=27, name="WriteTxnMarkers", versions=range(1, 3), handle=handle, exempt=True)
