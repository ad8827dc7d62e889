"""The place where a page of records continues, as text in an address.

The text is base64url of `{"o": "newest" | "oldest", "p": {PARTITION: OFFSET, …}}`. It holds nothing
that the client may not choose, so it is not signed.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from duolog.server.errors import RequestRefused

NEWEST, OLDEST = "newest", "oldest"
_PARTITION_MAX: Final = 2**31 - 1
_OFFSET_MAX: Final = 2**63 - 1
_LENGTH_MAX: Final = 100_000


class Cursor(NamedTuple):
    """An order, and positions by partition; see `Merge`."""

    order: str
    positions: Mapping[int, int]


def cursor_text(cursor: Cursor) -> str:
    """Return a cursor as text.

    Example:
        >>> read_cursor(cursor_text(Cursor("newest", {0: 7}))).positions
        {0: 7}
    """
    members = {"o": cursor.order, "p": {str(one): at for one, at in cursor.positions.items()}}
    text = json.dumps(members, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str) -> Cursor:
    """Return the cursor of a text.

    Raises:
        RequestRefused: it is none.
    """
    if len(text) > _LENGTH_MAX:
        raise _invalid()
    try:
        given = json.loads(base64.urlsafe_b64decode(f"{text}{'=' * (-len(text) % 4)}"))
        order, positions = given["o"], given["p"]
        found = {int(one): at for one, at in positions.items()}
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise _invalid() from error
    good = all(
        0 <= one <= _PARTITION_MAX and type(at) is int and 0 <= at <= _OFFSET_MAX
        for one, at in found.items()
    )
    if order not in (NEWEST, OLDEST) or not good:
        raise _invalid()
    return Cursor(order, found)


def _invalid() -> RequestRefused:
    return RequestRefused("'cursor' is not one that this server has returned")
