"""Takes a cut of all logs when a backup asks for it by a file; see `duolog.log.backup.cut`.

The timer runs between two rounds of the loop, when no log is being changed, so the high watermarks
that it reads belong to one moment. The answer is written by the background thread.

A look at the disk costs some microseconds. After a request the broker looks more often, because a
backup asks again if an application has committed in the same moment.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from duolog.core.ids import TopicId
from duolog.log.backup.cut import (
    CUT_FILE_NAME,
    REQUEST_FILE_NAME,
    Cut,
    TopicCut,
    encode_answer,
)
from duolog.log.data_directory.topics import TopicEntry
from duolog.log.files.disk import replace_file

if TYPE_CHECKING:
    from duolog.broker.event_loop.loop import Timers
    from duolog.broker.topics.topics import Topic, Topics
    from duolog.log.files.disk import Disk

_LOOK_SECONDS: Final = 0.25
_BUSY_SECONDS: Final = 0.02
_BUSY_LOOKS: Final = 250


class Broker(Protocol):
    """The broker, as the taker of cuts sees it."""

    topics: "Topics"
    cluster_id: str
    node_id: int
    leader_epoch: int
    data_dir: str

    @property
    def timers(self) -> "Timers": ...


class Cuts:
    """The timer that looks for requests. Thread: the broker's loop."""

    def __init__(
        self,
        broker: Broker,
        disk: "Disk",
        run_in_background: Callable[[Callable[[], None]], None],
    ) -> None:
        """`run_in_background` runs a function on another thread."""
        self._broker = broker
        self._disk = disk
        self._run_in_background = run_in_background
        self._path = f"{broker.data_dir}/{REQUEST_FILE_NAME}"
        self._busy_looks = 0

    def start(self) -> None:
        """Look for requests from now on."""
        self._broker.timers.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        try:
            if self._disk.exists(self._path):
                self._busy_looks = _BUSY_LOOKS
                self._answer()
            self._busy_looks = max(0, self._busy_looks - 1)
        except OSError:
            return  # The disk refuses: the log directory will be offline, and nothing is asked.
        finally:
            seconds = _BUSY_SECONDS if self._busy_looks else _LOOK_SECONDS
            self._broker.timers.call_later(seconds, self._look)

    def _answer(self) -> None:
        file = self._disk.open(self._path)
        request = file.pread(0, file.size_bytes)
        file.close()
        self._disk.remove(self._path)
        self._run_in_background(partial(self._write, request, self.take()))

    def _write(self, request: bytes, cut: Cut) -> None:
        data = encode_answer(request, cut)
        replace_file(self._disk, self._broker.data_dir, CUT_FILE_NAME, data)

    def take(self) -> Cut:
        """Return the cut of this moment."""
        broker = self._broker
        refused: list[str] = []
        topics = tuple(_cut_of(topic, refused) for topic in broker.topics)
        return Cut(
            broker.cluster_id,
            broker.node_id,
            broker.leader_epoch,
            time.monotonic_ns(),
            topics,
            tuple(refused),
        )


def _cut_of(topic: "Topic", refused: list[str]) -> TopicCut:
    ends: dict[int, int] = {}
    for partition in topic.partitions:
        if partition.refused is not None:
            refused.append(f"{topic.name}-{partition.index}")
        elif partition.log.high_watermark > 0:
            ends[partition.index] = partition.log.high_watermark
    entry = TopicEntry(topic.name, TopicId(topic.id), len(topic.partitions), topic.configs)
    return TopicCut(entry, ends)
