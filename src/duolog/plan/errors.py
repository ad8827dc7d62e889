"""Errors of plans that cannot be built, and their common wording."""

from collections.abc import Iterable
from difflib import get_close_matches

from duolog.core.errors import StatementError


class UnknownName(StatementError):
    """A column, function, type or format that does not exist."""


class TypeMismatch(StatementError):
    """A value of one type where another type is needed."""


class InvalidPlan(StatementError):
    """Nodes that do not fit together."""


def unknown_name(kind: str, name: str, known: Iterable[str], detail: str = "") -> UnknownName:
    """Return the error for a `name` that is not one of `known`; the hint names the nearest.

    Example:
        >>> print(unknown_name("column", "carier", ["carrier", "dest"]))
        unknown column "carier"
        detail: The known names are carrier, dest.
        hint: Did you mean "carrier"?
    """
    names = list(known)
    lowered = {known_name.lower(): known_name for known_name in reversed(names)}
    nearest = get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    return UnknownName(
        f'unknown {kind} "{name}"',
        detail=detail or (f"The known names are {', '.join(names)}." if names else ""),
        hint=f'Did you mean "{lowered[nearest[0]]}"?' if nearest else "",
    )
