"""The entry: starts the plan of an application as a query, or explains how it would run.

    engine = Engine(EngineConfig(bootstrap_servers="127.0.0.1:9092", checkpoint_dir=data / "checkpoints"))
    query = engine.start(plan, "flights")
    query.progress(); query.stop(); engine.close()

Thread rule: any thread; starts of one application go one after the other.
"""

import contextlib
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError
from duolog.engine.calling import Call
from duolog.engine.checkpoint import Checkpoint, Json
from duolog.engine.errors import CheckpointInUse
from duolog.engine.explain import explain
from duolog.engine.launch import Launcher
from duolog.engine.lower import lower
from duolog.engine.lowering.idle import waits_idle
from duolog.engine.lowering.looks import Bounds
from duolog.engine.modes import ChosenMode, choose_mode
from duolog.engine.owner import claim, ensure_no_live_owner, give_back, release, reserve
from duolog.engine.patterns import matched_topics, with_topics
from duolog.engine.query import JVM_IS_GONE, RunningQuery
from duolog.engine.session import Session, open_session, slots_of
from duolog.engine.settings import EngineConfig, ErrorHandling, Mode
from duolog.engine.slots import hold_slots, slots_free, slots_needed
from duolog.engine.starts import starting_offsets
from duolog.engine.store_layouts import shape_of
from duolog.engine.store_names import Names
from duolog.engine.stores import KeptRow, Look, read_committed
from duolog.engine.timestamps import with_default_extractor
from duolog.engine.topic_ids import TopicWatch
from duolog.engine.topics import EndOffsets, TopicReader
from duolog.plan.levels import Levels, find_levels
from duolog.plan.nodes import Node, Plan

_APPLICATION_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
_PACKAGES: Final = ("duolog", "pyspark")

# Of the whole process: of two queries on one checkpoint Spark stops the first without a word. Starts on others go side
# by side; two of them may share a lock by chance, and then one waits.
_starting: Final = tuple(threading.Lock() for _ in range(64))
_by_checkpoint: Final[dict[Path, RunningQuery]] = {}


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan as it would run: cut, with its topics counted and its mode chosen."""

    levels: Levels
    partition_counts: dict[str, int]
    needed: int
    slots_total: int
    chosen: ChosenMode


class Engine:
    """Runs plans on the Spark session of this process.

    A JVM that it is just starting is given up when `given_up` is set.
    """

    def __init__(self, config: EngineConfig, given_up: threading.Event | None = None) -> None:
        self.config = config
        self._given_up = given_up or threading.Event()
        self._topics = TopicReader(config.bootstrap_servers, config.client_options)
        self._queries: dict[str, RunningQuery] = {}
        self._reserved: set[Path] = set()
        self._opened: Session | None = None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Start the session now, so that the first query does not wait for it.

        Raises:
            ConfigError: there is no Java or no connector, or this process runs Spark with other settings.
        """
        self._session()

    def check(self, plan: Plan, application_id: str) -> None:
        """Raise what `start` would, as far as it can be told without Spark; changes nothing.

        A start says it anyway, after the seconds that a JVM takes.

        Raises:
            ConfigError, SourceTopicMissing, BrokerUnreachable, CheckpointInUse, CheckpointMismatch,
            CheckpointDamaged, SourceTopicRecreated: as `start`.
        """
        self._ensure_can_call(plan)
        checkpoint = self._checkpoint(application_id)
        _ensure_not_running(checkpoint.directory, application_id)
        ensure_no_live_owner(checkpoint.directory, application_id)
        counts = self._topics.partition_counts(_read(plan, self._matched(plan, application_id)))
        levels = find_levels(plan, self._tasks(checkpoint, counts))
        shape = shape_of(self._spec(levels, application_id), Names.of(levels))
        checkpoint.ensure_fits(application_id, shape, self._topics.topic_ids(counts))

    def reserve(self, application_id: str) -> None:
        """Keep other processes of this machine from starting the application until this engine closes.

        `start` does it, too. Who warms up first says it before, so that a second process does not wait for a
        JVM of its own to be refused.

        Raises:
            ConfigError: the name cannot name an application.
            CheckpointInUse, CheckpointNotWritable: as `start`.
        """
        directory = self._checkpoint(application_id).directory
        if reserve(directory, application_id):
            self._reserved.add(directory)

    def start(
        self,
        plan: Plan,
        application_id: str,
        mode: Mode = "auto",
        starts: EndOffsets | None = None,
        errors: ErrorHandling | None = None,
    ) -> RunningQuery:
        """Start `plan` under a name that its state is kept by.

        `starts` tells where its first start begins in the topics that it names, whatever their sources say. `errors` takes
        the place of what the engine's settings say of records that are wrong.

        Raises:
            ConfigError: the name cannot name an application.
            SourceTopicMissing: a topic that the plan reads does not exist.
            BrokerUnreachable: no broker answers.
            CheckpointInUse: the application runs already, in this process or another.
            CheckpointMismatch: the application's state belongs to another plan.
            CheckpointDamaged: a file of the checkpoint cannot be read.
            CheckpointNotWritable: nothing can be written to the checkpoint.
            SlotsMissing: real-time mode was asked for and does not fit the free slots.
            QueryFailed: Spark refuses the query.
        """
        self._ensure_can_call(plan)
        checkpoint = self._checkpoint(application_id)
        with _starting[hash(checkpoint.directory) % len(_starting)]:
            _ensure_not_running(checkpoint.directory, application_id)
            self.reserve(application_id)
            session = self._session()
            # From here on it goes with the claim: of the same id, the next engine may have it when this one closes.
            self._reserved.discard(checkpoint.directory)
            claim(checkpoint.directory, session.holder, application_id, pid=session.java_pid)
            try:
                checkpoint.forget_unplanned()
                query = self._start(
                    plan,
                    application_id,
                    mode,
                    checkpoint,
                    session,
                    starts=starts or {},
                    config=replace(self.config, errors=errors or self.config.errors),
                )
            except BaseException:
                # Why the start failed says more. Of a JVM that has gone the system has freed the lock.
                with contextlib.suppress(OSError, *JVM_IS_GONE):
                    release(checkpoint.directory, session.holder, session.java_pid)
                raise
            self._queries[application_id] = _by_checkpoint[checkpoint.directory] = query
            return query

    def explain(self, plan: Plan, application_id: str = "", mode: Mode = "auto") -> str:
        """Return how `plan` would run: levels, sub-topologies, stores, sinks, mode and why.

        Spark is not started. The broker is asked for partitions, if one answers: a plan can be
        explained before its topics exist.
        """
        checkpoint = self._checkpoint(application_id or "unnamed")
        known = self._topics.known_partition_counts(
            lambda topic: any(source.reads_topic(topic) for source in plan.sources)
        )
        topics = [
            topic
            for source in plan.sources
            for topic in sorted(filter(source.reads_topic, known or ())) or [source.topic]
        ]
        slots_total = slots_of_master(self.config.master)
        prepared = self._prepare(plan, checkpoint, mode, slots_total, known or {})
        return explain(
            prepared.levels,
            application_id,
            prepared.chosen,
            {topic: (known or {}).get(topic) for topic in topics},
            no_broker_at="" if known is not None else self.config.bootstrap_servers,
            tasks_pinned=checkpoint.pinned_tasks() is not None,
            cache_bytes_max=self.config.cache_bytes_max,
        )

    def committed_rows(
        self, plan: Plan, application_id: str, table: Node, bounds: Bounds | None = None
    ) -> list[KeptRow]:
        """Return the rows of the store of `table` as the last commit has left them.

        Raises:
            CheckpointMismatch: the application's state belongs to another plan.
            CheckpointDamaged: a file of the checkpoint cannot be read.
            QueryFailed: Spark cannot read the state.
        """
        checkpoint = self._checkpoint(application_id)
        tasks = checkpoint.pinned_tasks()
        if tasks is None:
            return []
        levels = find_levels(plan, tasks)
        spec = self._spec(levels, application_id)
        checkpoint.ensure_fits(application_id, shape_of(spec, Names.of(levels)), {})
        look = Look(levels, spec, table, bounds or {})
        return read_committed(self._session(), checkpoint.spark_dir, look)

    def close(self) -> None:
        """Stop all queries of this engine; the last engine of this process ends the JVM."""
        for query in self._queries.values():
            query.stop()
        # What an ended query holds: a client's threads and connections, the session of a JVM.
        for place, query in list(_by_checkpoint.items()):
            if query.has_ended:
                del _by_checkpoint[place]
        self._queries.clear()
        while self._reserved:
            give_back(self._reserved.pop())
        # Known until it has ended, so that `end_now` finds it.
        if (opened := self._opened) is not None:
            opened.close()
            self._opened = None

    def end_now(self) -> None:
        """Let whoever waits for the JVM go on: it is killed, unless others of this process use it. Any thread.

        Queries lose what they have not committed, and do it again at their next start, as after a crash.
        """
        self._given_up.set()
        if (opened := self._opened) is not None:
            opened.end_now()

    def _start(
        self,
        plan: Plan,
        application_id: str,
        mode: Mode,
        checkpoint: Checkpoint,
        session: Session,
        *,
        starts: EndOffsets,
        config: EngineConfig,
    ) -> RunningQuery:
        matched = self._matched(plan, application_id)
        counts = self._topics.partition_counts(_read(plan, matched))
        prepared = self._prepare(plan, checkpoint, mode, slots_of(session.spark), counts)
        spec = self._spec(prepared.levels, application_id)
        shape = shape_of(spec, Names.of(prepared.levels))
        begins: EndOffsets = {}
        if checkpoint.pinned_tasks() is None:
            now_ms = time.time_ns() // 1_000_000
            begins = starting_offsets(plan.sources, self._topics, counts, now_ms)
            begins = {**begins, **{topic: at for topic, at in starts.items() if topic in counts}}
        spec |= {
            "sources": with_topics(spec["sources"], matched),
            "errors": config.errors.spec(),
        }
        checkpoint.pin(application_id, shape, _versions(), self._topics.topic_ids(counts), begins)

        def renewed() -> Launcher:
            session = self._session()
            claim(checkpoint.directory, session.holder, application_id, pid=session.java_pid)
            checkpoint.forget_unplanned()
            return Launcher(session, config, checkpoint, spec, plan.places, counts)

        launcher = Launcher(session, config, checkpoint, spec, plan.places, counts)
        if prepared.chosen.live == "real-time":
            hold_slots(checkpoint.directory, application_id, prepared.needed, prepared.slots_total)
        query = RunningQuery(
            launcher,
            self._topics,
            prepared.chosen,
            prepared.partition_counts,
            renewed,
            TopicWatch(
                checkpoint.topic_ids(),
                self._topics.topic_ids,
                application_id,
                self._topics.topic_ids(topic for sink in plan.sinks for topic in sink.topics),
            ),
            {node.name: Call.of(node, plan.places.get(node.name, "")) for node in plan.calls},
            plan.key_functions,
        )
        query.start()
        session.note_query()
        return query

    def _ensure_can_call(self, plan: Plan) -> None:
        calling = [*(node.name for node in plan.calls), *plan.key_functions]
        if calling and not self.config.master.startswith("local"):
            raise ConfigError(
                f"{calling[0]} calls a function, which the machines of a cluster do not have",
                name="master",
                value=self.config.master,
                hint='Use a local master; or write the records to a topic, and read it: to("…").',
            )

    def _checkpoint(self, application_id: str) -> Checkpoint:
        # The name becomes a directory, and Spark's consumers are named after it.
        if not _APPLICATION_ID.fullmatch(application_id):
            raise ConfigError(
                f'"{application_id}" cannot name an application',
                name="application id",
                value=application_id,
                hint="Use letters, digits, underscores, hyphens and dots, not a dot first.",
            )
        # The JVM stands in its scratch directory, where a relative path would be made and removed.
        return Checkpoint((self.config.checkpoint_dir / application_id).resolve())

    def _session(self) -> Session:
        # Queries that lost their JVM ask at once: one share is closed, a second one would stay.
        with self._opening:
            if self._opened is None or self._opened.has_ended:
                self._opened = open_session(self.config, given_up=self._given_up)
            return self._opened

    def _prepare(
        self,
        plan: Plan,
        checkpoint: Checkpoint,
        mode: Mode,
        slots_total: int,
        counts: dict[str, int],
    ) -> _Prepared:
        largest = max(counts.values(), default=1)
        tasks = self._tasks(checkpoint, counts)
        levels = find_levels(plan, tasks)
        unknown = {
            source.topic for source in plan.sources if not any(map(source.reads_topic, counts))
        }
        partitions = sum(counts.values()) + largest * len(unknown)
        partitions += waits_idle(levels.nodes)  # Ticks are a source of one partition.
        needed = slots_needed(partitions, tasks, len(levels.levels))
        free = slots_free(slots_total)
        chosen = choose_mode(mode, needed=needed, free=free, slots_total=slots_total)
        return _Prepared(levels, counts, needed, slots_total, chosen)

    def _matched(self, plan: Plan, application_id: str) -> dict[str, tuple[str, ...]]:
        if not any(source.is_pattern for source in plan.sources):
            return {}
        return matched_topics(plan, self._topics.names(), application_id)

    def _tasks(self, checkpoint: Checkpoint, counts: dict[str, int]) -> int:
        return checkpoint.pinned_tasks() or self.config.tasks or max(counts.values(), default=1)

    def _spec(self, levels: Levels, application_id: str) -> Json:
        spec = lower(levels, application_id, cache_bytes_max=self.config.cache_bytes_max)
        sources = with_default_extractor(spec["sources"], self.config.timestamp_extractor)
        return spec | {"errors": self.config.errors.spec(), "sources": sources}


def _read(plan: Plan, matched: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the names of the topics that a plan reads."""
    names = (matched.get(source.topic, (source.topic,)) for source in plan.sources)
    return list(dict.fromkeys(name for of_source in names for name in of_source))


def _ensure_not_running(checkpoint: Path, application_id: str) -> None:
    running = _by_checkpoint.get(checkpoint)
    if running is not None and not running.has_ended:
        raise CheckpointInUse(
            f'application "{application_id}" runs already',
            query_id=application_id,
            detail=f"This process runs it, on checkpoint {checkpoint}.",
            hint='Stop it first. Another application gets another name, Topology("…"), or data '
            "directory.",
        )


def slots_of_master(master: str) -> int:
    """Return the slots that a master's name promises; Spark itself is not asked.

    Example:
        >>> slots_of_master("local[64]"), slots_of_master("local")
        (64, 1)
    """
    inside = master.partition("[")[2].rstrip("]").split(",")[0]
    return int(inside) if inside.isdigit() else 1


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
