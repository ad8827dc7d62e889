"""Protocols of the engine for the functions that run a SELECT."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.session import SqlSession
from duolog.runtime.sql.command_log.topics import Topics
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.engine import Engine as SparkEngine
    from duolog.runtime.sql.fanout.shared_readers import SharedReaders
    from duolog.runtime.sql.tables.materialized_tables import MaterializedTables


class Planning(Protocol):
    """Plans queries over a catalog."""

    @property
    def session(self) -> SqlSession: ...

    @property
    def catalog(self) -> Catalog: ...


class Answering(Protocol):
    """Has a catalog and the rows of its tables."""

    session: SqlSession

    @property
    def catalog(self) -> Catalog: ...

    @property
    def present(self) -> "MaterializedTables": ...


class Engine(Protocol):
    """Has a catalog over one Kafka cluster and runs queries; `engine.SqlEngine` is one."""

    brokers: Brokers
    data: Path
    session: SqlSession
    topics: Topics

    @property
    def catalog(self) -> Catalog: ...

    @property
    def present(self) -> "MaterializedTables": ...

    @property
    def shared_readers(self) -> "SharedReaders":
        """Readers of the topics of push queries."""

    @property
    def spark(self) -> "SparkEngine":
        """The Spark engine; its JVM starts when it is first used."""
