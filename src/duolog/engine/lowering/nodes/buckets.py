"""The length of the buckets that rows with a lifetime are stored in."""

from typing import Final

from duolog.core.units import SECOND_MS

_BUCKETS_PER_SPAN: Final = 16


def bucket_ms(span_ms: int) -> int:
    """Return the bucket length for rows that are kept for a span; similar spans share a length.

    A handful of buckets holds all rows. The checkpoint is bound to this length, and not to the
    span.

    Example:
        >>> bucket_ms(24 * 3_600_000), bucket_ms(20 * 3_600_000), bucket_ms(5)
        (4194304, 4194304, 512)
    """
    return 1 << (max(SECOND_MS, span_ms // _BUCKETS_PER_SPAN).bit_length() - 1)
