"""Is each source topic still the one whose offsets the checkpoint holds?

A topic that was deleted and made anew has the same name, and its offsets begin at 0 again. A query
would go on at its old offset and skip what comes before it, without a word. So the ids of the topics
are kept with the checkpoint, and compared at each start and while the query runs.

A result topic that is deleted under a query comes back with the next record, as the broker makes topics:
not compacted, with other partitions, without what was written before. It is compared while the query runs.

So does a changelog, and nothing tells what it lacks before state is to come back from it. Where brokers make no topics it is gone.
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
from duolog.engine.topics.topic_reader import EndOffsets

LOOK_EVERY_S: Final = 5.0


def logged_anew(*, of_sql: bool) -> str:
    """Return how changelogs are begun anew where the checkpoint is whole; nothing where no command does it.

    `duolog repartition` wants a file of a topology: SQL's queries have none.
    """
    if of_sql:
        return ""
    return (
        "What the last commit left is whole in the checkpoint: `duolog repartition FILE --tasks N` with the number of tasks that there "
        "are has the next start write all of it to changelogs of new names."
    )


@dataclass(slots=True)
class TopicWatch:
    """Asks for the ids of the topics now and then. Threads: one."""

    kept: Mapping[str, str]
    ask: Callable[[Mapping[str, str]], Mapping[str, str]]
    application_id: str
    written: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics that it writes, as they were when it began."""
    changelogs: dict[str, str] = field(default_factory=dict)
    """The ids of the changelogs of its stores; an empty one is not known yet."""
    gone: Callable[[Iterable[str]], Iterable[str]] = lambda _topics: ()
    """Tells which of some topics a broker says that it does not have."""
    of_sql: bool = False
    """Whether it is a query of SQL's."""
    sources: Collection[str] = ()
    """The topics that it reads."""
    logs: TruncationWatch | None = None
    """Compares positions with their logs."""
    _missed: frozenset[str] = frozenset()
    _asked_at: float = field(default_factory=time.monotonic)

    def look(self, positions: Callable[[], tuple[EndOffsets, EndOffsets]] | None = None) -> None:
        """Do nothing where this was asked a moment ago. `positions` gives those that were read, and those that are committed.

        Raises:
            LogTruncated: a log is shorter than a position in it.
            SourceTopicRecreated: a topic has another id.
            ResultTopicRecreated: one that is written has.
            ChangelogLost: a changelog has, or is gone.
        """
        if time.monotonic() - self._asked_at < LOOK_EVERY_S:
            return
        self._asked_at = time.monotonic()
        found = self.ask({**self.written, **self.kept, **self.changelogs})
        ensure_same_topics(self.kept, found, self.application_id)
        for topic, id_before in self.written.items():
            if found.get(topic, id_before) != id_before and topic not in self.kept:
                raise ResultTopicRecreated(
                    f'result topic "{topic}" was deleted and made anew',
                    query_id=self.application_id,
                    detail="It came back as the broker makes topics, and without what was written to it "
                    "before.",
                    hint="Delete it once more: the next start makes it as it is to be. It then holds what "
                    f"changes from there on; `duolog state reset {self.application_id}` has all of it written again.",
                )
        self._look_at_changelogs(found)
        self._look_at_logs(positions, found)

    def ensure_whole(self, positions: EndOffsets) -> None:
        """Compare the source topics and their logs with positions that are read on from.

        Raises:
            SourceTopicRecreated: a topic has another id: a query waits for one that is missing, and somebody may make it anew.
            LogTruncated: a log is shorter than a position in it.
        """
        ensure_same_topics(self.kept, self.ask(self.kept), self.application_id)
        if self.logs is not None:
            # It may have stopped to read a topic, as after an upgrade.
            read = {topic: at for topic, at in positions.items() if topic in self.sources}
            self.logs.ensure_whole(read)

    def note(self, positions: Callable[[], tuple[EndOffsets, EndOffsets]]) -> None:
        """Keep the positions of a query that ends, as far as that can be."""
        # What was noted while it ran stands.
        with contextlib.suppress(DuologError, PySparkException, Py4JError, ConnectionError):
            self._look_at_logs(positions, self.ask({**self.kept, **self.changelogs}))

    def _look_at_logs(
        self,
        positions: Callable[[], tuple[EndOffsets, EndOffsets]] | None,
        topic_ids: Mapping[str, str],
    ) -> None:
        # No ids: no broker answers, and who stops a query does not wait for one.
        if self.logs is not None and positions is not None and topic_ids:
            # What a broker does not tell is told at a later look.
            with contextlib.suppress(BrokerUnreachable, SourceTopicMissing):
                self.logs.look(*positions(), topic_ids)

    def _look_at_changelogs(self, found: Mapping[str, str]) -> None:
        for topic, known in self.changelogs.items():
            now = found.get(topic, known)
            if known not in ("", now):
                raise self._lost(topic, "was deleted and made anew")
            self.changelogs[topic] = now
        missing = [topic for topic in self.changelogs if topic not in found]
        # A broker that has just started may know of fewer topics than there are.
        missed, self._missed = self._missed, frozenset(self.gone(missing) if missing else ())
        for topic in sorted(missed & self._missed):
            raise self._lost(topic, "was deleted")

    def _lost(self, topic: str, what: str) -> ChangelogLost:
        return ChangelogLost(
            f'changelog "{topic}" {what}',
            query_id=self.application_id,
            detail="State that comes back from what is written to it from now on would lack all that has not changed since.",
            hint=logged_anew(of_sql=self.of_sql)
            or f"`duolog state reset {self.application_id}` begins anew from the source topics.",
        )


def ensure_same_topics(
    kept: Mapping[str, str], found: Mapping[str, str], application_id: str
) -> None:
    """Compare the ids of topics; one that is not told is not compared.

    Raises:
        SourceTopicRecreated: a topic has another id than the checkpoint says.
    """
    for topic, id_now in found.items():
        if kept.get(topic, id_now) != id_now:
            raise SourceTopicRecreated(
                f'source topic "{topic}" was deleted and made anew',
                query_id=application_id,
                detail=f"Its id is {id_now}; the checkpoint was written from {kept[topic]}. "
                "The offsets in the checkpoint mean other records.",
                hint=f"Run `duolog state reset {application_id}` to compute everything again from the new topic, or "
                "start under another application id. Results of the old topic stay as they are.",
            )
