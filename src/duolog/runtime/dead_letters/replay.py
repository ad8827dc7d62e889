"""One replay: its letters, their targets, and their corrections.

    check     all targets exist; nothing is written before this is known for every letter
    preview   what would be written, without writing
    run       write

    with Records(brokers) as records:
        replay = Replay(records, "wrong", wanted, Target())
        print(replay.preview().total)
        replay.run()

The letters are those that the topic has when the replay is made: letters that are added meanwhile,
such as those of records that fail again, are for the next one. A replay that ends before its last
letter says in `rest` what it has left; another one that gets it continues there, and ends where the
first one would have. So a series of replays ends, also if letters are kept, replayed again or only
shown, and although records fail again. After `check`, none is written that
it has not seen, although other replays and retention remove letters meanwhile: the caller may have
checked its rights for the topics that `check` returned.

Threads: one.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from duolog.core.errors import KafkaError
from duolog.runtime.dead_letters.corrections import Correction, Fixed, Kept
from duolog.runtime.dead_letters.letter import Letter, read_letter
from duolog.runtime.dead_letters.marks import Replayed, ensure_topic, read_marks, topic_id
from duolog.runtime.dead_letters.reading import Range, Records
from duolog.runtime.dead_letters.replaying import Outcome, Replayer, Target, Written, planned
from duolog.runtime.dead_letters.selection import Selection

UNCHANGED: Final = Fixed()
_UNKNOWN_TOPIC: Final = 3
_NONE: Final[frozenset[int]] = frozenset()


def ensure_exists(name: str, topics: Container[str]) -> None:
    """Raise KafkaError unless a topic is among those that exist."""
    if name not in topics:
        raise KafkaError(
            f'topic "{name}" does not exist',
            code=_UNKNOWN_TOPIC,
            hint="List the topics of dead letters with `duolog dlq list`.",
        )


class LetterTopic:
    """A topic of dead letters, with its id, its partitions, and the marks of replays.

    Raises:
        KafkaError: it does not exist, or cannot be read.
    """

    def __init__(self, records: Records, name: str) -> None:
        self.name = name
        self._records = records
        topics = records.topics()
        ensure_exists(name, topics)
        self.partitions = topics[name]
        self.id = topic_id(records, name)

    def marks(self) -> Replayed:
        """Return the replayed offsets, as of now."""
        return read_marks(self._records, self.name, self.id)

    def ranges(self, wanted: Selection) -> dict[int, Range]:
        """Return the parts of partitions that a selection is about."""
        return self._records.selected(self.name, self.partitions, wanted)

    def letters(
        self, ranges: dict[int, Range], wanted: Selection, marks: Replayed
    ) -> Iterator[Letter]:
        """Yield the selected letters of ranges."""
        for record in self._records.records(self.name, ranges):
            letter = read_letter(record)
            if letter is not None and wanted.takes(letter, marks):
                yield letter


class Replay:
    """A replay of letters of one topic.

    Args:
        wanted: the letters; replayed ones are left out unless `again` is set.
        limit: the highest number of letters.
        within: the `rest` of an earlier replay; None for all letters.
        by: who replays them, for the marks.

    Raises:
        KafkaError: the topic does not exist, or cannot be read.
    """

    def __init__(
        self,
        records: Records,
        topic: str,
        wanted: Selection,
        target: Target,
        correction: Correction = UNCHANGED,
        *,
        again: bool = False,
        limit: int | None = None,
        within: Mapping[int, Range] | None = None,
        by: str = "",
    ) -> None:
        self._records = records
        self._topic = LetterTopic(records, topic)
        self._wanted = wanted if again else replace(wanted, replayed=False)
        self._target = target
        self._correction = correction
        self._limit = limit
        self._by = by
        self._ranges = common(self._topic.ranges(wanted), within)
        self._ends = {number: end for number, (_, end) in self._ranges.items()}
        self._known = self._topic.marks()
        """The marks when the replay is made."""

    def check(self) -> frozenset[str]:
        """Return the topics that would be written, without corrections.

        Raises:
            ReplayRefused: one of them, or a partition, does not exist.
            KafkaError: the letters cannot be read.
        """
        topics = self._records.topics()
        found = set()
        seen = dict.fromkeys(self._ranges, 0)
        letters = 0
        for letters, letter in enumerate(self._selected(), start=1):  # noqa: B007 - the last one
            place = self._target.of(letter, topics)
            if not isinstance(place, Kept):
                found.add(place[0])
            seen[letter.record.partition] = letter.record.offset + 1
        if self._limit is not None and letters >= self._limit:
            # Letters after the limit do not take the place of those that are removed meanwhile.
            self._ranges = {
                number: (start, max(start, min(end, seen[number])))
                for number, (start, end) in self._ranges.items()
            }
        return frozenset(found)

    def rest(self, outcome: Outcome) -> dict[int, Range]:
        """Return the parts of partitions that a run or preview has left; empty at the end.

        They may have no letters. A run that was stopped has left all that was not committed.
        """
        found = {}
        for number, (start, checked) in self._ranges.items():
            reached = max(start, outcome.reached.get(number, start)) if outcome.stopped else checked
            if reached < self._ends[number]:
                found[number] = (reached, self._ends[number])
        return found

    def preview(self, show: Callable[[Written], None] = lambda _: None) -> Outcome:
        """Return what would be written, and pass it to `show`; raises as `check`."""
        outcome = Outcome()
        for one in self._written(self._topic.marks(), outcome):
            outcome.count(one)
            show(one)
        return outcome

    def run(self, rate: float = 0, pause: Callable[[float], bool] = lambda _: False) -> Outcome:
        """Write the letters; see `Replayer` for `rate` and `pause`.

        Raises:
            ReplayRefused: as `check`; nothing was written.
            ReplayConflict: another replay of the topic has begun.
            KafkaError: the broker refuses.
        """
        self.check()
        ensure_topic(self._records)
        replayer = Replayer(
            self._records.brokers, (self._topic.name, self._topic.id), self._by, rate, pause
        )
        outcome = Outcome()
        # The marks are read after the replayer has settled what an earlier replay left open.
        replayer.write(self._written(self._topic.marks(), outcome), outcome)
        return outcome

    def _written(self, marks: Replayed, outcome: Outcome) -> Iterator[Written]:
        letters = self._letters(marks)
        topics = self._records.topics()
        return planned(letters, self._correction, self._target, topics, outcome)

    def _letters(self, marks: Replayed) -> Iterator[Letter]:
        """Yield the letters without those that another replay has written meanwhile."""
        once = self._wanted.replayed is False
        for letter in self._selected():
            at = letter.record
            if not once or at.offset not in marks.get(at.partition, _NONE):
                yield letter

    def _selected(self) -> Iterator[Letter]:
        found = self._topic.letters(self._ranges, self._wanted, self._known)
        return found if self._limit is None else islice(found, self._limit)


def common(ranges: dict[int, Range], within: Mapping[int, Range] | None) -> dict[int, Range]:
    """Return the parts of ranges that are also within others; None for all."""
    if within is None:
        return ranges
    return {
        number: (max(start, within[number][0]), min(end, within[number][1]))
        for number, (start, end) in ranges.items()
        if number in within
    }
