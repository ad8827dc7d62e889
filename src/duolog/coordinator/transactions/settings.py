"""The settings of the transaction coordinator, with units."""

from dataclasses import dataclass

from duolog.core.units import DAY_MS, MINUTE_MS


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Defaults are Kafka's."""

    timeout_ms_max: int = 15 * MINUTE_MS
    id_expiration_ms: int = 7 * DAY_MS
