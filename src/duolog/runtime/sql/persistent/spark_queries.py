"""Run persistent queries on this process's Spark session, each with its own checkpoint.

    data/<service id>/checkpoints/CSAS_LATE_0/   state and source offsets of a query
    data/<service id>/engine.log                 output of the JVM

Queries of a server have changelogs, unless `state.changelog` is set: another server restores their
state from these when they move there. If servers share `data`, it continues from the checkpoint.

The JVM starts with the first query, or with `warm_up`. All queries run in micro-batches and share
threads; an idle query only reads the ends of its topics every `interval_ms`.
"""

import contextlib
import re
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from duolog.core.errors import DuologError
from duolog.engine.start_options import StartOptions
from duolog.ksql.settings import EXACTLY_ONCE
from duolog.runtime.broker_probe import ensure_reachable
from duolog.runtime.metrics.local_registry import register_process
from duolog.runtime.metrics.spans import trace
from duolog.runtime.sql.command_log.desired_query import DesiredQuery
from duolog.runtime.sql.command_log.topics import Topics
from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.engine import Engine, EngineConfig
    from duolog.engine.jvm.exit_status import JvmEnd
    from duolog.engine.query.query import RunningQuery
    from duolog.engine.upgrades.upgrade_plan import UpgradePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkQuerySettings:
    """Settings that all queries of a service share."""

    data: Path
    """Directory of the checkpoints and of the JVM's log."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of the Spark engine by name, as strings."""
    processing_log: str | None = None
    """Topic of the processing log."""
    log_rows: bool = False
    """True if the processing log contains rows."""
    interval_ms: int = 1000
    """Pause of an idle query before it polls again."""
    internal_prefix: str = ""
    """Start of the names of internal topics."""
    moves: bool = False
    """True if queries may move to other servers: new ones then have changelogs."""
    log_name: str = "engine.log"
    """File of the JVM's output, in `data`."""


class SparkQueries:
    """Starts queries on one engine. Threads: any."""

    def __init__(self, bootstrap: Brokers | str, topics: Topics, given: SparkQuerySettings) -> None:
        self._bootstrap = bootstrap
        self._topics = topics
        self._given = given
        self._opened: Engine | None = None
        self._given_up = threading.Event()
        self._opening = threading.Lock()

    @property
    def engine(self) -> "Engine":
        """The engine; its JVM starts when it is first used."""
        with self._opening:
            if self._opened is None:
                # Imported here: pyspark takes half a second, which SHOW STREAMS does not need.
                from duolog.engine import Engine  # noqa: PLC0415

                self._opened = Engine(self._config(), self._given_up)
            return self._opened

    def warm_up(self) -> None:
        """Start the JVM now.

        Raises:
            ConfigError: Java or the Kafka connector is missing, or a setting is invalid.
            QueryError: the JVM did not start.
        """
        self.engine.warm_up()

    def start(self, wanted: DesiredQuery) -> "RunningQuery":
        """Start a query from its checkpoint; its result topic is created if it is missing.

        Raises:
            DuologError: it does not start.
        """
        # Imported here, as the engine is.
        from duolog.engine.errors import ChangelogsDiffer  # noqa: PLC0415
        from duolog.engine.settings import LOG_AND_CONTINUE  # noqa: PLC0415
        from duolog.runtime.result_topics import create_result_topics  # noqa: PLC0415

        ensure_reachable(self._bootstrap)
        plan = wanted.query.planned.plan
        there = self._topics.partitions()
        written = [topic for sink in plan.sinks for topic in sink.topics]
        letters = wanted.query.dead_letters or self._given.processing_log
        if any(topic not in there for topic in (*written, letters) if topic):
            create_result_topics(plan, self._bootstrap, letters)
        errors = self.engine.config.errors
        if wanted.query.dead_letters:
            errors = replace(errors, dead_letter_topic=letters, processing_log=False)
        if wanted.query.skips_refused:
            errors = replace(errors, production=LOG_AND_CONTINUE)
        register_process()
        options = StartOptions(
            wanted.starts,
            errors,
            # State that a replacement cannot keep is rebuilt while the old query runs.
            upgrade="rebuild" if wanted.replaces else None,
            exactly_once=wanted.query.guarantee == EXACTLY_ONCE,
        )
        application_id = application_id_of(wanted.checkpoint)
        try:
            query = self.engine.start(plan, application_id, "micro-batch", options)
        except ChangelogsDiffer:
            if not self._restore_earlier(wanted, application_id):
                raise
            query = self.engine.start(plan, application_id, "micro-batch", options)
        trace(query)
        return query

    def _restore_earlier(self, wanted: DesiredQuery, application_id: str) -> bool:
        """Restore the state of a query that this one replaces; return false if that fails.

        The server that ran it has not upgraded the state, which the next start does.
        """
        from duolog.engine.errors import ChangelogsDiffer  # noqa: PLC0415 - as the engine is

        for one in wanted.earlier:
            with contextlib.suppress(ChangelogsDiffer):
                return self.engine.restore(one.planned.plan, application_id, forced=False)
        return False

    def explain_upgrade(self, wanted: DesiredQuery) -> "UpgradePlan":
        """Return what a replacement does with the state of a query; needs no JVM.

        Raises:
            CheckpointDamaged: a file of its checkpoint cannot be read.
        """
        application_id = application_id_of(wanted.checkpoint)
        return self.engine.explain_upgrade(wanted.query.planned.plan, application_id)

    def positions(self, checkpoint: str) -> dict[str, dict[int, int]]:
        """Return the next offsets in the checkpoint of a query that has stopped, by topic.

        Empty if it has no checkpoint here, or its files cannot be read. While it is restored, they
        contain offsets of changelogs instead.
        """
        # Imported here, as the engine is.
        from duolog.engine.changelog.logged_checkpoint import LoggedCheckpoint  # noqa: PLC0415
        from duolog.runtime.states import KeptState  # noqa: PLC0415

        kept = KeptState(self._checkpoints / application_id_of(checkpoint))
        if not kept.directory.exists() or LoggedCheckpoint(kept.checkpoint).is_half_restored:
            return {}
        return kept.positions()

    def abandon(self, checkpoint: str) -> None:
        """End a start that rebuilds state on a checkpoint, if there is one."""
        if (engine := self._opened) is not None:
            engine.abandon_rebuild(application_id_of(checkpoint))

    def is_running(self, checkpoint: str) -> bool:
        """Return false: a query that was stopped does not run any more."""
        return False

    def force_stop(self, checkpoint: str) -> None:
        """Do nothing: a query that was stopped does not run any more."""

    def kill_jvm(self) -> None:
        """Kill the JVM, unless this process uses it otherwise; running queries start again."""
        if (engine := self._opened) is not None:
            engine.kill_jvm()

    def forget(self, checkpoint: str) -> None:
        """Delete the checkpoint of an ended query, its changelogs, and its commit topics."""
        # Imported here, as the engine is.
        from duolog.runtime.states import KeptState, internal_topics  # noqa: PLC0415

        application_id = application_id_of(checkpoint)
        kept = KeptState(self._checkpoints / application_id)
        fixed, prefix = kept.fixed, self._given.internal_prefix
        shutil.rmtree(kept.directory, ignore_errors=True)
        # Without a broker they stay; a later query with this id gets an error.
        with contextlib.suppress(DuologError, OSError):
            there = self._topics.partitions()
            if not fixed and any(
                one in there for one in internal_topics(application_id, {}, prefix)
            ):
                # It has run on another server: its commit topic has the same facts.
                found = self.engine.what_is_kept(application_id)
                fixed = {} if found is None else found.application
            for topic in internal_topics(application_id, fixed, prefix):
                if topic in there:
                    self._topics.delete(topic)

    def ended_jvm(self) -> "JvmEnd | None":
        """Return the end of the JVM; None while it runs, and before it starts."""
        return None if self._opened is None else self._opened.ended_jvm

    def ping_jvm(self) -> None:
        """Return once the JVM has answered a call; at once if none runs.

        Raises:
            Py4JError, ConnectionError: it ends.
        """
        if self._opened is not None:
            self._opened.ping_jvm()

    def give_up(self) -> None:
        """Abort a JVM that is starting, and start none from now on."""
        self._given_up.set()

    def close(self) -> None:
        """Stop the JVM if this process does not use it otherwise. Does nothing if closed."""
        # Reset after the stop, so that `end_now` finds it.
        if (engine := self._opened) is not None:
            engine.close()
            self._opened = None

    def end_now(self) -> None:
        """Release all that wait for the JVM: kill it if this process does not use it otherwise."""
        self._given_up.set()
        if (engine := self._opened) is not None:
            engine.end_now()

    @property
    def _checkpoints(self) -> Path:
        return self._given.data / "checkpoints"

    def _config(self) -> "EngineConfig":
        from duolog.engine import EngineConfig  # noqa: PLC0415
        from duolog.engine.settings import FIRST_START, OF_SQL  # noqa: PLC0415

        config = EngineConfig.from_settings(
            self._given.settings,
            bootstrap_servers=self._bootstrap,
            checkpoint_dir=self._checkpoints,
            log_path=self._given.data / self._given.log_name,
        )
        errors = replace(
            config.errors,
            processing=OF_SQL.processing,
            aggregation=OF_SQL.aggregation,
            log_rows=self._given.log_rows,
            dead_letter_topic=self._given.processing_log,
            processing_log=self._given.processing_log is not None,
        )
        is_given = "state.changelog" in self._given.settings
        return replace(
            config,
            changelog=FIRST_START if self._given.moves and not is_given else config.changelog,
            errors=errors,
            interval_ms=self._given.interval_ms,
            internal_prefix=self._given.internal_prefix,
        )


def application_id_of(checkpoint: str) -> str:
    """Return the directory name of a checkpoint; other characters are replaced by their numbers.

    Example:
        >>> application_id_of("CSAS_late flights_0")
        'CSAS_late-20.flights_0'
    """
    return re.sub(r"[^A-Za-z0-9_]", lambda found: f"-{ord(found[0]):x}.", checkpoint)
