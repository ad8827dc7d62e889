"""What the accepted statements of a service say, one after the other: streams, tables, types and queries.

    statement ─▶ tried on a copy ─▶ record of the command topic ─▶ read again ─▶ takes effect

There is one way to an effect, that of a record which was read: the engine that wrote it, one that follows and one that starts
tomorrow do the same. Of two engines that write at once one is late, and tries anew on what the other has made.

Thread rule: one thread at a time; the engine holds its lock.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlglot import exp

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.user_calls import KEPT
from duolog.ksql.session import SqlSession, parse
from duolog.ksql.settings import Settings
from duolog.ksql.statements.state import Done, SessionState
from duolog.ksql.syntax import nodes
from duolog.runtime.sql.command_log.command_topic import CommandTopic
from duolog.runtime.sql.command_log.commands import Command, Offsets
from duolog.runtime.sql.command_log.desired_query import DesiredQuery, checkpoint_of
from duolog.runtime.sql.errors import CommandDamaged

_ATTEMPTS: Final = 10
_READ_S: Final = 15.0


class ReplayedCatalog:
    """The catalog and the queries of a service, as its command topic has them."""

    def __init__(self, topic: CommandTopic) -> None:
        self.topic = topic
        self.catalog = Catalog()
        self.session = SqlSession(self.catalog)
        self._starts: dict[str, Offsets] = {}
        self._wanted: dict[str, DesiredQuery] = {}
        self.ended: set[str] = set()
        """The checkpoints of queries that have ended for good."""
        self._endings: dict[str, int] = {}
        """How many queries of an id have ended; one that is named by QUERY_ID may be made again."""
        self._damage: CommandDamaged | None = None
        """What was found: nothing behind it counts."""

    @property
    def state(self) -> SessionState:
        return self.session.state

    @property
    def wanted(self) -> Mapping[str, DesiredQuery]:
        """The queries that are to run, the same objects as long as nothing of them has changed."""
        for query_id, query in self.state.queries.items():
            known = self._wanted.get(query_id)
            if known is None or known.query is not query:
                starts = self._starts.get(query_id, {})
                self._wanted[query_id] = DesiredQuery(query, starts, self._endings.get(query_id, 0))
        for gone in self._wanted.keys() - self.state.queries.keys():
            del self._wanted[gone]
        return {query_id: self._wanted[query_id] for query_id in self.state.queries}

    def follow(self) -> set[int]:
        """Read what was written since, and let it take effect; return the offsets of what did.

        Raises:
            CommandDamaged: a record cannot be read, or cannot be run.
            KafkaError: the broker does not answer.
        """
        if self._damage is not None:
            raise self._damage
        done: set[int] = set()
        try:
            for offset, command in self.topic.read():
                self._replay(offset, command)
                done.add(offset)
        except CommandDamaged as damage:
            self._damage = damage
            raise
        return done

    def run(
        self,
        node: exp.Expression,
        text: str,
        settings: Settings,
        prepare: Callable[[Done, SessionState], Offsets],
    ) -> Done:
        """Run a statement; one that changes something is written before it does.

        `prepare` does what must stand before the record is written, such as a topic, and returns where the query
        begins that the statement makes.

        Raises:
            SqlError: it cannot run; nothing has changed.
            CommandDamaged, KafkaError: as `follow`.
        """
        for _ in range(_ATTEMPTS):
            self.follow()
            tried, done = self._try(node, text, settings)
            if not _differs(tried, self.state):
                return done
            command = Command(
                text,
                self.topic.last,
                dict(settings.given),
                self.state.begun,
                done.query.id if done.query is not None else "",
                prepare(done, tried),
                _kept_function(node, tried),
            )
            if self._follow_to(self.topic.append(command)):
                return done
        raise SqlError("other engines write to the command topic all the time", statement=text)

    def _follow_to(self, offset: int) -> bool:
        """Read up to a record that was written; tell if it took effect.

        A reader may hear of a new topic, or of its end, a moment after who has written to it.

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
        state.settings = Settings(command.properties, rules=command.rules)
        state.begun = command.begun
        if command.query:
            # One that takes the place of another goes on from its state, or begins where that one began.
            self._starts.setdefault(command.query, command.starts)
        try:
            (node,) = parse(command.statement)
            if command.function is not None:
                node.meta[KEPT] = command.function
            done = self.session.execute(node, command.statement)
        except (SqlError, ValueError) as error:
            told = error.message if isinstance(error, SqlError) else "It is not one statement."
            raise CommandDamaged(self.topic.name, offset, f"Its statement cannot run: {told}") from error  # fmt: skip
        for query_id in done.ended:
            before = self._endings.get(query_id, 0)
            self.ended.add(checkpoint_of(query_id, before))
            self._endings[query_id] = before + 1
            self._starts.pop(query_id, None)


def _kept_function(node: exp.Expression, state: SessionState) -> Mapping[str, Any] | None:
    """Return what the record of a statement keeps of the function that it has made; None where it makes none."""
    if not isinstance(node, nodes.CreateFunction):
        return None
    # Imported here: a statement loads what it needs.
    from duolog.ksql.udf.modules import as_kept  # noqa: PLC0415

    return as_kept(state.catalog.functions[node.this.name.upper()])


def _differs(one: SessionState, other: SessionState) -> bool:
    """Tell if a statement has changed what all sessions share."""
    return (
        one.catalog.sources != other.catalog.sources
        or one.catalog.types != other.catalog.types
        or one.catalog.functions != other.catalog.functions
        or {name: (id(query.planned), query.state) for name, query in one.queries.items()}
        != {name: (id(query.planned), query.state) for name, query in other.queries.items()}
    )
