"""How long the buckets are that rows lie in by time, where these go when their time has passed."""

from typing import Final

from duolog.core.units import SECOND_MS

_BUCKETS_PER_SPAN: Final = 16


def bucket_ms(span_ms: int) -> int:
    """Return how long a bucket is of rows that are kept for a span; the same for spans much alike.

    A handful of them holds all rows. The checkpoint is bound to it, and not to the span.

    Example:
        >>> bucket_ms(24 * 3_600_000), bucket_ms(20 * 3_600_000), bucket_ms(5)
        (4194304, 4194304, 512)
    """
    return 1 << (max(SECOND_MS, span_ms // _BUCKETS_PER_SPAN).bit_length() - 1)
