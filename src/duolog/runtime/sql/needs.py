"""What the answers to a SELECT need of the engine that runs it."""

from pathlib import Path
from typing import Protocol

from duolog.ksql.session import SqlSession


class Engine(Protocol):
    """A catalog over one Kafka cluster; `engine.SqlEngine` is one."""

    bootstrap: str
    service_id: str
    data: Path
    session: SqlSession
