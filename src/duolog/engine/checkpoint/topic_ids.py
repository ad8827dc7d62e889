"""Detect topics that were deleted and created again, by their ids.

A recreated source topic has the same name, and its offsets start at 0 again. A query would continue
at its old offset and silently skip the records before it. So the checkpoint stores the ids of the
topics, which are compared at each start and while the query runs.

A result topic that is deleted while a query runs is created again by the next record, with the
broker's defaults: not compacted, with another number of partitions, without earlier results. It is
compared while the query runs.

The same goes for a changelog, whose lost entries would show only in a restore. If brokers do not
create topics, it is missing.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from duolog.core.errors import DuologError
from duolog.engine.checkpoint.truncation_watch import TruncationWatch
from duolog.engine.errors import (
    BrokerUnreachable,
    ChangelogLost,
    ResultTopicRecreated,
    SourceTopicMissing,
    SourceTopicRecreated,
)
from duolog.engine.topics.offsets import EndOffsets

LOOK_EVERY_S: Final = 5.0


def rewrite_changelogs_hint(*, of_sql: bool) -> str:
    """Return the hint to rewrite changelogs from an intact checkpoint; empty without a command.

    `duolog repartition` needs the file of a topology, which SQL's queries do not have.
    """
    if of_sql:
        return ""
    return (
        "The checkpoint still has the state of the last commit: `duolog repartition FILE --tasks "
        "N` with the current number of tasks makes the next start write all of it to new "
        "changelogs."
    )


@dataclass(slots=True)
class TopicWatch:
    """Compares the ids of the topics from time to time. Threads: one."""

    kept: Mapping[str, str]
    ask: Callable[[Mapping[str, str]], Mapping[str, str]]
    application_id: str
    written: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics that it writes, as of its start."""
    changelogs: dict[str, str] = field(default_factory=dict)
    """The ids of the changelogs of its stores; an empty one is not known yet."""
    gone: Callable[[Iterable[str]], Iterable[str]] = lambda _topics: ()
    """Returns those of the given topics that a broker reports as missing."""
    of_sql: bool = False
    """Whether it is a query of SQL's."""
    sources: Collection[str] = ()
    """The topics that it reads."""
    logs: TruncationWatch | None = None
    """Compares positions with their logs."""
    _missed: frozenset[str] = frozenset()
    _asked_at: float = field(default_factory=time.monotonic)

    def look(self, positions: Callable[[], tuple[EndOffsets, EndOffsets]] | None = None) -> None:
        """Compare ids and logs, at most every few seconds.

        `positions` returns the positions that were read, and those that were committed.

        Raises:
            LogTruncated: a log is shorter than a position in it.
            SourceTopicRecreated: a source topic has another id.
            ResultTopicRecreated: a result topic has another id.
            ChangelogLost: a changelog has another id, or is missing.
        """
        if time.monotonic() - self._asked_at < LOOK_EVERY_S:
            return
        self._asked_at = time.monotonic()
        found = self.ask({**self.written, **self.kept, **self.changelogs})
        ensure_same_topics(self.kept, found, self.application_id)
        for topic, id_before in self.written.items():
            if found.get(topic, id_before) != id_before and topic not in self.kept:
                raise ResultTopicRecreated(
                    f'result topic "{topic}" was deleted and created again',
                    query_id=self.application_id,
                    detail="It was created with the broker's defaults, and lacks what was written "
                    "to it before.",
                    hint="Delete it again: the next start creates it correctly. It then contains "
                    f"only later changes; `duolog state reset {self.application_id}` writes all "
                    "results again.",
                )
        self._look_at_changelogs(found)
        self._look_at_logs(positions, found)

    def ensure_whole(self, positions: EndOffsets) -> None:
        """Compare the source topics and their logs with the positions at which reading continues.

        Raises:
            SourceTopicRecreated: a topic has another id: a query waits for a missing topic, which
                may be created meanwhile.
            LogTruncated: a log is shorter than a position in it.
        """
        ensure_same_topics(self.kept, self.ask(self.kept), self.application_id)
        if self.logs is not None:
            # The application may no longer read a topic, for example after an upgrade.
            read = {topic: at for topic, at in positions.items() if topic in self.sources}
            self.logs.ensure_whole(read)

    def note(self, positions: Callable[[], tuple[EndOffsets, EndOffsets]]) -> None:
        """Store the positions of a query that ends, as far as possible."""
        # On failure the last stored positions remain.
        with contextlib.suppress(DuologError, PySparkException, Py4JError, ConnectionError):
            self._look_at_logs(positions, self.ask({**self.kept, **self.changelogs}))

    def _look_at_logs(
        self,
        positions: Callable[[], tuple[EndOffsets, EndOffsets]] | None,
        topic_ids: Mapping[str, str],
    ) -> None:
        # No ids means that no broker answers; stopping a query must not wait for one.
        if self.logs is not None and positions is not None and topic_ids:
            # What a broker does not answer now is compared the next time.
            with contextlib.suppress(BrokerUnreachable, SourceTopicMissing):
                self.logs.look(*positions(), topic_ids)

    def _look_at_changelogs(self, found: Mapping[str, str]) -> None:
        for topic, known in self.changelogs.items():
            now = found.get(topic, known)
            if known not in ("", now):
                raise self._lost(topic, "was deleted and created again")
            self.changelogs[topic] = now
        missing = [topic for topic in self.changelogs if topic not in found]
        # A broker that has just started may report fewer topics than exist.
        missed, self._missed = self._missed, frozenset(self.gone(missing) if missing else ())
        for topic in sorted(missed & self._missed):
            raise self._lost(topic, "was deleted")

    def _lost(self, topic: str, what: str) -> ChangelogLost:
        return ChangelogLost(
            f'changelog "{topic}" {what}',
            query_id=self.application_id,
            detail="State that is restored from it would lack everything that has not changed "
            "since.",
            hint=rewrite_changelogs_hint(of_sql=self.of_sql)
            or f"`duolog state reset {self.application_id}` starts again from the source topics.",
        )


def ensure_same_topics(
    kept: Mapping[str, str], found: Mapping[str, str], application_id: str
) -> None:
    """Compare the ids of topics; a topic without a reported id is skipped.

    Raises:
        SourceTopicRecreated: a topic has another id than in the checkpoint.
    """
    for topic, id_now in found.items():
        if kept.get(topic, id_now) != id_now:
            raise SourceTopicRecreated(
                f'source topic "{topic}" was deleted and created again',
                query_id=application_id,
                detail=f"Its id is {id_now}; the checkpoint was written from {kept[topic]}. "
                "The offsets in the checkpoint mean other records.",
                hint=f"Run `duolog state reset {application_id}` to compute everything again from "
                "the new topic, or start under another application id. Results of the old topic "
                "stay as they are.",
            )
