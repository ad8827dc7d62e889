"""The settings of groups of the new protocol, with units."""

from dataclasses import dataclass
from enum import Enum

from duolog.core.units import MINUTE_MS, SECOND_MS


class MigrationPolicy(Enum):
    """Which way a group with members may change its protocol, under Kafka's names."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)


@dataclass(frozen=True, slots=True)
class ConsumerGroupSettings:
    """Defaults are Kafka's."""

    session_timeout_ms: int = 45 * SECOND_MS
    heartbeat_interval_ms: int = 5 * SECOND_MS
    members_max: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    regex_refresh_interval_ms: int = 10 * MINUTE_MS
