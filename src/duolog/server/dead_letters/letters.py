"""Finds, shows and replays dead letters for the clients of a server.

    list, show      READ on the dead-letter topic; letters of a query need DESCRIBE on the query's
                    sources and its result as well, and are left out otherwise
    replay          the same, and WRITE on every topic that is written, before anything is

The server itself reads and writes, with its own rights.

Threads: any; each call opens clients of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from duolog.core.errors import KafkaError
from duolog.core.units import MIB
from duolog.runtime.dead_letters.corrections import Correction, Fixed
from duolog.runtime.dead_letters.errors import ReadingStopped
from duolog.runtime.dead_letters.finding import Found, count_all, find
from duolog.runtime.dead_letters.letter import Letter
from duolog.runtime.dead_letters.reading import Range, Records
from duolog.runtime.dead_letters.replay import LetterTopic, Replay, common
from duolog.runtime.dead_letters.replaying import Outcome
from duolog.runtime.dead_letters.selection import Counts, Selection
from duolog.security.authorization.operations import Operation, ResourceType
from duolog.server.access.checks import Checks
from duolog.server.access.client import Right
from duolog.server.dead_letters.requests import LettersRequest, ReplayRequest, ranges_text
from duolog.server.dead_letters.shown import Guess, shown_letter
from duolog.server.dead_letters.visible_queries import VisibleQueries, visible_queries
from duolog.server.errors import NOT_FOUND, RequestRefused

if TYPE_CHECKING:
    from duolog.runtime.sql.service import SqlService

Json = dict[str, Any]
_ANSWER_MAX: Final = 16 * MIB
_NONE: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The dead letters of a server's cluster, for one client.

    Attributes:
        stopped: returns True if the client has waited long enough, or the server stops.
    """

    service: "SqlService"
    checks: Checks
    stopped: Callable[[], bool] = lambda: False

    def topics(self, newest: int) -> Json:
        """Return the topics with dead letters that the client may read, with counts."""
        queries = self._queries()
        with self._records() as records:
            readable = self._readable(records.topics())
            problems: list[str] = []

            def note(problem: KafkaError) -> None:
                problems.append(problem.one_line())

            found = find(records, queries.named, readable.__contains__, problems=note)
            count_all(records, found, newest, self._visible(Selection(), queries), note)
        sources = {source for one in found for _, _, _, source in one.counts.groups if source}
        writable = self.checks.allowed(Operation.WRITE, ResourceType.TOPIC, sources)
        return {
            "topics": [_topic(one, queries, writable) for one in found],
            "problems": problems,
        }

    def letters(self, topic: str, asked: LettersRequest, guess: Guess) -> Json:
        """Return letters of a topic, one partition after the other.

        Raises:
            RequestRefused: the client may not read the topic.
            KafkaError: the topic does not exist, or cannot be read.
            ReadingStopped: no letter was found in time.
        """
        shown: list[Json] = []
        size, more = 0, False
        queries = self._queries()
        self._ensure_readable(topic)
        with self._records() as records:
            letters = LetterTopic(records, topic)
            wanted = self._visible(asked.wanted, queries)
            ranges = common(letters.ranges(wanted), asked.within)
            try:
                for letter, replayed in self._marked(letters, ranges, wanted):
                    if len(shown) >= asked.limit or size >= _ANSWER_MAX:
                        more = True
                        break
                    one = shown_letter(letter, guess, queries.ids, replayed=replayed)
                    shown.append(one)
                    size += len(str(one))
            except ReadingStopped:
                if not shown:
                    raise
                more = True
        rest = _after(shown[-1], ranges) if more else {}
        return {"letters": shown, "more": more, "next": ranges_text(rest)}

    def data(self, topic: str, partition: int, offset: int, part: str) -> bytes | None:
        """Return the key or the value of one letter; raises as `letters`."""
        self._ensure_readable(topic)
        wanted = self._visible(Selection(frozenset({partition}), offset, offset), self._queries())
        with self._records() as records:
            letters = LetterTopic(records, topic)
            for letter, _ in self._marked(letters, letters.ranges(wanted), wanted):
                return letter.record.key if part == "key" else letter.record.value
        raise RequestRefused("Dead letter not found", NOT_FOUND)

    def replay(self, topic: str, asked: ReplayRequest) -> Json:
        """Replay letters, or show what would be written.

        Raises:
            RequestRefused: the client may not read the topic, or write one of the targets.
            ReadingStopped: the time was over before the first letter.
            ReplayRefused, ReplayConflict, StatementError, KafkaError: see `Replay`.
        """
        self._ensure_readable(topic)
        if asked.target.topic:
            # Before its existence is known.
            self.checks.ensure([Right(Operation.WRITE, ResourceType.TOPIC, asked.target.topic)])
        wanted = self._visible(asked.wanted, self._queries())
        with self._records() as records, _correction(asked) as correction:
            replay = Replay(
                *(records, topic, wanted, asked.target, correction),
                again=asked.again,
                limit=asked.limit,
                within=asked.within,
                by=self.checks.client,
            )
            targets = replay.check()
            self.checks.ensure(
                Right(Operation.WRITE, ResourceType.TOPIC, name) for name in sorted(targets)
            )
            outcome = (
                replay.preview() if asked.dry_run else replay.run(pause=lambda _: self.stopped())
            )
            if outcome.stopped and not outcome.reached:
                # The same request would get as far, again and again.
                raise ReadingStopped
            return _outcome(outcome, dry_run=asked.dry_run, rest=replay.rest(outcome))

    def _marked(
        self, letters: LetterTopic, ranges: dict[int, Range], wanted: Selection
    ) -> Iterator[tuple[Letter, bool]]:
        """Yield letters, each with True if it was replayed."""
        marks = letters.marks()
        for letter in letters.letters(ranges, wanted, marks):
            at = letter.record
            yield letter, at.offset in marks.get(at.partition, _NONE)

    def _ensure_readable(self, topic: str) -> None:
        self.checks.ensure([Right(Operation.READ, ResourceType.TOPIC, topic)])

    def _readable(self, topics: Mapping[str, int]) -> frozenset[str]:
        return self.checks.allowed(Operation.READ, ResourceType.TOPIC, topics)

    def _queries(self) -> VisibleQueries:
        return visible_queries(self.service.desired(), self.service.service_id, self.checks)

    def _visible(self, wanted: Selection, queries: VisibleQueries) -> Selection:
        by_id = {query_id: application_id for application_id, query_id in queries.ids.items()}
        query = by_id.get(wanted.query, wanted.query)
        return replace(wanted, query=query, hidden=queries.hidden)

    def _records(self) -> Records:
        return Records(self.service.brokers, self.stopped)


def _after(last: Json, ranges: Mapping[int, Range]) -> dict[int, Range]:
    """Return what follows a letter; partitions are read in the order of `ranges`."""
    numbers = list(ranges)
    left = numbers[numbers.index(last["partition"]) :]
    found = {number: ranges[number] for number in left}
    found[left[0]] = (last["offset"] + 1, ranges[left[0]][1])
    return {number: (start, end) for number, (start, end) in found.items() if start < end}


def _correction(asked: ReplayRequest) -> AbstractContextManager[Correction]:
    if asked.key.sql or asked.value.sql:
        # DuckDB takes a moment to load.
        from duolog.runtime.dead_letters.sql_corrections import BySql  # noqa: PLC0415

        return BySql(asked.key.sql, asked.value.sql)
    return nullcontext(Fixed(asked.key.data, asked.value.data))


def _topic(found: Found, queries: VisibleQueries, writable: frozenset[str]) -> Json:
    """Return a topic with its counts.

    `mayReplay` is true if the client may write all source topics of the letters that were counted.
    """
    counts = found.counts
    sources = {source for _, _, _, source in counts.groups if source}
    return {
        "topic": found.topic,
        **_counts(counts),
        "complete": found.complete,
        "knownBy": found.known_by,
        "queries": found.queries,
        "mayReplay": sources <= writable,
        "groups": [
            {
                "writer": writer,
                "reason": reason,
                "query": queries.ids.get(query, query),
                "source": source,
                **_counts(of_group),
            }
            for (writer, reason, query, source), of_group in sorted(counts.groups.items())
        ],
    }


def _counts(counts: Counts) -> Json:
    return {
        "letters": counts.letters,
        "replayed": counts.replayed,
        "oldest": counts.oldest_ms,
        "newest": counts.newest_ms,
    }


def _outcome(outcome: Outcome, *, dry_run: bool, rest: Mapping[int, Range]) -> Json:
    return {
        "dryRun": dry_run,
        "replayId": outcome.replay_id or None,
        "letters": outcome.total,
        "corrected": outcome.corrected,
        "written": [
            {"topic": topic, "partition": None if number < 0 else number, "letters": letters}
            for (topic, number), letters in sorted(outcome.written.items())
        ],
        "kept": [{"why": why, "letters": letters} for why, letters in outcome.kept.most_common()],
        "failed": outcome.failed,
        "more": bool(rest),
        "next": ranges_text(rest),
    }
