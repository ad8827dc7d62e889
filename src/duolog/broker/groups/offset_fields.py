"""Offsets of partitions as requests name them, and the error codes that answers give for them.

A request may name many thousands of partitions, so all of it is done in time slices: a commit is
handed to the group some partitions at a time, and answered when the last of them is durable.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from duolog.broker.requests.many_items import do_nothing, work_in_slices
from duolog.coordinator.errors import UNKNOWN_TOPIC_OR_PARTITION
from duolog.coordinator.messages import CommittedOffset, OffsetsReply
from duolog.core.errors import KafkaError
from duolog.core.ids import TopicPartition

if TYPE_CHECKING:
    from duolog.broker.authorization.checks import Check
    from duolog.broker.groups.needs import Broker
    from duolog.broker.requests.api import RequestContext
    from duolog.broker.topics.topics import Topics

PARTITIONS_A_STEP: Final = 250

Item = TypeVar("Item")
Answer = Callable[[OffsetsReply], None]


class AskedPartition(Protocol):
    """A partition in a request."""

    @property
    def partition_index(self) -> int: ...


class CommittedPartition(AskedPartition, Protocol):
    """A partition in a commit, with its offset."""

    @property
    def committed_offset(self) -> int: ...
    @property
    def committed_metadata(self) -> str | None: ...


Partition_co = TypeVar("Partition_co", bound=AskedPartition, covariant=True)


class NamedTopic(Protocol[Partition_co]):
    """A topic in a request, with some of its partitions."""

    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Iterable[Partition_co]: ...


class NamesTopics(Protocol[Partition_co]):
    """A request that names partitions of topics."""

    @property
    def topics(self) -> Iterable[NamedTopic[Partition_co]]: ...


def commit_in_slices(
    context: "RequestContext[Broker]",
    request: NamesTopics[CommittedPartition],
    check: "Check",
    commit: Callable[[dict[TopicPartition, CommittedOffset], Answer], None],
    code_of: Callable[[KafkaError], int],
) -> None:
    """Pass the offsets of a request to `commit`, and answer with the result of each partition.

    Topics that the client has no right to, by `check`, are refused before they are looked for.

    An error that `commit` raises is the result of each partition; one that does not exist is
    unknown.
    """
    answers = _Answers(context, request, check)

    def step(some: list[tuple[TopicPartition, CommittedOffset]]) -> None:
        offsets = dict(some)
        answers.expect()
        try:
            commit(offsets, answers.add)
        except KafkaError as error:
            answers.add(OffsetsReply(dict.fromkeys(offsets, code_of(error))))

    found = _committed(request, context.broker.topics, answers.denied)
    work_in_slices(context, in_chunks(found), step, answers.all_asked)


def delete_in_slices(
    context: "RequestContext[Broker]",
    request: NamesTopics[AskedPartition],
    check: "Check",
    delete: Callable[[list[TopicPartition], Answer], None],
) -> None:
    """Hand the partitions of a request to `delete`, and answer as `commit_in_slices` does.

    An error that `delete` raises for the first of them is the error of the request.
    """
    answers = _Answers(context, request, check)

    def step(some: list[TopicPartition]) -> None:
        answers.expect()
        try:
            delete(some, answers.add)
        except KafkaError as error:
            answers.refuse(error.code)

    topics = context.broker.topics
    found = (
        TopicPartition(topic.name, partition.partition_index)
        for topic in request.topics
        if topic.name not in answers.denied
        for partition in topic.partitions
        if _exists(topic.name, partition.partition_index, topics)
    )
    # The group is asked also when nothing is left to delete: it may refuse.
    first = list(islice(found, PARTITIONS_A_STEP))
    work_in_slices(context, chain([first], in_chunks(found)), step, answers.all_asked)


def in_chunks(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists that one step takes."""
    while some := list(islice(items, PARTITIONS_A_STEP)):
        yield some


class _Answers:
    """The results per partition so far, and the number of responses still outstanding."""

    def __init__(
        self,
        context: "RequestContext[Broker]",
        request: NamesTopics[AskedPartition],
        check: "Check",
    ) -> None:
        self._context = context
        self._request = request
        self._check = check
        self.denied = check.denied(context, (topic.name for topic in request.topics))
        """The topics that the client has no right to."""
        self._codes: dict[TopicPartition, int] = {}
        self._left = 1

    def expect(self) -> None:
        self._left += 1

    def add(self, reply: OffsetsReply) -> None:
        self._codes.update(reply.error_codes)
        self._answered()

    def refuse(self, error_code: int) -> None:
        """Answer the request with one error."""
        if not self._context.replied:
            self._context.reply({"error_code": error_code})
        self._answered()

    def all_asked(self) -> None:
        """Say that no more is expected."""
        self._answered()

    def _answered(self) -> None:
        self._left -= 1
        if not self._left and not self._context.replied:
            topics: list[Mapping[str, object]] = []
            work_in_slices(
                self._context,
                self._encode(topics),
                do_nothing,
                lambda: self._context.reply({"topics": topics}),
            )

    def _encode(self, topics: list[Mapping[str, object]]) -> Iterator[None]:
        for topic in self._request.topics:
            rows: list[bytes] = []
            for some in in_chunks(iter(topic.partitions)):
                rows += (self._row(topic.name, partition.partition_index) for partition in some)
                yield
            topics.append({"name": topic.name, "partitions": rows})

    def _row(self, topic: str, partition: int) -> bytes:
        if topic in self.denied:
            code = int(self._check.code)
        else:
            code = self._codes.get(TopicPartition(topic, partition), UNKNOWN_TOPIC_OR_PARTITION)
        row = {"partition_index": partition, "error_code": code}
        return self._context.encode_item("topics.partitions", row)


def _committed(
    request: NamesTopics[CommittedPartition], topics: "Topics", denied: frozenset[str]
) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
    """Yield what a request commits to partitions that exist."""
    for topic in request.topics:
        found = None if topic.name in denied else topics.get(topic.name)
        for partition in topic.partitions if found else ():
            if found is not None and found.partition(partition.partition_index) is not None:
                yield (
                    TopicPartition(topic.name, partition.partition_index),
                    CommittedOffset(
                        partition.committed_offset,
                        getattr(partition, "committed_leader_epoch", -1),
                        partition.committed_metadata or "",
                        found.id,
                    ),
                )


def _exists(name: str, index: int, topics: "Topics") -> bool:
    topic = topics.get(name)
    return topic is not None and topic.partition(index) is not None
