"""Bind the statements of an editor against a catalog: what would be refused, and nothing else.

    SELECT            bound as the pull or push query that would run; no topic is read
    PRINT             the topic exists
    CREATE FUNCTION   not loaded: that would run the code of a module
    ASSERT            not evaluated: it may wait
    others            executed on a copy of the catalog

Schemas that a statement would register stay in a registry of the check, see `TrialRegistry`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.catalog.schemas import registries_replaced
from duolog.ksql.errors import SqlError, too_deep
from duolog.ksql.expressions.legacy_semantics import with_legacy_semantics
from duolog.ksql.expressions.user_calls import with_functions
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.queries import pushed_select
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.nodes import place_of
from duolog.ksql.syntax.script import TEXT
from duolog.runtime.sql.reply import pull
from duolog.runtime.sql.reply.streaming_scan import is_streamed
from duolog.runtime.sql.reply.transient import TransientPlan
from duolog.schemas.source import SchemaSource, source_at
from duolog.schemas.trial_registry import TrialRegistry

_TOPIC: Final = "__push-checked"
_NOT_RUN: Final = (
    nodes.AssertTopic,
    nodes.AssertSchema,
    nodes.CreateFunction,
)


@dataclass(frozen=True, slots=True)
class _Planner:
    session: SqlSession

    @property
    def catalog(self) -> Catalog:
        return self.session.catalog


def bind(session: SqlSession, node: exp.Expression, text: str) -> None:
    """Bind a statement; what it declares is in the session afterwards.

    Args:
        session: over a copy of the catalog.
        node: the statement.
        text: its source.

    Raises:
        SqlError: it would be refused.
    """
    try:
        match node:
            case exp.Query():
                _bind_query(session, node, text)
            case nodes.PrintTopic():
                _bind_print(session, node)
            case _ if not isinstance(node, _NOT_RUN):
                session.execute(node, text)
    except RecursionError as error:
        raise too_deep(text) from error


@contextmanager
def nothing_registered() -> Iterator[None]:
    """Keep the schemas that the statements of this thread register inside the block."""
    kept: dict[str, TrialRegistry] = {}

    def registry(address: str) -> SchemaSource:
        if address not in kept:
            kept[address] = TrialRegistry(source_at(address))
        return kept[address]

    with registries_replaced(registry):
        yield


def _bind_query(session: SqlSession, node: exp.Query, text: str) -> None:
    assert isinstance(node, exp.Expression), node
    state = session.state
    planner = _Planner(session)
    node.meta[TEXT] = text
    asked = with_legacy_semantics(node.copy(), state.settings)
    with_functions(asked, state.catalog.functions)
    assert isinstance(asked, exp.Query), asked
    if asked.args.get("emit") is None:
        pull.ensure_bound(planner, asked)
        return
    select = pushed_select(state, asked, text)
    if not is_streamed(planner, select):
        TransientPlan(planner, select, _TOPIC)


def _bind_print(session: SqlSession, node: nodes.PrintTopic) -> None:
    topic = node.this.name
    if topic not in session.catalog.partitions:
        raise SqlError(
            f"Could not find topic '{topic}'. Topic names are case-sensitive.",
            at=place_of(node.this),
            hint="Run SHOW TOPICS; to list the topics.",
        )
