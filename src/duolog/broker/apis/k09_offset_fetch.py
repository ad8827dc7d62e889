"""OffsetFetch, API key 9, versions 1-9.

Behaviour: a partition without an offset gets -1 and no error, also in a group that does not exist.
Null topics mean all offsets of the group. Only durable offsets are shown. With `require_stable`, a
partition whose offset an open transaction may replace gets UNSTABLE_OFFSET_COMMIT: clients ask
again.

The answer is written by hand and in time slices: a request may name a million partitions.
An offset of a topic that was deleted does not count for one that was made under its name later.

v2  null topics; error code of the group
v5  committed leader epoch
v6  flexible
v7  require stable, KIP-447
v8  several groups
v9  member id and epoch, for groups of the consumer protocol

Source: Kafka OffsetFetchRequest.json; OffsetMetadataManager.fetchOffsets.
"""

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from duolog.broker.apis.context import RequestContext
from duolog.broker.authorization.checks import NotAuthorized
from duolog.broker.authorization.table import checks_of
from duolog.broker.groups.offset_fields import PARTITIONS_A_STEP
from duolog.broker.requests.api import Api
from duolog.broker.requests.many_items import do_nothing, work_in_slices
from duolog.coordinator.errors import NONE, UNSTABLE_OFFSET_COMMIT, GroupError
from duolog.coordinator.records import OffsetRecord
from duolog.core.ids import TopicPartition
from duolog.protocol.wire import INT16, INT32, INT64, write_array_length, write_string

if TYPE_CHECKING:
    from kio.schema.offset_fetch.v1.request import OffsetFetchRequest as Oldest
    from kio.schema.offset_fetch.v9.request import OffsetFetchRequest as Newest
    from kio.schema.offset_fetch.v9.request import OffsetFetchRequestGroup as Group

_GROUP, _TOPIC, _EVERY_TOPIC = checks_of(9)

Offsets = Mapping[TopicPartition, OffsetRecord]
Topics = Sequence[tuple[str, Sequence[int]]]

_GROUP_ERROR_VERSION: Final = 2
_THROTTLE_VERSION: Final = 3
_EPOCH_VERSION: Final = 5
_FLEXIBLE_VERSION: Final = 6
_NO_THROTTLE: Final = INT32.pack(0)
_NO_OFFSET: Final = OffsetRecord(offset=-1, leader_epoch=-1, metadata="", committed_at_ms=-1)


def handle(request: "Oldest | Newest", context: RequestContext) -> None:
    answer = _Answer(context, stable=getattr(request, "require_stable", False))
    steps = answer.write(request)
    work_in_slices(context, steps, do_nothing, lambda: context.reply_pieces(answer.pieces))


class _Answer:
    """The body of the answer, piece by piece."""

    def __init__(self, context: RequestContext, *, stable: bool) -> None:
        self.pieces: list[bytes] = []
        self._context = context
        self._groups = context.broker.groups
        self._version = context.version
        self._stable = stable
        self._flexible = context.version >= _FLEXIBLE_VERSION
        self._end = b"\0" if self._flexible else b""
        """The tagged fields of every struct: none."""

    def write(self, request: "Oldest | Newest") -> Iterator[None]:
        """Write the whole body, in steps."""
        if self._version >= _THROTTLE_VERSION:
            self.pieces.append(_NO_THROTTLE)
        if not hasattr(request, "groups"):
            yield from self._write_group(request)
            return
        self.pieces.append(self._length(len(request.groups)))
        for group in request.groups:
            self.pieces.append(write_string(group.group_id, flexible=True))
            yield from self._write_group(group)
        self.pieces.append(self._end)

    def _write_group(self, asked: "Oldest | Group") -> Iterator[None]:
        group_id, code = asked.group_id, NONE
        offsets: Offsets = {}
        topics: Topics = ()
        unstable: frozenset[TopicPartition] = frozenset()
        try:
            _GROUP.ensure(self._context, group_id)
            offsets = self._groups.offsets(
                group_id, getattr(asked, "member_id", None), getattr(asked, "member_epoch", -1)
            )
        except (GroupError, NotAuthorized) as error:
            code = error.code
        else:
            unstable = self._groups.unstable_offsets(group_id) if self._stable else unstable
            if asked.topics is None:
                topics = yield from self._all_of(offsets)
        # Version 1 has no place for the group's error but the partitions.
        if asked.topics is not None and (not code or self._version < _GROUP_ERROR_VERSION):
            topics = [(topic.name, topic.partition_indexes) for topic in asked.topics]
        denied: frozenset[str] = frozenset()
        if asked.topics is not None and not code:
            denied = _TOPIC.denied(self._context, (name for name, _ in topics))
        self.pieces.append(self._length(len(topics)))
        for name, indexes in topics:
            name_bytes = write_string(name, flexible=self._flexible)
            self.pieces.append(name_bytes + self._length(len(indexes)))
            for start in range(0, len(indexes), PARTITIONS_A_STEP):
                some = indexes[start : start + PARTITIONS_A_STEP]
                if name in denied:
                    self.pieces.append(self._denied_rows(some))
                else:
                    self.pieces.append(self._rows(name, some, offsets, unstable, code))
                yield
            self.pieces.append(self._end)
        if self._version >= _GROUP_ERROR_VERSION:
            self.pieces.append(INT16.pack(code))
        self.pieces.append(self._end)

    def _all_of(self, offsets: Offsets) -> Generator[None, None, Topics]:
        """Return the partitions of a group that have an offset, by topic."""
        found: dict[str, list[int]] = defaultdict(list)
        keys = list(offsets)
        for start in range(0, len(keys), PARTITIONS_A_STEP):
            for key in keys[start : start + PARTITIONS_A_STEP]:
                value = offsets.get(key)
                if value is not None and value.topic_id in self._groups.topic_ids(key.topic):
                    found[key.topic].append(key.partition)
            yield
        denied = _EVERY_TOPIC.denied(self._context, found)
        return [
            (name, sorted(indexes)) for name, indexes in sorted(found.items()) if name not in denied
        ]

    def _denied_rows(self, indexes: Iterable[int]) -> bytes:
        """Return some partitions of a topic that the client may not see."""
        row = self._row(_NO_OFFSET, _TOPIC.code)
        return b"".join(INT32.pack(index) + row for index in indexes)

    def _rows(
        self,
        name: str,
        indexes: Iterable[int],
        offsets: Offsets,
        unstable: frozenset[TopicPartition],
        code: int,
    ) -> bytes:
        """Return some partitions of a topic."""
        alive = self._groups.topic_ids(name)
        nothing = self._row(_NO_OFFSET, code)
        rows: list[bytes] = []
        for index in indexes:
            key = TopicPartition(name, index)
            value = offsets.get(key)
            if key in unstable:
                row = self._row(_NO_OFFSET, UNSTABLE_OFFSET_COMMIT)
            elif value is None or value.topic_id not in alive:
                row = nothing
            else:
                row = self._row(value, code)
            rows += (INT32.pack(index), row)
        return b"".join(rows)

    def _row(self, value: OffsetRecord, code: int) -> bytes:
        """Return a partition, but for its index."""
        epoch = INT32.pack(value.leader_epoch) if self._version >= _EPOCH_VERSION else b""
        metadata = write_string(value.metadata, flexible=self._flexible)
        return INT64.pack(value.offset) + epoch + metadata + INT16.pack(code) + self._end

    def _length(self, count: int) -> bytes:
        return write_array_length(count, flexible=self._flexible)


API = Api(key=9, name="OffsetFetch", versions=range(1, 10), handle=handle, looks=True)
