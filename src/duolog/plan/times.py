"""The timestamps of a source's records: their own, or computed from them.

Source: Kafka Streams `TimestampExtractor` and its implementations `FailOnInvalidTimestamp`,
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
    """The timestamp of a record; handling of invalid ones: null, negative, after the year 294246.

    If the value is null too, as in a deletion, a null `of` means the record's own timestamp.
    """

    of: Expression | None = None
    """BIGINT milliseconds or TIMESTAMP; None: the record's own timestamp."""
    invalid: Invalid | None = None
    """None: the same as for records that cannot be read."""

    def __post_init__(self) -> None:
        if self.invalid is not None and self.invalid not in INVALID:
            raise unknown_name("invalid_timestamp", self.invalid, INVALID)

    def __str__(self) -> str:
        invalid = f", invalid ones: {self.invalid}" if self.invalid else ""
        return f", timestamp {self.of}{invalid}" if self.of else invalid


OWN_TIMES: Final = SourceTimes()
