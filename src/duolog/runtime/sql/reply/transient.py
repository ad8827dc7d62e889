"""Push query on Spark, with its rows in a temporary topic that is deleted at the end.

    SELECT k, COUNT(*) FROM s GROUP BY k EMIT CHANGES     plan ─▶ Spark ─▶ topic __push-… ─▶ rows

The plan is that of a persistent query. A deleted row of a table is its key with nulls. SELECT
DISTINCT emits each row once; emitted rows are kept in memory.
"""

import contextlib
import shutil
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from confluent_kafka import Message
from sqlglot import exp

from duolog.core.errors import DuologError, SerdeError
from duolog.engine.start_options import StartOptions
from duolog.ksql import settings
from duolog.ksql.catalog.properties import SELECTED, Properties
from duolog.ksql.compatibility.extensions import changes_of
from duolog.ksql.errors import SqlError
from duolog.ksql.expressions.aggregates import aggregates_in
from duolog.ksql.planning.planner import Planned, plan_query
from duolog.ksql.planning.sinks import Target
from duolog.ksql.planning.sources import PSEUDO, WINDOW_BOUNDS
from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.types import sql_name
from duolog.ksql.syntax.words import ROWTOPIC
from duolog.plan.types import BIGINT
from duolog.runtime.packed.hashable import hashable
from duolog.runtime.result_topics import create_result_topics
from duolog.runtime.sql.answers import DeletedRow
from duolog.runtime.sql.duck.clauses import ResultColumn
from duolog.runtime.sql.duck.queries import SourceColumn
from duolog.runtime.sql.needs import Engine, Planning
from duolog.runtime.sql.reply.row_source import RowSource
from duolog.runtime.topic_reader import TopicReader
from duolog.runtime.topic_values import TopicValues

if TYPE_CHECKING:
    from duolog.engine.query.query import RunningQuery

_TOPIC: Final = "__push-{}"
_MARK: Final = "DUOLOG_ROW"
"""Column in every row, because a value needs at least one column."""
_ITEM: Final = "DUOLOG_ITEM_{}"


def transient_rows(
    engine: Engine, select: exp.Select
) -> tuple[tuple[tuple[str, str], ...], RowSource]:
    """Start a query; return its columns and rows.

    Raises:
        SqlError: the query is invalid.
        DuologError: Spark does not start it, or the broker refuses its topic.
    """
    name = uuid.uuid4().hex[:16]
    chosen = TransientPlan(engine, select, _TOPIC.format(name))
    plan = chosen.planned.plan
    starts = {}
    if engine.session.state.settings[settings.OFFSET_RESET] == "latest":
        there = engine.topics.partitions()
        streams = [one for one in plan.sources if not one.is_table]
        topics = [topic for topic in there if any(one.reads_topic(topic) for one in streams)]
        starts = engine.topics.ends(topics, there)
    create_result_topics(plan, engine.brokers)
    rows = _TransientRows(engine, chosen, f"push-{name}")
    try:
        rows.start(starts)
    except BaseException:
        rows.close()
        raise
    return chosen.columns, rows


class TransientPlan:
    """Plan of a query, and the selected columns in order.

    A plan has the key first, selected or not, so items are given generated names by which they are
    found.
    """

    def __init__(self, engine: Planning, select: exp.Select, topic: str) -> None:
        self._engine = engine
        self._topic = topic
        names = self._plan(_with_mark(_pseudo_named(select)))
        starred = any(_is_star(item) for item in select.expressions)
        self.planned = names if starred else self._plan(_with_mark(_numbered(select)))
        found = self._columns(names)
        mine = self._columns(self.planned)
        wanted = [_ITEM.format(number) for number in range(len(select.expressions))]
        if starred:
            wanted = _with_bounds(names, mine)
        at_name = {column.name: at for at, column in enumerate(mine)}
        order = [at_name[one] for one in wanted]
        self.places = tuple(order)
        self.results = tuple(
            ResultColumn(_unnumbered(found[at].name), found[at].type) for at in order
        )
        self.columns = tuple((one.name, sql_name(one.type)) for one in self.results)
        self.emits_deletes = self.planned.is_table or changes_of(select) is not None
        """True if deleted rows are emitted, as keys with nulls."""
        grouped = select.args.get("group") or aggregates_in(*select.expressions)
        self.once = select.args.get("distinct") is not None and not grouped
        """True if each distinct row is emitted once."""

    def _plan(self, select: exp.Select) -> Planned:
        try:
            return self._planned(select, "VALUE_FORMAT", "KEY_FORMAT")
        except SqlError:
            # A result without a key has no key format.
            return self._planned(select, "VALUE_FORMAT")

    def _planned(self, select: exp.Select, *formats: str) -> Planned:
        given = [
            nodes.Property(this=exp.to_identifier(one), value=exp.Literal.string("JSON"))
            for one in formats
        ]
        state = self._engine.session.state
        target = Target(self._topic, Properties(given, SELECTED), state.settings)
        return plan_query(select, self._engine.catalog, target)

    def _columns(self, planned: Planned) -> list[SourceColumn]:
        """Return the columns in the topic: key, window bounds, value."""
        keys = [SourceColumn(one.name, one.type) for one in planned.columns if one.role == "KEY"]
        values = [SourceColumn(one.name, one.type) for one in planned.columns if one.role != "KEY"]
        (sink,) = planned.plan.sinks
        bounds = ("WINDOWSTART", "WINDOWEND") if sink.schema.window is not None else ()
        return [*keys, *(SourceColumn(one, BIGINT) for one in bounds), *values]


def _with_bounds(planned: Planned, columns: Sequence[SourceColumn]) -> list[str]:
    """Return the selected columns in order; window bounds that a star includes follow the key."""
    known = [column.name for column in columns]
    selected = [name for name in planned.selected if name != _MARK]
    bounds = [name for name in WINDOW_BOUNDS if name in known and name not in selected]
    keys = [column.name for column in planned.columns if column.role == "KEY"]
    behind = 1 + max((selected.index(name) for name in keys if name in selected), default=-1)
    return [*selected[:behind], *bounds, *selected[behind:]]


def _is_star(item: exp.Expression) -> bool:
    return item.find(exp.Star) is not None and not isinstance(item, exp.Alias | exp.Anonymous)


def _with_mark(select: exp.Select) -> exp.Select:
    select.append("expressions", exp.alias_(exp.true(), _MARK, quoted=True))
    return select


def _pseudo_named(select: exp.Select) -> exp.Select:
    """Rename pseudo-columns, which topics cannot have; in a join they have other names already."""
    copy = select.copy()
    copy.set("limit", None)
    if select.args.get("joins"):
        return copy
    copy.set(
        "expressions",
        [
            exp.alias_(item, _ITEM.format(item.name), quoted=True)
            if isinstance(item, exp.Column) and item.name in (*PSEUDO, ROWTOPIC)
            else item
            for item in copy.expressions
        ],
    )
    return copy


def _unnumbered(name: str) -> str:
    return name.removeprefix(_ITEM.format(""))


def _numbered(select: exp.Select) -> exp.Select:
    copy = select.copy()
    copy.set("limit", None)
    items: Sequence[exp.Expression] = [
        item.this if isinstance(item, exp.Alias) else item for item in copy.expressions
    ]
    named = [
        exp.alias_(item, _ITEM.format(number), quoted=True) for number, item in enumerate(items)
    ]
    copy.set("expressions", named)
    return copy


class _TransientRows(TopicReader):
    """Runs a query, and reads its result."""

    def __init__(self, engine: Engine, chosen: TransientPlan, application_id: str) -> None:
        (sink,) = chosen.planned.plan.sinks
        super().__init__(sink.topic, engine.brokers)
        self._engine = engine
        self._plan = chosen.planned.plan
        self._places = chosen.places
        self._emits_deletes = chosen.emits_deletes
        self._once: set[object] | None = set() if chosen.once else None
        self._values = TopicValues([sink])
        self._application_id = application_id
        self._query: RunningQuery | None = None
        self._rows: list[tuple[object, ...]] = []
        self._no_value = (None,) * len(self._values.value_columns)
        self._open_reader = False

    def start(self, starts: Mapping[str, Mapping[int, int]]) -> None:
        self.__enter__()
        self._open_reader = True
        begins = {topic: dict(at) for topic, at in starts.items()}
        self._query = self._engine.spark.start(
            self._plan, self._application_id, "micro-batch", StartOptions(starts=begins)
        )

    def take(self, message: Message) -> None:
        try:
            key = self._values.key_row(message.key()) or ()
            value = self._values.value_row(message.value()) or self._no_value
            if message.value() is None and not self._emits_deletes:
                return
        except SerdeError:
            return
        whole = (*key, *value)
        row = tuple(whole[at] for at in self._places)
        if message.value() is None:
            row = DeletedRow(row)
        if self._once is not None:
            if (identity := hashable(row)) in self._once:
                return
            self._once.add(identity)
        self._rows.append(row)

    def next_rows(self, timeout_s: float) -> list[tuple[object, ...]]:
        if self.read_on(timeout_s) == 0 and self._query is not None and self._query.has_ended:
            error = self._query.exception()
            raise error or SqlError("the query has ended")
        rows, self._rows = self._rows, []
        return rows

    def close(self) -> None:
        query, self._query = self._query, None
        try:
            if query is not None:
                query.stop()
        finally:
            if self._open_reader:
                self._open_reader = False
                self.__exit__(None, None, None)
            self._engine.topics.delete(self.topic)
            self._forget()

    def _forget(self) -> None:
        """Delete the checkpoint, and what the query has in Kafka: changelogs and commit topics."""
        # Imported here: it loads the engine, as a started query has.
        from duolog.runtime.states import KeptState, internal_topics  # noqa: PLC0415

        kept = KeptState(self._engine.data / "checkpoints" / self._application_id)
        prefix = self._engine.spark.config.internal_prefix
        internal = internal_topics(self._application_id, kept.fixed, prefix)
        shutil.rmtree(kept.directory, ignore_errors=True)
        with contextlib.suppress(DuologError):
            there = self._engine.topics.partitions()
            for topic in internal:
                if topic in there:
                    self._engine.topics.delete(topic)
