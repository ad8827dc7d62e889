"""The timestamps of a source's records: their own, or computed of them.

Source: Kafka Streams `TimestampExtractor`, and those that it has: `FailOnInvalidTimestamp`,
`LogAndSkipOnInvalidTimestamp`, `UsePartitionTimeOnInvalidTimestamp`, `WallclockTimestampExtractor`.
"""

from dataclasses import dataclass
from typing import Final, get_args
from typing import Literal as OneOf

from duolog.plan.errors import unknown_name
from duolog.plan.expressions import Expression

Invalid = OneOf["fail", "skip", "partition_time"]
INVALID: Final[tuple[str, ...]] = get_args(Invalid)


@dataclass(frozen=True, slots=True)
class SourceTimes:
    """Which timestamp a record has, and what becomes of one that has none: null, below 0, or behind the year 294246.

    Where the value is null too, as of a deletion, `of` null means the record's own.
    """

    of: Expression | None = None
    """BIGINT milliseconds or TIMESTAMP; None: the record's own."""
    invalid: Invalid | None = None
    """None: what is done with all records that cannot be read."""

    def __post_init__(self) -> None:
        if self.invalid is not None and self.invalid not in INVALID:
            raise unknown_name("invalid_timestamp", self.invalid, INVALID)

    def __str__(self) -> str:
        invalid = f", invalid ones: {self.invalid}" if self.invalid else ""
        return f", timestamp {self.of}{invalid}" if self.of else invalid


OWN_TIMES: Final = SourceTimes()
