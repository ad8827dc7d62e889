"""Fence an application's earlier writers, and wait until all of its open transactions have ended.

A commit is acknowledged once it is decided. The broker then writes a marker to each partition, and
may be unavailable just then. Until the marker is written, readers of committed records see the
partition end before the transaction. Reading earlier would miss committed records.

Source: KIP-98, and Kafka's TransactionMarkerChannelManager; InitProducerId waits until the previous
transaction has ended.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka import KafkaException, Producer

from duolog.core.units import MINUTE_MS
from duolog.engine.client_options import client_options
from duolog.engine.errors import BrokerUnreachable, FailureKind, QueryFailed
from duolog.engine.exactly_once.epochs import transactional_id
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.settings import EngineConfig

logger: Final = logging.getLogger(__name__)

_LOOK_S: Final = 0.5
_FENCES_WITHIN_S: Final = 60.0
_ENDS_WITHIN_S: Final = 60.0
# No client ends the transactions of executors that were lost with the checkpoint; the broker does,
# by transaction.timeout.ms.
_OF_CLUSTERS_END_WITHIN_S: Final = 16 * MINUTE_MS / 1000
_SHOWN_MAX: Final = 5


def fence(config: EngineConfig, name: str, application_id: str) -> None:
    """Fence every writer with this transaction name, and wait until its last transaction has ended.

    Raises:
        BrokerUnreachable: no broker answers, or one that the transaction wrote to does not.
    """
    options = client_options(config)
    try:
        Producer({**options, "transactional.id": transactional_id(name)}).init_transactions(
            _FENCES_WITHIN_S
        )
    except KafkaException as error:
        raise BrokerUnreachable(
            f'the last transaction of application "{application_id}" has not ended',
            query_id=application_id,
            detail=f"{error.args[0] if error.args else error}.",
            hint="A broker that leads a partition of its topics may be down: see its log. Start "
            "the application again once the broker is back; nothing was changed.",
        ) from error


def ends_within_s(config: EngineConfig) -> float:
    """Return how long abandoned transactions may stay open."""
    return _ENDS_WITHIN_S if is_one_jvm(config.master) else _OF_CLUSTERS_END_WITHIN_S


def ensure_ended(
    open_partitions: Callable[[], Sequence[str]],
    application_id: str,
    within_s: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until no transaction is open in these partitions, for at most `within_s` seconds.

    Raises:
        QueryFailed: a transaction is still open.
        BrokerUnreachable, SourceTopicMissing: as `open_partitions`.
    """
    deadline = clock() + within_s
    is_told = False
    while found := open_partitions():
        names = ", ".join(found[:_SHOWN_MAX]) + (" …" if len(found) > _SHOWN_MAX else "")
        if clock() >= deadline:
            raise QueryFailed(
                f'a transaction of application "{application_id}" has not ended in {within_s:.0f} '
                "s",
                query_id=application_id,
                detail=f"It is open in {names}: records committed after its start cannot be read "
                "yet.",
                hint="Start it again later: the broker aborts abandoned transactions after "
                "transaction.timeout.ms.",
                kind=FailureKind(may_pass=True),
            )
        if not is_told:
            logger.warning("waiting for a transaction to end in %s", names)
            is_told = True
        sleep(_LOOK_S)
