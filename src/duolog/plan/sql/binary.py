"""Functions that read numbers from bytes."""

from typing import Final

from duolog.plan.sql.signatures import SqlFunction, function

_FAMILY: Final = "BYTES"


def _number(of: str, length: int) -> SqlFunction:
    return function(
        f"{of}_FROM_BYTES",
        _FAMILY,
        f"Returns the {of} in {length} bytes, BIG_ENDIAN by default, or LITTLE_ENDIAN.",
        f"{of} (value BYTES)",
        f"{of} (value BYTES, byteOrder STRING)",
    )


BYTES_FUNCTIONS: Final = (_number("INT", 4), _number("BIGINT", 8), _number("DOUBLE", 8))
