"""Texts that look like dates, times and UUIDs."""

import datetime as dt
import re
import uuid
from collections.abc import Callable
from typing import Final

from duolog.schemas.classes.shapes import Scalar

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIME: Final = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")
_DATETIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_FORMS: Final[tuple[tuple[Scalar, re.Pattern[str], Callable[[str], object]], ...]] = (
    (Scalar.DATE, _DATE, dt.date.fromisoformat),
    (Scalar.TIME, _TIME, dt.time.fromisoformat),
    (Scalar.DATETIME, _DATETIME, dt.datetime.fromisoformat),
    (Scalar.UUID, _UUID, uuid.UUID),
)


def look_of(text: str) -> Scalar | None:
    """Return the type that a text looks like; None for any other text.

    Example:
        >>> look_of("2024-02-29"), look_of("2023-02-29"), look_of("x")
        (<Scalar.DATE: 'date'>, None, None)
    """
    for kind, pattern, read in _FORMS:
        if pattern.fullmatch(text):
            try:
                read(text)
            except ValueError:
                return None
            return kind
    return None
