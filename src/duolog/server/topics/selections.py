"""The part of a topic that a request is about: the query string of records, live rows and exports.

from=end | beginning | N | -N | @MS      begin at an offset, before the end, or at a time
order=newest | oldest                    newest: go back from there
cursor=…                                 where the page before has ended; wins over `from`
partition=0,2   limit=50
search=TEXT     in=key,value,headers     where=PREDICATE
key_format=…    value_format=…           see `runtime.browsing.decoding`; AUTO detects
isolation=read_committed | read_uncommitted
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from duolog.runtime.browsing.decoding import AUTO, FORMATS
from duolog.runtime.browsing.search import EVERYWHERE
from duolog.server.errors import RequestRefused
from duolog.server.topics.cursors import NEWEST, OLDEST, Cursor, read_cursor
from duolog.server.topics.parameters import ensure_known, number, one_of

BEGINNING, END = "beginning", "end"
SHOWN_MAX: Final = 1_000
EXPORTED_MAX: Final = 1_000_000
_SHOWN: Final = 50
_EXPORTED: Final = 10_000
_SEARCH_MAX: Final = 1_000
_PARTITION_MAX: Final = 2**31 - 1
_COMMITTED: Final = {"read_committed": True, "read_uncommitted": False}
_FILTERS: Final = frozenset(
    {"partition", "search", "in", "where", "key_format", "value_format", "isolation"}
)
_PLACED: Final = _FILTERS | {"from", "order", "cursor", "limit"}


class Start(NamedTuple):
    """The place to begin: an offset, a number of offsets before the end, a time, or a name."""

    name: str = END
    offset: int | None = None
    before_end: int | None = None
    time_ms: int | None = None


class Filters(NamedTuple):
    """The conditions that selected records meet."""

    partitions: frozenset[int] = frozenset()
    search: str = ""
    parts: frozenset[str] = EVERYWHERE
    where: str = ""
    key_format: str = AUTO
    value_format: str = AUTO
    committed: bool = True

    @property
    def selects(self) -> bool:
        """True if records are looked into."""
        return bool(self.search or self.where)


class Selection(NamedTuple):
    """The records to read, in which order, and from where on."""

    filters: Filters
    start: Start
    newest: bool
    cursor: Cursor | None
    limit: int


def read_selection(given: Mapping[str, str], *more: str, exports: bool = False) -> Selection:
    """Return the selection of a query string; `more` are parameters that the caller reads.

    Raises:
        RequestRefused: a parameter is unknown or invalid.
    """
    ensure_known(given, _PLACED | set(more))
    start = _start(given.get("from", BEGINNING if exports else END))
    otherwise = NEWEST if start.name == END and not exports else OLDEST
    order = one_of("order", given.get("order", otherwise), (NEWEST, OLDEST))
    cursor = read_cursor(given["cursor"]) if given.get("cursor") else None
    if cursor is not None:
        order = cursor.order
    limit = number(
        *("limit", given.get("limit"), _EXPORTED if exports else _SHOWN),
        *(1, EXPORTED_MAX if exports else SHOWN_MAX),
    )
    return Selection(_filters(given), start, order == NEWEST, cursor, limit)


def read_filters(given: Mapping[str, str]) -> Filters:
    """Return the filters of a query string without a place; raises as `read_selection`."""
    ensure_known(given, _FILTERS)
    return _filters(given)


def _filters(given: Mapping[str, str]) -> Filters:
    numbers = [part for part in given.get("partition", "").split(",") if part]
    parts = frozenset(part for part in given.get("in", "").split(",") if part) or EVERYWHERE
    for part in sorted(parts):
        one_of("in", part, sorted(EVERYWHERE))
    search = given.get("search", "")
    if len(search) > _SEARCH_MAX:
        raise RequestRefused(f"'search' has more than {_SEARCH_MAX} characters")
    isolation = one_of("isolation", given.get("isolation", "read_committed"), _COMMITTED)
    return Filters(
        frozenset(number("partition", part, 0, 0, _PARTITION_MAX) for part in numbers),
        search,
        parts,
        given.get("where", "").strip(),
        one_of("key_format", given.get("key_format", AUTO), FORMATS),
        one_of("value_format", given.get("value_format", AUTO), FORMATS),
        _COMMITTED[isolation],
    )


def _start(text: str) -> Start:
    if text in (BEGINNING, END):
        return Start(text)
    if text.startswith("@"):
        return Start("", time_ms=number("from", text[1:], 0))
    if text.startswith("-"):
        return Start("", before_end=number("from", text[1:], 0))
    return Start("", offset=number("from", text, 0))
