"""What the answers to a SELECT need of the engine that runs it."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.session import SqlSession
from duolog.runtime.sql.command_log.topics import Topics

if TYPE_CHECKING:
    from duolog.engine import Engine as SparkEngine
    from duolog.runtime.sql.tables.materialized_tables import MaterializedTables


class Planning(Protocol):
    """What plans queries over a catalog."""

    @property
    def session(self) -> SqlSession: ...

    @property
    def catalog(self) -> Catalog: ...


class Answering(Protocol):
    """What has a catalog, and rows over it."""

    session: SqlSession

    @property
    def catalog(self) -> Catalog: ...

    @property
    def present(self) -> "MaterializedTables": ...


class Engine(Protocol):
    """A catalog over one Kafka cluster, and who runs queries on it; `engine.SqlEngine` is one."""

    bootstrap: str
    data: Path
    session: SqlSession
    topics: Topics

    @property
    def catalog(self) -> Catalog: ...

    @property
    def present(self) -> "MaterializedTables": ...

    @property
    def spark(self) -> "SparkEngine":
        """The engine that runs queries; its JVM starts when something of it is used."""
