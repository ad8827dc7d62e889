"""The topics of a cluster that have dead letters, and counts of them.

    query     a persistent SQL query names the topic (DEAD_LETTER_TOPIC)
    setting   a configuration names it: of a Kafka Connect connector, or of an application
    headers   some of the newest records have the headers of dead letters

Threads: one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from duolog.core.errors import DuologError
from duolog.runtime.dead_letters.letter import read_letter
from duolog.runtime.dead_letters.reading import Records
from duolog.runtime.dead_letters.replay import LetterTopic
from duolog.runtime.dead_letters.reserved import COMMANDS, is_commands, is_reserved
from duolog.runtime.dead_letters.selection import Counts, Selection

_SAMPLED: Final = 3
"""The newest records of a partition that are looked at."""


@dataclass(slots=True)
class Found:
    """A topic with dead letters.

    Attributes:
        known_by: why it is one: `query`, `setting`, `headers`.
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
    settings: Collection[str] = (),
) -> Iterator[Found]:
    """Yield the topics with dead letters, without counts, by name.

    Args:
        records: reads the cluster.
        named: ids of queries by the topic that they name.
        among: which topics to look at.
        settings: topics that configurations name.

    Raises:
        KafkaError: the broker does not answer, or refuses.
    """
    for topic, partitions in sorted(records.topics().items()):
        if is_reserved(topic) or not among(topic):
            continue
        found = Found(topic, queries=sorted(named.get(topic, ())))
        found.known_by += ["query"] if found.queries else []
        found.known_by += ["setting"] if topic in settings else []
        if _has_letters(records, topic, partitions):
            found.known_by.append("headers")
        if found.known_by:
            yield found


def count(records: Records, found: Found, newest: int, wanted: Selection) -> None:
    """Count the selected letters of a topic, of each partition the `newest` records.

    Raises:
        KafkaError: the broker does not answer, or refuses.
    """
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


def _has_letters(records: Records, topic: str, partitions: int) -> bool:
    ranges = records.ranges(topic, partitions)
    # Offsets at the end may be markers of transactions, which are not records.
    tails = {number: (max(low, end - 2 * _SAMPLED), end) for number, (low, end) in ranges.items()}
    return any(read_letter(one) is not None for one in records.records(topic, tails))
