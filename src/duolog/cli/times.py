"""Points in time as a person types them."""

import re
from datetime import UTC, datetime
from typing import Final

import click

_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO: Final = re.compile(r"(\d+)(ms|s|m|h|d)")


def read_time(text: str, now_ms: int) -> int:
    """Return milliseconds since 1970: from digits, from RFC 3339, or from an age like `10m`.

    Example:
        >>> read_time("1385000000000", 0), read_time("2013-01-01T10:15:00Z", 0)
        (1385000000000, 1357035300000)
        >>> read_time("10m", 1_000_000)
        400000

    Raises:
        click.BadParameter: it is none of these.
    """
    if text.isdigit():
        return int(text)
    if age := _AGO.fullmatch(text):
        return now_ms - int(age[1]) * _UNITS_MS[age[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f'"{text}" is not a time: give milliseconds, 2013-01-01T10:15:00Z or an age like 10m'
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
