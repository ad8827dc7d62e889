"""Compute when a broker aborts a transaction of results, and refuse look-ups that may take longer.

transaction    twice an epoch, and at least two minutes; on a cluster 15, since transactions of
               executors are committed after the decision that they count. Or the client setting
               transaction.timeout.ms
look-up        attempts times timeout, plus the pauses between attempts: an epoch, and its
               transaction, ends after its look-ups
"""

from typing import Final

from duolog.core.errors import ConfigError
from duolog.core.units import MINUTE_MS
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.settings import EngineConfig
from duolog.plan.cutting.python_calls import lookups_of
from duolog.plan.nodes import Plan

NAME: Final = "transaction.timeout.ms"
# How long an abandoned epoch may block readers of committed records, and how long an epoch may
# take.
_TIMEOUT_MS: Final = 2 * MINUTE_MS
# Executors' transactions are committed after the decision that they count. Brokers allow no more by
# default.
_TIMEOUT_OF_CLUSTERS_MS: Final = 15 * MINUTE_MS


def transaction_timeout_ms(config: EngineConfig) -> int:
    """Return the time after which a broker aborts a transaction of results.

    Raises:
        ConfigError: the client setting is not a number.
    """
    given = config.client_options.get(NAME)
    if given is None:
        least_ms = _TIMEOUT_MS if is_one_jvm(config.master) else _TIMEOUT_OF_CLUSTERS_MS
        return max(least_ms, 2 * config.epoch_ms)
    if not given.isdecimal():
        raise ConfigError(f"{NAME}={given} is not a number of milliseconds", name=NAME, value=given)
    return int(given)


def ensure_lookups_end_in_time(plan: Plan, config: EngineConfig) -> None:
    """Check that no look-up may outlast the transaction that waits for it.

    The broker would abort the transaction, and the epoch would be computed again, with the same
    look-ups.

    Raises:
        ConfigError: a look-up may, and results are written exactly once.
    """
    if not config.exactly_once:
        return
    timeout_ms = transaction_timeout_ms(config)
    for node, function, lookups in lookups_of(plan):
        tries = lookups.retries + 1
        lasts_ms = lookups.tries_ms
        if lasts_ms >= timeout_ms:
            place = plan.places.get(node.name, "")
            at = f"{node} at {place}" if place else f"{node}"
            raise ConfigError(
                f"look-up {function.called} of {at} may take {lasts_ms} ms, and a transaction of "
                f"results {timeout_ms} ms",
                name=NAME,
                value=timeout_ms,
                detail=f"It is tried {_times(tries)}, each time for {lookups.timeout_ms} ms, with "
                f"pauses that start at {lookups.pause_ms} ms. An epoch ends after its look-ups; "
                "the broker aborts a transaction that lasts longer, and the epoch is computed "
                "again.",
                hint="Give map_async a shorter timeout, a shorter backoff or fewer retries; or "
                "raise epoch.ms, since a transaction may last for two epochs; or use "
                "processing.guarantee=at_least_once.",
            )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
