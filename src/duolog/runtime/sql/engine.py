"""Statements over one broker: their catalog, the queries that they have begun, and their answers.

    with SqlEngine("127.0.0.1:9092", data="data") as engine:
        for answer in engine.execute("SHOW STREAMS;"):
            ...

Thread rule: one thread at a time, but for `Rows` that were answered, which another may read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlglot import exp

from duolog.ksql.catalog import Catalog
from duolog.ksql.session import Done, SqlSession
from duolog.runtime.sql import pull, push
from duolog.runtime.sql.answers import Answer, Message, Rows

DEFAULT_SERVICE: str = "default"


class SqlEngine:
    """Runs statements against one Kafka cluster.

    Args:
        bootstrap: the cluster's servers.
        service_id: which application the statements belong to; engines of one id share a catalog.
        data: where checkpoints and logs of queries go; made if missing.
        properties: what SET would say, for all statements.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        data: Path | str,
        service_id: str = DEFAULT_SERVICE,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.service_id = service_id
        # The JVM works elsewhere, and a program may change its directory.
        self.data = Path(data).resolve()
        self.session = SqlSession(given=properties)

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
    def catalog(self) -> Catalog:
        return self.session.catalog

    def start(self) -> None:
        """Start the persistent queries."""

    def close(self) -> None:
        """End the queries of this engine, and the JVM where nobody else needs it. Does nothing when closed."""

    def execute(self, text: str) -> Iterator[Answer]:
        """Run each statement of a text, and yield what it answers.

        Raises:
            SqlError: one cannot be read, or cannot run; those before it have run.
        """
        for node, written in self.session.read(text):
            yield from self._execute(node, written)

    def _execute(self, node: exp.Expression, text: str) -> Iterator[Answer]:
        if isinstance(node, exp.Select):
            answers = push if node.args.get("emit") is not None else pull
            yield answers.select(self, node, text)
            return
        yield from _answers(self.session.execute(node, text))


def _answers(done: Done) -> Iterator[Answer]:
    """Yield what a statement has to say: tables of texts, or its sentence."""
    for table in done.rows:
        columns = tuple((name, "STRING") for name in table.columns)
        yield Rows(columns, iter(table.rows), title=table.title)
    if not done.rows:
        yield Message(done.message)
