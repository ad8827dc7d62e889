"""Replay the accepted statements of a service: streams, tables, types and queries.

    statement ─▶ tried on a copy ─▶ record of the command topic ─▶ read back ─▶ applied

Only records that were read are applied, so the engine that writes a statement, the engines that
follow it, and those that start later all do the same. If two engines write concurrently, the later
one tries again on top of the other's change.

Threads: one at a time; the engine holds its lock.
"""

import itertools
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.catalog.kept_schemas import KeptSchemas, keeping
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.user_calls import KEPT
from duolog.ksql.session import SqlSession, parse
from duolog.ksql.settings import REGISTRY, Settings, is_secret
from duolog.ksql.statements.state import Done, PersistentQuery, SessionState
from duolog.ksql.syntax import nodes
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.commands import Command, Offsets
from duolog.runtime.sql.command_log.desired_query import DesiredQuery, checkpoint_of
from duolog.runtime.sql.errors import CommandDamaged

if TYPE_CHECKING:
    from duolog.ksql.udf.modules import KeptFunction

_ATTEMPTS: Final = 10
_READ_S: Final = 15.0
_EARLIER_MAX: Final = 8


class ReplayedCatalog:
    """The catalog and queries of a service, as in its command topic.

    Args:
        topic: the command topic.
        registry: the address of the schema registry now, which may have moved since a statement
            was accepted; None for the one that the statement had.
    """

    def __init__(self, topic: CommandTopic, registry: str | None = None) -> None:
        self.topic = topic
        self._registry = registry
        self.catalog = Catalog()
        self.session = SqlSession(self.catalog)
        self._starts: dict[str, Offsets] = {}
        self._wanted: dict[str, DesiredQuery] = {}
        self.ended: set[str] = set()
        """Checkpoints of queries that have ended."""
        self._endings: dict[str, int] = {}
        """Number of ended queries by id; QUERY_ID allows using an id again."""
        self._numbers: dict[str, int] = {}
        """A small number for each query; all servers compute the same ones."""
        self._earlier: dict[str, tuple[PersistentQuery, ...]] = {}
        """The last queries that each query has replaced."""
        self._damage: CommandDamaged | None = None
        """Error of the topic; later records are not applied."""
        self._has_ended = False

    @property
    def state(self) -> SessionState:
        return self.session.state

    @property
    def wanted(self) -> Mapping[str, DesiredQuery]:
        """Queries that should run; objects stay the same as long as a query is unchanged."""
        for query_id, query in self.state.queries.items():
            known = self._wanted.get(query_id)
            if known is None or known.query is not query:
                self._wanted[query_id] = DesiredQuery(
                    query,
                    self._starts.get(query_id, {}),
                    self._endings.get(query_id, 0),
                    self._numbers[query_id],
                    self._earlier.get(query_id, ()),
                )
        for gone in self._wanted.keys() - self.state.queries.keys():
            del self._wanted[gone]
        return {query_id: self._wanted[query_id] for query_id in self.state.queries}

    def follow(self) -> set[int]:
        """Read new records and apply them; return their offsets.

        Raises:
            CommandDamaged: a record cannot be read or executed.
            KafkaError: the broker does not answer.
        """
        if self._damage is not None:
            raise self._damage
        done: set[int] = set()
        if self._has_ended:
            return done
        try:
            for offset, command in self.topic.read():
                self._replay(offset, command)
                done.add(offset)
        except CommandDamaged as damage:
            self._damage = damage
            raise
        return done

    def end(self) -> None:
        """Empty the catalog for good: the topic has been deleted."""
        self._has_ended = True
        # Replaced, not changed: other threads may read them.
        self.catalog.sources, self.catalog.types, self.state.queries = {}, {}, {}

    def run(
        self,
        node: exp.Expression,
        text: str,
        settings: Settings,
        prepare: Callable[[Done, SessionState], Offsets],
    ) -> Done:
        """Run a statement. A statement that changes the catalog is written first, then applied.

        `prepare` performs what must precede the record, such as creating a topic, and returns the
        start offsets of the statement's query.

        Raises:
            SqlError: it cannot be executed; nothing has changed.
            CommandDamaged, KafkaError: as `follow`.
        """
        for _ in range(_ATTEMPTS):
            self.follow()
            kept = KeptSchemas()
            with keeping(kept):
                tried, done = self._try(node, text, settings)
            if not _differs(tried, self.state):
                return done
            _ensure_repeatable(node, text)
            command = Command(
                text,
                self.topic.last,
                {name: value for name, value in settings.given.items() if not is_secret(name)},
                self.state.begun,
                done.query.id if done.query is not None else "",
                prepare(done, tried),
                _kept_function(node, tried),
                kept.answers,
            )
            if self.follow_to(self.topic.append(command)):
                return done
        raise SqlError("too many concurrent writes to the command topic", statement=text)

    def follow_to(self, offset: int) -> bool:
        """Read up to a written record; return true if it was applied now.

        A reader may see a new topic, or its end, a moment later than the writer.

        Raises:
            KafkaError: it cannot be read in time.
        """
        deadline = time.monotonic() + _READ_S
        done = self.follow()
        while self.topic.last < offset:
            if time.monotonic() > deadline:
                raise self.topic.unread(offset)
            time.sleep(0.02)
            done |= self.follow()
        return offset in done

    def _try(
        self, node: exp.Expression, text: str, settings: Settings
    ) -> tuple[SessionState, Done]:
        state = self.state
        tried = SessionState(self.catalog.copy(), settings, {}, dict(state.queries), state.begun)
        session = SqlSession()
        session.state = tried
        return tried, session.execute(node.copy(), text)

    def _replay(self, offset: int, command: Command) -> None:
        state = self.state
        now = {} if self._registry is None else {REGISTRY: self._registry}
        state.settings = Settings({**command.properties, **now}, rules=command.rules)
        state.begun = command.begun
        if command.query:
            # A replacement continues from the state, or starts where the original query started.
            self._starts.setdefault(command.query, command.starts)
        replaced = state.queries.get(command.query)
        try:
            (node,) = parse(command.statement)
            if command.function is not None:
                node.meta[KEPT] = command.function
            with keeping(KeptSchemas(command.schemas or ())):
                done = self.session.execute(node, command.statement)
        except (SqlError, ValueError) as error:
            reason = error.message if isinstance(error, SqlError) else "It is not one statement."
            raise CommandDamaged(
                self.topic.name, offset, f"Its statement cannot be executed: {reason}"
            ) from error
        for query_id in done.ended:
            before = self._endings.get(query_id, 0)
            self.ended.add(checkpoint_of(query_id, before))
            self._endings[query_id] = before + 1
            self._starts.pop(query_id, None)
            self._earlier.pop(query_id, None)
        self._note_replaced(replaced)
        if done.ended or done.query is not None:
            self._number_queries()

    def _note_replaced(self, before: PersistentQuery | None) -> None:
        now = None if before is None else self.state.queries.get(before.id)
        if before is not None and now is not None and now.planned is not before.planned:
            known = self._earlier.get(now.id, ())
            self._earlier[now.id] = (before, *known)[:_EARLIER_MAX]

    def _number_queries(self) -> None:
        """Give each new query the smallest free number; an ended one's number becomes free."""
        queries, numbers = self.state.queries, self._numbers
        for ended in numbers.keys() - queries.keys():
            del numbers[ended]
        taken = set(numbers.values())
        free = (number for number in itertools.count() if number not in taken)
        for query_id in queries:
            if query_id not in numbers:
                numbers[query_id] = next(free)


def _kept_function(node: exp.Expression, state: SessionState) -> "KeptFunction | None":
    """Return the definition of a created function for its record, or None."""
    if not isinstance(node, nodes.CreateFunction):
        return None
    # Imported here: a statement loads only what it needs.
    from duolog.ksql.udf.modules import as_kept  # noqa: PLC0415

    return as_kept(state.catalog.functions[node.this.name.upper()])


def _differs(one: SessionState, other: SessionState) -> bool:
    """Return true if a statement has changed the shared state."""
    return (
        one.catalog.sources != other.catalog.sources
        or one.catalog.types != other.catalog.types
        or one.catalog.functions != other.catalog.functions
        or {name: (id(query.planned), query.state) for name, query in one.queries.items()}
        != {name: (id(query.planned), query.state) for name, query in other.queries.items()}
    )


def _ensure_repeatable(node: exp.Expression, text: str) -> None:
    """Ensure that readers of the command topic will parse a text to its statement.

    A text of two statements, or of none, would damage the topic for good.

    Raises:
        SqlError: they would not.
    """
    found = parse(text)
    if len(found) != 1 or type(found[0]) is not type(node):
        raise SqlError(
            "the text of the statement is not this one statement",
            detail=f"It has {len(found)} statements.",
            statement=text,
        )
