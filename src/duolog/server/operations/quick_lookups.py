"""Answer repeated look-ups on the event loop, without a thread, a session or the parser.

    body ─▶ shape and literals ─▶ prepared look-up ─▶ rows are recent enough? ─▶ response
                  │ not known           │ none              │ no
                  ▼                     ▼                   ▼
            prepare on a thread     the usual way       wait for the next refresh, of all tables

A refresh reads the command topic and the topics of the tables to their ends, on one thread. It
starts after the request has arrived, or refreshes rows before they are too old for requests that
accept stale ones. A statement with an error, a table that is not read yet and all else is answered
in the usual way.

Thread: the event loop.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.errors import DuologError
from duolog.ksql.settings import ANSWER_STALENESS
from duolog.runtime.sql.answers import Rows
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.client import Client, Right
from duolog.server.access.statement_rights import source_name
from duolog.server.ksql.requests import StatementRequest
from duolog.server.queries.row_forms import RowForm
from duolog.server.queries.started import Column, StartedQuery, next_pull_id

if TYPE_CHECKING:
    from duolog.ksql.catalog.catalog import Catalog, SourceInfo
    from duolog.runtime.sql.reply.prepared import PreparedLookup
    from duolog.runtime.sql.tables.materialized_tables import MaterializedTables
    from duolog.runtime.sql.tables.table_rows import TableRows

logger: Final = logging.getLogger(__name__)

_KNOWN_MAX: Final = 1_000
_LEARNING_MAX: Final = 4
"""Statements that wait to be prepared, one by one: without a broker, each takes seconds."""
_REFRESHED_AT: Final = 0.5
"""Part of the accepted age at which rows are refreshed in advance."""
FormOf = Callable[[StartedQuery, str], RowForm]


class Tables(Protocol):
    """The parts of a `SqlService` that look-ups need."""

    service_id: str
    ending: str
    """Not empty if the service is terminated, or about to be."""

    @property
    def catalog(self) -> "Catalog": ...
    @property
    def last_command(self) -> int: ...
    @property
    def catalog_age_s(self) -> float: ...
    @property
    def present(self) -> "MaterializedTables": ...
    def recent_catalog(self, staleness_ms_max: int) -> "Catalog": ...


Prepare = Callable[[str, Mapping[str, str]], "PreparedLookup | None"]
"""Prepares a statement with properties; blocks."""


@dataclass(frozen=True, slots=True)
class QuickReply:
    """A complete response."""

    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class _Known:
    """A prepared look-up with what its responses have in common."""

    lookup: "PreparedLookup"
    columns: tuple[Column, ...]
    right: Right


class QuickLookups:
    """Look-ups of one server.

    Args:
        service: catalog and tables.
        prepare: prepares a look-up.
    """

    def __init__(self, service: Tables, prepare: Prepare) -> None:
        self._service = service
        self._prepare = prepare
        self._known: OrderedDict[object, _Known | int] = OrderedDict()
        """The last command at which a statement was not a look-up, else the look-up.

        The least recently used are dropped.
        """
        self._learning = 0
        """Number of statements that wait to be prepared."""
        self._refresh = _Refresh(service)

    async def reply(
        self, request: StatementRequest, accept: str, form_of: FormOf, client: Client
    ) -> QuickReply | None:
        """Return the response to a query; None if it has to be answered in the usual way.

        Raises:
            RequestRefused: the client lacks the right to read the table.
        """
        if request.variables or request.command_number is not None or self._service.ending:
            return None
        if request.properties.keys() - {ANSWER_STALENESS}:
            return None
        # Imported here: a server that answers no query starts without it.
        from duolog.runtime.sql.reply.lookup_shapes import shape_of  # noqa: PLC0415

        shaped = shape_of(request.sql)
        if shaped is None:
            return None
        key = shaped.shape, request.properties.get(ANSWER_STALENESS)
        known = self._known.get(key)
        if known is None or self._is_outdated(known):
            await self._learn(key, request)
            known = self._known.get(key)
        if not isinstance(known, _Known):
            return None
        client.ensure(known.right)
        rows = await self._rows(key, known)
        found = None if rows is None else known.lookup.rows(shaped.values, rows)
        if found is None:
            return None
        query = StartedQuery(next_pull_id(), known.columns, Rows((), iter(())), reports_end=False)
        form = form_of(query, accept)
        pieces = [form.begin(), *map(form.row, found), form.end()]
        return QuickReply(form.content_type, b"".join(pieces))

    def close(self) -> None:
        """Refresh no more."""
        self._refresh.close()

    def _is_outdated(self, known: "_Known | int") -> bool:
        """Return true if the catalog has changed since a statement was prepared, or was not."""
        if isinstance(known, _Known):
            return not known.lookup.is_valid(self._service.catalog)
        return known < self._service.last_command

    async def _learn(self, key: object, request: StatementRequest) -> None:
        if self._learning >= _LEARNING_MAX:
            return
        command = self._service.last_command
        self._learning += 1
        try:
            lookup = await self._refresh.run(lambda: self._prepare(request.sql, request.properties))
        except DuologError:
            # The usual way reports it.
            return
        except Exception:
            # The usual way may answer it nevertheless.
            logger.exception("a statement cannot be prepared")
            lookup = None
        finally:
            self._learning -= 1
        service = self._service
        # The catalog may have changed meanwhile: then it is tried once more.
        self._known[key] = command if lookup is None else _known(service.service_id, lookup)
        if len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)

    async def _rows(self, key: object, known: _Known) -> "TableRows | None":
        """Return the rows of a table that are recent enough; None if it is not read yet."""
        self._known.move_to_end(key)
        service, source = self._service, known.lookup.source
        age_s = known.lookup.wanted.staleness_ms_max / 1000
        rows: TableRows | None = None
        if age_s and service.catalog_age_s <= age_s:
            rows = service.present.rows_of(source, age_s)
        if rows is None:
            # Not here, if the first read of its topic has not ended: that may take minutes.
            if service.present.rows_of(source, float("inf")) is None:
                return None
            if not await self._refresh.wait(source):
                return None
            rows = service.present.rows_of(source, float("inf"))
        elif not self._is_recent(source, age_s * _REFRESHED_AT):
            self._refresh.begin(source)
        if not known.lookup.is_valid(service.catalog):
            self._known.pop(key, None)
            return None
        return rows

    def _is_recent(self, source: "SourceInfo", age_s: float) -> bool:
        service = self._service
        return service.catalog_age_s <= age_s and (
            service.present.rows_of(source, age_s) is not None
        )


class _Refresh:
    """Refreshes tables on one thread: one refresh at a time, for all that wait."""

    def __init__(self, service: Tables) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="duolog-refresh")
        self._learner = ThreadPoolExecutor(1, thread_name_prefix="duolog-prepare")
        self._sources: set[SourceInfo] = set()
        self._waiting: list[asyncio.Future[bool]] = []
        self._is_busy = False

    def begin(self, source: "SourceInfo") -> None:
        """Refresh a table soon; does nothing while another refresh is in progress."""
        if not self._is_busy:
            self._sources.add(source)
            self._start()

    async def wait(self, source: "SourceInfo") -> bool:
        """Wait for a refresh of a table that starts from now on; return false if it has failed."""
        self._sources.add(source)
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if not self._is_busy:
            self._start()
        return await done

    async def run(self, prepare: "Callable[[], PreparedLookup | None]") -> "PreparedLookup | None":
        return await asyncio.get_running_loop().run_in_executor(self._learner, prepare)

    def close(self) -> None:
        """Wait for no refresh; those that wait are answered in the usual way."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._learner.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        sources, self._sources = tuple(self._sources), set()
        waiting, self._waiting = self._waiting, []
        self._is_busy = True
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._pool, self._refreshed, sources)
        running.add_done_callback(lambda done: self._end(done, waiting))

    def _end(self, done: "asyncio.Future[bool]", waiting: "list[asyncio.Future[bool]]") -> None:
        self._is_busy = False
        succeeded = not done.cancelled() and done.exception() is None and done.result()
        for one in waiting:
            if not one.done():
                one.set_result(succeeded)
        if self._sources and not done.cancelled():
            self._start()

    def _refreshed(self, sources: "tuple[SourceInfo, ...]") -> bool:
        try:
            catalog = self._service.recent_catalog(0)
            same = [one for one in sources if catalog.sources.get(one.name) == one]
            self._service.present.refresh(same)
        except DuologError as error:
            logger.warning("tables are not refreshed", extra={"reason": error.message})
            return False
        return True


def _known(service_id: str, lookup: "PreparedLookup") -> _Known:
    source = lookup.source
    keys = {one.name for one in source.key}
    columns = tuple(Column(name, of, " KEY" if name in keys else "") for name, of in lookup.columns)
    name = source_name(service_id, source.name)
    return _Known(lookup, columns, Right(Operation.READ, ResourceType.SOURCE, name))
