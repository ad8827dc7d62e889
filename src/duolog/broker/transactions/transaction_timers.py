"""The timers of transactions: those that take too long are aborted, unused ids are removed."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from duolog.broker.transactions.transaction_log import ignore
from duolog.core.errors import DuologError
from duolog.core.units import SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timer
    from duolog.broker.transactions.needs import Broker
    from duolog.broker.transactions.transaction_log import TransactionLog
    from duolog.coordinator.transactions.coordinator import TransactionCoordinator
    from duolog.coordinator.transactions.records import TransactionChange

logger = logging.getLogger(__name__)

_IDS_A_STEP: Final = 200


class TransactionTimers:
    """Aborts what takes too long, and removes ids that are not used, as time passes."""

    def __init__(
        self, broker: "Broker", coordinator: "TransactionCoordinator", log: "TransactionLog"
    ) -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._log = log
        self._timers: dict[str, Timer] = {}
        self._stopped = False

    def start(self) -> None:
        """Look for both from now on, as often as the settings say."""
        self._plan(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms", self._abort_timed_out
        )
        self._plan("transaction.remove.expired.transaction.cleanup.interval.ms", self._expire_ids)

    def stop(self) -> None:
        """Plan nothing any more."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()

    def _plan(self, setting: str, work: Callable[[], None]) -> None:
        """Call `work` again and again, as often as the setting says."""

        def due() -> None:
            self._plan(setting, work)
            if self._broker.rounds.failure is None:
                work()

        if not self._stopped:
            interval_s = self._broker.settings.integer(setting) / SECOND_MS
            self._timers[setting] = self._broker.timers.call_later(interval_s, due)

    def _abort_timed_out(self) -> None:
        found = self._coordinator.timed_out(self._log.monotonic_ms())
        self._broker.slices.run(self._abort_each(found))

    def _abort_each(self, transactional_ids: list[str]) -> Iterator[None]:
        for transactional_id in transactional_ids:
            now_ms = self._broker.clock.now_ms()
            # It may have ended since it was found.
            if self._coordinator.is_timed_out(transactional_id, self._log.monotonic_ms()):
                logger.info(
                    "aborting a transaction that takes too long",
                    extra={"transactional_id": transactional_id},
                )
                try:
                    self._log.append(self._coordinator.abort(transactional_id, now_ms), ignore)
                except (DuologError, OSError):
                    logger.exception(
                        "a transaction was not aborted",
                        extra={"transactional_id": transactional_id},
                    )
            yield

    def _expire_ids(self) -> None:
        self._broker.slices.run(self._bury(list(self._coordinator.records())))

    def _bury(self, transactional_ids: list[str]) -> Iterator[None]:
        for start in range(0, len(transactional_ids), _IDS_A_STEP):
            now_ms = self._broker.clock.now_ms()
            some = transactional_ids[start : start + _IDS_A_STEP]
            tombstones: dict[int, list[TransactionChange]] = defaultdict(list)
            for change in self._coordinator.expired(some, now_ms):
                tombstones[self._log.partition_of(change.transactional_id)].append(change)
            for partition, changes in tombstones.items():
                if self._broker.rounds.failure is not None:
                    return
                self._log.append_tombstones(partition, changes, now_ms)
            yield
