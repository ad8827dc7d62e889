"""Hints for files that the system refuses to write, by the error text of Python or the JVM."""

from typing import Final

AGAIN: Final = "then start again: nothing is lost, the query continues after its last commit."
FILE_HINTS: Final = (
    ("AccessDeniedException", f"Allow this user to write there, {AGAIN}"),
    ("Permission denied", f"Allow this user to write there, {AGAIN}"),
    ("Operation not permitted", f"Allow this user to write there, {AGAIN}"),
    ("Read-only file system", f"Mount the file system for writing, {AGAIN}"),
    ("No space left on device", f"Free space there, {AGAIN}"),
    ("Disk quota exceeded", f"Raise the quota, or free space in it, {AGAIN}"),
    ("Input/output error", f"Check the disk, {AGAIN}"),
)
"""Pairs of a substring of the reason and the hint."""
_OTHER: Final = "Allow this user to write there, free space, or use another data directory."


def file_hint(reason: str) -> str:
    """Return the hint for a reason such as `No space left on device`."""
    return next((hint for part, hint in FILE_HINTS if part in reason), _OTHER)
