"""One page of a topic: read in order, select, and say where to continue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from duolog.runtime.browsing.budget import Budget
from duolog.runtime.browsing.errors import SlowPredicate
from duolog.runtime.browsing.merge import Merge
from duolog.runtime.browsing.record import BrowsedRecord

_SEARCHED_AT_ONCE: Final = 500


class Select(Protocol):
    """Selects records."""

    def selected(self, records: Sequence[BrowsedRecord], budget: Budget) -> list[bool]:
        """Return for each record whether it is selected."""


@dataclass(frozen=True, slots=True)
class Page:
    """Records, and where to continue.

    Attributes:
        records: those that were selected, in order.
        read: the number of records that were looked at.
        stopped: why there are not more: `limit`, or see `Budget.spent`; empty at the end.
        positions: where the next page begins, by partition.
    """

    records: list[BrowsedRecord]
    read: int
    stopped: str
    positions: Mapping[int, int]


class Selected(NamedTuple):
    """Records that were looked at together, and those of them that were selected."""

    read: int
    records: list[BrowsedRecord]


def page(merge: Merge, limit: int, select: Select | None, budget: Budget) -> Page:
    """Return the next page.

    Raises:
        KafkaError: the topic cannot be read.
        InvalidPredicate: see `Predicate`.
        SlowPredicate: not even the first part was looked at in time.
    """
    found: list[BrowsedRecord] = []
    read = 0
    for some in scanned(merge, limit, select, budget):
        found += some.records
        read += some.read
    if len(found) >= limit and not merge.is_done:
        stopped = "limit"
    else:
        # A predicate that was interrupted ends just before the time does.
        stopped = "" if merge.is_done else budget.spent or "time"
    return Page(found, read, stopped, merge.positions)


def scanned(merge: Merge, limit: int, select: Select | None, budget: Budget) -> Iterator[Selected]:
    """Yield the records of a page in parts; raises as `page`.

    If the time ends within a part, the parts before it count: the next page continues with it.
    """
    left = limit
    is_first = True
    while left > 0:
        some = merge.take(left if select is None else _SEARCHED_AT_ONCE)
        if not some:
            merge.advance_over_gaps()
            return
        try:
            chosen = [True] * len(some) if select is None else select.selected(some, budget)
        except SlowPredicate:
            if is_first:
                raise
            merge.put_back(some)
            return
        is_first = False
        read, found = 0, []
        for record, is_chosen in zip(some, chosen, strict=True):
            merge.advance(record)
            read += 1
            if is_chosen:
                found.append(record)
                left -= 1
                if left == 0:
                    break
        yield Selected(read, found)
        if budget.spent and left > 0 and merge.is_empty:
            return
