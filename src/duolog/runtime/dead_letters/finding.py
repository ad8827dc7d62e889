"""The topics of a cluster that have dead letters, and counts of them.

    query     a persistent SQL query names the topic (DEAD_LETTER_TOPIC)
    headers   some of the newest records have the headers of dead letters

Topics that only connectors or applications name are found by their first letter.

Threads: one.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from duolog.core.errors import DuologError, KafkaError
from duolog.runtime.dead_letters.letter import read_letter
from duolog.runtime.dead_letters.reading import Problems, Records
from duolog.runtime.dead_letters.replay import LetterTopic
from duolog.runtime.dead_letters.reserved import COMMANDS, is_commands, is_reserved
from duolog.runtime.dead_letters.selection import Counts, Selection

_SAMPLED: Final = 3
"""The newest records of a partition that are looked at."""


@dataclass(slots=True)
class Found:
    """A topic with dead letters.

    Attributes:
        known_by: why it is one: `query`, `headers`.
        queries: ids of the queries that name it.
        complete: False if only the newest letters were counted.
    """

    topic: str
    known_by: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    complete: bool = True


def find(
    records: Records,
    named: Mapping[str, Collection[str]],
    among: Callable[[str], bool],
    problems: Problems = lambda _: None,
) -> list[Found]:
    """Return the topics with dead letters, without counts, by name.

    Args:
        records: reads the cluster.
        named: ids of queries by the topic that they name.
        among: which topics to look at.
        problems: is called with the error of a topic that cannot be read, such as one that is
            deleted meanwhile; the others are found.

    Raises:
        KafkaError: the broker does not answer, or refuses all topics.
    """
    topics = {
        topic: partitions
        for topic, partitions in records.topics().items()
        if not is_reserved(topic) and among(topic)
    }
    having = _having_letters(records, topics, problems)
    found = []
    for topic in sorted(topics):
        one = Found(topic, queries=sorted(named.get(topic, ())))
        one.known_by += ["query"] if one.queries else []
        one.known_by += ["headers"] if topic in having else []
        if one.known_by:
            found.append(one)
    return found


def count_all(
    records: Records,
    found: Collection[Found],
    newest: int,
    wanted: Selection,
    problems: Problems,
) -> None:
    """Count the selected letters of topics, of each partition the `newest` records.

    A topic that cannot be read keeps the counts so far, which are then not complete.
    """
    for one in found:
        try:
            _count(records, one, newest, wanted)
        except KafkaError as error:
            one.complete = False
            problems(error)


def _count(records: Records, found: Found, newest: int, wanted: Selection) -> None:
    topic = LetterTopic(records, found.topic)
    marks = topic.marks()
    ranges = topic.ranges(wanted)
    tails = {number: (max(low, end - newest), end) for number, (low, end) in ranges.items()}
    found.complete = tails == ranges
    for record in records.records(found.topic, tails):
        letter = read_letter(record)
        if letter is None:
            found.counts.plain += 1
        elif wanted.takes(letter, marks):
            done = record.offset in marks.get(record.partition, frozenset())
            found.counts.add(letter, replayed=done)


def queries_of_services(
    topics: Collection[str], read: Callable[[str], Mapping[str, str]]
) -> tuple[dict[str, set[str]], list[str]]:
    """Return the queries of all SQL services by dead-letter topic, and problems of services.

    Args:
        topics: all topics of the cluster.
        read: returns the dead-letter topic of each query of a service, by its id.
    """
    named: dict[str, set[str]] = {}
    problems = []
    start, end = COMMANDS
    for topic in sorted(topics):
        if not is_commands(topic):
            continue
        try:
            found = read(topic.removeprefix(start).removesuffix(end))
        except DuologError as error:
            problems.append(error.one_line())
            continue
        for query, letters in found.items():
            named.setdefault(letters, set()).add(query)
    return named, problems


def _having_letters(
    records: Records, topics: Mapping[str, int], problems: Problems
) -> frozenset[str]:
    """Return the topics of which some of the newest records are dead letters."""
    ranges = records.ranges_of(topics, problems)
    # Offsets at the end may be markers of transactions, which are not records.
    tails = {at: (max(low, end - 2 * _SAMPLED), end) for at, (low, end) in ranges.items()}
    return frozenset(
        one.topic for one in records.newest(tails, problems) if read_letter(one) is not None
    )
