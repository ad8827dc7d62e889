"""Constants for sizes in bytes, durations in milliseconds, and bounds of integers."""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
