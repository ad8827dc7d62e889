"""The rights that each kind of statement needs, in one table.

    statement                          rights
    SELECT                             READ on each source
    PRINT                              READ on the topic
    CREATE … WITH                      CREATE on the source; READ on its topics
    CREATE … AS, INSERT INTO … SELECT  READ on each source; CREATE or WRITE on the target, and WRITE
                                       on its topic
    OR REPLACE                         ALTER on the source as well
    INSERT … VALUES, DELETE            WRITE on the source and on its topics
    DROP                               DELETE on the source; DELETE TOPIC: on its topics as well
    ALTER STREAM, ALTER TABLE          ALTER on the source
    TERMINATE, PAUSE, RESUME           ALTER on the query's target; ALL: on all sources
    CREATE TYPE, DROP TYPE             ALTER on all sources
    DESCRIBE, EXPLAIN                  DESCRIBE on each source
    SHOW                               none; what the client may not describe is left out
    ASSERT TOPIC                       DESCRIBE on the topic
    SET, UNSET, DEFINE, UNDEFINE       none
    CREATE FUNCTION and all others     ALTER on the cluster

A user that may read a stream reads what its topic contains: the right on the topic is asked of the
user that declares the stream. A function runs in the server's own process.

Source: Kafka `AclOperation`.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from sqlglot import exp

from duolog.ksql.catalog.catalog import SourceInfo
from duolog.ksql.statements.state import PersistentQuery
from duolog.ksql.syntax import nodes
from duolog.security.authorization.operations import CLUSTER_NAME, Operation, ResourceType
from duolog.server.access.client import Right

_EVERY: Final = ""
"""No source or topic has this name, so that only rules about all of them cover it."""
_FREE: Final = (
    nodes.Show,
    nodes.SetProperty,
    nodes.UnsetProperty,
    nodes.Define,
    nodes.Undefine,
)
_OF_SERVER: Final = Right(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)


class Known(NamedTuple):
    """The catalog that a statement refers to."""

    service_id: str
    sources: Mapping[str, SourceInfo]
    queries: Mapping[str, PersistentQuery]

    def source(self, operation: Operation, name: str) -> Right:
        """Return a right on a stream or table."""
        return Right(operation, ResourceType.SOURCE, source_name(self.service_id, name))

    def topics(self, operation: Operation, name: str) -> Iterator[Right]:
        """Yield rights on the topics of a stream or table; none if it does not exist."""
        source = self.sources.get(name)
        if source is None:
            return
        for topic in (_EVERY,) if source.is_pattern else source.topics:
            yield Right(operation, ResourceType.TOPIC, topic)


def source_name(service_id: str, name: str) -> str:
    """Return the name of a source in rules.

    Example:
        >>> source_name("default_", "ORDERS"), source_name("default_", "")
        ('default_.ORDERS', '')
    """
    return f"{service_id}.{name}" if name else _EVERY


def rights_before(node: exp.Expression, known: Known) -> Iterator[Right]:
    """Yield the rights that a statement needs before it runs."""
    match node:
        case exp.Query():
            assert isinstance(node, exp.Expression), node
            yield from _reads(node, known, Operation.READ)
        case nodes.PrintTopic():
            yield Right(Operation.READ, ResourceType.TOPIC, node.this.name)
        case nodes.CreateSource():
            name = node.this.name
            yield known.source(Operation.CREATE, name)
            if node.args.get("replace"):
                yield known.source(Operation.ALTER, name)
            yield from _reads(node.args.get("expression"), known, Operation.READ)
        case nodes.InsertSelect():
            name = node.this.name
            yield from _writes(name, known)
            yield from _reads(node.expression, known, Operation.READ)
        case nodes.InsertValues() | nodes.DeleteRows():
            yield from _writes(node.this.name, known)
        case nodes.DropSource():
            yield known.source(Operation.DELETE, node.this.name)
            if node.args.get("delete_topic"):
                yield from known.topics(Operation.DELETE, node.this.name)
        case nodes.AlterSource():
            yield known.source(Operation.ALTER, node.this.name)
        case nodes.AssertTopic():
            yield Right(Operation.DESCRIBE, ResourceType.TOPIC, node.this.name)
        case _:
            yield from _of_others(node, known)


def rights_after(node: exp.Expression, known: Known) -> Iterator[Right]:
    """Yield the rights on topics that only a trial of the statement has shown."""
    if isinstance(node, nodes.CreateSource):
        writes = node.args.get("expression") is not None
        operation = Operation.WRITE if writes else Operation.READ
        yield from known.topics(operation, node.this.name)


def _of_others(node: exp.Expression, known: Known) -> Iterator[Right]:
    match node:
        case nodes.QueryCommand():
            query = None if node.this is None else known.queries.get(node.this.name)
            yield known.source(Operation.ALTER, _EVERY if query is None else query.sink)
        case nodes.CreateType() | nodes.DropType():
            yield known.source(Operation.ALTER, _EVERY)
        case nodes.Describe():
            if node.args["kind"] == "SOURCE":
                yield known.source(Operation.DESCRIBE, node.this.name)
        case nodes.Explain():
            query = known.queries.get(node.this.name)
            if query is not None:
                yield known.source(Operation.DESCRIBE, query.sink)
            yield from _reads(node, known, Operation.DESCRIBE)
        case _ if not isinstance(node, _FREE):
            yield _OF_SERVER


def _reads(query: exp.Expression | None, known: Known, operation: Operation) -> Iterator[Right]:
    """Yield the rights on all names after FROM and JOIN; a name of WITH is one of them."""
    if query is not None:
        for name in sorted({table.name for table in query.find_all(exp.Table)}):
            yield known.source(operation, name)


def _writes(name: str, known: Known) -> Iterator[Right]:
    yield known.source(Operation.WRITE, name)
    yield from known.topics(Operation.WRITE, name)
