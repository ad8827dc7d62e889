"""The largest value that one function call may create.

Without a limit, one record with a large argument could exhaust the memory of a process and end all
of its queries. A call that exceeds a limit fails, so it is null. The kernel's `Limits` has the same
limits.
"""

from typing import Final

LENGTH_MAX: Final = 16 << 20
"""Characters of a text, or bytes."""

ELEMENTS_MAX: Final = 1 << 20
"""Elements of an array, or entries of a map."""

PATTERN_LENGTH_MAX: Final = 10_000
"""Characters of a regular expression."""
