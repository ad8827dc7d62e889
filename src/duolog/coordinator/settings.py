"""The settings of the group coordinator, with units."""

from dataclasses import dataclass, field
from enum import Enum

from duolog.core.units import DAY_MS, MINUTE_MS, SECOND_MS


class MigrationPolicy(Enum):
    """The allowed protocol migrations of a group with members, under Kafka's names."""

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
    """Those of groups of the new protocol; defaults are Kafka's."""

    session_timeout_ms: int = 45 * SECOND_MS
    heartbeat_interval_ms: int = 5 * SECOND_MS
    members_max: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    regex_refresh_interval_ms: int = 10 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Defaults are Kafka's, but for the delay of the first rebalance, which is 0 here."""

    initial_rebalance_delay_ms: int = 0
    session_timeout_min_ms: int = 6 * SECOND_MS
    session_timeout_max_ms: int = 30 * MINUTE_MS
    new_member_join_timeout_ms: int = 5 * MINUTE_MS
    members_max: int = 2**31 - 1
    offset_metadata_bytes_max: int = 4096
    offsets_retention_ms: int = 7 * DAY_MS
    consumer: ConsumerGroupSettings = field(default_factory=ConsumerGroupSettings)
