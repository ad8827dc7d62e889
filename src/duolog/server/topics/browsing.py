"""Open a topic for a client: its log, its decoder, its filters, and the place where to begin.

Threads: one for each `Browser`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Self

from duolog.core.units import MIB
from duolog.ksql import settings
from duolog.runtime.browsing.budget import PAGE, Budget, Limits
from duolog.runtime.browsing.decoding import Decoder
from duolog.runtime.browsing.log import Range, TopicLog, no_partition
from duolog.runtime.browsing.merge import Merge
from duolog.runtime.browsing.pages import Select, page
from duolog.runtime.browsing.record import BrowsedRecord
from duolog.runtime.browsing.search import TextSearch
from duolog.schemas.source import SchemaSource, source_at
from duolog.server.access.checks import EVERYTHING, Checks
from duolog.server.access.readable_schemas import readable_by
from duolog.server.errors import NOT_FOUND, RequestRefused
from duolog.server.topics.cursors import NEWEST, OLDEST, Cursor, cursor_text
from duolog.server.topics.selections import BEGINNING, Filters, Selection, Start
from duolog.server.topics.shown import shown_record, text_max

if TYPE_CHECKING:
    from duolog.runtime.browsing.predicate import Predicate
    from duolog.runtime.sql.service import SqlService

Json = dict[str, Any]
SEARCH: Final = Limits(records=200_000, bytes=256 * MIB, seconds=10.0)
"""Of a page that looks into records: most of them are not shown."""
_AHEAD: Final = 20_000
_ONE: Final = Limits(records=1, bytes=256 * MIB, seconds=30.0)


class Browser:
    """One topic as a client reads it; a context manager.

    Args:
        service: the SQL service of the server.
        checks: the rights of the client, for schemas.
        topic: the topic, which the client may read.
        filters: what the client wants of it.
        stopped: returns True if the client need not wait any longer.

    Raises:
        InvalidPredicate: on entry.
        BrokerUnavailable: no broker answers.
    """

    def __init__(
        self,
        service: "SqlService",
        checks: Checks,
        topic: str,
        filters: Filters,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.decoder = decoder_of(service, checks, filters)
        self.topic = topic
        self.filters = filters
        self.stopped = stopped
        self._brokers = service.brokers
        self._stack = ExitStack()
        self.select: Select | None = None

    def __enter__(self) -> Self:
        try:
            self.select = self._selecting()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open_log(self, *, whole: bool = False) -> TopicLog:
        """Open the topic; it is closed with this browser."""
        log = TopicLog(
            *(self._brokers, self.topic),
            committed=self.filters.committed,
            whole=whole or self.filters.selects,
        )
        return self._stack.enter_context(log)

    def merged(self, log: TopicLog, selection: Selection, budget: Budget) -> Merge:
        """Return the records of a selection; raises KafkaError if the topic cannot be read."""
        spans = self.spans(log)
        cursor = selection.cursor
        positions = (
            cursor.positions if cursor is not None else self._begin(log, spans, selection.start)
        )
        ahead = _AHEAD if self.filters.selects else 0
        return Merge(log, spans, positions, budget, newest=selection.newest, ahead=ahead)

    def spans(self, log: TopicLog) -> Mapping[int, Range]:
        """Return the retained parts of the partitions that the client wants.

        Raises:
            KafkaError: one of them does not exist, or none can be read.
        """
        found = log.partitions()
        wanted = self.filters.partitions
        known = {*found.spans, *found.leaderless}
        if missing := sorted(wanted - known):
            raise no_partition(self.topic, missing[0], len(known))
        return {one: span for one, span in found.spans.items() if not wanted or one in wanted}

    def _begin(self, log: TopicLog, spans: Mapping[int, Range], start: Start) -> Mapping[int, int]:
        if start.time_ms is not None:
            return log.at_time(spans, start.time_ms)
        if start.offset is not None:
            return dict.fromkeys(spans, start.offset)
        if start.before_end is not None:
            return {one: max(low, end - start.before_end) for one, (low, end) in spans.items()}
        return {one: low if start.name == BEGINNING else end for one, (low, end) in spans.items()}

    def _selecting(self) -> Select | None:
        filters = self.filters
        search = None
        if filters.search:
            search = TextSearch(filters.search, filters.parts, self.decoder)
        if not filters.where:
            return None if search is None else Both(search, None)
        # DuckDB takes a moment to load.
        from duolog.runtime.browsing.predicate import Predicate  # noqa: PLC0415

        predicate = self._stack.enter_context(Predicate(filters.where, self.topic, self.decoder))
        return Both(search, predicate)


class Both:
    """A text search, a predicate, or both; see `Select`."""

    def __init__(self, search: TextSearch | None, predicate: "Predicate | None") -> None:
        self._search = search
        self._predicate = predicate

    def selected(self, records: Sequence[BrowsedRecord], budget: Budget) -> list[bool]:
        """Return for each record whether it is selected."""
        found = [self._search is None or self._search.finds(one) for one in records]
        if self._predicate is None:
            return found
        some = [one for one, chosen in zip(records, found, strict=True) if chosen]
        left = iter(self._predicate.selected(some, budget))
        return [chosen and next(left) for chosen in found]


def browse(
    service: "SqlService",
    checks: Checks,
    topic: str,
    selection: Selection,
    stopped: Callable[[], bool],
) -> Json:
    """Return one page of a topic.

    Raises:
        KafkaError: the topic does not exist, or cannot be read.
        InvalidPredicate: see `Predicate`.
    """
    budget = Budget(SEARCH if selection.filters.selects else PAGE, stopped)
    with Browser(service, checks, topic, selection.filters, stopped) as browser:
        log = browser.open_log()
        merge = browser.merged(log, selection, budget)
        found = page(merge, selection.limit, browser.select, budget)
        most = text_max(len(found.records))
        shown = [shown_record(one, browser.decoder, most) for one in found.records]
    is_end = merge.is_done and not found.stopped
    order = NEWEST if selection.newest else OLDEST
    more = None if is_end and selection.newest else cursor_text(Cursor(order, found.positions))
    return {
        "topic": topic,
        "records": shown,
        "read": found.read,
        "matched": len(found.records),
        "bytesRead": budget.bytes,
        "stopped": found.stopped or None,
        "end": is_end,
        "next": more,
    }


def data_of(
    service: "SqlService", topic: str, partition: int, offset: int, part: str
) -> bytes | None:
    """Return all bytes of the key or value of one record; None if it is null.

    Raises:
        RequestRefused: there is no such record.
        KafkaError: the topic does not exist, or cannot be read.
    """
    with Browser(service, EVERYTHING, topic, Filters(committed=False)) as browser:
        log = browser.open_log(whole=True)
        low, end = log.partitions().spans.get(partition, (0, 0))
        if low <= offset < end:
            chunk = log.read({partition: (offset, offset + 1)}, Budget(_ONE))[partition]
            for record in chunk.records:
                found = record.key if part == "key" else record.value
                return None if found is None else found.data
    raise RequestRefused(
        f'Topic "{topic}" has no record at offset {offset} of partition {partition}', NOT_FOUND
    )


def registry_of(service: "SqlService") -> SchemaSource | None:
    """Return the schema registry of a service; None without one."""
    address = service.session().state.settings[settings.REGISTRY]
    return None if address is None else source_at(address)


def decoder_of(service: "SqlService", checks: Checks, filters: Filters) -> Decoder:
    """Return a decoder with the schemas of a service's registry that a client may read."""
    address = service.session().state.settings[settings.REGISTRY]
    if address is None:
        return Decoder(None, filters.key_format, filters.value_format)
    # The formats are loaded for records with schemas only.
    from duolog.serde.patient_schemas import PatientSchemas  # noqa: PLC0415
    from duolog.serde.readable import SchemaReader  # noqa: PLC0415

    reader = SchemaReader(PatientSchemas(readable_by(checks, address)))
    return Decoder(reader, filters.key_format, filters.value_format)
