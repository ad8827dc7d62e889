"""Run statements on one broker: their catalog, their persistent queries, their results.

    with SqlEngine("127.0.0.1:9092", data="data") as engine:
        for answer in engine.execute("SHOW STREAMS;"):
            ...

A service with one session, for a shell, a file of statements or a program. Many sessions share a
`SqlService`.

Threads: one at a time, except that another thread may read the returned `Rows`.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from duolog.runtime.sql.answers import Answer, Message, Rows
from duolog.runtime.sql.persistent.query_supervisor import LiveQuery, Starter
from duolog.runtime.sql.processing_log import LOGGED_ROWS, PROCESSING_LOG, declare
from duolog.runtime.sql.service import DEFAULT_SERVICE, SqlService
from duolog.runtime.sql.statement_runner import StatementRunner
from duolog.security.clients.brokers import Brokers


class SqlEngine(StatementRunner):
    """Runs statements against one Kafka cluster.

    Args:
        bootstrap, data, service_id, properties, engine_settings, starter: as of `SqlService`.
    """

    def __init__(
        self,
        bootstrap: Brokers | str,
        *,
        data: Path | str,
        service_id: str = DEFAULT_SERVICE,
        properties: Mapping[str, str] | None = None,
        engine_settings: Mapping[str, str] | None = None,
        starter: Starter | None = None,
    ) -> None:
        service = SqlService(
            bootstrap,
            data=data,
            service_id=service_id,
            properties=properties,
            engine_settings=engine_settings,
            starter=starter,
        )
        super().__init__(service, service.session())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def bootstrap(self) -> str:
        """Addresses of the brokers."""
        return self.service.bootstrap

    @property
    def service_id(self) -> str:
        """The service; engines with the same id share catalog and queries."""
        return self.service.service_id

    @property
    def processing_log(self) -> str:
        """The topic of records that could not be read or processed."""
        return self.service.processing_log

    @property
    def runs_queries(self) -> bool:
        """True if this engine runs the queries of its service."""
        return self.service.runs_queries

    def follow(self) -> None:
        """Read the existing topics, and the statements of others; see `SqlService.follow`."""
        self.service.follow()

    def start(self) -> None:
        """Start running the service's persistent queries here; see `SqlService.start`."""
        declare(self.service)
        self.service.start()

    def warm_up(self) -> None:
        """Start the JVM in the background, so that the first query does not wait for it."""
        self.service.warm_up()

    def give_up(self) -> None:
        """Abort waits for ownership and for the JVM, from any thread; call `close` next."""
        self.service.give_up()

    def end_now(self) -> None:
        """Make `close` return at once; queries end as in a crash. Any thread may call this."""
        self.service.end_now()

    def close(self) -> None:
        """Stop this engine's queries, and the JVM; see `SqlService.close`."""
        self.service.close()

    def queries(self, *, with_progress: bool = False) -> list[LiveQuery]:
        """Return the persistent queries with their states; see `SqlService.queries`."""
        return self.service.queries(with_progress=with_progress)

    def statements(self) -> dict[str, str]:
        """Return the statements of the persistent queries by id."""
        return self.service.statements()

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until each query is running, paused or failed; return false after the timeout."""
        return self.service.wait_settled(timeout_s)


__all__ = [
    "DEFAULT_SERVICE",
    "LOGGED_ROWS",
    "PROCESSING_LOG",
    "Answer",
    "Message",
    "Rows",
    "SqlEngine",
]
